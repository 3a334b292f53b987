%% @doc The OTP application: starts the supervisor and forgets the cached tool catalogue.
-module(beamai_app).
-behaviour(application).

-export([start/2, stop/1, ensure_started/0]).

%% @doc Starts the supervision tree. Part of the application behaviour.
-spec start(application:start_type(), term()) -> {ok, pid()} | {error, term()}.
start(_Type, _Args) ->
    beamai_catalogue:forget(),
    %% They may take long, and nothing waits for them.
    _ = spawn(fun beamai_temp_dir:sweep/0),
    _ = spawn(fun beamai_presence:announce/0),
    beamai_sup:start_link().

%% @doc Forgets where the tables were: they are gone with the supervisor. Sessions have deleted their
%% directories by now.
-spec stop(term()) -> ok.
stop(_State) ->
    lists:foreach(fun persistent_term:erase/1, [beamai_guard, beamai_session, beamai_port]).

%% @doc Starts the application unless it runs. Calls need its guard, so the first one
%% starts it for hosts that have not. Raises `{beamai_not_started, Reason}' if it cannot.
-spec ensure_started() -> ok.
ensure_started() ->
    case application:ensure_all_started(beamai) of
        {ok, _Started} -> ok;
        {error, Reason} -> error({beamai_not_started, Reason})
    end.
