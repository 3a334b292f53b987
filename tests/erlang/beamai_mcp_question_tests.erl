%% Questions of MCP servers to the user.
-module(beamai_mcp_question_tests).

-include_lib("eunit/include/eunit.hrl").

-import(mcp_servers, [in_order/1, connect/1, connect/2, call/3, call/4, close/1, work/2, flush/0]).

real_servers_test_() ->
    in_order([
        {"questions", fun questions_reach_the_user/0},
        {"no user", fun without_a_user_questions_are_declined/0},
        {"several calls", fun a_question_during_several_calls_is_declined/0},
        {"time", fun the_time_of_a_question_does_not_count/0}
    ]).

questions_reach_the_user() ->
    {Options, Kernel} = python(),
    Self = self(),
    Ask = fun(Answer) ->
        fun(Questions) ->
            Self ! {asked, self(), Questions},
            Answer(Questions)
        end
    end,
    Answers = fun(Given) ->
        Ask(fun(Questions) -> {ok, maps:from_list(lists:zip([Q || #{<<"question">> := Q} <- Questions], Given))} end)
    end,
    Order = fun(AskUser) ->
        {ok, #{<<"text">> := Text}} = call(Kernel, <<"mcp__python__order">>, #{}, #{ask_user => AskUser}),
        Text
    end,
    ?assertEqual(<<"2 x soup">>, Order(Answers([<<"soup">>, <<"2">>]))),
    receive
        {asked, Self, [#{<<"question">> := Question}, _]} ->
            %% Whose question it is stands before what the server says.
            ?assertMatch(
                {match, _},
                re:run(Question, "^the MCP server python \\(.*\\), in its tool order asks: What do you want to eat\\?\n")
            )
    end,
    ?assertEqual(<<"1 x soup">>, Order(Answers([<<"soup">>, <<"-">>]))),
    ?assertEqual(<<"decline">>, Order(Answers([<<"soup">>, <<"many">>]))),
    ?assertEqual(<<"cancel">>, Order(Ask(fun(_) -> cancelled end))),
    ?assertEqual(<<"cancel">>, Order(Ask(fun(_) -> {ok, #{<<"other">> => {no, text}}} end))),
    ?assertEqual(<<"cancel">>, Order(Ask(fun(_) -> error(oops) end))),
    flush(),
    close(Options).

without_a_user_questions_are_declined() ->
    {Options, Kernel} = python(),
    ?assertEqual({ok, #{<<"text">> => <<"decline">>}}, call(Kernel, <<"mcp__python__order">>, #{})),
    close(Options).

%% Nobody can know whose question it is.
a_question_during_several_calls_is_declined() ->
    beamai_test:in_workspace(fun(Dir) ->
        Options = mcp_servers:python(),
        Kernel = connect(Options, #{workspace => Dir}),
        #{<<"file">> := File} = Args = work(Dir, 60),
        AskUser = fun(Questions) -> {ok, maps:from_list([{Q, <<"1">>} || #{<<"question">> := Q} <- Questions])} end,
        {Caller, Monitor} = spawn_monitor(fun() ->
            call(Kernel, <<"mcp__python__work">>, Args, #{ask_user => AskUser})
        end),
        beamai_test:eventually(fun() -> file:read_file(File) =:= {ok, <<"working">>} end),
        ?assertEqual({ok, #{<<"text">> => <<"decline">>}}, call(Kernel, <<"mcp__python__order">>, #{}, #{ask_user => AskUser})),
        exit(Caller, kill),
        receive {'DOWN', Monitor, process, Caller, _} -> ok end,
        close(Options)
    end).

the_time_of_a_question_does_not_count() ->
    Options = (mcp_servers:python())#{timeout => 5000},
    Kernel = connect(Options),
    {ok, _} = call(Kernel, <<"mcp__python__add">>, #{<<"a">> => 1}),
    Slow = fun(Questions) ->
        timer:sleep(6000),
        {ok, maps:from_list([{Q, <<"1">>} || #{<<"question">> := Q} <- Questions])}
    end,
    ?assertEqual({ok, #{<<"text">> => <<"1 x 1">>}}, call(Kernel, <<"mcp__python__order">>, #{}, #{ask_user => Slow})),
    close(Options).

python() ->
    mcp_servers:connected(mcp_servers:python()).
