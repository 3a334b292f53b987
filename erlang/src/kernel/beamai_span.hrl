%% A tool call, a model's answer or an agent's run, from its start to its end.
-record(span, {
    kind :: tool | model | agent,
    %% When it began, by os:perf_counter/0. Of all clocks it is the one that costs least.
    clock :: integer(),
    %% The same by erlang:monotonic_time/0, where somebody listens to telemetry events.
    started = none :: integer() | none,
    subject :: beamai_telemetry:subject(),
    describe :: beamai_telemetry:describe(),
    %% What the subject was described as, once it has been.
    metadata = none :: map() | none,
    state :: beamai_telemetry:state()
}).
