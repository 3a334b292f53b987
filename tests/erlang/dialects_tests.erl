%% The dialects as tool modules, and sub-agents, through both doors.
-module(dialects_tests).

-include_lib("eunit/include/eunit.hrl").

-define(DIALECTS, [beamai_dialect_microai, beamai_dialect_coder, beamai_dialect_ide]).

kernel(Module, Options) ->
    beamai_kernel:add_tool_module(beamai_kernel:new(Options), Module).

names(Module) ->
    [Name || #{name := Name} <- beamai_kernel:list_tools(kernel(Module, #{}))].

call(Kernel, Name, Args) ->
    call(Kernel, Name, Args, #{}).

call(Kernel, Name, Args, Context) ->
    {ok, Result, _} = beamai_kernel:invoke(Kernel, Name, Args, Context),
    Result.

%% In a workspace with a file `a' of two lines.
with_workspace(Test) ->
    beamai_test:in_workspace(fun(Dir) ->
        ok = file:write_file(filename:join(Dir, "a"), "one\ntwo\n"),
        Test(Dir)
    end).

through_both_doors(Tests) ->
    [{atom_to_list(Door), fun() -> Test(Door) end} || Test <- Tests, Door <- [nif, port]].

all_test_() ->
    {timeout, 60, through_both_doors([
        fun microai_reads_and_edits/1,
        fun coder_reads_searches_and_keeps_tasks/1,
        fun ide_reads_lists_and_searches/1,
        fun a_rule_holds_in_every_dialect/1,
        fun a_question_of_the_dialect_reaches_ask_user/1,
        fun an_agent_gets_the_work_and_its_summary_is_the_result/1,
        fun without_agents_the_error_says_how_to_have_some/1,
        fun an_unknown_agent_is_answered_with_those_there_are/1,
        fun what_goes_wrong_in_an_agent_is_an_error/1,
        fun an_agent_ends_when_its_run_is_cancelled/1
    ])}.

each_module_has_exactly_the_tools_of_its_specification_test() ->
    ?assertEqual(
        [
            <<"AskUserQuestion">>, <<"Bash">>, <<"BashOutput">>, <<"Edit">>, <<"Glob">>, <<"Grep">>,
            <<"KillShell">>, <<"LSP">>, <<"Read">>, <<"TodoWrite">>, <<"WebFetch">>, <<"WebSearch">>, <<"Write">>
        ],
        names(beamai_dialect_microai)
    ),
    ?assertEqual(
        [
            <<"bash">>, <<"edit">>, <<"fetch">>, <<"git_add">>, <<"git_commit">>, <<"git_diff">>, <<"git_log">>,
            <<"git_status">>, <<"glob">>, <<"grep">>, <<"list">>, <<"lsp_definition">>, <<"lsp_diagnostics">>,
            <<"lsp_hover">>, <<"patch">>, <<"question">>, <<"read">>, <<"skill">>, <<"task">>, <<"todoread">>,
            <<"todowrite">>, <<"write">>
        ],
        names(beamai_dialect_coder)
    ),
    ?assertEqual(
        [<<"get_diagnostics">>, <<"list_files">>, <<"read_file">>, <<"search_code">>, <<"write_file">>],
        names(beamai_dialect_ide)
    ).

each_tool_has_the_tag_of_its_dialect_and_a_schema_for_every_provider_test() ->
    [
        begin
            Kernel = kernel(Module, #{}),
            #{tags := [Tag]} = Module:tool_info(),
            Specs = beamai_kernel:get_tool_specs(Kernel),
            ?assertEqual(Specs, beamai_kernel:tools_by_tag(Kernel, Tag)),
            Schemas = beamai_kernel:get_tool_schemas(Kernel, Provider, #{strict => Strict}),
            ?assertEqual(length(Specs), length(Schemas))
        end
     || Module <- ?DIALECTS,
        Provider <- [openai, openai_responses, anthropic, gemini, mcp],
        Strict <- [false, true]
    ].

dialects_without_a_name_in_common_go_into_one_kernel_test() ->
    All = lists:foldl(fun(M, K) -> beamai_kernel:add_tool_module(K, M) end, beamai_kernel:new(), ?DIALECTS),
    ?assertEqual(13 + 22 + 5, length(beamai_kernel:list_tools(All))),
    ?assertError(
        {duplicate_tool, <<"git_", _/binary>>}, beamai_kernel:add_tool_module(All, beamai_tool_git)
    ).

microai_reads_and_edits(Door) ->
    with_workspace(fun(Dir) ->
        K = kernel(beamai_dialect_microai, #{
            workspace => Dir, door => Door, permissions => #{allow => [<<"Edit">>]}
        }),
        Path = filename:join(Dir, <<"a">>),
        Edited = call(K, <<"Edit">>, #{
            <<"file_path">> => Path, <<"old_string">> => <<"two">>, <<"new_string">> => <<"2">>
        }),
        ?assertMatch(#{<<"success">> := true, <<"replacements">> := 1}, Edited),
        Read = call(K, <<"Read">>, #{<<"file_path">> => Path}),
        ?assertMatch(#{<<"content">> := <<"     1\tone\n     2\t2">>, <<"total_lines">> := 2}, Read)
    end).

coder_reads_searches_and_keeps_tasks(Door) ->
    with_workspace(fun(Dir) ->
        K = kernel(beamai_dialect_coder, #{workspace => Dir, door => Door}),
        Tail = call(K, <<"read">>, #{<<"path">> => <<"a">>, <<"offset">> => -1}),
        ?assertMatch(#{<<"content">> := <<"two\n">>, <<"start_line">> := 2, <<"has_more">> := false}, Tail),
        ?assertMatch(#{<<"count">> := 1}, call(K, <<"grep">>, #{<<"pattern">> => <<"^o">>})),
        ?assertMatch(#{<<"entries">> := [#{<<"name">> := <<"a">>}]}, call(K, <<"list">>, #{})),
        Context = beamai_context:new(#{session_id => make_ref()}),
        Todos = #{<<"todos">> => [#{<<"content">> => <<"x">>}]},
        Written = call(K, <<"todowrite">>, Todos, Context),
        ?assertEqual(Written, call(K, <<"todoread">>, #{}, Context)),
        ok = beamai_session:close(beamai_context:get(session_id, Context)),
        ?assertMatch(
            {ok, #{<<"adjusted">> := [<<"limit is 200, the maximum, not 201">>]}, _},
            beamai_kernel:invoke(K, <<"read">>, #{<<"path">> => <<"a">>, <<"limit">> => 201})
        )
    end).

ide_reads_lists_and_searches(Door) ->
    with_workspace(fun(Dir) ->
        K = kernel(beamai_dialect_ide, #{workspace => Dir, door => Door}),
        ?assertMatch(
            #{<<"content">> := <<"one\ntwo\n">>, <<"lines">> := 2},
            call(K, <<"read_file">>, #{<<"path">> => <<"a">>})
        ),
        ?assertMatch(
            #{<<"files">> := [<<"a">>], <<"count">> := 1},
            call(K, <<"list_files">>, #{<<"directory">> => <<".">>})
        ),
        Search = #{<<"query">> => <<"TWO">>, <<"options">> => #{<<"case_sensitive">> => true}},
        ?assertMatch(#{<<"matches">> := []}, call(K, <<"search_code">>, Search)),
        ?assertMatch(
            {error, #{error_type := permission_denied, details := #{reason := outside_workspace}}},
            beamai_kernel:invoke(K, <<"read_file">>, #{<<"path">> => <<"b/../a">>})
        )
    end).

a_rule_holds_in_every_dialect(Door) ->
    with_workspace(fun(Dir) ->
        Options = #{workspace => Dir, door => Door, permissions => #{deny => [<<"Read">>]}},
        [
            ?assertMatch(
                {error, #{error_type := permission_denied, details := #{matched_rule := <<"Read">>}}},
                beamai_kernel:invoke(kernel(Module, Options), Name, Args)
            )
         || {Module, Name, Args} <- [
                {beamai_dialect_microai, <<"Read">>, #{<<"file_path">> => <<"a">>}},
                {beamai_dialect_microai, <<"Grep">>, #{<<"pattern">> => <<"one">>}},
                {beamai_dialect_coder, <<"read">>, #{<<"path">> => <<"a">>}},
                {beamai_dialect_ide, <<"read_file">>, #{<<"path">> => <<"a">>}}
            ]
        ]
    end).

a_question_of_the_dialect_reaches_ask_user(Door) ->
    Ask = fun([#{<<"question">> := Question, <<"options">> := [#{<<"label">> := First} | _]}]) ->
        ?assertEqual(<<"yes (Recommended)">>, First),
        {ok, #{Question => First}}
    end,
    K = kernel(beamai_dialect_coder, #{door => Door, ask_user => Ask}),
    Options = [#{<<"label">> => L, <<"description">> => <<"d">>} || L <- [<<"yes">>, <<"no">>]],
    Questions = [#{<<"question">> => <<"Go on?">>, <<"options">> => Options}],
    Answered = call(K, <<"question">>, #{<<"questions">> => Questions}),
    ?assertMatch(#{<<"text">> := <<"Go on?\n  yes">>}, Answered).

%%% Sub-agents

work() ->
    work(<<"reviewer">>).

work(Agent) ->
    #{<<"agent">> => Agent, <<"objective">> => <<"Review.">>}.

tasks(Door, Options) ->
    kernel(beamai_tool_task, Options#{door => Door, permissions => #{allow => [<<"Task">>]}}).

an_agent_gets_the_work_and_its_summary_is_the_result(Door) ->
    Self = self(),
    Agent = fun(#{<<"agent">> := <<"reviewer">>, <<"objective">> := Objective}, Context) ->
        ?assertNotEqual(Self, self()),
        {ok, <<Objective/binary, (beamai_context:get(model, Context))/binary>>}
    end,
    Asked = fun(#{rule := <<"Task">>, subject := <<"Task(reviewer)">>}) -> allow end,
    Agents = #{<<"reviewer">> => Agent},
    [
        ?assertMatch(
            #{<<"summary">> := <<"Review. m">>, <<"state">> := <<"completed">>},
            call(kernel(Module, #{door => Door, agents => Agents, approve => Asked}), <<"task">>, work(), #{
                model => <<" m">>
            })
        )
     || Module <- [beamai_tool_task, beamai_dialect_coder]
    ].

without_agents_the_error_says_how_to_have_some(Door) ->
    {error, Error} = beamai_kernel:invoke(tasks(Door, #{}), <<"task">>, work()),
    ?assertMatch(
        #{tool := <<"task">>, error_type := execution_failed, details := #{reason := no_agents}}, Error
    ),
    #{message := Message} = Error,
    [?assertNotEqual(nomatch, string:find(Message, Part)) || Part <- ["option agents", "context's model"]].

an_unknown_agent_is_answered_with_those_there_are(Door) ->
    K = tasks(Door, #{agents => #{<<"reviewer">> => fun(_, _) -> {ok, <<>>} end}}),
    ?assertMatch(
        {error, #{
            error_type := not_found, details := #{reason := no_such_agent, nearest := [<<"reviewer">>]}
        }},
        beamai_kernel:invoke(K, <<"task">>, work(<<"reviwer">>))
    ).

what_goes_wrong_in_an_agent_is_an_error(Door) ->
    Invoke = fun(Agent) ->
        K = tasks(Door, #{agents => #{<<"reviewer">> => Agent}}),
        beamai_kernel:invoke(K, <<"task">>, work())
    end,
    ?assertEqual({error, tired}, Invoke(fun(_, _) -> {error, tired} end)),
    ?assertMatch({error, #{details := #{reason := crash}}}, Invoke(fun(_, _) -> error(boom) end)),
    ?assertMatch({error, #{details := #{reason := handler_error}}}, Invoke(fun(_, _) -> {ok, 1} end)),
    ?assertMatch({error, #{details := #{reason := handler_error}}}, Invoke(fun(_, _) -> {ok, <<255>>} end)).

an_agent_ends_when_its_run_is_cancelled(Door) ->
    Self = self(),
    Agent = fun(_, _) ->
        Self ! {agent, self()},
        receive never -> ok end
    end,
    K = tasks(Door, #{agents => #{<<"reviewer">> => Agent}}),
    Run = make_ref(),
    spawn_link(fun() ->
        Self ! {ended, beamai_kernel:invoke(K, <<"task">>, work(), #{run_id => Run})}
    end),
    Pid = receive {agent, P} -> P end,
    ok = beamai_kernel:cancel(Run),
    ?assertMatch({error, #{details := #{reason := cancelled}}}, receive {ended, Result} -> Result end),
    ?assertNot(is_process_alive(Pid)).

agents_that_are_no_funs_are_refused_test() ->
    [
        ?assertError({bad_option, agents}, beamai_kernel:new(#{agents => Bad}))
     || Bad <- [[], #{<<"a">> => fun(_) -> ok end}, #{a => fun(_, _) -> ok end}, #{<<"a b">> => fun(_, _) -> ok end}]
    ].
