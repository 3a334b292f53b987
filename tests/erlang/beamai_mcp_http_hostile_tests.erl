%% The MCP client against servers over HTTP that misbehave.
-module(beamai_mcp_http_hostile_tests).

-include_lib("eunit/include/eunit.hrl").

-import(mcp_servers, [serving/2, hostile_http/1, connect/1, connect/2, call/3]).

hostile_servers_test_() ->
    [
        {Mode, {timeout, 120, fun() -> misbehaves(Mode, Check) end}}
     || {Mode, Check} <- [
            {"endless", {fails, mcp_server, <<"a message of more than 33554432 bytes">>}},
            {"huge", {fails, mcp_server, <<"a message of more than 33554432 bytes; the next call connects">>}},
            {"objects", {fails, mcp_server, <<"something that is not a message: has more than 500000 values">>}},
            {"events", {fails, mcp_server, <<"it sent an invalid message: has more than 500000 values">>}},
            {"html", {fails, mcp_server, <<"\"text/html\", which is neither JSON nor an event stream">>}},
            {"packed", {fails, mcp_server, <<"its response broke off: its gzip encoding is damaged">>}},
            {"nonsense", {fails, mcp_server, <<"something that is not a message: expected ident at line 1 column 2: \"no json at all\"">>}},
            {"other", {fails, mcp_server, <<"another message">>}},
            {"oops", {fails, mcp_server, <<"HTTP 500 Internal Server Error: the disk is full">>}},
            {"busy", {fails, mcp_server, <<"HTTP 429 Too Many Requests; it says to try again after 7">>}},
            {"refuses", {fails, mcp_server, <<"out of order (-32000)">>}},
            {"refuses400", {fails, invalid_argument, <<"not these">>}},
            {"noise", {answers, <<"still here">>}},
            {"cut", {fails, mcp_server, <<"was incomplete; the effects of the call are unknown">>}},
            {"resumes", {answers, <<"resumed">>}},
            {"resumes_not", {fails, mcp_server, <<"it does not resume the stream (HTTP 404)">>}},
            {"asks", {fails, mcp_server, <<"has not read 1000 messages">>}},
            {"modern", {answers, <<"[\"2026-07-28\", \"2026-07-28\", \"tools/call\", \"go\", null]">>}},
            {"forgets", {fails, mcp_server, <<"a new session cannot be started">>}}
        ]
    ].

misbehaves(Mode, Check) ->
    serving(hostile_http(Mode), fun(#{options := Options}) ->
        Kernel = connect(Options, #{default_timeout => 60000}),
        ?assertEqual(1, length(beamai_kernel:list_tools(Kernel))),
        case {call(Kernel, <<"mcp__hostile__go">>, #{}), Check} of
            {Outcome, {answers, Text}} ->
                ?assertEqual({ok, #{<<"text">> => Text}}, Outcome);
            {Outcome, {fails, Reason, Part}} ->
                {error, #{message := Message, details := #{reason := Reason}}} = Outcome,
                ?assertNotEqual({Message, nomatch}, {Message, binary:match(Message, Part)})
        end,
        ok = beamai_mcp:close(Options)
    end).

servers_that_cannot_be_used_test_() ->
    [
        {Mode, {timeout, 60, fun() -> refused(Mode, More, Part) end}}
     || {Mode, More, Part} <- [
            {"mute", #{start_timeout => 1500}, <<"cannot be used: no response to the first request within 1500 ms">>},
            {"unwelcome", #{}, <<"does not permit this (HTTP 403) (Bearer error=\"insufficient_scope\")">>},
            {"page", #{}, <<"is this the address of an MCP server?">>},
            {"nowhere", #{}, <<"HTTP 404 Not Found: <html>no such page</html>; check the path of the url, which is often /mcp">>}
        ]
    ].

refused(Mode, More, Part) ->
    serving(mcp_servers:hostile_http(Mode, More), fun(#{options := Options}) ->
        {error, #{tool := <<"mcp__hostile">>, message := Message, details := #{reason := mcp_server}}} =
            beamai_mcp:connect(Options),
        ?assertNotEqual({Message, nomatch}, {Message, binary:match(Message, Part)})
    end).

nobody_there_is_told_test_() ->
    {timeout, 60, fun() ->
        {error, #{message := Message, details := #{reason := network, <<"kind">> := <<"connect">>}}} =
            beamai_mcp:connect(#{name => "x", url => "http://127.0.0.1:1/mcp"}),
        ?assertNotEqual(nomatch, binary:match(Message, <<"connection refused; nothing listens there">>))
    end}.

%% The server is told by the end of the connection, and the call does not wait for it.
a_slow_answer_ends_with_the_time_of_the_call_test_() ->
    {timeout, 60, fun() ->
        serving(hostile_http("drip"), fun(#{options := Options} = Served) ->
            Kernel = connect(Options#{timeout => 1500}),
            ?assertMatch({error, #{error_type := timeout}}, call(Kernel, <<"mcp__hostile__go">>, #{})),
            Cancelled = fun() -> lists:keymember(<<"notifications/cancelled">>, 2, mcp_servers:asked(Served)) end,
            beamai_test:eventually(Cancelled),
            ok = beamai_mcp:close(Options)
        end)
    end}.

calls_of_a_session_that_wait_for_ever_hold_no_calls_of_others_test_() ->
    {timeout, 120, fun() ->
        serving(hostile_http("drip"), fun(#{options := Silent}) ->
            serving(hostile_http("counts"), fun(#{options := Healthy}) ->
                [Waits, Answers] = [connect(Options#{timeout => Limit}) || {Options, Limit} <- [{Silent, infinity}, {Healthy, 60000}]],
                Invoke = fun(Kernel, Session) -> beamai_kernel:invoke(Kernel, <<"mcp__hostile__go">>, #{}, #{session_id => Session}) end,
                Calls = [spawn(fun() -> Invoke(Waits, waits) end) || _ <- lists:seq(1, 80)],
                timer:sleep(1000),
                ?assertMatch({ok, _, _}, Invoke(Answers, other)),
                ?assert(lists:all(fun is_process_alive/1, Calls)),
                [exit(Call, kill) || Call <- Calls],
                [ok = beamai_mcp:close(Options) || Options <- [Silent, Healthy]]
            end)
        end)
    end}.

a_message_that_cannot_be_read_ends_the_conversation_and_not_the_server_test_() ->
    {timeout, 60, fun() ->
        serving(hostile_http("broken"), fun(#{options := Options}) ->
            Kernel = connect(Options),
            {error, #{message := Message, details := #{reason := mcp_server}}} = call(Kernel, <<"mcp__hostile__go">>, #{}),
            [
                ?assertNotEqual({Message, nomatch}, {Message, binary:match(Message, Part)})
             || Part <- [<<"invalid message">>, <<"the next call connects to it again">>]
            ],
            ?assertEqual({ok, #{<<"text">> => <<"whole again">>}}, call(Kernel, <<"mcp__hostile__go">>, #{})),
            ok = beamai_mcp:close(Options)
        end)
    end}.

sessions_that_are_lost_test_() ->
    [
        {Mode, {timeout, 60, fun() -> lost(Mode, Then) end}}
     || {Mode, Then} <- [{"loses", renewed}, {"expects", renewed}, {"rejects", replaced}]
    ].

lost(Mode, Then) ->
    serving(hostile_http(Mode), fun(#{options := Options} = Served) ->
        Kernel = connect(Options),
        Go = fun() -> call(Kernel, <<"mcp__hostile__go">>, #{}) end,
        ?assertEqual({ok, #{<<"text">> => <<"before">>}}, Go()),
        case Then of
            renewed ->
                ?assertMatch({ok, #{<<"note">> := <<"The server had lost its session", _/binary>>}}, Go());
            replaced ->
                {error, #{message := Message}} = Go(),
                ?assertNotEqual(nomatch, binary:match(Message, <<"HTTP 400 Bad Request: bad request; the next call connects">>))
        end,
        {ok, Last} = Go(),
        ?assertNot(is_map_key(<<"note">>, Last)),
        ?assertEqual(2, length([I || {_, <<"initialize">>, _, _} = I <- mcp_servers:asked(Served)])),
        ok = beamai_mcp:close(Options)
    end).

news_are_heard_on_a_stream_of_their_own_test_() ->
    {timeout, 60, fun() ->
        serving(hostile_http("news"), fun(#{options := Options}) ->
            Kernel = connect(Options),
            Go = fun() -> call(Kernel, <<"mcp__hostile__go">>, #{}) end,
            ?assertMatch({error, #{details := #{reason := tool_failed}}}, Go()),
            %% A second later it says that its tools are others now.
            Unknown = fun() ->
                case Go() of
                    {error, #{error_type := Type, details := #{reason := Reason}}} -> {Type, Reason} =:= {not_found, unknown_tool}
                end
            end,
            beamai_test:eventually(Unknown),
            ok = beamai_mcp:close(Options)
        end)
    end}.

idle_sessions_end_test_() ->
    {timeout, 60, fun() ->
        serving(mcp_servers:hostile_http("counts", #{idle_timeout => 200}), fun(#{options := Options} = Served) ->
            Kernel = connect(Options),
            Ended = fun(Count) ->
                beamai_test:eventually(fun() -> length([E || {<<"DELETE">>, _, _, _} = E <- mcp_servers:asked(Served)]) =:= Count end)
            end,
            Ended(1),
            ?assertMatch({ok, _}, call(Kernel, <<"mcp__hostile__go">>, #{})),
            Ended(2)
        end)
    end}.
