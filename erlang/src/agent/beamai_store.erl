%% @doc Stores agents' runs as append-only logs, one per agent.
%%
%% An entry is a map of plain terms. Once {@link append/2} has returned `ok', the entry must survive a crash. {@link
%% beamai_store_file} needs only a directory, {@link beamai_store_mnesia} a running Mnesia; custom stores implement this
%% behaviour. One process at a time has a log open: {@link open/2} refuses a second one of the same node.
-module(beamai_store).

-export([new/1, open/2, alone/3, append/2, close/1, read/2, delete/2]).
-export_type([t/0, entry/0, handle/0]).

-define(CALLBACKS, [{check, 1}, {open, 2}, {append, 2}, {close, 1}, {read, 2}, {delete, 2}]).

-type t() :: {module(), Options :: map()}.
-type entry() :: #{type := atom(), _ => _}.
-opaque handle() :: {module(), term(), Lock :: {term(), reference()}}.

%% Attempts to lock a log, for about a second: a process that has just ended may still hold it.
-define(ATTEMPTS, 3).

%% Validates the options; returns what is wrong with them.
-callback check(Options :: map()) -> ok | {error, iodata()}.
%% Opens the log for appending; creates it if it does not exist.
-callback open(Id :: binary(), Options :: map()) -> {ok, Handle :: term()} | {error, Reason :: term()}.
-callback append(entry(), Handle :: term()) -> {ok, Handle :: term()} | {error, Reason :: term()}.
-callback close(Handle :: term()) -> ok.
%% All entries in the order in which they were appended, each equal to the term that was appended. An empty list if there is no log.
-callback read(Id :: binary(), Options :: map()) -> {ok, [entry()]} | {error, Reason :: term()}.
-callback delete(Id :: binary(), Options :: map()) -> ok | {error, Reason :: term()}.
%% The same term for all options under which the same logs are found; by default the options themselves.
-callback place(Options :: map()) -> term().
-optional_callbacks([place/1]).

%% @doc Creates a store from a module, or a module and its options.
-spec new(term()) -> {ok, t()} | {error, iodata()}.
new({Module, Options}) when is_atom(Module), is_map(Options) ->
    case code:ensure_loaded(Module) of
        {module, Module} -> checked(Module, Options, lists:all(fun({F, A}) -> erlang:function_exported(Module, F, A) end, ?CALLBACKS));
        {error, _} -> {error, ["there is no module ", beamai_syntax:atom(Module)]}
    end;
new(Module) when is_atom(Module) ->
    new({Module, #{}});
new(_Other) ->
    {error, beamai_syntax:either("must be a module, or {Module, Options} with a map", "must be a module, or {module, options} with a map")}.

checked(Module, _Options, false) ->
    {error, [beamai_syntax:atom(Module), " does not export the callbacks of the behaviour ", beamai_syntax:atom(beamai_store)]};
checked(Module, Options, true) ->
    case called(done, Module, check, [Options]) of
        ok -> {ok, {Module, Options}};
        {error, Why} -> {error, said(Module, Why)}
    end.

said(Module, {failed, _What, Failed}) ->
    [beamai_syntax:function(Module, check, 1), " failed: ", beamai_error:show(Failed, 200)];
said(_Module, Why) ->
    try unicode:characters_to_binary(Why) of
        Text when is_binary(Text) -> Text;
        _ -> beamai_error:show(Why, 200)
    catch
        error:badarg -> beamai_error:show(Why, 200)
    end.

%% @doc Opens the log of an agent for appending. `{error, {in_use, Id}}' if a process of this node has it open.
-spec open(Id :: binary(), t()) -> {ok, handle()} | {error, term()}.
open(Id, {Module, Options} = Store) ->
    case lock(Id, Store) of
        {ok, Lock} -> locked(Lock, Module, called(value, Module, open, [Id, Options]));
        {error, _} = Error -> Error
    end.

%% @private Runs the fun while no process of this node has the log of the agent open. `{error, {in_use, Id}}' if one has.
-spec alone(Id :: binary(), t(), fun(() -> Result)) -> Result | {error, {in_use, binary()}}.
alone(Id, Store, Fun) ->
    case lock(Id, Store) of
        {ok, Lock} -> try Fun() after unlock(Lock) end;
        {error, _} = Error -> Error
    end.

lock(Id, Store) ->
    case place(Store) of
        {ok, Place} -> lock_at(Place, Id);
        {error, _} = Error -> Error
    end.

lock_at(Place, Id) ->
    Lock = {{?MODULE, Place, Id}, make_ref()},
    case global:set_lock(Lock, [node()], ?ATTEMPTS) of
        true -> {ok, Lock};
        false -> {error, {in_use, Id}}
    end.

%% What tells stores apart.
place({Module, Options}) ->
    {module, Module} = code:ensure_loaded(Module),
    case erlang:function_exported(Module, place, 1) of
        true -> tried({Module, place}, fun() -> {ok, {Module, Module:place(Options)}} end);
        false -> {ok, {Module, Options}}
    end.

locked(Lock, Module, {ok, Handle}) ->
    {ok, {Module, Handle, Lock}};
locked(Lock, _Module, {error, _} = Error) ->
    true = unlock(Lock),
    Error.

%% The lock of a process that ends goes with it.
unlock(Lock) ->
    global:del_lock(Lock, [node()]).

%% @doc Appends an entry; it is stored once this returns `ok'.
-spec append(entry(), handle()) -> {ok, handle()} | {error, term()}.
append(Entry, {Module, Handle, Lock}) ->
    case called(value, Module, append, [Entry, Handle]) of
        {ok, Next} -> {ok, {Module, Next, Lock}};
        {error, _} = Error -> Error
    end.

%% @doc Closes the log. What was appended is stored, so a store that fails here has lost nothing.
-spec close(handle()) -> ok.
close({Module, Handle, Lock}) ->
    _ = called(done, Module, close, [Handle]),
    true = unlock(Lock),
    ok.

%% @doc The stored entries of an agent, oldest first.
-spec read(Id :: binary(), t()) -> {ok, [entry()]} | {error, term()}.
read(Id, {Module, Options}) ->
    case called(value, Module, read, [Id, Options]) of
        {ok, Entries} = Read when is_list(Entries), length(Entries) >= 0 -> Read;
        {ok, _NoList} = Read -> {error, {failed, {Module, read}, {returned, Read}}};
        {error, _} = Error -> Error
    end.

%% @doc Removes what is stored of an agent.
-spec delete(Id :: binary(), t()) -> ok | {error, term()}.
delete(Id, {Module, Options}) ->
    case called(done, Module, delete, [Id, Options]) of
        ok -> ok;
        {error, _} = Error -> Error
    end.

%% What a custom store raises, or returns against its specification, is an error like those that it returns.
called(Expected, Module, Function, Arguments) ->
    tried({Module, Function}, fun() ->
        case {Expected, apply(Module, Function, Arguments)} of
            {done, ok} -> ok;
            {value, {ok, _} = Ok} -> Ok;
            {_, {error, _} = Error} -> Error;
            {_, Other} -> {error, {failed, {Module, Function}, {returned, Other}}}
        end
    end).

tried(What, Fun) ->
    try
        Fun()
    catch
        Class:Reason -> {error, {failed, What, {Class, Reason}}}
    end.
