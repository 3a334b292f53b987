%% @doc A door to the native tools. Doors know nothing about tools: they send an encoded call and return an answer.
%% @hidden
-module(beamai_door).

-export([deadline/1, left/1, is_over/1, progress/2, late/2, stuck/1, busy/1]).

-export_type([call/0, options/0, answer/0, heard/0, pace/0, deadline/0]).

%% Time beyond a call's timeout, which the native side enforces, in milliseconds.
-define(GRACE_MS, 5000).
%% Maximum timeout of a receive.
-define(LONGEST_MS, 16#FFFFFFFF).

%% `instant': microseconds; may run on a normal scheduler. `cached': as instant if everything it reads is in memory;
%% otherwise it defers and is treated as `bounded': limited by the size of its input, or it defers again. `long':
%% depends on the input; always runs as a cancellable job.
-type pace() :: instant | cached | bounded | long.
%% What the native side receives, besides the environment. `timeout' is in milliseconds.
-type call() :: #{
    tool := binary(),
    dialect := binary(),
    args := map(),
    timeout => pos_integer(),
    approved => binary(),
    session => beamai_session:native(),
    %% A number for the session that the call counts to.
    owner => non_neg_integer(),
    %% Answers to the questions that the call asked when it was first made.
    answers => map(),
    %% The report on the work that the call delegated when it was first made.
    report => #{binary() => term()},
    %% Whether the context has a chat model to consult.
    has_model => true,
    %% The chat model's answer, if the call consulted it when it was first made.
    consulted => map(),
    %% The search engine's key; only the port door reads it.
    search_key => beamai_secret:t(),
    %% Headers for requests of commands, by origin; only the port door reads them.
    credentials => #{binary() => #{binary() => beamai_secret:t()}},
    %% Whether somebody can approve program starts of a running command; see beamai_starts.
    asks_starts => true
}.
-type options() :: #{
    pace := pace(),
    %% Milliseconds. The native side enforces it; a door's own timer is a fallback.
    timeout := timeout(),
    %% Tag with which a cancellation arrives, as `{Run, cancelled}'.
    run := reference() | none,
    %% Receives progress, in the calling process.
    on_progress => fun((#{binary() => term()}) -> heard())
}.
%% `answered': it was a question, whose time does not count. `stop' ends the call with this error.
-type heard() :: ok | answered | {stop, beamai_error:t()}.
%% Maps with binary keys, except for errors created by the door itself.
-type answer() ::
    {ok, term()}
    | {ok, term(), State :: map()}
    | {error, map() | beamai_error:t()}
    | {ask, map()}
    | {question, [map()]}
    | {delegate, Work :: #{binary() => term()}}
    | {consult, Question :: #{binary() => term()}}.
%% Monotonic milliseconds.
-type deadline() :: integer() | infinity.

%% Runs a call and waits for its answer. Leaves no messages of the call in the mailbox.
-callback call(beamai_env:t(), call(), options()) -> answer().

%% @doc When the door's own timer fires.
-spec deadline(options()) -> deadline().
deadline(#{timeout := infinity}) -> infinity;
deadline(#{timeout := Timeout}) when is_integer(Timeout) ->
    erlang:monotonic_time(millisecond) + Timeout + ?GRACE_MS.

%% @doc The time until then in milliseconds, at most the maximum timeout of a receive.
-spec left(deadline()) -> timeout().
left(infinity) -> infinity;
left(Deadline) when is_integer(Deadline) ->
    min(?LONGEST_MS, max(0, Deadline - erlang:monotonic_time(millisecond))).

%% @doc Whether the timeout has passed, after which the native side only answers.
-spec is_over(deadline()) -> boolean().
is_over(infinity) -> false;
is_over(Deadline) when is_integer(Deadline) -> erlang:monotonic_time(millisecond) >= Deadline - ?GRACE_MS.

%% @doc Passes a progress message of the native side to its receiver, in this process.
-spec progress(Encoded :: binary(), options()) -> heard().
progress(Encoded, #{on_progress := Hear}) ->
    beamai_guard:nested(fun() -> Hear(binary_to_term(Encoded, [safe])) end);
progress(_Encoded, _Options) ->
    ok.

%% @doc The error of a call that exceeded its timeout on the native side.
-spec late(Tool :: binary(), Timeout :: pos_integer()) -> beamai_error:t().
late(Tool, Timeout) ->
    Message = [
        Tool, " did not keep its timeout of ", integer_to_binary(Timeout),
        " ms and was stopped from outside"
    ],
    beamai_error:new(Tool, timeout, timeout, Message, #{timeout_ms => Timeout}).

%% @doc The error of a cancelled call that does not answer.
-spec stuck(Tool :: binary()) -> beamai_error:t().
stuck(Tool) ->
    Message = [Tool, " was told to stop and has not answered; its work may still be going on"],
    beamai_error:new(Tool, execution_failed, door_lost, Message).

%% @doc The error of a call that the native side refused because of too many calls.
-spec busy(Tool :: binary()) -> beamai_error:t().
busy(Tool) ->
    Message = [Tool, ": too many calls are waiting; try again later"],
    beamai_error:new(Tool, execution_failed, busy, Message).
