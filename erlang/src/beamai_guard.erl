%% @doc Ends what a dead caller left running: handler processes, workers, calls in the port.
%%
%% A process that calls registers itself once; the guard monitors it. Whatever runs for it is
%% a row in one of two tables that the supervisor owns:
%%
%% <ul>
%% <li>`beamai_handlers': `{Caller, Handler, Tag}', the caller's present handler. A caller waits
%%   for its handler, so one row per caller does, and it is not deleted after the call: the
%%   next call overwrites it. This is what keeps the guard cheap.</li>
%% <li>`beamai_watched': `{{Caller, Key}, What}', everything else, deleted by the caller.</li>
%% </ul>
%%
%% The row of a process is written by that process itself, which then looks whether its caller
%% lives. So there is no gap: either it sees the death, or the guard sees the row.
-module(beamai_guard).
-behaviour(gen_server).

-export([new_tables/0, start_link/0, ready/0, enter/3, watch/2, unwatch/1, nested/1]).
-export([enter_worker/2, upstream/0, root/0, in_tables/1, if_there/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).
-export_type([mark/0, upstream/0]).

-define(HANDLERS, beamai_handlers).
-define(WATCHED, beamai_watched).
%% Where a caller remembers that it is registered, and with which incarnation of the tables.
-define(KEY, '$beamai_guard').
%% How often to look for tables that are gone, and how long to wait in between.
-define(TRIES, 50).
-define(PAUSE_MS, 10).

-type mark() :: ets:tid() | {nested, ets:tid()}.
-type upstream() :: none | {handler | worker, Caller :: pid(), Tag :: reference()}.
-type watched() ::
    {handler | worker, pid(), reference()} | {port, pid(), binary()} | {run, term(), reference()}.

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

%% @doc Registers the calling process if need be. Returns what {@link enter/3} takes. Starts the
%% application if it does not run.
-spec ready() -> mark().
ready() ->
    Table = persistent_term:get(?MODULE, undefined),
    case get(?KEY) of
        Table when Table =/= undefined -> Table;
        {nested, Table} = Mark -> Mark;
        _ -> register_caller(Table)
    end.

register_caller(undefined) ->
    ok = beamai_app:ensure_started(),
    register_caller(persistent_term:get(?MODULE));
register_caller(Table) ->
    case watched_by_guard(?TRIES) of
        ok ->
            put(?KEY, Table),
            Table;
        stopped ->
            register_caller(undefined)
    end.

%% The supervisor may just be restarting the guard, hence the tries.
watched_by_guard(0) ->
    stopped;
watched_by_guard(Tries) ->
    try
        gen_server:call(?MODULE, {register, self()}, infinity)
    catch
        exit:{noproc, _} when Tries =:= ?TRIES ->
            ok = beamai_app:ensure_started(),
            watched_by_guard(Tries - 1);
        exit:{_, {gen_server, call, _}} ->
            timer:sleep(?PAUSE_MS),
            watched_by_guard(Tries - 1)
    end.

%% @doc The first act of a handler process: writes its row. Returns whether the caller lives; if
%% not, the process must end at once.
-spec enter(mark(), Caller :: pid(), Tag :: reference()) -> boolean().
enter({nested, _Table}, Caller, Tag) ->
    ets:insert(?WATCHED, {{Caller, Tag}, {handler, self(), Tag}}),
    is_process_alive(Caller);
enter(Table, Caller, Tag) ->
    ets:insert(Table, {Caller, self(), Tag}),
    is_process_alive(Caller).

%% @doc As {@link enter/3} for a worker of `invoke_all', of which a caller has many.
-spec enter_worker(Caller :: pid(), Tag :: reference()) -> boolean().
enter_worker(Caller, Tag) ->
    if_there(fun() -> ets:insert(?WATCHED, {{Caller, self()}, {worker, self(), Tag}}) end),
    is_process_alive(Caller).

%% @doc Has the guard end `What' if the calling process, which must be {@link ready/0}, dies.
-spec watch(Key :: term(), watched()) -> ok.
watch(Key, What) ->
    Row = {{self(), Key}, What},
    in_tables(fun() -> ets:insert(?WATCHED, Row) end).

%% @doc Writes to tables of the application. If they have just gone with it, it is started again.
-spec in_tables(fun(() -> true)) -> ok.
in_tables(Write) ->
    in_tables(Write, ?TRIES).

in_tables(Write, Tries) ->
    _ = ready(),
    try
        true = Write(),
        ok
    catch
        error:badarg when Tries > 0 ->
            timer:sleep(?PAUSE_MS),
            in_tables(Write, Tries - 1)
    end.

%% @doc Takes back what {@link watch/2} or a nested {@link enter/3} wrote for the calling process.
-spec unwatch(Key :: term()) -> ok.
unwatch(Key) ->
    if_there(fun() -> ets:delete(?WATCHED, {self(), Key}) end).

%% @doc Changes tables of the application, which may have gone with it, and with them every row.
-spec if_there(fun(() -> true)) -> ok.
if_there(Change) ->
    try
        true = Change(),
        ok
    catch
        error:badarg -> ok
    end.

%% @doc Runs a callback of the host while the calling process waits for a handler. A call made in
%% it must not overwrite the row of that handler.
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

%% @doc For whom the calling process works: `none' unless it is a handler or a worker.
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
        %% No tables, nobody who waits.
        error:badarg -> none
    end.

upstream_watched(Pid, Parent) ->
    try ets:select(?WATCHED, [{{{Parent, '_'}, {'$1', Pid, '$2'}}, [], [{{'$1', '$2'}}]}]) of
        [{Kind, Tag} | _] when Kind =:= handler; Kind =:= worker -> {Kind, Parent, Tag};
        _ -> none
    catch
        error:badarg -> none
    end.

%% @doc The process at the top: the caller of the caller, up to one that is no handler or worker.
-spec root() -> pid().
root() ->
    root(self()).

root(Pid) ->
    case upstream(Pid) of
        none -> Pid;
        {_Kind, Caller, _Tag} -> root(Caller)
    end.

%%% The process

%% @private Callers registered with an earlier incarnation are still in the table.
-spec init([]) -> {ok, []}.
init([]) ->
    ets:foldl(fun(Row, ok) -> monitor_caller(element(1, Row)) end, ok, ?HANDLERS),
    {ok, []}.

%% @private
-spec handle_call({register, pid()}, gen_server:from(), []) -> {reply, ok, []}.
handle_call({register, Caller}, _From, State) ->
    case ets:insert_new(?HANDLERS, {Caller, none, none}) of
        true -> monitor_caller(Caller);
        false -> ok
    end,
    {reply, ok, State}.

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

monitor_caller(Caller) ->
    _ = erlang:monitor(process, Caller),
    ok.

%% In a process of its own: looking at a handler that sits in native code may take a while.
finish(_Caller, []) ->
    ok;
finish(Caller, Things) ->
    _ = spawn(fun() -> lists:foreach(fun(Thing) -> stop(Caller, Thing) end, Things) end),
    ok.

stop(_Caller, {port, Owner, Id}) ->
    beamai_port:cancel(Owner, Id);
stop(_Caller, {run, RunId, Tag}) ->
    beamai_runs:forget(RunId, Tag);
stop(Caller, {_HandlerOrWorker, Pid, _Tag}) ->
    %% The row may be of a call long over and the pid somebody else's by now.
    case erlang:process_info(Pid, parent) of
        {parent, Caller} -> exit(Pid, kill);
        _ -> true
    end.
