%% @doc Keys of services: kept in funs, so that printing or logging a term that holds one does not show it.
%% @hidden
-module(beamai_secret).

-export([new/1, new_value/1, reveal/1, reveal_value/1, hide/2]).
-export_type([t/0]).

-type t() :: fun(() -> term()).

%% @doc Keeps a key, given as text or as a fun that gets it when it is needed. `error' for what cannot stand in
%% a header: it must be printable ASCII without spaces.
-spec new(term()) -> {ok, t()} | error.
new(Key) ->
    kept(Key, fun is_key/1).

%% @doc The same for the whole value of a header, which may hold spaces.
-spec new_value(term()) -> {ok, t()} | error.
new_value(Value) ->
    kept(Value, fun is_value/1).

kept(Fun, _IsGood) when is_function(Fun, 0) ->
    {ok, Fun};
kept(Text, IsGood) when is_list(Text) ->
    try iolist_to_binary(Text) of
        Binary -> kept(Binary, IsGood)
    catch
        error:badarg -> error
    end;
kept(Text, IsGood) ->
    case IsGood(Text) of
        true -> {ok, fun() -> Text end};
        false -> error
    end.

%% @doc The key. `error' where the host's fun raises, or gives what is none.
-spec reveal(t()) -> {ok, binary()} | error.
reveal(Secret) ->
    given(Secret, fun is_key/1).

%% @doc The value of a header, likewise.
-spec reveal_value(t()) -> {ok, binary()} | error.
reveal_value(Secret) ->
    given(Secret, fun is_value/1).

given(Secret, IsGood) ->
    try Secret() of
        Text ->
            case IsGood(Text) of
                true -> {ok, Text};
                false -> error
            end
    catch
        _:_ -> error
    end.

is_key(Key) ->
    is_value(Key) andalso binary:match(Key, <<" ">>) =:= nomatch.

is_value(Value) when is_binary(Value), Value =/= <<>> -> [] =:= [Byte || <<Byte>> <= Value, Byte < 32 orelse Byte >= 127];
is_value(_Other) -> false.

%% @doc The text without the key, for texts that come from elsewhere and may repeat it.
-spec hide(Text :: binary(), Key :: binary()) -> binary().
hide(Text, <<>>) -> Text;
hide(Text, Key) -> binary:replace(Text, Key, <<"***">>, [global]).
