%% @doc Finds out which optional programs are missing on this machine: git, language servers, or a repository.
%%
%% The application logs it once at its start, as a notice, unless its environment has `announce' set to `false'; nothing
%% is logged if nothing is missing. `beamai-port doctor' prints it at any time, with more details.
%% @hidden
-module(beamai_diagnostics).

-export([announce/0, missing/0, missing/1]).

%% Timeout; nothing waits for the result.
-define(PATIENCE_MS, 10000).

%% @doc Logs what is missing.
-spec announce() -> ok.
announce() ->
    case application:get_env(beamai, announce, true) andalso missing() of
        [_ | _] = Lines -> logger:notice("beamai: ~ts", [lists:join("; ", Lines)]);
        _ -> ok
    end.

%% @doc One line for each missing program.
-spec missing() -> [binary()].
missing() ->
    asked([]).

%% @doc As {@link missing/0}, for the repository of a workspace.
-spec missing(Workspace :: file:filename_all()) -> [binary()].
missing(Workspace) ->
    asked(["--workspace", Workspace]).

asked(Arguments) ->
    Options = [{args, ["doctor", "--brief" | Arguments]}, exit_status, binary, hide],
    try open_port({spawn_executable, beamai_nif:priv_file("beamai-port")}, Options) of
        Port -> binary:split(told(Port, []), <<"\n">>, [global, trim_all])
    catch
        %% Without the port program this cannot be determined; the first call that needs it reports the reason.
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
