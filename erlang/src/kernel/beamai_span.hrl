%% A span: a tool call, a model request or an agent's run.
-record(span, {
    kind :: tool | model | agent,
    %% Start time by os:perf_counter/0, the cheapest clock.
    clock :: integer(),
    %% Start time by erlang:monotonic_time/0, if telemetry events have handlers.
    started = none :: integer() | none,
    subject :: beamai_telemetry:subject(),
    describe :: beamai_telemetry:describe(),
    %% Identifies a span whose start was recorded.
    key = none :: none | pos_integer(),
    %% The metadata of the subject, once computed.
    metadata = none :: map() | none,
    state :: beamai_telemetry:state()
}).
