%% @doc Tries a call again after an error that another try can mend.
%% @hidden
-module(beamai_retry).

-export([run/3]).

%% Up to `Max' further tries, `Delay' milliseconds apart.
-type retry() :: {Max :: non_neg_integer(), Delay :: non_neg_integer()}.
-type call() :: #{
    tool := binary(),
    context := beamai_context:t(),
    %% Where `{Run, cancelled}' arrives.
    run := reference() | none
}.

%% @doc Runs the try, and runs it again until it succeeds, fails for good, the tries or the time of the agent's budget
%% are used up, or the run is cancelled. Returns the last result.
-spec run(retry(), call(), fun(() -> beamai_call:try_result())) -> beamai_call:try_result().
run({Left, Delay}, Call, Try) ->
    case Try() of
        {error, Error} = Failed when Left > 0 ->
            case beamai_error:retryable(Error) andalso pause(Delay, Call) of
                true -> run({Left - 1, Delay}, Call, Try);
                false -> Failed;
                cancelled -> {error, beamai_error:cancelled(maps:get(tool, Call))}
            end;
        Result ->
            Result
    end.

%% Whether there is time for another try after the pause.
pause(Delay, #{context := Context, run := Run}) ->
    case wait(beamai_budget:in_time(Delay, Context), Run) of
        ok -> not beamai_budget:is_time_over(Context);
        cancelled -> cancelled
    end.

wait(Delay, none) ->
    timer:sleep(Delay);
wait(Delay, Run) ->
    receive
        {Run, cancelled} ->
            beamai_runs:keep(Run),
            cancelled
    after Delay -> ok
    end.
