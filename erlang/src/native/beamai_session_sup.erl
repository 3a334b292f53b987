%% @doc Supervises the sessions. One that fails is not restarted: its state is gone with it.
-module(beamai_session_sup).
-behaviour(supervisor).

-export([start_link/0, start_session/1, init/1]).

%% How often to look for a supervisor that is gone, and how long to wait in between.
-define(TRIES, 50).
-define(PAUSE_MS, 10).

%% @doc Starts the supervisor under its own name.
-spec start_link() -> {ok, pid()} | ignore | {error, term()}.
start_link() ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, []).

%% @doc Starts the session of this key, unless there is one.
-spec start_session(beamai_session:key()) -> ok.
start_session(Key) ->
    start_session(Key, ?TRIES).

%% The application may just be stopping; then it is started again.
start_session(Key, Tries) ->
    try supervisor:start_child(?MODULE, [Key]) of
        {ok, Child} when is_pid(Child) -> ok;
        %% Somebody else has just started it.
        {ok, undefined} -> ok
    catch
        exit:{_, {gen_server, call, _}} when Tries > 0 ->
            timer:sleep(?PAUSE_MS),
            ok = beamai_app:ensure_started(),
            start_session(Key, Tries - 1)
    end.

%% @private
-spec init([]) -> {ok, {supervisor:sup_flags(), [supervisor:child_spec()]}}.
init([]) ->
    Child = #{
        id => beamai_session,
        start => {beamai_session, start_link, []},
        restart => temporary,
        %% Long enough to delete a large temporary directory.
        shutdown => 30000
    },
    {ok, {#{strategy => simple_one_for_one, intensity => 5, period => 10}, [Child]}}.
