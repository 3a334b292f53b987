%% @doc Runs the host's `approve' or `ask_user' callback, which waits for a person but must end with the run.
%%
%% Within the run of an agent, the callback therefore runs in a process of its own, which is killed when the run is
%% cancelled, when its time budget is used up, or when the waiting process dies. The same holds for an approval request
%% of a running command, which ends when the command's call is cancelled. All other callbacks run in the calling
%% process.
%% @hidden
-module(beamai_host_call).

-export([run/2, ends/1, ends_of_running/1]).
-export_type([ends/0, outcome/1]).

%% What ends the callback: cancellation of one of these runs, or one of these deadlines, in monotonic milliseconds.
-type ends() :: [{RunId :: term(), Until :: integer() | infinity}].
-type outcome(Value) :: {value, Value} | cancelled | out_of_time | {died, Reason :: term()}.

%% @doc What ends a callback in this context; nothing outside of an agent's run. A call from another node is cancelled
%% here under `node_run'.
-spec ends(beamai_context:t()) -> ends().
ends(#{agent_budget := Budget, run_id := RunId} = Context) -> [{RunId, beamai_budget:until(Budget)} | ends_of_node(Context)];
ends(_Context) -> [].

%% @doc What ends a callback for a running command: also the cancellation of the command's call.
-spec ends_of_running(beamai_context:t()) -> ends().
ends_of_running(Context) ->
    case {ends(Context), Context} of
        {[], #{run_id := RunId}} when RunId =/= undefined -> [{RunId, infinity} | ends_of_node(Context)];
        {Ends, _} -> Ends
    end.

ends_of_node(#{node_run := RunId}) -> [{RunId, infinity}];
ends_of_node(_Context) -> [].

%% @doc Runs the fun until it returns or is ended.
-spec run(fun(() -> Value), ends()) -> outcome(Value).
run(Fun, []) ->
    {value, Fun()};
run(Fun, Ends) ->
    RunIds = [RunId || {RunId, _} <- Ends],
    Until = lists:min([Time || {_, Time} <- Ends]),
    Run = beamai_runs:enter_all(RunIds),
    try
        started(Fun, Run, Until)
    after
        beamai_runs:leave_all(RunIds, Run)
    end.

started(Fun, Run, Until) ->
    case {beamai_runs:cancelled(Run), left(Until)} of
        {true, _} -> cancelled;
        {false, 0} -> out_of_time;
        {false, Left} -> waited(Fun, Run, Left)
    end.

left(infinity) -> infinity;
left(Until) -> max(0, Until - erlang:monotonic_time(millisecond)).

waited(Fun, Run, Left) ->
    {Caller, Tag, Callers} = {self(), erlang:alias([explicit_unalias]), callers()},
    {Pid, Monitor} = spawn_monitor(fun() ->
        _ = put('$callers', Callers),
        Tag ! {Tag, Fun()}
    end),
    _ = spawn(fun() -> ends_with(Caller, Pid) end),
    receive
        {Tag, Value} ->
            ended(Pid, Monitor, Tag),
            {value, Value};
        {'DOWN', Monitor, process, Pid, Reason} ->
            _ = erlang:unalias(Tag),
            {died, Reason};
        {Run, cancelled} ->
            ended(Pid, Monitor, Tag),
            cancelled
    after Left ->
        ended(Pid, Monitor, Tag),
        out_of_time
    end.

%% Elixir libraries use this key to find the process on whose behalf a process runs.
callers() ->
    case get('$callers') of
        Callers when is_list(Callers) -> [self() | Callers];
        _ -> [self()]
    end.

%% Waits for the process to exit, after which no message of it can arrive.
ended(Pid, Monitor, Tag) ->
    exit(Pid, kill),
    receive
        {'DOWN', Monitor, process, Pid, _Reason} -> erlang:unalias(Tag)
    end,
    receive
        {Tag, _Late} -> ok
    after 0 -> ok
    end.

ends_with(Caller, Pid) ->
    {OfCaller, OfPid} = {erlang:monitor(process, Caller), erlang:monitor(process, Pid)},
    receive
        {'DOWN', OfCaller, process, Caller, _Reason} -> exit(Pid, kill);
        {'DOWN', OfPid, process, Pid, _Reason} -> ok
    end.
