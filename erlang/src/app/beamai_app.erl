%% @doc The OTP application: starts the supervisor and forgets the cached tool catalogue.
%% @hidden
-module(beamai_app).
-behaviour(application).

-export([start/2, stop/1]).

%% @doc Starts the supervision tree; fails if the native library is missing or has another version. Part of the
%% application behaviour.
-spec start(application:start_type(), term()) -> {ok, pid()} | {error, term()}.
start(_Type, _Args) ->
    case beamai_nif:loaded() of
        ok -> started();
        {error, Why} -> {error, {beamai_not_loaded, Why}}
    end.

started() ->
    beamai_catalogue:forget(),
    ok = beamai_telemetry:refresh(),
    %% Cleaning up can take long, and nothing depends on it.
    _ = spawn(fun beamai_tmp_cleanup:sweep/0),
    _ = spawn(fun beamai_diagnostics:announce/0),
    beamai_sup:start_link().

%% @doc Clears references to the tables, which are gone with the supervisor. Sessions have already deleted their
%% directories.
-spec stop(term()) -> ok.
stop(_State) ->
    lists:foreach(fun persistent_term:erase/1, [beamai_guard, beamai_session, beamai_port]).
