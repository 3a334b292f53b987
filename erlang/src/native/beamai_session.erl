%% @doc A session: the state that outlives a call. It has approvals, tasks, a private temporary directory and background
%% commands; and the native side remembers by its key which files it has seen.
%%
%% A context's `session_id' names the session; without it, each calling process has a session of its own. A session
%% starts when something needs it, and ends
%% <ul>
%% <li>with {@link close/1}, or when the application stops;</li>
%% <li>without an id: when its process ends;</li>
%% <li>with an id: when no call has used it for an hour (the application's `session_idle_ms').</li>
%% </ul>
%% A call on another node without a `session_id' belongs to the session of the calling process there too. When a session
%% ends, its background commands are killed and its temporary directory is deleted. Lookups read a table and need no
%% process.
-module(beamai_session).
-behaviour(gen_server).

-export([new_table/0, start_link/1, key/1, number/1, touch/2, approved/2, rules/2, has_rules/1]).
-export([opened/1, approve/2, add_rules/3]).
-export([temp_dir/1, existing/1, for_native/2, seen_as/1, with_state/5, close/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).
-export_type([key/0, native/0]).

-define(TABLE, beamai_sessions).
-define(DEFAULT_IDLE_MS, 3600000).

-type key() :: {id, term()} | {process, pid()}.
%% The form that the native side receives.
-type native() :: #{
    id => binary(), temp_dir => binary(), seen_as => binary(), state => map()
}.

%% Rows of the table: #session{}, {approval, {Key, Subject}} for each approval, and {rules, {Key, rules}, ByEnv}.
-record(session, {
    key :: key(),
    pid :: pid(),
    id :: binary(),
    temp_dir = none :: none | binary(),
    %% Monotonic milliseconds: the session is not idle before.
    busy_until :: integer()
}).

-record(state, {
    key :: key(),
    approvals = [] :: [binary() | rules],
    %% State that tools store here, in the native side's encoding.
    native = #{} :: map(),
    %% As in the table, which may be deleted first.
    temp_dir = none :: none | binary()
}).

%% @private Creates the table. Called by the supervisor, which owns it.
-spec new_table() -> ok.
new_table() ->
    Options = [set, named_table, public, {keypos, #session.key}, {read_concurrency, true}],
    ?TABLE = ets:new(?TABLE, Options),
    %% The number of sessions, so that calls need no lookup if there are none.
    persistent_term:put(?MODULE, atomics:new(1, [])).

%% @private The key of the session that a call with this context belongs to.
-spec key(beamai_context:t()) -> key().
key(#{session_id := Id}) when Id =/= undefined -> {id, Id};
key(#{session_process := Pid}) when is_pid(Pid) -> {process, Pid};
key(_Context) -> {process, beamai_guard:root()}.

%% @doc The number by which the native side tells a context's session from others: long calls of one do not take every
%% thread, whether the session has begun or not.
-spec number(beamai_context:t()) -> non_neg_integer().
number(Context) -> erlang:phash2(key(Context), 1 bsl 32).

any() ->
    case persistent_term:get(?MODULE, none) of
        none -> false;
        Count -> atomics:get(Count, 1) > 0
    end.

%% Whether the table exists, that is, whether the application is running.
table() ->
    beamai_runtime:await(fun() ->
        case ets:whereis(?TABLE) of
            undefined -> gone;
            Table -> {ok, Table}
        end
    end).

%% @private Marks the context's session as used by a call. It is not idle within `Timeout' milliseconds, the timeout of
%% the call.
-spec touch(beamai_context:t(), timeout()) -> ok.
touch(#{session_id := Id}, Timeout) when Id =/= undefined ->
    BusyUntil = {#session.busy_until, busy_until(Timeout)},
    beamai_guard:if_there(fun() ->
        _ = any() andalso ets:update_element(?TABLE, {id, Id}, BusyUntil),
        true
    end);
touch(_Context, _Timeout) ->
    ok.

busy_until(infinity) -> now_ms();
busy_until(Timeout) -> now_ms() + Timeout.

now_ms() ->
    erlang:monotonic_time(millisecond).

%% @private Whether the subject has been approved for the session.
-spec approved(key(), Subject :: binary()) -> boolean().
approved(Key, Subject) ->
    ets:member(table(), {Key, Subject}) andalso row(Key) =/= none.

%% @private The process of the session, which is started if it is not running. A person who is asked answers for this session: if
%% it has ended by then, the answer adds nothing to the next one of its id.
-spec opened(key()) -> pid().
opened(Key) ->
    case row(Key) of
        #session{pid = Pid} ->
            Pid;
        none ->
            ok = beamai_session_sup:start_session(Key),
            opened(Key)
    end.

%% @private Approves the subject for the rest of this session.
-spec approve(pid(), Subject :: binary()) -> ok.
approve(Session, Subject) -> add(Session, {approve, Subject}).

add(Session, Addition) ->
    _ = ask(Session, Addition),
    ok.

%% @private Rules that approvals have added to this environment's, for the rest of the session.
-spec rules(beamai_context:t(), beamai_env:t()) -> [beamai_permission:normalised_rule()].
rules(Context, Env) ->
    case all_rules(Context) of
        %% The usual case, and hashing takes a quarter of the time of a short call.
        None when map_size(None) =:= 0 -> [];
        ByEnv -> maps:get(hash(Env), ByEnv, [])
    end.

%% @private Whether there are such rules for any environment.
-spec has_rules(beamai_context:t()) -> boolean().
has_rules(Context) ->
    all_rules(Context) =/= #{}.

all_rules(Context) ->
    case any() andalso rules_of(key(Context)) of
        false -> #{};
        Rules -> Rules
    end.

rules_of(Key) ->
    case rows({Key, rules}) of
        [{rules, _, ByEnv}] -> row(Key) =/= none andalso ByEnv;
        [] -> false
    end.

%% @private Adds rules to this environment's for the rest of this session.
-spec add_rules(pid(), beamai_env:t(), [beamai_permission:normalised_rule()]) -> ok.
add_rules(Session, Env, Rules) -> add(Session, {add_rules, hash(Env), Rules}).

hash(Env) -> crypto:hash(sha256, Env).

%% @private The absolute path of the session's temporary directory. It is created on first use with mode 0700, and again
%% if a command has removed it.
-spec temp_dir(key()) -> {ok, binary()} | {error, file:posix()}.
temp_dir(Key) ->
    case row(Key) of
        #session{temp_dir = Path} when is_binary(Path) -> kept(Key, Path);
        _ -> call(Key, temp_dir)
    end.

kept(Key, Path) ->
    case beamai_temp_dir:is_there(Path) of
        true -> {ok, Path};
        false -> call(Key, temp_dir)
    end.

%% @private The session for the native side, or `none' if it has no temporary directory.
-spec existing(beamai_context:t()) -> native() | none.
existing(Context) ->
    case row(key(Context)) of
        #session{id = Id, temp_dir = Path} when is_binary(Path) -> #{id => Id, temp_dir => Path};
        _ -> none
    end.

%% @private As {@link existing/1}; with `required', session and directory are created. Whether an existing directory is
%% still there is checked by the call.
-spec for_native(required | optional, beamai_context:t()) ->
    {ok, native()} | none | {error, file:posix()}.
for_native(optional, Context) ->
    case any() andalso existing(Context) of
        #{} = Session -> {ok, Session};
        _ -> none
    end;
for_native(required, Context) ->
    case for_native(optional, Context) of
        none -> with_temp_dir(Context);
        Found -> Found
    end.

with_temp_dir(Context) ->
    case temp_dir(key(Context)) of
        {ok, _Path} -> for_native(optional, Context);
        {error, _} = Error -> Error
    end.

%% @private The key under which the native side remembers the file contents that the session has seen, or `none' for a
%% context without `session_id'. A session that is closed and opened again gets a new key.
-spec seen_as(beamai_context:t()) -> binary() | none.
seen_as(#{session_id := Id} = Context) when Id =/= undefined ->
    Key = {id, Id},
    case row(Key) of
        #session{id = Name} ->
            Name;
        none ->
            ok = beamai_session_sup:start_session(Key),
            seen_as(Context)
    end;
seen_as(_Context) ->
    none.

%% @private Runs a call that changes the session's state in the session's process, which serializes such calls. They are
%% instant.
-spec with_state(key(), module(), beamai_env:t(), beamai_door:call(), beamai_door:options()) ->
    beamai_door:answer().
with_state(Key, Door, Env, Call, Options) ->
    call(Key, {with_state, Door, Env, Call, Options#{run := none}}).

%% @doc Ends the session with this id: forgets its approvals, kills its background commands, deletes its temporary
%% directory. Returns when that is done, also on other nodes that it has used. Does nothing if the session does not
%% exist.
-spec close(SessionId :: term()) -> ok.
close(SessionId) ->
    %% Here first: an answer that was given in a session that has ended here is not sent to another node again.
    _ = case ets:whereis(?TABLE) =/= undefined andalso ets:lookup(?TABLE, {id, SessionId}) of
        [#session{pid = Pid}] -> stop(Pid);
        _ -> ok
    end,
    lists:foreach(fun(Node) -> close_on(Node, SessionId) end, beamai_session_nodes:take({id, SessionId})).

%% A lost node has no state of the session any more.
close_on(Node, SessionId) ->
    try
        erpc:call(Node, ?MODULE, close, [SessionId])
    catch
        error:{erpc, _} -> ok
    end.

stop(Pid) ->
    try
        gen_server:stop(Pid, normal, infinity)
    catch
        exit:_ -> ok
    end.

%% The table may be deleted between the check and the lookup.
rows(Key) ->
    beamai_runtime:await(fun() ->
        try
            {ok, ets:lookup(?TABLE, Key)}
        catch
            error:badarg -> gone
        end
    end).

%% The row of a running session.
row(Key) ->
    case rows(Key) of
        [#session{pid = Pid} = Row] ->
            case is_process_alive(Pid) of
                true ->
                    Row;
                false ->
                    forget(Key, Pid),
                    none
            end;
        [] ->
            none
    end.

%% If the session ended between lookup and call, the request is repeated with a new session, except if the request made
%% it crash.
call(Key, Request) ->
    beamai_runtime:await(fun() -> ask(opened(Key), Request) end).

ask(Session, Request) ->
    try
        {ok, gen_server:call(Session, Request, infinity)}
    catch
        exit:{Reason, {gen_server, call, _}} when
            Reason =:= noproc; Reason =:= normal; Reason =:= shutdown; Reason =:= killed
        ->
            gone;
        %% The table was deleted with the supervisor.
        exit:{{badarg, [{ets, _, _, _} | _]}, {gen_server, call, _}} ->
            gone
    end.

%% For a session whose process was killed before its cleanup. Running both cleanups is harmless.
forget(Key, Pid) ->
    case ets:lookup(?TABLE, Key) of
        [#session{pid = Pid, temp_dir = Path} = Row] ->
            Subjects = ets:foldl(fun(R, Acc) -> subject_of(Key, R, Acc) end, [], ?TABLE),
            clean_up(Row, Subjects, Path);
        _ ->
            ok
    end.

subject_of(Key, {approval, {Key, Subject}}, Acc) -> [Subject | Acc];
subject_of(Key, {rules, {Key, rules}, _ByEnv}, Acc) -> [rules | Acc];
subject_of(_Key, _Row, Acc) -> Acc.

clean_up(#session{key = Key, pid = Pid, id = Id}, Subjects, Path) ->
    lists:foreach(fun(Subject) -> ets:delete(?TABLE, {Key, Subject}) end, Subjects),
    end_natively(Id, Path),
    case ets:take(?TABLE, Key) of
        [#session{pid = Pid}] -> atomics:sub(persistent_term:get(?MODULE), 1, 1);
        Others -> true = ets:insert(?TABLE, Others)
    end,
    ok.

%% Everything in the port program was given the directory, so without a directory there is nothing to end.
end_natively(_Id, none) ->
    ok;
end_natively(Id, Path) ->
    ok = beamai_port:end_session(Id),
    beamai_temp_dir:delete(Path).

%%% The process

%% @private
-spec start_link(key()) -> gen_server:start_ret().
start_link(Key) ->
    gen_server:start_link(?MODULE, Key, []).

%% @private
-spec init(key()) -> {ok, #state{}} | ignore.
init(Key) ->
    process_flag(trap_exit, true),
    %% If the supervisor is killed, all processes with the application's group leader are killed too, and no directory
    %% would be deleted.
    true = erlang:group_leader(whereis(init), self()),
    Session = #session{
        key = Key, pid = self(), id = beamai_temp_dir:random_name(), busy_until = now_ms()
    },
    case ets:insert_new(?TABLE, Session) of
        true ->
            atomics:add(persistent_term:get(?MODULE), 1, 1),
            end_with(Key),
            {ok, #state{key = Key}};
        false ->
            ignore
    end.

end_with({process, Pid}) ->
    _ = erlang:monitor(process, Pid),
    ok;
end_with({id, _Id}) ->
    _ = erlang:send_after(idle_ms(), self(), look_if_idle),
    ok.

idle_ms() ->
    application:get_env(beamai, session_idle_ms, ?DEFAULT_IDLE_MS).

%% @private
-spec handle_call(
    {approve, binary()}
    | {add_rules, binary(), [beamai_permission:normalised_rule()]}
    | temp_dir
    | {with_state, module(), beamai_env:t(), beamai_door:call(), beamai_door:options()},
    gen_server:from(),
    #state{}
) ->
    {reply, ok | {ok, binary()} | {error, file:posix()} | beamai_door:answer(), #state{}}.
handle_call({approve, Subject}, _From, #state{key = Key, approvals = Approvals} = State) ->
    true = ets:insert(?TABLE, {approval, {Key, Subject}}),
    {reply, ok, State#state{approvals = [Subject | Approvals]}};
handle_call({add_rules, Hash, Added}, _From, #state{key = Key, approvals = Approvals} = State) ->
    ByEnv = case ets:lookup(?TABLE, {Key, rules}) of [{rules, _, Known}] -> Known; [] -> #{} end,
    Rules = maps:get(Hash, ByEnv, []),
    true = ets:insert(?TABLE, {rules, {Key, rules}, ByEnv#{Hash => lists:usort(Added ++ Rules)}}),
    {reply, ok, State#state{approvals = [rules | Approvals]}};
handle_call(temp_dir, _From, #state{key = Key} = State) ->
    Made = made_temp_dir(Key),
    {reply, Made, with_path(Made, State)};
handle_call({with_state, Door, Env, Call, Options}, _From, #state{native = Native} = State) ->
    Session = (maps:get(session, Call, #{}))#{state => Native},
    case Door:call(Env, Call#{session => Session}, Options) of
        {ok, Value, Changed} -> {reply, {ok, Value}, State#state{native = Changed}};
        Answer -> {reply, Answer, State}
    end.

with_path({ok, Path}, State) -> State#state{temp_dir = Path};
with_path({error, _}, State) -> State.

made_temp_dir(Key) ->
    case ets:lookup(?TABLE, Key) of
        [#session{temp_dir = none}] -> make_temp_dir(Key);
        [#session{temp_dir = Path}] -> made_again(Key, Path)
    end.

made_again(Key, Path) ->
    case beamai_temp_dir:is_there(Path) of
        true ->
            {ok, Path};
        false ->
            beamai_temp_dir:delete(Path),
            make_temp_dir(Key)
    end.

make_temp_dir(Key) ->
    case beamai_temp_dir:create() of
        {ok, Path} ->
            true = ets:update_element(?TABLE, Key, {#session.temp_dir, Path}),
            {ok, Path};
        {error, _} = Error ->
            Error
    end.

%% @private
-spec handle_cast(term(), #state{}) -> {noreply, #state{}}.
handle_cast(_Request, State) ->
    {noreply, State}.

%% @private
-spec handle_info(term(), #state{}) -> {noreply, #state{}} | {stop, normal, #state{}}.
handle_info({'DOWN', _Monitor, process, _Pid, _Reason}, State) ->
    {stop, normal, State};
handle_info(look_if_idle, #state{key = Key} = State) ->
    [#session{busy_until = BusyUntil}] = ets:lookup(?TABLE, Key),
    case BusyUntil + idle_ms() - now_ms() of
        Left when Left > 0 ->
            _ = erlang:send_after(Left, self(), look_if_idle),
            {noreply, State};
        _ ->
            {stop, normal, State}
    end;
handle_info(_Message, State) ->
    {noreply, State}.

%% @private
-spec terminate(term(), #state{}) -> ok.
terminate(_Reason, #state{key = Key, approvals = Approvals} = State) ->
    try ets:lookup(?TABLE, Key) of
        [#session{temp_dir = Path} = Row] -> clean_up(Row, Approvals, Path);
        [] -> ok
    catch
        %% The supervisor was killed, and the table and the port program with it.
        error:badarg -> without_table(State)
    end.

without_table(#state{temp_dir = none}) -> ok;
without_table(#state{temp_dir = Path}) -> beamai_temp_dir:delete(Path).
