%% @doc The host's callbacks: `approve', `ask_user' and `progress'.
%%
%% They run in the process that called the kernel. A worker of `invoke_all' has that process run
%% them; a handler that asks something stops the clock of its own call meanwhile. Within the run of an agent, `approve'
%% and `ask_user' run in a process that this process waits for, and so does `approve' for a command that is running.
-module(beamai_callback).

-export([run/2, clock/1, serve/4, settings/0, settings/2, ask_user/2, ask_user/3, progress/2, event/2, waiting/3]).
-export_type([events/0]).

%% What a handler or worker may ask of the process it works for.
-type what() :: {run, fun(() -> term()), beamai_host_call:ends()} | {ask_user, [term()]} | {progress, map()} | {event, term(), events()} | settings.
%% The process of an agent's run, and what it does with events of its calls.
-type events() :: {pid(), fun((term()) -> ok | {error, term()})}.
-type settings() :: {{ok, beamai_env:t()} | {error, beamai_error:t()}, auto | nif | port}.

%% @private Runs a callback where it belongs, until one of these ends it, and returns its value, or what ended it. Its time
%% counts for no call's timeout. An exception in it is raised here again only if it runs here: callers catch inside.
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

%% @private Stops the clock of the call that the calling process works for, or lets it go on.
-spec clock(stop | go) -> ok.
clock(StopOrGo) ->
    case beamai_guard:upstream() of
        none ->
            ok;
        {_Kind, Caller, Tag} ->
            Caller ! {Tag, {clock, StopOrGo}},
            ok
    end.

%% @private What the native side has to know of the kernel whose handler the calling process runs, and its
%% door. `none' in a process that runs no handler.
-spec settings() -> settings() | none.
settings() ->
    case beamai_guard:upstream() of
        none -> none;
        {_Kind, Caller, Tag} -> request(Caller, Tag, settings)
    end.

%% @private The same of a given kernel.
-spec settings(beamai_kernel:kernel(), beamai_context:t()) -> settings().
settings(#{door := Door} = Kernel, Context) ->
    {beamai_env:in_workspace(Kernel, Context), Door}.

%% @doc Asks the user, from within a handler: the context's `ask_user', else the kernel's, runs in
%% the process that called the kernel. The time does not count for the handler's timeout.
%% `no_frontend' where there is nobody to ask.
-spec ask_user(Questions :: [term()], beamai_context:t()) ->
    {ok, term()} | cancelled | no_frontend.
ask_user(Questions, Context) ->
    case beamai_guard:upstream() of
        none -> asked(Questions, #{}, Context);
        {_Kind, Caller, Tag} -> request(Caller, Tag, {ask_user, Questions})
    end.

%% @doc As {@link ask_user/2}, for a call of this kernel that has done nothing yet: its own `ask_user' comes before that
%% of the call which this one is part of.
-spec ask_user(Questions :: [term()], {Tool :: binary(), beamai_kernel:kernel()}, beamai_context:t()) ->
    {ok, term()} | cancelled | no_frontend.
ask_user(Questions, {Tool, Kernel}, Context) ->
    case callback(ask_user, Kernel, Context) of
        none -> ask_user(Questions, Context);
        AskUser -> waited(watched(AskUser, #{questions => Questions, tool => Tool}, Context))
    end.

%% @doc Reports progress of a call from within a handler: to the context's `progress', a pid, which
%% gets `{beamai_progress, RunId, Progress}', or a fun, which runs in the calling process.
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

%% Calls of an agent run side by side.
of_call(#{agent := _, event := _} = Event, _Context) -> Event;
of_call(Progress, #{call_id := Id}) when not is_map_key(call_id, Progress) -> Progress#{call_id => Id};
of_call(Progress, _Context) -> Progress.

%% @private Tells the run of the agent that a call belongs to what happens in it, in the run's own process. Outside of runs
%% nobody hears it. The error is that the run could not store it.
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

%% @private Runs what waits for a person within a call of an agent, and tells of it before and after: `About' is what is
%% asked, `Answer' says how the outcome is called. Where it cannot be told because the run's store fails, the call must
%% not go on.
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

%% @private Runs what a handler or worker asked for, in the process that waits for it, and answers.
-spec serve({pid(), reference()}, what(), beamai_kernel:kernel(), beamai_context:t()) -> ok.
serve({Pid, Reply}, What, Kernel, Context) ->
    Answer = beamai_guard:nested(fun() -> do(What, Kernel, Context) end),
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

%% Whoever asked finds the run cancelled, or its time over, by itself.
waited({value, Answer}) -> Answer;
waited(cancelled) -> cancelled;
waited(out_of_time) -> cancelled;
waited({unrecorded, _Reason}) -> cancelled;
waited({died, Reason}) ->
    logger:error("beamai: the process of the ask_user callback ended: ~0tp", [Reason]),
    cancelled.

answer(AskUser, Questions) ->
    try
        answered(AskUser(Questions))
    catch
        Class:Reason:Stack ->
            complain("ask_user", Class, Reason, Stack),
            cancelled
    end.

answered({ok, Answers}) -> {ok, Answers};
answered(cancelled) -> cancelled;
answered(no_frontend) -> no_frontend;
answered(Other) -> error({bad_ask_user_answer, Other}).

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
        Class:Reason:Stack -> complain("progress", Class, Reason, Stack)
    end.

complain(Name, Class, Reason, Stack) ->
    logger:error("beamai: the ~ts callback raised ~p:~0tp at ~0tp", [
        Name, Class, Reason, beamai_crash:short_stack(Stack)
    ]).
