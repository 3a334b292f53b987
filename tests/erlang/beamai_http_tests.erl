%% Connections of chat models: kept, shared by nobody, over proxies; against real servers.
-module(beamai_http_tests).

-include_lib("eunit/include/eunit.hrl").

%% A handler of the logger.
-export([log/2]).

model(Server, Options) ->
    beamai_chat:new(openai, maps:merge(#{base_url => chat_server:url(Server), model => <<"m">>, max_retries => 0}, Options)).

with_server(Options, Test) ->
    Server = chat_server:start(fun answer/1, Options),
    try
        Test(Server)
    after
        chat_server:stop(Server)
    end.

answer(#{body := #{<<"messages">> := [#{<<"content">> := <<"wait">>}]}}) -> {slow, 1000, chat_server:says(openai_stream, <<"late">>)};
answer(_Request) -> chat_server:says(openai_stream, <<"ok">>).

%% Waits until the server has had so many requests.
asked(Server, Count) ->
    case length(chat_server:requests(Server)) of
        Count -> ok;
        _ -> timer:sleep(5), asked(Server, Count)
    end.

ask(Model, Text) ->
    {ok, #{message := #{content := Said}}} = beamai_chat:complete(Model, Text),
    Said.

a_connection_is_used_again_test() ->
    with_server(#{keep => true}, fun(Server) ->
        [?assertEqual(<<"ok">>, ask(model(Server, #{}), <<"Hi">>)) || _ <- lists:seq(1, 5)],
        ?assertEqual(1, chat_server:connections(Server)),
        [?assertEqual(<<"ok">>, ask(model(Server, #{reuse => false}), <<"Hi">>)) || _ <- lists:seq(1, 3)],
        ?assertEqual(4, chat_server:connections(Server)),
        [First | _] = chat_server:requests(Server),
        ?assertNotMatch(#{headers := #{<<"connection">> := <<"close">>}}, First),
        ?assertMatch(#{headers := #{<<"connection">> := <<"close">>}}, lists:last(chat_server:requests(Server)))
    end).

no_answer_waits_for_another_one_test() ->
    with_server(#{keep => true}, fun(Server) ->
        Self = self(),
        <<"ok">> = ask(model(Server, #{}), <<"Hi">>),
        [spawn_link(fun() -> Self ! {late, ask(model(Server, #{}), <<"wait">>)} end) || _ <- lists:seq(1, 4)],
        asked(Server, 5),
        <<"ok">> = ask(model(Server, #{}), <<"Hi">>),
        receive {late, _} = Late -> error({came_first, Late}) after 0 -> ok end,
        [receive {late, Said} -> ?assertEqual(<<"late">>, Said) end || _ <- lists:seq(1, 4)],
        ?assertEqual(5, chat_server:connections(Server))
    end).

a_kept_connection_that_was_closed_costs_nothing_test() ->
    %% This server closes after each answer without saying so.
    with_server(#{}, fun(Server) ->
        [?assertEqual(<<"ok">>, ask(model(Server, #{}), <<"Hi">>)) || _ <- lists:seq(1, 20)],
        ?assertEqual(20, length(chat_server:requests(Server)))
    end).

%% Nobody has kept the connections of these requests, so none is sent once more beside the retries.
a_new_connection_that_is_closed_costs_a_retry_test() ->
    [
        begin
            Server = chat_server:start([close || _ <- lists:seq(1, 9)]),
            Model = model(Server, #{max_retries => Retries, retry_delay => 1, stream => Stream}),
            {error, #{reason := connection}} = beamai_chat:complete(Model, <<"Hi">>),
            ?assertEqual({Retries, 1 + Retries}, {Retries, length(chat_server:requests(Server))}),
            chat_server:stop(Server)
        end
     || Retries <- [0, 1, 3], Stream <- [true, false]
    ].

connections_end_with_their_caller_test() ->
    with_server(#{keep => true}, fun(Server) ->
        {Pid, Monitor} = spawn_monitor(fun() -> ask(model(Server, #{}), <<"wait">>) end),
        asked(Server, 1),
        exit(Pid, kill),
        receive {'DOWN', Monitor, _, _, _} -> ok end,
        ?assertEqual(<<"ok">>, ask(model(Server, #{}), <<"Hi">>)),
        ?assertEqual(2, chat_server:connections(Server))
    end).

more_exchanges_than_places_are_answered_test_() ->
    {timeout, 30, fun() ->
        with_server(#{keep => true}, fun(Server) ->
            Self = self(),
            [spawn_link(fun() -> Self ! {late, ask(model(Server, #{}), <<"wait">>)} end) || _ <- lists:seq(1, 80)],
            [receive {late, Said} -> ?assertEqual(<<"late">>, Said) end || _ <- lists:seq(1, 80)]
        end)
    end}.

%%% Servers that never pause

%% What an exchange with such a server ends with, the milliseconds it took, and the longest mailbox meanwhile.
flooded(Options, Run) ->
    Server = chat_server:start([{endless, binary:copy(<<": ping\n">>, 1500)}]),
    Request = maps:merge(
        #{
            url => chat_server:url(Server), headers => [], body => <<"{}">>,
            connect_timeout => 1000, idle_timeout => 1000, timeout => infinity
        },
        Options
    ),
    put(most, 0),
    Take = fun(_Piece, Acc) ->
        timer:sleep(5),
        {message_queue_len, Waiting} = process_info(self(), message_queue_len),
        put(most, max(get(most), Waiting)),
        Acc
    end,
    try timer:tc(fun() -> beamai_http:post(Request, Run, Take, none) end) of
        {Us, Result} -> {Result, Us div 1000, get(most)}
    after
        chat_server:stop(Server)
    end.

a_server_that_never_pauses_is_ended_by_the_time_test() ->
    {Result, Ms, Most} = flooded(#{timeout => 200}, none),
    ?assertEqual({error, {timeout, total}}, Result),
    ?assert(Ms < 1500),
    ?assert(Most =< 3).

a_server_that_never_pauses_is_ended_by_a_cancellation_test() ->
    Run = beamai_runs:enter(flooded),
    spawn_link(fun() -> timer:sleep(200), ok = beamai_kernel:cancel(flooded) end),
    {Result, Ms, Most} = flooded(#{}, Run),
    ?assertEqual({error, cancelled}, Result),
    ?assert(beamai_runs:cancelled(Run)),
    beamai_runs:leave(flooded, Run),
    ?assert(Ms < 1500),
    ?assert(Most =< 3).

an_answer_that_is_read_slowly_is_whole_test() ->
    Pieces = [integer_to_binary(N) || N <- lists:seq(1, 300)],
    [
        begin
            Server = chat_server:start([{stream, Pieces}], #{keep => Keep}),
            Request = #{
                url => chat_server:url(Server), headers => [], body => <<"{}">>, reuse => Keep,
                connect_timeout => 1000, idle_timeout => 1000, timeout => 20000
            },
            {ok, Read} = beamai_http:post(Request, none, fun(Piece, Acc) -> timer:sleep(2), [Acc, Piece] end, []),
            ?assertEqual(iolist_to_binary(Pieces), iolist_to_binary(Read)),
            chat_server:stop(Server)
        end
     || Keep <- [true, false]
    ].

%%% Logs

-define(KEY, "the-secret-key-of-this-test").

%% A logger handler: every event goes to the test.
log(Event, #{config := Pid}) -> Pid ! {logged, Event}.

logged(Fun) ->
    ok = logger:add_handler(?MODULE, ?MODULE, #{config => self(), level => warning}),
    {ok, #{level := Level}} = logger:get_handler_config(default),
    ok = logger:set_handler_config(default, level, none),
    try
        _ = Fun(),
        events()
    after
        ok = logger:set_handler_config(default, level, Level),
        ok = logger:remove_handler(?MODULE)
    end.

events() ->
    receive
        {logged, Event} -> [Event | events()]
    after 200 -> []
    end.

%% A server that sends these parts one after the other, with a pause between them. It does not look at the request.
in_parts(Parts) ->
    {ok, Listening} = gen_tcp:listen(0, [binary, {active, false}, {nodelay, true}, {ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(Listening),
    spawn_link(fun() ->
        {ok, Socket} = gen_tcp:accept(Listening),
        {ok, _} = gen_tcp:recv(Socket, 0),
        [begin ok = gen_tcp:send(Socket, Part), timer:sleep(100) end || Part <- Parts],
        _ = gen_tcp:recv(Socket, 0, 300)
    end),
    url(Port).

with_key(Url) -> with_key(Url, 1000).

with_key(Url, IdleTimeout) ->
    beamai_chat:new(openai, #{base_url => Url, model => <<"m">>, api_key => ?KEY, max_retries => 0, idle_timeout => IdleTimeout}).

shown(Event) -> [io_lib:format("~p", [Event]), logger_formatter:format(Event, #{})].

the_key_is_not_logged_with_bytes_that_nothing_expects_test() ->
    Url = in_parts(["HTTP/1.1 204 No\r\n\r", "\n{}"]),
    Events = logged(fun() -> beamai_chat:complete(with_key(Url), <<"Hi">>) end),
    ?assertMatch([#{level := warning, msg := {string, "an HTTP connection got data" ++ _}, meta := #{pid := _, time := _}} | _], Events),
    ?assertEqual(nomatch, string:find([shown(Event) || Event <- Events], ?KEY)).

the_key_is_not_logged_with_a_crash_test() ->
    Server = chat_server:start([silent]),
    Caller = spawn(fun() -> beamai_chat:complete(with_key(chat_server:url(Server), 60_000), <<"Hi">>) end),
    asked(Server, 1),
    Events = logged(fun() ->
        [sys:terminate(Pid, {broken, State}) || Pid <- handlers(), State <- state(Pid), element(2, State) =/= undefined]
    end),
    exit(Caller, kill),
    chat_server:stop(Server),
    %% Of the process, its end, and its supervisor.
    ?assert(length(Events) >= 3),
    [?assertMatch(#{level := error, msg := {string, "the HTTP client failed" ++ _}}, Event) || Event <- Events],
    ?assertEqual(nomatch, string:find([shown(Event) || Event <- Events], ?KEY)).

handlers() ->
    [
        Pid
     || Pid <- processes(),
        {dictionary, Words} <- [process_info(Pid, dictionary)],
        {'$initial_call', {httpc_handler, _, _}} <- Words
    ].

%% The connections of other tests may end meanwhile.
state(Pid) ->
    try
        [sys:get_state(Pid)]
    catch
        exit:_ -> []
    end.

what_was_added_to_an_event_is_withheld_too_test() ->
    %% As Elixir's logger does before.
    Event = #{level => error, msg => {string, ?KEY}, meta => #{pid => self(), crash_reason => {?KEY, []}}},
    ?assertEqual(ignore, beamai_http_log:withhold(Event, none)),
    put('$initial_call', {httpc_handler, init, 1}),
    #{level := error, meta := Meta} = Withheld = beamai_http_log:withhold(Event, none),
    erase('$initial_call'),
    ?assertEqual(#{pid => self()}, Meta),
    ?assertEqual(nomatch, string:find(shown(Withheld), ?KEY)).

what_others_log_passes_unchanged_test() ->
    ok = beamai_http_log:protect(),
    Report = #{label => {gen_server, terminate}, state => ?KEY},
    Events = logged(fun() -> logger:error(Report, #{mine => 1}), logger:warning("~s", [?KEY]) end),
    ?assertMatch([#{msg := {report, Report}, meta := #{mine := 1}}, #{msg := {"~s", [?KEY]}}], Events).

%%% Proxies

with_proxy(Auth, Test) ->
    Proxy = http_proxy:start(Auth),
    try
        Test(maps:get(port, Proxy))
    after
        http_proxy:stop(Proxy)
    end.

url(Port) -> "http://127.0.0.1:" ++ integer_to_list(Port).

a_plain_server_is_reached_over_a_proxy_test() ->
    with_server(#{}, fun(Server) ->
        with_proxy(none, fun(Port) ->
            ?assertEqual(<<"ok">>, ask(model(Server, #{proxy => url(Port)}), <<"Hi">>)),
            Expected = <<(chat_server:url(Server))/binary, "/chat/completions">>,
            ?assertEqual({Expected, none}, proxied())
        end)
    end).

a_verified_server_is_reached_through_a_tunnel_test() ->
    beamai_test:in_workspace(fun tunnelled/1).

tunnelled(Dir) ->
    #{server_config := Config, client_config := Trusted} = public_key:pkix_test_data(#{
        server_chain => #{root => key(), intermediates => [], peer => [{extensions, [alt_name()]} | key()]},
        client_chain => #{root => key(), intermediates => [], peer => key()}
    }),
    File = filename:join(Dir, "ca.pem"),
    Pem = [{'Certificate', Der, not_encrypted} || Der <- proplists:get_value(cacerts, Trusted)],
    ok = file:write_file(File, public_key:pem_encode(Pem)),
    with_server(#{tls => Config}, fun(Server) ->
        with_proxy({"me", "s e:cret"}, fun(Port) ->
            Proxy = "http://me:s%20e%3Acret@127.0.0.1:" ++ integer_to_list(Port),
            Model = model(Server, #{proxy => Proxy, cacertfile => File}),
            ?assertEqual(<<"ok">>, ask(Model, <<"Hi">>)),
            {Target, <<"Basic ", _/binary>>} = proxied(),
            ?assertMatch(<<"localhost:", _/binary>>, Target),
            ?assertEqual(nomatch, string:find(io_lib:format("~p", [Model]), "cret")),
            %% Without its certificate the server is not talked to.
            {error, #{reason := _}} = quiet(fun() -> beamai_chat:complete(model(Server, #{proxy => Proxy}), <<"Hi">>) end),
            {Target, _} = proxied()
        end)
    end).

quiet(Fun) ->
    #{level := Level} = logger:get_primary_config(),
    logger:set_primary_config(level, none),
    try Fun() after logger:set_primary_config(level, Level) end.

key() -> [{key, {namedCurve, secp256r1}}].

alt_name() -> {'Extension', {2, 5, 29, 17}, false, [{dNSName, "localhost"}]}.

proxied() ->
    receive
        {proxied, Target, Auth} -> {Target, Auth}
    after 1000 -> none
    end.

the_environment_may_name_the_proxy_test() ->
    with_server(#{}, fun(Server) ->
        with_proxy(none, fun(Port) ->
            true = os:putenv("http_proxy", url(Port)),
            try
                <<"ok">> = ask(model(Server, #{proxy => system}), <<"Hi">>),
                {_, none} = proxied(),
                true = os:putenv("no_proxy", "example.org, 127.0.0.1"),
                <<"ok">> = ask(model(Server, #{proxy => system}), <<"Hi">>),
                receive {proxied, Other, _} -> error({proxied, Other}) after 100 -> ok end
            after
                os:unsetenv("http_proxy"),
                os:unsetenv("no_proxy")
            end
        end)
    end),
    [
        ?assertError({bad_option, proxy}, beamai_chat:new(openai, #{model => <<"m">>, proxy => Bad}))
     || Bad <- ["https://p:1", "p:1", <<"http://p">>, 8080, none]
    ].

a_proxy_that_is_not_there_is_named_test() ->
    with_server(#{}, fun(Server) ->
        {error, #{reason := connection, message := Message}} = beamai_chat:complete(model(Server, #{proxy => "http://127.0.0.1:1"}), <<"Hi">>),
        ?assertNotEqual(nomatch, string:find(Message, "127.0.0.1:1"))
    end).
