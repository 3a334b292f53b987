%% @doc Deletes temporary directories of runtimes that exited without stopping the application, by `halt' or a signal.
%%
%% Each directory identifies the process that created it; see {@link beamai_temp_dir} and {@link beamai_os_process}. It
%% is deleted if that process has certainly exited. Directories of other namespaces and machines, which may share the
%% file system, are kept.
%% @hidden
-module(beamai_tmp_cleanup).

-include_lib("kernel/include/file.hrl").

-export([sweep/0]).

%% @doc Deletes directories that are no longer in use.
-spec sweep() -> ok.
sweep() ->
    lists:foreach(fun beamai_temp_dir:delete_outer/1, [Directory || Directory <- beamai_temp_dir:all(), is_abandoned(Directory)]).

is_abandoned(Directory) ->
    is_private(Directory) andalso
        case beamai_temp_dir:owner(Directory) of
            {ok, Owner} -> beamai_os_process:has_ended(Owner);
            {error, _} -> false
        end.

%% A directory that another user can change is not deleted: during the deletion, it could be replaced by a link.
is_private(Directory) ->
    case {file:read_link_info(Directory), file:read_file_info("/proc/self")} of
        {{ok, #file_info{type = directory, uid = Uid, mode = Mode}}, {ok, #file_info{uid = Uid}}} ->
            Mode band 8#77 =:= 0;
        _ ->
            false
    end.
