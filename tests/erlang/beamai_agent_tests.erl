%% The agent: tool loop, order of calls, state, events, limits, profiles, and both ways of calling tools.
-module(beamai_agent_tests).

-include_lib("eunit/include/eunit.hrl").

agent(Turns) ->
    agent(Turns, #{}).

agent(Turns, Options) ->
    Model = beamai_chat:new(scripted, #{turns => Turns}),
    {ok, Agent} = beamai_agent:new(maps:merge(#{llm => Model}, Options)),
    Agent.

calls(Calls) -> #{tool_calls => Calls}.

tools(Tools) -> beamai_test:kernel(Tools).

echo() ->
    beamai_test:tool(<<"echo">>, fun(Args) -> {ok, Args} end).

results(Agent) ->
    [{Outcome, Content} || #{role := tool, outcome := Outcome, content := Content} <- messages(Agent)].

messages(Agent) -> beamai_conversation:messages(beamai_agent:conversation(Agent)).

%%% The loop

it_calls_tools_until_it_has_the_answer_test() ->
    Turns = [
        #{content => <<"I look.">>, tool_calls => [{<<"echo">>, #{<<"a">> => 1}}], usage => #{input_tokens => 7, output_tokens => 2}},
        #{content => <<"One.">>, usage => #{input_tokens => 9, output_tokens => 1}}
    ],
    {ok, Result, After} = beamai_agent:run(agent(Turns, #{kernel => tools([echo()])}), <<"How many?">>),
    ?assertMatch(
        #{
            content := <<"One.">>, tool_calls := 1, iterations := 2, stop := end_turn,
            usage := #{input_tokens := 16, output_tokens := 3, total_tokens := 19}
        },
        Result
    ),
    ?assertMatch(
        [
            #{role := user, content := <<"How many?">>},
            #{role := assistant, content := <<"I look.">>, tool_calls := [#{id := Id}]},
            #{role := tool, call := Id, outcome := ok, content := <<"{\"a\":1}">>},
            #{role := assistant, content := <<"One.">>}
        ],
        messages(After)
    ),
    ?assertEqual([], beamai_test:mailbox()).

plugins_come_on_top_of_the_kernel_test() ->
    Agent = agent([<<"ok">>], #{kernel => tools([echo()]), plugins => [beamai_tool_file]}),
    {ok, _} = beamai_kernel:find_tool(beamai_agent:kernel(Agent), <<"echo">>),
    {ok, _} = beamai_kernel:find_tool(beamai_agent:kernel(Agent), <<"file_read">>).

a_tool_whose_name_the_provider_refuses_is_named_at_once_test() ->
    Long = binary:copy(<<"a">>, 80),
    Kernel = fun(Name) -> tools([beamai_test:tool(Name, fun(_) -> {ok, 1} end)]) end,
    New = fun(Provider, Name) ->
        beamai_agent:new(#{llm => beamai_chat:new(Provider, #{model => <<"m">>}), kernel => Kernel(Name)})
    end,
    Schema = fun(Provider, Name) -> beamai_kernel:get_tool_schemas(Kernel(Name), Provider) end,
    [
        begin
            {'EXIT', {{invalid_tool, Name, [Problem]}, _}} = (catch Make(Provider, Name)),
            ?assertNotEqual(nomatch, string:find(Problem, "another name"))
        end
     || {Make, Provider, Name} <- [
            {New, openai, <<"my.tool">>}, {New, openai, Long}, {New, anthropic, <<"Wörter"/utf8>>}, {Schema, openai_responses, <<"a b">>},
            {Schema, gemini, <<"1st">>}, {Schema, openai, <<"a\n">>}
        ]
    ],
    {ok, _} = New(anthropic, Long),
    [_] = Schema(gemini, <<"my.tool">>),
    [_] = Schema(mcp, <<"my tool">>),
    Text = beamai_chat:new(text, #{complete => fun(_) -> {ok, <<>>} end}),
    {ok, _} = beamai_agent:new(#{llm => Text, kernel => Kernel(<<"my.tool">>)}).

an_error_goes_to_the_model_and_leaves_the_other_calls_alone_test() ->
    Fail = beamai_test:tool(<<"fail">>, fun(_) -> error(boom) end),
    Own = beamai_test:tool(<<"own">>, fun(_) -> {error, {my, reason}} end),
    Turns = [calls([{<<"fail">>, #{}}, {<<"echo">>, #{}}, {<<"nobody">>, #{}}, {<<"own">>, #{}}]), <<"done">>],
    {ok, _, After} = beamai_agent:run(agent(Turns, #{kernel => tools([Fail, Own, echo()])}), <<"go">>),
    ?assertMatch(
        [
            {error, <<"the handler of fail raised error:boom">>}, {ok, <<"{}">>},
            {error, <<"there is no tool named \"nobody\"", _/binary>>}, {error, <<"error: {my,reason}">>}
        ],
        results(After)
    ).

what_a_tool_returns_goes_to_the_model_as_text_or_is_refused_test() ->
    Returns = fun(Name, Value) -> beamai_test:tool(Name, fun(_) -> {ok, Value} end) end,
    Tools = [
        Returns(<<"text">>, <<"a\n\"b\"">>), Returns(<<"json">>, #{<<"a">> => [1, null]}), Returns(<<"string">>, os:cmd("echo hi")),
        Returns(<<"term">>, {a, self()}), Returns(<<"long">>, binary:copy(<<"x">>, 50000)),
        Returns(<<"nested">>, #{out => [#{line => os:cmd("echo hello")}]})
    ],
    Turns = [calls([{Name, #{}} || Name <- [<<"text">>, <<"json">>, <<"string">>, <<"term">>, <<"long">>, <<"nested">>]]), <<"done">>],
    {ok, _, After} = beamai_agent:run(agent(Turns, #{kernel => tools(Tools)}), <<"go">>),
    [{ok, <<"a\n\"b\"">>}, {ok, <<"{\"a\":[1,null]}">>}, {error, String}, {error, Term}, {ok, Long}, {error, Nested}] = results(After),
    ?assertNotEqual(nomatch, string:find(String, "unicode:characters_to_binary")),
    ?assertNotEqual(nomatch, string:find(Nested, "charlist) in \"out.0.line\"")),
    ?assertMatch(<<"term returned a term that is neither text nor JSON: {a,<", _/binary>>, Term),
    ?assertEqual(30000, string:length(Long)),
    ?assertNotEqual(nomatch, string:find(Long, "[cut: the result has 50000 characters")).

the_agent_and_the_kernel_limit_results_test() ->
    Long = beamai_test:tool(<<"long">>, fun(_) -> {ok, binary:copy(<<"x">>, 50000)} end),
    Run = fun(Kernel, Options) ->
        Agent = agent([calls([{<<"long">>, #{}}]), <<"done">>], Options#{kernel => beamai_kernel:add_tool(Kernel, Long)}),
        {ok, _, After} = beamai_agent:run(Agent, <<"go">>),
        [{ok, Text}] = results(After),
        string:length(Text)
    end,
    Limited = beamai_kernel:new(#{limits => #{result => 2000}}),
    ?assertEqual(2000, Run(Limited, #{})),
    ?assertEqual(3000, Run(Limited, #{limits => #{result => 3000}})),
    [
        ?assertError({bad_option, limits}, beamai_kernel:new(#{limits => Bad}))
     || Bad <- [#{result => 10}, #{result => many}, #{results => 2000}, 2000]
    ].

an_image_is_no_text_to_the_model_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        ok = file:write_file(filename:join(Dir, "a.png"), <<137, "PNG\r\n", 26, "\n", 0:800>>),
        Kernel = beamai_kernel:add_tool_module(beamai_kernel:new(#{workspace => Dir}), beamai_tool_file),
        Turns = [calls([{<<"file_read">>, #{<<"path">> => <<"a.png">>}}]), <<"A dot.">>],
        {ok, _, After} = beamai_agent:run(agent(Turns, #{kernel => Kernel}), <<"What is it?">>),
        [#{content := Text, images := [#{media_type := <<"image/png">>, data := Data}]}] =
            [Message || #{role := tool} = Message <- messages(After)],
        ?assertMatch(<<137, "PNG", _/binary>>, base64:decode(Data)),
        ?assertEqual(nomatch, binary:match(Text, Data)),
        {ok, _} = beamai_agent:new(#{
            llm => beamai_chat:new(scripted, #{turns => []}), conversation => beamai_agent:conversation(After)
        })
    end).

an_error_of_any_shape_and_odd_arguments_end_no_run_test() ->
    Errors = [#{error_type => a}, #{error_type => a, message => <<255>>, details => x}, <<255>>, self()],
    [
        begin
            Fail = beamai_test:tool(<<"fail">>, fun(_) -> {error, Error} end),
            {ok, _, After} = beamai_agent:run(agent([calls([{<<"fail">>, #{}}]), <<"ok">>], #{kernel => tools([Fail])}), <<"go">>),
            ?assertMatch([{error, _}], results(After))
        end
     || Error <- Errors
    ],
    Files = #{plugins => [beamai_tool_file]},
    {ok, _, Odd} = beamai_agent:run(agent([calls([{<<"file_read">>, [1]}]), <<"ok">>], Files), <<"go">>),
    ?assertMatch([{error, _}], results(Odd)).

what_is_no_text_is_refused_and_not_kept_test() ->
    Agent = agent([<<"ok">>]),
    [?assertError({bad_text, Bad}, beamai_agent:run(Agent, Bad)) || Bad <- [<<255>>, text, [<<"a">>, 16#D800]]],
    {ok, _, After} = beamai_agent:run(Agent, ["Gr", 252, <<"ße"/utf8>>]),
    ?assertMatch([#{content := <<"Grüße"/utf8>>} | _], messages(After)),
    Model = beamai_chat:new(scripted, #{turns => []}),
    ?assertError({bad_option, system_prompt}, beamai_agent:new(#{llm => Model, system_prompt => <<255>>})),
    Stored = fun(Message) -> #{version => 1, messages => [Message], tool_calls => 0, usage => #{}} end,
    [
        ?assertError({bad_option, conversation}, beamai_agent:new(#{llm => Model, conversation => Bad}))
     || Bad <- [
            Stored(#{role => user, content => <<255>>}),
            Stored(#{role => assistant, content => <<>>, tool_calls => [nonsense]}),
            Stored(#{role => assistant, content => <<>>, tool_calls => [#{id => 1, name => <<"a">>, args => #{}}]}),
            Stored(#{role => tool, call => <<"x">>, name => <<"a">>, content => <<>>, outcome => ok, images => [1]}),
            (Stored(#{role => user, content => <<"a">>}))#{usage := #{input_tokens => many}}
        ]
    ].

it_gives_up_after_max_iterations_and_keeps_what_was_said_test() ->
    Agent = agent(fun(_) -> calls([{<<"echo">>, #{}}]) end, #{kernel => tools([echo()]), max_iterations => 3}),
    {error, {max_iterations, 3}, After} = beamai_agent:run(Agent, <<"go">>),
    ?assertEqual(3, length(results(After))),
    {error, {max_iterations, 1}, _} = beamai_agent:run(Agent, <<"go">>, #{max_iterations => 1}).

an_error_of_the_model_keeps_the_conversation_test() ->
    Agent = agent([calls([{<<"echo">>, #{}}]), {error, broken}, <<"again">>], #{kernel => tools([echo()])}),
    {error, {model, #{reason := failed, message := <<"broken">>}}, After} = beamai_agent:run(Agent, <<"go">>),
    ?assertEqual(3, length(messages(After))).

%%% State

a_conversation_goes_on_after_it_was_stored_test() ->
    Turns = [calls([{<<"echo">>, #{}}]), <<"one">>, <<"two">>],
    {ok, #{content := <<"one">>}, First} = beamai_agent:run(agent(Turns, #{kernel => tools([echo()])}), <<"a">>),
    Stored = term_to_binary(beamai_agent:conversation(First)),
    Again = agent(Turns, #{kernel => tools([echo()]), conversation => binary_to_term(Stored, [safe])}),
    {ok, #{content := <<"two">>}, Second} = beamai_agent:run(Again, <<"b">>),
    ?assertMatch(#{tool_calls := 1}, beamai_agent:conversation(Second)),
    ?assertEqual(6, length(messages(Second))),
    ?assertError({bad_option, conversation}, agent([], #{conversation => #{messages => []}})).

calls_that_nobody_answered_are_answered_on_resuming_test() ->
    Call = #{id => <<"x">>, name => <<"echo">>, args => #{}},
    Stored = (beamai_conversation:new())#{
        messages := [#{role => user, content => <<"a">>}, #{role => assistant, content => <<>>, tool_calls => [Call]}]
    },
    {ok, _, After} = beamai_agent:run(agent([<<>>, <<"ok">>], #{conversation => Stored}), <<"b">>),
    [{error, Why}] = results(After),
    ?assertNotEqual(nomatch, string:find(Why, "interrupted")).

the_key_of_a_model_is_not_in_the_conversation_nor_in_print_test() ->
    Model = beamai_chat:new(openai, #{model => <<"m">>, api_key => <<"sk-secret">>}),
    {ok, Agent} = beamai_agent:new(#{llm => Model}),
    ?assertEqual(nomatch, string:find(io_lib:format("~p", [Agent]), "sk-secret")),
    ?assertEqual(nomatch, binary:match(term_to_binary(beamai_agent:conversation(Agent)), <<"sk-secret">>)).

%%% Together and one after the other

%% Tools that note when they begin and end.
noting(Name, Metadata) ->
    Self = self(),
    Handler = fun(_) ->
        Self ! {begun, Name},
        timer:sleep(50),
        Self ! {ended, Name},
        {ok, Name}
    end,
    beamai_test:tool(Name, Handler, #{metadata => Metadata}).

noted() ->
    receive
        {What, Name} when What =:= begun; What =:= ended -> [{What, Name} | noted()]
    after 0 -> []
    end.

readers_run_together_and_writers_in_their_order_test() ->
    Kernel = tools([noting(<<"r1">>, #{read_only => true}), noting(<<"r2">>, #{read_only => true}), noting(<<"w">>, #{})]),
    Turns = [calls([{<<"r1">>, #{}}, {<<"r2">>, #{}}, {<<"w">>, #{}}, {<<"r1">>, #{}}]), <<"done">>],
    {ok, _, After} = beamai_agent:run(agent(Turns, #{kernel => Kernel}), <<"go">>),
    [{begun, _}, {begun, _}, {ended, _}, {ended, _} | Rest] = noted(),
    ?assertEqual([{begun, <<"w">>}, {ended, <<"w">>}, {begun, <<"r1">>}, {ended, <<"r1">>}], Rest),
    ?assertEqual([<<"r1">>, <<"r2">>, <<"w">>, <<"r1">>], [Content || {ok, Content} <- results(After)]).

what_conflicts_is_seen_by_path_test() ->
    Kernel = lists:foldl(
        fun(M, K) -> beamai_kernel:add_tool_module(K, M) end,
        beamai_kernel:new(#{workspace => "/tmp"}),
        [beamai_tool_file, beamai_tool_shell]
    ),
    Waves = fun(Calls) ->
        Numbered = [
            {N, #{id => <<>>, name => Name, args => #{<<"path">> => Path}}}
         || {N, {Name, Path}} <- lists:zip(lists:seq(1, length(Calls)), Calls)
        ],
        [[N || {N, _} <- Wave] || Wave <- beamai_agent_calls:waves(Kernel, Numbered)]
    end,
    {Read, Write, Edit, Shell} = {<<"file_read">>, <<"file_write">>, <<"file_edit">>, <<"shell_exec">>},
    ?assertEqual([[1, 2]], Waves([{Write, <<"a">>}, {Write, <<"b">>}])),
    ?assertEqual([[1], [2]], Waves([{Write, <<"a">>}, {Edit, <<"./a">>}])),
    ?assertEqual([[1], [2]], Waves([{Write, <<"a">>}, {Edit, <<"/tmp/a">>}])),
    ?assertEqual([[1], [2]], Waves([{Write, <<"a">>}, {Edit, <<"x/../b">>}])),
    ?assertEqual([[1], [2]], Waves([{Write, <<"a/b">>}, {<<"file_list">>, <<"a">>}])),
    ?assertEqual([[1, 2, 3]], Waves([{Read, <<"a">>}, {Read, <<"a">>}, {<<"file_grep">>, <<".">>}])),
    ?assertEqual([[1, 3], [2]], Waves([{Write, <<"a">>}, {Read, <<"a">>}, {Write, <<"b">>}])),
    ?assertEqual([[1], [2], [3]], Waves([{Write, <<"a">>}, {Shell, <<"b">>}, {Read, <<"c">>}])),
    ?assertEqual([[1], [2], [3]], Waves([{Write, <<"a">>}, {Read, <<"a">>}, {Write, <<"a">>}])).

calls_on_one_file_through_a_link_are_in_order_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        ok = file:make_symlink("a", filename:join(Dir, "l")),
        ok = file:make_symlink(".", filename:join(Dir, "d")),
        Kernel = beamai_kernel:add_tool_module(beamai_kernel:new(#{workspace => Dir}), beamai_tool_file),
        Waves = fun(Paths) ->
            Call = fun(Path) -> #{id => <<>>, name => <<"file_write">>, args => #{<<"path">> => Path}} end,
            Numbered = lists:zip(lists:seq(1, length(Paths)), [Call(Path) || Path <- Paths]),
            [[N || {N, _} <- Wave] || Wave <- beamai_agent_calls:waves(Kernel, Numbered)]
        end,
        ?assertEqual([[1], [2]], Waves([<<"a">>, <<"l">>])),
        ?assertEqual([[1], [2]], Waves([<<"d/a">>, <<"a">>])),
        ?assertEqual([[1, 2]], Waves([<<"a">>, <<"b">>]))
    end).

%% Each call runs after all earlier ones that it conflicts with, and no later than it must.
levels_are_those_of_a_comparison_of_all_calls_test() ->
    Places = [anything, [], [<<"a">>], [<<"a">>, <<"b">>], [<<"a">>, <<"b">>, <<"c">>], [<<"a">>, <<"c">>], [<<"d">>]],
    Random = fun(All) -> lists:nth(rand:uniform(length(All)), All) end,
    Overlap = fun(One, Other) ->
        One =:= anything orelse Other =:= anything orelse lists:prefix(One, Other) orelse lists:prefix(Other, One)
    end,
    Compared = fun({Access, Place}, Before) ->
        1 + lists:max([0 | [L || {L, {A, P}} <- Before, {A, Access} =/= {read, read}, Overlap(P, Place)]])
    end,
    [
        lists:foldl(
            fun(_, {Levels, Before}) ->
                Touches = {Random([read, read, write]), Random(Places)},
                {Level, Next} = beamai_call_levels:add(Touches, Levels),
                ?assertEqual(Compared(Touches, Before), Level, {Touches, Before}),
                {Next, [{Level, Touches} | Before]}
            end,
            {beamai_call_levels:new(), []},
            lists:seq(1, 30)
        )
     || _ <- lists:seq(1, 200)
    ].

no_call_starts_after_a_cancel_test() ->
    Me = self(),
    Ran = counters:new(1, []),
    Work = beamai_test:tool(<<"work">>, fun(_) -> counters:add(Ran, 1, 1), Me ! works, timer:sleep(100), {ok, <<"done">>} end),
    spawn_link(fun() ->
        Agent = agent([calls([{<<"work">>, #{}} || _ <- lists:seq(1, 8)]), <<"done">>], #{kernel => tools([Work])}),
        Me ! {ended, beamai_agent:run(Agent, <<"go">>, #{run_id => cancelled_in_calls})}
    end),
    receive works -> ok end,
    ok = beamai_kernel:cancel(cancelled_in_calls),
    receive {ended, Ended} -> ?assertMatch({error, cancelled, _}, Ended) end,
    ?assertEqual(1, counters:get(Ran, 1)).

two_edits_of_one_file_both_hold_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        ok = file:write_file(filename:join(Dir, "a"), "one two\n"),
        Kernel = beamai_kernel:new(#{workspace => Dir, permissions => #{default => allow}}),
        Edit = fun(Old, New) ->
            {<<"file_edit">>, #{<<"path">> => <<"a">>, <<"old_string">> => Old, <<"new_string">> => New}}
        end,
        Turns = [calls([Edit(<<"one">>, <<"1">>), Edit(<<"two">>, <<"2">>)]), <<"done">>],
        {ok, _, After} = beamai_agent:run(agent(Turns, #{kernel => Kernel, plugins => [beamai_tool_file]}), <<"go">>),
        ?assertMatch([{ok, _}, {ok, _}], results(After)),
        ?assertEqual({ok, <<"1 2\n">>}, file:read_file(filename:join(Dir, "a")))
    end).

%%% Limits

a_budget_of_tokens_ends_the_run_test() ->
    Turn = (calls([{<<"echo">>, #{}}]))#{usage => #{input_tokens => 40, output_tokens => 20}},
    Agent = agent(fun(_) -> Turn end, #{kernel => tools([echo()]), budget => #{max_tokens => 100}}),
    {error, {out_of_budget, tokens}, After} = beamai_agent:run(Agent, <<"go">>),
    ?assertMatch(#{usage := #{total_tokens := 120}}, beamai_agent:conversation(After)),
    ?assertEqual(2, length(results(After))).

a_budget_of_tokens_holds_where_the_model_counts_none_test() ->
    Model = beamai_chat:new(text, #{complete => fun(_) -> {ok, <<"echo()">>} end}),
    {ok, Agent} = beamai_agent:new(#{llm => Model, kernel => tools([echo()]), budget => #{max_tokens => 2000}}),
    {error, {out_of_budget, tokens}, After} = beamai_agent:run(Agent, <<"go">>),
    ?assertMatch(#{usage := #{total_tokens := Used}} when Used >= 2000 andalso Used < 4000, beamai_agent:conversation(After)).

counts_that_no_answer_has_end_no_run_and_pass_no_budget_test() ->
    Turn = fun(Count) -> (calls([{<<"echo">>, #{}}]))#{usage => #{input_tokens => Count, output_tokens => Count, cached_tokens => Count}} end,
    [
        begin
            Agent = agent(fun(_) -> Turn(Bad) end, #{kernel => tools([echo()]), budget => #{max_tokens => 200}}),
            {error, {out_of_budget, tokens}, After} = beamai_agent:run(Agent, <<"go">>),
            ?assertMatch(#{usage := #{total_tokens := Used}} when Used >= 200 andalso Used < 1000, beamai_agent:conversation(After))
        end
     || Bad <- [1.0e30, -600, 1 bsl 64 - 1, 1 bsl 63 - 1, trunc(1.0e30), <<"7">>]
    ].

a_cost_that_no_counter_holds_ends_no_run_test() ->
    Dear = #{default => #{input => 1.0e12, output => 1}},
    Turns = [#{content => <<"ok">>, usage => #{input_tokens => 1000000000000, output_tokens => 1}}],
    {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => Turns, prices => Dear})}),
    ?assertMatch({ok, #{usage := #{cost_nano := 1000000000000000000}}, _}, beamai_agent:run(Agent, <<"go">>)).

a_budget_of_time_ends_the_run_and_what_it_waits_for_test() ->
    Never = fun(_) -> timer:sleep(60000), {ok, <<>>} end,
    Model = beamai_chat:new(text, #{complete => Never}),
    {ok, Agent} = beamai_agent:new(#{llm => Model, budget => #{max_time => 100}}),
    ?assertMatch({error, {out_of_budget, time}, _}, beamai_agent:run(Agent, <<"go">>)).

a_budget_of_time_ends_the_calls_that_run_test_() ->
    {timeout, 30, fun() ->
        Self = self(),
        Wait = beamai_test:tool(<<"wait">>, fun(_) -> Self ! {at_work, self()}, timer:sleep(60000), {ok, 1} end),
        Kernel = beamai_kernel:add_tool(
            beamai_kernel:add_tool_module(
                beamai_kernel:new(#{permissions => #{default => allow}, sandbox => best_effort}), beamai_tool_shell
            ),
            Wait
        ),
        Sleep = #{<<"command">> => <<"sleep 60">>, <<"timeout">> => 50000},
        Fun = fun(_, _) -> timer:sleep(60000) end,
        [
            begin
                Agent = agent([calls([Call]), <<"never">>], #{
                    kernel => Kernel, agents => #{<<"fun">> => Fun}, budget => #{max_time => 200}
                }),
                {error, {out_of_budget, time}, After} = beamai_agent:run(Agent, <<"go">>),
                [{error, Told}] = results(After),
                ?assertMatch({_, match}, {Told, re:run(Told, "did not finish within|timeout of|time was over|ran out", [{capture, none}])})
            end
         || Call <- [
                {<<"wait">>, #{}}, {<<"shell_exec">>, Sleep},
                {<<"task">>, #{<<"agent">> => <<"fun">>, <<"objective">> => <<"wait">>}}
            ]
        ],
        Handler = receive {at_work, Pid} -> Pid end,
        ?assertNot(is_process_alive(Handler))
    end}.

a_run_is_cancelled_by_its_id_test() ->
    Self = self(),
    Wait = beamai_test:tool(<<"wait">>, fun(_) -> Self ! {waiting, self()}, timer:sleep(60000), {ok, 1} end),
    Agent = agent([calls([{<<"wait">>, #{}}]), <<"never">>], #{kernel => tools([Wait])}),
    spawn_link(fun() -> Self ! {ended, beamai_agent:run(Agent, <<"go">>, #{run_id => my_run})} end),
    Handler = receive {waiting, Pid} -> Pid end,
    ok = beamai_kernel:cancel(my_run),
    {error, cancelled, After} = receive {ended, Result} -> Result end,
    ?assertMatch([{error, _}], results(After)),
    ?assertNot(is_process_alive(Handler)).

a_dead_caller_ends_the_model_and_the_tools_test() ->
    Self = self(),
    Model = beamai_chat:new(text, #{complete => fun(_) -> Self ! {at_work, self()}, timer:sleep(60000) end}),
    {ok, Agent} = beamai_agent:new(#{llm => Model}),
    Caller = spawn(fun() -> beamai_agent:run(Agent, <<"go">>) end),
    Worker = receive {at_work, Pid} -> Pid end,
    exit(Caller, kill),
    beamai_test:eventually(fun() -> not is_process_alive(Worker) end).

%%% Profiles

in_plan_there_are_tools_that_read_and_the_one_for_questions_test() ->
    Plugins = [beamai_tool_file, beamai_tool_shell, beamai_tool_human],
    Names = fun(Profile, Kernel) ->
        Agent = agent([], #{kernel => Kernel, plugins => Plugins, profile => Profile}),
        [Name || #{name := Name} <- beamai_kernel:list_tools(beamai_agent:kernel(Agent))]
    end,
    Kernel = tools([beamai_test:tool(<<"question">>, fun(_) -> {ok, 1} end), echo()]),
    Plan = Names(plan, Kernel),
    [?assert(lists:member(Name, Plan)) || Name <- [<<"file_read">>, <<"file_grep">>, <<"human_input">>, <<"question">>]],
    [?assertNot(lists:member(Name, Plan)) || Name <- [<<"file_write">>, <<"file_edit">>, <<"shell_exec">>, <<"echo">>]],
    Default = Names(default, Kernel),
    ?assertNot(lists:member(<<"question">>, Default)),
    [?assert(lists:member(Name, Default)) || Name <- [<<"file_write">>, <<"shell_exec">>, <<"echo">>, <<"human_input">>]].

in_plan_naming_a_tool_that_writes_is_naming_an_unknown_one_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Kernel = beamai_kernel:new(#{workspace => Dir, permissions => #{default => allow}}),
        Write = {<<"file_write">>, #{<<"path">> => <<"a">>, <<"content">> => <<"x">>}},
        Agent = agent([calls([Write]), <<"plan">>], #{kernel => Kernel, plugins => [beamai_tool_file], profile => plan}),
        {ok, _, After} = beamai_agent:run(Agent, <<"go">>),
        ?assertMatch([{error, <<"there is no tool named ", _/binary>>}], results(After)),
        ?assertEqual({ok, []}, file:list_dir(Dir))
    end).

the_prompt_tells_of_the_plan_test() ->
    Model = beamai_chat:new(scripted, #{turns => fun(#{system := System}) -> System end}),
    Ask = fun(Options) ->
        {ok, Agent} = beamai_agent:new(Options#{llm => Model, system_prompt => <<"Be kind.">>}),
        {ok, #{content := Prompt}, _} = beamai_agent:run(Agent, <<"go">>),
        Prompt
    end,
    ?assertEqual(<<"Be kind.">>, Ask(#{})),
    ?assertMatch(<<"Be kind.\n\nYou are in plan mode", _/binary>>, Ask(#{profile => plan})).

%%% The text protocol

a_model_without_function_calling_calls_tools_in_text_test() ->
    Self = self(),
    Answers = fun
        (1) -> <<"I call.\n<TOOL_CALL>\n{\"tool\": \"echo\", \"args\": {\"a\": 1}}\n</TOOL_CALL>">>;
        (2) -> <<"<TOOL_CALL>\n{\"tool\": \"nobody\", \"args\": {}}\n</TOOL_CALL>">>;
        (3) -> <<"Done.">>
    end,
    Count = counters:new(1, []),
    Complete = fun(Prompt) ->
        counters:add(Count, 1, 1),
        Self ! {prompt, Prompt},
        {ok, Answers(counters:get(Count, 1))}
    end,
    {ok, Agent} = beamai_agent:new(#{
        llm => beamai_chat:new(text, #{complete => Complete}), kernel => tools([echo()]), system_prompt => <<"Be kind.">>
    }),
    {ok, #{content := <<"Done.">>, tool_calls := 2}, After} = beamai_agent:run(Agent, <<"Go.">>),
    [First, Second, Third] = [receive {prompt, P} -> P end || _ <- [1, 2, 3]],
    ?assertMatch(<<"Be kind.\n\n", _/binary>>, First),
    [?assertNotEqual(nomatch, string:find(First, Part)) || Part <- ["echo", "USER: Go.", "<TOOL_CALL>"]],
    ?assertEqual(<<"ASSISTANT:">>, binary:part(First, byte_size(First), -10)),
    ?assertNotEqual(nomatch, string:find(Second, "TOOL_RESULT: ")),
    ?assertNotEqual(nomatch, string:find(Second, "\"data\": \"{\\\"a\\\":1}\"")),
    ?assertNotEqual(nomatch, string:find(Third, "TOOL_ERROR: ")),
    ?assertMatch([{ok, <<"{\"a\":1}">>}, {refused, _}], results(After)).

in_the_text_protocol_results_of_its_specification_are_objects_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        ok = file:write_file(filename:join(Dir, "a.txt"), <<"1.0.0\n">>),
        Self = self(),
        Count = counters:new(1, []),
        Complete = fun(Prompt) ->
            Self ! {prompt, Prompt},
            counters:add(Count, 1, 1),
            Call = <<"<TOOL_CALL>\n{\"tool\": \"read_file\", \"args\": {\"path\": \"a.txt\"}}\n</TOOL_CALL>">>,
            {ok, case counters:get(Count, 1) of 1 -> Call; 2 -> <<"Done.">> end}
        end,
        {ok, Agent} = beamai_agent:new(#{
            llm => beamai_chat:new(text, #{complete => Complete}), kernel => beamai_kernel:new(#{workspace => Dir}),
            plugins => [beamai_dialect_ide]
        }),
        {ok, #{content := <<"Done.">>}, After} = beamai_agent:run(Agent, <<"Which version?">>),
        [_, Prompt] = [receive {prompt, P} -> P end || _ <- [1, 2]],
        Result = <<"\"data\": {\n    \"content\": \"1.0.0\\n\",\n    \"lines\": 1\n  }">>,
        ?assertNotEqual(nomatch, string:find(Prompt, Result)),
        ?assertEqual([{ok, <<"1.0.0">>}], results(After)),
        {ok, Read, _} = beamai_kernel:invoke(beamai_agent:kernel(After), <<"read_file">>, #{<<"path">> => <<"a.txt">>}),
        ?assertNotEqual(
            nomatch, string:find(beamai_protocol:format_result(<<"read_file">>, #{<<"path">> => <<"a.txt">>}, {ok, Read}), Result)
        )
    end).

what_a_function_answers_wrongly_is_an_error_test() ->
    Run = fun(Complete) ->
        {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(text, #{complete => Complete})}),
        {error, {model, #{reason := failed, message := Message}}, _} = beamai_agent:run(Agent, <<"Go.">>),
        Message
    end,
    ?assertNotEqual(nomatch, string:find(Run(fun(_) -> {error, {no, browser}} end), "{no,browser}")),
    ?assertNotEqual(nomatch, string:find(Run(fun(_) -> error(oops) end), "oops")),
    ?assertNotEqual(nomatch, string:find(Run(fun(_) -> {ok, 1} end), "returned")).

%%% Options

a_bad_option_is_refused_by_its_name_test() ->
    [
        ?assertError({bad_option, Key}, agent([], #{Key => Bad}))
     || {Key, Bad} <- [
            {llm, none}, {plugins, none}, {kernel, #{}}, {system_prompt, "text"}, {profile, other}, {max_iterations, 0},
            {budget, #{tokens => 1}}, {budget, #{max_time => 0}}, {context, []}, {agents, []}, {nonsense, 1}
        ]
    ],
    ?assertError({bad_option, llm}, beamai_agent:new(#{})),
    ?assertError({bad_option, events}, beamai_agent:run(agent([]), <<"go">>, #{events => 1})).
