%% @doc Delivers the events of a run to the host.
%% @hidden
-module(beamai_agent_events).

-export([to/2, progress/2]).

-type emit() :: fun((beamai_agent:event()) -> term()).

%% @doc The function for the option `events'. An exception in the host's fun does not end the run.
-spec to(none | pid() | emit(), RunId :: term()) -> emit().
to(none, _Id) ->
    fun(_Event) -> ok end;
to(Pid, Id) when is_pid(Pid) ->
    fun(Event) -> Pid ! {beamai_event, Id, Event} end;
to(Fun, _Id) ->
    fun(Event) ->
        try
            Fun(Event)
        catch
            Class:Reason:Stack ->
                beamai_crash:log_callback("the events callback", Class, Reason, Stack, Fun)
        end
    end.

%% @doc The `progress' function of a run's context: it receives progress of tools, and events of sub-agents.
-spec progress(emit(), Given :: beamai_context:t()) -> fun((map()) -> term()).
progress(Emit, Given) ->
    fun
        (#{agent := Name, event := Event}) ->
            Emit({agent, Name, Event});
        (Progress) ->
            Emit({progress, Progress}),
            beamai_callback:progress(Progress, maps:with([progress, run_id], Given))
    end.
