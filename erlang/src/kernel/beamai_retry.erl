%% @doc Tries a call again after an error that another try can mend.
-module(beamai_retry).

-export([policy/4, again/3]).
-export_type([policy/0]).

%% `told' hears of each further try before its pause: which one it is, the pause in milliseconds, and why. `is_over' says
%% whether the time for tries is over.
-type policy() :: #{
    left := non_neg_integer(),
    delay := non_neg_integer(),
    attempt := pos_integer(),
    tool := binary(),
    run := reference() | none,
    told := fun((#{attempt := pos_integer(), delay_ms := non_neg_integer(), error := term()}) -> term()),
    is_over := fun(() -> boolean())
}.

%% @doc The tries of a call: up to `Max' further ones, `Delay' milliseconds apart, none after the time of the agent's budget.
%% The run of an agent tells of each as an event.
-spec policy(Tool :: binary(), {Max :: non_neg_integer(), Delay :: non_neg_integer()}, beamai_context:t(), reference() | none) -> policy().
policy(Tool, {Max, Delay}, Context, Run) ->
    Call = maps:merge(#{tool => Tool}, maps:with([call_id], Context)),
    #{
        left => Max, delay => Delay, attempt => 1, tool => Tool, run => Run,
        told => fun(Try) -> beamai_callback:event({tool_retry, maps:merge(Call, Try)}, Context) end,
        is_over => fun() -> beamai_budget:is_time_over(Context) end
    }.

%% @doc `Again' is run up to `left' times, `delay' milliseconds apart, until it succeeds, fails for good, its time is over or
%% the run is cancelled. Returns the last result; `Error' is that of the try before.
-spec again(policy(), Again :: fun(() -> beamai_call:try_result()), Error :: term()) -> beamai_call:try_result().
again(#{left := 0}, _Again, Error) ->
    {error, Error};
again(#{delay := Delay, run := Run, tool := Tool} = Policy, Again, Error) ->
    case is_worth_it(Policy, Error) andalso pause(Delay, Run) of
        true -> next(Policy, Again, Error);
        false -> {error, Error};
        cancelled -> {error, beamai_error:cancelled(Tool)}
    end.

is_worth_it(#{attempt := Attempt, delay := Delay, told := Told, is_over := IsOver}, Error) ->
    case beamai_error:retryable(Error) andalso not IsOver() of
        true ->
            _ = Told(#{attempt => Attempt, delay_ms => Delay, error => Error}),
            true;
        false ->
            false
    end.

next(#{is_over := IsOver, left := Left, attempt := Attempt} = Policy, Again, Error) ->
    case IsOver() of
        true -> {error, Error};
        false -> tried(Policy#{left := Left - 1, attempt := Attempt + 1}, Again, Again())
    end.

tried(Policy, Again, {error, Error}) -> again(Policy, Again, Error);
tried(_Policy, _Again, Result) -> Result.

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
