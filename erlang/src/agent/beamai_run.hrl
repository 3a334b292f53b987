%% The records of an agent's run: its constants and its state.

-record(run, {
    agent :: beamai_agent:agent(),
    system :: binary(),
    kernel :: beamai_kernel:kernel(),
    %% How results are rendered for the model.
    reader :: beamai_agent_result:reader(),
    id :: term(),
    %% Tag for cancellation, the log, and the partial answer in this process.
    tag :: reference(),
    emit :: fun((beamai_agent:event()) -> term()),
    budget :: beamai_budget:t(),
    max_iterations :: pos_integer(),
    controls :: beamai_agent_controls:options(),
    %% The context given to the run.
    given :: beamai_context:t(),
    %% Monotonic start time, in native units.
    started :: integer()
}).

-record(state, {
    conversation :: beamai_conversation:t(),
    context :: beamai_context:t(),
    iteration = 0 :: non_neg_integer(),
    tool_calls = 0 :: non_neg_integer(),
    %% Whether a call was made, so that `tool_choice' no longer asks for one.
    has_called = false :: boolean(),
    %% The provider's token count, and the number of messages that it covers.
    counted = none :: none | {non_neg_integer(), non_neg_integer()},
    %% Whether the provider has already rejected this request as too long.
    is_shrunk = false :: boolean(),
    %% Whether the model was already asked to correct an answer that did not match the schema.
    is_refused = false :: boolean(),
    %% The decoded last answer.
    output = none :: none | {value, term()}
}).
