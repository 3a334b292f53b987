%% @doc Checks the shapes of the entries of an agent's log, which somebody else may have written or changed.
%%
%% An entry of an unknown type was written by a newer version. Texts may be any binaries: models and tools can return text that is
%% not UTF-8, and what a run has stored must stay readable.
%% @hidden
-module(beamai_agent_entry).

-export([damaged/1]).

%% @doc The number of the first entry that has not the shape of its type, or `none'.
-spec damaged([term()]) -> none | pos_integer().
damaged(Entries) -> damaged(Entries, 1).

damaged([], _Number) -> none;
damaged([Entry | Rest], Number) ->
    case is_entry(Entry) of
        true -> damaged(Rest, Number + 1);
        false -> Number
    end.

is_entry(#{type := message} = Entry) ->
    is(message, Entry, fun is_said/1) andalso may(usage, Entry, fun is_usage/1) andalso may(is_input, Entry, fun is_boolean/1);
is_entry(#{type := begun} = Entry) ->
    is(calls, Entry, all(fun is_anything/1));
%% A handler can ask for approval of a call that it makes itself. The host chose the id of such a call, which may be any term.
is_entry(#{type := waiting} = Entry) ->
    is(call, Entry, fun is_anything/1) andalso is(tool, Entry, fun is_anything/1);
is_entry(#{type := decided} = Entry) ->
    is(call, Entry, fun is_anything/1);
is_entry(#{type := result} = Entry) ->
    is(message, Entry, fun is_result/1) andalso may(is_made, Entry, fun is_boolean/1);
is_entry(#{type := context} = Entry) ->
    is(set, Entry, fun is_map/1);
is_entry(#{type := compacted} = Entry) ->
    is(messages, Entry, all(fun(Message) -> is_said(Message) orelse is_result(Message) end));
is_entry(#{type := ended} = Entry) ->
    is(is_done, Entry, fun is_boolean/1) andalso is(tool_calls, Entry, fun is_count/1) andalso is(usage, Entry, fun is_usage/1);
is_entry(Entry) ->
    is_map(Entry) andalso is(type, Entry, fun is_atom/1).

is_said(#{role := user, content := Text} = Message) ->
    is_binary(Text) andalso may(attachments, Message, all(fun beamai_attachments:is_attachment/1)) andalso
        may(summary, Message, fun is_summary/1);
is_said(#{role := assistant, content := Text} = Message) ->
    is_binary(Text) andalso may(tool_calls, Message, all(fun is_call/1)) andalso may(raw, Message, fun is_raw/1);
is_said(_Other) ->
    false.

is_result(#{role := tool, call := Id, name := Name, content := Text, outcome := Outcome} = Message) ->
    lists:all(fun is_binary/1, [Id, Name, Text]) andalso lists:member(Outcome, [ok, error, refused]) andalso may(images, Message, all(fun is_image/1)) andalso
        may(object, Message, fun is_map/1);
is_result(_Other) ->
    false.

%% The arguments may be as odd as those of a model.
is_call(#{id := Id, name := Name, args := _} = Call) -> is_binary(Id) andalso is_binary(Name) andalso may(invalid, Call, fun is_binary/1);
is_call(_Other) -> false.

is_image(#{media_type := Type, data := Data}) -> is_binary(Type) andalso is_binary(Data);
is_image(_Other) -> false.

is_summary(#{pinned := Pinned}) -> is_all(fun is_binary/1, Pinned);
is_summary(_Other) -> false.

%% What only a module of the host reads is its own.
is_raw({text, Text}) -> is_binary(Text);
is_raw({Provider, Parts}) when Provider =:= anthropic; Provider =:= gemini -> is_all(fun is_map/1, Parts);
is_raw(Raw) -> is_tuple(Raw) andalso tuple_size(Raw) =:= 2.

is_usage(Usage) -> is_map(Usage) andalso lists:all(fun({Key, Count}) -> is_atom(Key) andalso is_count(Count) end, maps:to_list(Usage)).

is_anything(_Term) -> true.

is_count(Count) -> is_integer(Count) andalso Count >= 0.

is(Key, Map, Is) -> is_map_key(Key, Map) andalso Is(maps:get(Key, Map)).

may(Key, Map, Is) -> not is_map_key(Key, Map) orelse Is(maps:get(Key, Map)).

all(Is) -> fun(List) -> is_all(Is, List) end.

is_all(_Is, []) -> true;
is_all(Is, [First | Rest]) -> Is(First) andalso is_all(Is, Rest);
is_all(_Is, _Other) -> false.
