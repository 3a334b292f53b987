%% @doc Parses server-sent events from a stream of arbitrary chunks.
%%
%% Comments, ids and retry times are ignored; lines end with CR, LF or CRLF, as in the HTML standard.
%% @hidden
-module(beamai_sse).

-export([new/0, feed/2]).
-export_type([t/0, event/0]).

%% Maximum length of a line, and of the data of an event, in bytes.
-define(MAX_BYTES, 8388608).

-type event() :: #{event := binary(), data := binary()}.
-opaque t() :: #{
    %% The chunks of an incomplete line, last first, and their size.
    line := [binary()],
    size := non_neg_integer(),
    %% Whether the last chunk ended with CR: a following LF belongs to the same line ending.
    cr := boolean(),
    event := binary(),
    data := [binary()]
}.

%% @doc The initial state.
-spec new() -> t().
new() ->
    #{line => [], size => 0, cr => false, event => <<>>, data => []}.

%% @doc The events that this chunk completes. `too_large' if an event exceeds 8 MiB.
-spec feed(Piece :: binary(), t()) -> {ok, [event()], t()} | {error, too_large}.
feed(<<"\n", Piece/binary>>, #{cr := true} = State) -> feed(Piece, State#{cr := false});
feed(<<>>, State) -> {ok, [], State};
feed(Piece, State) -> lines(Piece, State#{cr := false}, []).

lines(<<>>, State, Events) ->
    {ok, lists:reverse(Events), State};
lines(Piece, #{line := Line, size := Size} = State, Events) ->
    case binary:match(Piece, [<<"\r\n">>, <<"\n">>, <<"\r">>]) of
        nomatch when Size + byte_size(Piece) > ?MAX_BYTES ->
            {error, too_large};
        nomatch ->
            {ok, lists:reverse(Events), State#{line := [Piece | Line], size := Size + byte_size(Piece)}};
        {At, Length} ->
            <<End:At/binary, Break:Length/binary, Rest/binary>> = Piece,
            Whole = iolist_to_binary(lists:reverse(Line, [End])),
            After = State#{line := [], cr := Break =:= <<"\r">> andalso Rest =:= <<>>},
            ended(line(Whole, After#{size := data_size(After)}), Rest, Events)
    end.

ended({event, Event, State}, Rest, Events) -> lines(Rest, State, [Event | Events]);
ended(State, Rest, Events) -> lines(Rest, State, Events).

data_size(#{data := Data}) -> iolist_size(Data).

line(<<>>, #{data := []} = State) ->
    State#{event := <<>>};
line(<<>>, #{event := Name, data := Data} = State) ->
    Event = #{event => Name, data => iolist_to_binary(lists:join("\n", lists:reverse(Data)))},
    {event, Event, State#{event := <<>>, data := [], size := 0}};
line(Line, State) ->
    case binary:split(Line, <<":">>) of
        [Field, <<" ", Value/binary>>] -> field(Field, Value, State);
        [Field, Value] -> field(Field, Value, State);
        [Field] -> field(Field, <<>>, State)
    end.

field(<<"data">>, Value, #{data := Data} = State) -> State#{data := [Value | Data]};
field(<<"event">>, Value, State) -> State#{event := Value};
field(_Other, _Value, State) -> State.
