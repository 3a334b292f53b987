%% @doc Keeps keys of requests out of the log.
%%
%% OTP's HTTP client logs a request with all of its headers when a server sends bytes that nothing expects, and its
%% processes log their state when they crash. A filter of the logger replaces the contents of these events. The events do
%% not tell reliably whose request they contain, so those of other users of the client are replaced too.
%% @hidden
-module(beamai_http_log).

-export([protect/0, withhold/2]).

%% Metadata without data of the request. Elixir's logger adds the reason of a crash, for example.
-define(PLAIN, [pid, gl, time, mfa, file, line, domain, error_logger]).

%% @doc Adds the filter, unless it is there.
-spec protect() -> ok.
protect() ->
    #{filters := Filters} = logger:get_primary_config(),
    _ = lists:keymember(?MODULE, 1, Filters) orelse logger:add_primary_filter(?MODULE, {fun ?MODULE:withhold/2, none}),
    ok.

%% @doc The filter. It runs in the process that logs.
-spec withhold(logger:log_event(), none) -> logger:filter_return().
withhold(#{msg := {report, #{label := {supervisor, progress}}}}, none) ->
    ignore;
withhold(#{level := Level, meta := Meta} = Event, none) ->
    case is_of_client(get('$initial_call')) of
        true -> Event#{msg := {string, text(Level)}, meta := maps:with(?PLAIN ++ of_host(), Meta)};
        false -> ignore
    end.

%% The supervisors report the reason of a crash, which may contain the state.
is_of_client({Module, _Function, _Arity}) when Module =:= httpc_handler; Module =:= httpc_manager -> true;
is_of_client({supervisor, Module, _Arity}) when Module =:= httpc_handler_sup; Module =:= httpc_profile_sup -> true;
is_of_client(_Other) -> false.

text(warning) -> "an HTTP connection got data that no request expects; its contents are withheld, they may hold a key";
text(_Level) -> "the HTTP client failed; its state is withheld, it may hold a key".

%% Metadata that the host adds to all events.
of_host() ->
    maps:keys(maps:get(metadata, logger:get_primary_config(), #{})).
