%% @doc The caller's side of a call on another node.
%%
%% The calling process starts a process on the other node, which runs the call ({@link beamai_node_serve}), and waits
%% for it. Meanwhile it serves the call's requests to the host: approvals, questions, sub-agents, the chat model,
%% progress. Messages arrive at an alias, so none arrives after the call. The other node enforces the timeout; the timer
%% here is for a node that does not answer.
%%
%% The other node asks before the tool begins ({@link beamai_node_begin}). Until it was told to, nothing has been done, and
%% nothing will be: a call that is over by then ends without waiting for it.
%% @hidden
-module(beamai_node_call).

-include("beamai_plan.hrl").

-export([run/6]).
-export_type([request/0, asked/0]).

%% Time for the other node's answer beyond the timeout, and after a cancellation, in milliseconds.
-define(GRACE_MS, 5000).

%% What is sent to the other node.
-type request() :: #{
    version := binary() | unknown,
    kernel := beamai_kernel:kernel(),
    plan := #plan{},
    args := term(),
    context := beamai_context:t(),
    %% The process whose session is used if the context names none.
    caller := pid(),
    %% The remaining time of the run's budget, in milliseconds.
    left := timeout(),
    can_ask := boolean(),
    has_progress := boolean(),
    has_model := boolean()
}.
%% Requests of the other node.
-type asked() ::
    {approve, beamai_approval:request()}
    | {ask_user, [term()]}
    | {delegate, Work :: map()}
    | {consult, Question :: map()}.

-record(call, {
    node :: node(),
    kernel :: beamai_kernel:kernel(),
    plan :: #plan{},
    context :: beamai_context:t(),
    run :: reference() | none,
    tag :: reference(),
    %% The spawn request, which is also the monitor of the remote process.
    monitor :: reference(),
    pid = none :: none | pid(),
    %% Whether the other node was told to begin.
    has_begun = false :: boolean(),
    %% Monotonic milliseconds.
    deadline :: integer() | infinity,
    %% Why it was stopped.
    stopped = none :: none | beamai_error:t()
}).

%% @doc Runs one attempt of the call on the node.
-spec run(node(), beamai_kernel:kernel(), #plan{}, Args :: term(), beamai_context:t(), reference() | none) ->
    beamai_call:result().
run(Node, Kernel, #plan{name = Name} = Plan, Args, Context, Run) ->
    case {beamai_runs:cancelled(Run), beamai_budget:is_time_over(Context)} of
        {true, _} -> {error, beamai_error:cancelled(Name)};
        {false, true} -> {error, beamai_error:out_of_time(Name)};
        {false, false} -> start(Node, Kernel, Plan, Args, Context, Run)
    end.

start(Node, Kernel, Plan, Args, Context, Run) ->
    Tag = erlang:alias([explicit_unalias]),
    Request = request(Kernel, Plan, Args, Context),
    %% Does not block while the nodes connect.
    Monitor = erlang:spawn_request(Node, beamai_node_serve, start, [self(), Tag, Request], [monitor]),
    Call = #call{
        node = Node, kernel = Kernel, plan = Plan, context = Context, run = Run, tag = Tag, monitor = Monitor,
        deadline = deadline(beamai_budget:in_time(timeout(Plan, Args), Context))
    },
    try
        wait(Call)
    after
        leave(Call)
    end.

request(Kernel, #plan{filters = _} = Plan, Args, Context) ->
    #{
        version => beamai_version:of_beams(),
        kernel => (maps:without([approve, ask_user, placement, agents], Kernel))#{tools := #{}, filters := [], agents_digest => beamai_agents:digest(Kernel)},
        plan => Plan#plan{filters = [], node = none},
        args => Args,
        context => maps:without([approve, ask_user, model, agent_events, agent_budget] ++ own_progress(Context), Context),
        caller => beamai_guard:root(),
        left => left(beamai_budget:until(maps:get(agent_budget, Context, none))),
        can_ask => beamai_approval:can_ask(Kernel, Context),
        has_progress => own_progress(Context) =/= [],
        has_model => is_map_key(model, Context)
    }.

%% A pid can be reached from any node, a fun cannot.
own_progress(#{progress := Fun}) when is_function(Fun) -> [progress];
own_progress(_Context) -> [].

timeout(#plan{runs = #native{}} = Plan, Args) when is_map(Args) -> beamai_native_call:timeout(Plan, Args);
timeout(#plan{timeout = Timeout}, _Args) -> Timeout.

deadline(infinity) -> infinity;
deadline(Ms) -> erlang:monotonic_time(millisecond) + Ms + ?GRACE_MS.

%% What has not begun gets no time beyond its own.
patience(#call{has_begun = true, deadline = Deadline}) -> left(Deadline);
patience(#call{deadline = infinity}) -> infinity;
patience(#call{deadline = Deadline}) -> left(Deadline - ?GRACE_MS).

left(infinity) -> infinity;
left(Deadline) -> max(0, Deadline - erlang:monotonic_time(millisecond)).

%%% Waiting

wait(#call{tag = Tag, monitor = Monitor, run = Run} = Call) ->
    receive
        {spawn_reply, Monitor, ok, Pid} ->
            wait(started(Pid, Call));
        {spawn_reply, Monitor, error, Reason} ->
            {error, lost(Reason, Call)};
        {Tag, {answer, Answer}} ->
            answer(Answer, Call);
        {Tag, {progress, Progress}} ->
            ok = beamai_guard:nested(fun() -> beamai_callback:progress(Progress, Call#call.context) end),
            reported(Call);
        {Tag, {ask, From, What}} ->
            asked(What, From, Call);
        {Tag, {begins, From}} ->
            begins(From, Call);
        {'DOWN', Monitor, process, _Pid, Reason} ->
            ended(Reason, Call);
        {Run, cancelled} when Run =/= none ->
            beamai_runs:keep(Run),
            stop(beamai_error:cancelled(name(Call)), Call)
    after patience(Call) ->
        late(Call)
    end.

name(#call{plan = #plan{name = Name}}) -> Name.

begins(From, Call) ->
    case {why_over(Call), patience(Call)} of
        {none, 0} ->
            late(Call);
        {none, _} ->
            beamai_callback:reply(From, begins),
            wait(Call#call{has_begun = true});
        {Error, _} ->
            unanswered(Error, From, Call)
    end.

%% Progress that came before the answer or the cancellation of a call that is over is dropped.
reported(#call{tag = Tag} = Call) ->
    case {why_over(Call), is_time_over(Call), patience(Call)} of
        {none, false, _} ->
            wait(Call);
        {none, true, 0} ->
            late(Call);
        {none, true, _} ->
            receive
                {Tag, {answer, Answer}} -> answer(Answer, Call)
            after 0 -> wait(Call)
            end;
        {Error, _, _} ->
            stop(Error, Call)
    end.

is_time_over(#call{deadline = infinity}) -> false;
is_time_over(#call{deadline = Deadline}) -> left(Deadline - ?GRACE_MS) =:= 0.

%% The time that the host takes to answer does not count, in this call and in outer ones.
served(Fun, #call{deadline = Deadline} = Call, Then) ->
    Started = erlang:monotonic_time(millisecond),
    beamai_callback:clock(stop),
    Outcome = beamai_guard:nested(Fun),
    beamai_callback:clock(go),
    Spent = erlang:monotonic_time(millisecond) - Started,
    Then(Outcome, Call#call{deadline = case Deadline of infinity -> infinity; _ -> Deadline + Spent end}).

%% Nobody is asked about a call that is over.
asked(What, From, Call) ->
    case why_over(Call) of
        none -> served(fun() -> host(What, Call) end, Call, fun(Outcome, Later) -> reply(Outcome, From, Later) end);
        Error -> unanswered(Error, From, Call)
    end.

%% If the call is over when the host has answered, the other node gets no answer, because the call would continue.
reply({ended, Error}, From, Call) ->
    unanswered(of_call(Error, Call), From, Call);
reply(Answer, From, Call) ->
    case why_over(Call) of
        none ->
            beamai_callback:reply(From, Answer),
            wait(Call);
        Error ->
            unanswered(Error, From, Call)
    end.

%% The handler may have asked about another tool.
of_call(#{tool := Tool} = Error, Call) ->
    case {Tool =:= name(Call), why_over(Call)} of
        {false, #{} = Why} -> Why;
        {_, _} -> Error
    end.

why_over(#call{context = Context, run = Run} = Call) ->
    case {beamai_runs:cancelled(Run), beamai_budget:is_time_over(Context)} of
        {true, _} -> beamai_error:cancelled(name(Call));
        {false, true} -> beamai_error:ended_by_time(name(Call));
        {false, false} -> none
    end.

unanswered(Error, From, Call) ->
    beamai_callback:reply(From, ended),
    stop(Error, Call).

%% Serves a request to the host. Sub-agents and the chat model end with the run by themselves.
host({approve, Request}, #call{kernel = Kernel, context = Context}) ->
    beamai_approval:ask_host(Request, Kernel, Context);
host({ask_user, Questions}, #call{kernel = Kernel, context = Context} = Call) ->
    {answered, beamai_callback:ask_user(Questions, {name(Call), Kernel}, Context)};
host({delegate, Work}, #call{kernel = Kernel, context = Context, run = Run} = Call) ->
    Delegate = service(delegate, Call),
    {answered, Delegate(Work, Kernel, Context, Run)};
host({consult, Question}, #call{kernel = Kernel, context = Context, run = Run} = Call) ->
    Consult = service(consult, Call),
    {answered, Consult(name(Call), Question, Kernel, Context, Run)}.

service(Name, #call{plan = #plan{runs = #native{services = Services}}}) ->
    maps:get(Name, Services).

%%% Ending

%% A stopped call may have ended before it was told so, with an effect that began after the cancellation.
answer(_Answer, #call{stopped = #{} = Why}) ->
    {error, Why};
answer({ok, Value, Changes}, #call{context = Context, run = Run} = Call) ->
    case beamai_runs:cancelled(Run) of
        true -> {error, beamai_error:cancelled(name(Call))};
        false -> {ok, Value, beamai_context:apply_changes(Changes, Context)}
    end;
answer({error, _} = Error, _Call) ->
    Error.

%% A stopped call still answers. Its cancellation stays in the mailbox for the next receive.
stop(Error, #call{has_begun = false}) ->
    {error, Error};
stop(Error, Call) ->
    stopping(tell_if_stopped(Call#call{stopped = Error, deadline = erlang:monotonic_time(millisecond) + ?GRACE_MS})).

stopping(#call{tag = Tag, monitor = Monitor} = Call) ->
    receive
        {spawn_reply, Monitor, ok, Pid} ->
            stopping(started(Pid, Call));
        {spawn_reply, Monitor, error, Reason} ->
            {error, lost(Reason, Call)};
        {Tag, {answer, Answer}} ->
            answer(Answer, Call);
        {Tag, {ask, From, _What}} ->
            beamai_callback:reply(From, ended),
            stopping(Call);
        {Tag, {begins, From}} ->
            beamai_callback:reply(From, ended),
            stopping(Call);
        {'DOWN', Monitor, process, _Pid, Reason} ->
            ended(Reason, Call)
    after left(Call#call.deadline) ->
        late(Call)
    end.

%% Stores the remote process, so that it is found however the wait ends, also by an exception in a callback.
started(Pid, #call{tag = Tag} = Call) ->
    _ = put({?MODULE, Tag}, Pid),
    tell_if_stopped(Call#call{pid = Pid}).

%% Answer and exit signal come from different processes, so their order is not guaranteed.
ended(normal, #call{tag = Tag} = Call) ->
    receive
        {Tag, {answer, Answer}} -> answer(Answer, Call)
    after ?GRACE_MS -> {error, lost(noconnection, Call)}
    end;
ended(Reason, Call) ->
    {error, lost(Reason, Call)}.

tell_if_stopped(#call{stopped = #{}, pid = Pid, tag = Tag} = Call) when is_pid(Pid) ->
    Pid ! {Tag, cancel},
    Call;
tell_if_stopped(Call) ->
    Call.

%% A broken connection is noticed late; a node that does not answer is treated as lost.
late(#call{has_begun = false, node = Node} = Call) ->
    {error, beamai_error:not_run(name(Call), timeout, timeout, ["the node ", show(Node), " did not answer in time"], #{node => Node})};
late(#call{stopped = Stopped, node = Node} = Call) ->
    Name = name(Call),
    Message = [Name, " on ", show(Node), " did not answer in time; what it was doing there may still be going on"],
    case Stopped of
        none -> {error, beamai_error:new(Name, timeout, timeout, Message, #{node => Node})};
        #{} -> {error, beamai_error:new(Name, execution_failed, node_lost, Message, #{node => Node})}
    end.

lost(Reason, #call{node = Node, stopped = Stopped} = Call) ->
    Name = name(Call),
    case {Reason, Stopped} of
        {noconnection, _} ->
            beamai_session_nodes:lost(Node),
            gone(Name, Node, Call#call.has_begun);
        {{undef, [{beamai_node_serve, start, _, _} | _]}, _} ->
            not_run(Name, Node, "does not have beamai");
        {_, #{}} ->
            Stopped;
        _ ->
            Message = ["the process of ", Name, " on ", show(Node), " ended: ", beamai_exception:ended(Reason, none)],
            beamai_error:new(Name, execution_failed, crash, Message, #{node => Node, class => exit, exception => Reason})
    end.

gone(Name, Node, true) ->
    Message = ["the node ", show(Node), " was lost while ", Name, " was running"],
    beamai_error:new(Name, execution_failed, node_lost, Message, #{node => Node});
gone(Name, Node, false) ->
    not_run(Name, Node, "is not there").

not_run(Name, Node, Why) ->
    beamai_error:not_run(Name, execution_failed, node_lost, ["the node ", show(Node), " ", Why], #{node => Node}).

show(Node) -> beamai_error:show(Node, 80).

%% Drops all further messages of the call, and ends what still runs of it.
leave(#call{tag = Tag, monitor = Monitor}) ->
    _ = erlang:unalias(Tag),
    _ = case erase({?MODULE, Tag}) of
        undefined -> erlang:spawn_request_abandon(Monitor);
        Pid -> Pid ! {Tag, leave}
    end,
    true = erlang:demonitor(Monitor, [flush]),
    flush(Tag, Monitor).

flush(Tag, Monitor) ->
    receive
        {Tag, _} -> flush(Tag, Monitor);
        {spawn_reply, Monitor, ok, Pid} -> Pid ! {Tag, leave}, flush(Tag, Monitor);
        {spawn_reply, Monitor, error, _} -> flush(Tag, Monitor)
    after 0 -> ok
    end.
