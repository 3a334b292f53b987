%% @doc An agent: a chat model that calls a kernel's tools until it has the answer.
%%
%% ```
%% {ok, Agent} = beamai_agent:new(#{llm => Model, plugins => [beamai_tool_file, beamai_tool_shell]}),
%% {ok, #{content := Text}, Agent1} = beamai_agent:run(Agent, <<"Why does the build fail?">>).
%% '''
%%
%% An agent is an immutable term. A run is a function of it: it runs in the calling process, ends with it, and returns
%% the agent with the new conversation and the context that its tools changed, even if the run failed. {@link
%% conversation/1} returns what to store. With the option `store', each message is stored as it is created, and {@link
%% resume/2} continues after a crash:
%%
%% ```
%% {ok, Agent} = beamai_agent:new(#{llm => Model, kernel => Kernel, agent_id => <<"build">>,
%%                                  store => {beamai_store_file, #{dir => "/var/lib/agents"}}}),
%% case beamai_agent:resume(Agent, #{}) of
%%     {idle, Ready} -> beamai_agent:run(Ready, <<"Why does the build fail?">>);
%%     Ended -> Ended
%% end.
%% '''
-module(beamai_agent).

-export([new/1, run/2, run/3, resume/2, conversation/1, context/1, id/1, kernel/1, explain/1]).
-export_type([agent/0, event/0, result/0, failure/0]).

%% The keys are private to this library.
-type agent() :: #{
    llm := beamai_chat:model(),
    kernel := beamai_kernel:kernel(),
    tools := beamai_chat_model:tools(),
    system_prompt := binary(),
    profile := default | plan,
    max_iterations := pos_integer(),
    budget := beamai_budget:limits(),
    context := beamai_context:t(),
    conversation := beamai_conversation:t(),
    agent_id := term(),
    store := none | beamai_store:t(),
    window := pos_integer() | infinity,
    compaction := off | beamai_agent_window:options(),
    tell := beamai_agent_input:told(),
    tool_listing := none | beamai_tool_search:options(),
    model_filters := [beamai_filter:filter()],
    %% The options of {@link beamai_agent_controls}.
    output => map(),
    tool_choice => beamai_chat_controls:tool_choice(),
    stop_sequences => [binary()],
    parallel => pos_integer(),
    %% What a stored run has not finished.
    unfinished := none | beamai_agent_log:unfinished(),
    stored := beamai_agent_log:stored()
}.
%% `tool_calls' and `usage' cover the run, including sub-agents' tokens. `context' is where the agent's next run starts.
%% `output' is the decoded answer, with the option `output'. `cost' is the cost of the run's models that have prices, in
%% the unit of their price table.
-type result() :: #{
    content := binary(),
    output => term(),
    cost => float(),
    tool_calls := non_neg_integer(),
    usage := #{atom() => non_neg_integer()},
    iterations := pos_integer(),
    stop := beamai_chat_model:stop(),
    context := beamai_context:t()
}.
-type failure() ::
    {model, beamai_chat_model:error()}
    | {max_iterations, pos_integer()}
    | {out_of_budget, tokens | time}
    %% The last answer did not match the schema of `output', and neither did the previous one.
    | {bad_output, Problems :: [binary()]}
    %% Nothing more is done once the store fails. `{outdated, AgentId}': another run has written to the agent's log since
    %% this value of the agent was made; {@link new/1} reads the log again.
    | {store, Reason :: term()}
    | cancelled.
-type event() ::
    {started, RunId :: term()}
    | beamai_chat_model:event()
    %% A message was added to the conversation: input, answer or result.
    | {message, beamai_chat_model:message()}
    %% Before a request to the model. `messages' and `tools' are counts.
    | {model_request, #{iteration := pos_integer(), messages := pos_integer(), tools := non_neg_integer()}}
    %% After the answer. `reasoning' is the model's reasoning, empty if the provider does not return it.
    | {model_answer, #{
        iteration := pos_integer(),
        message := beamai_chat_model:message(),
        reasoning := binary(),
        stop := beamai_chat_model:stop(),
        usage := beamai_chat_model:usage(),
        duration_us := non_neg_integer()
    }}
    %% A call of a group of calls that run in parallel, before the first of them starts.
    | {tool_call, beamai_chat_model:call()}
    | {tool_started, beamai_chat_model:call()}
    %% A call waits for a person: with the request for `approve', or the questions.
    | {waiting, #{for := approval | question, call_id := term(), request => map(), questions => [term()]}}
    | {waited, #{for := approval | question, call_id := term(), answer := atom(), duration_us := non_neg_integer()}}
    %% A call failed with a temporary error and will be retried after `delay_ms' milliseconds.
    | {tool_retry, #{tool := binary(), call_id := term(), attempt := pos_integer(), delay_ms := non_neg_integer(), error := term()}}
    %% A call has ended. The duration is the call's own, without calls that ran in parallel.
    | {tool_ended, #{call := beamai_chat_model:call(), outcome := ok | error | refused, duration_us := non_neg_integer()}}
    | {tool_result, beamai_chat_model:call(), {ok, term()} | {error, term()} | {refused, binary()}}
    %% Progress of a tool; `call_id' names the call.
    | {progress, map()}
    %% Usage of the run so far.
    | {usage, #{atom() => non_neg_integer()}}
    %% The conversation was shortened: estimated tokens before and after, and the number of summarised messages.
    | {compacted, #{
        tokens_before := non_neg_integer(),
        tokens_after := non_neg_integer(),
        summarised := non_neg_integer(),
        duration_us := non_neg_integer()
    }}
    %% The remaining budget after each answer; `time' in milliseconds. Only for limits that are set.
    | {budget, #{tokens => non_neg_integer(), time => non_neg_integer()}}
    %% The last event of a run.
    | {ended, #{
        outcome := ok | error,
        stop => beamai_chat_model:stop(),
        reason => failure(),
        iterations := non_neg_integer(),
        tool_calls := non_neg_integer(),
        usage := #{atom() => non_neg_integer()},
        duration_us := non_neg_integer()
    }}
    %% An event of a sub-agent.
    | {agent, Name :: binary(), event()}.

%% @doc Creates an agent. With a `store', it starts with what is stored under its `agent_id'. Raises `{bad_option,
%% Key}', the errors of loading plugins, and `{invalid_tool, Name, Problems}' for a tool that the model's provider does
%% not accept.
-spec new(beamai_agent_options:agent()) -> {ok, agent()}.
new(Options) ->
    Settings = beamai_agent_options:agent(Options),
    Kernel = lists:foldl(fun load/2, base(Settings), maps:get(plugins, Settings)),
    {ok, beamai_agent_setup:agent(Settings, with_agents(Settings, Kernel))}.

base(#{kernel := Kernel}) -> Kernel;
base(#{}) -> beamai_kernel:new().

load(Module, Kernel) -> beamai_kernel:add_tool_module(Kernel, Module).

%% Agents are useless without the tool that calls them.
with_agents(#{agents := Agents}, #{tools := Tools} = Kernel) ->
    Named = Kernel#{agents => Agents},
    case is_map_key(<<"task">>, Tools) of
        true -> Named;
        false -> beamai_kernel:add_tools(Named, [Spec#{tag => [<<"task">>]} || Spec <- beamai_catalogue:named(<<"beamai">>, <<"task">>)])
    end;
with_agents(_Settings, Kernel) ->
    Kernel.

%% @doc The conversation so far, as plain data for storing and for {@link new/1}.
-spec conversation(agent()) -> beamai_conversation:t().
conversation(#{conversation := Conversation}) ->
    Conversation.

%% @doc The context that the next run starts with: the option `context', with the changes that tools made since.
-spec context(agent()) -> beamai_context:t().
context(#{context := Context}) ->
    Context.

%% @doc The agent's id in the contexts of its calls, and in its store.
-spec id(agent()) -> term().
id(#{agent_id := Id}) ->
    Id.

%% @doc The kernel, reduced to the tools that the model can call.
-spec kernel(agent()) -> beamai_kernel:kernel().
kernel(#{kernel := Kernel}) ->
    Kernel.

%% @doc Explains to a person why a run failed.
-spec explain(failure()) -> binary().
explain({model, #{message := Message}}) -> <<"The model failed: ", Message/binary>>;
explain({max_iterations, Max}) -> <<"Ended: the model had not finished after ", (answers(Max))/binary, ", the limit max_iterations.">>;
explain({out_of_budget, tokens}) -> <<"Ended: the tokens of its budget are used up.">>;
explain({out_of_budget, time}) -> <<"Ended: the time of its budget is over.">>;
explain({store, {outdated, Id}}) ->
    New = beamai_syntax:either("beamai_agent:new", "Beamai.Agent.new"),
    beamai_error:text([
        "Nothing was done: the stored run of ", beamai_error:show(Id, 80), " has changed since this agent was made, or could not be "
        "stored as a whole. Make the agent anew with ", New, ", which reads what is stored; resume continues a run that was interrupted."
    ]);
explain({store, Reason}) ->
    Shown = unicode:characters_to_binary(of_store(Reason)),
    <<"The store failed, so nothing more was done: ", Shown/binary>>;
explain({bad_output, Problems}) -> beamai_agent_output:explain(Problems);
explain(cancelled) -> <<"Cancelled.">>.

of_store({Posix, Path}) when is_atom(Posix), is_list(Path) orelse is_binary(Path) ->
    [beamai_error:show(unicode:characters_to_binary(Path), 200), ": ", file:format_error(Posix)];
of_store(Reason) ->
    beamai_error:show(Reason, 300).

answers(1) -> <<"1 answer">>;
answers(Number) -> <<(integer_to_binary(Number))/binary, " answers">>.

%% @doc Runs the agent with its own options.
-spec run(agent(), Input :: beamai_agent_input:input()) -> {ok, result(), agent()} | {error, failure(), agent()}.
run(Agent, Input) ->
    run(Agent, Input, #{}).

%% @doc Runs the agent. Raises `{bad_option, Key}', `{bad_text, Input}' if the input is not valid Unicode text, and
%% `{bad_file, File}' for a file that cannot be sent.
-spec run(agent(), Input :: beamai_agent_input:input(), beamai_agent_options:run()) ->
    {ok, result(), agent()} | {error, failure(), agent()}.
run(Agent, Input, Options) ->
    ok = check(Agent),
    Message = beamai_agent_input:message(Input),
    Settings = beamai_agent_options:run(Options),
    beamai_agent_run:start(Agent, pinned(Message, Settings), Settings).

%% Raises `{bad_agent, Term}' if the term is not an agent.
check(#{llm := _, kernel := _, conversation := _, unfinished := _}) ->
    ok;
check(Other) ->
    New = beamai_syntax:either("beamai_agent:new gives as {ok, Agent}", "Beamai.Agent.new gives"),
    beamai_validate:wrong(bad_agent, Other, ["an agent is what ", New]).

pinned(Input, #{pin := true}) -> Input#{pinned => true};
pinned(Input, _Settings) -> Input.

%% @doc Continues a stored run that was interrupted by a crash or an error; `idle' if there is none, also after a
%% cancelled run. Calls with a stored result are not repeated. For calls that were running, the model is told that their
%% effect is unknown; calls that had not started, or waited for approval, are made now. Budgets start again. An agent from
%% before another run of its log is an error, `{store, {outdated, AgentId}}', also if it is idle itself. Raises
%% `{bad_option, Key}'.
-spec resume(agent(), beamai_agent_options:run()) -> {ok, result(), agent()} | {error, failure(), agent()} | {idle, agent()}.
resume(Agent, Options) ->
    ok = check(Agent),
    Settings = beamai_agent_options:run(Options),
    case Agent of
        #{unfinished := none} -> idle(Agent, beamai_agent_log:check(Agent));
        #{} -> beamai_agent_run:resume(Agent, Settings)
    end.

%% The agent may be from before a run that was interrupted.
idle(Agent, ok) -> {idle, Agent};
idle(Agent, {error, Reason}) -> {error, {store, Reason}, Agent}.
