%% @doc Checks the arguments of tools whose handler is Erlang, against their `parameters'.
%%
%% Built-in tools have theirs checked on the native side, by the same rules. A call with good
%% arguments costs one pass over them; only one that needs a change or has a fault is looked at
%% again, thoroughly, so that one message can name every fault.
-module(beamai_args).

-export([compile/1, check/3]).
-export_type([params/0, field/0]).

-type value_type() :: string | integer | float | boolean | array | object.

-record(field, {
    type :: value_type(),
    required = false :: boolean(),
    default = none :: none | {value, term()},
    enum = any :: any | [term()],
    range = any :: any | {Min :: number() | none, Max :: number() | none},
    items = any :: any | #field{},
    properties = any :: any | #{binary() => #field{}}
}).

-type field() :: #field{}.
%% `any' for a tool without `parameters', which takes whatever it is given.
-type params() ::
    any
    | {#{binary() => #field{}}, Required :: [binary()], Defaults :: [{binary(), term()}]}.
-type problem() :: {Argument :: iodata(), Text :: iodata()}.

%%% Compiling

%% @doc Prepares `parameters' (which {@link beamai_tool:validate/1} has passed) for checking.
-spec compile(undefined | beamai_tool:parameters_schema()) -> params().
compile(undefined) ->
    any;
compile(Parameters) ->
    Fields = fields(Parameters),
    {Fields, required(Fields), defaults(Fields)}.

fields(Parameters) ->
    maps:from_list([{name(Key), field(Spec)} || {Key, Spec} <- maps:to_list(Parameters)]).

field(#{type := Type} = Spec) ->
    #field{
        type = Type,
        required = maps:get(required, Spec, false),
        default = default(Spec),
        enum = maps:get(enum, Spec, any),
        range = range(maps:get(minimum, Spec, none), maps:get(maximum, Spec, none)),
        items = items(maps:get(items, Spec, any)),
        properties = properties(maps:get(properties, Spec, any))
    }.

default(#{default := Value}) -> {value, Value};
default(#{}) -> none.

range(none, none) -> any;
range(Min, Max) -> {Min, Max}.

items(any) -> any;
items(Spec) -> field(Spec).

properties(any) -> any;
properties(Parameters) -> fields(Parameters).

name(Key) when is_atom(Key) -> atom_to_binary(Key);
name(Key) -> Key.

required(Fields) ->
    lists:sort([Name || {Name, #field{required = true, default = none}} <- maps:to_list(Fields)]).

defaults(Fields) ->
    [{Name, Value} || {Name, #field{default = {value, Value}}} <- maps:to_list(Fields)].

%%% Checking

%% @doc Returns the arguments as the handler gets them: binary keys where a parameter is declared,
%% defaults filled in, `null' for an optional parameter left out. Otherwise an `invalid_input'
%% error for `Tool' that names every fault and what is accepted.
-spec check(params(), Args :: term(), Tool :: binary()) ->
    {ok, map()} | {error, beamai_error:t()}.
check(any, Args, _Tool) when is_map(Args) ->
    {ok, Args};
check({Fields, Required, Defaults} = Params, Args, Tool) when is_map(Args) ->
    case good(maps:to_list(Args), Fields) andalso all_keys(Required, Args) of
        true -> {ok, with_defaults(Defaults, Args)};
        false -> thorough(Params, Args, Tool)
    end;
check(_Params, Args, Tool) ->
    {error, refusal(Tool, [{<<>>, ["the arguments must be a map, not ", show(Args)]}], <<>>)}.

good([], _Fields) ->
    true;
good([{Name, Value} | Rest], Fields) ->
    case Fields of
        #{Name := Field} -> plain(Field, Value) andalso good(Rest, Fields);
        #{} -> false
    end.

%% Good as it is. `false' says only that it takes a closer look.
plain(#field{type = string, enum = any}, Value) -> is_binary(Value);
plain(#field{type = integer, enum = any, range = any}, Value) -> is_integer(Value);
plain(#field{type = boolean, enum = any}, Value) -> is_boolean(Value);
plain(#field{type = object, enum = any, properties = any}, Value) -> is_map(Value);
plain(#field{type = array, enum = any, items = any}, Value) -> is_list(Value);
plain(#field{type = array}, _Value) -> false;
plain(#field{type = object}, _Value) -> false;
plain(Field, Value) -> fits(Field, Value) =:= ok.

all_keys([], _Args) -> true;
all_keys([Name | Rest], Args) -> is_map_key(Name, Args) andalso all_keys(Rest, Args).

with_defaults([], Args) ->
    Args;
with_defaults([{Name, _} | Rest], Args) when is_map_key(Name, Args) ->
    with_defaults(Rest, Args);
with_defaults([{Name, Value} | Rest], Args) ->
    with_defaults(Rest, Args#{Name => Value}).

thorough({Fields, _, _}, Args, Tool) ->
    case object(Fields, Args, <<>>) of
        {Checked, []} -> {ok, Checked};
        {_, Problems} -> {error, refusal(Tool, Problems, accepted(Fields))}
    end.

%% Arguments of an object with declared properties, at the top or nested under `Path'.
object(Fields, Args, Path) ->
    {Named, Twice} = by_name(Fields, Args, Path),
    {Checked, Problems} = maps:fold(
        fun(Name, Value, Acc) -> member(Fields, Name, Value, Path, Acc) end,
        {#{}, Twice},
        Named
    ),
    Missing = [
        {at(Path, Name), "is missing"}
     || Name <- required(Fields), not is_map_key(Name, Named) orelse is_null(Name, Named)
    ],
    {with_defaults(defaults(Fields), Checked), lists:sort(Problems) ++ Missing}.

is_null(Name, Args) -> map_get(Name, Args) =:= null.

%% Atom keys that name a parameter become binaries.
by_name(Fields, Args, Path) ->
    maps:fold(
        fun(Key, Value, {Named, Problems}) ->
            Name = known_name(Key, Fields),
            case is_map_key(Name, Named) of
                true -> {Named, [{at(Path, Name), "is given twice"} | Problems]};
                false -> {Named#{Name => Value}, Problems}
            end
        end,
        {#{}, []},
        Args
    ).

known_name(Key, Fields) when is_atom(Key) ->
    Name = atom_to_binary(Key),
    case is_map_key(Name, Fields) of
        true -> Name;
        false -> Key
    end;
known_name(Key, _Fields) ->
    Key.

member(Fields, Name, Value, Path, {Checked, Problems}) ->
    case Fields of
        #{Name := _} when Value =:= null ->
            {Checked, Problems};
        #{Name := Field} ->
            {Good, More} = value(Field, Value, at(Path, Name)),
            {Checked#{Name => Good}, More ++ Problems};
        #{} ->
            {Checked, [{at(Path, Name), "is not a parameter"} | Problems]}
    end.

value(#field{type = object, properties = Fields}, Value, Path) when is_map(Value), Fields =/= any ->
    object(Fields, Value, Path);
value(#field{type = array, items = #field{} = Item} = Field, Value, Path) when is_list(Value) ->
    case proper(Value) of
        true -> elements(Item, Value, Path);
        false -> {Value, fault(fits(Field, Value), Path)}
    end;
value(Field, Value, Path) ->
    {Value, fault(fits(Field, Value), Path)}.

elements(Item, Values, Path) ->
    Numbered = lists:zip(lists:seq(0, length(Values) - 1), Values),
    Pairs = [value(Item, V, [Path, $[, integer_to_binary(N), $]]) || {N, V} <- Numbered],
    {Good, Problems} = lists:unzip(Pairs),
    {Good, lists:append(Problems)}.

proper(List) ->
    is_integer(catch length(List)).

fault(ok, _Path) -> [];
fault({wrong, Text}, Path) -> [{Path, Text}].

%% Whether a value is of the field's type, within its bounds and among its enumerated values.
-spec fits(field(), term()) -> ok | {wrong, iodata()}.
fits(#field{type = Type, enum = Enum, range = Range}, Value) ->
    case of_type(Type, Value) of
        false -> {wrong, ["must be ", a_type(Type), ", not ", show(Value)]};
        true when Enum =/= any -> among(Enum, Value);
        true when Range =/= any -> within(Range, Value);
        true -> ok
    end.

of_type(string, Value) -> is_binary(Value);
of_type(integer, Value) -> is_integer(Value);
of_type(float, Value) -> is_number(Value);
of_type(boolean, Value) -> is_boolean(Value);
of_type(array, Value) -> is_list(Value) andalso proper(Value);
of_type(object, Value) -> is_map(Value).

among(Enum, Value) ->
    case lists:any(fun(Choice) -> same(Choice, Value) end, Enum) of
        true -> ok;
        false -> {wrong, ["must be one of ", choices(Enum, ", "), ", not ", show(Value)]}
    end.

%% A tool may enumerate atoms; an LLM sends text.
same(Choice, Value) when is_atom(Choice), is_binary(Value) -> atom_to_binary(Choice) =:= Value;
same(Choice, Value) -> Choice == Value.

within({Min, _}, Value) when is_number(Value), Min =/= none, Value < Min ->
    {wrong, ["must be at least ", show(Min), ", not ", show(Value)]};
within({_, Max}, Value) when is_number(Value), Max =/= none, Value > Max ->
    {wrong, ["must be at most ", show(Max), ", not ", show(Value)]};
within(_Range, _Value) ->
    ok.

%%% Saying it

-spec refusal(binary(), [problem()], iodata()) -> beamai_error:t().
refusal(Tool, Problems, Accepted) ->
    Faults = lists:join("; ", [said(Problem) || Problem <- Problems]),
    Message = ["invalid arguments for ", Tool, ": ", Faults, Accepted],
    Names = [iolist_to_binary(Name) || {Name, _} <- Problems, iolist_size(Name) > 0],
    beamai_error:new(Tool, invalid_input, invalid_argument, Message, #{
        arguments => lists:usort(Names)
    }).

said({Name, Text}) ->
    case iolist_size(Name) of
        0 -> Text;
        _ -> [$", Name, $", $\s, Text]
    end.

accepted(Fields) when map_size(Fields) =:= 0 ->
    ". It takes no arguments";
accepted(Fields) ->
    Each = [described(Name, Field) || {Name, Field} <- lists:sort(maps:to_list(Fields))],
    [". It accepts: ", lists:join(", ", Each)].

described(Name, #field{type = Type, required = Required, default = Default, enum = Enum}) ->
    [Name, " (", atom_to_binary(Type), needed(Required, Default), listed(Enum), ")"].

needed(_Required, {value, Value}) -> [", default ", show(Value)];
needed(true, none) -> ", required";
needed(false, none) -> "".

listed(any) -> "";
listed(Enum) -> [": ", choices(Enum, " | ")].

choices(Enum, Between) ->
    lists:join(Between, [show(Choice) || Choice <- Enum]).

a_type(integer) -> "an integer";
a_type(float) -> "a number";
a_type(array) -> "an array";
a_type(object) -> "an object";
a_type(Type) -> ["a ", atom_to_binary(Type)].

at(<<>>, Key) -> key(Key);
at(Path, Key) -> [Path, $., key(Key)].

key(Key) when is_binary(Key) -> Key;
key(Key) when is_atom(Key) -> atom_to_binary(Key);
key(Key) -> io_lib:format("~0tp", [Key]).

%% Short: an argument may be a whole file.
show(Value) ->
    beamai_error:show(Value, 80).
