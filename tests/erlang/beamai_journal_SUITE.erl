%% A VM that is killed while it changes several files has changed nothing, or everything.
-module(beamai_journal_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, init_per_suite/1, end_per_suite/1, init_per_testcase/2]).
-export([a_killed_vm_has_its_patch_undone_by_its_port/1, a_running_vm_undoes_what_another_one_left/1]).
-export([log/2]).

-define(FILES, 800).
-define(TIMES, 8).
-define(OLD, <<"first\nsecond\n">>).

all() ->
    [a_killed_vm_has_its_patch_undone_by_its_port, a_running_vm_undoes_what_another_one_left].

init_per_suite(Config) ->
    {ok, _} = application:ensure_all_started(beamai),
    Config.

end_per_suite(_Config) ->
    application:stop(beamai).

init_per_testcase(Case, Config) ->
    Workspace = filename:join([proplists:get_value(priv_dir, Config), Case, "ws"]),
    ok = filelib:ensure_path(Workspace),
    [{workspace, Workspace} | Config].

a_killed_vm_has_its_patch_undone_by_its_port(Config) ->
    Undone = fun() ->
        before(Config),
        killed_at_work(Config, vm),
        %% Either nobody came too late, or all is as it was before.
        beamai_test:eventually(fun() -> lists:member(state(Config), [before, 'after']) end, 3000),
        state(Config)
    end,
    Rounds = case os:getenv("BEAMAI_LONG") of false -> 2; _ -> 3 * ?TIMES end,
    undone_after(Rounds, Undone, Rounds + ?TIMES).

%% This many times, and then until one was killed in time.
undone_after(_Rounds, _Undone, 0) ->
    error(never_killed_in_time);
undone_after(Rounds, Undone, Most) ->
    case Undone() of
        before when Rounds =< 1 -> ok;
        _ -> undone_after(Rounds - 1, Undone, Most - 1)
    end.

a_running_vm_undoes_what_another_one_left(Config) ->
    Kernel = beamai_kernel:new(#{workspace => workspace(Config), permissions => #{default => allow}}),
    Full = beamai_kernel:add_tool_module(Kernel, beamai_tool_file),
    Read = fun() ->
        {ok, #{<<"content">> := Content}, _} =
            beamai_kernel:invoke(Full, <<"file_read">>, #{<<"path">> => <<"f1">>}),
        Content
    end,
    before(Config),
    %% It knows that there is nothing to do.
    _ = Read(),
    timer:sleep(100),
    ?assertMatch(<<"first", _/binary>>, Read()),
    ok = logger:add_handler(?MODULE, ?MODULE, #{config => self()}),
    try
        undone_by_this_vm(Config, Read, ?TIMES)
    after
        logger:remove_handler(?MODULE)
    end.

undone_by_this_vm(_Config, _Read, 0) ->
    error(not_logged);
undone_by_this_vm(Config, Read, Times) ->
    ok = half_changed(Config, ?TIMES),
    Content = Read(),
    case state(Config) of
        'after' ->
            %% It was killed after the last change, when only temporary files were left to remove.
            _ = logged(),
            before(Config),
            undone_by_this_vm(Config, Read, Times - 1);
        State ->
            ?assertEqual({before, ?OLD}, {State, Content}),
            undone_and_said(logged(), Config, Read, Times)
    end.

%% Another process of this user may have come upon it first, and undone it.
undone_and_said(none, Config, Read, Times) -> undone_by_this_vm(Config, Read, Times - 1);
undone_and_said(Line, _Config, _Read, _Times) -> ?assertMatch({_, _}, binary:match(Line, <<"the change has been undone">>)).

logged() ->
    receive
        {logged, Line} -> Line
    after 2000 -> none
    end.

%% A handler of the logger.
log(#{level := warning, msg := {Format, Arguments}}, #{config := Pid}) ->
    Pid ! {logged, unicode:characters_to_binary(io_lib:format(Format, Arguments))};
log(_Event, _Config) ->
    ok.

%% Killed with its port, which would have undone it. It may have been done already, or have been killed too late.
half_changed(_Config, 0) ->
    error(never_killed_in_time);
half_changed(Config, Times) ->
    killed_at_work(Config, vm_and_port),
    case state(Config) of
        half ->
            ok;
        _ ->
            before(Config),
            half_changed(Config, Times - 1)
    end.

%% Kills a VM in the middle of a patch. What kills it is there before the patch begins, so that it comes in time.
killed_at_work(Config, Whom) ->
    {Ready, Go} = {workspace(Config) ++ ".ready", workspace(Config) ++ ".go"},
    _ = [file:delete(File) || File <- [Ready, Go]],
    Code = lists:flatten(
        io_lib:format(
            "{ok, Patch} = file:read_file(~p),"
            "K = beamai_kernel:new(#{workspace => ~p, permissions => #{default => allow}}),"
            "{ok, _, _} = beamai_port:connect(),"
            "ok = file:write_file(~p, <<>>),"
            "Wait = fun W() -> filelib:is_file(~p) orelse begin timer:sleep(1), W() end end,"
            "Wait(),"
            "beamai_kernel:invoke(beamai_kernel:add_tool_module(K, beamai_tool_file), <<\"file_patch\">>,"
            " #{<<\"patch\">> => Patch}), timer:sleep(infinity)",
            [patch(Config), workspace(Config), Ready, Go]
        )
    ),
    Path = lists:append([["-pa", Dir] || Dir <- code:get_path(), filelib:is_dir(Dir)]),
    Vm = open_port({spawn_executable, os:find_executable("erl")}, [
        {args, ["-noshell" | Path] ++ ["-eval", Code]}, exit_status, binary
    ]),
    {os_pid, Pid} = erlang:port_info(Vm, os_pid),
    beamai_test:eventually(fun() -> filelib:is_file(Ready) end, 6000),
    Pids = case Whom of vm -> [Pid]; vm_and_port -> [Pid | descendants(Pid)] end,
    Killer = open_port({spawn_executable, os:find_executable("sh")}, [
        {args, ["-c", "echo; read -r _; kill -9 \"$@\"", "sh" | [integer_to_list(Each) || Each <- Pids]]}
    ]),
    receive {Killer, {data, _}} -> ok end,
    ok = file:write_file(Go, <<>>),
    changed(Config, erlang:monotonic_time(second) + 60),
    port_command(Killer, "\n"),
    gone(Vm),
    catch port_close(Killer).

changed(Config, End) ->
    case file:read_file(file(Config, 1)) of
        {ok, ?OLD} ->
            ?assert(erlang:monotonic_time(second) < End),
            changed(Config, End);
        {ok, _New} ->
            ok
    end.

patch(Config) ->
    Change = fun(N) ->
        io_lib:format("--- a/f~b\n+++ b/f~b\n@@ -1,2 +1,2 @@\n-first\n+FIRST\n second\n", [N, N])
    end,
    Path = workspace(Config) ++ ".patch",
    New = "--- /dev/null\n+++ b/new/deep/file\n@@ -0,0 +1,1 @@\n+new\n",
    ok = file:write_file(Path, [[Change(N) || N <- lists:seq(1, ?FILES)], New]),
    Path.

before(Config) ->
    _ = file:del_dir_r(filename:join(workspace(Config), "new")),
    [ok = file:write_file(file(Config, N), ?OLD) || N <- lists:seq(1, ?FILES)].

state(Config) ->
    {ok, Names} = file:list_dir(workspace(Config)),
    Contents = lists:usort([file:read_file(file(Config, N)) || N <- lists:seq(1, ?FILES)]),
    case {Contents, length(Names), lists:member("new", Names)} of
        {[{ok, ?OLD}], ?FILES, false} -> before;
        {[{ok, <<"FIRST\nsecond\n">>}], ?FILES + 1, true} -> 'after';
        _ -> half
    end.

workspace(Config) -> proplists:get_value(workspace, Config).

file(Config, N) -> filename:join(workspace(Config), [$f | integer_to_list(N)]).

gone(Vm) ->
    receive
        {Vm, {exit_status, 137}} -> ok
    after 10000 -> error(alive)
    end.

descendants(Pid) ->
    Children = filelib:wildcard("/proc/" ++ integer_to_list(Pid) ++ "/task/*/children"),
    %% One that has ended meanwhile has none.
    Read = [Text || File <- Children, {ok, Text} <- [file:read_file(File)]],
    Pids = [list_to_integer(Text) || Text <- string:lexemes(lists:flatten(io_lib:format("~s", [Read])), " ")],
    Pids ++ lists:flatmap(fun descendants/1, Pids).
