%% @doc Private temporary directories: only accessible by their owner, and deleted recursively.
%% @hidden
-module(beamai_temp_dir).

-include_lib("kernel/include/file.hrl").

-export([create/0, is_there/1, delete/1, delete_outer/1, all/0, owner/1, random_name/0]).

-define(TRIES, 5).
%% The file that identifies the process that created the directory.
-define(OWNER, "owner").

%% @doc Creates a directory that only this user can enter, under the system's temporary directory
%% (`TMPDIR', else `/tmp'). Returns its absolute path.
-spec create() -> {ok, binary()} | {error, file:posix()}.
create() ->
    create(?TRIES).

create(Tries) ->
    Outer = filename:join(system_temp_dir(), <<"beamai-", (random_name())/binary>>),
    case file:make_dir(Outer) of
        ok -> inside(Outer);
        {error, eexist} when Tries > 1 -> create(Tries - 1);
        {error, _} = Error -> Error
    end.

%% A directory is created with the permissions that the umask leaves. The inner one is created after access to the outer
%% one has been removed, so nobody else can open it at any time.
inside(Outer) ->
    Inner = filename:join(Outer, <<"tmp">>),
    case run([{change_mode, Outer}, {sign, Outer}, {make_dir, Inner}, {change_mode, Inner}]) of
        ok ->
            {ok, Inner};
        {error, _} = Error ->
            _ = file:del_dir_r(Outer),
            Error
    end.

run([]) ->
    ok;
run([Step | Rest]) ->
    case step(Step) of
        ok -> run(Rest);
        {error, _} = Error -> Error
    end.

step({change_mode, Path}) -> file:change_mode(Path, 8#700);
step({sign, Path}) -> sign(Path);
step({make_dir, Path}) -> file:make_dir(Path).

sign(Directory) ->
    case beamai_os_process:identity() of
        {ok, Identity} -> file:write_file(filename:join(Directory, ?OWNER), Identity);
        error -> ok
    end.

%% @doc Whether a directory created by {@link create/0} still exists and is not a link.
-spec is_there(Path :: binary()) -> boolean().
is_there(Path) ->
    case file:read_link_info(Path, [raw]) of
        {ok, #file_info{type = directory}} -> true;
        _ -> false
    end.

%% @doc 32 random hexadecimal digits.
-spec random_name() -> binary().
random_name() ->
    binary:encode_hex(crypto:strong_rand_bytes(16)).

system_temp_dir() ->
    case os:getenv("TMPDIR") of
        [$/ | _] = Path -> unicode:characters_to_binary(Path);
        _ -> <<"/tmp">>
    end.

%% @doc All directories of this kind in the system's temporary directory, from any process.
-spec all() -> [file:filename()].
all() ->
    filelib:wildcard(filename:join(unicode:characters_to_list(system_temp_dir()), "beamai-*")).

%% @doc The process that created one of {@link all/0}, see {@link beamai_os_process:identity/0}.
-spec owner(Outer :: file:filename_all()) -> {ok, binary()} | {error, file:posix()}.
owner(Outer) ->
    file:read_file(filename:join(Outer, ?OWNER)).

%% @doc Deletes a directory created by {@link create/0} recursively. Links are removed, not followed. Failures are
%% logged.
-spec delete(Path :: binary()) -> ok.
delete(Inner) ->
    delete_outer(filename:dirname(Inner)).

%% @doc As {@link delete/1}, for one of {@link all/0}.
-spec delete_outer(Path :: file:filename_all()) -> ok.
delete_outer(Outer) ->
    case file:del_dir_r(Outer) of
        ok ->
            ok;
        {error, enoent} ->
            ok;
        {error, _} ->
            %% Build tools may leave directories without write permission.
            open_up(Outer),
            deleted(file:del_dir_r(Outer), Outer)
    end.

deleted(ok, _Path) ->
    ok;
deleted({error, Reason}, Path) ->
    logger:warning("beamai: the temporary directory ~ts is left behind: ~p", [Path, Reason]).

open_up(Directory) ->
    _ = file:change_mode(Directory, 8#700),
    case file:list_dir_all(Directory) of
        {ok, Names} -> lists:foreach(fun(N) -> open_up_entry(filename:join(Directory, N)) end, Names);
        {error, _} -> ok
    end.

open_up_entry(Path) ->
    case file:read_link_info(Path) of
        {ok, #file_info{type = directory}} -> open_up(Path);
        _ -> ok
    end.
