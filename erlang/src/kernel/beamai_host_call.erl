%% @doc A call of the host's `approve' or `ask_user', which waits for a person and must end all the same when the run
%% does.
%%
%% Within the run of an agent it therefore runs in a process of its own, which is killed when the run is cancelled, when
%% the time of its budget is over, or when the process that waits dies. So does a question of a command that is running,
%% which ends when its call is cancelled. Everything else runs in the calling process.
%% @hidden
-module(beamai_host_call).

-export([run/2, ends/1, ends_of_running/1]).
-export_type([ends/0, outcome/1]).

%% What ends the call: cancelling one of these runs, or one of these times, in monotonic milliseconds.
-type ends() :: [{RunId :: term(), Until :: integer() | infinity}].
-type outcome(Value) :: {value, Value} | cancelled | out_of_time | {died, Reason :: term()}.

%% @doc What ends a call that is made in this context: nothing outside of an agent's run.
-spec ends(beamai_context:t()) -> ends().
ends(#{agent_budget := Budget, run_id := RunId}) -> [{RunId, beamai_budget:until(Budget)}];
ends(_Context) -> [].

%% @doc What ends the question of a command that is running: that its call is cancelled, too.
-spec ends_of_running(beamai_context:t()) -> ends().
ends_of_running(Context) ->
    case {ends(Context), Context} of
        {[], #{run_id := RunId}} when RunId =/= undefined -> [{RunId, infinity}];
        {Ends, _} -> Ends
    end.

%% @doc Runs the fun until it returns or something ends it.
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

%% Elixir's libraries look there for whom a process works.
callers() ->
    case get('$callers') of
        Callers when is_list(Callers) -> [self() | Callers];
        _ -> [self()]
    end.

%% Once the process has ended, nothing of it comes any more.
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
