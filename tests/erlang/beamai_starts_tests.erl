%% Programs that a running command is about to start and that somebody is asked about.
-module(beamai_starts_tests).

-include_lib("eunit/include/eunit.hrl").

%% awk is allowed, and what it starts is not.
-define(COMMAND,
    <<"echo a | tee -a before; awk 'BEGIN { exit system(\"rm gone\") }'; echo $? | tee -a after">>
).

kernel(Dir, Options) ->
    Rules = #{allow => [<<"Bash(awk:*)">>, <<"Bash(tee:*)">>]},
    Kernel = beamai_kernel:new(maps:merge(#{workspace => Dir, permissions => Rules}, Options)),
    beamai_kernel:add_tool_module(Kernel, beamai_tool_shell).

with_workspace(Test) ->
    Dir = filename:join("/var/tmp", "beamai-starts-" ++ integer_to_list(erlang:unique_integer([positive]))),
    ok = file:make_dir(Dir),
    ok = file:write_file(filename:join(Dir, "gone"), <<>>),
    try
        Test(Dir)
    after
        file:del_dir_r(Dir)
    end.

run(Kernel, Args) ->
    run(Kernel, Args, #{}).

run(Kernel, Args, Context) ->
    beamai_kernel:invoke(Kernel, <<"shell_exec">>, maps:merge(#{command => ?COMMAND}, Args), Context).

content(Dir, Name) ->
    {ok, Content} = file:read_file(filename:join(Dir, Name)),
    Content.

is_there(Dir) ->
    filelib:is_file(filename:join(Dir, "gone")).

an_approved_start_goes_on_and_nothing_happens_twice_test_() ->
    {timeout, 60, fun() ->
        with_workspace(fun(Dir) ->
            Me = self(),
            Approve = fun(Request) -> Me ! {self(), Request}, timer:sleep(6000), allow end,
            %% The time of the person does not count.
            {ok, Result, _} = run(kernel(Dir, #{approve => Approve}), #{timeout => 5000}),
            ?assertMatch(#{<<"exit_code">> := 0}, Result),
            ?assertEqual({<<"a\n">>, <<"0\n">>}, {content(Dir, "before"), content(Dir, "after")}),
            ?assertNot(is_there(Dir)),
            receive
                {Me, Request} ->
                    #{tool := <<"shell_exec">>, rule := <<"Bash">>, subject := Subject, start := Start} = Request,
                    ?assertEqual(<<"Bash(sh -c 'rm gone')">>, Subject),
                    ?assertMatch(#{<<"arguments">> := [<<"-c">>, <<"rm gone">>], <<"program">> := _}, Start),
                    ?assertMatch(#{wanted := [<<"Bash(rm:*)">>], command := ?COMMAND}, Request)
            end,
            receive
                {Me, Another} -> ?assertEqual(none, Another)
            after 0 -> ok
            end
        end)
    end}.

a_start_that_is_denied_fails_and_the_command_goes_on_test_() ->
    {timeout, 60, fun() ->
        with_workspace(fun(Dir) ->
            Approve = fun(_) -> {deny, <<"not that">>} end,
            {ok, Result, _} = run(kernel(Dir, #{approve => Approve}), #{}),
            #{<<"refused">> := [#{<<"command">> := <<"sh -c 'rm gone'">>, <<"reason">> := Reason}]} = Result,
            ?assertMatch({match, _}, re:run(Reason, "not that")),
            ?assertEqual(<<"a\n">>, content(Dir, "before")),
            ?assertNotEqual(<<"0\n">>, content(Dir, "after")),
            ?assert(is_there(Dir))
        end)
    end}.

an_approval_for_the_session_is_remembered_test_() ->
    {timeout, 60, fun() ->
        with_workspace(fun(Dir) ->
            Me = self(),
            Approve = fun(_) -> Me ! asked, {allow, session} end,
            Kernel = kernel(Dir, #{approve => Approve}),
            Context = #{session_id => {?MODULE, Dir}},
            [{ok, _, _} = run(Kernel, #{}, Context) || _ <- [1, 2]],
            receive asked -> ok end,
            receive
                asked -> ?assert(false)
            after 0 -> ok
            end
        end)
    end}.

%% What is shown of a start may be shortened.
an_approval_for_the_session_is_for_that_start_alone_test_() ->
    %% A program whose arguments are not all known is asked about again, and the question says what it leaves out. What such a shell
    %% starts is asked about by itself.
    {timeout, 60, fun() ->
        ?assertMatch([_, _], questions_about_starts(1500)),
        [Shell, Touch, Shell, OtherTouch, Shell, Touch] = [cut_or_whole(Message) || Message <- questions_about_starts(5000)],
        ?assertMatch({cut, <<"touch one, because", _/binary>>, <<"touch two, because", _/binary>>}, {Shell, Touch, OtherTouch})
    end}.

cut_or_whole(Message) ->
    case re:run(Message, "50[0-9][0-9] characters.*not all of it is shown") of
        {match, _} -> cut;
        nomatch -> lists:last(binary:split(Message, <<": ">>, [global]))
    end.

%% The questions about three starts with arguments of some length, of which the last one is the first one again.
questions_about_starts(Length) ->
    with_workspace(fun(Dir) ->
        Me = self(),
        Approve = fun(#{message := Message}) -> Me ! {asked, Message}, {allow, session} end,
        Kernel = kernel(Dir, #{approve => Approve}),
        Context = #{session_id => {?MODULE, alone, Dir}},
        Long = binary:copy(<<"x">>, Length),
        [begin
            Text = <<"awk 'BEGIN { system(\": ", Long/binary, "; touch ", Name/binary, "\") }'">>,
            {ok, _, _} = run(Kernel, #{command => Text}, Context)
        end || Name <- [<<"one">>, <<"two">>, <<"one">>]],
        asked()
    end).

with_nobody_to_ask_the_command_ends_before_the_start_test_() ->
    {timeout, 60, fun() ->
        with_workspace(fun(Dir) ->
            {error, #{error_type := Type, message := Message, details := Details}} = run(kernel(Dir, #{}), #{}),
            ?assertEqual({permission_denied, needs_approval}, {Type, maps:get(reason, Details)}),
            ?assertMatch({match, _}, re:run(Message, "Bash\\(rm:\\*\\)")),
            ?assertMatch({match, _}, re:run(Message, "tee -a before")),
            ?assertEqual(<<"a\n">>, content(Dir, "before")),
            ?assert(is_there(Dir)),
            ?assertNot(filelib:is_file(filename:join(Dir, "after")))
        end)
    end}.

an_added_rule_covers_what_the_command_starts_from_there_on_test_() ->
    {timeout, 60, fun() ->
        with_workspace(fun(Dir) ->
            Me = self(),
            Approve = fun(#{wanted := [Rule]}) -> Me ! {asked, Rule}, {allow, {rule, Rule}} end,
            Twice = <<"awk 'BEGIN { system(\"rm gone\"); exit system(\"rm -f other\") }'">>,
            Context = #{session_id => {?MODULE, rule, Dir}},
            Kernel = kernel(Dir, #{approve => Approve}),
            [{ok, #{<<"exit_code">> := 0}, _} = run(Kernel, #{command => Twice}, Context) || _ <- [1, 2]],
            ?assertNot(is_there(Dir)),
            ?assertEqual([<<"Bash(rm:*)">>], asked())
        end)
    end}.

asked() ->
    receive {asked, Rule} -> [Rule | asked()] after 0 -> [] end.

%% What was shown is what starts: neither more of the same program, nor the same by another one.
an_approved_text_covers_what_it_shows_test_() ->
    {timeout, 60, fun() ->
        with_workspace(fun(Dir) ->
            Me = self(),
            Approve = fun(#{subject := Subject}) -> Me ! {asked, Subject}, allow end,
            Command = <<"awk 'BEGIN { system(\"touch one; env touch two\"); exit system(\"touch three\") }'">>,
            {ok, _, _} = run(kernel(Dir, #{approve => Approve}), #{command => Command}),
            ?assertEqual([<<"Bash(sh -c 'touch one; env touch two')">>, <<"Bash(sh -c 'touch three')">>], asked()),
            [?assert(filelib:is_file(filename:join(Dir, Name))) || Name <- ["one", "two", "three"]]
        end)
    end}.

the_caller_dies_while_a_start_waits_test_() ->
    {timeout, 60, fun() ->
        with_workspace(fun(Dir) ->
            Me = self(),
            Approve = fun(_) -> Me ! {asked, self()}, receive go -> allow end end,
            {Caller, Ref} = spawn_monitor(fun() -> run(kernel(Dir, #{approve => Approve}), #{}) end),
            Asker = receive {asked, Pid} -> Pid end,
            exit(Caller, kill),
            receive {'DOWN', Ref, process, Caller, _} -> ok end,
            Asker ! go,
            ended(Dir),
            ?assert(is_there(Dir)),
            ?assertNot(filelib:is_file(filename:join(Dir, "after")))
        end)
    end}.

a_call_is_cancelled_while_a_start_waits_test_() ->
    {timeout, 60, fun() ->
        cancelled_while_a_start_waits(fun(Kernel, Context) -> run(Kernel, #{}, Context) end)
    end}.

one_of_several_calls_is_cancelled_while_a_start_waits_test_() ->
    {timeout, 60, fun() ->
        cancelled_while_a_start_waits(fun(Kernel, Context) ->
            Call = {<<"shell_exec">>, #{command => ?COMMAND}},
            {[Answer, _], _} = beamai_kernel:invoke_all(Kernel, [Call, {<<"shell_exec">>, #{command => <<"tee x">>}}], Context),
            Answer
        end)
    end}.

%% Nobody answers.
cancelled_while_a_start_waits(Run) ->
    with_workspace(fun(Dir) ->
        Me = self(),
        Approve = fun(_) -> Me ! {asked, self()}, receive never -> allow end end,
        Context = #{run_id => {?MODULE, Dir}},
        Caller = spawn_link(fun() -> Me ! {ran, Run(kernel(Dir, #{approve => Approve}), Context)} end),
        Asker = receive {asked, Pid} -> Pid end,
        ?assertNotEqual(Caller, Asker),
        ok = beamai_kernel:cancel({?MODULE, Dir}),
        receive
            {ran, Ran} -> ?assertMatch({error, #{details := #{reason := cancelled}}}, Ran)
        after 30000 -> error(not_ended)
        end,
        ?assertNot(is_process_alive(Asker)),
        ended(Dir),
        ?assert(is_there(Dir)),
        ?assertNot(filelib:is_file(filename:join(Dir, "after")))
    end).

%% Nobody answers, and the command itself has no timeout that would end it soon.
the_time_of_the_budget_is_over_while_a_start_waits_test_() ->
    {timeout, 60, fun() ->
        with_workspace(fun(Dir) ->
            Me = self(),
            Approve = fun(_) -> Me ! {asked, self()}, receive never -> allow end end,
            Turn = #{tool_calls => [{<<"shell_exec">>, #{<<"command">> => <<?COMMAND/binary, "; sleep 50">>}}]},
            {ok, Agent} = beamai_agent:new(#{
                llm => beamai_chat:new(scripted, #{turns => [Turn]}),
                kernel => kernel(Dir, #{approve => Approve}),
                budget => #{max_time => 6000}
            }),
            {Took, {error, {out_of_budget, time}, _}} = timer:tc(fun() -> beamai_agent:run(Agent, <<"go">>) end),
            ?assert(Took < 40000000),
            receive {asked, Asker} -> ?assertNot(is_process_alive(Asker)) end,
            ended(Dir),
            ?assert(is_there(Dir)),
            ?assertNot(filelib:is_file(filename:join(Dir, "after")))
        end)
    end}.

the_port_is_killed_while_a_start_waits_test_() ->
    {timeout, 60, fun() ->
        with_workspace(fun(Dir) ->
            Approve = fun(_) ->
                {ok, _, Port} = beamai_port:connect(),
                {os_pid, Pid} = erlang:port_info(Port, os_pid),
                [] = os:cmd("kill -9 " ++ integer_to_list(Pid)),
                allow
            end,
            {error, #{error_type := Type}} = run(kernel(Dir, #{approve => Approve}), #{}),
            ?assertNotEqual(permission_denied, Type),
            ended(Dir),
            ?assert(is_there(Dir)),
            ?assertNot(filelib:is_file(filename:join(Dir, "after"))),
            %% Another port program takes the next call.
            {ok, #{<<"exit_code">> := 0}, _} = run(kernel(Dir, #{approve => fun(_) -> allow end}), #{}),
            ?assertNot(is_there(Dir))
        end)
    end}.

%% No process has the workspace as its directory any more.
ended(Dir) ->
    ended(Dir, 100).

ended(Dir, Left) ->
    case [Pid || Pid <- filelib:wildcard("/proc/[0-9]*"), file:read_link(Pid ++ "/cwd") =:= {ok, Dir}] of
        [] -> ok;
        _ when Left > 0 -> timer:sleep(50), ended(Dir, Left - 1);
        Pids -> error({left, [file:read_file(Pid ++ "/cmdline") || Pid <- Pids]})
    end.

nothing_of_the_guard_reaches_a_started_program_test_() ->
    {timeout, 60, fun() ->
        with_workspace(fun(Dir) ->
            Command = <<"awk 'BEGIN { exit system(\"ls -l /proc/self/fd\") }'">>,
            Kernel = kernel(Dir, #{approve => fun(_) -> allow end}),
            {ok, #{<<"exit_code">> := 0, <<"stdout">> := Text}, _} = run(Kernel, #{command => Command}),
            Links = [Line || Line <- binary:split(Text, <<"\n">>, [global]), binary:match(Line, <<" -> ">>) =/= nomatch],
            %% Input, output, error, and the directory that is being listed.
            ?assertMatch([_, _, _, _], Links),
            ?assertEqual(nomatch, binary:match(Text, [<<"seccomp">>, <<"socket:">>]))
        end)
    end}.
