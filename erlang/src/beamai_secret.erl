%% @doc Keys of services: kept in funs, so that printing or logging a term that holds one does not show it.
-module(beamai_secret).

-export([new/1, reveal/1, hide/2]).
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
new(Key) ->
    case is_key(Key) of
        true -> {ok, fun() -> Key end};
        false -> error
    end.

is_key(Key) when is_binary(Key), Key =/= <<>> -> [] =:= [Byte || <<Byte>> <= Key, Byte =< 32 orelse Byte >= 127];
is_key(_Other) -> false.

%% @doc The key. `error' where the host's fun raises, or gives what cannot stand in a header.
-spec reveal(t()) -> {ok, binary()} | error.
reveal(Secret) ->
    try Secret() of
        Key ->
            case is_key(Key) of
                true -> {ok, Key};
                false -> error
            end
    catch
        _:_ -> error
    end.

%% @doc The text without the key, for texts that come from elsewhere and may repeat it.
-spec hide(Text :: binary(), Key :: binary()) -> binary().
hide(Text, <<>>) -> Text;
hide(Text, Key) -> binary:replace(Text, Key, <<"***">>, [global]).
