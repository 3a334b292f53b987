%% @doc API keys, kept in funs, so that printing or logging a term does not reveal them.
%% @hidden
-module(beamai_secret).

-export([new/1, new_value/1, reveal/1, reveal_value/1, mask/1]).
-export_type([t/0]).

%% Stands for a value within a term.
-define(MASK, '***').

-type t() :: fun(() -> term()).

%% @doc Wraps a key, given as text or as a fun that returns it. `error' if it is not printable ASCII without spaces, as
%% required in a header.
-spec new(term()) -> {ok, t()} | error.
new(Key) ->
    kept(Key, fun is_key/1).

%% @doc As {@link new/1}, for a whole header value, which may have spaces.
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

%% @doc The key. `error' if the host's fun raises or returns an invalid key.
-spec reveal(t()) -> {ok, binary()} | error.
reveal(Secret) ->
    given(Secret, fun is_key/1).

%% @doc The header value; `error' as in {@link reveal/1}.
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

%% @doc A term to be shown in an error. Options in the wrong place or the wrong container may have secrets in them, so of a
%% map, list or tuple only atoms, numbers and the keys of maps stay. A text by itself stays.
-spec mask(term()) -> term().
mask(Text) when is_bitstring(Text) -> Text;
mask(Term) ->
    case masked(Term) of
        ?MASK -> Term;
        Masked -> Masked
    end.

masked(Map) when is_map(Map) -> maps:map(fun(_Key, Value) -> masked(Value) end, Map);
masked(Tuple) when is_tuple(Tuple) -> list_to_tuple([masked(Element) || Element <- tuple_to_list(Tuple)]);
masked([Element | Tail] = List) ->
    case io_lib:printable_unicode_list(List) of
        true -> ?MASK;
        false -> [masked_element(Element) | masked_tail(Tail)]
    end;
masked(Text) when is_bitstring(Text) -> ?MASK;
masked(Other) -> Other.

%% Integers in a list may be the characters of a text.
masked_element(Character) when is_integer(Character) -> ?MASK;
masked_element(Element) -> masked(Element).

masked_tail(Tail) when is_list(Tail) -> masked(Tail);
masked_tail(Improper) -> masked_element(Improper).
