%% @doc Entries of a trace as three integers each, in an array that callers write to without a lock.
%%
%% An entry with a number fits if it is that of a tool known to the trace, with ids that have a number ({@link
%% beamai_trace_ids}), and its values are in the usual range. Each integer has the lap of the array in its lowest bits: an
%% entry of which a part belongs to another lap is none.
%% @hidden
-module(beamai_trace_rows).

-export([new/1, write/4, read/2]).
-export_type([t/0, values/0, row/0]).

-define(WORDS, 3).
-define(LAP_BITS, 8).
%% Small integers have 60 bits, of which one is the sign.
-define(US_BITS, 31).
-define(TOOL_BITS, 8).
-define(IDS_BITS, 12).
-define(BYTES_BITS, 25).
%% Minimum number of entries in the array, so that a lap takes longer than a caller is kept from finishing its entry.
-define(LEAST, 4096).

-type t() :: {atomics:atomics_ref(), Rows :: pos_integer()}.
-type values() :: {DurationUs :: non_neg_integer(), Tool :: 0..255, Ids :: 0..4095, InputBytes :: non_neg_integer(), OutputBytes :: non_neg_integer()}.
-type row() :: {
    StartUs :: non_neg_integer(),
    {DurationUs :: non_neg_integer(), Tool :: 0..255, Ids :: 0..4095},
    {InputBytes :: non_neg_integer(), OutputBytes :: non_neg_integer()}
}.

%% @doc Creates an array for at least `Max' entries.
-spec new(Max :: pos_integer()) -> t().
new(Max) ->
    Rows = max(Max, ?LEAST),
    {atomics:new(Rows * ?WORDS, []), Rows}.

%% @doc Writes the entry with the next number of the counter. `false', with the counter unchanged, if it does not fit.
-spec write(atomics:atomics_ref(), StartUs :: non_neg_integer(), values(), t()) -> boolean().
write(Count, Start, {Us, Tool, Ids, In, Out}, {Array, Rows}) when
    Us < (1 bsl ?US_BITS), In < (1 bsl ?BYTES_BITS), Out < (1 bsl ?BYTES_BITS)
->
    Number = atomics:add_get(Count, 1, 1),
    Lap = lap(Number, Rows),
    At = (Number rem Rows) * ?WORDS,
    ok = atomics:put(Array, At + 1, (Start bsl ?LAP_BITS) bor Lap),
    ok = atomics:put(Array, At + 2, (((((Us bsl ?TOOL_BITS) bor Tool) bsl ?IDS_BITS) bor Ids) bsl ?LAP_BITS) bor Lap),
    ok = atomics:put(Array, At + 3, (((In bsl ?BYTES_BITS) bor Out) bsl ?LAP_BITS) bor Lap),
    true;
write(_Count, _Start, _Values, _Rows) ->
    false.

%% Not 0, which is what an array begins with.
lap(Number, Rows) -> 1 + (Number div Rows) rem ((1 bsl ?LAP_BITS) - 1).

%% @doc The entry with a number; `none' if it is not, or not completely, there.
-spec read(Number :: pos_integer(), t()) -> row() | none.
read(Number, {Array, Rows}) ->
    Lap = lap(Number, Rows),
    At = (Number rem Rows) * ?WORDS,
    case [<<(atomics:get(Array, At + N)):64>> || N <- [1, 2, 3]] of
        [
            <<Start:(64 - ?LAP_BITS), Lap:?LAP_BITS>>,
            <<Us:(64 - ?TOOL_BITS - ?IDS_BITS - ?LAP_BITS), Tool:?TOOL_BITS, Ids:?IDS_BITS, Lap:?LAP_BITS>>,
            <<In:(64 - ?BYTES_BITS - ?LAP_BITS), Out:?BYTES_BITS, Lap:?LAP_BITS>>
        ] ->
            {Start, {Us, Tool, Ids}, {In, Out}};
        _ ->
            none
    end.
