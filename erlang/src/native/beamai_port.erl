%% @doc Owns the port program and routes its replies.
%%
%% The protocol, in packets of four length bytes on file descriptors 3 and 4:
%%
%% <pre>
%% to the program:    1, IdLen:16, Id, EnvLen:32, Env, Call      a call
%%                    2, IdLen:16, Id                            cancel it
%%                    3, IdLen:16, Id, SessionId                 end a session; its reply comes
%%                                                               when nothing of it runs any more
%% from the program:  1, IdLen:16, Id, Reply                     its reply
%%                    2, IdLen:16, Id, Progress                  progress
%% </pre>
%%
%% An id is the external format of `{Alias, Number}'; replies go to the alias as `{Alias, Number, {reply | progress,
%% Binary}}'. This process starts with the first call and ends with the program: callers monitor it, and the next call
%% starts both again. The program exits at the end of its input, together with everything that it has started.
%% @hidden
-module(beamai_port).
-behaviour(gen_server).

-export([connect/0, restart/1, cancel/2, end_session/1, answers/2, kill/2, call_frame/3, start_link/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-define(CALL, 1).
-define(CANCEL, 2).
-define(END, 3).
-define(REPLY, 1).
-define(PROGRESS, 2).
%% Delay before a cancel frame is sent again to a busy port, in milliseconds.
-define(BUSY_MS, 5).
%% Timeout for ending a session, in milliseconds; the program's own is shorter.
-define(END_MS, 15000).
%% Exit status of a program of another version than the beams.
-define(OTHER_VERSION, 3).
%% How long to wait for the exit status of a program that is started again to find out why it ended, in milliseconds.
-define(DIAGNOSIS_MS, 2000).
%% Timeout for the answer to a request without any work, in milliseconds.
-define(ANSWER_MS, 5000).

-record(owner, {
    port :: port(),
    program :: file:filename(),
    %% Whether the program has answered anything.
    has_answered = false :: boolean()
}).

%% @doc The last known owner and port; starts them if they never ran. The port may be closed in the meantime; writing to
%% it shows that, and {@link restart/1} replaces it.
-spec connect() -> {ok, Owner :: pid(), port()} | {error, term()}.
connect() ->
    case persistent_term:get(?MODULE, none) of
        {Owner, Port} -> {ok, Owner, Port};
        none -> start()
    end.

%% @doc Starts the port program again after its port has closed; waits until the owner has noticed.
-spec restart(Owner :: pid()) -> {ok, pid(), port()} | {error, term()}.
restart(Owner) ->
    Monitor = erlang:monitor(process, Owner),
    receive
        {'DOWN', Monitor, process, Owner, _} -> start()
    after ?ANSWER_MS ->
        true = erlang:demonitor(Monitor, [flush]),
        start()
    end.

%% Starts the port program if it is not running.
-spec start() -> {ok, Owner :: pid(), port()} | {error, term()}.
start() ->
    beamai_runtime:await(fun() ->
        Child = #{id => ?MODULE, start => {?MODULE, start_link, []}, restart => temporary},
        try supervisor:start_child(beamai_port_sup, Child) of
            {ok, Owner} when is_pid(Owner) -> port_of(Owner);
            {error, {already_started, Owner}} -> port_of(Owner);
            {error, {{shutdown, _} = Why, _Child}} -> {ok, {error, Why}};
            {error, Reason} -> {ok, {error, Reason}}
        catch
            exit:{_, {gen_server, call, _}} -> gone
        end
    end).

%% The owner may be terminating because its port has just closed.
port_of(Owner) ->
    try
        {ok, {ok, Owner, gen_server:call(Owner, port)}}
    catch
        exit:{_, {gen_server, call, _}} -> gone
    end.

%% @doc Cancels a call; it still answers. Does not wait.
-spec cancel(Owner :: pid(), Id :: binary()) -> ok.
cancel(Owner, Id) ->
    Owner ! {cancel, Id},
    ok.

%% @doc Ends everything that runs in the program for the session with this native id, and waits for that. Does nothing
%% if the program is not running.
-spec end_session(SessionId :: binary()) -> ok.
end_session(SessionId) ->
    case persistent_term:get(?MODULE, none) of
        {Owner, Port} ->
            _ = end_session(Owner, Port, SessionId, ?END_MS),
            ok;
        none ->
            ok
    end.

%% @doc Whether the program responds: asks it to end a session without a name, which has nothing running.
-spec answers(Owner :: pid(), port()) -> boolean().
answers(Owner, Port) ->
    end_session(Owner, Port, <<>>, ?ANSWER_MS).

%% @doc Kills a program that does not respond, with everything that it has started. Returns when its owner has noticed,
%% so that the next call starts a new one.
-spec kill(Owner :: pid(), port()) -> ok.
kill(Owner, Port) ->
    Monitor = erlang:monitor(process, Owner),
    case erlang:port_info(Port, os_pid) of
        {os_pid, Pid} ->
            logger:warning("beamai: the port program does not answer and is killed"),
            _ = os:cmd("kill -KILL " ++ integer_to_list(Pid)),
            receive
                {'DOWN', Monitor, process, Owner, _} -> ok
            after ?ANSWER_MS -> ok
            end;
        undefined ->
            ok
    end,
    true = erlang:demonitor(Monitor, [flush]),
    ok.

%% Whether the request was answered, or the program is gone.
end_session(Owner, Port, SessionId, Longest) ->
    Alias = erlang:monitor(process, Owner, [{alias, reply_demonitor}]),
    Id = term_to_binary({Alias, 0}),
    Frame = <<?END, (byte_size(Id)):16, Id/binary, SessionId/binary>>,
    Answered =
        insist(Port, Frame, Longest div ?BUSY_MS) andalso
            receive
                {Alias, 0, {reply, _}} -> true;
                {'DOWN', Alias, process, Owner, _} -> true
            after Longest -> false
            end,
    true = erlang:demonitor(Alias, [flush]),
    Answered.

%% Whether the frame was written. Tries again if the port is busy, not if it is closed.
insist(_Port, _Frame, 0) ->
    false;
insist(Port, Frame, Tries) ->
    try erlang:port_command(Port, Frame, [nosuspend]) of
        true ->
            true;
        false ->
            timer:sleep(?BUSY_MS),
            insist(Port, Frame, Tries - 1)
    catch
        error:badarg -> false
    end.

%% @doc The frame of a call.
-spec call_frame(Id :: binary(), beamai_env:t(), Call :: binary()) -> iolist().
call_frame(Id, Env, Call) ->
    [<<?CALL, (byte_size(Id)):16>>, Id, <<(byte_size(Env)):32>>, Env, Call].

%% @private
-spec start_link() -> gen_server:start_ret().
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @private
-spec init([]) -> {ok, #owner{}} | {stop, term()}.
init([]) ->
    process_flag(trap_exit, true),
    Program = beamai_nif:priv_file("beamai-port"),
    try open(Program) of
        Port ->
            persistent_term:put(?MODULE, {self(), Port}),
            {ok, #owner{port = Port, program = Program}}
    catch
        error:Reason -> {stop, {shutdown, unusable(Program, Reason)}}
    end.

open(Program) ->
    Options = [{args, ["serve", "--beams", version()]}, {packet, 4}, nouse_stdio, binary, exit_status, hide],
    open_port({spawn_executable, Program}, Options).

%% @private
-spec handle_call(port, gen_server:from(), #owner{}) -> {reply, port(), #owner{}}.
handle_call(port, _From, #owner{port = Port} = Owner) ->
    {reply, Port, Owner}.

%% @private
-spec handle_cast(term(), #owner{}) -> {noreply, #owner{}}.
handle_cast(_Request, Owner) ->
    {noreply, Owner}.

%% @private
-spec handle_info(term(), #owner{}) -> {noreply, #owner{}} | {stop, {shutdown, term()}, #owner{}}.
handle_info({Port, {data, Frame}}, #owner{port = Port} = Owner) ->
    route(Frame),
    {noreply, Owner#owner{has_answered = true}};
handle_info({cancel, Id} = Again, #owner{port = Port} = Owner) ->
    try erlang:port_command(Port, <<?CANCEL, (byte_size(Id)):16, Id/binary>>, [nosuspend]) of
        true ->
            ok;
        false ->
            _ = erlang:send_after(?BUSY_MS, self(), Again),
            ok
    catch
        error:badarg -> ok
    end,
    {noreply, Owner};
handle_info({Port, {exit_status, Status}}, #owner{port = Port} = Owner) ->
    {stop, {shutdown, ended({exit_status, Status}, Owner)}, Owner};
handle_info({'EXIT', Port, Reason}, #owner{port = Port, has_answered = false} = Owner) ->
    {stop, {shutdown, ended(diagnosis(Reason, Owner), Owner)}, Owner};
handle_info({'EXIT', Port, Reason}, #owner{port = Port} = Owner) ->
    {stop, {shutdown, Reason}, Owner};
handle_info(_Message, Owner) ->
    {noreply, Owner}.

ended({exit_status, ?OTHER_VERSION}, #owner{program = Program}) ->
    Why = beamai_version:other_program(Program),
    logger:error("beamai: ~ts", [Why]),
    {other_version, Why};
ended({exit_status, Status}, #owner{program = Program, has_answered = false}) ->
    unusable(Program, Status);
ended({exit_status, Status} = Ended, _Owner) ->
    logger:warning("beamai: the port program ended with status ~b", [Status]),
    Ended;
ended(Reason, _Owner) ->
    Reason.

%% A frame that is written to a program that has ended closes the port, and its exit status is lost. The exit status of a
%% program that never answered is the reason why, so it is started again and nothing is written to it.
diagnosis(Reason, #owner{program = Program}) ->
    try open(Program) of
        Port -> status(Port, Reason)
    catch
        error:Other -> unusable(Program, Other)
    end.

%% Why the program cannot be used, and what to do.
unusable(Program, Why) ->
    {unusable, beamai_error:text([
        "the port program ", Program, " ", what_is_wrong(Why), "; compile beamai again to have it built or fetched (BEAMAI_PREBUILT names a "
        "directory or URL with prebuilt parts)"
    ])}.

what_is_wrong(enoent) -> "is missing";
what_is_wrong(eacces) -> "cannot be executed: it is not an executable file, or its file system is mounted with noexec";
what_is_wrong(Status) when is_integer(Status) ->
    ["ended with the exit status ", integer_to_binary(Status), " before it answered anything: it may be for another machine"];
what_is_wrong(Reason) ->
    ["cannot be started: ", file:format_error(Reason)].

status(Port, Reason) ->
    receive
        {Port, {exit_status, _} = Ended} -> Ended;
        {'EXIT', Port, _} -> Reason
    after ?DIAGNOSIS_MS ->
        catch erlang:port_close(Port),
        Reason
    end.

%% @private
-spec terminate(term(), #owner{}) -> ok.
terminate(_Reason, #owner{port = Port}) ->
    catch erlang:port_close(Port),
    ok.

version() ->
    case beamai_version:of_beams() of
        unknown -> <<"unknown">>;
        Version -> Version
    end.

route(<<?REPLY, Len:16, Id:Len/binary, Reply/binary>>) -> deliver(Id, {reply, Reply});
route(<<?PROGRESS, Len:16, Id:Len/binary, Progress/binary>>) -> deliver(Id, {progress, Progress}).

deliver(Id, Message) ->
    {Alias, Number} = binary_to_term(Id, [safe]),
    Alias ! {Alias, Number, Message},
    ok.
