%% @doc Totals of a trace: counts, durations and tokens per tool, model and agent, in counters that callers increment.
%%
%% Durations are counted in buckets of a microsecond, and from 32 microseconds on, of about 3.5 percent.
%% @hidden
-module(beamai_trace_sums).

-export([new_table/0, find/2, count/2, add/5, total/1, all/2]).
-export_type([total/0]).

%% Names may come from models, so their number is limited.
-define(MAX_NAMES, 1000).
-define(OTHERS, <<"(others)">>).

%% Durations below this have a bucket each, which is found without a logarithm and tells the longest of them.
-define(SHORT, 32).
%% Buckets per further doubling of the duration. The last bucket is 2^40 microseconds, twelve days.
-define(STEPS, 20).
-define(LAST_STEP, ?SHORT + 35 * ?STEPS).

%% ?MAX is the longest duration that is not short.
-define(ERRORS, 1).
-define(INPUT, 2).
-define(OUTPUT, 3).
-define(MAX, 4).
-define(FIRST, 5).

%% Percentiles have an error of about 3.5 percent.
-type total() :: #{
    count := non_neg_integer(), errors := non_neg_integer(), p50_us := non_neg_integer(), p95_us := non_neg_integer(),
    p99_us := non_neg_integer(), max_us := non_neg_integer(), input_tokens := non_neg_integer(), output_tokens := non_neg_integer()
}.
-type kind() :: tool | model | agent.

%% @doc Creates a table of totals by kind and name. The calling process owns it.
-spec new_table() -> ets:table().
new_table() ->
    ets:new(?MODULE, [set, public, {read_concurrency, true}]).

%% @doc The counters of a name, and whether they are new. After the first 1,000 names, all others share theirs.
-spec find({kind(), Name :: binary()}, ets:table()) -> {old | new, Name :: binary(), atomics:atomics_ref()}.
find({Kind, Name} = Key, Table) ->
    case ets:lookup(Table, Key) of
        [{{_, Kept}, Cells}] ->
            {old, Kept, Cells};
        [] when Name =:= ?OTHERS ->
            made(Key, Table);
        [] ->
            case ets:info(Table, size) < ?MAX_NAMES of
                true -> made({Kind, binary:copy(Name)}, Table);
                false -> find({Kind, ?OTHERS}, Table)
            end
    end.

made({_Kind, Name} = Key, Table) ->
    Cells = atomics:new(?FIRST + ?LAST_STEP, []),
    case ets:insert_new(Table, {Key, Cells}) of
        true -> {new, Name, Cells};
        false -> find(Key, Table)
    end.

%% @doc Counts a successful call of this duration, in microseconds.
-spec count(atomics:atomics_ref(), Us :: non_neg_integer()) -> ok.
count(Cells, Us) when Us < ?SHORT ->
    atomics:add(Cells, ?FIRST + Us, 1);
count(Cells, Us) ->
    ok = atomics:add(Cells, ?FIRST + step(Us), 1),
    longest(Cells, Us, atomics:get(Cells, ?MAX)).

%% @doc Counts a call with its outcome and tokens.
-spec add(atomics:atomics_ref(), non_neg_integer(), ok | error | refused, In :: non_neg_integer(), Out :: non_neg_integer()) -> ok.
add(Cells, Us, Outcome, In, Out) ->
    ok = atomics:add(Cells, ?INPUT, In),
    ok = atomics:add(Cells, ?OUTPUT, Out),
    _ = Outcome =:= ok orelse atomics:add(Cells, ?ERRORS, 1),
    count(Cells, Us).

step(Us) -> min(?LAST_STEP, ?SHORT + round(?STEPS * math:log2(Us / ?SHORT))).

longest(Cells, Us, Longest) when Us > Longest ->
    case atomics:compare_exchange(Cells, ?MAX, Longest, Us) of
        ok -> ok;
        Longer -> longest(Cells, Us, Longer)
    end;
longest(_Cells, _Us, _Longest) ->
    ok.

%% @doc The totals of all names of a kind.
-spec all(kind(), ets:table()) -> #{binary() => total()}.
all(Kind, Table) ->
    maps:from_list([{Name, total(Cells)} || {{K, Name}, Cells} <- ets:tab2list(Table), K =:= Kind]).

%% @doc The totals of one name.
-spec total(atomics:atomics_ref()) -> total().
total(Cells) ->
    Steps = [{Step, Count} || Step <- lists:seq(0, ?LAST_STEP), Count <- [atomics:get(Cells, ?FIRST + Step)], Count > 0],
    Count = lists:sum([C || {_, C} <- Steps]),
    At = fun(Percent) -> percentile(Steps, ceil(Count * Percent / 100)) end,
    #{
        count => Count, errors => atomics:get(Cells, ?ERRORS), p50_us => At(50), p95_us => At(95), p99_us => At(99),
        max_us => lists:max([atomics:get(Cells, ?MAX) | [Step || {Step, _} <- Steps, Step < ?SHORT]]),
        input_tokens => atomics:get(Cells, ?INPUT), output_tokens => atomics:get(Cells, ?OUTPUT)
    }.

%% Counters exist shortly before the first call is counted.
percentile([], _Left) -> 0;
percentile([{Step, _Count}], _Left) -> us(Step);
percentile([{Step, Count} | _], Left) when Left =< Count -> us(Step);
percentile([{_Step, Count} | Rest], Left) -> percentile(Rest, Left - Count).

us(Step) when Step < ?SHORT -> Step;
us(Step) -> round(?SHORT * math:pow(2, (Step - ?SHORT) / ?STEPS)).
