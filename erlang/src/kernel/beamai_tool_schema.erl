%% @doc Converts tool specs to provider schemas. The native side renders them; this module converts the keywords to
%% atoms.
%%
%% In a result, the provider's envelope has binary keys, JSON Schema keywords and type names are atoms, and property
%% names are binaries. Only the words listed here become atoms.
%% @hidden
-module(beamai_tool_schema).

-export([term/3, terms/3, json/3, requests/3]).
-export_type([provider/0, options/0]).

-type provider() :: openai | openai_responses | anthropic | gemini | mcp.
%% `strict': request the provider's strict mode. Ignored for tools that this mode cannot express.
-type options() :: #{strict => boolean()}.

%% @doc The schema as a map. Raises `{invalid_tool, Name, Problems}', also if the provider does not accept the name.
-spec term(beamai_tool:tool_spec(), provider(), options()) -> #{binary() => term()}.
term(Spec, Provider, Options) ->
    #{<<"schema">> := Schema} = render(Spec, Provider, Options, #{}),
    envelope(Schema).

%% @doc The schemas of the tools of one request, as maps. In strict mode, tools beyond the provider's limit per request
%% are not strict.
-spec terms([beamai_tool:tool_spec()], provider(), options()) -> [#{binary() => term()}].
terms(Specs, Provider, Options) ->
    [envelope(Schema) || #{<<"schema">> := Schema} <- all(Specs, Provider, Options)].

%% @doc The schema as JSON text.
-spec json(beamai_tool:tool_spec(), provider(), options()) -> binary().
json(Spec, Provider, Options) ->
    #{<<"json">> := Json} = render(Spec, Provider, Options, #{}),
    Json.

%% @doc The schemas of the tools of one request, for {@link beamai_json:encode/1}: as {@link term/3}, but with the
%% schema of the arguments as `{json, Text}', whose properties are in the order of `position'.
-spec requests([beamai_tool:tool_spec()], provider(), options()) -> [#{binary() => term()}].
requests(Specs, Provider, Options) ->
    [with_text(Schema, Text) || #{<<"schema">> := Schema, <<"arguments">> := Text} <- all(Specs, Provider, Options)].

all(Specs, Provider, Options) ->
    Next = fun(Spec, Used) ->
        #{<<"used">> := After} = Rendered = render(Spec, Provider, Options, Used),
        {Rendered, After}
    end,
    {All, _Used} = lists:mapfoldl(Next, #{}, Specs),
    All.

with_text(#{<<"function">> := Function} = Schema, Text) ->
    Schema#{<<"function">> := with_text(Function, Text)};
with_text(Schema, Text) ->
    maps:map(fun(Key, Value) -> part(is_arguments(Key) andalso is_map(Value), Value, Text) end, Schema).

part(true, _Schema, Text) -> {json, Text};
part(false, Value, _Text) -> Value.

render(#{name := Name} = Spec, Provider, Options, Used) ->
    Strict = strict(Options),
    is_name(Provider, Name) orelse error({invalid_tool, Name, [bad_name(Provider, Name)]}),
    Request = (maps:with([parameters, input_schema], Spec))#{
        name => Name,
        description => maps:get(description, Spec, <<>>),
        provider => provider(Provider),
        strict => Strict,
        built_in => is_built_in(Spec),
        used => Used
    },
    case binary_to_term(beamai_nif:schema(term_to_binary(Request)), [safe]) of
        {ok, Rendered} -> Rendered;
        {error, #{<<"message">> := Message}} -> error({invalid_tool, Name, [Message]})
    end.

is_built_in(#{handler := {beamai_tool, call_native, [#{}]}}) -> true;
is_built_in(_Spec) -> false.

%% A provider rejects every request that has a tool with an invalid name, often without saying why.
is_name(Provider, Name) ->
    case allowed(Provider) of
        {Pattern, _Words} -> re:run(Name, Pattern, [dollar_endonly, {capture, none}]) =:= match;
        any -> true
    end.

bad_name(Provider, Name) ->
    {_Pattern, Words} = allowed(Provider),
    Text = [
        "the name ", beamai_error:show(Name, 100), " is none for ", atom_to_list(Provider), ", which takes ", Words,
        "; give the tool another name"
    ],
    unicode:characters_to_binary(Text).

allowed(Provider) when Provider =:= openai; Provider =:= openai_responses ->
    {"^[a-zA-Z0-9_-]{1,64}$", "1 to 64 letters (a-z, A-Z), digits, _ and -"};
allowed(anthropic) ->
    {"^[a-zA-Z0-9_-]{1,128}$", "1 to 128 letters (a-z, A-Z), digits, _ and -"};
allowed(gemini) ->
    {"^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$", "1 to 64 letters (a-z, A-Z), digits, _, . and -, the first a letter or _"};
allowed(_Other) ->
    any.

strict(Options) ->
    beamai_validate:options(Options),
    case {maps:get(strict, Options, false), maps:keys(maps:remove(strict, Options))} of
        {Strict, []} when is_boolean(Strict) -> Strict;
        {Other, []} -> beamai_validate:bad_option(strict, ["must be true or false, not ", beamai_validate:show(Other)]);
        {_, [Unknown | _]} -> beamai_validate:unknown_option(Unknown, [strict])
    end.

provider(openai) -> <<"openai">>;
provider(openai_responses) -> <<"openai_responses">>;
provider(anthropic) -> <<"anthropic">>;
provider(gemini) -> <<"gemini">>;
provider(mcp) -> <<"mcp">>;
provider(Other) ->
    beamai_validate:raise({bad_provider, Other}, [
        "the provider ", beamai_validate:is_one_of([openai, openai_responses, anthropic, gemini, mcp], Other)
    ]).

envelope(Map) ->
    maps:map(fun entry/2, Map).

entry(<<"function">>, Function) when is_map(Function) -> envelope(Function);
entry(Key, Value) ->
    case is_map(Value) andalso (is_arguments(Key) orelse Key =:= <<"outputSchema">>) of
        true -> schema(Value);
        false -> Value
    end.

is_arguments(<<"parameters">>) -> true;
is_arguments(<<"input_schema">>) -> true;
is_arguments(<<"inputSchema">>) -> true;
is_arguments(<<"parametersJsonSchema">>) -> true;
is_arguments(_Key) -> false.

schema(Schema) when is_map(Schema) ->
    maps:from_list([keyword(Key, Value) || {Key, Value} <- maps:to_list(Schema)]);
schema(Boolean) ->
    Boolean.

keyword(<<"type">>, Type) -> {type, type(Type)};
keyword(<<"properties">>, Properties) when is_map(Properties) -> {properties, named(Properties)};
keyword(<<"items">>, Items) -> {items, schema(Items)};
keyword(<<"additionalProperties">>, Allowed) -> {additionalProperties, schema(Allowed)};
keyword(<<"anyOf">>, Schemas) when is_list(Schemas) -> {anyOf, [schema(S) || S <- Schemas]};
keyword(<<"oneOf">>, Schemas) when is_list(Schemas) -> {oneOf, [schema(S) || S <- Schemas]};
keyword(<<"allOf">>, Schemas) when is_list(Schemas) -> {allOf, [schema(S) || S <- Schemas]};
keyword(<<"$defs">>, Schemas) when is_map(Schemas) -> {'$defs', named(Schemas)};
keyword(<<"definitions">>, Schemas) when is_map(Schemas) -> {definitions, named(Schemas)};
keyword(<<"$ref">>, Ref) -> {'$ref', Ref};
keyword(<<"required">>, Names) -> {required, Names};
keyword(<<"description">>, Text) -> {description, Text};
keyword(<<"title">>, Text) -> {title, Text};
keyword(<<"format">>, Format) -> {format, Format};
keyword(<<"enum">>, Values) -> {enum, Values};
keyword(<<"const">>, Value) -> {const, Value};
keyword(<<"default">>, Value) -> {default, Value};
keyword(<<"nullable">>, Nullable) -> {nullable, Nullable};
keyword(<<"minimum">>, Number) -> {minimum, Number};
keyword(<<"maximum">>, Number) -> {maximum, Number};
keyword(<<"minItems">>, Count) -> {minItems, Count};
keyword(<<"maxItems">>, Count) -> {maxItems, Count};
keyword(<<"propertyOrdering">>, Names) -> {propertyOrdering, Names};
keyword(Unknown, Value) -> {Unknown, Value}.

named(Properties) ->
    maps:map(fun(_Name, Schema) -> schema(Schema) end, Properties).

type(Types) when is_list(Types) -> [type(Type) || Type <- Types];
type(<<"string">>) -> string;
type(<<"integer">>) -> integer;
type(<<"number">>) -> number;
type(<<"boolean">>) -> boolean;
type(<<"array">>) -> array;
type(<<"object">>) -> object;
type(<<"null">>) -> null;
type(Unknown) -> Unknown.
