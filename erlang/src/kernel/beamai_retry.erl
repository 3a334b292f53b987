%% @doc Tries a call again after an error that another try can mend.
-module(beamai_retry).

-export([again/5]).

%% @doc `Again' is run up to `Max' times, `Delay' milliseconds apart, until it succeeds, fails for
%% good or the run is cancelled. Returns the last result; `Error' is that of the first try of
%% `Tool'.
-spec again(
    {Max :: non_neg_integer(), Delay :: non_neg_integer()},
    Tool :: binary(),
    Again :: fun(() -> beamai_call:try_result()),
    Error :: term(),
    Run :: reference() | none
) -> beamai_call:try_result().
again({0, _Delay}, _Tool, _Again, Error, _Run) ->
    {error, Error};
again({Left, Delay}, Tool, Again, Error, Run) ->
    case beamai_error:retryable(Error) andalso pause(Delay, Run) of
        true -> next({Left - 1, Delay}, Tool, Again, Again(), Run);
        false -> {error, Error};
        cancelled -> {error, beamai_error:cancelled(Tool)}
    end.

next(Retry, Tool, Again, {error, Error}, Run) -> again(Retry, Tool, Again, Error, Run);
next(_Retry, _Tool, _Again, Result, _Run) -> Result.

pause(Delay, none) ->
    receive
    after Delay -> true
    end;
pause(Delay, Run) ->
    receive
        {Run, cancelled} ->
            beamai_runs:keep(Run),
            cancelled
    after Delay -> true
    end.
