%% @doc Registers calls by run id, for `cancel/1'.
%%
%% A call registers with an alias, so that a cancellation that arrives after the call has ended is dropped.
%% @hidden
-module(beamai_runs).

-export([new_table/0, enter/1, enter/2, enter_all/1, leave/2, leave_all/2, forget/2, cancel/1, cancelled/1, is_cancelled/1, sleep/2, keep/1]).

-define(TABLE, beamai_runs).
-define(CANCELLED, '$cancelled').

%% @doc Creates the table. Called by the supervisor, which owns it.
-spec new_table() -> ok.
new_table() ->
    ?TABLE = ets:new(?TABLE, [bag, named_table, public, {write_concurrency, true}]),
    ok.

%% @doc Registers the calling process under a run id. Returns the tag with which a cancellation arrives: the message
%% `{Tag, cancelled}'.
-spec enter(RunId :: term()) -> Tag :: reference().
enter(RunId) ->
    Tag = erlang:alias([explicit_unalias]),
    beamai_guard:in_tables(fun() -> ets:insert(?TABLE, {RunId, Tag}) end),
    beamai_guard:watch({run, Tag}, {undo, fun ?MODULE:forget/2, [RunId, Tag]}),
    Tag.

%% @doc As {@link enter/1}, for a call that is part of another one: if that one has already been cancelled, so is this
%% one.
-spec enter(RunId :: term(), Whole :: reference() | none) -> Tag :: reference().
enter(RunId, Whole) ->
    Tag = enter(RunId),
    beamai_guard:if_there(fun() ->
        _ = ets:member(?TABLE, {?CANCELLED, Whole}) andalso keep(Tag),
        true
    end),
    Tag.

%% @doc Registers something that waits in nested calls, under all of their run ids. If one of them has already been
%% cancelled, so is this.
-spec enter_all([RunId :: term()]) -> Tag :: reference().
enter_all(RunIds) ->
    Tag = erlang:alias([explicit_unalias]),
    lists:foreach(
        fun(RunId) ->
            beamai_guard:in_tables(fun() -> ets:insert(?TABLE, {RunId, Tag}) end),
            beamai_guard:watch({run, Tag, RunId}, {undo, fun ?MODULE:forget/2, [RunId, Tag]})
        end,
        RunIds
    ),
    beamai_guard:if_there(fun() ->
        _ = lists:any(fun is_marked/1, RunIds) andalso keep(Tag),
        true
    end),
    Tag.

is_marked(RunId) ->
    lists:any(fun({_, Tag}) -> ets:member(?TABLE, {?CANCELLED, Tag}) end, ets:lookup(?TABLE, RunId)).

%% @doc Reverts {@link enter_all/1}.
-spec leave_all([RunId :: term()], Tag :: reference()) -> ok.
leave_all(RunIds, Tag) ->
    lists:foreach(
        fun(RunId) ->
            forget(RunId, Tag),
            beamai_guard:unwatch({run, Tag, RunId})
        end,
        RunIds
    ),
    _ = erlang:unalias(Tag),
    flush(Tag).

%% @doc Reverts {@link enter/1}, and removes a cancellation from the mailbox.
-spec leave(RunId :: term(), Tag :: reference()) -> ok.
leave(RunId, Tag) ->
    forget(RunId, Tag),
    beamai_guard:unwatch({run, Tag}),
    _ = erlang:unalias(Tag),
    flush(Tag).

%% @doc Deletes only the rows, for a caller that has died.
-spec forget(RunId :: term(), Tag :: reference()) -> ok.
forget(RunId, Tag) ->
    beamai_guard:if_there(fun() ->
        ets:delete_object(?TABLE, {RunId, Tag}) andalso ets:delete(?TABLE, {?CANCELLED, Tag})
    end).

%% @doc Cancels all calls with this run id. They are marked first, so that calls that register at this moment as part of
%% them are cancelled too.
-spec cancel(RunId :: term()) -> ok.
cancel(RunId) ->
    case ets:whereis(?TABLE) of
        undefined ->
            ok;
        Table ->
            true = ets:insert(Table, [{{?CANCELLED, Tag}} || {_, Tag} <- ets:lookup(Table, RunId)]),
            lists:foreach(fun({_, Tag}) -> keep(Tag) end, ets:lookup(Table, RunId))
    end.

%% @doc Whether the call has been cancelled. Stays true until it ends.
-spec cancelled(Tag :: reference() | none) -> boolean().
cancelled(none) ->
    false;
cancelled(Tag) ->
    receive
        {Tag, cancelled} ->
            keep(Tag),
            true
    after 0 -> false
    end.

%% @doc The same for calls of these run ids, asked by any process while they run.
-spec is_cancelled([RunId :: term()]) -> boolean().
is_cancelled(RunIds) ->
    try
        lists:any(fun is_marked/1, RunIds)
    catch
        error:badarg -> false
    end.

%% @doc Waits this number of milliseconds, or until the run is cancelled.
-spec sleep(timeout(), Tag :: reference() | none) -> ok | cancelled.
sleep(Ms, none) ->
    timer:sleep(Ms);
sleep(Ms, Tag) ->
    receive
        {Tag, cancelled} ->
            keep(Tag),
            cancelled
    after Ms -> ok
    end.

%% @doc Sends the cancellation again, for the next receive with this tag: a filter may retry the call.
-spec keep(Tag :: reference()) -> ok.
keep(Tag) ->
    Tag ! {Tag, cancelled},
    ok.

flush(Tag) ->
    receive
        {Tag, cancelled} -> flush(Tag)
    after 0 -> ok
    end.
