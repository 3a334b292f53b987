%% @doc Entries of a trace as two or three integers each, in an array that callers write to without a lock.
%%
%% An entry with a number fits if it is that of a tool known to the trace, with ids that have a number ({@link
%% beamai_trace_ids}), and its values are in the usual range. Each integer has a tag in its lowest bits, the lap of the
%% array: an entry of which a part belongs to another lap is none.
%% @hidden
-module(beamai_trace_rows).

-export([new/2, size/1, write/7, read/2]).
-compile({no_auto_import, [size/1]}).
-compile({inline, [tag/2]}).
-export_type([t/0, row/0]).

-define(WORDS, 3).
-define(TAG_BITS, 8).
%% Small integers have 60 bits, of which one is the sign.
-define(US_BITS, 31).
-define(TOOL_BITS, 8).
-define(IDS_BITS, 12).
-define(BYTES_BITS, 25).
%% A row of usual values takes two integers, one less to write. The lowest bit of its start is 0.
-define(SHORT_US_BITS, 14).
-define(SHORT_TOOL_BITS, 7).
-define(SHORT_IDS_BITS, 10).
-define(SHORT_BYTES_BITS, 10).
%% Minimum number of entries in the array, as a power of two, so that a lap takes longer than a caller is kept from finishing its
%% entry.
-define(LEAST_BITS, 12).

%% The size is a power of two, with this many zero bits; the mask is one less.
-record(rows, {count :: atomics:atomics_ref(), array :: atomics:atomics_ref(), bits :: pos_integer(), mask :: pos_integer()}).

-opaque t() :: #rows{}.
-type row() :: {
    StartUs :: non_neg_integer(),
    {DurationUs :: non_neg_integer(), Tool :: 0..255, Ids :: 0..4095},
    {InputBytes :: non_neg_integer(), OutputBytes :: non_neg_integer()}
}.

%% @doc Creates an array for at least `Max' entries, whose numbers the counter gives.
-spec new(Max :: pos_integer(), atomics:atomics_ref()) -> t().
new(Max, Count) ->
    Bits = max(ceil(math:log2(Max)), ?LEAST_BITS),
    #rows{count = Count, array = atomics:new(?WORDS bsl Bits, []), bits = Bits, mask = (1 bsl Bits) - 1}.

%% @doc Number of entries after which one is overwritten.
-spec size(t()) -> pos_integer().
size(#rows{mask = Mask}) -> Mask + 1.

%% @doc Writes the entry with the next number of the counter: a call's start and duration in microseconds, the numbers of its
%% tool and its ids, and the sizes of its input and output. `false', with the counter unchanged, if it does not fit.
-spec write(Start, Us, Tool, Ids, In, Out, t()) -> boolean() when
    Start :: non_neg_integer(), Us :: non_neg_integer(), Tool :: 0..255, Ids :: 0..4095, In :: non_neg_integer(), Out :: non_neg_integer().
write(Start, Us, Tool, Ids, In, Out, #rows{count = Count, array = Array, bits = Bits, mask = Mask}) when
    Us < (1 bsl ?SHORT_US_BITS), Tool < (1 bsl ?SHORT_TOOL_BITS), Ids < (1 bsl ?SHORT_IDS_BITS),
    In < (1 bsl ?SHORT_BYTES_BITS), Out < (1 bsl ?SHORT_BYTES_BITS)
->
    Number = atomics:add_get(Count, 1, 1),
    Tag = tag(Number, Bits),
    At = (Number band Mask) * ?WORDS,
    ok = atomics:put(Array, At + 1, (Start bsl (?TAG_BITS + 1)) bor Tag),
    ok = atomics:put(Array, At + 2, (((((((((Us bsl ?SHORT_TOOL_BITS) bor Tool) bsl ?SHORT_IDS_BITS) bor Ids) bsl ?SHORT_BYTES_BITS) bor In) bsl ?SHORT_BYTES_BITS) bor Out) bsl ?TAG_BITS) bor Tag),
    true;
write(Start, Us, Tool, Ids, In, Out, #rows{count = Count, array = Array, bits = Bits, mask = Mask}) when
    Us < (1 bsl ?US_BITS), In < (1 bsl ?BYTES_BITS), Out < (1 bsl ?BYTES_BITS)
->
    Number = atomics:add_get(Count, 1, 1),
    Tag = tag(Number, Bits),
    At = (Number band Mask) * ?WORDS,
    ok = atomics:put(Array, At + 1, (((Start bsl 1) bor 1) bsl ?TAG_BITS) bor Tag),
    ok = atomics:put(Array, At + 2, (((((Us bsl ?TOOL_BITS) bor Tool) bsl ?IDS_BITS) bor Ids) bsl ?TAG_BITS) bor Tag),
    ok = atomics:put(Array, At + 3, (((In bsl ?BYTES_BITS) bor Out) bsl ?TAG_BITS) bor Tag),
    true;
write(_Start, _Us, _Tool, _Ids, _In, _Out, _Rows) ->
    false.

%% The lap of the array, never 0, which is what an array begins with. It recurs after 128 laps.
tag(Number, Bits) -> ((Number bsr Bits) band ((1 bsl (?TAG_BITS - 1)) - 1)) bor (1 bsl (?TAG_BITS - 1)).

%% @doc The entry with a number; `none' if it is not, or not completely, there.
-spec read(Number :: pos_integer(), t()) -> row() | none.
read(Number, #rows{array = Array, bits = Bits, mask = Mask}) ->
    Tag = tag(Number, Bits),
    At = (Number band Mask) * ?WORDS,
    case [<<(atomics:get(Array, At + N)):64>> || N <- [1, 2, 3]] of
        [
            <<Start:(64 - 1 - ?TAG_BITS), 0:1, Tag:?TAG_BITS>>,
            <<Us:(64 - ?SHORT_TOOL_BITS - ?SHORT_IDS_BITS - 2 * ?SHORT_BYTES_BITS - ?TAG_BITS), Tool:?SHORT_TOOL_BITS,
                Ids:?SHORT_IDS_BITS, In:?SHORT_BYTES_BITS, Out:?SHORT_BYTES_BITS, Tag:?TAG_BITS>>,
            _
        ] ->
            {Start, {Us, Tool, Ids}, {In, Out}};
        [
            <<Start:(64 - 1 - ?TAG_BITS), 1:1, Tag:?TAG_BITS>>,
            <<Us:(64 - ?TOOL_BITS - ?IDS_BITS - ?TAG_BITS), Tool:?TOOL_BITS, Ids:?IDS_BITS, Tag:?TAG_BITS>>,
            <<In:(64 - ?BYTES_BITS - ?TAG_BITS), Out:?BYTES_BITS, Tag:?TAG_BITS>>
        ] ->
            {Start, {Us, Tool, Ids}, {In, Out}};
        _ ->
            none
    end.
