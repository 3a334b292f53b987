%% @doc Deletes the temporary directories of runtimes that ended without stopping the application: `halt', a kill.
%%
%% A directory says which process made it: in which boot and pid namespace, under which pid, started when. It is
%% deleted if that namespace is the own one and has no such process any more. What cannot be decided stays: other
%% namespaces and machines may share the place. The facts are those of Linux's proc(5); elsewhere nothing is deleted.
-module(beamai_leftovers).

-include_lib("kernel/include/file.hrl").

-export([sign/1, sweep/1]).

-define(OWNER, "owner").

%% @doc Writes into a directory who made it.
-spec sign(Directory :: binary()) -> ok | {error, file:posix()}.
sign(Directory) ->
    case owner() of
        {ok, {Where, Pid, Started}} ->
            file:write_file(filename:join(Directory, ?OWNER), lists:join($\n, [Where, Pid, Started]));
        error ->
            ok
    end.

%% @doc Deletes what nobody can use any more of the directories in `Place' that match `Pattern'.
-spec sweep({Place :: binary(), Pattern :: string()}) -> ok.
sweep({Place, Pattern}) ->
    case owner() of
        {ok, {Here, _Pid, _Started}} ->
            Found = filelib:wildcard(filename:join(unicode:characters_to_list(Place), Pattern)),
            lists:foreach(fun beamai_temp_dir:delete_outer/1, [D || D <- Found, is_left(D, Here)]);
        error ->
            ok
    end.

is_left(Directory, Here) ->
    is_private(Directory) andalso
        case file:read_file(filename:join(Directory, ?OWNER)) of
            {ok, Owner} -> is_gone(binary:split(Owner, <<"\n">>, [global]), Here);
            {error, _} -> false
        end.

%% What another user can change is not deleted: while that goes on, a link could take the place of a directory.
is_private(Directory) ->
    case {file:read_link_info(Directory), file:read_file_info("/proc/self")} of
        {{ok, #file_info{type = directory, uid = Uid, mode = Mode}}, {ok, #file_info{uid = Uid}}} ->
            Mode band 8#77 =:= 0;
        _ ->
            false
    end.

%% A pid is used again; the time of its start tells one process from the next.
is_gone([Here, Pid, Started], Here) ->
    started(Pid) =/= {ok, Started} andalso filelib:is_regular("/proc/self/stat");
is_gone(_Other, _Here) ->
    false.

owner() ->
    Pid = list_to_binary(os:getpid()),
    case {file:read_file("/proc/sys/kernel/random/boot_id"), file:read_link("/proc/self/ns/pid"), started(Pid)} of
        {{ok, Boot}, {ok, Namespace}, {ok, Started}} ->
            {ok, {iolist_to_binary([string:trim(Boot), $\s, Namespace]), Pid, Started}};
        _ ->
            error
    end.

%% The 22nd field of its stat file. The second one is in parentheses and may hold anything.
started(Pid) ->
    case file:read_file(filename:join(["/proc", Pid, "stat"])) of
        {ok, Stat} ->
            [_, After] = string:split(Stat, <<") ">>, trailing),
            {ok, lists:nth(20, binary:split(After, <<" ">>, [global]))};
        {error, _} ->
            error
    end.
