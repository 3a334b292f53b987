%% @doc The log of an agent in its store: what a run writes, and how it is restored.
%%
%% Entries are `message' (with `usage', for an answer, and with `is_input' where a run begins), `begun' (calls that start),
%% `waiting' and `decided' (before and after a person was asked about a call), `result' (with `is_made': see {@link
%% beamai_agent_calls:is_made/1}), `context' (changes by tools), `compacted' (the messages that replace all earlier ones) and
%% `ended'. A call with a result is never repeated. A call that has begun but has no result may have taken effect; a call
%% that still waits has not.
%%
%% An agent knows its log by a digest over the entries. The first entry has a random value, `log', so that a log that was
%% deleted and begun anew is another one, even with the same entries. Logs of earlier versions do not have it.
%% @hidden
-module(beamai_agent_log).

-export([nothing/0, restored/1, open/2, check/1, close/1, append/2, failure/1, stored/2]).
-export_type([unfinished/0, stored/0]).

%% Calls of the last answer whose effect is unknown, and whether the run has made a call.
-type unfinished() :: #{unknown := [CallId :: binary()], has_called := boolean()}.
%% Digest over the entries that this value of the agent has read or written; `unknown' after an error.
-type stored() :: binary() | unknown.

-define(NOTHING, <<>>).

-record(replay, {
    messages = [] :: [beamai_chat_model:message()],
    begun = [] :: [binary()],
    waiting = [] :: [binary()],
    context = #{} :: beamai_context:t(),
    is_open = false :: boolean(),
    has_called = false :: boolean(),
    %% Of finished runs, and of the unfinished one.
    tool_calls = {0, 0} :: {non_neg_integer(), non_neg_integer()},
    usage = {#{}, #{}} :: {map(), map()}
}).

%%% Writing

%% @doc The digest of an empty log.
-spec nothing() -> <<>>.
nothing() -> ?NOTHING.

digest(Entries) -> lists:foldl(fun digest/2, ?NOTHING, Entries).

digest(Entry, Before) -> crypto:hash(sha256, [Before, term_to_binary(Entry, [deterministic])]).

%% @doc Opens the agent's log for the run with this tag, in the calling process. `{error, {outdated, Id}}' if the log has
%% other entries than the agent knows: a run that went on regardless would separate calls from their results, or repeat
%% calls.
-spec open(Tag :: reference(), #{store := none | beamai_store:t(), agent_id := term(), stored := stored(), _ => _}) ->
    ok | {error, term()}.
open(_Tag, #{store := none}) ->
    ok;
open(Tag, #{store := Store, agent_id := Id, stored := Stored}) ->
    case beamai_store:open(Id, Store) of
        {ok, Handle} -> opened(Tag, Handle, Stored, is_current(Id, Store, Stored));
        {error, _} = Error -> Error
    end.

opened(Tag, Handle, Stored, ok) ->
    _ = put({?MODULE, Tag}, {ok, Handle, Stored}),
    ok;
opened(_Tag, Handle, _Stored, {error, _} = Error) ->
    ok = beamai_store:close(Handle),
    Error.

%% @doc The error of {@link open/2}, for an agent that writes nothing.
-spec check(#{store := none | beamai_store:t(), agent_id := term(), stored := stored(), _ => _}) -> ok | {error, term()}.
check(#{store := none}) -> ok;
check(#{store := Store, agent_id := Id, stored := Stored}) -> beamai_store:alone(Id, Store, fun() -> is_current(Id, Store, Stored) end).

is_current(Id, Store, Stored) ->
    case beamai_store:read(Id, Store) of
        {ok, Entries} -> is_same(digest(Entries), Stored, Id);
        {error, _} = Error -> Error
    end.

is_same(Stored, Stored, _Id) -> ok;
is_same(_Other, _Stored, Id) -> {error, {outdated, Id}}.

%% @doc Closes the log.
-spec close(Tag :: reference()) -> ok.
close(Tag) ->
    case erase({?MODULE, Tag}) of
        {ok, Handle, _Stored} -> beamai_store:close(Handle);
        _ -> ok
    end.

%% @doc Appends an entry; does nothing without a store. After an error all further entries are refused.
-spec append(Tag :: reference(), beamai_store:entry()) -> ok | {error, term()}.
append(Tag, Entry) ->
    case get({?MODULE, Tag}) of
        undefined -> ok;
        {error, _} = Error -> Error;
        {ok, Handle, ?NOTHING} -> append(Tag, Entry#{log => crypto:strong_rand_bytes(16)}, Handle, ?NOTHING);
        {ok, Handle, Stored} -> append(Tag, Entry, Handle, Stored)
    end.

append(Tag, Entry, Handle, Stored) ->
    appended(Tag, Handle, digest(Entry, Stored), beamai_store:append(Entry, Handle)).

appended(Tag, _Before, Stored, {ok, Handle}) ->
    _ = put({?MODULE, Tag}, {ok, Handle, Stored}),
    ok;
appended(Tag, Before, _Stored, {error, _} = Error) ->
    ok = beamai_store:close(Before),
    _ = put({?MODULE, Tag}, Error),
    Error.

%% @doc The error that ended the log, if any.
-spec failure(Tag :: reference()) -> none | {error, term()}.
failure(Tag) ->
    case get({?MODULE, Tag}) of
        {error, _} = Error -> Error;
        _ -> none
    end.

%% @doc What the agent knows of its log at the end of the run with this tag.
-spec stored(Tag :: reference(), #{stored := stored(), _ => _}) -> stored().
stored(Tag, #{stored := Before}) ->
    case get({?MODULE, Tag}) of
        {ok, _Handle, Stored} -> Stored;
        {error, _} -> unknown;
        undefined -> Before
    end.

%%% Reading

%% @doc Restores the agent from its store. Raises `{bad_option, store}' if the store cannot be read.
-spec restored(#{store := none | beamai_store:t(), _ => _}) -> map().
restored(#{store := none} = Agent) ->
    Agent;
restored(#{store := Store, agent_id := Id} = Agent) ->
    case beamai_store:read(Id, Store) of
        {ok, []} -> begun(Agent);
        {ok, Entries} -> restored(beamai_agent_entry:damaged(Entries), Entries, Agent);
        {error, Reason} -> unreadable(Reason)
    end.

restored(none, Entries, Agent) -> replayed(lists:foldl(fun entry/2, #replay{}, Entries), Agent#{stored := digest(Entries)});
restored(Number, _Entries, #{agent_id := Id}) -> unreadable({corrupt, Id, {entry, Number}}).

-spec unreadable(term()) -> no_return().
unreadable(Reason) -> beamai_validate:bad_option(store, ["cannot be read: ", beamai_error:show(Reason, 300)]).

%% A conversation given by the host starts the log.
begun(#{conversation := Conversation} = Agent) ->
    case beamai_conversation:messages(Conversation) of
        [] -> Agent;
        Messages -> begun(Messages, Conversation, Agent)
    end.

begun(Messages, #{tool_calls := Calls, usage := Usage}, Agent) ->
    Tag = make_ref(),
    Ended = #{type => ended, is_done => true, tool_calls => Calls, usage => Usage},
    Wrote =
        case open(Tag, Agent) of
            ok -> [append(Tag, Entry) || Entry <- [#{type => compacted, messages => Messages}, Ended]];
            {error, _} = Error -> [Error]
        end,
    Stored = stored(Tag, Agent),
    ok = close(Tag),
    case [Reason || {error, Reason} <- Wrote] of
        [] -> Agent#{stored := Stored};
        [Reason | _] -> beamai_validate:bad_option(store, ["cannot be written: ", beamai_error:show(Reason, 300)])
    end.

replayed(#replay{} = Replay, #{context := Context} = Agent) ->
    {Calls, OpenCalls} = Replay#replay.tool_calls,
    {Usage, OpenUsage} = Replay#replay.usage,
    Conversation = beamai_conversation:restored(lists:reverse(Replay#replay.messages)),
    Agent#{
        conversation := beamai_conversation:count(
            Calls + OpenCalls, OpenUsage, beamai_conversation:count(0, Usage, Conversation)
        ),
        context := maps:merge(Context, Replay#replay.context),
        unfinished := unfinished(Replay)
    }.

unfinished(#replay{is_open = false}) -> none;
unfinished(#replay{begun = Begun, waiting = Waiting, has_called = HasCalled}) ->
    #{unknown => Begun -- Waiting, has_called => HasCalled}.

entry(#{type := message, message := Message} = Entry, #replay{messages = Messages} = Replay) ->
    {Used, Open} = Replay#replay.usage,
    Replay#replay{
        messages = [Message | Messages], is_open = not is_last(Message), begun = [], waiting = [],
        has_called = Replay#replay.has_called andalso not maps:get(is_input, Entry, false),
        usage = {Used, beamai_conversation:sum(maps:get(usage, Entry, #{}), Open)}
    };
entry(#{type := begun, calls := Ids}, #replay{begun = Begun} = Replay) ->
    Replay#replay{begun = Ids ++ Begun};
entry(#{type := waiting, call := Id, tool := Tool}, #replay{waiting = Waiting, messages = Messages} = Replay) ->
    case [ok || #{tool_calls := Calls} <- Messages, #{id := I, name := Name} <- Calls, I =:= Id, Name =:= Tool] of
        [_ | _] -> Replay#replay{waiting = [Id | Waiting]};
        [] -> Replay
    end;
entry(#{type := decided, call := Id}, #replay{waiting = Waiting} = Replay) ->
    Replay#replay{waiting = lists:delete(Id, Waiting)};
entry(#{type := result, message := #{call := Id} = Message} = Entry, #replay{messages = Messages, begun = Begun} = Replay) ->
    {Calls, Open} = Replay#replay.tool_calls,
    %% Earlier versions did not store whether the call was made.
    IsMade = maps:get(is_made, Entry, maps:get(outcome, Message) =/= refused),
    Replay#replay{
        messages = [Message | Messages], begun = lists:delete(Id, Begun), tool_calls = {Calls, Open + 1},
        has_called = Replay#replay.has_called orelse IsMade
    };
entry(#{type := context, set := Set}, #replay{context = Context} = Replay) ->
    Replay#replay{context = maps:merge(Context, Set)};
entry(#{type := compacted, messages := Messages}, Replay) ->
    Replay#replay{messages = lists:reverse(Messages)};
entry(#{type := ended, is_done := IsDone, tool_calls := Made, usage := Usage}, Replay) ->
    {{Calls, _}, {Used, _}} = {Replay#replay.tool_calls, Replay#replay.usage},
    Replay#replay{
        is_open = not IsDone, has_called = Replay#replay.has_called andalso not IsDone,
        tool_calls = {Calls + Made, 0}, usage = {beamai_conversation:sum(Usage, Used), #{}}
    };
%% An entry of a newer version is ignored.
entry(_Other, Replay) ->
    Replay.

%% A complete answer without calls ends a run.
is_last(#{role := assistant, tool_calls := [_ | _]}) -> false;
is_last(#{role := assistant} = Message) -> not is_map_key(is_partial, Message);
is_last(_Message) -> false.
