%% @doc Ensures that the tables and processes that calls need exist.
%%
%% A call starts the application if the host has not started it, or has stopped it, so that tools work wherever the
%% modules are on the code path. A process of the application may also be restarting; calls wait for it.
%% @hidden
-module(beamai_runtime).

-export([ensure_started/0, await/1]).

%% Number of attempts, and the delay between them: the application controller and supervisors send no notification when
%% they are done.
-define(TRIES, 50).
-define(PAUSE_MS, 10).

%% @doc Starts the application if it is not running. Raises `{beamai_not_started, Reason}' if it cannot be started.
-spec ensure_started() -> ok.
ensure_started() ->
    case application:ensure_all_started(beamai) of
        {ok, _Started} -> ok;
        {error, Reason} -> beamai_validate:raise({beamai_not_started, Reason}, explained(Reason))
    end.

explained({beamai, {{beamai_not_loaded, Why}, _Start}}) -> Why;
explained(Reason) -> ["the application beamai cannot be started: ", beamai_error:show(Reason, 200)].

%% @doc Runs a function that needs the application, and repeats it while it returns `gone', starting the application in
%% between. Raises `{beamai_not_started, gone}' after half a second.
-spec await(fun(() -> {ok, Value} | gone)) -> Value.
await(Fun) ->
    await(Fun, ?TRIES).

await(Fun, Left) ->
    case Fun() of
        {ok, Value} ->
            Value;
        gone when Left > 0 ->
            Left < ?TRIES andalso timer:sleep(?PAUSE_MS),
            ok = ensure_started(),
            await(Fun, Left - 1);
        gone ->
            error({beamai_not_started, gone})
    end.
