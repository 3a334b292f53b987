%% @doc The events of a run on their way to the host.
-module(beamai_agent_events).

-export([to/2, progress/2, waiting/3]).

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
                    Class, Reason, beamai_callback:short_stack(Stack)
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

%% @doc Runs what waits for a person within a call of an agent, and tells of it before and after: `About' is what is
%% asked, `Answer' says how the outcome is called. Where it cannot be told because the run's store fails, the call must
%% not go on.
-spec waiting(About :: map(), beamai_context:t(), {fun(() -> Outcome), Answer :: fun((Outcome) -> atom())}) ->
    Outcome | {unrecorded, Reason :: term()}.
waiting(#{for := For} = About, #{agent_events := _} = Context, {Wait, Answer}) ->
    Id = beamai_context:get(call_id, Context),
    case beamai_callback:event({waiting, About#{call_id => Id}}, Context) of
        ok ->
            Started = erlang:monotonic_time(microsecond),
            Outcome = Wait(),
            Duration = erlang:monotonic_time(microsecond) - Started,
            Waited = #{for => For, call_id => Id, answer => Answer(Outcome), duration_us => Duration},
            told(beamai_callback:event({waited, Waited}, Context), Outcome);
        {error, Reason} ->
            {unrecorded, Reason}
    end;
waiting(_About, _Context, {Wait, _Answer}) ->
    Wait().

told(ok, Outcome) -> Outcome;
told({error, Reason}, _Outcome) -> {unrecorded, Reason}.
