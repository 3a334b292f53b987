%% @doc Deletes the temporary directories of runtimes that ended without stopping the application: `halt', a kill.
%%
%% A directory says which process made it; see {@link beamai_temp_dir} and {@link beamai_os_process}. It is deleted if
%% that process has ended. What cannot be decided stays: other namespaces and machines may share the place.
%% @hidden
-module(beamai_tmp_cleanup).

-include_lib("kernel/include/file.hrl").

-export([sweep/0]).

%% @doc Deletes the directories that nobody can use any more.
-spec sweep() -> ok.
sweep() ->
    lists:foreach(fun beamai_temp_dir:delete_outer/1, [Directory || Directory <- beamai_temp_dir:all(), is_abandoned(Directory)]).

is_abandoned(Directory) ->
    is_private(Directory) andalso
        case beamai_temp_dir:owner(Directory) of
            {ok, Owner} -> beamai_os_process:has_ended(Owner);
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
