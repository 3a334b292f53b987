%% Tools that work on the session, questions to the user, and skills, through both doors.
-module(beamai_session_tools_tests).

-include_lib("eunit/include/eunit.hrl").

kernel(Door, Options) ->
    Modules = [beamai_tool_todo, beamai_tool_human, beamai_tool_skill],
    Kernel = beamai_kernel:new(Options#{door => Door}),
    lists:foldl(fun(Module, K) -> beamai_kernel:add_tool_module(K, Module) end, Kernel, Modules).

through_both_doors(Tests) ->
    [{atom_to_list(Door), fun() -> Test(Door) end} || Test <- Tests, Door <- [nif, port]].

all_test_() ->
    through_both_doors([
        fun tasks_outlive_the_call_and_belong_to_their_session/1,
        fun no_task_is_lost_when_many_are_added_at_once/1,
        fun at_most_one_task_is_in_progress/1,
        fun questions_reach_ask_user_in_the_callers_process/1,
        fun without_anybody_to_ask_the_model_is_told_so/1,
        fun a_refusal_to_answer_is_a_result/1,
        fun a_wrong_answer_of_the_host_counts_as_none/1,
        fun skills_come_from_the_hosts_paths/1
    ]).

tasks_outlive_the_call_and_belong_to_their_session(Door) ->
    K = kernel(Door, #{}),
    [One, Two] = [beamai_context:new(#{session_id => make_ref()}) || _ <- [1, 2]],
    Add = fun(Text, Ctx) -> beamai_kernel:invoke(K, <<"todo_add">>, #{<<"content">> => Text}, Ctx) end,
    {ok, #{<<"id">> := 1}, _} = Add(<<"a">>, One),
    {ok, #{<<"id">> := 2}, _} = Add(<<"b">>, One),
    {ok, #{<<"id">> := 1}, _} = Add(<<"c">>, Two),
    {ok, #{<<"count">> := Count}, _} = beamai_kernel:invoke(K, <<"todo_list">>, #{}, One),
    ?assertEqual(2, Count),
    [ok = beamai_session:close(beamai_context:get(session_id, Ctx)) || Ctx <- [One, Two]].

no_task_is_lost_when_many_are_added_at_once(Door) ->
    K = kernel(Door, #{}),
    Ctx = beamai_context:new(#{session_id => make_ref()}),
    Calls = [{<<"todo_add">>, #{<<"content">> => integer_to_binary(N)}} || N <- lists:seq(1, 50)],
    {Results, _} = beamai_kernel:invoke_all(K, Calls, Ctx),
    Ids = lists:sort([Id || {ok, #{<<"id">> := Id}} <- Results]),
    ?assertEqual(lists:seq(1, 50), Ids),
    ok = beamai_session:close(beamai_context:get(session_id, Ctx)).

at_most_one_task_is_in_progress(Door) ->
    K = kernel(Door, #{}),
    Ctx = beamai_context:new(#{session_id => make_ref()}),
    Running = #{<<"content">> => <<"x">>, <<"status">> => <<"in_progress">>},
    {ok, _, _} = beamai_kernel:invoke(K, <<"todo_add">>, Running, Ctx),
    ?assertMatch(
        {error, #{error_type := invalid_input}}, beamai_kernel:invoke(K, <<"todo_add">>, Running, Ctx)
    ),
    ok = beamai_session:close(beamai_context:get(session_id, Ctx)).

questions() ->
    Options = [#{<<"label">> => L, <<"description">> => <<"d">>} || L <- [<<"yes">>, <<"no">>]],
    #{<<"questions">> => [#{<<"question">> => <<"Go on?">>, <<"options">> => Options}]}.

questions_reach_ask_user_in_the_callers_process(Door) ->
    Self = self(),
    Ask = fun([#{<<"question">> := Question, <<"options">> := [#{<<"label">> := First} | _]}]) ->
        ?assertEqual(Self, self()),
        {ok, #{Question => First}}
    end,
    K = kernel(Door, #{ask_user => Ask}),
    {ok, Result, _} = beamai_kernel:invoke(K, <<"human_input">>, questions()),
    ?assertMatch(#{<<"outcome">> := <<"answered">>, <<"answers">> := #{<<"Go on?">> := <<"yes">>}}, Result).

without_anybody_to_ask_the_model_is_told_so(Door) ->
    {ok, Result, _} = beamai_kernel:invoke(kernel(Door, #{}), <<"human_input">>, questions()),
    ?assertMatch(#{<<"outcome">> := <<"no_frontend">>, <<"text">> := <<"There is no", _/binary>>}, Result).

a_refusal_to_answer_is_a_result(Door) ->
    K = kernel(Door, #{ask_user => fun(_) -> cancelled end}),
    {ok, Result, _} = beamai_kernel:invoke(K, <<"human_input">>, questions()),
    ?assertMatch(#{<<"outcome">> := <<"cancelled">>, <<"answers">> := None} when map_size(None) =:= 0, Result).

%% It is logged, and the caller goes on.
a_wrong_answer_of_the_host_counts_as_none(Door) ->
    K = kernel(Door, #{ask_user => fun(_) -> cancelled end}),
    Option = fun(Label) -> #{<<"label">> => Label, <<"description">> => Label} end,
    Question = #{
        <<"question">> => <<"Which?">>, <<"header">> => <<"h">>, <<"options">> => [Option(<<"a">>), Option(<<"b">>)]
    },
    Ask = fun(AskUser) ->
        Args = #{<<"questions">> => [Question]},
        beamai_kernel:invoke(K, <<"human_input">>, Args, #{ask_user => AskUser})
    end,
    #{level := Level} = logger:get_primary_config(),
    ok = logger:set_primary_config(level, none),
    try
        ?assertMatch({ok, #{<<"outcome">> := <<"cancelled">>}, _}, Ask(fun(_) -> bogus end)),
        ?assertMatch({ok, #{<<"outcome">> := <<"cancelled">>}, _}, Ask(undefined)),
        [
            ?assertMatch({error, #{error_type := execution_failed}}, Ask(fun(_) -> {ok, Answers} end))
         || Answers <- [text, self(), [a | b], #{<<"Which?">> => 5}, #{<<"Which?">> => [a]}, #{which => <<"a">>}]
        ]
    after
        logger:set_primary_config(level, Level)
    end.

skills_come_from_the_hosts_paths(Door) ->
    beamai_test:in_workspace(fun(Dir) ->
        File = filename:join([Dir, "mine", "SKILL.md"]),
        ok = filelib:ensure_dir(File),
        ok = file:write_file(File, "---\nname: mine\ndescription: Mine.\n---\nDo it.\n"),
        K = kernel(Door, #{skills => #{paths => [Dir]}}),
        Load = #{<<"action">> => <<"load">>, <<"name">> => <<"mine">>},
        {ok, #{<<"content">> := Content}, _} = beamai_kernel:invoke(K, <<"skill">>, Load),
        ?assertEqual(<<"Do it.">>, Content)
    end).
