%% @doc The events of a run on their way to the host.
%% @hidden
-module(beamai_agent_events).

-export([to/2, progress/2]).

-type emit() :: fun((beamai_agent:event()) -> term()).

%% @doc How events reach the option `events'. A fun of the host that raises does not end the run.
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
                logger:error("beamai: the events callback raised ~p:~0tp at ~0tp", [
                    Class, Reason, beamai_crash:short_stack(Stack)
                ])
        end
    end.

%% @doc The `progress' of a run's context: progress of tools, and events of sub-agents, which come the same way.
-spec progress(emit(), Given :: beamai_context:t()) -> fun((map()) -> term()).
progress(Emit, Given) ->
    fun
        (#{agent := Name, event := Event}) ->
            Emit({agent, Name, Event});
        (Progress) ->
            Emit({progress, Progress}),
            beamai_callback:progress(Progress, maps:with([progress, run_id], Given))
    end.
