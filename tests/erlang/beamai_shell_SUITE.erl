%% Commands: what they are given and answer, and how they end.
-module(beamai_shell_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).

all() ->
    [
        a_command_answers_with_its_output,
        a_command_has_directory_environment_and_input,
        a_command_that_takes_too_long_is_killed_with_its_children,
        a_command_needs_approval_and_shows_itself,
        a_command_has_the_sessions_temporary_directory,
        a_command_dies_with_its_caller,
        a_cancelled_command_dies,
        the_sandbox_confines_commands_and_takes_options
    ].

init_per_suite(Config) ->
    {ok, _} = application:ensure_all_started(beamai),
    Config.

end_per_suite(_Config) -> ok.

init_per_testcase(_Case, Config) ->
    [{workspace, beamai_test:workspace()} | Config].

end_per_testcase(_Case, Config) ->
    beamai_test:remove(workspace(Config)).

%%% Helpers

workspace(Config) -> proplists:get_value(workspace, Config).

kernel(Config) ->
    kernel(Config, #{permissions => #{default => allow}}).

kernel(Config, Options) ->
    Kernel = beamai_kernel:new(Options#{workspace => workspace(Config)}),
    Files = beamai_kernel:add_tool_module(Kernel, beamai_tool_file),
    beamai_kernel:add_tool_module(Files, beamai_tool_shell).

run(Kernel, Args) ->
    case beamai_kernel:invoke(Kernel, <<"shell_exec">>, Args) of
        {ok, Result, #{}} -> {ok, Result};
        {error, Error} -> {error, Error}
    end.

error_of({error, #{error_type := Type, details := #{reason := Reason}}}) -> {Type, Reason}.

%%% Cases

a_command_answers_with_its_output(Config) ->
    {ok, Result} = run(kernel(Config), #{<<"command">> => <<"echo out; echo err >&2; exit 3">>}),
    ?assertMatch(
        #{
            <<"exit_code">> := 3,
            <<"stdout">> := <<"out\n">>,
            <<"stderr">> := <<"err\n">>,
            <<"truncated">> := _
        },
        Result
    ),
    %% Every layer was on, which needs no words.
    ?assertNot(is_map_key(<<"isolation">>, Result)).

a_command_has_directory_environment_and_input(Config) ->
    ok = file:make_dir(filename:join(workspace(Config), "dir")),
    ok = file:write_file(filename:join([workspace(Config), "dir", "x"]), <<>>),
    {ok, #{<<"stdout">> := Out}} = run(kernel(Config), #{
        <<"command">> => <<"ls; echo $COLOUR; cat">>,
        <<"cwd">> => <<"dir">>,
        <<"env">> => #{<<"COLOUR">> => <<"red">>},
        <<"stdin">> => <<"in">>
    }),
    ?assertEqual(<<"x\nred\nin">>, Out).

a_command_that_takes_too_long_is_killed_with_its_children(Config) ->
    Mark = beamai_temp_dir:random_name(),
    Command = <<"exec -a ", Mark/binary, " sleep 600 & setsid bash -c 'exec -a ", Mark/binary,
        " sleep 600' & echo begun; wait">>,
    {Time, Answer} = timer:tc(fun() ->
        run(kernel(Config), #{<<"command">> => Command, <<"timeout">> => 2000})
    end),
    ?assertEqual({timeout, timeout}, error_of(Answer)),
    {error, #{details := #{stdout := <<"begun\n">>}}} = Answer,
    ?assert(Time < 60000000),
    beamai_test:eventually(fun() -> running(Mark) =:= [] end).

%% Processes with this text in their command line.
running(Mark) ->
    [
        Pid
     || Pid <- filelib:wildcard("[0-9]*", "/proc"),
        {ok, Line} <- [file:read_file("/proc/" ++ Pid ++ "/cmdline")],
        binary:match(Line, Mark) =/= nomatch
    ].

a_command_needs_approval_and_shows_itself(Config) ->
    Me = self(),
    Approve = fun(#{command := Command, subject := Subject}) ->
        Me ! {asked, Command, Subject},
        {deny, <<"no">>}
    end,
    Kernel = kernel(Config, #{approve => Approve}),
    Answer = run(Kernel, #{<<"command">> => <<"touch x">>}),
    ?assertEqual({permission_denied, denied}, error_of(Answer)),
    receive
        {asked, Command, Subject} ->
            ?assertEqual({<<"touch x">>, <<"Bash(touch x)">>}, {Command, Subject})
    after 0 -> error(not_asked)
    end,
    ?assertNot(filelib:is_file(filename:join(workspace(Config), "x"))).

a_command_has_the_sessions_temporary_directory(Config) ->
    Kernel = kernel(Config),
    Context = #{session_id => make_ref()},
    Run = fun(Command) ->
        {ok, #{<<"stdout">> := Out}, _} =
            beamai_kernel:invoke(Kernel, <<"shell_exec">>, #{<<"command">> => Command}, Context),
        Out
    end,
    _ = Run(<<"echo kept > \"$TMPDIR/file\"">>),
    ?assertEqual(<<"kept\n">>, Run(<<"cat \"$TMPDIR/file\"">>)),
    {ok, Dir} = beamai_session:temp_dir(beamai_session:key(Context)),
    ?assert(filelib:is_file(filename:join(Dir, "file"))),
    {ok, _, _} = beamai_kernel:invoke(
        Kernel, <<"file_read">>, #{<<"path">> => filename:join(Dir, "file")}, Context
    ),
    ok = beamai_session:close(maps:get(session_id, Context)),
    ?assertNot(filelib:is_file(Dir)).

a_command_dies_with_its_caller(Config) ->
    Mark = beamai_temp_dir:random_name(),
    Kernel = kernel(Config),
    Args = #{<<"command">> => <<"exec -a ", Mark/binary, " sleep 600">>},
    Caller = spawn(fun() -> beamai_kernel:invoke(Kernel, <<"shell_exec">>, Args) end),
    beamai_test:eventually(fun() -> running(Mark) =/= [] end),
    exit(Caller, kill),
    beamai_test:eventually(fun() -> running(Mark) =:= [] end).

a_cancelled_command_dies(Config) ->
    Mark = beamai_temp_dir:random_name(),
    Kernel = kernel(Config),
    Args = #{<<"command">> => <<"exec -a ", Mark/binary, " sleep 600">>},
    Me = self(),
    RunId = make_ref(),
    spawn_link(fun() ->
        Me ! {answer, beamai_kernel:invoke(Kernel, <<"shell_exec">>, Args, #{run_id => RunId})}
    end),
    beamai_test:eventually(fun() -> running(Mark) =/= [] end),
    ok = beamai_kernel:cancel(RunId),
    receive
        {answer, Answer} -> ?assertEqual({execution_failed, cancelled}, error_of(Answer))
    after 30000 -> error(not_cancelled)
    end,
    beamai_test:eventually(fun() -> running(Mark) =:= [] end).

the_sandbox_confines_commands_and_takes_options(Config) ->
    Elsewhere = filename:join("/var/tmp", ["beamai-", os:getpid(), "-", integer_to_list(erlang:unique_integer([positive]))]),
    ok = file:make_dir(Elsewhere),
    File = filename:join(Elsewhere, "file"),
    Write = fun(Sandbox) ->
        Kernel = kernel(Config, maps:merge(#{permissions => #{default => allow}}, Sandbox)),
        Command = unicode:characters_to_binary(["echo x > ", File]),
        {ok, Result} = run(Kernel, #{<<"command">> => Command}),
        Is = filelib:is_file(File),
        _ = file:delete(File),
        {Is, maps:get(<<"mode">>, maps:get(<<"isolation">>, Result, #{<<"mode">> => unsaid}))}
    end,
    %% Required is the default, with every layer.
    ?assertEqual({false, unsaid}, Write(#{})),
    ?assertEqual({false, <<"required">>}, Write(#{sandbox => #{report => always}})),
    ?assertEqual({true, <<"off">>}, Write(#{sandbox => off})),
    ?assertEqual(
        {true, <<"best_effort">>},
        Write(#{sandbox => #{mode => best_effort, writable => [Elsewhere], report => always}})
    ),
    ?assertEqual({false, <<"required">>}, Write(#{sandbox => #{memory => 1 bsl 30, processes => 500, network => true}})),
    ok = file:del_dir(Elsewhere),
    %% A sandbox that cannot be is refused.
    Kernel = kernel(Config, #{permissions => #{default => allow}, sandbox => #{writable => [Elsewhere]}}),
    Answer = run(Kernel, #{<<"command">> => <<"true">>}),
    ?assertEqual({execution_failed, isolation_unavailable}, error_of(Answer)).
