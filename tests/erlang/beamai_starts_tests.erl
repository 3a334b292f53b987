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
            Approve = fun(Request) -> Me ! {self(), Request}, timer:sleep(2500), allow end,
            %% The time of the person does not count.
            {ok, Result, _} = run(kernel(Dir, #{approve => Approve}), #{timeout => 2000}),
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
