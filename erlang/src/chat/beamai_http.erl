%% @doc One HTTP exchange with OTP's client: a JSON request, and a response that is read whole or streamed.
%%
%% A separate process talks to the client, because an exchange must end when its caller dies: it monitors the caller and
%% closes the connection. It reads on only after the caller has taken what came before, so a server that never pauses
%% fills no mailbox. Cookies are not stored and redirects are not followed, because the headers contain a key. With
%% `reuse', connections are kept for later exchanges with the same server, proxy and certificates; if a kept connection
%% is closed before an answer has begun, the request is sent once more over a new one. Servers are verified with the system's
%% certificates.
%% @hidden
-module(beamai_http).

-export([post/4]).
-export_type([request/0, error/0, handler/1, run/0]).

%% Maximum size of a response.
-define(MAX_BYTES, 33554432).

-type request() :: #{
    url := binary(),
    %% Names in lower case.
    headers := [{string(), string()}],
    body := binary(),
    connect_timeout := pos_integer(),
    %% Timeout without receiving data, in milliseconds.
    idle_timeout := pos_integer(),
    %% Timeout of the whole exchange, in milliseconds.
    timeout := timeout(),
    %% Trusted certificates, in place of the system's.
    cacertfile => file:filename_all(),
    proxy => beamai_proxy:proxy() | none,
    %% Whether the connection is kept for reuse; false by default.
    reuse => boolean()
}.
%% Tag with which a cancellation arrives, as `{Run, cancelled}'; see {@link beamai_runs:enter/1}.
-type run() :: reference() | none.
-type error() ::
    {connection, Message :: binary()}
    %% The server's certificate is invalid, or the TLS handshake failed.
    | {tls, Message :: binary()}
    | {timeout, connect | idle | total}
    | {too_large, pos_integer()}
    | cancelled.
%% Receives the chunks of a body with status 200.
-type handler(Acc) :: fun((Piece :: binary(), Acc) -> Acc).
-type headers() :: [{string(), string()}].

%% @doc Sends the request. Returns `{ok, Acc}' after the last chunk if the status is 200; other statuses are returned
%% with headers and body. An exception in the fun is raised here, after the connection has been closed.
-spec post(request(), run(), handler(Acc), Acc) ->
    {ok, Acc}
    | {status, pos_integer(), headers(), Body :: binary()}
    | {error, error()}.
post(Request, Run, Fun, Acc) ->
    ok = client(),
    Caller = self(),
    %% Late messages are dropped.
    Tag = erlang:alias([explicit_unalias]),
    {Pid, Monitor} = spawn_monitor(fun() -> exchange(Caller, Tag, Request) end),
    Wait = #{
        tag => Tag, pid => Pid, monitor => Monitor, run => Run, bytes => 0,
        idle => maps:get(idle_timeout, Request), until => until(maps:get(timeout, Request))
    },
    try
        wait(Wait, Fun, Acc)
    after
        Pid ! {Tag, stop},
        erlang:demonitor(Monitor, [flush]),
        _ = erlang:unalias(Tag),
        flush(Tag)
    end.

until(infinity) -> infinity;
until(Timeout) -> now_ms() + Timeout.

now_ms() -> erlang:monotonic_time(millisecond).

%%% The caller

%% The cancellation and the time come first: while the server does not pause, the mailbox is never empty.
wait(#{run := Run} = Wait, Fun, Acc) ->
    case beamai_runs:cancelled(Run) of
        true -> {error, cancelled};
        false -> wait(patience(Wait), Wait, Fun, Acc)
    end.

wait({0, total}, _Wait, _Fun, _Acc) ->
    {error, {timeout, total}};
wait({Left, Kind}, #{tag := Tag, pid := Pid, monitor := Monitor, run := Run} = Wait, Fun, Acc) ->
    receive
        {Tag, {piece, Piece}} -> piece(Piece, Wait, Fun, Acc);
        {Tag, done} -> {ok, Acc};
        {Tag, {status, Status, Headers, Body}} -> {status, Status, Headers, Body};
        {Tag, {error, Error}} -> {error, Error};
        {Run, cancelled} when Run =/= none ->
            beamai_runs:keep(Run),
            {error, cancelled};
        {'DOWN', Monitor, process, Pid, _Reason} ->
            {error, {connection, <<"the HTTP client failed">>}}
    after Left -> {error, {timeout, Kind}}
    end.

piece(Piece, #{bytes := Bytes, pid := Pid, tag := Tag} = Wait, Fun, Acc) ->
    case Bytes + byte_size(Piece) of
        Total when Total > ?MAX_BYTES ->
            {error, {too_large, ?MAX_BYTES}};
        Total ->
            After = Fun(Piece, Acc),
            Pid ! {Tag, next},
            wait(Wait#{bytes := Total}, Fun, After)
    end.

patience(#{idle := Idle, until := infinity}) -> {Idle, idle};
patience(#{idle := Idle, until := Until}) ->
    case max(0, Until - now_ms()) of
        Left when Left < Idle -> {Left, total};
        _ -> {Idle, idle}
    end.

flush(Tag) ->
    receive
        {Tag, _} -> flush(Tag)
    after 0 -> ok
    end.

%%% The process that talks to the client

exchange(Caller, Tag, Request) ->
    %% The headers contain the key.
    _ = process_flag(sensitive, true),
    Watch = erlang:monitor(process, Caller),
    For = for(Request),
    case profile(Request, For) of
        {ok, Profile, IsKept} ->
            exchange(#{caller => Caller, tag => Tag, watch => Watch, request => Request, for => For, profile => Profile, again => IsKept});
        none ->
            Tag ! {Tag, {error, {connection, <<"no place for a connection to the proxy became free in time">>}}}
    end.

exchange(#{tag := Tag, request := Request, profile := Profile} = Exchange) ->
    case send(Request, Profile) of
        {ok, Id} -> relay(Id, Exchange);
        {error, Reason} -> Tag ! {Tag, {error, problem(Reason)}}
    end.

for(#{url := Url} = Request) ->
    #{scheme := Scheme, host := Host} = Parts = uri_string:parse(Url),
    Proxy = case Request of
        #{proxy := #{address := Address}} -> Address;
        #{} -> none
    end,
    #{server => {Scheme, Host, maps:get(port, Parts, 0)}, proxy => Proxy, cacertfile => maps:get(cacertfile, Request, none)}.

profile(Request, #{proxy := none} = For) ->
    case keeps(Request) andalso beamai_http_slots:take({For, 0}) of
        {ok, Profile, IsKept} -> {ok, Profile, IsKept andalso has_connection(Profile)};
        _ -> {ok, beamai_http_slots:plain(), false}
    end;
profile(#{connect_timeout := Timeout}, For) ->
    case beamai_http_slots:take({For, now_ms() + Timeout}) of
        {ok, Profile, IsKept} -> {ok, Profile, IsKept andalso has_connection(Profile)};
        none -> none
    end.

%% Otherwise the client opens a new one, which nobody closes for being old.
has_connection(Profile) ->
    case lists:keyfind(sessions, 1, httpc:info(Profile)) of
        {sessions, {[], [], []}} -> false;
        {sessions, _} -> true;
        false -> false
    end.

keeps(Request) -> maps:get(reuse, Request, false).

%% The exception may contain the headers, so it is not passed on.
send(#{url := Url, headers := Headers, body := Body} = Request, Profile) ->
    Close = [{"connection", "close"} || not keeps(Request)],
    Http = [
        {autoredirect, false},
        {timeout, infinity},
        {connect_timeout, maps:get(connect_timeout, Request)}
        | proxy_auth(Request) ++ tls(Request)
    ],
    Options = [{sync, false}, {stream, {self, once}}, {body_format, binary}],
    try
        Content = {binary_to_list(Url), Close ++ Headers, "application/json", Body},
        httpc:request(post, Content, Http, Options, Profile)
    catch
        _:_ -> {error, bad_request}
    end.

proxy_auth(#{proxy := #{auth := Auth}}) -> [{proxy_auth, Auth()}];
proxy_auth(_Request) -> [].

tls(#{url := <<"https:", _/binary>>} = Request) ->
    Match = public_key:pkix_verify_hostname_match_fun(https),
    [
        {ssl, [
            {verify, verify_peer},
            {depth, 10},
            {customize_hostname_check, [{match_fun, Match}]}
            | trusted(Request)
        ]}
    ];
tls(_Request) ->
    [].

trusted(#{cacertfile := File}) -> [{cacertfile, File}];
trusted(_Request) -> [{cacerts, public_key:cacerts_get()}].

relay(Id, #{tag := Tag, watch := Watch, caller := Caller, profile := Profile} = Exchange) ->
    Begun = Exchange#{again := false},
    receive
        {http, {Id, stream_start, _Headers, Handler}} ->
            ok = httpc:stream_next(Handler),
            relay(Id, Begun#{handler => Handler});
        {http, {Id, stream, Piece}} ->
            Tag ! {Tag, {piece, Piece}},
            relay(Id, Begun);
        {Tag, next} ->
            ok = httpc:stream_next(maps:get(handler, Exchange)),
            relay(Id, Exchange);
        {http, {Id, stream_end, _Headers}} ->
            Tag ! {Tag, done};
        {http, {Id, {{_Version, 200, _Phrase}, _Headers, Body}}} ->
            Tag ! {Tag, {piece, Body}},
            Tag ! {Tag, done};
        {http, {Id, {{_Version, Status, _Phrase}, Headers, Body}}} ->
            Tag ! {Tag, {status, Status, Headers, Body}};
        {http, {Id, {error, Reason}}} ->
            broken(Reason, Exchange);
        {Tag, stop} ->
            httpc:cancel_request(Id, Profile);
        {'DOWN', Watch, process, Caller, _Reason} ->
            httpc:cancel_request(Id, Profile)
    end.

%% The server may have closed a kept connection before it received the request.
broken(Reason, #{again := true, profile := Profile, for := For} = Exchange) when
    not is_tuple(Reason) orelse (element(1, Reason) =/= failed_connect andalso element(1, Reason) =/= could_not_parse_as_http)
->
    ok = beamai_http_slots:renew(Profile, For),
    exchange(Exchange#{again := false});
broken(Reason, #{tag := Tag}) ->
    Tag ! {Tag, {error, problem(Reason)}}.

%%% Error messages of our own: the client's terms may contain secrets

problem({failed_connect, [{to_address, {Host, Port}} | Rest]}) ->
    case [Why || {inet, _, Why} <- Rest] of
        [timeout | _] -> {timeout, connect};
        [{tls_alert, {Alert, _Details}} | _] ->
            {connection, Message} = connection([to(Host, Port), ": TLS: ", atom_to_list(Alert)]),
            {tls, Message};
        [Why | _] -> connection([to(Host, Port), ": ", why(Why)]);
        [] -> connection(to(Host, Port))
    end;
problem(timeout) -> {timeout, total};
problem(socket_closed_remotely) -> connection("the server closed the connection in the middle of its answer");
problem(bad_request) -> connection("the request cannot be sent: its URL or a header is malformed");
problem(_Other) -> connection("the connection broke").

to(Host, Port) ->
    ["no connection to ", Host, ":", integer_to_list(Port)].

why(Posix) when is_atom(Posix) -> inet:format_error(Posix);
why(_Other) -> "it failed".

connection(Text) ->
    {connection, unicode:characters_to_binary(Text)}.

%% Separate profiles of the client, so that settings of other users do not apply.
client() ->
    {ok, _} = application:ensure_all_started(ssl),
    {ok, _} = application:ensure_all_started(inets),
    beamai_http_log:protect().
