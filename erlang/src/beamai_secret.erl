%% @doc Keys of services: kept in funs, so that printing or logging a term that holds one does not show it.
-module(beamai_secret).

-export([new/1, new_value/1, reveal/1, hide/2]).
-export_type([t/0]).

-type t() :: fun(() -> binary()).

%% @doc Keeps a key, given as text or as a fun that gets it when it is needed. `error' for what cannot stand in
%% a header: it must be printable ASCII without spaces.
-spec new(term()) -> {ok, t()} | error.
new(Fun) when is_function(Fun, 0) ->
    {ok, Fun};
new(Text) when is_list(Text), Text =/= [] ->
    try list_to_binary(Text) of
        Key -> new(Key)
    catch
        error:badarg -> error
    end;
new(Key) when is_binary(Key), Key =/= <<>> ->
    case [Byte || <<Byte>> <= Key, Byte =< 32 orelse Byte >= 127] of
        [] -> {ok, fun() -> Key end};
        _ -> error
    end;
new(_Other) ->
    error.

%% @doc The same for the whole value of a header, which may hold spaces.
-spec new_value(term()) -> {ok, t()} | error.
new_value(Text) when is_binary(Text); is_list(Text) ->
    try iolist_to_binary(Text) of
        Value ->
            case new(binary:replace(Value, <<" ">>, <<>>, [global])) of
                {ok, _} -> {ok, fun() -> Value end};
                error -> error
            end
    catch
        error:badarg -> error
    end;
new_value(Other) ->
    new(Other).

%% @doc The key. Raises `bad_api_key' where the host's fun gives none.
-spec reveal(t()) -> binary().
reveal(Secret) ->
    try Secret() of
        Key when is_binary(Key), Key =/= <<>> -> Key;
        _ -> error(bad_api_key)
    catch
        _:_ -> error(bad_api_key)
    end.

%% @doc The text without the key, for texts that come from elsewhere and may repeat it.
-spec hide(Text :: binary(), Key :: binary()) -> binary().
hide(Text, <<>>) -> Text;
hide(Text, Key) -> binary:replace(Text, Key, <<"***">>, [global]).
