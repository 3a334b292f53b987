%% @doc The NIF door: short calls run in the caller's process, long ones as jobs on native threads that answer by
%% message.
%% @hidden
-module(beamai_door_nif).
-behaviour(beamai_door).

-export([call/3]).

%% Timeout for the answer of a cancelled job, in milliseconds.
-define(GRACE_MS, 5000).

%% @doc Runs a call; see {@link beamai_door}.
-spec call(beamai_env:t(), beamai_door:call(), beamai_door:options()) -> beamai_door:answer().
call(Env, Call, #{pace := Pace} = Options) ->
    Encoded = term_to_binary(Call),
    case at_once(Pace, Env, Encoded) of
        defer -> start(Env, Encoded, Call, Options);
        Reply -> binary_to_term(Reply, [safe])
    end.

at_once(Pace, Env, Encoded) when Pace =:= instant; Pace =:= cached ->
    case beamai_nif:call_now(Env, Encoded) of
        defer -> beamai_nif:call(Env, Encoded);
        Reply -> Reply
    end;
at_once(bounded, Env, Encoded) ->
    beamai_nif:call(Env, Encoded);
at_once(long, _Env, _Encoded) ->
    defer.

start(Env, Encoded, #{tool := Tool}, #{run := Run} = Options) ->
    Tag = tag(Run),
    case beamai_nif:start(Env, Encoded, Tag) of
        {ok, Job} ->
            Answer = wait(Tool, Job, Tag, beamai_door:deadline(Options), Options),
            flush_progress(Tag),
            Answer;
        busy ->
            {error, beamai_door:busy(Tool)}
    end.

tag(none) -> make_ref();
tag(Run) -> Run.

wait(Tool, Job, Tag, Deadline, #{timeout := Timeout} = Options) ->
    receive
        {Tag, Reply} when is_binary(Reply) ->
            binary_to_term(Reply, [safe]);
        {Tag, progress, Progress} ->
            case beamai_door:progress(Progress, Options) of
                {stop, Error} -> stop(Tool, Job, Tag, Error);
                _Heard -> reported(Tool, Job, Tag, Deadline, Options)
            end;
        {Tag, cancelled} ->
            beamai_runs:keep(Tag),
            stop(Tool, Job, Tag, beamai_error:cancelled(Tool))
    after beamai_door:left(Deadline) ->
        stop(Tool, Job, Tag, beamai_door:late(Tool, Timeout))
    end.

%% Progress that came before the answer or the cancellation of a call that is over is dropped.
reported(Tool, Job, Tag, Deadline, Options) ->
    case {beamai_runs:cancelled(Tag), beamai_door:is_over(Deadline)} of
        {true, _} ->
            stop(Tool, Job, Tag, beamai_error:cancelled(Tool));
        {false, false} ->
            wait(Tool, Job, Tag, Deadline, Options);
        {false, true} ->
            receive
                {Tag, Reply} when is_binary(Reply) -> binary_to_term(Reply, [safe])
            after beamai_door:left(Deadline) ->
                stop(Tool, Job, Tag, beamai_door:late(Tool, maps:get(timeout, Options)))
            end
    end.

%% A job that could not be stopped in time has finished; its result is the answer.
stop(Tool, Job, Tag, Error) ->
    ok = beamai_nif:cancel(Job),
    receive
        {Tag, Reply} when is_binary(Reply) ->
            case binary_to_term(Reply, [safe]) of
                {error, _} -> {error, Error};
                Answer -> Answer
            end
    after ?GRACE_MS -> {error, beamai_door:stuck(Tool)}
    end.

flush_progress(Tag) ->
    receive
        {Tag, progress, _} -> flush_progress(Tag)
    after 0 -> ok
    end.
