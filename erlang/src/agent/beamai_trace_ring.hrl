%% The tables that callers write to: the last entries, and totals of all.
-record(ring, {
    %% Number of entries so far.
    count :: atomics:atomics_ref(),
    %% The entries are distributed over several tables, to avoid contention for one lock.
    tables :: tuple(),
    %% Maximum entries per table, and maximum entries shown in total.
    slots :: pos_integer(),
    max :: pos_integer(),
    sums :: ets:table(),
    %% The totals of the tools called first; looking them up here takes a sixth of the time.
    tools = #{} :: #{binary() => {Name :: binary(), atomics:atomics_ref()}},
    %% Notified of new names.
    process :: pid(),
    %% Offset in microseconds from os:perf_counter/0 to system time.
    offset :: integer()
}).
