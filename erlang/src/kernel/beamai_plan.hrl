%% What the kernel works out about a tool when it is added, so that a call need not.

%% Where a built-in tool runs and under which name the native side knows it.
-record(native, {
    name :: binary(),
    dialect :: binary(),
    door :: nif | port,
    %% How long the work can be, and so where it may run; see beamai_door.
    pace :: beamai_door:pace(),
    %% Whether it needs the session's temporary directory, or takes it where there is one.
    session :: required | optional,
    %% Whether it works on the session's state, which goes in with the call and comes back with it.
    stateful :: boolean(),
    %% Whether it reads or changes files whose contents a named session remembers having seen.
    sees_files :: boolean(),
    %% Whether it changes several files in one go.
    several_files :: boolean(),
    %% The unit of its own argument `timeout' or `timeout_sec', which governs; `none' if it has neither.
    own_timeout :: none | milliseconds | seconds,
    %% What a call may ask of the layers above the kernel.
    services :: beamai_native_call:services()
}).

-record(plan, {
    name :: binary(),
    %% Of a built-in tool only what differs from the catalogue, where it is looked up: see beamai_plan:spec/1.
    spec :: beamai_tool:tool_spec() | {catalogue, Changes :: map()},
    %% A built-in tool has #native{} here and no handler process.
    runs :: #native{} | beamai_tool:handler(),
    %% None of a built-in tool, whose arguments the native side checks.
    params = any :: beamai_args:params(),
    timeout :: timeout(),
    retry = {0, 0} :: {Max :: non_neg_integer(), DelayMs :: non_neg_integer()},
    requires_permission = false :: boolean(),
    %% Where it runs; `none' leaves that to the kernel.
    node = none :: none | beamai_placement:where(),
    %% Outermost first; {missing, Name} where the kernel lacks a filter that the tool lists.
    filters = [] :: [beamai_filter:filter() | {missing, term()}]
}).
