%% @doc Validates values against JSON Schemas of external origin.
%%
%% Supported are `type', `enum', `const', `required', `properties', `additionalProperties', `items', bounds of numbers,
%% texts, arrays and objects, `anyOf', `oneOf', `allOf', and `$ref' within the schema. Other keywords are ignored, so
%% the check accepts too much rather than too little. Its cost is bounded: if a schema takes too long, the rest is
%% accepted.
%% @hidden
-module(beamai_json_schema).

-export([problems/2, problems_of/3, mistakes/1]).

%% Maximum number of subschemas that are evaluated.
-define(MOST_STEPS, 100000).
-define(DEEPEST, 128).
-define(MOST_SHOWN, 80).

-define(TYPES, [<<"string">>, <<"integer">>, <<"number">>, <<"boolean">>, <<"null">>, <<"array">>, <<"object">>]).

-record(look, {root :: map(), steps :: counters:counters_ref(), unknown = "is not an argument" :: string()}).

%% @doc What is wrong with a schema of the host itself, one sentence each: unknown types, and keywords with values that they
%% cannot have. Empty if nothing was found.
-spec mistakes(Schema :: #{binary() => term()}) -> [binary()].
mistakes(Schema) ->
    [unicode:characters_to_binary(Text) || Text <- mistakes(Schema, <<>>)].

mistakes(#{} = Schema, Path) ->
    lists:append([mistake(Key, Value, at(Path, Key)) || {Key, Value} <- lists:sort(maps:to_list(Schema))]);
mistakes(Flag, _Path) when is_boolean(Flag) ->
    [];
mistakes(Other, Path) ->
    [problem(Path, ["must be a schema, not ", show(Other)])].

mistake(<<"type">>, [_ | _] = Types, Path) ->
    lists:append([mistake(<<"type">>, Type, Path) || Type <- Types]);
mistake(<<"type">>, Type, Path) ->
    [problem(Path, ["must be ", lists:join(", ", ?TYPES), ", not ", show(Type)]) || not lists:member(Type, ?TYPES)];
mistake(<<"properties">>, #{} = Properties, Path) ->
    lists:append([mistakes(Schema, at(Path, Name)) || {Name, Schema} <- lists:sort(maps:to_list(Properties))]);
mistake(<<"properties">>, Other, Path) ->
    [problem(Path, ["must be an object of schemas, not ", show(Other)])];
mistake(<<"required">>, Names, Path) ->
    IsNames = is_list(Names) andalso lists:all(fun is_binary/1, Names),
    [problem(Path, ["must be a list of names, not ", show(Names)]) || not IsNames];
mistake(<<"items">>, Schema, Path) when not is_list(Schema) ->
    mistakes(Schema, Path);
mistake(Key, Schemas, Path) when (Key =:= <<"anyOf">> orelse Key =:= <<"oneOf">> orelse Key =:= <<"allOf">>), is_list(Schemas) ->
    lists:append([mistakes(Schema, Path) || Schema <- Schemas]);
mistake(_Key, _Value, _Path) ->
    [].

%% @doc The problems of a value, one sentence each; empty if it is valid.
-spec problems(Schema :: #{binary() => term()}, Value :: term()) -> [binary()].
problems(Schema, Value) ->
    problems(Schema, Value, <<>>, #look{root = Schema, steps = counters:new(1, [])}).

%% @doc The problems of a value that is not the arguments of a call; `Name' is its name in messages.
-spec problems_of(Name :: binary(), Schema :: #{binary() => term()}, Value :: term()) -> [binary()].
problems_of(Name, Schema, Value) ->
    problems(Schema, Value, Name, #look{root = Schema, steps = counters:new(1, []), unknown = "is not in the schema"}).

problems(Schema, Value, Path, Look) ->
    try
        [unicode:characters_to_binary(Text) || Text <- value(Schema, Value, Path, ?DEEPEST, Look)]
    catch
        throw:too_much -> []
    end.

value(Schema, Value, Path, Depth, #look{steps = Steps} = Look) when is_map(Schema) ->
    counters:add(Steps, 1, 1),
    case Depth =:= 0 orelse counters:get(Steps, 1) > ?MOST_STEPS of
        true -> throw(too_much);
        false -> ok
    end,
    case of_type(Schema, Value) of
        true ->
            lists:append([
                keyword(Key, Wanted, Schema, Value, Path, Depth - 1, Look)
             || {Key, Wanted} <- lists:sort(maps:to_list(Schema))
            ]);
        false ->
            [problem(Path, ["must be ", types(maps:get(<<"type">>, Schema)), ", not ", show(Value)])]
    end;
value(false, _Value, Path, _Depth, _Look) ->
    [problem(Path, "is not accepted")];
value(_Schema, _Value, _Path, _Depth, _Look) ->
    [].

of_type(#{<<"type">> := Type}, Value) when is_binary(Type) -> is_type(Type, Value);
of_type(#{<<"type">> := Types}, Value) when is_list(Types) ->
    lists:any(fun(Type) -> is_type(Type, Value) end, Types);
of_type(_Schema, _Value) ->
    true.

is_type(<<"string">>, Value) -> is_binary(Value) orelse is_name(Value);
is_type(<<"integer">>, Value) -> is_integer(Value) orelse is_float(Value) andalso Value == trunc(Value);
is_type(<<"number">>, Value) -> is_number(Value);
is_type(<<"boolean">>, Value) -> is_boolean(Value);
is_type(<<"null">>, Value) -> Value =:= null orelse Value =:= nil orelse Value =:= undefined;
is_type(<<"array">>, Value) -> is_list(Value);
is_type(<<"object">>, Value) -> is_map(Value);
is_type(_Unknown, _Value) -> true.

%% Atoms are sent as text.
is_name(Value) ->
    is_atom(Value) andalso not lists:member(Value, [true, false, null, nil, undefined]).

types(Type) when is_binary(Type) -> Type;
types(Types) -> lists:join(" or ", [Type || Type <- Types, is_binary(Type)]).

keyword(<<"enum">>, Values, _Schema, Value, Path, _Depth, _Look) when is_list(Values) ->
    Choices = lists:join(", ", [show(Choice) || Choice <- lists:sublist(Values, 50)]),
    [problem(Path, ["must be one of ", Choices, ", not ", show(Value)]) || not among(Value, Values)];
keyword(<<"const">>, Wanted, _Schema, Value, Path, _Depth, _Look) ->
    [problem(Path, ["must be ", show(Wanted), ", not ", show(Value)]) || not among(Value, [Wanted])];
keyword(<<"required">>, Names, _Schema, Value, Path, _Depth, _Look) when is_map(Value), is_list(Names) ->
    [
        problem(at(Path, Name), "is missing")
     || Name <- Names, is_binary(Name), not is_map_key(Name, Value)
    ];
keyword(<<"properties">>, Properties, _Schema, Value, Path, Depth, Look) when
    is_map(Value), is_map(Properties)
->
    Both = maps:to_list(maps:with(maps:keys(Properties), Value)),
    lists:append([
        value(maps:get(Name, Properties), V, at(Path, Name), Depth, Look)
     || {Name, V} <- lists:sort(Both)
    ]);
keyword(<<"additionalProperties">>, Others, Schema, Value, Path, Depth, Look) when
    is_map(Value), not is_map_key(<<"patternProperties">>, Schema)
->
    Properties = maps:get(<<"properties">>, Schema, #{}),
    Extra = lists:sort(maps:to_list(maps:without(names(Properties), Value))),
    lists:append([additional(Others, V, at(Path, Name), Depth, Look) || {Name, V} <- Extra]);
keyword(<<"items">>, Items, Schema, Value, Path, Depth, Look) when
    is_list(Value), not is_map_key(<<"prefixItems">>, Schema)
->
    Numbered = lists:zip(lists:seq(0, length(Value) - 1), Value),
    lists:append([
        value(Items, V, [Path, $[, integer_to_binary(N), $]], Depth, Look)
     || is_map(Items), {N, V} <- Numbered
    ]);
keyword(<<"anyOf">>, Schemas, _Schema, Value, Path, Depth, Look) when is_list(Schemas) ->
    one_of(Schemas, Value, Path, Depth, Look);
keyword(<<"oneOf">>, Schemas, _Schema, Value, Path, Depth, Look) when is_list(Schemas) ->
    one_of(Schemas, Value, Path, Depth, Look);
keyword(<<"allOf">>, Schemas, _Schema, Value, Path, Depth, Look) when is_list(Schemas) ->
    lists:append([value(Schema, Value, Path, Depth, Look) || Schema <- Schemas]);
keyword(<<"$ref">>, Ref, _Schema, Value, Path, Depth, #look{root = Root} = Look) ->
    case resolve(Ref, Root) of
        {ok, Schema} -> value(Schema, Value, Path, Depth, Look);
        error -> []
    end;
keyword(Key, Bound, _Schema, Value, Path, _Depth, _Look) when is_number(Bound) ->
    [problem(Path, Text) || {false, Text} <- [bound(Key, Bound, Value)]];
keyword(_Key, _Wanted, _Schema, _Value, _Path, _Depth, _Look) ->
    [].

additional(false, _Value, Path, _Depth, #look{unknown = Unknown}) -> [problem(Path, Unknown)];
additional(Schema, Value, Path, Depth, Look) -> value(Schema, Value, Path, Depth, Look).

names(Properties) when is_map(Properties) -> maps:keys(Properties);
names(_Properties) -> [].

%% If no alternative matches, the problems of the one with the fewest are reported.
one_of([], _Value, _Path, _Depth, _Look) ->
    [];
one_of(Schemas, Value, Path, Depth, Look) ->
    All = [value(Schema, Value, Path, Depth, Look) || Schema <- Schemas],
    case lists:member([], All) of
        true -> [];
        false -> hd(lists:sort(fun(A, B) -> length(A) =< length(B) end, All))
    end.

resolve(<<"#">>, Root) -> {ok, Root};
resolve(<<"#/", Pointer/binary>>, Root) -> walk(binary:split(Pointer, <<"/">>, [global]), Root);
resolve(_Elsewhere, _Root) -> error.

walk([], Schema) ->
    {ok, Schema};
walk([Part | Rest], Schema) ->
    Unescaped = binary:replace(binary:replace(Part, <<"~1">>, <<"/">>, [global]), <<"~0">>, <<"~">>, [global]),
    case Schema of
        #{Unescaped := Next} -> walk(Rest, Next);
        _ -> error
    end.

among(Value, Choices) ->
    lists:any(fun(Choice) -> same(Choice, Value) end, Choices).

same(Choice, Value) when is_binary(Choice), is_atom(Value) -> Choice =:= atom_to_binary(Value);
same(Choice, Value) -> Choice == Value.

bound(<<"minimum">>, Bound, V) when is_number(V) -> {V >= Bound, wanted("must be at least ", Bound, V)};
bound(<<"maximum">>, Bound, V) when is_number(V) -> {V =< Bound, wanted("must be at most ", Bound, V)};
bound(<<"exclusiveMinimum">>, Bound, V) when is_number(V) -> {V > Bound, wanted("must be above ", Bound, V)};
bound(<<"exclusiveMaximum">>, Bound, V) when is_number(V) -> {V < Bound, wanted("must be below ", Bound, V)};
bound(<<"minItems">>, Bound, V) when is_list(V) -> count("at least ", Bound, " elements", length(V), '>=');
bound(<<"maxItems">>, Bound, V) when is_list(V) -> count("at most ", Bound, " elements", length(V), '=<');
bound(<<"minProperties">>, Bound, V) when is_map(V) -> count("at least ", Bound, " entries", map_size(V), '>=');
bound(<<"maxProperties">>, Bound, V) when is_map(V) -> count("at most ", Bound, " entries", map_size(V), '=<');
bound(<<"minLength">>, Bound, V) when is_binary(V) -> count("at least ", Bound, " characters", chars(V), '>=');
bound(<<"maxLength">>, Bound, V) when is_binary(V) -> count("at most ", Bound, " characters", chars(V), '=<');
bound(_Key, _Bound, _Value) -> {true, ""}.

wanted(Text, Bound, Value) -> [Text, show(Bound), ", not ", show(Value)].

count(Text, Bound, Unit, Count, Op) ->
    {erlang:Op(Count, Bound), ["must have ", Text, show(Bound), Unit, ", not ", integer_to_binary(Count)]}.

%% JSON Schema counts code points.
chars(Text) ->
    case unicode:characters_to_list(Text) of
        Chars when is_list(Chars) -> length(Chars);
        _ -> byte_size(Text)
    end.

problem(<<>>, Text) -> ["the arguments: this ", Text];
problem(Path, Text) -> [$", Path, "\" ", Text].

at(<<>>, Name) -> key(Name);
at(Path, Name) -> [Path, $., key(Name)].

key(Name) when is_binary(Name) -> string:slice(beamai_error:readable(Name), 0, ?MOST_SHOWN);
key(Name) -> io_lib:format("~0tp", [Name]).

show(Value) -> beamai_error:show(Value, ?MOST_SHOWN).
