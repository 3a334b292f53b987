%% A run of an agent: what stays the same in it, and what changes.

-record(run, {
    agent :: beamai_agent:agent(),
    system :: binary(),
    kernel :: beamai_kernel:kernel(),
    id :: term(),
    %% Under which a cancellation arrives, and under which the process keeps the log and the answer so far.
    tag :: reference(),
    emit :: fun((beamai_agent:event()) -> term()),
    budget :: beamai_budget:t(),
    max_iterations :: pos_integer(),
    %% The context that the run was given.
    given :: beamai_context:t(),
    %% Monotonic, in native units.
    started :: integer()
}).

-record(state, {
    conversation :: beamai_conversation:t(),
    context :: beamai_context:t(),
    iteration = 0 :: non_neg_integer(),
    tool_calls = 0 :: non_neg_integer()
}).
