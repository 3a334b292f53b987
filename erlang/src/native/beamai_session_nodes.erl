%% @doc Records on which other nodes sessions have state: sessions keep the node that was chosen for them, and are
%% closed there too.
%%
%% One process per node removes the records of a lost node, and of sessions that have not used the node for the idle
%% time of sessions.
%% @hidden
-module(beamai_session_nodes).

-export([new_table/0, note/3, chosen/2, lost/1, take/1]).

-define(TABLE, beamai_session_nodes).
-define(DEFAULT_IDLE_MS, 3600000).

%% Rows are {{Session, What}, Node, LastUsed}, the latter in monotonic milliseconds; What is `{fixed, Node}' if nothing
%% was chosen. The row {{watched, Node}, none, infinity} means that a process watches the node.
-type session() :: {id, term()} | {process, pid()}.

%% @doc Creates the table. Called by the supervisor, which owns it.
-spec new_table() -> ok.
new_table() ->
    ?TABLE = ets:new(?TABLE, [ordered_set, named_table, public, {read_concurrency, true}]),
    ok.

%% @doc Records that a session uses a node, and returns the node to use: if two calls choose at the same time, the first
%% choice.
-spec note(session(), What :: term(), node()) -> node().
note(Session, fixed, Node) ->
    Key = {Session, {fixed, Node}},
    _ = used(Key) orelse insert(Key, Node),
    Node;
note(Session, What, Node) ->
    _ = insert({Session, What}, Node),
    case chosen(Session, What) of
        {ok, First} -> First;
        none -> Node
    end.

used(Key) ->
    try
        ets:update_element(?TABLE, Key, {3, now_ms()})
    catch
        error:badarg -> false
    end.

insert({Session, _What} = Key, Node) ->
    beamai_guard:in_tables(fun() ->
        _ = ets:insert_new(?TABLE, {{watched, Node}, none, infinity}) andalso spawn(fun() -> watch(Node) end),
        _ = ets:insert_new(?TABLE, {Key, Node, now_ms()}) andalso ends_with(Session),
        true
    end).

now_ms() -> erlang:monotonic_time(millisecond).

%% The rows of a process without a named session are deleted when it exits.
ends_with({process, Pid} = Session) ->
    _ = spawn(fun() ->
        Monitor = erlang:monitor(process, Pid),
        receive
            {'DOWN', Monitor, process, Pid, _} -> take(Session)
        end
    end),
    ok;
ends_with({id, _Id}) ->
    ok.

%% If this node is not distributed, there are no other nodes.
watch(Node) ->
    try erlang:monitor_node(Node, true) of
        true -> until_lost(Node)
    catch
        error:notalive -> lost(Node)
    end.

until_lost(Node) ->
    Idle = application:get_env(beamai, session_idle_ms, ?DEFAULT_IDLE_MS),
    receive
        {nodedown, Node} -> lost(Node)
    after max(1000, Idle div 4) ->
        Last = now_ms() - Idle,
        Match = [{{{{id, '_'}, '_'}, Node, '$1'}, [{'<', '$1', Last}], [true]}],
        beamai_guard:if_there(fun() -> is_integer(ets:select_delete(?TABLE, Match)) end),
        until_lost(Node)
    end.

%% @doc The node that was chosen for a session.
-spec chosen(session(), What :: term()) -> {ok, node()} | none.
chosen(Session, What) ->
    Key = {Session, What},
    try used(Key) andalso ets:lookup(?TABLE, Key) of
        [{_, Node, _}] -> {ok, Node};
        _ -> none
    catch
        error:badarg -> none
    end.

%% @doc Forgets a lost node: the sessions' state there is gone, and their next calls may be placed elsewhere.
-spec lost(node()) -> ok.
lost(Node) ->
    beamai_guard:if_there(fun() ->
        is_integer(ets:select_delete(?TABLE, [{{'_', Node, '_'}, [], [true]}])) andalso ets:delete(?TABLE, {watched, Node})
    end).

%% @doc Removes a session, and returns the nodes that it has used.
-spec take(session()) -> [node()].
take(Session) ->
    try
        Nodes = ets:select(?TABLE, [{{{Session, '_'}, '$1', '_'}, [], ['$1']}]),
        _ = ets:select_delete(?TABLE, [{{{Session, '_'}, '_', '_'}, [], [true]}]),
        lists:usort(Nodes)
    catch
        error:badarg -> []
    end.
