%% @doc Stores agents' runs in a Mnesia table, for hosts that already use Mnesia.
%%
%% Option: `table', by default `beamai_log'. {@link create_table/2} creates it; the host starts Mnesia itself. With a
%% schema on disk, `disc_copies' of the table survive a crash. Each entry is a synchronous transaction whose log is
%% flushed before the run continues.
-module(beamai_store_mnesia).
-behaviour(beamai_store).

-export([create_table/2, check/1, open/2, append/2, close/1, read/2, delete/2]).

-record(log, {table :: atom(), id :: binary(), next :: pos_integer()}).

%% @doc Creates the table with the given Mnesia options, such as `[{disc_copies, [node()]}]'; `ok' if it already exists.
-spec create_table(Table :: atom(), [term()]) -> ok | {error, term()}.
create_table(Table, Options) ->
    Own = [{type, ordered_set}, {attributes, [key, entry]}, {record_name, Table}],
    case mnesia:create_table(Table, Own ++ Options) of
        {atomic, ok} -> loaded(Table);
        {aborted, {already_exists, Table}} -> loaded(Table);
        {aborted, Reason} -> {error, Reason}
    end.

loaded(Table) ->
    case mnesia:wait_for_tables([Table], 30000) of
        ok -> ok;
        {timeout, _} -> {error, timeout};
        {error, _} = Error -> Error
    end.

%% @doc Validates the options.
-spec check(map()) -> ok | {error, iodata()}.
check(Options) ->
    case {maps:keys(maps:without([table], Options)), table(Options)} of
        {[], Table} when is_atom(Table) -> is_there(Table);
        {[], Other} -> {error, ["the table must be an atom, not ", beamai_validate:show(Other)]};
        {[Unknown | _], _} -> {error, [beamai_validate:show(Unknown), " is not an option of beamai_store_mnesia"]}
    end.

is_there(Table) ->
    case mnesia:system_info(is_running) =:= yes andalso lists:member(Table, mnesia:system_info(tables)) of
        true -> ok;
        false -> {error, ["there is no Mnesia table ", beamai_syntax:atom(Table), ": start Mnesia and create the table with ", beamai_syntax:function(?MODULE, create_table, 2)]}
    end.

table(Options) -> maps:get(table, Options, beamai_log).

%% @doc Opens the log of an agent. Fails with `in_transaction' within a transaction of the caller: if that were aborted, the log
%% would lose calls that have had their effects.
-spec open(Id :: binary(), map()) -> {ok, #log{}} | {error, term()}.
open(Id, Options) ->
    case mnesia:is_transaction() of
        true -> {error, in_transaction};
        false -> opened(Id, table(Options))
    end.

opened(Id, Table) ->
    case transaction(fun() -> mnesia:prev(Table, {Id, infinity}) end) of
        {ok, {Id, Last}} -> {ok, #log{table = Table, id = Id, next = Last + 1}};
        {ok, _Other} -> {ok, #log{table = Table, id = Id, next = 1}};
        {error, _} = Error -> Error
    end.

%% @doc Appends an entry.
-spec append(beamai_store:entry(), #log{}) -> {ok, #log{}} | {error, term()}.
append(Entry, #log{table = Table, id = Id, next = Next} = Log) ->
    case transaction(fun() -> mnesia:write(Table, {Table, {Id, Next}, Entry}, write) end) of
        {ok, ok} -> flushed(flush(mnesia:system_info(use_dir)), Log#log{next = Next + 1});
        {error, _} = Error -> Error
    end.

%% A Mnesia without a schema on disk has no transaction log.
flush(true) -> mnesia:sync_log();
flush(false) -> ok.

flushed(ok, Log) -> {ok, Log};
flushed({error, _} = Error, _Log) -> Error.

%% @doc Does nothing: there are no open handles.
-spec close(#log{}) -> ok.
close(_Log) -> ok.

%% @doc The entries of an agent.
-spec read(Id :: binary(), map()) -> {ok, [beamai_store:entry()]} | {error, term()}.
read(Id, Options) ->
    Table = table(Options),
    transaction(fun() -> mnesia:select(Table, [{{Table, {Id, '_'}, '$1'}, [], ['$1']}]) end).

%% @doc Deletes the entries of an agent.
-spec delete(Id :: binary(), map()) -> ok | {error, term()}.
delete(Id, Options) ->
    Table = table(Options),
    Delete = fun() ->
        Keys = mnesia:select(Table, [{{Table, {Id, '$1'}, '_'}, [], ['$1']}]),
        lists:foreach(fun(Key) -> mnesia:delete(Table, {Id, Key}, write) end, Keys)
    end,
    case transaction(Delete) of
        {ok, ok} -> ok;
        {error, _} = Error -> Error
    end.

transaction(Fun) ->
    case mnesia:sync_transaction(Fun) of
        {atomic, Value} -> {ok, Value};
        {aborted, Reason} -> {error, Reason}
    end.
