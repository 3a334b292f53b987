%% The tables that callers write to: the last entries, and totals of all.
-record(ring, {
    %% Number of entries so far.
    count :: atomics:atomics_ref(),
    %% Entries that are a few integers, and the numbers of their ids.
    rows :: beamai_trace_rows:t(),
    ids :: beamai_trace_ids:t(),
    %% All other entries, distributed over several tables, to avoid contention for one lock.
    tables :: tuple(),
    %% Maximum entries per table, and maximum entries shown in total.
    slots :: pos_integer(),
    max :: pos_integer(),
    sums :: ets:table(),
    %% Calls under way, by key.
    open :: ets:table(),
    %% The tools called first: their numbers in `rows', and their totals.
    tools = #{} :: #{binary() => {Number :: 0..255, atomics:atomics_ref()}},
    %% Units of os:perf_counter/0 in a microsecond.
    per_us :: pos_integer(),
    %% Notified of new names.
    process :: pid(),
    %% Offset in microseconds from os:perf_counter/0 to system time.
    offset :: integer()
}).
