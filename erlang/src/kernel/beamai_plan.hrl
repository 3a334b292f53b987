%% What is computed once when a tool is added to a kernel, and used by its calls.

%% Where a built-in tool runs, and its name on the native side.
-record(native, {
    name :: binary(),
    dialect :: binary(),
    door :: nif | port,
    %% How long a call can take, which determines where it may run; see beamai_door.
    pace :: beamai_door:pace(),
    %% Whether it requires the session's temporary directory, or uses it if there is one.
    session :: required | optional,
    %% Whether it works on the session's state, which is sent with the call and returned with the result.
    stateful :: boolean(),
    %% Whether it reads or changes files, whose contents a session remembers.
    sees_files :: boolean(),
    %% Whether it changes several files in one call.
    several_files :: boolean(),
    %% The unit of its argument `timeout' or `timeout_sec', which takes precedence; `none' if it has neither.
    own_timeout :: none | milliseconds | seconds,
    %% The services that a call may request from the layers above the kernel.
    services :: beamai_native_call:services()
}).

-record(plan, {
    name :: binary(),
    %% For a built-in tool only the differences from the catalogue; see beamai_plan:spec/1.
    spec :: beamai_tool:tool_spec() | {catalogue, Changes :: map()},
    %% #native{} for a built-in tool, which has no handler process.
    runs :: #native{} | beamai_tool:handler(),
    %% Unused for built-in tools, whose arguments the native side checks.
    params = any :: beamai_args:params(),
    timeout :: timeout(),
    retry = {0, 0} :: {Max :: non_neg_integer(), DelayMs :: non_neg_integer()},
    requires_permission = false :: boolean(),
    %% The node that it runs on; `none' if the kernel decides.
    node = none :: none | beamai_placement:where(),
    %% Outermost first; {missing, Name} if the kernel lacks a filter that the tool lists.
    filters = [] :: [beamai_filter:filter() | {missing, term()}]
}).
