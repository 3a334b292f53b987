%% @doc Validates tool specs, so that mistakes are reported when a tool is added, not when a model first calls it.
%% @hidden
-module(beamai_spec).

-export([validate/1, valid/1, problems/1, tags/1, is_place/1]).

-define(KEYS, [name, handler, description, parameters, input_schema, tag, timeout, retry, filters, metadata, node]).
-define(PARAM_KEYS, [
    type, description, required, default, enum, items, properties, minimum, maximum, minItems, maxItems, position, self_evident
]).
%% The maximum timeout of a receive, in milliseconds: 49 days.
-define(LONGEST_MS, 16#FFFFFFFF).
-define(TYPES, [string, integer, float, boolean, array, object]).

%% @doc Validates a spec; the problems are sentences.
-spec validate(term()) -> ok | {error, {invalid_tool, Name :: term(), Problems :: [binary()]}}.
validate(Spec) ->
    case problems(Spec) of
        [] -> ok;
        Problems -> {error, {invalid_tool, name(Spec), Problems}}
    end.

name(#{name := Name}) -> Name;
name(_Spec) -> undefined.

%% @doc Returns a valid spec. Raises `{invalid_tool, Name, Problems}'.
-spec valid(term()) -> beamai_tool:tool_spec().
valid(Spec) ->
    case validate(Spec) of
        ok -> Spec;
        {error, Reason} -> error(Reason)
    end.

%% @doc The tags of a spec, as a list.
-spec tags(beamai_tool:tool_spec()) -> [binary()].
tags(#{tag := Tag}) when is_binary(Tag) -> [Tag];
tags(#{tag := Tags}) -> Tags;
tags(_Spec) -> [].

%% @doc Whether a term is a node, or a fun that chooses one.
-spec is_place(term()) -> boolean().
is_place(Where) -> is_atom(Where) orelse is_function(Where, 1).

%% @doc The problems of a spec, one sentence each; empty if it is valid.
-spec problems(term()) -> [binary()].
problems(Spec) when is_map(Spec) ->
    Texts =
        [["is missing ", atom_to_binary(Key)] || Key <- [name, handler], not is_map_key(Key, Spec)] ++
            [Text || {Key, Value} <- lists:sort(maps:to_list(Spec)), Text <- key(Key, Value)] ++
            ["has both parameters and input_schema" || is_map_key(parameters, Spec), is_map_key(input_schema, Spec)],
    [unicode:characters_to_binary(Text) || Text <- Texts];
problems(Other) ->
    [unicode:characters_to_binary(["must be a map, not ", beamai_validate:show(Other)])].

key(name, Name) when is_binary(Name), Name =/= <<>> ->
    [["name must be UTF-8"] || not is_list(unicode:characters_to_list(Name))];
key(name, Name) ->
    wrong(name, ["a non-empty ", beamai_syntax:text()], Name);
key(handler, Handler) ->
    handler(Handler);
key(description, Text) ->
    [T || not is_text(Text), T <- wrong(description, ["a ", beamai_syntax:text(), " of UTF-8"], Text)];
key(parameters, Parameters) ->
    parameters(Parameters, <<"parameters">>);
key(input_schema, Schema) ->
    [T || not is_schema(Schema), T <- wrong(input_schema, beamai_syntax:either("a JSON Schema, a map with binary keys", "a JSON Schema, a map with strings as keys"), Schema)];
key(tag, Tag) ->
    [T || not is_tag(Tag), T <- wrong(tag, ["a ", beamai_syntax:text(), " or a list of these"], Tag)];
key(timeout, Timeout) ->
    Good = Timeout =:= infinity orelse is_duration(Timeout) andalso Timeout > 0,
    [T || not Good, T <- wrong(timeout, ["1 to 4294967295 milliseconds, or ", beamai_syntax:atom(infinity)], Timeout)];
key(retry, Retry) ->
    retry(Retry);
key(filters, Filters) ->
    Good = is_list_of(fun is_name/1, Filters),
    [T || not Good, T <- wrong(filters, "a list of filter names", Filters)];
key(metadata, Metadata) ->
    metadata(Metadata);
key(node, Where) ->
    [T || not is_place(Where), T <- wrong(node, "the name of a node, or a function of a call that gives one", Where)];
key(Unknown, _Value) ->
    [["has the unknown key ", show(Unknown), beamai_validate:unknown_key(Unknown, ?KEYS)]].

is_schema(Schema) ->
    is_map(Schema) andalso lists:all(fun is_binary/1, maps:keys(Schema)).

handler(Handler) when is_function(Handler, 1); is_function(Handler, 2) -> [];
handler({M, F}) when is_atom(M), is_atom(F) -> [];
handler({M, F, Extra}) when is_atom(M), is_atom(F), length(Extra) >= 0 -> [];
handler(Other) -> wrong(handler, beamai_syntax:either("a fun of one or two arguments, {M, F} or {M, F, Extra}", "a function of one or two arguments, {module, function} or {module, function, extra}"), Other).

is_tag(Tag) when is_binary(Tag) -> true;
is_tag(Tags) -> is_list_of(fun is_binary/1, Tags).

%% Improper lists are not accepted.
is_list_of(Is, [First | Rest]) -> Is(First) andalso is_list_of(Is, Rest);
is_list_of(_Is, End) -> End =:= [].

is_text(Text) ->
    is_binary(Text) andalso is_list(unicode:characters_to_list(Text)).

is_name(Name) ->
    is_binary(Name) orelse is_atom(Name).

is_duration(Ms) ->
    is_integer(Ms) andalso Ms >= 0 andalso Ms =< ?LONGEST_MS.

retry(#{} = Retry) ->
    Max = maps:get(max, Retry, 1),
    Delay = maps:get(delay, Retry, 0),
    Good =
        is_integer(Max) andalso Max >= 0 andalso is_duration(Delay) andalso
            maps:without([max, delay], Retry) =:= #{},
    [T || not Good, T <- bad_retry(Retry)];
retry(Retry) ->
    bad_retry(Retry).

bad_retry(Retry) ->
    wrong(retry, beamai_syntax:either("#{max => Tries, delay => Milliseconds}", "%{max: tries, delay: milliseconds}"), Retry).

metadata(Metadata) when is_map(Metadata) ->
    Requires = maps:get(requires_permission, Metadata, false),
    [
        T
     || not is_boolean(Requires),
        T <- wrong("metadata's requires_permission", "true or false", Requires)
    ];
metadata(Metadata) ->
    wrong(metadata, "a map", Metadata).

parameters(Parameters, Path) when is_map(Parameters) ->
    Twice = [
        [Path, " has ", show(Name), " twice, as an atom and as a ", beamai_syntax:text()]
     || Name <- maps:keys(Parameters), is_atom(Name), is_map_key(atom_to_binary(Name), Parameters)
    ],
    Each = [
        Text
     || {Name, Param} <- lists:sort(maps:to_list(Parameters)), Text <- parameter(Name, Param, Path)
    ],
    Twice ++ Each;
parameters(Other, Path) ->
    wrong(Path, "a map of names to parameters", Other).

parameter(Name, Param, Path) when is_binary(Name); is_atom(Name) ->
    Shown = beamai_error:show(to_binary(Name), 80),
    [[Path, " ", Shown, " must be UTF-8"] || not is_text(to_binary(Name))] ++
        param(Param, [Path, " ", Shown]);
parameter(Name, _Param, Path) ->
    [[Path, " has the name ", show(Name), "; a name is a ", beamai_syntax:text(), " or an atom"]].

to_binary(Name) when is_atom(Name) -> atom_to_binary(Name);
to_binary(Name) -> Name.

param(#{type := Type} = Param, Path) ->
    case [Text || {Key, Value} <- lists:sort(maps:to_list(Param)), Text <- param_key(Key, Value, Path)] of
        [] ->
            bounds(Param, Path) ++ enum(Param, Path) ++
                [
                    Text
                 || {ok, Default} <- [maps:find(default, Param)],
                    Text <- default(is_default(Type, Default), Param, Default, Path)
                ];
        Problems ->
            Problems
    end;
param(#{}, Path) ->
    [[Path, " is missing type"]];
param(Other, Path) ->
    wrong(Path, "a map with type", Other).

%% Contradictory bounds would reject every value.
bounds(Param, Path) ->
    [
        [Path, " ", atom_to_binary(Least), " is over its ", atom_to_binary(Most)]
     || {Least, Most} <- [{minimum, maximum}, {minItems, maxItems}],
        is_map_key(Least, Param),
        is_map_key(Most, Param),
        map_get(Least, Param) > map_get(Most, Param)
    ].

%% Enumerated values must have the parameter's type, since a model can send nothing else.
enum(#{type := Type, enum := Values}, Path) ->
    [
        Text
     || Value <- Values,
        not is_default(Type, Value),
        Text <- wrong([Path, " enum"], ["of values of its type, ", beamai_syntax:atom(Type)], Value)
    ];
enum(#{}, _Path) ->
    [].

%% A default is used for a missing argument without any further check.
default(false, #{type := Type}, Default, Path) ->
    wrong([Path, " default"], ["of its type, ", show(Type)], Default);
default(true, _Param, Nothing, _Path) when Nothing =:= null; Nothing =:= undefined ->
    [];
default(true, Param, Atom, Path) when is_atom(Atom), not is_boolean(Atom) ->
    default(true, Param, atom_to_binary(Atom), Path);
default(true, Param, Default, Path) ->
    [[Path, ": ", Fault] || Fault <- beamai_args:faults(Param, Default)].

%% An atom is accepted as text, and `null' or `undefined' for no value.
is_default(_Type, Value) when is_atom(Value), not is_boolean(Value) -> true;
is_default(string, Value) -> is_binary(Value);
is_default(integer, Value) -> is_integer(Value);
is_default(float, Value) -> is_number(Value);
is_default(boolean, Value) -> is_boolean(Value);
is_default(array, Value) -> is_list_of(fun(_) -> true end, Value);
is_default(object, Value) -> is_map(Value);
is_default(_Unknown, _Value) -> true.

param_key(type, Type, Path) ->
    [T || not lists:member(Type, ?TYPES), T <- wrong([Path, " type"], beamai_syntax:listed(?TYPES), Type)];
param_key(description, Text, Path) ->
    [T || not is_text(Text), T <- wrong([Path, " description"], ["a ", beamai_syntax:text(), " of UTF-8"], Text)];
param_key(required, Required, Path) ->
    [T || not is_boolean(Required), T <- wrong([Path, " required"], "true or false", Required)];
param_key(default, _Value, _Path) ->
    [];
param_key(enum, Values, Path) ->
    Good = Values =/= [] andalso is_list_of(fun(_) -> true end, Values),
    [T || not Good, T <- wrong([Path, " enum"], "a list of values", Values)];
param_key(items, Items, Path) ->
    param(Items, [Path, " items"]);
param_key(properties, Properties, Path) ->
    parameters(Properties, [Path, " properties"]);
param_key(Key, Number, Path) when Key =:= minimum; Key =:= maximum ->
    [T || not is_number(Number), T <- wrong([Path, " ", atom_to_binary(Key)], "a number", Number)];
param_key(Key, Count, Path) when Key =:= minItems; Key =:= maxItems ->
    Good = is_integer(Count) andalso Count >= 0,
    [T || not Good, T <- wrong([Path, " ", atom_to_binary(Key)], "a count", Count)];
param_key(position, Place, Path) ->
    Good = is_integer(Place) andalso Place > 0,
    [T || not Good, T <- wrong([Path, " position"], "a place, counted from 1", Place)];
param_key(self_evident, Is, Path) ->
    [T || not is_boolean(Is), T <- wrong([Path, " self_evident"], "true or false", Is)];
param_key(Unknown, _Value, Path) ->
    [[Path, " has the unknown key ", show(Unknown), beamai_validate:unknown_key(Unknown, ?PARAM_KEYS)]].

wrong(Key, Wanted, Got) when is_atom(Key) ->
    wrong(atom_to_binary(Key), Wanted, Got);
wrong(What, Wanted, Got) ->
    [[What, " must be ", Wanted, ", not ", show(Got)]].

show(Term) ->
    beamai_error:show(Term, 80).
