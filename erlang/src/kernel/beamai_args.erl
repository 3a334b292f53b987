%% @doc Checks the arguments of tools with Erlang handlers against their `parameters'.
%%
%% Correct arguments are recognised here, in one pass. Everything else, conversions and errors, goes through the native check
%% that built-in tools have, so that both have the same rules and messages. What only Erlang has stays here: atoms, and terms
%% that JSON cannot express.
%% @hidden
-module(beamai_args).

-export([compile/1, check/3, faults/2]).
%% Every call takes this way.
-compile({inline, [is_good/2, are_good/2, complete/2]}).
-export_type([params/0]).

-type value_type() :: string | integer | float | boolean | array | object.

%% Maximum number of problems in an error about a JSON Schema; further ones are counted.
-define(MOST_PROBLEMS, 50).
%% Maximum number of characters of a term in a message.
-define(MOST_SHOWN, 80).

-record(field, {
    type :: value_type(),
    required = false :: boolean(),
    default = none :: none | {value, term()},
    enum = any :: any | [term()],
    range = any :: any | {Min :: number() | none, Max :: number() | none},
    count = any :: any | {Fewest :: non_neg_integer(), Most :: non_neg_integer() | none},
    items = any :: any | #field{},
    properties = any :: any | object()
}).

-record(object, {
    fields :: #{binary() => #field{}},
    required :: [binary()],
    defaults :: [{binary(), term()}],
    %% Whether correct arguments have more to convert than missing ones: defaults of nested objects, enumerated atoms.
    deep :: boolean()
}).

-type object() :: #object{}.
%% `any' for a tool without `parameters', which accepts all arguments. `Native' are the parameters for the native check, in
%% external term format: outside of the heap, because kernels are copied.
-type params() ::
    any
    | {schema, JsonSchema :: #{binary() => term()}}
    | {object(), Native :: binary()}.

%%% Compiling

%% @doc Compiles `parameters', or an `input_schema' that {@link beamai_tool:validate/1} has accepted.
-spec compile(undefined | {schema, #{binary() => term()}} | beamai_tool:parameters_schema()) -> params().
compile(undefined) ->
    any;
compile({schema, Schema}) ->
    {schema, Schema};
compile(Parameters) ->
    {object(Parameters), term_to_binary(native(Parameters))}.

object(Parameters) ->
    Fields = maps:from_list([{name(Key), field(Spec)} || {Key, Spec} <- maps:to_list(Parameters)]),
    All = maps:to_list(Fields),
    #object{
        fields = Fields,
        required = [Name || {Name, #field{required = true, default = none}} <- All],
        defaults = [{Name, Value} || {Name, #field{default = {value, Value}}} <- All],
        deep = lists:any(fun is_deep/1, maps:values(Fields))
    }.

field(#{type := Type} = Spec) ->
    #field{
        type = Type,
        required = maps:get(required, Spec, false),
        default = default(Spec),
        enum = maps:get(enum, Spec, any),
        range = range(maps:get(minimum, Spec, none), maps:get(maximum, Spec, none)),
        count = count(maps:get(minItems, Spec, none), maps:get(maxItems, Spec, none)),
        items = items(maps:get(items, Spec, any)),
        properties = properties(maps:get(properties, Spec, any))
    }.

default(#{default := Value}) -> {value, Value};
default(#{}) -> none.

range(none, none) -> any;
range(Min, Max) -> {Min, Max}.

count(none, none) -> any;
count(none, Most) -> {0, Most};
count(Fewest, Most) -> {Fewest, Most}.

items(any) -> any;
items(Spec) -> field(Spec).

properties(any) -> any;
properties(Parameters) -> object(Parameters).

name(Key) when is_atom(Key) -> atom_to_binary(Key);
name(Key) -> Key.

is_deep(#field{properties = #object{defaults = Defaults, deep = Deep}}) -> Deep orelse Defaults =/= [];
is_deep(#field{items = #field{} = Items}) -> is_deep(Items);
is_deep(#field{enum = [_ | _] = Enum}) -> lists:any(fun is_atom/1, Enum);
is_deep(#field{}) -> false.

%% Defaults may be any terms and are filled in here; with them, nothing is required.
native(Parameters) ->
    maps:map(fun(_Name, Spec) -> native_field(Spec) end, Parameters).

native_field(#{default := _} = Spec) ->
    native_field(maps:without([default, required], Spec));
native_field(Spec) ->
    maps:map(
        fun
            (items, Items) -> native_field(Items);
            (properties, Properties) -> native(Properties);
            (_Key, Value) -> Value
        end,
        Spec
    ).

%%% Checking

%% @doc The problems of a default value. The rest of the parameter must be well formed.
-spec faults(beamai_tool:param_spec(), Default :: term()) -> [binary()].
faults(Param, Default) ->
    Params = compile(#{<<"default">> => maps:remove(default, Param)}),
    case check(Params, #{<<"default">> => Default}, <<>>) of
        {ok, _Checked} -> [];
        {error, #{details := Details, message := Message}} -> maps:get(problems, Details, [Message])
    end.

%% @doc Returns the arguments for the handler: binary keys for declared parameters, defaults filled in, and `null' for
%% optional parameters dropped. Otherwise an `invalid_input' error for `Tool' that lists all problems and the accepted
%% arguments.
-spec check(params(), Args :: term(), Tool :: binary()) ->
    {ok, map()} | {error, beamai_error:t()}.
check(any, Args, _Tool) when is_map(Args) ->
    {ok, Args};
check({schema, Schema}, Args, Tool) when is_map(Args) ->
    try named(Args, <<>>) of
        Named -> by_schema(Schema, maps:from_list(Named), Tool)
    catch
        throw:{problem, Problem} -> {error, beamai_error:new(Tool, invalid_input, invalid_argument, Problem)}
    end;
check({Object, Native}, Args, Tool) when is_map(Args) ->
    case is_good(Object, Args) of
        true -> {ok, complete(Object, Args)};
        false -> by_name(Object, Native, Args, Tool)
    end;
check(_Params, Args, Tool) ->
    Wanted = beamai_syntax:either("a map", "a map or a keyword list without duplicate keys"),
    Message = ["the arguments must be ", Wanted, ", not ", show(Args)],
    {error, beamai_error:new(Tool, invalid_input, invalid_argument, Message)}.

%% Callers in Erlang may write the names as atoms.
by_name(Object, Native, Args, Tool) ->
    Named = by_name(Args),
    case map_size(Named) =:= map_size(Args) andalso is_good(Object, Named) of
        true -> {ok, complete(Object, Named)};
        false -> natively(Object, Native, Args, Tool)
    end.

by_name(Args) ->
    maps:from_list([{name(Key), Value} || {Key, Value} <- maps:to_list(Args)]).

%% The model already knows the schema, so the message lists only the problems.
by_schema(Schema, Args, Tool) ->
    case beamai_json_schema:problems(Schema, Args) of
        [] ->
            {ok, Args};
        All ->
            Problems = counted(All),
            Message = lists:join("; ", Problems),
            {error, beamai_error:new(Tool, invalid_input, invalid_argument, Message, #{problems => Problems})}
    end.

%% The first problems, and the number of the others.
counted(Problems) when length(Problems) > ?MOST_PROBLEMS ->
    More = integer_to_binary(length(Problems) - ?MOST_PROBLEMS),
    lists:sublist(Problems, ?MOST_PROBLEMS) ++ [<<"and ", More/binary, " more">>];
counted(Problems) ->
    Problems.

%%% Correct arguments. `false' only means that the native check is needed.

is_good(#object{fields = Fields, required = Required}, Args) ->
    are_good(maps:to_list(Args), Fields) andalso all_keys(Required, Args).

are_good([], _Fields) ->
    true;
are_good([{Name, Value} | Rest], Fields) ->
    case Fields of
        #{Name := Field} -> fits(Field, Value) andalso are_good(Rest, Fields);
        #{} -> false
    end.

all_keys([], _Args) -> true;
all_keys([Name | Rest], Args) -> is_map_key(Name, Args) andalso all_keys(Rest, Args).

fits(#field{type = string, enum = any}, Value) -> is_binary(Value);
fits(#field{type = integer, enum = any, range = any}, Value) -> is_integer(Value);
fits(#field{type = Type, enum = [_ | _] = Enum}, Value) -> is_scalar(Type, Value) andalso is_among(Enum, Value);
fits(#field{type = object, properties = any}, Value) -> is_map(Value);
fits(#field{type = object, properties = Object}, Value) -> is_map(Value) andalso is_good(Object, Value);
fits(#field{type = array, items = Items, count = Count}, Values) when length(Values) >= 0 ->
    is_count(Count, Values) andalso (Items =:= any orelse all_fit(Items, Values));
fits(#field{type = Type, range = any}, Value) -> is_scalar(Type, Value);
fits(#field{type = Type, range = Range}, Value) -> is_scalar(Type, Value) andalso is_within(Range, Value).

all_fit(_Field, []) -> true;
all_fit(Field, [Value | Rest]) -> fits(Field, Value) andalso all_fit(Field, Rest).

is_scalar(string, Value) -> is_binary(Value);
is_scalar(integer, Value) -> is_integer(Value);
is_scalar(float, Value) -> is_number(Value);
is_scalar(boolean, Value) -> is_boolean(Value);
is_scalar(_Compound, _Value) -> false.

is_among(Enum, Value) -> lists:any(fun(Choice) -> is_same(Choice, Value) end, Enum).

%% A tool may enumerate atoms, for which a model sends text.
is_same(Choice, Value) when is_atom(Choice), is_binary(Value) -> atom_to_binary(Choice) =:= Value;
is_same(Choice, Value) -> Choice == Value.

%% In Erlang's term order, numbers are less than atoms.
is_count(any, _Values) -> true;
is_count({Fewest, Most}, Values) -> length(Values) >= Fewest andalso length(Values) =< Most.

is_within({none, Max}, Value) -> Value =< Max;
is_within({Min, Max}, Value) -> Value >= Min andalso Value =< Max.

complete(#object{deep = true} = Object, Args) -> taken_members(Object, Args, Args);
complete(#object{defaults = Defaults}, Args) -> with_defaults(Defaults, Args).

%%% The native check

natively(Object, Native, Args, Tool) ->
    Request =
        try
            #{args => members(Object, Args, <<>>)}
        catch
            throw:{problem, Problem} -> #{problems => [unicode:characters_to_binary(Problem)]}
        end,
    case binary_to_term(beamai_nif:check_arguments(Native, term_to_binary(Request)), [safe]) of
        {ok, Checked} -> {ok, taken_members(Object, Args, Checked)};
        {error, Error} -> {error, beamai_error:from_native(Tool, Error)}
    end.

%% The arguments as JSON. What has the right type and needs no further check is represented by an empty value of that type: it
%% may be long, or not be JSON. A term that no JSON value stands for is a problem at once.
members(#object{fields = Fields}, Args, Path) ->
    Named = named(Args, Path),
    maps:from_list([
        {Name, member(Fields, Name, Value, at(Path, Name))}
     || {Name, Value} <- Named, not (is_absent(Value) andalso is_map_key(Name, Fields))
    ]).

%% `null', or Elixir's `nil', counts as absent.
is_absent(Value) -> Value =:= null orelse Value =:= nil.

named(Args, Path) ->
    Named = [{key(Key), Value} || {Key, Value} <- maps:to_list(Args)],
    Names = [Name || {Name, _} <- Named],
    case Names -- lists:usort(Names) of
        [] -> Named;
        [Twice | _] -> problem(at(Path, Twice), "is given twice")
    end.

key(Key) when is_binary(Key) -> beamai_error:readable(Key);
key(Key) when is_atom(Key) -> atom_to_binary(Key);
key(Key) -> unicode:characters_to_binary(io_lib:format("~0tp", [Key])).

at(<<>>, Name) -> Name;
at(Path, Name) -> [Path, $., Name].

member(Fields, Name, Value, Path) ->
    case Fields of
        #{Name := Field} -> value(Field, Value, Path);
        #{} -> null
    end.

value(#field{type = string, enum = any}, Value, _Path) when is_binary(Value) -> <<>>;
value(#field{type = object, properties = any, enum = any}, Value, _Path) when is_map(Value) -> #{};
value(#field{properties = #object{} = Object}, Value, Path) when is_map(Value) -> members(Object, Value, Path);
value(#field{type = array, items = any, enum = any}, Value, _Path) when length(Value) >= 0 -> [null || _ <- Value];
value(#field{items = #field{} = Items}, Values, Path) when length(Values) >= 0 ->
    Numbered = lists:zip(lists:seq(0, length(Values) - 1), Values),
    [value(Items, Value, [Path, $[, integer_to_binary(N), $]]) || {N, Value} <- Numbered];
value(#field{type = Type}, Value, _Path) when is_integer(Value), Type =:= integer orelse Type =:= float ->
    %% The native side has integers of 64 bits.
    max(-(1 bsl 63), min(Value, 1 bsl 63 - 1));
value(_Field, Value, _Path) when is_float(Value); is_boolean(Value); Value =:= null; Value =:= nil -> Value;
value(Field, Value, Path) ->
    case not is_atom(Value) andalso beamai_json:encode(Value) of
        {ok, _Json} -> Value;
        _ -> problem(Path, ["must be ", type_name(Field), ", not ", show(Value)])
    end.

type_name(#field{type = float}) -> "number";
type_name(#field{type = Type}) -> atom_to_binary(Type).

-spec problem(Path :: iodata(), Text :: iodata()) -> no_return().
problem(Path, Text) ->
    throw({problem, [$", Path, "\" ", Text]}).

show(Value) ->
    beamai_error:show(Value, ?MOST_SHOWN).

%%% Arguments for the handler: those given, where they have not been converted

taken_members(#object{fields = Fields, defaults = Defaults}, Given, Checked) ->
    Named = maps:from_list([{key(Key), Value} || {Key, Value} <- maps:to_list(Given)]),
    Taken = maps:map(
        fun(Name, Value) -> taken(map_get(Name, Fields), maps:get(Name, Named, Value), Value) end,
        Checked
    ),
    with_defaults(Defaults, Taken).

%% An object or array can be given as JSON text.
taken(Field, Given, Checked) when is_binary(Given), not is_binary(Checked) -> taken(Field, Checked, Checked);
taken(#field{properties = #object{} = Object}, Given, Checked) -> taken_members(Object, Given, Checked);
taken(#field{items = #field{} = Items}, Given, Checked) -> lists:zipwith(fun(G, C) -> taken(Items, G, C) end, Given, Checked);
taken(#field{enum = [_ | _] = Enum}, _Given, Checked) -> chosen(Enum, Checked);
taken(#field{type = integer}, Given, Checked) when is_float(Given) -> Checked;
taken(#field{}, Given, _Checked) -> Given.

%% Text that names an enumerated atom becomes that atom; no new atoms are created.
chosen(Enum, Value) ->
    case lists:member(Value, Enum) of
        true -> Value;
        false -> hd([Choice || Choice <- Enum, is_atom(Choice), is_same(Choice, Value)] ++ [Value])
    end.

with_defaults([], Args) ->
    Args;
with_defaults([{Name, _} | Rest], Args) when is_map_key(Name, Args) ->
    with_defaults(Rest, Args);
with_defaults([{Name, Value} | Rest], Args) ->
    with_defaults(Rest, Args#{Name => Value}).
