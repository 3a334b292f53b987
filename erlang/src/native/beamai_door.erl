%% @doc A door to the native tools. It knows no tools: an encoded call goes in, an answer comes out.
%% @hidden
-module(beamai_door).

-export([deadline/1, left/1, progress/2, late/2, stuck/1, busy/1]).

-export_type([call/0, options/0, answer/0, heard/0, pace/0, deadline/0]).

%% Beyond a call's timeout, which the native side keeps.
-define(GRACE_MS, 5000).
%% A receive takes no more.
-define(LONGEST_MS, 16#FFFFFFFF).

%% `instant': microseconds, may run on a normal scheduler. `cached': likewise where all it reads is in
%% memory; it defers where not, and is `bounded' then: by the size of its input, or it defers again.
%% `long': as long as its input makes it, always a cancellable job.
-type pace() :: instant | cached | bounded | long.
%% What the native side gets, besides the environment. `timeout' is in milliseconds.
-type call() :: #{
    tool := binary(),
    dialect := binary(),
    args := map(),
    timeout => pos_integer(),
    approved => binary(),
    session => beamai_session:native(),
    %% What came of the questions that the call asked before.
    answers => map(),
    %% What came of the work that the call handed over before.
    report => #{binary() => term()},
    %% Whether the context has a chat model that may be asked.
    has_model => true,
    %% What it said when the call asked it before.
    consulted => map(),
    %% Of the search engine, for the port door, which alone reveals it.
    search_key => beamai_secret:t(),
    %% Whether somebody can be asked what a running command may start; see beamai_starts.
    asks_starts => true
}.
-type options() :: #{
    pace := pace(),
    %% Milliseconds. The native side keeps it; a door's own clock is a fallback.
    timeout := timeout(),
    %% Where `{Run, cancelled}' arrives.
    run := reference() | none,
    %% Hears of progress, in the calling process.
    on_progress => fun((#{binary() => term()}) -> heard())
}.
%% `stop' ends the call with this error.
-type heard() :: ok | {stop, beamai_error:t()}.
%% Maps with binary keys, but for an error that the door makes itself.
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

%% Runs a call and waits for its answer. Nothing of it is left in the mailbox.
-callback call(beamai_env:t(), call(), options()) -> answer().

%% @doc When the door's own clock takes over.
-spec deadline(options()) -> deadline().
deadline(#{timeout := infinity}) -> infinity;
deadline(#{timeout := Timeout}) when is_integer(Timeout) ->
    erlang:monotonic_time(millisecond) + Timeout + ?GRACE_MS.

%% @doc Milliseconds until then, at most as many as a receive can wait.
-spec left(deadline()) -> timeout().
left(infinity) -> infinity;
left(Deadline) when is_integer(Deadline) ->
    min(?LONGEST_MS, max(0, Deadline - erlang:monotonic_time(millisecond))).

%% @doc Hands a progress message of the native side to whoever wants it, in this process.
-spec progress(Encoded :: binary(), options()) -> heard().
progress(Encoded, #{on_progress := Hear}) ->
    beamai_guard:nested(fun() -> Hear(binary_to_term(Encoded, [safe])) end);
progress(_Encoded, _Options) ->
    ok.

%% @doc The error of a call that the native side did not end in time.
-spec late(Tool :: binary(), Timeout :: pos_integer()) -> beamai_error:t().
late(Tool, Timeout) ->
    Message = [
        Tool, " did not keep its timeout of ", integer_to_binary(Timeout),
        " ms and was stopped from outside"
    ],
    beamai_error:new(Tool, timeout, timeout, Message, #{timeout_ms => Timeout}).

%% @doc The error of a call that was told to stop and does not answer.
-spec stuck(Tool :: binary()) -> beamai_error:t().
stuck(Tool) ->
    Message = [Tool, " was told to stop and has not answered; its work may still be going on"],
    beamai_error:new(Tool, execution_failed, door_lost, Message).

%% @doc The error of a call that the native side had no room for.
-spec busy(Tool :: binary()) -> beamai_error:t().
busy(Tool) ->
    Message = [Tool, ": too many calls are waiting; try again later"],
    beamai_error:new(Tool, execution_failed, busy, Message).
