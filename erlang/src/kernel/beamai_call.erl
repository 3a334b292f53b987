%% @doc Runs an Erlang handler in a process of its own, for one attempt.
%%
%% The caller waits under a tag, a reference. The messages of a call are:
%%
%% <ul>
%% <li>`{Tag, Outcome}' from the handler process when the handler has returned or raised;</li>
%% <li>`{Tag, unguarded}' from the handler process if it has done nothing, because no guard could end it;</li>
%% <li>`{\'DOWN\', Monitor, process, Handler, Reason}' when that process has exited;</li>
%% <li>`{Tag, cancelled}' from {@link beamai_runs:cancel/1};</li>
%% <li>`{Tag, {clock, stop | go}}' around questions asked in nested calls, whose time does not count;</li>
%% <li>`{Tag, {callback, {Pid, Reply}, What}}' to run a callback of the host in this process.</li>
%% </ul>
%%
%% All of them have been removed from the mailbox when the call returns.
%%
%% An attempt does not read the clock, which would cost about 5 percent of its time: the receive timeout of the VM
%% measures it. Only when another message arrives, a question or progress, the remaining time is measured from then on.
%% @hidden
-module(beamai_call).

-export([run/6, answer/3]).
-export_type([result/0, try_result/0]).

-type result() ::
    {ok, term(), beamai_context:t()} | {error, beamai_error:t() | term()}.
-type try_result() :: {ok, term(), beamai_context:t()} | {error, term()}.

-record(call, {
    kernel :: beamai_kernel:kernel(),
    name :: binary(),
    code :: beamai_tool:handler(),
    context :: beamai_context:t(),
    tag :: reference(),
    handler :: pid(),
    monitor :: reference(),
    timeout :: timeout()
}).

%% @doc Runs the handler of tool `Name' once. `Timeout' is in milliseconds. `Run' is the tag from {@link
%% beamai_runs:enter/1}, or `none' for a call that cannot be cancelled by a run id.
-spec run(
    beamai_kernel:kernel(),
    {Name :: binary(), beamai_tool:handler()},
    Args :: map(),
    beamai_context:t(),
    timeout(),
    Run :: reference() | none
) -> try_result().
run(Kernel, Tool, Args, Context, Timeout, none) ->
    start(beamai_guard:ready(), Kernel, Tool, Args, Context, Timeout, make_ref());
run(Kernel, Tool, Args, Context, Timeout, Run) ->
    start(beamai_guard:ready(), Kernel, Tool, Args, Context, Timeout, Run).

start(Guard, Kernel, {Name, Handler} = Tool, Args, Context, Timeout, Tag) ->
    {Pid, Monitor} = spawn_monitor(beamai_guard, handler, [Guard, self(), Tag, fun ?MODULE:answer/3, [Handler, Args, Context]]),
    receive
        {Tag, {ok, Result}} ->
            gone(Guard, Tag, Monitor),
            {ok, Result, Context};
        {Tag, unguarded} ->
            gone(Guard, Tag, Monitor),
            start(beamai_guard:ready_again(), Kernel, Tool, Args, Context, Timeout, Tag);
        {Tag, Body} ->
            Call = #call{
                kernel = Kernel,
                name = Name,
                code = Handler,
                context = Context,
                tag = Tag,
                handler = Pid,
                monitor = Monitor,
                timeout = Timeout
            },
            Outcome = received(Body, Call, Timeout),
            clear(Guard, Tag),
            Outcome;
        {'DOWN', Monitor, process, Pid, Reason} ->
            clear(Guard, Tag),
            {error, killed(Name, Reason, Handler)}
    after Timeout ->
        stop(Pid, Tag, Monitor),
        clear(Guard, Tag),
        {error, timed_out(Name, Timeout)}
    end.

%% The handler has answered, and its process is about to exit.
gone(Guard, Tag, Monitor) ->
    receive
        {'DOWN', Monitor, process, _Pid, _Reason} -> ok
    end,
    clear(Guard, Tag).

clear({nested, _Table}, Tag) -> beamai_guard:unwatch(Tag);
clear(_Table, _Tag) -> ok.

%%% The handler process

%% @private The body of the handler's message to the caller.
-spec answer(beamai_tool:handler(), map(), beamai_context:t()) -> term().
answer(Handler, Args, Context) ->
    try call_handler(Handler, Args, Context) of
        {ok, _Result} = Ok -> Ok;
        {ok, _Result, Next} = Ok when is_map(Next) -> Ok;
        {error, _Reason} = Error -> Error;
        Other -> {bad_return, beamai_error:show(Other, 200)}
    catch
        Class:Reason:Stack ->
            Said = unicode:characters_to_binary(beamai_exception:describe(Class, Reason, Stack, Handler)),
            {raised, Said, #{class => Class, exception => Reason, stacktrace => beamai_crash:short_stack(Stack)}}
    end.

call_handler(Handler, Args, Context) when is_function(Handler, 2) -> Handler(Args, Context);
call_handler(Handler, Args, _Context) when is_function(Handler, 1) -> Handler(Args);
call_handler({M, F}, Args, Context) -> M:F(Args, Context);
call_handler({M, F, Extra}, Args, Context) -> apply(M, F, [Args, Context | Extra]).

%%% The caller, off the short path

%% The time of a question does not count towards the timeout, but towards the budget of an agent's run.
wait(#call{tag = Tag, monitor = Monitor, context = Context} = Call, OfTimeout) ->
    Left = beamai_budget:in_time(OfTimeout, Context),
    Started = erlang:monotonic_time(millisecond),
    receive
        {Tag, Body} ->
            received(Body, Call, left(Left, Started));
        {'DOWN', Monitor, process, _Pid, Reason} ->
            {error, killed(Call#call.name, Reason, Call#call.code)}
    after Left -> late(Call)
    end.

late(#call{name = Name, timeout = Timeout, context = Context} = Call) ->
    case beamai_budget:is_time_over(Context) of
        true -> ended(beamai_error:ended_by_time(Name), Call);
        false -> ended(timed_out(Name, Timeout), Call)
    end.

left(infinity, _Started) ->
    infinity;
left(Left, Started) ->
    max(0, Left - (erlang:monotonic_time(millisecond) - Started)).

received(cancelled, #call{tag = Tag, name = Name} = Call, _Left) ->
    beamai_runs:keep(Tag),
    ended(beamai_error:cancelled(Name), Call);
received({clock, stop}, Call, Left) ->
    beamai_callback:clock(stop),
    stopped(Call, Left, 1);
received({clock, go}, Call, Left) ->
    wait(Call, Left);
received({callback, From, What}, Call, Left) ->
    case served(From, What, Call, Left) of
        {answered, Rest} -> wait(Call, Rest);
        {error, _} = Ended -> Ended
    end;
received(Outcome, #call{monitor = Monitor} = Call, _Left) ->
    receive
        {'DOWN', Monitor, process, _Pid, _Reason} -> outcome(Outcome, Call)
    end.

%% If the call is over when a callback of the host returns, the handler gets no answer, because it would continue.
served(From, What, #call{name = Name, tag = Tag, context = Context} = Call, Left) ->
    Started = erlang:monotonic_time(millisecond),
    Answer = beamai_callback:answer_to(What, Call#call.kernel, Context),
    case {beamai_runs:cancelled(Tag), beamai_budget:is_time_over(Context), rest(What, Left, Started)} of
        {true, _, _} ->
            ended(beamai_error:cancelled(Name), Call);
        {false, true, _} ->
            ended(beamai_error:ended_by_time(Name), Call);
        {false, false, 0} ->
            late(Call);
        {false, false, Rest} ->
            beamai_callback:reply(From, Answer),
            {answered, Rest}
    end.

%% Only the time of questions does not count.
rest({run, _Fun, _Ends}, Left, _Started) -> Left;
rest({ask_user, _Questions}, Left, _Started) -> Left;
rest(_Report, Left, Started) -> left(Left, Started).

ended(Error, #call{tag = Tag, handler = Handler, monitor = Monitor}) ->
    stop(Handler, Tag, Monitor),
    {error, Error}.

%% While a question in a nested call is being answered, the clocks of this call and of its callers are stopped.
stopped(Call, Left, 0) ->
    beamai_callback:clock(go),
    wait(Call, Left);
stopped(#call{tag = Tag, monitor = Monitor, context = Context} = Call, Left, Depth) ->
    receive
        {Tag, {clock, stop}} ->
            stopped(Call, Left, Depth + 1);
        {Tag, {clock, go}} ->
            stopped(Call, Left, Depth - 1);
        {Tag, {callback, From, What}} ->
            case served(From, What, Call, infinity) of
                {answered, infinity} ->
                    stopped(Call, Left, Depth);
                {error, _} = Ended ->
                    beamai_callback:clock(go),
                    Ended
            end;
        {Tag, Body} ->
            beamai_callback:clock(go),
            received(Body, Call, Left);
        {'DOWN', Monitor, process, _Pid, Reason} ->
            beamai_callback:clock(go),
            {error, killed(Call#call.name, Reason, Call#call.code)}
    after beamai_budget:in_time(infinity, Context) ->
        beamai_callback:clock(go),
        ended(beamai_error:ended_by_time(Call#call.name), Call)
    end.

%% Kills the handler and removes its messages from the mailbox. A cancellation is kept.
stop(Pid, Tag, Monitor) ->
    exit(Pid, kill),
    receive
        {'DOWN', Monitor, process, _Pid, _Reason} -> flush(Tag)
    end.

flush(Tag) ->
    receive
        {Tag, Body} when Body =/= cancelled -> flush(Tag)
    after 0 -> ok
    end.

%%% Outcomes

outcome({ok, Result}, Call) ->
    {ok, Result, Call#call.context};
%% Context keys that the handler leaves out keep their values.
outcome({ok, Result, Changed}, #call{context = Context}) ->
    {ok, Result, beamai_context:merge(Context, Changed)};
outcome({error, Reason}, #call{name = Name}) ->
    {error, beamai_error:of_handler(Name, Reason)};
outcome({bad_return, Shown}, #call{name = Name}) ->
    Message = [
        "the handler of ", Name, " returned ", Shown,
        beamai_syntax:either(
            "; a handler returns {ok, Result}, {ok, Result, Context} or {error, Reason}",
            "; a handler returns {:ok, result}, {:ok, result, context} or {:error, reason}"
        )
    ],
    {error, beamai_error:new(Name, execution_failed, crash, Message)};
outcome({raised, Said, Details}, #call{name = Name}) ->
    {error, beamai_error:new(Name, execution_failed, crash, ["the handler of ", Name, " raised ", Said], Details)}.

killed(Name, Reason, Handler) ->
    Message = ["the process of ", Name, " ended before the handler returned: ", beamai_exception:ended(Reason, Handler)],
    beamai_error:new(Name, execution_failed, crash, Message, #{class => exit, exception => Reason}).

timed_out(Name, Timeout) ->
    Message = [
        Name, " did not finish within ", integer_to_binary(Timeout),
        " ms; its process has been killed"
    ],
    beamai_error:new(Name, timeout, timeout, Message, #{timeout_ms => Timeout}).
