%% What the kernel works out about a tool when it is added, so that a call need not.

%% Where a built-in tool runs and under which name the native side knows it.
-record(native, {
    name :: binary(),
    door :: nif | port,
    pace :: bounded | long
}).

-record(plan, {
    name :: binary(),
    spec :: beamai_tool:tool_spec(),
    %% A built-in tool has #native{} here and no handler process.
    runs :: #native{} | beamai_tool:handler(),
    params :: beamai_args:params(),
    timeout :: timeout(),
    retry = {0, 0} :: {Max :: non_neg_integer(), DelayMs :: non_neg_integer()},
    requires_permission = false :: boolean(),
    %% Outermost first; {missing, Name} where the kernel lacks a filter that the tool lists.
    filters = [] :: [beamai_filter:filter() | {missing, term()}]
}).
