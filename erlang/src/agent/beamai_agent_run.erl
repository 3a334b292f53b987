%% @doc One run of an agent: the loop of answers and calls, from the first event to the last.
%% @hidden
-module(beamai_agent_run).

-include("beamai_run.hrl").

-export([start/3, resume/2]).

-type ended() :: {ok, beamai_agent:result(), beamai_agent:agent()} | {error, beamai_agent:failure(), beamai_agent:agent()}.

%% @doc Runs the agent with an input.
-spec start(beamai_agent:agent(), Input :: beamai_chat_model:message(), Settings :: map()) -> ended().
start(Agent, Input, Settings) ->
    within(Agent, Settings, Input, fun(Run, State) -> loop(Run, begun(Input, Run, settled(Run, State))) end).

%% @doc Continues the unfinished run.
-spec resume(beamai_agent:agent(), Settings :: map()) -> ended().
resume(#{unfinished := #{unknown := Unknown, has_called := HasCalled}} = Agent, Settings) ->
    within(Agent, Settings, none, fun(Run, State) -> loop(Run, answered(Unknown, Run, State#state{has_called = HasCalled})) end).

within(#{conversation := Conversation, context := Own} = Agent, Settings, Input, Fun) ->
    Given = beamai_context:merge(Own, maps:get(context, Settings, #{})),
    Id = maps:get(run_id, Settings, beamai_context:get(run_id, Given, make_ref())),
    Tag = beamai_runs:enter(Id),
    Run = prepared(Agent, Settings, Id, Tag, Given),
    try
        ok = beamai_agent_answer:begin_anew(Tag),
        (Run#run.emit)({started, Id}),
        State = #state{conversation = Conversation, context = context(Run)},
        Span = beamai_spans:start_agent(State#state.context, Input),
        ended(logged(Run, State, Fun), Span, Run#run{agent = Agent})
    after
        beamai_agent_log:close(Tag),
        beamai_agent_answer:forget(Tag),
        beamai_runs:leave(Id, Tag)
    end.

logged(#run{agent = Agent, tag = Tag} = Run, State, Fun) ->
    case beamai_agent_log:open(Tag, Agent) of
        ok -> Fun(Run, State);
        {error, Reason} -> {error, {store, Reason}, State}
    end.

%% The model is offered the tools that can work in this run; calls are looked up among all tools of the agent.
prepared(#{kernel := Kernel} = Whole, Settings, Id, Tag, Given) ->
    Agent = beamai_agent_setup:of_run(Whole, Given),
    Limits = maps:merge(maps:get(budget, Agent), maps:get(budget, Settings, #{})),
    Controls = beamai_agent_controls:of_run(Agent, Settings, Kernel),
    #run{
        agent = Agent,
        system = beamai_agent_prompt:text(Agent, Controls),
        controls = Controls,
        kernel = Kernel,
        reader = beamai_agent_result:reader(Agent),
        id = Id,
        tag = Tag,
        emit = beamai_agent_answer:watch(Tag, beamai_agent_events:to(maps:get(events, Settings, none), Id)),
        budget = beamai_budget:new(Limits, beamai_context:get(agent_budget, Given, none)),
        max_iterations = maps:get(max_iterations, Settings, maps:get(max_iterations, Agent)),
        given = Given,
        started = erlang:monotonic_time()
    }.

context(#run{agent = #{llm := Model, agent_id := AgentId}, id = Id, budget = Budget, emit = Emit, given = Given} = Run) ->
    Keys = #{
        run_id => Id,
        agent_id => beamai_context:get(agent_id, Given, AgentId),
        model => Model,
        agent_budget => Budget,
        progress => beamai_agent_events:progress(Emit, Given),
        agent_events => {self(), fun(Event) -> heard(Event, Run) end}
    },
    beamai_agent_context:for_run(Keys, Given).

%%% The conversation

%% In the log, the input shows where a run begins.
begun(Input, Run, State) ->
    added(#{type => message, message => Input, is_input => true}, Run, State#state{has_called = false}).

said(Message, Run, State) -> added(#{type => message, message => Message}, Run, State).

added(#{message := Message} = Entry, #run{tag = Tag, emit = Emit}, #state{conversation = Conversation} = State) ->
    _ = beamai_agent_log:append(Tag, Entry),
    Emit({message, Message}),
    State#state{conversation = beamai_conversation:add([Message], Conversation)}.

%% Repairs what an earlier run left open: calls without a result, which providers reject, and an input without an
%% answer, which providers merge with the next input.
settled(Run, #state{conversation = Conversation} = State) ->
    {Calls, _} = beamai_conversation:unanswered(Conversation),
    Closed = interrupted(Calls, Run, State),
    case lists:reverse(beamai_conversation:messages(Closed#state.conversation)) of
        [#{role := user} | _] -> said(#{role => assistant, content => <<"(There was no answer to this.)">>}, Run, Closed);
        _ -> Closed
    end.

%% Adds results for calls that may have taken effect.
interrupted(Calls, Run, State) ->
    lists:foldl(
        fun(Call, #state{has_called = HasCalled} = Acc) ->
            IsMade = not is_map_key(invalid, Call),
            Entry = #{type => result, message => beamai_conversation:interrupted(Call), is_made => IsMade},
            added(Entry, Run, Acc#state{has_called = HasCalled orelse IsMade})
        end,
        State,
        Calls
    ).

%%% The loop

loop(#run{max_iterations = Max}, #state{iteration = Max} = State) ->
    {error, {max_iterations, Max}, State};
loop(#run{budget = Budget, tag = Tag} = Run, State) ->
    case {beamai_agent_log:failure(Tag), beamai_runs:cancelled(Tag), beamai_budget:left(Budget)} of
        {{error, Reason}, _, _} -> {error, {store, Reason}, State};
        {none, true, _} -> {error, cancelled, State};
        {none, false, {out_of, What}} -> {error, {out_of_budget, What}, State};
        {none, false, ok} -> fitted(beamai_agent_window:fit(Run, State), Run)
    end.

fitted({ok, #state{iteration = Iteration} = State}, Run) ->
    ask(Run, State#state{iteration = Iteration + 1, is_shrunk = false});
fitted({error, Error, State}, Run) ->
    failed(Error, Run, State).

ask(#run{agent = #{llm := Model, model_filters := Filters}, emit = Emit, tag = Tag} = Run, #state{iteration = Iteration} = State) ->
    #{messages := Messages, kernel := #{tools := Tools}} = Request = request(Run, State),
    Emit({model_request, #{iteration => Iteration, messages => length(Messages), tools => map_size(Tools)}}),
    ok = beamai_agent_answer:begin_anew(Tag),
    Started = erlang:monotonic_time(),
    Answer = beamai_model_filters:complete(Filters, Model, Request),
    asked(Answer, us_since(Started), Run, State).

us_since(Started) ->
    erlang:convert_time_unit(erlang:monotonic_time() - Started, native, microsecond).

request(#run{agent = Agent, system = System, emit = Emit, tag = Tag, budget = Budget, controls = Controls}, State) ->
    Messages = beamai_conversation:messages(State#state.conversation),
    {Kernel, Tools} = beamai_tool_search:offered(Agent, Messages),
    (beamai_agent_controls:request(Controls, State#state.has_called))#{
        messages => Messages,
        system => System,
        kernel => Kernel,
        tools => Tools,
        context => State#state.context,
        emit => Emit,
        run => Tag,
        until => beamai_budget:until(Budget)
    }.

asked({error, #{reason := context_overflow} = Error}, _Duration, Run, #state{is_shrunk = false} = State) ->
    case beamai_agent_window:shrink(Run, State) of
        {ok, Shorter} -> ask(Run, Shorter#state{is_shrunk = true});
        {error, Other, Same} -> failed(Other, Run, Same);
        off -> failed(Error, Run, State)
    end;
asked({error, Error}, _Duration, Run, State) ->
    failed(Error, Run, State);
asked({ok, #{message := Given, usage := Usage, stop := Stop}}, Duration, Run, State) ->
    #run{budget = Budget, emit = Emit, tag = Tag, controls = Controls} = Run,
    Message = beamai_agent_controls:answer(Given, Controls, State#state.has_called),
    ok = beamai_budget:spend(Usage, Budget),
    _ = beamai_agent_log:append(Tag, #{type => message, message => Message, usage => Usage}),
    Emit({model_answer, #{
        iteration => State#state.iteration, message => Message, reasoning => beamai_agent_answer:reasoning(Tag), stop => Stop,
        usage => Usage, duration_us => Duration
    }}),
    Emit({message, Message}),
    Emit({usage, beamai_budget:spent(Budget)}),
    budget(beamai_budget:remaining(Budget), Emit),
    #state{conversation = Conversation} = State,
    Said = beamai_agent_window:counted(Usage, State#state{conversation = beamai_conversation:add([Message], Conversation)}),
    case Message of
        #{tool_calls := [_ | _] = Calls} -> loop(Run, called(Calls, Run, Said));
        #{content := Text} -> said_last(Text, Stop, Run, Said)
    end.

%% An answer with an output schema must match it; the model may correct it once.
said_last(Text, Stop, #run{controls = #{output := Schema}} = Run, #state{is_refused = IsRefused} = State) ->
    case beamai_agent_output:check(Text, Schema) of
        {ok, Value} -> finished(Stop, Run, State#state{output = {value, Value}});
        {error, Problems} when IsRefused -> {error, {bad_output, Problems}, State};
        {error, Problems} -> loop(Run, said(beamai_agent_output:again(Problems), Run, State#state{is_refused = true}))
    end;
said_last(_Text, Stop, Run, State) ->
    finished(Stop, Run, State).

failed(#{reason := cancelled}, Run, State) ->
    {error, cancelled, broken_off(Run, State)};
failed(Error, #run{budget = Budget} = Run, State) ->
    case beamai_budget:left(Budget) of
        {out_of, What} -> {error, {out_of_budget, What}, broken_off(Run, State)};
        ok -> {error, {model, Error}, State}
    end.

budget(Unlimited, _Emit) when map_size(Unlimited) =:= 0 -> ok;
budget(Left, Emit) -> Emit({budget, Left}).

%% An answer that could not be stored does not count.
finished(Stop, #run{tag = Tag}, State) ->
    case beamai_agent_log:failure(Tag) of
        none -> {ok, Stop, State};
        {error, Reason} -> {error, {store, Reason}, State}
    end.

%% Adds the partial answer from when the run ended.
broken_off(#run{tag = Tag} = Run, State) ->
    case beamai_agent_answer:text(Tag) of
        <<>> -> State;
        Text -> said(#{role => assistant, content => Text, is_partial => true}, Run, State)
    end.

%%% Calls

called(Calls, #run{kernel = Kernel, tag = Tag, reader = Reader} = Run, #state{context = Context, conversation = Conversation} = State) ->
    Options = (maps:with([parallel], Run#run.controls))#{report => fun(Event) -> reported(Event, Run) end, whole => Tag},
    {Outcomes, After} = beamai_agent_calls:run(Kernel, Calls, Context, Options),
    Next = beamai_agent_context:after_calls(Context, After),
    ok = changed(beamai_agent_context:stored(Context, Next), Tag),
    State#state{
        conversation = beamai_conversation:add([beamai_agent_result:message(Outcome, Reader) || Outcome <- Outcomes], Conversation),
        context = Next,
        tool_calls = State#state.tool_calls + length(Calls),
        has_called = State#state.has_called orelse lists:any(fun beamai_agent_calls:is_made/1, Outcomes)
    }.

changed(None, _Tag) when map_size(None) =:= 0 ->
    ok;
changed(Set, Tag) ->
    _ = beamai_agent_log:append(Tag, #{type => context, set => Set}),
    ok.

%% Calls are stored as begun before they start, and their results as soon as they end.
reported({wave, Calls}, #run{tag = Tag, emit = Emit}) ->
    lists:foreach(fun(Call) -> Emit({tool_call, Call}) end, Calls),
    beamai_agent_log:append(Tag, #{type => begun, calls => [Id || #{id := Id} <- Calls]});
reported({started, Call}, #run{emit = Emit}) ->
    Emit({tool_started, Call}),
    ok;
reported({done, {Call, Outcome} = Done, Duration}, #run{tag = Tag, emit = Emit, reader = Reader}) ->
    Message = beamai_agent_result:message(Done, Reader),
    _ = beamai_agent_log:append(Tag, #{type => result, message => Message, is_made => beamai_agent_calls:is_made(Done)}),
    Emit({tool_ended, #{call => Call, outcome => element(1, Outcome), duration_us => Duration}}),
    Emit({tool_result, Call, Outcome}),
    Emit({message, Message}),
    ok.

%% Events within a call. A call that waits for approval has done nothing yet and can be repeated, but only if the
%% approval is for the call itself and not for another call made by its handler.
heard({waiting, #{call_id := Id} = About} = Event, #run{tag = Tag, emit = Emit}) ->
    Emit(Event),
    case About of
        #{tool := Tool} -> beamai_agent_log:append(Tag, #{type => waiting, call => Id, tool => Tool});
        #{} -> ok
    end;
heard({waited, #{call_id := Id}} = Event, #run{tag = Tag, emit = Emit}) ->
    Emit(Event),
    beamai_agent_log:append(Tag, #{type => decided, call => Id});
heard(Event, #run{emit = Emit}) ->
    Emit(Event),
    ok.

%% Adds results for calls of a stored answer that have none: either their effect is unknown, or they had not begun.
answered(Unknown, Run, #state{conversation = Conversation} = State) ->
    {Calls, _} = beamai_conversation:unanswered(Conversation),
    {Lost, Left} = lists:partition(fun(#{id := Id}) -> lists:member(Id, Unknown) end, Calls),
    Told = interrupted(Lost, Run, State),
    case Left of
        [] -> gone_on(Run, Told);
        _ -> called(Left, Run, Told)
    end.

%% After a partial answer, providers expect a message that asks to continue.
gone_on(Run, #state{conversation = Conversation} = State) ->
    case lists:last(beamai_conversation:messages(Conversation)) of
        #{role := assistant} -> said(#{role => user, content => <<"Go on.">>}, Run, State);
        _ -> State
    end.

%%% The end

ended({Outcome, What, State}, Span, #run{agent = Agent, budget = Budget, emit = Emit, tag = Tag} = Run) ->
    Usage = beamai_budget:spent(Budget),
    #state{conversation = Conversation, tool_calls = Calls, iteration = Iterations, context = Context} = State,
    Kept = beamai_agent_context:kept(maps:get(context, Agent), Run#run.given, Context),
    IsDone = is_done(Outcome, What),
    _ = beamai_agent_log:append(Tag, #{type => ended, is_done => IsDone, tool_calls => Calls, usage => Usage}),
    After = Agent#{
        conversation := beamai_conversation:count(Calls, Usage, Conversation),
        context := Kept,
        unfinished := unfinished(IsDone, State),
        stored := beamai_agent_log:stored(Tag, Agent)
    },
    Counts = #{iterations => Iterations, tool_calls => Calls, usage => Usage},
    ok = beamai_spans:stop_agent(Span, {Outcome, What, Counts}),
    Emit({ended, maps:merge(Counts#{outcome => Outcome, duration_us => us_since(Run#run.started)}, why(Outcome, What))}),
    case Outcome of
        error -> {error, What, After};
        ok -> {ok, maps:merge(Counts#{content => last(Conversation), stop => What, context => Kept}, more(State, Usage)), After}
    end.

%% Runs that fail for other reasons can be resumed.
is_done(ok, _Stop) -> true;
is_done(error, {bad_output, _}) -> true;
is_done(error, Reason) -> Reason =:= cancelled.

more(#state{output = Output}, Usage) ->
    maps:from_list(
        [{output, Value} || {value, Value} <- [Output]] ++ [{cost, beamai_cost:amount(Nano)} || #{cost_nano := Nano} <- [Usage]]
    ).

why(ok, Stop) -> #{stop => Stop};
why(error, Reason) -> #{reason => Reason}.

unfinished(true, _State) -> none;
unfinished(false, #state{has_called = HasCalled}) -> #{unknown => [], has_called => HasCalled}.

last(Conversation) ->
    maps:get(content, lists:last(beamai_conversation:messages(Conversation))).
