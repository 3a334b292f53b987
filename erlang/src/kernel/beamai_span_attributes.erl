%% @doc Attributes of the spans of {@link beamai_telemetry}, for tool calls, model requests and agents' runs.
%% @hidden
-module(beamai_span_attributes).

-export([metadata/3, ended/3]).
-export_type([kind/0]).

-type kind() :: tool | model | agent.

%% @doc The metadata of what a span is about.
-spec metadata(kind(), beamai_telemetry:subject(), Contents :: boolean()) -> map().
metadata(tool, Subject, Contents) -> tool(Subject, Contents);
metadata(model, Subject, Contents) -> model(Subject, Contents);
metadata(agent, Subject, Contents) -> agent(Subject, Contents).

%% @doc How a span ended: whether there was an exception, and further measurements and metadata.
-spec ended(kind(), Result :: term(), Contents :: boolean()) -> {stop | exception, Measurements :: map(), Metadata :: map()}.
ended(tool, Result, Contents) -> tool_ended(Result, Contents);
ended(model, Result, Contents) -> model_ended(Result, Contents);
ended(agent, Ended, _Contents) -> agent_ended(Ended).

%%% Tools

tool({Name, Args, Context}, Contents) ->
    Own = #{'gen_ai.operation.name' => <<"execute_tool">>, 'gen_ai.tool.name' => Name, 'gen_ai.tool.type' => <<"function">>},
    Call = copied(call_id, Context, 'gen_ai.tool.call.id', Own),
    with_content(Contents, 'gen_ai.tool.call.arguments', Args, ids(Context, Call)).

tool_ended({ok, Value, _Context}, Contents) ->
    {stop, #{}, with_content(Contents, 'gen_ai.tool.call.result', Value, #{})};
tool_ended({error, #{details := #{reason := crash, class := Class, exception := Reason} = Details}}, Contents) ->
    %% The exception may contain the handler's data.
    Raised = with_content(Contents, reason, Reason, maps:with([stacktrace], Details)),
    {exception, #{}, Raised#{kind => Class, 'error.type' => <<"crash">>}};
tool_ended({error, #{error_type := Type, details := #{reason := Reason} = Details}}, _Contents) when is_atom(Reason); is_binary(Reason) ->
    {stop, #{}, copied(matched_rule, Details, 'beamai.permission.rule', #{'error.type' => error_type(Type, Reason)})};
tool_ended({error, _Own}, _Contents) ->
    {stop, #{}, #{'error.type' => <<"_OTHER">>}}.

error_type(Type, Reason) -> iolist_to_binary(io_lib:format("~ts.~ts", [Type, Reason])).

%%% Models

model({Provider, State, #{context := Context} = Request}, Contents) ->
    Own = #{'gen_ai.operation.name' => <<"chat">>, 'gen_ai.provider.name' => Provider},
    Model = copied(model, State, 'gen_ai.request.model', copied(max_tokens, State, 'gen_ai.request.max_tokens', Own)),
    Instructed = with_content(Contents, 'gen_ai.system_instructions', maps:get(system, Request), ids(Context, Model)),
    with_content(Contents, 'gen_ai.input.messages', maps:get(messages, Request), Instructed).

model_ended({ok, #{message := Message, stop := Stop, usage := Usage}}, Contents) ->
    Own = #{'gen_ai.response.finish_reasons' => [finish(Stop)]},
    {stop, tokens(Usage), with_content(Contents, 'gen_ai.output.messages', [Message], usage(Usage, Own))};
model_ended({error, #{reason := Reason}}, _Contents) ->
    {stop, #{}, #{'error.type' => atom_to_binary(Reason)}}.

finish(Stop) when is_atom(Stop) -> atom_to_binary(Stop);
finish(Stop) -> Stop.

tokens(Usage) -> maps:with([input_tokens, output_tokens, cached_tokens, estimated_tokens], Usage).

usage(Usage, Metadata) ->
    Input = copied(input_tokens, Usage, 'gen_ai.usage.input_tokens', Metadata),
    Output = copied(output_tokens, Usage, 'gen_ai.usage.output_tokens', Input),
    copied(cached_tokens, Usage, 'gen_ai.usage.cache_read.input_tokens', Output).

%%% Agents

agent({Context, Input}, Contents) ->
    Own = #{'gen_ai.operation.name' => <<"invoke_agent">>},
    Named = copied(agent_id, maps:filter(fun(_Key, Name) -> is_binary(Name) end, Context), 'gen_ai.agent.name', Own),
    Below = copied(parent_run_id, Context, parent_run_id, Named),
    with_content(Contents andalso Input =/= none, 'gen_ai.input.messages', [Input], ids(Context, Below)).

agent_ended({Outcome, What, #{usage := Usage} = Counts}) ->
    Measurements = maps:merge(tokens(Usage), maps:with([iterations, tool_calls], Counts)),
    {stop, Measurements, usage(Usage, run_ended(Outcome, What))}.

run_ended(ok, Stop) -> #{'gen_ai.response.finish_reasons' => [finish(Stop)]};
run_ended(error, Reason) -> #{'error.type' => failure(Reason)}.

failure({model, #{reason := Reason}}) -> atom_to_binary(Reason);
failure({out_of_budget, What}) -> <<"out_of_budget.", (atom_to_binary(What))/binary>>;
failure({Kind, _}) -> atom_to_binary(Kind);
failure(Kind) -> atom_to_binary(Kind).

%%% Shared

ids(Context, Metadata) ->
    Agent = copied(agent_id, Context, 'gen_ai.agent.id', Metadata),
    Session = copied(session_id, Context, 'gen_ai.conversation.id', Agent),
    copied(run_id, Context, run_id, Session).

copied(Key, Values, Name, Metadata) ->
    case Values of
        #{Key := Value} -> Metadata#{Name => Value};
        #{} -> Metadata
    end.

with_content(true, Name, Value, Metadata) -> Metadata#{Name => Value};
with_content(false, _Name, _Value, Metadata) -> Metadata.
