%% @doc JSON as people read it: what is short on one line, the rest indented; keys in alphabetical order.
-module(reference_json).

-export([pretty/1, compact/1]).

-define(WIDTH, 110).

%% @doc The value over several lines, if it is long.
-spec pretty(term()) -> iodata().
pretty(Value) -> pretty(Value, 0).

%% @doc The value on one line.
-spec compact(term()) -> iodata().
compact(Map) when is_map(Map) -> ["{", lists:join(", ", [entry(E, fun compact/1) || E <- entries(Map)]), "}"];
compact(List) when is_list(List) -> ["[", lists:join(", ", [compact(Item) || Item <- List]), "]"];
compact(Value) -> beamai_json:text(Value).

pretty(Value, Indent) ->
    Short = compact(Value),
    case string:length(Short) + Indent =< ?WIDTH of
        true -> Short;
        false -> long(Value, Indent + 2)
    end.

long(Map, Indent) when is_map(Map), map_size(Map) > 0 ->
    block("{", [entry(E, fun(Value) -> pretty(Value, Indent) end) || E <- entries(Map)], "}", Indent);
long([_ | _] = List, Indent) ->
    block("[", [pretty(Item, Indent) || Item <- List], "]", Indent);
long(Value, _Indent) ->
    compact(Value).

block(Open, Lines, Close, Indent) ->
    Margin = ["\n", lists:duplicate(Indent, $\s)],
    [Open, Margin, lists:join([",", Margin], Lines), "\n", lists:duplicate(Indent - 2, $\s), Close].

entry({Key, Value}, Text) -> [beamai_json:text(key(Key)), ": ", Text(Value)].

key(Key) when is_atom(Key) -> atom_to_binary(Key);
key(Key) when is_binary(Key) -> Key.

entries(Map) -> lists:keysort(1, [{key(Key), Value} || {Key, Value} <- maps:to_list(Map)]).
