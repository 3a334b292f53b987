%% A run of an agent: what stays the same in it, and what changes.

-record(run, {
    agent :: beamai_agent:agent(),
    system :: binary(),
    kernel :: beamai_kernel:kernel(),
    %% For whom results are rendered.
    reader :: beamai_agent_result:reader(),
    id :: term(),
    %% Under which a cancellation arrives, and under which the process keeps the log and the answer so far.
    tag :: reference(),
    emit :: fun((beamai_agent:event()) -> term()),
    budget :: beamai_budget:t(),
    max_iterations :: pos_integer(),
    controls :: beamai_agent_controls:options(),
    %% The context that the run was given.
    given :: beamai_context:t(),
    %% Monotonic, in native units.
    started :: integer()
}).

-record(state, {
    conversation :: beamai_conversation:t(),
    context :: beamai_context:t(),
    iteration = 0 :: non_neg_integer(),
    tool_calls = 0 :: non_neg_integer(),
    %% The provider's count of tokens, and of how many messages it is.
    counted = none :: none | {non_neg_integer(), non_neg_integer()},
    %% Whether the provider has refused this request as too long before.
    is_shrunk = false :: boolean(),
    %% Whether an answer that did not match the schema has been refused.
    is_refused = false :: boolean(),
    %% The value of the last answer.
    output = none :: none | {value, term()}
}).
