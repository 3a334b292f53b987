%% @doc Converts any term to one that JSON can represent, for results in a prompt.
%% @hidden
-module(beamai_protocol_json).

-export([term/1]).

%% Maximum nesting that the native side reads, less the levels around a result.
-define(MOST_LEVELS, 120).

%% @doc Maps, lists, 64-bit numbers, atoms and UTF-8 text are kept. Other binaries are shown with one character per
%% byte, all other terms in Erlang syntax.
-spec term(term()) -> term().
term(Term) ->
    term(Term, 0).

term(Term, ?MOST_LEVELS) when is_map(Term); is_list(Term) ->
    shown(Term);
term(Map, Level) when is_map(Map) ->
    maps:from_list([{key(Key), term(Value, Level + 1)} || {Key, Value} <- maps:to_list(Map)]);
term(List, Level) when is_list(List) ->
    case is_integer(catch length(List)) of
        true -> [term(Element, Level + 1) || Element <- List];
        false -> shown(List)
    end;
term(Text, _Level) when is_binary(Text) ->
    beamai_error:readable(Text);
term(Atom, _Level) when is_atom(Atom) ->
    Atom;
term(Float, _Level) when is_float(Float) ->
    Float;
term(Number, _Level) when is_integer(Number), Number >= -16#8000000000000000, Number =< 16#ffffffffffffffff ->
    Number;
term(Term, _Level) ->
    shown(Term).

key(Key) when is_binary(Key) -> beamai_error:readable(Key);
key(Key) when is_atom(Key) -> atom_to_binary(Key);
key(Key) -> shown(Key).

shown(Term) ->
    unicode:characters_to_binary(io_lib:format("~0tp", [Term])).
