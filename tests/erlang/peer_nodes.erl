%% Nodes of the cluster for tests: real ones, which are started here and killed.
-module(peer_nodes).

-export([with/2, distributed/0, start/1, kill/1, nothing_left/1, calls_there/1]).

%% Starts nodes, which this one is connected to; all end with the test.
with(Count, Test) ->
    {timeout, 120, fun() ->
        ok = distributed(),
        Peers = [start("127.0.0.1") || _ <- lists:seq(1, Count)],
        try
            apply(Test, [[Node || {_, Node} <- Peers]])
        after
            [catch peer:stop(Peer) || {Peer, _} <- Peers]
        end
    end}.

distributed() ->
    case is_alive() of
        true ->
            ok;
        false ->
            _ = os:cmd("epmd -daemon"),
            %% The command ends before the daemon listens.
            ok = beamai_test:eventually(fun() -> element(1, erl_epmd:names("127.0.0.1")) =:= ok end),
            Name = list_to_atom("beamai_tests_" ++ os:getpid() ++ "@127.0.0.1"),
            {ok, _} = net_kernel:start([Name, longnames]),
            ok
    end.

start(Host) ->
    Paths = lists:usort([filename:absname(filename:dirname(code:which(Module))) || Module <- [?MODULE, beamai_kernel]]),
    {ok, Peer, Node} = peer:start(#{
        name => peer:random_name(), host => Host, longnames => true, connection => standard_io,
        args => ["-pa" | Paths] ++ ["-setcookie", atom_to_list(erlang:get_cookie())]
    }),
    ok = logged_off(Node),
    {ok, _} = erpc:call(Node, application, ensure_all_started, [beamai]),
    {Peer, Node}.

logged_off(Node) -> erpc:call(Node, logger, set_primary_config, [level, none]).

kill(Node) ->
    Pid = erpc:call(Node, os, getpid, []),
    _ = os:cmd("kill -9 " ++ Pid),
    ok.

%% No process of a call is left over there.
nothing_left(Node) -> nothing_left(Node, 40).

nothing_left(Node, Left) ->
    case calls_there(Node) of
        [] -> ok;
        _ when Left > 0 -> timer:sleep(50), nothing_left(Node, Left - 1)
    end.

calls_there(Node) ->
    [P || P <- erpc:call(Node, erlang, processes, []), initial(Node, P) =:= {beamai_node_serve, start, 3}].

initial(Node, Pid) ->
    case erpc:call(Node, erlang, process_info, [Pid, initial_call]) of
        {initial_call, Call} -> Call;
        undefined -> none
    end.
