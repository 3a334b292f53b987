%% @doc Retries temporary errors, after the delay that the server asks for, within the caller's deadline.
%% @hidden
-module(beamai_chat_retry).

-export([run/3, delay/3, retry_after/1, retry_after/2]).
-export_type([policy/0]).

-type policy() :: #{
    max_retries := non_neg_integer(),
    %% Milliseconds.
    retry_delay := non_neg_integer(),
    max_retry_delay := non_neg_integer(),
    _ => _
}.

%% @doc Runs the function until it succeeds, its error is permanent, or attempts or time are used up. Delays requested
%% by the server that exceed `max_retry_delay' are not waited for; the error states them.
-spec run(policy(), beamai_chat_model:request(), fun(() -> Result)) -> Result when
    Result :: {ok, term()} | {error, beamai_chat_model:error()}.
run(Policy, Request, Try) ->
    again(Policy, Request, Try, 1).

again(#{max_retries := Max} = Policy, Request, Try, Attempt) ->
    case Try() of
        {error, Error} when Attempt =< Max ->
            case worth_it(Error) andalso delay(Policy, Error, Attempt) of
                Delay when is_integer(Delay) ->
                    wait(Policy, Request, Try, Attempt, Error, Delay);
                _ ->
                    {error, Error}
            end;
        Result ->
            Result
    end.

worth_it(#{reason := Reason}) ->
    lists:member(Reason, [rate_limited, overloaded, connection]).

wait(Policy, #{emit := Emit, until := Until} = Request, Try, Attempt, Error, Delay) ->
    case until(Until, Delay) of
        false ->
            {error, Error};
        true ->
            #{message := Message} = Error,
            Emit({retry, #{attempt => Attempt, delay_ms => Delay, message => Message}}),
            case beamai_runs:sleep(Delay, maps:get(run, Request)) of
                ok -> again(Policy, Request, Try, Attempt + 1);
                cancelled -> {error, #{reason => cancelled, message => <<"the run was cancelled">>}}
            end
    end.

until(infinity, _Delay) -> true;
until(Until, Delay) -> erlang:monotonic_time(millisecond) + Delay < Until.

%% @doc Milliseconds until the next attempt: as requested by the server, or exponential backoff with jitter, so that
%% clients do not retry in lockstep. `too_long' if the server asks for more than the maximum.
-spec delay(policy(), beamai_chat_model:error(), Attempt :: pos_integer()) ->
    non_neg_integer() | too_long.
delay(#{max_retry_delay := Most}, #{retry_after := Asked}, _Attempt) when Asked > Most ->
    too_long;
delay(_Policy, #{retry_after := Asked}, _Attempt) ->
    Asked;
delay(#{retry_delay := First, max_retry_delay := Most}, _Error, Attempt) ->
    Full = min(Most, First bsl min(Attempt - 1, 20)),
    Full - rand:uniform(Full div 2 + 1) + 1.

%% @doc The delay in the response headers, in milliseconds: `retry-after-ms', or `retry-after' as seconds or as a date.
-spec retry_after([{string(), string()}]) -> {ok, non_neg_integer()} | none.
retry_after(Headers) ->
    retry_after(Headers, calendar:universal_time()).

%% @doc As {@link retry_after/1}, at a given time in UTC.
-spec retry_after([{string(), string()}], calendar:datetime()) -> {ok, non_neg_integer()} | none.
retry_after(Headers, Now) ->
    case {lists:keyfind("retry-after-ms", 1, Headers), lists:keyfind("retry-after", 1, Headers)} of
        {{_, Milliseconds}, _} -> number(Milliseconds, 1);
        {false, {_, Text}} -> seconds_or_date(string:trim(Text), Now);
        {false, false} -> none
    end.

number(Text, Unit) ->
    case string:to_float(string:trim(Text) ++ ".0") of
        {Number, _} when Number >= 0, Number < 1.0e9 -> {ok, ceil(Number * Unit)};
        _ -> none
    end.

seconds_or_date([Digit | _] = Text, _Now) when Digit >= $0, Digit =< $9 ->
    number(Text, 1000);
seconds_or_date(Text, Now) ->
    try httpd_util:convert_request_date(Text) of
        {_, _} = Date -> {ok, max(0, 1000 * (seconds(Date) - seconds(Now)))};
        _ -> none
    catch
        _:_ -> none
    end.

seconds(Date) -> calendar:datetime_to_gregorian_seconds(Date).
