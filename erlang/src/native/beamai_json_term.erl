%% @doc Converts results of custom tools to terms that JSON can represent.
%%
%% Lists of pairs with distinct atom keys become objects, integer keys and integers of more than 64 bits become text, and Elixir structs are encoded by
%% their protocols. A struct that does not declare which of its fields are public is refused, since any field may be
%% secret.
%% @hidden
-module(beamai_json_term).

-export([of_result/1]).

%% Integers that the encoder can represent. Most readers of JSON would lose digits of larger ones.
-define(LEAST, -16#8000000000000000).
-define(MOST, 16#FFFFFFFFFFFFFFFF).
%% Protocols for encoding structs, in order of preference.
-define(ENCODERS, ['Elixir.Beamai.Result', 'Elixir.Jason.Encoder', 'Elixir.JSON.Encoder']).
-define(CALENDAR, ['Elixir.DateTime', 'Elixir.NaiveDateTime', 'Elixir.Date', 'Elixir.Time']).

%% @doc The converted term, or an error about a struct. Terms that JSON cannot represent for other reasons are left
%% unchanged, but for what is in them.
-spec of_result(term()) -> {ok, term()} | {error, Why :: binary()}.
of_result(Term) ->
    try
        {ok, plain(Term)}
    catch
        throw:{?MODULE, Why} -> {error, unicode:characters_to_binary(Why)}
    end.

plain(#{'__struct__' := Module} = Struct) when is_atom(Module) ->
    struct(Module, Struct);
plain(Map) when is_map(Map) ->
    distinct(maps:keys(Map)),
    maps:from_list([{key(Key), plain(Value)} || {Key, Value} <- maps:to_list(Map)]);
plain([{Key, _} | _] = Pairs) when is_atom(Key) ->
    case is_object(Pairs) of
        true -> plain(maps:from_list(Pairs));
        false -> each(Pairs)
    end;
plain(List) when is_list(List) ->
    each(List);
plain(Tuple) when is_tuple(Tuple) ->
    list_to_tuple(each(tuple_to_list(Tuple)));
plain(Integer) when is_integer(Integer), Integer < ?LEAST orelse Integer > ?MOST ->
    integer_to_binary(Integer);
plain(Other) ->
    Other.

%% A list may be improper.
each([Head | Tail]) -> [plain(Head) | each(Tail)];
each([]) -> [];
each(Tail) -> plain(Tail).

%% Duplicate keys would be lost.
is_object(Pairs) ->
    is_integer(catch length(Pairs)) andalso
        lists:all(fun(Pair) -> is_tuple(Pair) andalso tuple_size(Pair) =:= 2 andalso is_atom(element(1, Pair)) end, Pairs) andalso
        length(lists:ukeysort(1, Pairs)) =:= length(Pairs).

%% In JSON, all keys are text: one of the values would be lost.
distinct(Keys) ->
    Names = [name(Key) || Key <- Keys],
    case Names -- lists:usort(Names) of
        [] -> ok;
        [Twice | _] -> throw({?MODULE, ["a map in it has two keys that are ", beamai_error:show(Twice, 80), " as text, and JSON keeps one value of a key"]})
    end.

name(Key) when is_atom(Key) -> atom_to_binary(Key);
name(Key) -> key(Key).

key(Key) when is_integer(Key) -> integer_to_binary(Key);
key(Key) -> Key.

%%% Structs

struct(Module, Struct) ->
    case beamai_syntax:message(Struct) of
        {ok, Message} -> Message;
        none -> value(Module, Struct)
    end.

value('Elixir.MapSet', Set) ->
    plain(call('Elixir.MapSet', to_list, [Set]));
value(Module, Struct) ->
    case lists:member(Module, ?CALENDAR) of
        true -> call(Module, to_iso8601, [Struct]);
        false -> encoded(?ENCODERS, Module, Struct)
    end.

encoded([Protocol | Others], Module, Struct) ->
    case implementation(Protocol, Struct) of
        none -> encoded(Others, Module, Struct);
        _ -> plain(through(Protocol, Struct))
    end;
encoded([], Module, Struct) ->
    case implementation('Elixir.String.Chars', Struct) of
        none -> throw({?MODULE, unsaid(Module)});
        _ -> call('Elixir.String.Chars', to_string, [Struct])
    end.

%% The `Any' implementation is used for structs that derive nothing: it raises, or exposes every field.
implementation(Protocol, Struct) ->
    case code:ensure_loaded(Protocol) of
        {module, _} -> of_its_own(call(Protocol, impl_for, [Struct]), Protocol);
        {error, _} -> none
    end.

of_its_own(nil, _Protocol) ->
    none;
of_its_own(Implementation, Protocol) ->
    case atom_to_binary(Implementation) =:= <<(atom_to_binary(Protocol))/binary, ".Any">> of
        true -> none;
        false -> Implementation
    end.

through('Elixir.Beamai.Result', Struct) ->
    call('Elixir.Beamai.Result', to_result, [Struct]);
through('Elixir.Jason.Encoder', Struct) ->
    decoded(call('Elixir.Jason', 'encode!', [Struct]));
through('Elixir.JSON.Encoder', Struct) ->
    decoded(call('Elixir.JSON', 'encode!', [Struct])).

decoded(Text) ->
    {ok, Term} = beamai_json:decode(Text),
    Term.

unsaid(Module) ->
    Name = string:replace(atom_to_binary(Module), "Elixir.", "", leading),
    [
        "the struct %", Name, "{} does not say which of its fields a model may see; put @derive {Beamai.Result, only: [...]} ",
        "before its defstruct, or return a map"
    ].

%% Calls a module that may not be loaded.
call(Module, Function, Args) ->
    apply(Module, Function, Args).
