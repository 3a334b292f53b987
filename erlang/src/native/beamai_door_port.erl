%% @doc The door through the port program.
%%
%% The calling process writes its frame to the port itself. The port's owner routes the reply to an alias of the caller,
%% which is the tag of all messages of the call.
%% @hidden
-module(beamai_door_port).
-behaviour(beamai_door).

-export([call/3]).

%% Timeout for the answer of a cancelled call, in milliseconds.
-define(GRACE_MS, 5000).
%% Delay before writing to a busy port again, in milliseconds.
-define(BUSY_MS, 2).
%% The program exits on a longer frame, which would end all other calls too. 1024 bytes are reserved for the id.
-define(LONGEST_CALL, 256 * 1024 * 1024 - 1024).
%% Number of attempts to reconnect when the port is closed.
-define(TRIES, 20).

-record(call, {
    tool :: binary(),
    tag :: reference(),
    %% Distinguishes attempts with the same tag.
    number :: pos_integer(),
    owner :: pid(),
    port :: port(),
    monitor :: reference(),
    id :: binary(),
    deadline :: beamai_door:deadline(),
    options :: beamai_door:options()
}).

%% @doc Runs a call; see {@link beamai_door}.
-spec call(beamai_env:t(), beamai_door:call(), beamai_door:options()) -> beamai_door:answer().
call(Env, #{tool := Tool} = Request, Options) ->
    case revealed(maps:to_list(maps:with([search_key, credentials], Request)), Request) of
        {ok, Revealed} -> encoded(Env, Tool, term_to_binary(Revealed), Options);
        {error, Message} -> {error, beamai_error:new(Tool, execution_failed, crash, [Tool, ": " | Message])}
    end.

%% The request with the values of its secrets.
revealed([], Request) ->
    {ok, Request};
revealed([{search_key, Secret} | More], Request) ->
    case beamai_secret:reveal(Secret) of
        {ok, Key} -> revealed(More, Request#{search_key := Key});
        error -> {error, no_key()}
    end;
revealed([{credentials, Origins} | More], Request) ->
    Values = maps:map(fun(_Origin, Headers) -> maps:map(fun(_Name, Secret) -> beamai_secret:reveal_value(Secret) end, Headers) end, Origins),
    case [{Origin, Name} || {Origin, Headers} <- maps:to_list(Values), {Name, error} <- maps:to_list(Headers)] of
        [] ->
            Given = maps:map(fun(_Origin, Headers) -> maps:map(fun(_Name, {ok, Value}) -> Value end, Headers) end, Values),
            revealed(More, Request#{credentials := Given});
        [{Origin, Name} | _] ->
            {error, no_credential(Origin, Name)}
    end.

encoded(Env, Tool, Encoded, Options) ->
    case byte_size(Env) + byte_size(Encoded) of
        Size when Size > ?LONGEST_CALL -> {error, too_long(Tool, Size)};
        _ -> connected(beamai_port:connect(), Env, {Tool, Encoded}, Options, ?TRIES)
    end.

connected({ok, Owner, Port}, Env, {Tool, _Encoded} = Request, Options, Tries) ->
    case through(Owner, Port, Env, Request, Options) of
        %% The port was already closed: nothing was sent.
        closed when Tries > 0 ->
            connected(beamai_port:restart(Owner), Env, Request, Options, Tries - 1);
        closed ->
            {error, lost(Tool, closed)};
        Answer ->
            Answer
    end;
connected({error, Reason}, _Env, {Tool, _Encoded}, _Options, _Tries) ->
    {error, not_started(Tool, Reason)}.

through(Owner, Port, Env, {Tool, Encoded}, #{run := Run} = Options) ->
    _ = beamai_guard:ready(),
    {Tag, Monitor} = tag(Run, Owner),
    Number = erlang:unique_integer([positive]),
    Call = #call{
        tool = Tool,
        tag = Tag,
        number = Number,
        owner = Owner,
        port = Port,
        monitor = Monitor,
        id = term_to_binary({Tag, Number}),
        deadline = beamai_door:deadline(Options),
        options = Options
    },
    beamai_guard:watch({port, Tag}, {undo, fun beamai_port:cancel/2, [Owner, Call#call.id]}),
    Answer = send(Port, beamai_port:call_frame(Call#call.id, Env, Encoded), Call),
    finish(Call),
    Answer.

%% The call's alias and its monitor of the owner; the same reference unless the run already has an alias.
tag(none, Owner) ->
    Monitor = erlang:monitor(process, Owner, [{alias, demonitor}]),
    {Monitor, Monitor};
tag(Run, Owner) ->
    {Run, erlang:monitor(process, Owner)}.

finish(#call{tag = Tag, monitor = Monitor}) ->
    beamai_guard:unwatch({port, Tag}),
    true = erlang:demonitor(Monitor, [flush]),
    flush(Tag).

flush(Tag) ->
    receive
        {Tag, _Number, _Message} -> flush(Tag)
    after 0 -> ok
    end.

send(Port, Frame, Call) ->
    try erlang:port_command(Port, Frame, [nosuspend]) of
        true -> wait(Call);
        false -> pause(Port, Frame, Call)
    catch
        error:badarg -> closed
    end.

%% The port program reads more slowly than the frame is written.
pause(Port, Frame, #call{tag = Tag, monitor = Monitor, tool = Tool} = Call) ->
    receive
        {Tag, cancelled} ->
            beamai_runs:keep(Tag),
            {error, beamai_error:cancelled(Tool)};
        {'DOWN', Monitor, process, _Owner, Reason} ->
            {error, lost(Tool, Reason)}
    after ?BUSY_MS ->
        case beamai_door:left(Call#call.deadline) of
            0 -> {error, beamai_door:busy(Tool)};
            _ -> send(Port, Frame, Call)
        end
    end.

wait(#call{tag = Tag, number = Number, monitor = Monitor, tool = Tool} = Call) ->
    #call{options = Options} = Call,
    receive
        {Tag, Number, {reply, Reply}} ->
            binary_to_term(Reply, [safe]);
        {Tag, Number, {progress, Progress}} ->
            Heard = erlang:monotonic_time(millisecond),
            case beamai_door:progress(Progress, Options) of
                ok -> reported(Call);
                answered -> reported(later(Call, erlang:monotonic_time(millisecond) - Heard));
                {stop, Error} -> stop(Call, Error)
            end;
        {'DOWN', Monitor, process, _Owner, Reason} ->
            {error, lost(Tool, Reason)};
        {Tag, cancelled} ->
            beamai_runs:keep(Tag),
            stop(Call, beamai_error:cancelled(Tool))
    after beamai_door:left(Call#call.deadline) ->
        late(Call)
    end.

late(#call{tool = Tool, options = #{timeout := Timeout}} = Call) ->
    stop(Call, beamai_door:late(Tool, Timeout)).

%% Progress that came before the answer or the cancellation of a call that is over is dropped. Until the answer is there, it is
%% not: the native side does not count the time of a question that may be next.
reported(#call{tag = Tag, number = Number, tool = Tool, deadline = Deadline} = Call) ->
    case {beamai_runs:cancelled(Tag), beamai_door:is_over(Deadline)} of
        {true, _} ->
            stop(Call, beamai_error:cancelled(Tool));
        {false, false} ->
            wait(Call);
        {false, true} ->
            receive
                {Tag, Number, {reply, Reply}} -> binary_to_term(Reply, [safe])
            after 0 ->
                case beamai_door:left(Deadline) of
                    0 -> late(Call);
                    _ -> wait(Call)
                end
            end
    end.

%% While the host answers a question, the deadline is extended.
later(#call{deadline = infinity} = Call, _Ms) -> Call;
later(#call{deadline = Deadline} = Call, Ms) -> Call#call{deadline = Deadline + Ms}.

%% A call that could not be stopped in time has finished; its result is the answer.
stop(#call{tag = Tag, number = Number, monitor = Monitor, tool = Tool} = Call, Error) ->
    beamai_port:cancel(Call#call.owner, Call#call.id),
    receive
        {Tag, Number, {reply, Reply}} ->
            case binary_to_term(Reply, [safe]) of
                {error, _} -> {error, Error};
                Answer -> Answer
            end;
        {'DOWN', Monitor, process, _Owner, Reason} ->
            {error, lost(Tool, Reason)}
    after ?GRACE_MS -> unanswered(Call, Error)
    end.

%% If only this call cannot be stopped, it is abandoned. If the program does not respond at all, it is killed with
%% everything that it has started, so that the next call starts a new one.
unanswered(#call{owner = Owner, port = Port, tool = Tool}, Error) ->
    case beamai_port:answers(Owner, Port) of
        true ->
            {error, beamai_door:stuck(Tool)};
        false ->
            beamai_port:kill(Owner, Port),
            {error, Error}
    end.

no_key() ->
    [
        "the function that ", beamai_syntax:either("web => #{search => #{api_key => Fun}}", "web: [search: [api_key: fun]]"),
        " gives raised, or gave what is no key: printable ASCII without spaces"
    ].

no_credential(Origin, Name) ->
    [
        "the function that ", beamai_syntax:either("sandbox => #{credentials => ...}", "sandbox: [credentials: ...]"), " gives for the header ", Name, " of ", Origin,
        " raised, or gave what is no value: printable ASCII"
    ].

too_long(Tool, Size) ->
    Message = [
        "the call has ", integer_to_binary(Size), " bytes, over the ", integer_to_binary(?LONGEST_CALL),
        " that go to the port program at once; send it in parts"
    ],
    beamai_error:new(Tool, invalid_input, too_large, Message).

lost(Tool, {shutdown, {Unusable, Why}}) when Unusable =:= other_version; Unusable =:= unusable ->
    beamai_error:not_run(Tool, execution_failed, door_lost, Why);
lost(Tool, Reason) ->
    Message = [
        "the port program ended while ", Tool, " was running (", beamai_error:show(Reason, 80),
        "); the next call starts it again"
    ],
    beamai_error:new(Tool, execution_failed, door_lost, Message).

not_started(Tool, {shutdown, {unusable, _Why}} = Reason) ->
    lost(Tool, Reason);
not_started(Tool, Reason) ->
    Message = [
        Tool, ": the port program cannot be started: ", beamai_error:show(Reason, 200)
    ],
    beamai_error:new(Tool, execution_failed, door_lost, Message).
