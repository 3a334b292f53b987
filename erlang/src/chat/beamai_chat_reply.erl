%% @doc Checks what a provider's module makes of an answer: a server may send anything, and what a conversation has once
%% must be fit for storing, for its tools, and for the next request.
%% @hidden
-module(beamai_chat_reply).

-export([checked/1, ids/1, joined/1]).

%% @doc The reply, with ids that tell its calls apart; the error `invalid_response' for a reply of another shape. The error
%% has nothing of the reply in it, which may repeat secrets of the request. Other results are returned unchanged.
-spec checked({ok, term()} | {error, beamai_chat_model:error()}) ->
    {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
checked({ok, Reply}) ->
    case is_reply(Reply) of
        true -> {ok, identified(Reply)};
        false -> {error, #{reason => invalid_response, message => <<"the answer has an unknown shape">>}}
    end;
checked(Other) ->
    Other.

is_reply(#{message := #{role := assistant, content := Text} = Message, stop := Stop, usage := #{}} = Reply) ->
    Calls = maps:get(tool_calls, Message, []),
    is_text(Text) andalso is_text(maps:get(reasoning, Reply, <<>>)) andalso (is_atom(Stop) orelse is_text(Stop)) andalso
        is_list(Calls) andalso lists:all(fun is_call/1, Calls);
is_reply(_Other) ->
    false.

%% Names of unknown tools and unsuitable arguments are errors of the call.
is_call(#{name := Name, args := _} = Call) -> is_text(Name) andalso is_text(maps:get(invalid, Call, <<>>));
is_call(_Other) -> false.

is_text(Text) -> is_binary(Text) andalso unicode:characters_to_binary(Text) =:= Text.

identified(#{message := #{tool_calls := [_ | _] = Calls} = Message} = Reply) ->
    Ids = ids([maps:get(id, Call, none) || Call <- Calls]),
    Reply#{message := Message#{tool_calls := [Call#{id => Id} || {Call, Id} <- lists:zip(Calls, Ids)]}};
identified(Reply) ->
    Reply.

%% @doc The ids of an answer's calls. A server may omit them or give several calls the same one, but results are matched to
%% calls by id: what is no text, is empty, or is the id of an earlier call of the answer is replaced by a new id. Ids may
%% recur in a later answer.
-spec ids([term()]) -> [binary()].
ids(Given) ->
    {Ids, _Seen} = lists:mapfoldl(fun id/2, #{}, Given),
    Ids.

id(Id, Seen) ->
    case is_text(Id) andalso Id =/= <<>> andalso not is_map_key(Id, Seen) of
        true -> {Id, Seen#{Id => seen}};
        false -> {<<"call_", (binary:encode_hex(crypto:strong_rand_bytes(8)))/binary>>, Seen}
    end.

%% @doc Joins texts. Raises `badarg' for one that is no text, such as a list of numbers, which iodata could be.
-spec joined([term()]) -> binary().
joined(Texts) ->
    lists:all(fun is_binary/1, Texts) orelse error(badarg),
    iolist_to_binary(Texts).
