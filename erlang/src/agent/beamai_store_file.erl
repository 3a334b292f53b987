%% @doc Stores agents' runs in a directory, in one append-only file per agent.
%%
%% Options: `dir', which is created if it does not exist, and `sync' (default true): whether each entry is flushed to
%% disk before the run continues. Without it, entries survive a crash of the VM but not a power failure.
%%
%% A file contains conversations, so only its owner may read and write it: it is created with mode 0600, whatever the umask
%% is. The mode of an existing file is not changed.
%%
%% A file starts with a magic number, followed by frames: size and CRC-32 of the entry, 32 bits each, then the entry in
%% the external term format. An incomplete frame at the end, left by a crash, is cut off when the file is opened. A
%% corrupt frame elsewhere is an error; nothing is dropped silently.
-module(beamai_store_file).
-behaviour(beamai_store).

-include_lib("kernel/include/file.hrl").

-export([check/1, open/2, append/2, close/1, read/2, delete/2, place/1]).

-define(MARK, <<"beamai-log-1\n">>).
-define(SUFFIX, ".log").

-record(log, {fd :: file:fd(), sync :: boolean()}).

%% @doc Validates the options.
-spec check(map()) -> ok | {error, iodata()}.
check(#{dir := Dir} = Options) when is_binary(Dir); is_list(Dir) ->
    case {maps:keys(maps:without([dir, sync], Options)), maps:get(sync, Options, true)} of
        {[], Sync} when is_boolean(Sync) -> ok;
        {[], _} -> {error, "sync must be true or false"};
        {[Unknown | _], _} -> {error, [beamai_validate:show(Unknown), " is not an option of ", own_name(), beamai_validate:unknown_key(Unknown, [dir, sync])]}
    end;
check(_Options) ->
    Example = beamai_syntax:either("{beamai_store_file, #{dir => Directory}}", "{:beamai_store_file, dir: directory}"),
    {error, [own_name(), " needs the option dir, a directory: ", Example]}.

own_name() -> beamai_syntax:atom(?MODULE).

%% @doc Device and inode number of the directory, whose path can be spelt in several ways.
-spec place(map()) -> term().
place(#{dir := Dir}) ->
    case filelib:ensure_path(Dir) =:= ok andalso file:read_file_info(Dir) of
        {ok, #file_info{major_device = Device, inode = Inode}} -> {Device, Inode};
        _ -> Dir
    end.

%% @doc Opens the file of an agent and cuts off an incomplete entry at its end.
-spec open(Id :: binary(), map()) -> {ok, #log{}} | {error, term()}.
open(Id, #{dir := Dir} = Options) ->
    Path = path(Id, Options),
    case filelib:ensure_path(Dir) of
        ok -> open_file(Path, maps:get(sync, Options, true));
        {error, Reason} -> {error, {Reason, Dir}}
    end.

open_file(Path, Sync) ->
    case ensure_file(Path) of
        ok -> opened(file:open(Path, [read, write, raw, binary]), Path, Sync);
        {error, Reason} -> {error, {Reason, Path}}
    end.

ensure_file(Path) ->
    case file:read_link_info(Path) of
        {error, enoent} -> create_file(Path, <<Path/binary, ".", (beamai_temp_dir:random_name())/binary>>);
        _ -> ok
    end.

%% A file is created with the mode that the umask leaves, and who has opened it keeps it open when the mode changes. So it
%% is created in a directory that nobody else can enter.
create_file(Path, Private) ->
    File = filename:join(Private, <<"log">>),
    Created = run([
        fun() -> file:make_dir(Private) end,
        fun() -> file:change_mode(Private, 8#700) end,
        fun() -> file:write_file(File, <<>>) end,
        fun() -> file:change_mode(File, 8#600) end,
        fun() -> file:rename(File, Path) end
    ]),
    _ = file:delete(File),
    _ = file:del_dir(Private),
    Created.

run([]) -> ok;
run([Step | Rest]) ->
    case Step() of
        ok -> run(Rest);
        {error, _} = Error -> Error
    end.

opened({error, Reason}, Path, _Sync) ->
    {error, {Reason, Path}};
opened({ok, Fd}, Path, Sync) ->
    case ready(Fd, Path) of
        ok ->
            {ok, #log{fd = Fd, sync = Sync}};
        {error, _} = Error ->
            ok = file:close(Fd),
            Error
    end.

ready(Fd, Path) ->
    case entries(file:read_file(Path), Path) of
        {ok, _Entries, 0} -> file:pwrite(Fd, 0, ?MARK);
        {ok, _Entries, Whole} -> cut(Fd, Whole);
        {error, _} = Error -> Error
    end.

cut(Fd, Whole) ->
    {ok, Whole} = file:position(Fd, Whole),
    file:truncate(Fd).

%% @doc Appends an entry, and flushes it to disk unless `sync' is false.
-spec append(beamai_store:entry(), #log{}) -> {ok, #log{}} | {error, term()}.
append(Entry, #log{fd = Fd, sync = Sync} = Log) ->
    Term = term_to_binary(Entry),
    Frame = [<<(byte_size(Term)):32, (erlang:crc32(Term)):32>>, Term],
    case appended(Fd, Frame, Sync) of
        ok -> {ok, Log};
        {error, _} = Error -> Error
    end.

appended(Fd, Frame, Sync) ->
    {ok, _End} = file:position(Fd, eof),
    case file:write(Fd, Frame) of
        ok when Sync -> file:datasync(Fd);
        Written -> Written
    end.

%% @doc Closes the file.
-spec close(#log{}) -> ok.
close(#log{fd = Fd}) ->
    _ = file:close(Fd),
    ok.

%% @doc The entries of an agent.
-spec read(Id :: binary(), map()) -> {ok, [beamai_store:entry()]} | {error, term()}.
read(Id, Options) ->
    Path = path(Id, Options),
    case entries(file:read_file(Path), Path) of
        {ok, Entries, _Whole} -> {ok, Entries};
        {error, _} = Error -> Error
    end.

%% @doc Deletes the file of an agent.
-spec delete(Id :: binary(), map()) -> ok | {error, term()}.
delete(Id, Options) ->
    case file:delete(path(Id, Options)) of
        {error, enoent} -> ok;
        Other -> Other
    end.

%% Ids with special characters are encoded, so that each id has its own file and none leads out of the directory.
path(Id, #{dir := Dir}) ->
    Name =
        case re:run(Id, "^[a-z0-9_-]{1,100}$", [dollar_endonly, {capture, none}]) of
            match -> Id;
            nomatch -> <<"=", (binary:encode_hex(crypto:hash(sha256, Id)))/binary>>
        end,
    filename:join(Dir, <<Name/binary, ?SUFFIX>>).

%% The entries, and the length of the valid part of the file.
entries({error, enoent}, _Path) -> {ok, [], 0};
entries({error, Reason}, Path) -> {error, {Reason, Path}};
entries({ok, Bytes}, Path) ->
    Size = byte_size(?MARK),
    case Bytes of
        <<Mark:Size/binary, Frames/binary>> when Mark =:= ?MARK -> frames(Frames, Size, [], Path);
        %% The crash happened while the magic number was written.
        _ when byte_size(Bytes) < Size -> {ok, [], 0};
        _ -> {error, {not_a_log, Path}}
    end.

frames(<<Size:32, Crc:32, Term:Size/binary, Rest/binary>>, At, Entries, Path) when Size > 0 ->
    case {erlang:crc32(Term), Rest} of
        {Crc, _} -> frame(term(Term), Rest, {At, At + 8 + Size}, Entries, Path);
        %% Some file systems extend a file before they write its content, leaving zeros.
        {_, <<>>} -> {ok, lists:reverse(Entries), At};
        {_, _} -> {error, {corrupt, Path, At}}
    end;
%% The rest is shorter than its size field says, or zeros from the file system.
frames(_Incomplete, At, Entries, _Path) ->
    {ok, lists:reverse(Entries), At}.

frame({ok, Entry}, Rest, {_At, End}, Entries, Path) -> frames(Rest, End, [Entry | Entries], Path);
frame(error, _Rest, {At, _End}, _Entries, Path) -> {error, {corrupt, Path, At}}.

%% A compressed term, which is not written here, could take any amount of memory.
term(<<131, 80, _/binary>>) -> error;
term(Bytes) ->
    try
        {ok, binary_to_term(Bytes)}
    catch
        error:badarg -> error
    end.
