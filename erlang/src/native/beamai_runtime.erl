%% @doc What calls need of the running application: its tables and processes.
%%
%% A call starts the application where the host has not, or has stopped it, so that a tool works wherever the modules
%% are on the code path. A process of the application may also just be restarting: no call fails because of that.
%% @hidden
-module(beamai_runtime).

-export([ensure_started/0, await/1]).

%% How often to look for what is gone, and how long to wait in between: the application controller and supervisors
%% tell nobody when they have finished.
-define(TRIES, 50).
-define(PAUSE_MS, 10).

%% @doc Starts the application unless it runs. Raises `{beamai_not_started, Reason}' if it cannot.
-spec ensure_started() -> ok.
ensure_started() ->
    case application:ensure_all_started(beamai) of
        {ok, _Started} -> ok;
        {error, Reason} -> error({beamai_not_started, Reason})
    end.

%% @doc Runs a function that needs something of the application, and runs it again while it answers `gone', with the
%% application started in between. Raises `{beamai_not_started, gone}' after half a second.
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
