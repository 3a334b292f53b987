%% @doc The host's callbacks: `approve', `ask_user' and `progress'.
%%
%% They run in the process that called the kernel: a worker of `invoke_all' asks that process to run them, and a handler
%% that asks something stops the clock of its call. In the run of an agent, `approve' and `ask_user' run in a separate
%% process that the run waits for, and so does `approve' for a running command.
-module(beamai_callback).

-export([run/2, clock/1, serve/3, answer_to/3, reply/2, settings/0, settings/2]).
-export([ask_user/2, ask_user/3, progress/2, event/2, waiting/3]).
-export_type([events/0]).

%% Requests of a handler or worker to the process that it works for.
-type what() :: {run, fun(() -> term()), beamai_host_call:ends()} | {ask_user, [term()]} | {progress, map()} | {event, term(), events()} | settings.
%% The process of an agent's run, and its function for events of calls.
-type events() :: {pid(), fun((term()) -> ok | {error, term()})}.
-type settings() :: {{ok, beamai_env:t()} | {error, beamai_error:t()}, auto | nif | port}.

%% @private Runs a callback in the right process, and returns its value, or what ended it early. The time does not count
%% towards any timeout. An exception is raised here only if the callback runs in this process; otherwise it is caught
%% there.
-spec run(fun(() -> Result), beamai_host_call:ends()) -> beamai_host_call:outcome(Result).
run(Fun, Ends) ->
    case beamai_guard:upstream() of
        none -> beamai_host_call:run(Fun, Ends);
        {worker, Caller, Tag} -> request(Caller, Tag, {run, Fun, Ends});
        {handler, Caller, Tag} -> with_clock_stopped(Caller, Tag, fun() -> beamai_host_call:run(Fun, Ends) end)
    end.

with_clock_stopped(Caller, Tag, Fun) ->
    Caller ! {Tag, {clock, stop}},
    try
        Fun()
    after
        Caller ! {Tag, {clock, go}}
    end.

%% @private Stops or restarts the clock of the call that the calling process works for.
-spec clock(stop | go) -> ok.
clock(StopOrGo) ->
    case beamai_guard:upstream() of
        none ->
            ok;
        {_Kind, Caller, Tag} ->
            Caller ! {Tag, {clock, StopOrGo}},
            ok
    end.

%% @private The settings, for the native side, of the kernel whose handler the calling process runs, and its door.
%% `none' in a process that runs no handler.
-spec settings() -> settings() | none.
settings() ->
    case beamai_guard:upstream() of
        none -> none;
        {_Kind, Caller, Tag} -> request(Caller, Tag, settings)
    end.

%% @private The settings of a given kernel.
-spec settings(beamai_kernel:kernel(), beamai_context:t()) -> settings().
settings(#{door := Door} = Kernel, Context) ->
    {beamai_env:in_workspace(Kernel, Context), Door}.

%% @doc Asks the user from a handler: runs the `ask_user' callback of the context, or else of the kernel, in the process
%% that called the kernel. The time does not count towards the handler's timeout. `no_frontend' if there is no callback.
-spec ask_user(Questions :: [term()], beamai_context:t()) ->
    {ok, term()} | cancelled | no_frontend.
ask_user(Questions, Context) ->
    case beamai_guard:upstream() of
        none -> asked(Questions, #{}, Context);
        {_Kind, Caller, Tag} -> request(Caller, Tag, {ask_user, Questions})
    end.

%% @doc As {@link ask_user/2}, for a call of this kernel that has done nothing yet: the kernel's own `ask_user' takes
%% precedence over that of an outer call.
-spec ask_user(Questions :: [term()], {Tool :: binary(), beamai_kernel:kernel()}, beamai_context:t()) ->
    {ok, term()} | cancelled | no_frontend.
ask_user(Questions, {Tool, Kernel}, Context) ->
    case callback(ask_user, Kernel, Context) of
        none -> ask_user(Questions, Context);
        AskUser -> waited(watched(AskUser, #{questions => Questions, tool => Tool}, Context))
    end.

%% @doc Reports progress of a call from a handler: to the context's `progress', a pid, which receives `{beamai_progress,
%% RunId, Progress}', or a fun, which runs in the calling process.
-spec progress(Progress :: map(), beamai_context:t()) -> ok.
progress(Progress, #{progress := Pid} = Context) when is_pid(Pid) ->
    Pid ! {beamai_progress, beamai_context:get(run_id, Context), Progress},
    ok;
progress(Progress, #{progress := Fun} = Context) when is_function(Fun, 1) ->
    Named = of_call(Progress, Context),
    case beamai_guard:upstream() of
        none -> report(Fun, Named);
        {_Kind, Caller, Tag} -> request(Caller, Tag, {progress, Named})
    end;
progress(_Progress, _Context) ->
    ok.

%% Calls of an agent run in parallel, so their events are tagged.
of_call(#{agent := _, event := _} = Event, _Context) -> Event;
of_call(Progress, #{call_id := Id}) when not is_map_key(call_id, Progress) -> Progress#{call_id => Id};
of_call(Progress, _Context) -> Progress.

%% @private Reports an event of a call to its agent's run, in the run's process. Does nothing outside of a run. Returns
%% an error if the run could not store the event.
-spec event(term(), beamai_context:t()) -> ok | {error, term()}.
event(Event, #{agent_events := Events}) -> deliver(Event, Events);
event(_Event, _Context) -> ok.

deliver(Event, {Pid, Fun}) when Pid =:= self() ->
    Fun(Event);
deliver(Event, Events) ->
    case beamai_guard:upstream() of
        none -> ok;
        {_Kind, Caller, Tag} -> request(Caller, Tag, {event, Event, Events})
    end.

%% @private Runs something that waits for a person within an agent's call, and reports it before and after: `About' is
%% the request, `Answer' maps the outcome to its name. If the run's store fails, the call must not continue.
-spec waiting(About :: map(), beamai_context:t(), {fun(() -> Outcome), Answer :: fun((Outcome) -> atom())}) ->
    Outcome | {unrecorded, Reason :: term()}.
waiting(#{for := For} = About, #{agent_events := _} = Context, {Wait, Answer}) ->
    Id = beamai_context:get(call_id, Context),
    case event({waiting, About#{call_id => Id}}, Context) of
        ok ->
            Started = erlang:monotonic_time(microsecond),
            Outcome = Wait(),
            Duration = erlang:monotonic_time(microsecond) - Started,
            Waited = #{for => For, call_id => Id, answer => Answer(Outcome), duration_us => Duration},
            told(event({waited, Waited}, Context), Outcome);
        {error, Reason} ->
            {unrecorded, Reason}
    end;
waiting(_About, _Context, {Wait, _Answer}) ->
    Wait().

told(ok, Outcome) -> Outcome;
told({error, Reason}, _Outcome) -> {unrecorded, Reason}.

request(Caller, Tag, What) ->
    Reply = make_ref(),
    Caller ! {Tag, {callback, {self(), Reply}, What}},
    receive
        {Reply, Answer} -> Answer
    end.

%% @private Serves a request of a worker in the process that waits for it. Nobody is asked after a cancellation, and no
%% progress is reported of calls that are over.
-spec serve({pid(), reference()}, what(), {beamai_kernel:kernel(), beamai_context:t(), IsCancelled :: boolean()}) -> ok.
serve(From, {run, _Fun, _Ends}, {_Kernel, _Context, true}) ->
    reply(From, cancelled);
serve(From, {ask_user, _Questions}, {_Kernel, _Context, true}) ->
    reply(From, cancelled);
serve(From, {progress, _Progress} = What, {Kernel, Context, IsCancelled}) ->
    case IsCancelled orelse beamai_budget:is_time_over(Context) of
        true -> reply(From, ok);
        false -> reply(From, answer_to(What, Kernel, Context))
    end;
serve(From, What, {Kernel, Context, _IsCancelled}) ->
    reply(From, answer_to(What, Kernel, Context)).

%% @private What the host answers to a request of a handler, in the process that waits for the handler.
-spec answer_to(what(), beamai_kernel:kernel(), beamai_context:t()) -> term().
answer_to(What, Kernel, Context) ->
    beamai_guard:nested(fun() -> do(What, Kernel, Context) end).

%% @private Passes on the host's answer.
-spec reply({pid(), reference()}, Answer :: term()) -> ok.
reply({Pid, Reply}, Answer) ->
    Pid ! {Reply, Answer},
    ok.

do({run, Fun, Ends}, _Kernel, Context) -> run(Fun, Ends ++ beamai_host_call:ends(Context));
do({ask_user, Questions}, Kernel, Context) -> asked(Questions, Kernel, Context);
do({progress, Progress}, _Kernel, Context) -> progress(Progress, Context);
do({event, Event, Events}, _Kernel, _Context) -> deliver(Event, Events);
do(settings, Kernel, Context) -> settings(Kernel, Context).

asked(Questions, Kernel, Context) ->
    case callback(ask_user, Kernel, Context) of
        none -> no_frontend;
        AskUser -> waited(watched(AskUser, #{questions => Questions}, Context))
    end.

watched(AskUser, #{questions := Questions} = About, Context) ->
    Ask = fun() -> run(fun() -> answer(AskUser, Questions) end, beamai_host_call:ends(Context)) end,
    waiting(About#{for => question}, Context, {Ask, fun answer_name/1}).

answer_name({value, {ok, _}}) -> answered;
answer_name({value, Other}) -> Other;
answer_name({died, _}) -> cancelled;
answer_name(Ended) -> Ended.

%% The requesting process notices a cancelled run, or a used-up time budget, itself.
waited({value, Answer}) -> Answer;
waited(cancelled) -> cancelled;
waited(out_of_time) -> cancelled;
waited({unrecorded, _Reason}) -> cancelled;
waited({died, Reason}) ->
    logger:error("beamai: the process of the ask_user callback ended: ~ts", [beamai_exception:ended(Reason, none)]),
    cancelled.

answer(AskUser, Questions) ->
    try
        answered(AskUser(Questions))
    catch
        Class:Reason:Stack ->
            beamai_crash:log_callback("the ask_user callback", Class, Reason, Stack, AskUser),
            cancelled
    end.

answered({ok, Answers}) -> {ok, Answers};
answered(cancelled) -> cancelled;
answered(no_frontend) -> no_frontend;
answered(Other) ->
    logger:error("beamai: the ask_user callback answered ~ts; it answers ~ts", [
        beamai_error:show(Other, 200),
        beamai_syntax:either("{ok, Answers}, cancelled or no_frontend", "{:ok, answers}, :cancelled or :no_frontend")
    ]),
    cancelled.

callback(Name, Kernel, Context) ->
    case Context of
        #{Name := Callback} when Callback =/= undefined -> Callback;
        #{} -> maps:get(Name, Kernel, none)
    end.

report(Fun, Progress) ->
    try
        _ = Fun(Progress),
        ok
    catch
        Class:Reason:Stack -> beamai_crash:log_callback("the progress callback", Class, Reason, Stack, Fun)
    end.
