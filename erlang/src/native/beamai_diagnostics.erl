%% @doc What tools make use of and this machine lacks: the git program, language servers, a repository.
%%
%% The application logs it once when it starts, as a notice, unless its variable `announce' is `false'; nothing is said
%% where nothing is missing. `beamai-port doctor' says it at any time, and more.
%% @hidden
-module(beamai_diagnostics).

-export([announce/0, missing/0, missing/1]).

%% Nobody waits for it.
-define(PATIENCE_MS, 10000).

%% @doc Logs what is missing.
-spec announce() -> ok.
announce() ->
    case application:get_env(beamai, announce, true) andalso missing() of
        [_ | _] = Lines -> logger:notice("beamai: ~ts", [lists:join("; ", Lines)]);
        _ -> ok
    end.

%% @doc A line for each thing that the machine lacks.
-spec missing() -> [binary()].
missing() ->
    asked([]).

%% @doc As {@link missing/0}, with the repository of a workspace.
-spec missing(Workspace :: file:filename_all()) -> [binary()].
missing(Workspace) ->
    asked(["--workspace", Workspace]).

asked(Arguments) ->
    Options = [{args, ["doctor", "--brief" | Arguments]}, exit_status, binary, hide],
    try open_port({spawn_executable, beamai_nif:priv_file("beamai-port")}, Options) of
        Port -> binary:split(told(Port, []), <<"\n">>, [global, trim_all])
    catch
        %% Without the program nothing of this is known, and the first call that needs it says why.
        error:_ -> []
    end.

told(Port, Seen) ->
    receive
        {Port, {data, Data}} -> told(Port, [Seen | Data]);
        {Port, {exit_status, 0}} -> iolist_to_binary(Seen);
        {Port, {exit_status, _}} -> <<>>
    after ?PATIENCE_MS ->
        true = port_close(Port),
        <<>>
    end.
