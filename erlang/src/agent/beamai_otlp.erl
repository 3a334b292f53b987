%% @doc Exports trace entries to OpenTelemetry: encodes an `ExportTraceServiceRequest' of OTLP, in protobuf.
%%
%% ```
%% Request = beamai_otlp:encode(beamai_trace:entries(Trace), #{service => <<"my-app">>}),
%% httpc:request(post, {"http://127.0.0.1:4318/v1/traces", [], "application/x-protobuf", Request}, [], []).
%% '''
%%
%% Each entry becomes a span. The entries of an agent's run are children of its span, and the run of a sub-agent is a
%% child of its caller's run. Trace and span ids are derived from the ids in the entries, so entries can be sent in
%% several requests; an entry without `run_id' is a trace of its own. Attributes are named after OpenTelemetry's
%% conventions for generative AI. Contents are never sent.
-module(beamai_otlp).

-export([encode/1, encode/2]).
-export_type([options/0]).

-type options() :: #{
    %% The attribute `service.name'; `beamai' by default.
    service => binary()
}.

%% Enumeration values of OTLP.
-define(INTERNAL, 1).
-define(CLIENT, 3).
-define(STATUS_ERROR, 2).

%% @doc As {@link encode/2}, with the default options.
-spec encode([beamai_trace:entry()]) -> binary().
encode(Entries) ->
    encode(Entries, #{}).

%% @doc Encodes the entries as one request. Raises `{bad_option, Key}'.
-spec encode([beamai_trace:entry()], options()) -> binary().
encode(Entries, Options) ->
    [beamai_validate:unknown_option(Key, [service]) || Key <- maps:keys(maps:remove(service, Options))],
    Resource = message(1, [attribute(1, {<<"service.name">>, maps:get(service, Options, <<"beamai">>)})]),
    Scope = message(1, [text(1, <<"beamai">>), text(2, version())]),
    Above = maps:from_list([{Run, Parent} || #{kind := agent, run_id := Run, parent_run_id := Parent} <- Entries]),
    Spans = message(2, [Scope | [message(2, span(Entry, Above)) || Entry <- Entries]]),
    iolist_to_binary(message(1, [Resource, Spans])).

version() ->
    case beamai_version:of_beams() of
        unknown -> <<"unknown">>;
        Version -> Version
    end.

%%% Spans

span(#{name := Name, at := At, duration_us := Us} = Entry, Above) ->
    Operation = operation(Entry),
    [
        bytes(1, id(16, {trace, root(maps:get(run_id, Entry, {alone, Entry}), Above, 20)})),
        bytes(2, span_id(Entry)),
        parent(Entry),
        text(5, <<Operation/binary, " ", Name/binary>>),
        varint(6, case Entry of #{kind := model} -> ?CLIENT; #{} -> ?INTERNAL end),
        fixed64(7, At * 1000),
        fixed64(8, (At + Us) * 1000),
        [attribute(9, {Key, Value}) || {Key, Value} <- attributes(Operation, Entry)],
        status(Entry)
    ].

%% The outermost run: a sub-agent's run belongs to its trace. A run whose caller is not among the entries is outermost
%% itself.
root(Run, _Above, 0) -> Run;
root(Run, Above, Left) ->
    case Above of
        #{Run := Parent} -> root(Parent, Above, Left - 1);
        #{} -> Run
    end.

span_id(#{kind := agent, run_id := Run}) -> id(8, {agent, Run});
span_id(Entry) -> id(8, Entry).

parent(#{kind := agent, parent_run_id := Run}) -> bytes(4, id(8, {agent, Run}));
parent(#{kind := agent}) -> [];
parent(#{agent_id := _, run_id := Run}) -> bytes(4, id(8, {agent, Run}));
parent(_Entry) -> [].

id(Size, Term) -> binary:part(crypto:hash(sha256, term_to_binary({node(), Term})), 0, Size).

operation(#{kind := tool}) -> <<"execute_tool">>;
operation(#{kind := model}) -> <<"chat">>;
operation(#{kind := agent}) -> <<"invoke_agent">>.

attributes(Operation, #{kind := Kind, name := Name} = Entry) ->
    [{<<"gen_ai.operation.name">>, Operation}] ++
        own(Kind, Name) ++
        [
            {Attribute, plain(maps:get(Key, Entry))}
         || {Key, Attribute} <- [
                {provider, <<"gen_ai.provider.name">>}, {finish_reasons, <<"gen_ai.response.finish_reasons">>},
                {agent_id, <<"gen_ai.agent.id">>}, {session_id, <<"gen_ai.conversation.id">>}, {call_id, <<"gen_ai.tool.call.id">>},
                {input_tokens, <<"gen_ai.usage.input_tokens">>}, {output_tokens, <<"gen_ai.usage.output_tokens">>},
                {cached_tokens, <<"gen_ai.usage.cache_read.input_tokens">>}, {error, <<"error.type">>},
                {rule, <<"beamai.permission.rule">>}, {input_bytes, <<"beamai.tool.input_bytes">>},
                {output_bytes, <<"beamai.tool.output_bytes">>}
            ],
            is_map_key(Key, Entry)
        ].

own(tool, Name) -> [{<<"gen_ai.tool.name">>, Name}, {<<"gen_ai.tool.type">>, <<"function">>}];
own(model, Name) -> [{<<"gen_ai.request.model">>, Name}];
own(agent, Name) -> [{<<"gen_ai.agent.name">>, Name}].

plain(Value) when is_binary(Value); is_integer(Value) -> Value;
plain(Value) when is_list(Value) -> plain_list(Value);
plain(Value) when is_atom(Value) -> atom_to_binary(Value);
plain(Value) -> shown(Value).

%% Only lists of texts and numbers have a form of their own. Hosts choose their ids, so any term may come.
plain_list(List) ->
    try lists:all(fun(Value) -> is_binary(Value) orelse is_integer(Value) end, List) of
        true -> List;
        false -> shown(List)
    catch
        error:function_clause -> shown(List)
    end.

shown(Value) -> unicode:characters_to_binary(beamai_error:show(Value, 200)).

status(#{outcome := ok}) -> [];
status(#{outcome := Outcome} = Entry) ->
    message(15, [text(2, plain(maps:get(error, Entry, Outcome))), varint(3, ?STATUS_ERROR)]).

%%% Protobuf

attribute(Field, {Key, Value}) ->
    message(Field, [text(1, Key), message(2, any(Value))]).

any(Value) when is_binary(Value) -> text(1, Value);
any(Value) when is_integer(Value) -> varint(3, Value);
any(Values) when is_list(Values) -> message(5, [message(1, any(Value)) || Value <- Values]).

message(Field, Parts) ->
    Body = iolist_to_binary(Parts),
    [key(Field, 2), number(byte_size(Body)), Body].

bytes(Field, Bytes) -> message(Field, Bytes).

%% A receiver rejects the whole request if a text is not UTF-8.
text(Field, Text) -> message(Field, beamai_error:readable(Text)).

varint(Field, Value) -> [key(Field, 0), number(Value band 16#FFFFFFFFFFFFFFFF)].

fixed64(Field, Value) -> [key(Field, 1), <<Value:64/little>>].

key(Field, Type) -> number(Field bsl 3 bor Type).

number(Value) when Value < 128 -> <<Value>>;
number(Value) -> [<<1:1, (Value band 127):7>>, number(Value bsr 7)].
