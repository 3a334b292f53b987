%% @doc Retries calls after temporary errors.
%% @hidden
-module(beamai_retry).

-export([run/3]).

%% At most `Max' retries, `Delay' milliseconds apart.
-type retry() :: {Max :: non_neg_integer(), Delay :: non_neg_integer()}.
-type call() :: #{
    tool := binary(),
    context := beamai_context:t(),
    %% Tag with which a cancellation arrives, as `{Run, cancelled}'.
    run := reference() | none
}.

%% @doc Runs the function until it succeeds or fails permanently, the retries or the agent's time budget are used up, or
%% the run is cancelled. Returns the last result. Retries are reported as events of the agent's run.
-spec run(retry(), call(), fun(() -> beamai_call:try_result())) -> beamai_call:try_result().
run({0, _Delay}, _Call, Try) ->
    Try();
run(Retry, Call, Try) ->
    beamai_approval:once(fun() -> run(Retry, {1, none}, Call, Try) end).

%% `Begun' is the error of an earlier attempt that may have had an effect.
run({Left, Delay}, {Attempt, Begun}, Call, Try) ->
    case Try() of
        {error, Error} when Left > 0 ->
            case beamai_error:retryable(Error) andalso pause(Delay, #{attempt => Attempt, error => Error}, Call) of
                true ->
                    ok = beamai_approval:next_attempt(),
                    run({Left - 1, Delay}, {Attempt + 1, begun(Error, Attempt, Begun)}, Call, Try);
                false -> {error, of_all(Error, Attempt, Begun)};
                cancelled -> {error, beamai_error:cancelled(maps:get(tool, Call))}
            end;
        {error, Error} ->
            {error, of_all(Error, Attempt, Begun)};
        Result ->
            Result
    end.

begun(Error, Attempt, Begun) ->
    case beamai_error:has_not_run(Error) of
        true -> Begun;
        false -> {Attempt, Error}
    end.

%% An attempt that has not run says nothing about earlier ones.
of_all(Error, Attempt, {Earlier, Begun}) ->
    case beamai_error:has_not_run(Error) of
        true ->
            Effect = ["attempt ", integer_to_binary(Earlier), " may have had an effect: ", said(Begun)],
            beamai_error:part_not_run(["attempt ", integer_to_binary(Attempt)], Error, Effect);
        false ->
            Error
    end;
of_all(Error, _Attempt, none) ->
    Error.

said(#{error_type := _, message := Message}) -> Message;
said(Own) -> beamai_error:show(Own, 200).

%% Whether there is time for another attempt after the delay. The retry is reported before the delay.
pause(Delay, Failed, #{context := Context, run := Run} = Call) ->
    IsOver = beamai_budget:is_time_over(Context),
    Fitting = beamai_budget:in_time(Delay, Context),
    _ = IsOver orelse Fitting < Delay orelse tell(Failed#{delay_ms => Delay}, Call),
    case beamai_runs:sleep(Fitting, Run) of
        ok -> not beamai_budget:is_time_over(Context);
        cancelled -> cancelled
    end.

tell(Failed, #{tool := Tool, context := Context}) ->
    Call = maps:with([call_id], Context),
    beamai_callback:event({tool_retry, maps:merge(Call#{tool => Tool}, Failed)}, Context).
