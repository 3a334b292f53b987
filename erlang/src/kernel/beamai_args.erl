%% @doc Checks the arguments of tools with Erlang handlers against their `parameters'.
%%
%% The native side checks the arguments of built-in tools by the same rules. Correct arguments are checked in one pass;
%% arguments that need a conversion or have an error are checked again in detail, so that one message lists all errors.
%% @hidden
-module(beamai_args).

-export([compile/1, check/3, faults/2]).
-export_type([params/0, field/0]).

-type value_type() :: string | integer | float | boolean | array | object.

%% Maximum number of problems in an error; further ones are counted.
-define(MOST_PROBLEMS, 50).
%% Maximum number of characters of a name or value in a message.
-define(MOST_SHOWN, 80).

-record(field, {
    type :: value_type(),
    required = false :: boolean(),
    default = none :: none | {value, term()},
    enum = any :: any | [term()],
    range = any :: any | {Min :: number() | none, Max :: number() | none},
    count = any :: any | {Fewest :: non_neg_integer(), Most :: non_neg_integer() | none},
    items = any :: any | #field{},
    properties = any :: any | #{binary() => #field{}}
}).

-type field() :: #field{}.
%% `any' for a tool without `parameters', which accepts all arguments.
-type params() ::
    any
    | {schema, JsonSchema :: #{binary() => term()}}
    | {#{binary() => #field{}}, Required :: [binary()], Defaults :: [{binary(), term()}]}.

%%% Compiling

%% @doc Compiles `parameters', or an `input_schema' that {@link beamai_tool:validate/1} has accepted.
-spec compile(undefined | {schema, #{binary() => term()}} | beamai_tool:parameters_schema()) -> params().
compile(undefined) ->
    any;
compile({schema, Schema}) ->
    {schema, Schema};
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
properties(Parameters) -> fields(Parameters).

name(Key) when is_atom(Key) -> atom_to_binary(Key);
name(Key) -> Key.

required(Fields) ->
    lists:sort([Name || {Name, #field{required = true, default = none}} <- maps:to_list(Fields)]).

defaults(Fields) ->
    [{Name, Value} || {Name, #field{default = {value, Value}}} <- maps:to_list(Fields)].

%%% Checking

%% @doc The problems of a default value. The rest of the parameter must be well formed.
-spec faults(beamai_tool:param_spec(), Default :: term()) -> [binary()].
faults(Param, Default) ->
    {_, Problems} = value(field(Param), Default, <<"default">>),
    Problems.

%% @doc Returns the arguments for the handler: binary keys for declared parameters, defaults filled in, and `null' for
%% optional parameters dropped. Otherwise an `invalid_input' error for `Tool' that lists all problems and the accepted
%% arguments.
-spec check(params(), Args :: term(), Tool :: binary()) ->
    {ok, map()} | {error, beamai_error:t()}.
check(any, Args, _Tool) when is_map(Args) ->
    {ok, Args};
check({schema, Schema}, Args, Tool) when is_map(Args) ->
    by_schema(Schema, maps:from_list([{text_key(Key), V} || {Key, V} <- maps:to_list(Args)]), Tool);
check({Fields, Required, Defaults} = Params, Args, Tool) when is_map(Args) ->
    case good(maps:to_list(Args), Fields) andalso all_keys(Required, Args) of
        true -> {ok, with_defaults(Defaults, Args)};
        false -> thorough(Params, Args, Tool)
    end;
check(_Params, Args, Tool) ->
    Message = ["the arguments must be a map, not ", show(Args)],
    {error, beamai_error:new(Tool, invalid_input, invalid_argument, Message)}.

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

text_key(Key) when is_atom(Key) -> atom_to_binary(Key);
text_key(Key) -> Key.

good([], _Fields) ->
    true;
good([{Name, Value} | Rest], Fields) ->
    case Fields of
        #{Name := Field} -> plain(Field, Value) andalso good(Rest, Fields);
        #{} -> false
    end.

%% Fast check. `false' only means that a detailed check is needed, or that a text has to be converted to an atom.
plain(#field{enum = [_ | _] = Enum} = Field, Value) when is_binary(Value) -> chosen(Enum, Value) =:= Value andalso fits(Field, Value) =:= ok;
plain(#field{type = string, enum = any}, Value) -> is_binary(Value);
plain(#field{type = integer, enum = any, range = any}, Value) -> is_integer(Value);
plain(#field{type = boolean, enum = any}, Value) -> is_boolean(Value);
plain(#field{type = object, enum = any, properties = any}, Value) -> is_map(Value);
plain(#field{type = array, enum = any, items = any, count = any}, Value) -> is_list(Value);
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
        {_, Problems} -> {error, refusal(Tool, Problems, Fields)}
    end.

%% Checks the arguments of an object with declared properties, at the top level or nested at `Path'.
object(Fields, Args, Path) ->
    {Named, Twice} = by_name(Fields, Args, Path),
    Each = [
        member(Fields, Name, Value, at(Path, Name), Named)
     || {Name, Value} <- lists:sort(maps:to_list(Named))
    ],
    {Members, Problems} = lists:unzip(Each),
    Missing = [
        problem(at(Path, Name), ["is missing (", type_name(maps:get(Name, Fields)), ")"])
     || Name <- required(Fields), maps:get(Name, Named, null) =:= null
    ],
    Checked = with_defaults(defaults(Fields), maps:from_list(lists:append(Members))),
    {Checked, Twice ++ lists:append(Problems) ++ Missing}.

%% Converts atom keys that name a parameter to binaries.
by_name(Fields, Args, Path) ->
    maps:fold(
        fun(Key, Value, {Named, Problems}) ->
            Name = known_name(Key, Fields),
            case is_map_key(Name, Named) of
                true -> {Named, [problem(at(Path, Name), "is given twice") | Problems]};
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

%% `null', or Elixir's `nil', counts as absent.
member(Fields, Name, Value, Path, Named) ->
    case Fields of
        #{Name := _} when Value =:= null; Value =:= nil ->
            {[], []};
        #{Name := Field} ->
            {Good, Problems} = value(Field, Value, Path),
            {[{Name, Good}], Problems};
        #{} ->
            {[], [problem(Path, ["is not an argument", meant(Name, Fields, Named)])]}
    end.

meant(Name, Fields, Named) when is_binary(Name) ->
    case near(Name, Fields, Named) of
        [Near | _] -> [" (did you mean \"", Near, "\"?)"];
        [] -> ""
    end;
meant(_Name, _Fields, _Named) ->
    "".

%% The parameters that an unknown argument may be meant for: those with a similar name, first those that are required and
%% lacking, or those whose name begins like that.
near(Name, Fields, Named) ->
    Lacking = [Required || Required <- required(Fields), not is_map_key(Required, Named)],
    case beamai_nearest:names(Name, maps:keys(Fields)) of
        [] -> lists:sort([Full || Full <- maps:keys(Fields), not is_map_key(Full, Named), begins(Full, Name)]);
        Near -> [One || One <- Near, lists:member(One, Lacking)] ++ Near
    end.

begins(Full, Name) ->
    Size = byte_size(Name),
    case Full of
        <<Name:Size/binary, "_", _/binary>> -> true;
        _ -> false
    end.

value(#field{type = Type} = Field, Value, Path) when is_binary(Value), Type =:= object orelse Type =:= array ->
    case in_text(Type, Value) of
        {ok, Meant} -> value(Field, Meant, Path);
        error -> {Value, fault(fits(Field, Value), Path)}
    end;
value(#field{type = object, properties = #{} = Fields}, Value, Path) when is_map(Value) ->
    object(Fields, Value, Path);
value(#field{type = array, items = #field{} = Item} = Field, Value, Path) when is_list(Value) ->
    case fits(Field, Value) of
        ok -> elements(Item, Value, Path);
        {wrong, Text} -> {Value, [problem(Path, Text)]}
    end;
value(#field{type = integer} = Field, Value, Path) when is_float(Value) ->
    Whole = whole(Value),
    {Whole, fault(fits(Field, Whole), Path)};
value(#field{enum = [_ | _] = Enum} = Field, Value, Path) ->
    {chosen(Enum, Value), fault(fits(Field, Value), Path)};
value(Field, Value, Path) ->
    {Value, fault(fits(Field, Value), Path)}.

%% The object or array that a text contains as JSON: schemas for Gemini describe those of any shape as texts.
in_text(Type, Text) ->
    case beamai_json:decode(Text) of
        {ok, Value} when Type =:= object, is_map(Value) -> {ok, Value};
        {ok, Value} when Type =:= array, is_list(Value) -> {ok, Value};
        _ -> error
    end.

%% The enumerated value that was given. Text that names an enumerated atom becomes that atom; no new atoms are created.
chosen(Enum, Value) ->
    case lists:member(Value, Enum) of
        true -> Value;
        false -> hd([Choice || Choice <- Enum, is_atom(Choice), same(Choice, Value)] ++ [Value])
    end.

%% Converts an integral float to an integer: some JSON encoders write only floats.
whole(Value) when Value == trunc(Value), abs(Value) < 9.0e15 -> trunc(Value);
whole(Value) -> Value.

elements(Item, Values, Path) ->
    Numbered = lists:zip(lists:seq(0, length(Values) - 1), Values),
    Pairs = [value(Item, V, [Path, $[, integer_to_binary(N), $]]) || {N, V} <- Numbered],
    {Good, Problems} = lists:unzip(Pairs),
    {Good, lists:append(Problems)}.

fault(ok, _Path) -> [];
fault({wrong, Text}, Path) -> [problem(Path, Text)].

%% Whether a value has the field's type, is within its bounds and one of its enumerated values.
-spec fits(field(), term()) -> ok | {wrong, iodata()}.
fits(#field{type = Type, enum = Enum} = Field, Value) ->
    case of_type(Type, Value) of
        false -> {wrong, ["must be ", type_name(Field), ", not ", show(Value)]};
        true when Enum =/= any -> among(Enum, Value);
        true -> within(Field, Value)
    end.

of_type(string, Value) -> is_binary(Value);
of_type(integer, Value) -> is_integer(Value);
of_type(float, Value) -> is_number(Value);
of_type(boolean, Value) -> is_boolean(Value);
of_type(array, Value) -> is_list(Value) andalso is_integer(catch length(Value));
of_type(object, Value) -> is_map(Value).

among(Enum, Value) ->
    case lists:any(fun(Choice) -> same(Choice, Value) end, Enum) of
        true -> ok;
        false -> {wrong, ["must be one of ", choices(Enum), ", not ", show(Value)]}
    end.

%% A tool may enumerate atoms, for which a model sends text.
same(Choice, Value) when is_atom(Choice), is_binary(Value) -> atom_to_binary(Choice) =:= Value;
same(Choice, Value) -> Choice == Value.

within(#field{range = {Min, _}}, Value) when is_number(Value), Min =/= none, Value < Min ->
    {wrong, ["must be at least ", show(Min), ", not ", show(Value)]};
within(#field{range = {_, Max}}, Value) when is_number(Value), Max =/= none, Value > Max ->
    {wrong, ["must be at most ", show(Max), ", not ", show(Value)]};
within(#field{count = {Fewest, Most}}, Value) when is_list(Value) ->
    %% In Erlang's term order, numbers are less than atoms.
    case length(Value) of
        Count when Count >= Fewest, Count =< Most ->
            ok;
        Count ->
            Range = [show(Fewest), " to ", most(Most), " elements, not ", show(Count)],
            {wrong, ["must have ", Range]}
    end;
within(_Field, _Value) ->
    ok.

most(none) -> "any number of";
most(Most) -> show(Most).

%%% Messages, worded as on the native side

-spec refusal(binary(), [binary()], #{binary() => field()}) -> beamai_error:t().
refusal(Tool, All, Fields) ->
    Problems = counted(All),
    Message = [lists:join("; ", Problems) | also_accepted(Problems, Fields)],
    beamai_error:new(Tool, invalid_input, invalid_argument, Message, #{problems => Problems}).

%% The problem of a value that is not in its enumeration says itself what is accepted.
also_accepted(Problems, Fields) ->
    case lists:all(fun is_of_enumeration/1, Problems) of
        true -> "";
        false -> [". Accepted: ", accepted(Fields), nested("", Fields, [place(P) || P <- Problems])]
    end.

is_of_enumeration(Problem) ->
    case binary:split(Problem, <<$">>, [global]) of
        [_, _Path, <<" must be one of ", _/binary>> | _] -> true;
        _ -> false
    end.

%% The first problems, and the number of the others.
counted(Problems) when length(Problems) > ?MOST_PROBLEMS ->
    More = integer_to_binary(length(Problems) - ?MOST_PROBLEMS),
    lists:sublist(Problems, ?MOST_PROBLEMS) ++ [<<"and ", More/binary, " more">>];
counted(Problems) ->
    Problems.

problem(Path, Text) ->
    unicode:characters_to_binary([$", Path, "\" ", Text]).

accepted(Fields) when map_size(Fields) =:= 0 ->
    "no arguments";
accepted(Fields) ->
    {Required, Optional} =
        lists:partition(fun({_, F}) -> F#field.required end, lists:sort(maps:to_list(Fields))),
    lists:join(", ", [described(Name, Field) || {Name, Field} <- Required ++ Optional]).

%% Lists what the objects with problems accept. `Wrong' are the problems' paths without indices.
nested(Prefix, Fields, Wrong) ->
    [within([Prefix, Name], Field, Wrong) || {Name, Field} <- lists:sort(maps:to_list(Fields))].

within(Path, #field{items = #field{properties = #{} = Fields}}, Wrong) -> within(Path, "each of ", Fields, Wrong);
within(Path, #field{properties = #{} = Fields}, Wrong) -> within(Path, "", Fields, Wrong);
within(_Path, _Field, _Wrong) -> "".

within(Path, Each, Fields, Wrong) ->
    case lists:any(fun(Place) -> is_in(iolist_to_binary(Path), Place) end, Wrong) of
        true -> ["; ", Each, Path, ": ", accepted(Fields), nested([Path, $.], Fields, Wrong)];
        false -> ""
    end.

is_in(Path, Place) ->
    case string:prefix(Place, Path) of
        nomatch -> false;
        <<>> -> true;
        <<$., _/binary>> -> true;
        _ -> false
    end.

%% The path that a problem begins with, without indices.
place(Problem) ->
    Path = case binary:split(Problem, <<$">>, [global]) of
        [_, Quoted | _] -> Quoted;
        _ -> <<>>
    end,
    re:replace(Path, <<"\\[[0-9]+\\]">>, <<>>, [global, {return, binary}]).

described(Name, #field{required = Required, enum = Enum} = Field) ->
    [Name, " (", type_name(Field), needed(Required), listed(Enum), ")"].

needed(true) -> ", required";
needed(false) -> "".

listed(any) -> "";
listed(Enum) -> [": ", choices(Enum)].

choices(Enum) ->
    lists:join(", ", [show_choice(Choice) || Choice <- Enum]).

show_choice(Choice) when is_atom(Choice), not is_boolean(Choice), Choice =/= null ->
    show(atom_to_binary(Choice));
show_choice(Choice) ->
    show(Choice).

type_name(#field{type = array, items = #field{} = Items}) -> ["array of ", type_name(Items)];
type_name(#field{type = float}) -> "number";
type_name(#field{type = Type}) -> atom_to_binary(Type).

at(<<>>, Key) -> key(Key);
at(Path, Key) -> [Path, $., key(Key)].

key(Key) when is_binary(Key) -> shortened(beamai_error:readable(Key));
key(Key) when is_atom(Key) -> atom_to_binary(Key);
key(Key) -> io_lib:format("~0tp", [Key]).

shortened(Name) when byte_size(Name) =< ?MOST_SHOWN -> Name;
shortened(Name) ->
    case string:slice(Name, 0, ?MOST_SHOWN) of
        Name -> Name;
        Start -> [Start, <<"…"/utf8>>]
    end.

%% Shortens values: an argument may be a whole file. What a model has sent is shown as it sent it.
show(Value) when is_map(Value); is_list(Value) ->
    case beamai_json:encode(Value) of
        {ok, Json} -> shortened(Json);
        {error, _} -> beamai_error:show(Value, ?MOST_SHOWN)
    end;
show(Value) ->
    beamai_error:show(Value, ?MOST_SHOWN).
