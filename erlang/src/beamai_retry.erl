%% @doc Tries a call again after an error that another try can mend.
-module(beamai_retry).

-export([again/4]).

%% @doc `Again' is run up to `Max' times, `Delay' milliseconds apart, until it succeeds, fails for
%% good or the run is cancelled. Returns the last result; `Error' is that of the first try.
-spec again(
    {Max :: non_neg_integer(), Delay :: non_neg_integer()},
    Again :: fun(() -> Result),
    Error :: term(),
    Run :: reference() | none
) -> Result | {error, term()} when Result :: {ok, term(), beamai_context:t()} | {error, term()}.
again({0, _Delay}, _Again, Error, _Run) ->
    {error, Error};
again({Left, Delay}, Again, Error, Run) ->
    case beamai_error:retryable(Error) andalso pause(Delay, Run) of
        true -> next({Left - 1, Delay}, Again, Again(), Run);
        false -> {error, Error};
        cancelled -> {error, cancelled(Error)}
    end.

next(Retry, Again, {error, Error}, Run) -> again(Retry, Again, Error, Run);
next(_Retry, _Again, Result, _Run) -> Result.

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

cancelled(#{tool := Tool}) when is_binary(Tool) ->
    beamai_error:new(Tool, execution_failed, cancelled, [Tool, " was cancelled between two tries"]);
cancelled(_Error) ->
    beamai_error:new(<<>>, execution_failed, cancelled, "cancelled between two tries").
