%% @doc Ends what a dead caller left running: handler processes, workers, calls in the port program.
%%
%% A process registers itself with its first call; the guard monitors it. Everything that runs on its behalf is a row in
%% one of two tables, which the supervisor owns:
%%
%% <ul>
%% <li>`beamai_handlers': `{Caller, Handler, Tag}', the caller's current handler. A caller waits for its handler, so
%% there is one row per caller. The row is not deleted after the call but overwritten by the next one, which makes the
%% guard cheap.</li>
%% <li>`beamai_watched': `{{Caller, Key}, What}', everything else, deleted by the caller.</li>
%% </ul>
%%
%% A process writes its own row, and then checks whether its caller is alive. This leaves no gap: either the process
%% sees that the caller is dead, or the guard sees the row.
%% @hidden
-module(beamai_guard).
-behaviour(gen_server).

-export([new_tables/0, start_link/0, ready/0, ready_again/0, handler/5, watch/2, unwatch/1, nested/1]).
-export([enter_worker/2, upstream/0, root/0, in_tables/1, if_there/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).
-export_type([mark/0, upstream/0]).

-define(HANDLERS, beamai_handlers).
-define(WATCHED, beamai_watched).
%% The key under which a caller stores that it is registered, and with which tables.
-define(KEY, '$beamai_guard').
%% The key under which a worker stores its caller.
-define(CALLER, '$beamai_caller').

-type mark() :: ets:tid() | {nested, ets:tid()}.
-type upstream() :: none | {handler | worker, Caller :: pid(), Tag :: reference()}.
%% What to do if the process dies: a function and its arguments.
-type undo() :: {undo, fun(), [term()]}.

%% @doc Creates both tables. Called by the supervisor, which owns them.
-spec new_tables() -> ok.
new_tables() ->
    Options = [named_table, public, {write_concurrency, true}],
    ?HANDLERS = ets:new(?HANDLERS, [set | Options]),
    ?WATCHED = ets:new(?WATCHED, [ordered_set | Options]),
    persistent_term:put(?MODULE, ets:whereis(?HANDLERS)).

%% @doc Starts the guard under its own name.
-spec start_link() -> gen_server:start_ret().
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc Registers the calling process if necessary. Returns the first argument of {@link handler/5}. Starts the application if
%% it is not running.
-spec ready() -> mark().
ready() ->
    Table = persistent_term:get(?MODULE, undefined),
    case get(?KEY) of
        Table when Table =/= undefined -> Table;
        {nested, Table} = Mark -> Mark;
        _ -> register_caller()
    end.

%% The guard knows the current tables; the stored ones may be gone.
register_caller() ->
    Table = watched_by_guard(),
    put(?KEY, Table),
    Table.

watched_by_guard() ->
    beamai_runtime:await(fun() ->
        try
            {ok, gen_server:call(?MODULE, {register, self()}, infinity)}
        catch
            exit:{_, {gen_server, call, _}} -> gone
        end
    end).

%% @doc Registers the calling process again, after a {@link handler/5} found no tables.
-spec ready_again() -> mark().
ready_again() ->
    case get(?KEY) of
        {nested, _Gone} ->
            Mark = {nested, watched_by_guard()},
            put(?KEY, Mark),
            Mark;
        _ ->
            register_caller()
    end.

%% @doc The main function of a handler process: writes its row, and sends `{Tag, Answer}' to the caller, where `Answer' is
%% what the function returns. It is `unguarded', and the function was not called, if the tables do not exist any more because
%% the application was stopped. If the caller is dead, the process exits at once.
-spec handler(mark(), Caller :: pid(), Tag :: reference(), fun(), Args :: [term()]) -> term().
handler(Mark, Caller, Tag, Answer, Args) ->
    case row(Mark, Caller, Tag) of
        true -> Caller ! {Tag, apply(Answer, Args)};
        gone -> Caller ! {Tag, unguarded};
        false -> ok
    end.

row({nested, _Table}, Caller, Tag) ->
    write(?WATCHED, {{Caller, Tag}, {handler, self(), Tag}}, Caller);
row(Table, Caller, Tag) ->
    write(Table, {Caller, self(), Tag}, Caller).

write(Table, Row, Caller) ->
    try ets:insert(Table, Row) of
        true -> is_process_alive(Caller)
    catch
        error:badarg -> gone
    end.

%% @doc The first step of a worker of `invoke_all': writes its row. A caller has several workers. Returns whether the caller is
%% alive; if not, the process must exit at once.
-spec enter_worker(Caller :: pid(), Tag :: reference()) -> boolean().
enter_worker(Caller, Tag) ->
    undefined = put(?CALLER, Caller),
    if_there(fun() -> ets:insert(?WATCHED, {{Caller, self()}, {worker, self(), Tag}}) end),
    is_process_alive(Caller).

%% @doc Registers what the guard does if the calling process dies. The process must have called {@link ready/0}.
-spec watch(Key :: term(), undo()) -> ok.
watch(Key, What) ->
    Row = {{self(), Key}, What},
    in_tables(fun() -> ets:insert(?WATCHED, Row) end).

%% @doc Writes to tables of the application. If they are gone, starts the application and tries again.
-spec in_tables(fun(() -> true)) -> ok.
in_tables(Write) ->
    _ = ready(),
    try
        true = Write(),
        ok
    catch
        error:badarg -> beamai_runtime:await(fun() -> written(Write) end)
    end.

written(Write) ->
    _ = ready_again(),
    try
        true = Write(),
        {ok, ok}
    catch
        error:badarg -> gone
    end.

%% @doc Removes a row that {@link watch/2} or a nested {@link handler/5} wrote for the calling process.
-spec unwatch(Key :: term()) -> ok.
unwatch(Key) ->
    if_there(fun() -> ets:delete(?WATCHED, {self(), Key}) end).

%% @doc Changes tables of the application; does nothing if they are gone.
-spec if_there(fun(() -> true)) -> ok.
if_there(Change) ->
    try
        true = Change(),
        ok
    catch
        error:badarg -> ok
    end.

%% @doc Runs a callback of the host while the calling process waits for a handler, so that a call in the callback does
%% not overwrite that handler's row.
-spec nested(fun(() -> Result)) -> Result.
nested(Fun) ->
    case ready() of
        {nested, _} ->
            Fun();
        Table ->
            put(?KEY, {nested, Table}),
            try
                Fun()
            after
                put(?KEY, Table)
            end
    end.

%% @doc The caller of the calling process, if that is a handler or worker; otherwise `none'.
-spec upstream() -> upstream().
upstream() ->
    upstream(self()).

upstream(Pid) ->
    case erlang:process_info(Pid, parent) of
        {parent, Parent} when is_pid(Parent), node(Parent) =:= node() -> upstream(Pid, Parent);
        _ -> none
    end.

upstream(Pid, Parent) ->
    try ets:lookup(?HANDLERS, Parent) of
        [{Parent, Pid, Tag}] -> {handler, Parent, Tag};
        _ -> upstream_watched(Pid, Parent)
    catch
        %% Without tables nobody waits.
        error:badarg -> none
    end.

upstream_watched(Pid, Parent) ->
    try ets:select(?WATCHED, [{{{Parent, '_'}, {'$1', Pid, '$2'}}, [], [{{'$1', '$2'}}]}]) of
        [{Kind, Tag} | _] when Kind =:= handler; Kind =:= worker -> {Kind, Parent, Tag};
        _ -> none
    catch
        error:badarg -> none
    end.

%% @doc The outermost caller: the first one that is not itself a handler or worker.
-spec root() -> pid().
root() ->
    root(self()).

root(Pid) ->
    case upstream(Pid) of
        none -> Pid;
        {_Kind, Caller, _Tag} -> root(Caller)
    end.

%%% The process

%% @private Callers that registered before a restart are still in the table.
-spec init([]) -> {ok, []}.
init([]) ->
    process_flag(trap_exit, true),
    ets:foldl(fun(Row, ok) -> monitor_caller(element(1, Row)) end, ok, ?HANDLERS),
    {ok, []}.

%% @private
-spec handle_call({register, pid()}, gen_server:from(), []) -> {reply, ets:tid() | undefined, []}.
handle_call({register, Caller}, _From, State) ->
    case ets:insert_new(?HANDLERS, {Caller, none, none}) of
        true -> monitor_caller(Caller);
        false -> ok
    end,
    {reply, ets:whereis(?HANDLERS), State}.

%% @private
-spec handle_cast(term(), []) -> {noreply, []}.
handle_cast(_Request, State) ->
    {noreply, State}.

%% @private
-spec handle_info(term(), []) -> {noreply, []}.
handle_info({'DOWN', _Monitor, process, Caller, _Reason}, State) ->
    Handlers = [{handler, Pid, Tag} || {_, Pid, Tag} <- ets:take(?HANDLERS, Caller), is_pid(Pid)],
    Watched = ets:select(?WATCHED, [{{{Caller, '_'}, '$1'}, [], ['$1']}]),
    _ = ets:select_delete(?WATCHED, [{{{Caller, '_'}, '_'}, [], [true]}]),
    finish(Caller, Handlers ++ Watched),
    {noreply, State};
handle_info(_Message, State) ->
    {noreply, State}.

%% @private The application stops while handlers continue to run: they must still end with their callers. The tables may
%% already be gone.
-spec terminate(term(), []) -> ok.
terminate(_Reason, _State) ->
    {monitors, Monitors} = erlang:process_info(self(), monitors),
    Callers = maps:from_list([{Caller, []} || {process, Caller} <- Monitors, is_pid(Caller)]),
    %% Processes with the application's group leader are killed when it stops.
    true = erlang:group_leader(whereis(init), self()),
    _ = spawn(fun() -> keep_on(Callers) end),
    ok.

%% Runs until the last handler has exited.
keep_on(Callers) ->
    Running = [
        {Caller, Pid}
     || Pid <- erlang:processes(),
        {parent, Caller} <- [erlang:process_info(Pid, parent)],
        is_map_key(Caller, Callers),
        is_of_call(Caller, erlang:process_info(Pid, [initial_call, dictionary]))
    ],
    Watches = [{erlang:monitor(process, Caller), erlang:monitor(process, Pid), Pid} || {Caller, Pid} <- Running],
    until_ended(Watches).

%% Whether a child of the caller is a handler or a worker.
is_of_call(_Caller, [{initial_call, {?MODULE, handler, 5}}, _Dictionary]) -> true;
is_of_call(Caller, [_InitialCall, {dictionary, Dictionary}]) -> lists:member({?CALLER, Caller}, Dictionary);
is_of_call(_Caller, undefined) -> false.

until_ended([]) ->
    ok;
until_ended(Watches) ->
    receive
        {'DOWN', Monitor, process, _Pid, _Reason} ->
            _ = [exit(Pid, kill) || {OfCaller, _, Pid} <- Watches, OfCaller =:= Monitor],
            until_ended([Watch || {_, OfHandler, _} = Watch <- Watches, OfHandler =/= Monitor])
    end.

monitor_caller(Caller) ->
    _ = erlang:monitor(process, Caller),
    ok.

%% Runs in a process of its own: inspecting a handler that executes native code can take some time.
finish(_Caller, []) ->
    ok;
finish(Caller, Things) ->
    _ = spawn(fun() -> lists:foreach(fun(Thing) -> stop(Caller, Thing) end, Things) end),
    ok.

stop(_Caller, {undo, Fun, Args}) ->
    apply(Fun, Args);
stop(Caller, {_HandlerOrWorker, Pid, _Tag}) ->
    %% The row may belong to a call that ended long ago, and the pid may have been reused.
    case erlang:process_info(Pid, parent) of
        {parent, Caller} -> exit(Pid, kill);
        _ -> true
    end.
