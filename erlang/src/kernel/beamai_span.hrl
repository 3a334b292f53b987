%% Who listens to spans.
-record(telemetry, {
    library :: none | module(),
    contents :: boolean(),
    handlers = [] :: [{term(), [beamai_telemetry:event()], beamai_telemetry:handler(), term()}],
    recorders = [] :: [{term(), beamai_telemetry:recorder(), Config :: term()}],
    %% What follows from these: the handlers of each event, and what records completed spans.
    listening = #{} :: #{beamai_telemetry:event() => [{term(), beamai_telemetry:handler(), term()}]},
    records = [] :: [{beamai_telemetry:record(), Config :: term()}],
    %% Whether a recorder wants all starts.
    all_starts = false :: boolean(),
    %% Whether there are recorders but no handlers, and none of them wants all starts.
    only_records = false :: boolean()
}).

%% A span: a tool call, a model request or an agent's run.
-record(span, {
    kind :: beamai_span_attributes:kind(),
    %% Start time by os:perf_counter/0, the cheapest clock.
    clock :: integer(),
    %% Start time by erlang:monotonic_time/0, if telemetry events have handlers.
    started = none :: integer() | none,
    subject :: beamai_telemetry:subject(),
    %% Identifies a span whose start was recorded.
    key = none :: none | pos_integer(),
    %% The metadata of the subject, once computed.
    metadata = none :: map() | none,
    state :: beamai_telemetry:state()
}).
