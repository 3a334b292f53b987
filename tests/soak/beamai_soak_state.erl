%% @doc What the soak test compares: how much of everything there is while nothing happens, and what is left at the end.
-module(beamai_soak_state).

-export([settled/0, grown/2, left_over/0, kill_port/0]).

-define(SETTLE_MS, 20000).
-define(MIB, 1048576).

%% @doc Kills the port program; how many were killed.
-spec kill_port() -> 0 | 1.
kill_port() ->
    case beamai_port:connect() of
        {ok, _Owner, Port} ->
            case erlang:port_info(Port, os_pid) of
                {os_pid, Pid} ->
                    _ = os:cmd("kill -9 " ++ integer_to_list(Pid)),
                    1;
                undefined ->
                    0
            end;
        {error, _} ->
            0
    end.

%% @doc Counts of what there is, once two looks in a row see the same processes.
-spec settled() -> #{atom() => non_neg_integer()}.
settled() ->
    settled(erlang:monotonic_time(millisecond) + ?SETTLE_MS, none).

settled(Until, Last) ->
    timer:sleep(1000),
    Now = {erlang:system_info(process_count), lists:sort(descendants())},
    case Now =:= Last orelse erlang:monotonic_time(millisecond) > Until of
        true -> counts();
        false -> settled(Until, Now)
    end.

counts() ->
    {ok, _Owner, Port} = beamai_port:connect(),
    {os_pid, Program} = erlang:port_info(Port, os_pid),
    [true = garbage_collect(Pid) || Pid <- processes(), Pid =/= self(), is_process_alive(Pid)],
    true = garbage_collect(),
    Vm = list_to_integer(os:getpid()),
    #{
        'processes of Erlang' => erlang:system_info(process_count),
        'ports of Erlang' => erlang:system_info(port_count),
        'tables' => length(ets:all()),
        'atoms' => erlang:system_info(atom_count),
        'memory of Erlang, MiB' => erlang:memory(total) div ?MIB,
        'resident memory of the VM, MiB' => resident(Vm),
        'resident memory of the port, MiB' => resident(Program),
        'descriptors of the VM' => descriptors(Vm),
        'descriptors of the port' => descriptors(Program),
        'processes beneath the VM' => length(descendants()),
        'temporary directories' => length(temporary())
    }.

%% @doc What has grown by more than it may, as sentences.
-spec grown(#{atom() => non_neg_integer()}, #{atom() => non_neg_integer()}) -> [iodata()].
grown(Before, After) ->
    [
        io_lib:format("~ts: ~b after warming up, ~b at the end; at most ~b more are allowed", [Name, Was, Is, may_grow(Name, Was)])
     || {Name, Is} <- maps:to_list(After), Was <- [maps:get(Name, Before)], Is > Was + may_grow(Name, Was)
    ].

%% Allocators keep memory, modules that are loaded late bring their atoms along, and the port program of either look may have been
%% started a moment ago, or have its pools full. A leak in each call is far above this after thousands of calls.
may_grow('memory of Erlang, MiB', Was) -> 5 + Was div 5;
may_grow('resident memory of the VM, MiB', Was) -> 32 + Was div 4;
may_grow('resident memory of the port, MiB', Was) -> 32 + Was div 2;
may_grow('atoms', _Was) -> 1000;
may_grow('descriptors of the port', _Was) -> 8;
may_grow('descriptors of the VM', _Was) -> 4;
%% The launcher keeps up to eight idle reapers for the next commands; how many depends on the last moments of the run.
may_grow('processes beneath the VM', _Was) -> 8;
may_grow(_Counted, _Was) -> 2.

%% @doc What is left when the application has been stopped, as sentences: nothing may be.
-spec left_over() -> [iodata()].
left_over() ->
    left_over(erlang:monotonic_time(millisecond) + ?SETTLE_MS).

left_over(Until) ->
    Found =
        [io_lib:format("a process is left: ~ts", [command(Pid)]) || Pid <- descendants()] ++
            [io_lib:format("a temporary directory is left: ~ts", [Path]) || Path <- temporary()] ++
            [io_lib:format("a journal is left: ~ts", [Path]) || Path <- journals()],
    case Found =:= [] orelse erlang:monotonic_time(millisecond) > Until of
        true ->
            Found;
        false ->
            timer:sleep(200),
            left_over(Until)
    end.

temporary() -> filelib:wildcard(os:getenv("TMPDIR") ++ "/beamai-*").

%% A journal is a file, or has some, in a directory of its own.
journals() -> [Path || Path <- filelib:wildcard(os:getenv("XDG_STATE_HOME") ++ "/beamai/**/*"), filelib:is_regular(Path)].

%%% /proc

resident(Pid) ->
    [Kib] = [binary_to_integer(Kib) || {match, [Kib]} <- [re:run(file("status", Pid), "VmRSS:\\s+([0-9]+)", [{capture, [1], binary}])]],
    Kib div 1024.

descriptors(Pid) ->
    {ok, Names} = file:list_dir(["/proc/", integer_to_list(Pid), "/fd"]),
    length(Names).

%% Everything beneath the VM, and what runs with this run's temporary directory in its environment, wherever it hangs.
descendants() ->
    Parents = [{Pid, Parent} || Name <- filelib:wildcard("[0-9]*", "/proc"), Pid <- [list_to_integer(Name)], Parent <- parent(Pid)],
    Helper = [Pid || {Pid, Parent} <- Parents, Parent =:= list_to_integer(os:getpid())],
    Beneath = beneath(Helper, Parents),
    Marked = [Pid || {Pid, _} <- Parents, is_marked(Pid), not lists:member(Pid, Helper), Pid =/= list_to_integer(os:getpid())],
    lists:usort(Beneath ++ Marked).

beneath([], _Parents) -> [];
beneath(Pids, Parents) ->
    Next = [Pid || {Pid, Parent} <- Parents, lists:member(Parent, Pids)],
    Next ++ beneath(Next, Parents).

%% After the name in parentheses come the state and the parent; one that is dead is not counted.
parent(Pid) ->
    case re:run(file("stat", Pid), "\\) ([A-Z]) ([0-9]+) ", [{capture, [1, 2], binary}]) of
        {match, [<<"Z">>, _]} -> [];
        {match, [_, Parent]} -> [binary_to_integer(Parent)];
        nomatch -> []
    end.

is_marked(Pid) ->
    Mark = ["SOAK_RUN=", os:getenv("SOAK_RUN")],
    binary:match(file("environ", Pid), iolist_to_binary(Mark)) =/= nomatch.

command(Pid) ->
    binary:replace(file("cmdline", Pid), <<0>>, <<" ">>, [global]).

%% Empty where the process has ended, or belongs to somebody else.
file(Name, Pid) ->
    case file:read_file(["/proc/", integer_to_list(Pid), "/", Name]) of
        {ok, Bytes} -> Bytes;
        {error, _} -> <<>>
    end.
