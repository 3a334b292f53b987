%% @doc Controls of a request in each provider's format: which tools may be called, where the answer stops, and the JSON
%% Schema of the answer.
%%
%% The keys in a request are `tool_choice', `stop_sequences' and `output'. A provider's response format is used if it
%% can express the schema: Gemini does not support it together with tools, Anthropic not for objects with arbitrary
%% keys. Therefore the system prompt always describes the schema too, and {@link beamai_agent:run/3} checks the answer.
%% @hidden
-module(beamai_chat_controls).

-export([openai/1, anthropic/1, gemini/1, instructions/1, merged/2]).
-export_type([tool_choice/0, controls/0]).

%% `required': the answer must call a tool; `{tool, Name}': it must call this one. Ignored in a request without tools.
-type tool_choice() :: auto | none | required | {tool, Name :: binary()}.
-type controls() :: #{
    tool_choice => tool_choice(),
    stop_sequences => [binary()],
    %% A JSON Schema with binary keys.
    output => #{binary() => term()}
}.
-type body() :: #{binary() => term()}.

%% Constraints that Anthropic's response format does not support. They are checked here.
-define(UNCHECKED_BY_ANTHROPIC, [
    <<"minimum">>, <<"maximum">>, <<"exclusiveMinimum">>, <<"exclusiveMaximum">>, <<"multipleOf">>, <<"minLength">>,
    <<"maxLength">>, <<"pattern">>, <<"minItems">>, <<"maxItems">>, <<"uniqueItems">>, <<"minProperties">>,
    <<"maxProperties">>, <<"$schema">>
]).

%%% OpenAI

%% @doc Body keys of a chat completion request.
-spec openai(beamai_chat_model:request()) -> body().
openai(Request) ->
    maps:from_list(
        [{<<"tool_choice">>, openai_choice(Choice)} || Choice <- choice(Request)] ++
            [{<<"stop">>, Stop} || Stop <- stop(Request)] ++
            [{<<"response_format">>, openai_format(Schema)} || #{output := Schema} <- [Request]]
    ).

openai_choice({tool, Name}) -> #{<<"type">> => <<"function">>, <<"function">> => #{<<"name">> => Name}};
openai_choice(Choice) -> atom_to_binary(Choice).

openai_format(Schema) ->
    Format = #{<<"name">> => <<"answer">>, <<"schema">> => Schema},
    Strict = [Format#{<<"strict">> => true} || is_closed(Schema)],
    #{<<"type">> => <<"json_schema">>, <<"json_schema">> => hd(Strict ++ [Format])}.

%% OpenAI's strict mode requires that objects list all of their keys as required.
is_closed(#{<<"properties">> := #{} = Properties} = Schema) ->
    Required = maps:get(<<"required">>, Schema, []),
    maps:get(<<"additionalProperties">>, Schema, true) =:= false andalso
        lists:sort(Required) =:= lists:sort(maps:keys(Properties)) andalso
        lists:all(fun is_closed/1, maps:values(Properties)) andalso
        is_closed(maps:without([<<"properties">>, <<"required">>, <<"additionalProperties">>, <<"type">>], Schema));
is_closed(#{<<"type">> := <<"object">>}) ->
    false;
is_closed(#{} = Schema) ->
    lists:all(fun is_closed/1, below(Schema));
is_closed(_Boolean) ->
    true.

below(Schema) ->
    [Items || #{<<"items">> := Items} <- [Schema]] ++
        lists:append([maps:get(Key, Schema, []) || Key <- [<<"anyOf">>, <<"oneOf">>, <<"allOf">>]]) ++
        lists:append([maps:values(maps:get(Key, Schema, #{})) || Key <- [<<"$defs">>, <<"definitions">>]]).

%%% Anthropic

%% @doc Body keys of a messages request.
-spec anthropic(beamai_chat_model:request()) -> body().
anthropic(Request) ->
    maps:from_list(
        [{<<"tool_choice">>, anthropic_choice(Choice)} || Choice <- choice(Request)] ++
            [{<<"stop_sequences">>, Stop} || Stop <- stop(Request)] ++
            [{<<"output_config">>, anthropic_format(Schema)} || #{output := Schema} <- [Request], not has_free_keys(Schema)]
    ).

anthropic_choice({tool, Name}) -> #{<<"type">> => <<"tool">>, <<"name">> => Name};
anthropic_choice(required) -> #{<<"type">> => <<"any">>};
anthropic_choice(Choice) -> #{<<"type">> => atom_to_binary(Choice)}.

anthropic_format(Schema) ->
    #{<<"format">> => #{<<"type">> => <<"json_schema">>, <<"schema">> => closed(Schema)}}.

%% Whether a schema has objects with arbitrary keys.
has_free_keys(#{<<"additionalProperties">> := Other}) when Other =/= false -> true;
has_free_keys(#{<<"type">> := <<"object">>} = Schema) when not is_map_key(<<"properties">>, Schema) -> true;
has_free_keys(#{} = Schema) -> lists:any(fun has_free_keys/1, maps:values(maps:get(<<"properties">>, Schema, #{})) ++ below(Schema));
has_free_keys(_Boolean) -> false.

closed(#{<<"properties">> := Properties} = Schema) ->
    Closed = Schema#{<<"properties">> := maps:map(fun(_Name, Of) -> closed(Of) end, Properties), <<"additionalProperties">> => false},
    constrained(Closed);
closed(#{} = Schema) ->
    constrained(Schema);
closed(Boolean) ->
    Boolean.

constrained(Schema) ->
    maps:map(
        fun
            (<<"items">>, Items) -> closed(Items);
            (Key, Schemas) when Key =:= <<"anyOf">>; Key =:= <<"oneOf">>; Key =:= <<"allOf">> -> [closed(S) || S <- Schemas];
            (Key, Schemas) when Key =:= <<"$defs">>; Key =:= <<"definitions">> -> maps:map(fun(_Name, S) -> closed(S) end, Schemas);
            (_Key, Value) -> Value
        end,
        maps:without(?UNCHECKED_BY_ANTHROPIC, Schema)
    ).

%%% Gemini

%% @doc Body keys of a generateContent request.
-spec gemini(beamai_chat_model:request()) -> body().
gemini(Request) ->
    Config = maps:from_list(
        [{<<"stopSequences">>, Stop} || Stop <- stop(Request)] ++
            lists:append([gemini_format(Schema) || #{output := Schema} <- [Request], not has_tools(Request)])
    ),
    maps:from_list(
        [{<<"toolConfig">>, #{<<"functionCallingConfig">> => gemini_choice(Choice)}} || Choice <- choice(Request)] ++
            [{<<"generationConfig">>, Config} || map_size(Config) > 0]
    ).

gemini_choice({tool, Name}) -> #{<<"mode">> => <<"ANY">>, <<"allowedFunctionNames">> => [Name]};
gemini_choice(required) -> #{<<"mode">> => <<"ANY">>};
gemini_choice(none) -> #{<<"mode">> => <<"NONE">>};
gemini_choice(auto) -> #{<<"mode">> => <<"AUTO">>}.

gemini_format(Schema) ->
    [{<<"responseMimeType">>, <<"application/json">>}, {<<"responseJsonSchema">>, Schema}].

%%% All of them

choice(#{tool_choice := Choice} = Request) -> [Choice || has_tools(Request)];
choice(_Request) -> [].

has_tools(#{kernel := #{tools := Tools}}) -> map_size(Tools) > 0.

stop(#{stop_sequences := [_ | _] = Sequences}) -> [Sequences];
stop(_Request) -> [].

%% @doc The section of the system prompt about the output format; empty without `output'.
-spec instructions(controls()) -> binary().
instructions(#{output := Schema}) ->
    iolist_to_binary([
        "Your last answer must be one JSON value that matches this JSON Schema, with nothing before or after it:\n",
        beamai_json:text(Schema)
    ]);
instructions(_Controls) ->
    <<>>.

%% @doc Merges two parts of a request body. Maps in both, such as `generationConfig', are merged; the second takes
%% precedence.
-spec merged(body(), body()) -> body().
merged(First, Second) ->
    maps:merge_with(
        fun
            (_Key, #{} = One, #{} = Other) -> maps:merge(One, Other);
            (_Key, _One, Other) -> Other
        end,
        First,
        Second
    ).
