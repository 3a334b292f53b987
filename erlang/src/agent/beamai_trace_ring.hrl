%% Where callers write what they have done: the last entries, and sums of all.
-record(ring, {
    %% How many entries there were.
    count :: atomics:atomics_ref(),
    %% The entries are spread over several tables, so that callers do not wait for one lock.
    tables :: tuple(),
    %% How many entries a table has at most, and how many are shown of all.
    slots :: pos_integer(),
    max :: pos_integer(),
    sums :: ets:table(),
    %% The sums of the tools that were called first: looking them up here takes a sixth of the time.
    tools = #{} :: #{binary() => {Name :: binary(), atomics:atomics_ref()}},
    %% Hears of names that are new.
    process :: pid(),
    %% Microseconds from os:perf_counter/0 to the system's time.
    offset :: integer()
}).
