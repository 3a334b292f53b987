%% @doc Supervises the owner of the port program, which is started by the first call that needs it. It is not restarted
%% when it exits: the next call starts it again.
%% @hidden
-module(beamai_port_sup).
-behaviour(supervisor).

-export([start_link/0, init/1]).

%% @doc Starts the supervisor under its own name.
-spec start_link() -> {ok, pid()} | ignore | {error, term()}.
start_link() ->
    supervisor:start_link({local, ?MODULE}, ?MODULE, []).

%% @private
-spec init([]) -> {ok, {supervisor:sup_flags(), [supervisor:child_spec()]}}.
init([]) ->
    {ok, {#{}, []}}.
