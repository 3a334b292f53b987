%% @doc The top supervisor. It owns the ETS tables, so that a restarted worker finds its rows.
%% @hidden
-module(beamai_sup).
-behaviour(supervisor).

-export([start_link/0, init/1]).

%% Timeout for the end of a process of an earlier supervisor, in milliseconds.
-define(PATIENCE_MS, 10000).

%% @doc Starts the supervisor under its own name.
-spec start_link() -> {ok, pid()} | {error, term()}.
start_link() ->
    case supervisor:start_link({local, ?MODULE}, ?MODULE, []) of
        {ok, Pid} -> {ok, Pid};
        ignore -> {error, ignore};
        {error, Reason} -> {error, Reason}
    end.

%% @private
-spec init([]) -> {ok, {supervisor:sup_flags(), [supervisor:child_spec()]}}.
init([]) ->
    lists:foreach(fun(#{id := Name}) -> await_end(Name) end, children()),
    beamai_guard:new_tables(),
    beamai_runs:new_table(),
    beamai_session:new_table(),
    beamai_session_nodes:new_table(),
    beamai_filter_state:new_table(),
    Flags = #{strategy => one_for_one, intensity => 5, period => 10},
    {ok, {Flags, children()}}.

%% Each is registered under its id.
children() ->
    [
        #{id => beamai_guard, start => {beamai_guard, start_link, []}},
        #{id => beamai_journal, start => {beamai_journal, start_link, []}},
        #{
            id => beamai_session_sup,
            start => {beamai_session_sup, start_link, []},
            type => supervisor,
            shutdown => infinity
        },
        %% Last child, so that it stops first: stopping the port program ends everything that it has started.
        #{id => beamai_port_sup, start => {beamai_port_sup, start_link, []}, type => supervisor, shutdown => infinity}
    ].

%% Waits until a process of an earlier supervisor has ended. If that one was killed, its children end a moment later, and a new
%% child could not take over the name.
await_end(Name) ->
    Monitor = erlang:monitor(process, Name),
    receive
        {'DOWN', Monitor, process, _, _} -> ok
    after ?PATIENCE_MS -> erlang:demonitor(Monitor, [flush])
    end.
