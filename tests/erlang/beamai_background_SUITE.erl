%% Commands in the background, through the kernel: they belong to their session and to the port.
-module(beamai_background_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, init_per_testcase/2, end_per_testcase/2]).
-export([
    a_command_is_watched_until_it_has_ended/1,
    a_command_is_killed/1,
    a_command_outlives_its_caller_where_the_session_has_an_id/1,
    a_session_that_is_closed_takes_its_commands_with_it/1,
    a_session_without_an_id_takes_its_commands_with_its_process/1,
    a_session_that_was_killed_takes_its_commands_with_it/1,
    a_dead_port_takes_every_command_with_it/1,
    the_application_takes_every_command_with_it/1,
    two_sessions_do_not_see_each_others_commands/1,
    the_start_is_asked_about_and_the_rest_is_not/1,
    long_output_is_read_from_its_file/1,
    what_has_ended_holds_no_descriptor/1
]).

all() ->
    [
        a_command_is_watched_until_it_has_ended,
        a_command_is_killed,
        a_command_outlives_its_caller_where_the_session_has_an_id,
        a_session_that_is_closed_takes_its_commands_with_it,
        a_session_without_an_id_takes_its_commands_with_its_process,
        a_session_that_was_killed_takes_its_commands_with_it,
        a_dead_port_takes_every_command_with_it,
        the_application_takes_every_command_with_it,
        two_sessions_do_not_see_each_others_commands,
        the_start_is_asked_about_and_the_rest_is_not,
        long_output_is_read_from_its_file,
        what_has_ended_holds_no_descriptor
    ].

init_per_testcase(_Case, Config) ->
    {ok, _} = application:ensure_all_started(beamai),
    [{workspace, beamai_test:workspace()}, {session, make_ref()}, {mark, beamai_temp_dir:random_name()} | Config].

end_per_testcase(_Case, Config) ->
    ok = beamai_session:close(get(session, Config)),
    _ = file:del_dir_r(get(workspace, Config)),
    ok.

get(Key, Config) -> proplists:get_value(Key, Config).
context(Config) -> #{session_id => get(session, Config)}.

kernel(Config) ->
    kernel(Config, #{permissions => #{default => allow}}).

kernel(Config, Options) ->
    Kernel = beamai_kernel:new(Options#{workspace => get(workspace, Config)}),
    beamai_kernel:add_tool_module(beamai_kernel:add_tool_module(Kernel, beamai_tool_shell), beamai_tool_file).

start(Kernel, Command, Context) ->
    Args = #{<<"command">> => Command, <<"run_in_background">> => true},
    {ok, #{<<"id">> := Id}, _} = beamai_kernel:invoke(Kernel, <<"shell_exec">>, Args, Context),
    Id.

output(Kernel, Id, Context) ->
    {ok, Answer, _} = beamai_kernel:invoke(Kernel, <<"shell_output">>, #{<<"id">> => Id}, Context),
    Answer.

%% All of its standard output, and the last answer.
ended(Kernel, Id, Context, Before) ->
    #{<<"stdout">> := Out} = Answer = output(Kernel, Id, Context),
    case Answer of
        #{<<"status">> := <<"running">>} ->
            timer:sleep(10),
            ended(Kernel, Id, Context, <<Before/binary, Out/binary>>);
        _ ->
            {<<Before/binary, Out/binary>>, Answer}
    end.

%% A command that runs for long, beside a daemon of its own; both carry the mark.
long(Config) ->
    Mark = get(mark, Config),
    <<"(setsid bash -c 'exec -a ", Mark/binary, " sleep 600' &); exec -a ", Mark/binary, " sleep 600">>.

started(Kernel, Config, Context) ->
    Id = start(Kernel, long(Config), Context),
    beamai_test:eventually(fun() -> length(running(Config)) =:= 2 end),
    Id.

%% Processes with the mark in their command line.
running(Config) ->
    Mark = get(mark, Config),
    [
        Pid
     || Pid <- filelib:wildcard("[0-9]*", "/proc"),
        {ok, Line} <- [file:read_file("/proc/" ++ Pid ++ "/cmdline")],
        binary:match(Line, <<Mark/binary, 0>>) =/= nomatch
    ].

gone(Config) ->
    beamai_test:eventually(fun() -> running(Config) =:= [] end).

a_command_is_watched_until_it_has_ended(Config) ->
    {Kernel, Context} = {kernel(Config), context(Config)},
    Id = start(Kernel, <<"echo one; until [ -e go ]; do sleep 0.01; done; echo two; echo err >&2; exit 3">>, Context),
    beamai_test:eventually(fun() -> maps:get(<<"stdout">>, output(Kernel, Id, Context)) =:= <<"one\n">> end),
    ?assertMatch(
        #{<<"status">> := <<"running">>, <<"exit_code">> := null, <<"stdout">> := <<>>}, output(Kernel, Id, Context)
    ),
    ok = file:write_file(filename:join(get(workspace, Config), "go"), <<>>),
    {Out, Answer} = ended(Kernel, Id, Context, <<>>),
    ?assertEqual(<<"two\n">>, Out),
    ?assertMatch(#{<<"status">> := <<"exited">>, <<"exit_code">> := 3}, Answer).

a_command_is_killed(Config) ->
    {Kernel, Context} = {kernel(Config), context(Config)},
    Id = started(Kernel, Config, Context),
    {ok, Answer, _} = beamai_kernel:invoke(Kernel, <<"shell_kill">>, #{<<"id">> => Id}, Context),
    ?assertEqual([], running(Config)),
    ?assertMatch(#{<<"status">> := <<"killed">>, <<"exit_code">> := null, <<"killed">> := 2}, Answer).

a_command_outlives_its_caller_where_the_session_has_an_id(Config) ->
    {Kernel, Context} = {kernel(Config), context(Config)},
    Id = beamai_test:alone(fun() -> started(Kernel, Config, Context) end),
    timer:sleep(200),
    ?assertMatch(#{<<"status">> := <<"running">>}, output(Kernel, Id, Context)).

a_session_that_is_closed_takes_its_commands_with_it(Config) ->
    {Kernel, Context} = {kernel(Config), context(Config)},
    Id = started(Kernel, Config, Context),
    {ok, Dir} = beamai_session:temp_dir(beamai_session:key(Context)),
    ok = beamai_session:close(get(session, Config)),
    ?assertEqual([], running(Config)),
    ?assertNot(filelib:is_file(Dir)),
    ?assertMatch(
        {error, #{error_type := not_found, details := #{reason := no_such_command}}},
        beamai_kernel:invoke(Kernel, <<"shell_output">>, #{<<"id">> => Id}, Context)
    ).

a_session_without_an_id_takes_its_commands_with_its_process(Config) ->
    Kernel = kernel(Config),
    Me = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        _ = started(Kernel, Config, #{}),
        Me ! started,
        receive
            never -> ok
        end
    end),
    receive
        started -> ok;
        {'DOWN', Monitor, process, Pid, Reason} -> error(Reason)
    end,
    exit(Pid, kill),
    gone(Config).

%% Its process cleans nothing up; whoever finds that it is dead does.
a_session_that_was_killed_takes_its_commands_with_it(Config) ->
    {Kernel, Context} = {kernel(Config), context(Config)},
    _ = started(Kernel, Config, Context),
    exit(element(3, hd(ets:lookup(beamai_sessions, beamai_session:key(Context)))), kill),
    Id = start(Kernel, <<"echo new">>, Context),
    gone(Config),
    ?assertMatch({<<"new\n">>, #{<<"status">> := <<"exited">>}}, ended(Kernel, Id, Context, <<>>)).

a_dead_port_takes_every_command_with_it(Config) ->
    {Kernel, Context} = {kernel(Config), context(Config)},
    Id = started(Kernel, Config, Context),
    {ok, _Owner, Port} = beamai_port:connect(),
    {os_pid, OsPid} = erlang:port_info(Port, os_pid),
    _ = os:cmd("kill -9 " ++ integer_to_list(OsPid)),
    gone(Config),
    {error, #{message := Message, details := Details}} =
        beamai_kernel:invoke(Kernel, <<"shell_output">>, #{<<"id">> => Id}, Context),
    case Details of
        %% The port was still known as it was.
        #{reason := door_lost} -> ok;
        #{reason := no_such_command} -> ?assertMatch({match, _}, re:run(Message, "there is no background command"))
    end,
    New = start(Kernel, <<"echo new">>, Context),
    ?assertMatch({<<"new\n">>, _}, ended(Kernel, New, Context, <<>>)).

the_application_takes_every_command_with_it(Config) ->
    _ = started(kernel(Config), Config, context(Config)),
    ok = application:stop(beamai),
    gone(Config).

two_sessions_do_not_see_each_others_commands(Config) ->
    {Kernel, Context} = {kernel(Config), context(Config)},
    Id = started(Kernel, Config, Context),
    Other = #{session_id => make_ref()},
    [
        ?assertMatch(
            {error, #{error_type := not_found, details := #{reason := no_such_command}}},
            beamai_kernel:invoke(Kernel, Tool, #{<<"id">> => Id}, Other)
        )
     || Tool <- [<<"shell_output">>, <<"shell_kill">>]
    ],
    ok = beamai_session:close(maps:get(session_id, Other)),
    ?assertEqual(2, length(running(Config))),
    ?assertMatch(#{<<"status">> := <<"running">>}, output(Kernel, Id, Context)).

the_start_is_asked_about_and_the_rest_is_not(Config) ->
    Me = self(),
    Approve = fun(#{tool := Tool, subject := Subject}) ->
        Me ! {asked, Tool, Subject},
        allow
    end,
    Kernel = kernel(Config, #{approve => Approve}),
    Context = context(Config),
    Id = start(Kernel, <<"sleep 600">>, Context),
    ?assertMatch(#{<<"status">> := <<"running">>}, output(Kernel, Id, Context)),
    {ok, _, _} = beamai_kernel:invoke(Kernel, <<"shell_kill">>, #{<<"id">> => Id}, Context),
    receive
        {asked, Tool, Subject} -> ?assertEqual({<<"shell_exec">>, <<"Bash(sleep 600)">>}, {Tool, Subject})
    after 0 -> error(not_asked)
    end,
    receive
        {asked, _, _} = Asked -> error(Asked)
    after 0 -> ok
    end.

long_output_is_read_from_its_file(Config) ->
    {Kernel, Context} = {kernel(Config), context(Config)},
    Id = start(Kernel, <<"seq 1 30000">>, Context),
    {_, #{<<"output_file">> := File}} = ended(Kernel, Id, Context, <<>>),
    {ok, Foreground, _} =
        beamai_kernel:invoke(Kernel, <<"shell_exec">>, #{<<"command">> => <<"seq 1 30000">>}, Context),
    #{<<"output_file">> := Other, <<"stdout">> := Out, <<"truncated">> := true} = Foreground,
    ?assertMatch({match, _}, re:run(Out, "\n30000\n\\[output truncated\\]$")),
    [
        ?assertMatch(
            {ok, #{<<"content">> := <<"29999\n30000\n">>, <<"total_lines">> := 30000}, _},
            beamai_kernel:invoke(Kernel, <<"file_read">>, #{<<"path">> => Path, <<"offset">> => -2}, Context)
        )
     || Path <- [File, Other]
    ],
    ?assertMatch(
        {error, #{error_type := permission_denied}},
        beamai_kernel:invoke(Kernel, <<"file_read">>, #{<<"path">> => File}, #{session_id => make_ref()})
    ).

what_has_ended_holds_no_descriptor(Config) ->
    {Kernel, Context} = {kernel(Config), context(Config)},
    Run = fun(_) -> ended(Kernel, start(Kernel, <<"seq 1 30000">>, Context), Context, <<>>) end,
    lists:foreach(Run, lists:seq(1, 5)),
    {ok, _Owner, Port} = beamai_port:connect(),
    {os_pid, OsPid} = erlang:port_info(Port, os_pid),
    Count = fun() -> length(filelib:wildcard("*", "/proc/" ++ integer_to_list(OsPid) ++ "/fd")) end,
    Before = Count(),
    lists:foreach(Run, lists:seq(1, 30)),
    ?assert(Count() < Before + 5).
