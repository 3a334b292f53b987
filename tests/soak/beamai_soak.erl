%% @doc A run of bounded length that mixes calls through both doors with everything that ends calls early, and asserts at its end
%% that nothing is left of it.
%%
%% Workers call files, searches and commands, in the foreground and the background; they cancel calls, let their time run out, and
%% kill their callers. Meanwhile the port program is killed again and again. Started by `make soak', with a directory for
%% temporary files of its own in the environment. `SOAK_SECONDS' is its length, 120 by default; `SOAK_WORKERS' their number, 12.
-module(beamai_soak).

-export([main/0]).

%% Of the whole time, for warming up: what is kept on purpose (pools, caches, atoms) is there afterwards.
-define(WARM_UP, 0.25).
-define(KILL_EVERY_MS, 3000).

-spec main() -> no_return().
main() ->
    {ok, _} = application:ensure_all_started(beamai),
    Seconds = number("SOAK_SECONDS", 120),
    Workers = number("SOAK_WORKERS", 12),
    Workspace = beamai_soak_calls:workspace(),
    io:format("~b seconds, ~b workers, ~ts~n", [Seconds, Workers, Workspace]),
    Warm = round(Seconds * 1000 * ?WARM_UP),
    First = phase(Warm, Workers, Workspace),
    Before = beamai_soak_state:settled(),
    Second = phase(Seconds * 1000 - Warm, Workers, Workspace),
    After = beamai_soak_state:settled(),
    ok = application:stop(beamai),
    Faults =
        faults(First) ++ faults(Second) ++ beamai_soak_state:grown(Before, After) ++ beamai_soak_state:left_over(),
    ok = file:del_dir_r(Workspace),
    report(First, Second, Before, After),
    [io:format("fault: ~ts~n", [Fault]) || Fault <- Faults],
    halt(case Faults of [] -> 0; _ -> 1 end).

number(Name, Default) ->
    case os:getenv(Name, "") of
        "" -> Default;
        Text -> list_to_integer(Text)
    end.

%% Outcomes by kind of call, of all workers: `#{{Kind, Outcome} => Count}'; `kills' are those of the port program.
phase(Ms, Workers, Workspace) ->
    Until = erlang:monotonic_time(millisecond) + Ms,
    Killer = spawn_monitor(fun() -> exit({kills, kill_ports(Until, 0)}) end),
    Started = [spawn_monitor(fun() -> exit({counts, beamai_soak_calls:work(Number, Workspace, Until)}) end) || Number <- lists:seq(1, Workers)],
    Counts = [ended(Worker) || Worker <- Started],
    {kills, Kills} = ended(Killer),
    lists:foldl(fun({counts, Own}, All) -> maps:merge_with(fun(_, A, B) -> A + B end, Own, All) end, #{kills => Kills}, Counts).

ended({Pid, Monitor}) ->
    receive
        {'DOWN', Monitor, process, Pid, Reason} -> Reason
    end.

kill_ports(Until, Kills) ->
    timer:sleep(?KILL_EVERY_MS),
    case erlang:monotonic_time(millisecond) < Until of
        true -> kill_ports(Until, Kills + beamai_soak_state:kill_port());
        false -> Kills
    end.

%% What may happen to a call is said by its kind; see beamai_soak_calls.
faults(Counts) ->
    [
        io_lib:format("~ts ended with ~tp, ~b times", [Kind, Outcome, Number])
     || {{Kind, {unexpected, Outcome}}, Number} <- maps:to_list(Counts)
    ].

report(First, Second, Before, After) ->
    {Kills, Calls} = maps:take(kills, maps:merge_with(fun(_, A, B) -> A + B end, First, Second)),
    io:format("~b calls, each answered once; the port program was killed ~b times~n", [lists:sum(maps:values(Calls)), Kills]),
    [io:format("  ~-22ts ~-14ts ~8b~n", [Kind, outcome(Outcome), Number]) || {{Kind, Outcome}, Number} <- lists:sort(maps:to_list(Calls))],
    io:format("after warming up -> at the end~n"),
    [io:format("  ~-37ts ~8b -> ~b~n", [Name, maps:get(Name, Before), maps:get(Name, After)]) || Name <- lists:sort(maps:keys(After))],
    ok.

outcome({unexpected, _}) -> "unexpected";
outcome(Outcome) -> atom_to_list(Outcome).
