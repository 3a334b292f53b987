%% @doc An agent: a chat model that calls a kernel's tools until it has the answer.
%%
%% ```
%% {ok, Agent} = beamai_agent:new(#{llm => Model, plugins => [beamai_tool_file, beamai_tool_shell]}),
%% {ok, #{content := Text}, Agent1} = beamai_agent:run(Agent, <<"Why does the build fail?">>).
%% '''
%%
%% An agent is data and a run is a function of it: it runs in the calling process, ends with it, and returns the agent
%% with the conversation in it, also where the run failed. {@link conversation/1} gives what is to be stored.
-module(beamai_agent).

-export([new/1, run/2, run/3, conversation/1, kernel/1, explain/1]).
-export_type([agent/0, event/0, result/0, failure/0]).

-opaque agent() :: #{
    llm := beamai_chat:model(),
    kernel := beamai_kernel:kernel(),
    system_prompt := binary(),
    profile := default | plan,
    max_iterations := pos_integer(),
    budget := beamai_budget:limits(),
    context := beamai_context:t(),
    conversation := beamai_conversation:t()
}.
%% `tool_calls' and `usage' are those of the run, sub-agents' tokens included.
-type result() :: #{
    content := binary(),
    tool_calls := non_neg_integer(),
    usage := #{atom() => non_neg_integer()},
    iterations := pos_integer(),
    stop := beamai_chat_model:stop()
}.
-type failure() ::
    {model, beamai_chat_model:error()}
    | {max_iterations, pos_integer()}
    | {out_of_budget, tokens | time}
    | cancelled.
-type event() ::
    {started, RunId :: term()}
    | beamai_chat_model:event()
    | {tool_call, beamai_chat_model:call()}
    | {tool_result, beamai_chat_model:call(), {ok, term()} | {error, term()} | {refused, binary()}}
    %% What a tool reports while it works.
    | {progress, map()}
    %% Of the run so far.
    | {usage, #{atom() => non_neg_integer()}}
    %% What a sub-agent does.
    | {agent, Name :: binary(), event()}.

%% What does not change during a run.
-record(run, {
    agent :: agent(),
    system :: binary(),
    kernel :: beamai_kernel:kernel(),
    id :: term(),
    tag :: reference(),
    emit :: fun((event()) -> term()),
    budget :: beamai_budget:t(),
    max_iterations :: pos_integer()
}).
-record(state, {
    conversation :: beamai_conversation:t(),
    context :: beamai_context:t(),
    iteration = 0 :: non_neg_integer(),
    tool_calls = 0 :: non_neg_integer()
}).

%% @doc An agent. Raises `{bad_option, Key}', what loading the plugins raises, and `{invalid_tool, Name, Problems}' for a
%% tool that the model's provider would refuse.
-spec new(beamai_agent_options:agent()) -> {ok, agent()}.
new(Options) ->
    Settings = beamai_agent_options:agent(Options),
    Kernel = lists:foldl(fun load/2, base(Settings), maps:get(plugins, Settings)),
    Ready = profiled(maps:get(profile, Settings), with_agents(Settings, Kernel)),
    ok = beamai_chat:check_tools(maps:get(llm, Settings), Ready),
    {ok, (maps:without([plugins, agents], Settings))#{kernel => Ready}}.

base(#{kernel := Kernel}) -> Kernel;
base(#{}) -> beamai_kernel:new().

load(Module, Kernel) -> beamai_kernel:add_tool_module(Kernel, Module).

%% Agents without the tool that calls them would be of no use.
with_agents(#{agents := Agents}, #{tools := Tools} = Kernel) ->
    Named = Kernel#{agents => Agents},
    case is_map_key(<<"task">>, Tools) of
        true -> Named;
        false -> beamai_kernel:add_tool_module(Named, beamai_tool_task)
    end;
with_agents(_Settings, Kernel) ->
    Kernel.

%% Tools that a profile withholds are not there at all: naming one is naming an unknown tool.
profiled(Profile, Kernel) ->
    Names = [Name || #{name := Name} = Spec <- beamai_kernel:get_tool_specs(Kernel), offers(Profile, Spec)],
    beamai_kernel:select_tools(Kernel, Names).

offers(default, #{name := <<"question">>}) -> false;
offers(default, _Spec) -> true;
offers(plan, #{name := Name}) when
    Name =:= <<"question">>; Name =:= <<"human_input">>; Name =:= <<"AskUserQuestion">>
->
    true;
offers(plan, #{metadata := #{read_only := true}}) -> true;
offers(plan, _Spec) -> false.

%% @doc The conversation so far: plain data, to be stored and given to {@link new/1} again.
-spec conversation(agent()) -> beamai_conversation:t().
conversation(#{conversation := Conversation}) ->
    Conversation.

%% @doc The kernel, with the tools that the model sees and no others.
-spec kernel(agent()) -> beamai_kernel:kernel().
kernel(#{kernel := Kernel}) ->
    Kernel.

%% @doc Why a run failed, as a sentence for a person.
-spec explain(failure()) -> binary().
explain({model, #{message := Message}}) -> <<"The model failed: ", Message/binary>>;
explain({max_iterations, Max}) -> <<"Ended after ", (integer_to_binary(Max))/binary, " answers without a last one.">>;
explain({out_of_budget, tokens}) -> <<"Ended: the tokens of its budget are used up.">>;
explain({out_of_budget, time}) -> <<"Ended: the time of its budget is over.">>;
explain(cancelled) -> <<"Cancelled.">>.

%% @doc Has the agent answer, with its own options.
-spec run(agent(), Input :: unicode:chardata()) -> {ok, result(), agent()} | {error, failure(), agent()}.
run(Agent, Input) ->
    run(Agent, Input, #{}).

%% @doc Has the agent answer. Raises `{bad_option, Key}', and `{bad_text, Input}' where the input is no Unicode text.
-spec run(agent(), Input :: unicode:chardata(), beamai_agent_options:run()) ->
    {ok, result(), agent()} | {error, failure(), agent()}.
run(#{conversation := Conversation, context := Own} = Agent, Input, Options) ->
    Text = text(Input),
    Settings = beamai_agent_options:run(Options),
    Given = beamai_context:merge(Own, maps:get(context, Settings, #{})),
    Id = maps:get(run_id, Settings, beamai_context:get(run_id, Given, make_ref())),
    Tag = beamai_runs:enter(Id),
    Run = prepared(Agent, Settings, Id, Tag, Given),
    try
        (Run#run.emit)({started, Id}),
        Asked = beamai_conversation:add([#{role => user, content => Text}], Conversation),
        ended(loop(Run, #state{conversation = Asked, context = context(Run, Given)}), Run)
    after
        beamai_runs:leave(Id, Tag)
    end.

%% In a conversation it could never be sent.
text(Input) ->
    try unicode:characters_to_binary(Input) of
        Text when is_binary(Text) -> Text;
        _ -> error({bad_text, Input})
    catch
        error:badarg -> error({bad_text, Input})
    end.

prepared(#{kernel := Kernel} = Agent, Settings, Id, Tag, Given) ->
    Limits = maps:merge(maps:get(budget, Agent), maps:get(budget, Settings, #{})),
    #run{
        agent = Agent,
        system = beamai_agent_prompt:text(Agent),
        kernel = Kernel,
        id = Id,
        tag = Tag,
        emit = emit(maps:get(events, Settings, none), Id),
        budget = beamai_budget:new(Limits, beamai_context:get(agent_budget, Given, none)),
        max_iterations = maps:get(max_iterations, Settings, maps:get(max_iterations, Agent))
    }.

%% A fun of the host that raises must not end the run.
emit(none, _Id) ->
    fun(_Event) -> ok end;
emit(Pid, Id) when is_pid(Pid) ->
    fun(Event) -> Pid ! {beamai_event, Id, Event} end;
emit(Fun, _Id) ->
    fun(Event) ->
        try
            Fun(Event)
        catch
            Class:Reason:Stack ->
                logger:error("beamai: the events callback raised ~p:~0tp at ~0tp", [
                    Class, Reason, beamai_callback:short_stack(Stack)
                ])
        end
    end.

context(#run{agent = #{llm := Model}, id = Id, budget = Budget} = Run, Given) ->
    Given#{run_id => Id, model => Model, agent_budget => Budget, progress => progress(Run, Given)}.

%% Progress of tools, and events of sub-agents, which come the same way.
progress(#run{emit = Emit}, Given) ->
    fun
        (#{agent := Name, event := Event}) ->
            Emit({agent, Name, Event});
        (Progress) ->
            Emit({progress, Progress}),
            beamai_callback:progress(Progress, maps:with([progress, run_id], Given))
    end.

%%% The loop

loop(#run{max_iterations = Max}, #state{iteration = Max} = State) ->
    {error, {max_iterations, Max}, State};
loop(#run{budget = Budget, tag = Tag} = Run, State) ->
    case {beamai_runs:cancelled(Tag), beamai_budget:left(Budget)} of
        {true, _} -> {error, cancelled, State};
        {false, {out_of, What}} -> {error, {out_of_budget, What}, State};
        {false, ok} -> asked(beamai_chat:complete(model(Run), request(Run, State)), Run, State)
    end.

model(#run{agent = #{llm := Model}}) -> Model.

request(#run{system = System, kernel = Kernel, emit = Emit, tag = Tag, budget = Budget}, State) ->
    #{
        messages => beamai_conversation:messages(State#state.conversation),
        system => System,
        kernel => Kernel,
        context => State#state.context,
        emit => Emit,
        run => Tag,
        until => beamai_budget:until(Budget)
    }.

asked({error, #{reason := cancelled}}, _Run, State) ->
    {error, cancelled, State};
asked({error, Error}, #run{budget = Budget}, State) ->
    case beamai_budget:left(Budget) of
        {out_of, What} -> {error, {out_of_budget, What}, State};
        ok -> {error, {model, Error}, State}
    end;
asked({ok, #{message := Message, usage := Usage, stop := Stop}}, #run{budget = Budget, emit = Emit} = Run, State) ->
    ok = beamai_budget:spend(Usage, Budget),
    Emit({usage, beamai_budget:spent(Budget)}),
    Said = said([Message], State#state{iteration = State#state.iteration + 1}),
    case Message of
        #{tool_calls := [_ | _] = Calls} -> called(Calls, Run, Said);
        #{} -> {ok, Stop, Said}
    end.

said(Messages, #state{conversation = Conversation} = State) ->
    State#state{conversation = beamai_conversation:add(Messages, Conversation)}.

called(Calls, #run{kernel = Kernel, emit = Emit} = Run, #state{context = Context, tool_calls = Count} = State) ->
    Report = fun
        ({start, Call}) -> Emit({tool_call, Call});
        ({done, {Call, Outcome}}) -> Emit({tool_result, Call, Outcome})
    end,
    {Outcomes, After} = beamai_agent_calls:run(Kernel, Calls, Context, Report),
    Told = said([told(Outcome) || Outcome <- Outcomes], State),
    loop(Run, Told#state{context = After, tool_calls = Count + length(Calls)}).

told({#{id := Id, name := Name}, {ok, Result}}) ->
    {Left, Images} = beamai_images:take(Result),
    Message = #{role => tool, call => Id, name => Name, content => beamai_json:text(Left), outcome => ok},
    case Images of
        [] -> Message;
        [_ | _] -> Message#{images => Images}
    end;
told({#{id := Id, name := Name}, Outcome}) ->
    {Kind, Content} = content(Outcome),
    #{role => tool, call => Id, name => Name, content => Content, outcome => Kind}.

content({refused, Message}) -> {refused, Message};
content({error, #{error_type := Type, message := Message, details := Details}}) when is_map(Details) ->
    {error, beamai_json:text(#{error_type => Type, message => Message, details => tellable(Details)})};
content({error, Reason}) -> {error, beamai_json:text(Reason)}.

%% Terms of Erlang that JSON cannot say tell a model nothing.
tellable(Details) ->
    maps:filter(fun(_Key, Value) -> element(1, beamai_json:encode(Value)) =:= ok end, Details).

ended({Outcome, What, State}, #run{agent = Agent, budget = Budget}) ->
    Usage = beamai_budget:spent(Budget),
    #state{conversation = Conversation, tool_calls = Calls, iteration = Iterations} = State,
    After = Agent#{conversation := beamai_conversation:count(Calls, Usage, Conversation)},
    case Outcome of
        error ->
            {error, What, After};
        ok ->
            Result = #{
                content => maps:get(content, lists:last(beamai_conversation:messages(Conversation))),
                tool_calls => Calls,
                usage => Usage,
                iterations => Iterations,
                stop => What
            },
            {ok, Result, After}
    end.
