%% @doc The budget of a run: tokens and time. Sub-agents spend from their own budget and from those of their callers.
%%
%% The counters are shared by all processes of a run. A budget is valid on one node only.
%% @hidden
-module(beamai_budget).

-export([new/2, spend/2, left/1, until/1, in_time/2, is_time_over/1, remaining/1, spent/1]).
-export_type([t/0, limits/0]).

-type limits() :: #{
    %% Input and output tokens in total.
    max_tokens => pos_integer() | infinity,
    %% Milliseconds.
    max_time => timeout()
}.
-opaque t() :: #{
    used := counters:counters_ref(),
    max_tokens := pos_integer() | infinity,
    until := integer() | infinity,
    above := t() | none
}.

-define(INPUT, 1).
-define(OUTPUT, 2).
-define(CACHED, 3).
-define(ESTIMATED, 4).
-define(COST, 5).

%% @doc A budget within another one, or on its own.
-spec new(limits(), Above :: t() | none) -> t().
new(Limits, Above) ->
    Own = until_from_now(maps:get(max_time, Limits, infinity)),
    #{
        used => counters:new(5, []),
        max_tokens => maps:get(max_tokens, Limits, infinity),
        until => earlier(Own, until(Above)),
        above => Above
    }.

until_from_now(infinity) -> infinity;
until_from_now(Ms) -> erlang:monotonic_time(millisecond) + Ms.

%% In Erlang's term order, integers are less than atoms.
earlier(One, Other) -> min(One, Other).

%% @doc When the time is used up, in monotonic milliseconds.
-spec until(t() | none) -> integer() | infinity.
until(none) -> infinity;
until(#{until := Until}) -> Until.

%% @doc A timeout in milliseconds, limited to the remaining time of the calling agent's budget.
-spec in_time(timeout(), beamai_context:t()) -> timeout().
in_time(Timeout, #{agent_budget := #{until := Until}}) when is_integer(Until) ->
    min(Timeout, max(1, Until - erlang:monotonic_time(millisecond)));
in_time(Timeout, _Context) ->
    Timeout.

%% @doc Whether the time of the calling agent's budget is used up.
-spec is_time_over(beamai_context:t()) -> boolean().
is_time_over(#{agent_budget := #{until := Until}}) when is_integer(Until) ->
    erlang:monotonic_time(millisecond) >= Until;
is_time_over(_Context) ->
    false.

%% @doc The remaining tokens of this budget, and the remaining time of this and its outer budgets. Empty if nothing is
%% limited.
-spec remaining(t()) -> #{tokens => integer(), time => integer()}.
remaining(#{max_tokens := Max, until := Until} = Budget) ->
    #{total_tokens := Total} = spent(Budget),
    maps:from_list(
        [{tokens, max(0, Max - Total)} || is_integer(Max)] ++
            [{time, max(0, Until - erlang:monotonic_time(millisecond))} || is_integer(Until)]
    ).

%% @doc Adds the usage of a model.
-spec spend(beamai_chat_model:usage(), t() | none) -> ok.
spend(_Usage, none) ->
    ok;
spend(Usage, #{used := Used, above := Above}) ->
    #{input_tokens := Input, output_tokens := Output, cached_tokens := Cached} = Usage,
    ok = counters:add(Used, ?INPUT, Input),
    ok = counters:add(Used, ?OUTPUT, Output),
    ok = counters:add(Used, ?CACHED, Cached),
    ok = counters:add(Used, ?ESTIMATED, maps:get(estimated_tokens, Usage, 0)),
    ok = counters:add(Used, ?COST, maps:get(cost_nano, Usage, 0)),
    spend(Usage, Above).

%% @doc Whether this and all outer budgets have something left; otherwise what is used up.
-spec left(t() | none) -> ok | {out_of, tokens | time}.
left(none) ->
    ok;
left(#{max_tokens := Max, until := Until, above := Above} = Budget) ->
    #{total_tokens := Total} = spent(Budget),
    case Until =/= infinity andalso erlang:monotonic_time(millisecond) >= Until of
        true -> {out_of, time};
        false when Total >= Max -> {out_of, tokens};
        false -> left(Above)
    end.

%% @doc The usage, including sub-agents. `estimated_tokens' is the part of the total that was estimated, `cost_nano' the
%% cost of the models with prices, in billionths of the price table's unit.
-spec spent(t()) -> #{atom() => non_neg_integer()}.
spent(#{used := Used}) ->
    [Input, Output, Cached, Estimated, Cost] =
        [max(0, counters:get(Used, Index)) || Index <- [?INPUT, ?OUTPUT, ?CACHED, ?ESTIMATED, ?COST]],
    Counts = #{input_tokens => Input, output_tokens => Output, cached_tokens => Cached, total_tokens => Input + Output},
    maps:merge(Counts, maps:from_list([{estimated_tokens, Estimated} || Estimated > 0] ++ [{cost_nano, Cost} || Cost > 0])).
