%% @doc Supervises the sessions. A crashed session is not restarted, because its state is lost.
%% @hidden
-module(beamai_session_sup).
-behaviour(supervisor).

-export([start_link/0, start_session/1, init/1]).

%% @doc Starts the supervisor under its own name.
-spec start_link() -> {ok, pid()} | ignore | {error, term()}.
start_link() ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, []).

%% @doc Starts the session of this key if it is not running.
-spec start_session(beamai_session:key()) -> ok.
start_session(Key) ->
    beamai_runtime:await(fun() ->
        try supervisor:start_child(?MODULE, [Key]) of
            {ok, Child} when is_pid(Child) -> {ok, ok};
            %% Another process has just started it.
            {ok, undefined} -> {ok, ok}
        catch
            exit:{_, {gen_server, call, _}} -> gone
        end
    end).

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
