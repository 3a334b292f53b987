%% The MCP client against servers that misbehave.
-module(beamai_mcp_hostile_tests).

-include_lib("eunit/include/eunit.hrl").

-import(mcp_servers, [connect/1, connect/2, call/3, call/4, gone/1, close/1, flush/0]).

hostile_servers_test_() ->
    [
        {Mode, {timeout, 120, fun() -> misbehaves(Mode, Check) end}}
     || {Mode, Check} <- [
            {"garbage", {answers, <<"still here">>}},
            {"broken", {fails, mcp_server, <<"it sent an invalid message">>}},
            {"noise", {fails, mcp_server, <<"10000 lines that are not messages">>}},
            {"long", {fails, mcp_server, <<"more than 33554432 bytes">>}},
            {"objects", {fails, mcp_server, <<"it sent an invalid message: has more than 500000 values">>}},
            {"notifies", {fails, mcp_server, <<"it sent an invalid message: has more than 200000 objects">>}},
            {"encodes", {answers_cut, 9000000}},
            {"flood", {answers, <<"flooded">>}},
            {"asks", {fails, mcp_server, <<"has not read 1000 messages">>}},
            {"unknown", {fails, invalid_argument, <<"Unknown tool">>}},
            {"refuses", {fails, mcp_server, <<"out of order (-32000)">>}},
            {"nonsense", {fails, mcp_server, <<"not a tool result">>}},
            {"roots", {answers, <<"[-32601, -32601]">>}},
            {"leaves", {fails, mcp_server, <<"out of memory">>}}
        ]
    ].

misbehaves(Mode, Check) ->
    Options = mcp_servers:hostile(Mode),
    Kernel = connect(Options, #{default_timeout => 60000}),
    ?assertEqual(2, length(beamai_kernel:list_tools(Kernel))),
    Outcome = call(Kernel, <<"mcp__hostile__go">>, #{}, #{progress => self()}),
    case Check of
        {answers, Text} ->
            ?assertEqual({ok, #{<<"text">> => Text}}, Outcome);
        {answers_cut, Bytes} ->
            {ok, Result} = Outcome,
            ?assertEqual(
                #{<<"structured">> => #{}, <<"truncated">> => true, <<"text_bytes">> => Bytes},
                maps:remove(<<"text">>, Result)
            );
        {fails, Reason, Part} ->
            {error, #{message := Message, details := #{reason := Reason}}} = Outcome,
            ?assertNotEqual({Message, nomatch}, {Message, binary:match(Message, Part)})
    end,
    %% A server that reports without end does not fill the caller's mailbox.
    ?assert(length(beamai_test:mailbox()) < 5000),
    flush(),
    close(Options).

servers_that_do_not_start_test_() ->
    [
        {Mode, {timeout, 60, fun() -> refused(Mode, More, Part) end}}
     || {Mode, More, Part} <- [
            {"mute", #{start_timeout => 1500}, <<"no response to the first request within 1500 ms; the end of its stderr: I say nothing">>},
            {"babble", #{}, <<"exited with code 1; it wrote \"Welcome to the server!\" where a message should be">>},
            {"rejects", #{}, <<"responded to the first request with an error: -32603: not today">>},
            {"other", #{}, <<"responded to the first request with another message">>},
            {"twins", #{}, <<"two tools, \"a.b\" and \"a/b\", that would both be named mcp__hostile__a_b">>},
            {"deep", #{}, <<"64 levels">>},
            {"endless", #{}, <<"more than 200 pages">>},
            {"crowd", #{}, <<"more than 1000 tools">>},
            {"no_tools", #{}, <<"with another result">>}
        ]
    ].

refused(Mode, More, Part) ->
    Options = mcp_servers:hostile(Mode, More),
    {error, #{tool := <<"mcp__hostile">>, error_type := execution_failed, message := Message, details := Details}} =
        beamai_mcp:connect(Options#{sandbox => best_effort}),
    ?assertEqual(mcp_server, maps:get(reason, Details)),
    ?assertNotEqual({Message, nomatch}, {Message, binary:match(Message, Part)}),
    %% Nobody would ever end it.
    gone(Options).

pages_and_long_names_test_() ->
    {timeout, 60, fun() ->
        Options = mcp_servers:hostile("pages"),
        Names = [Name || #{name := Name} <- beamai_kernel:list_tools(connect(Options))],
        ?assertEqual([<<"mcp__hostile__tool", (N + $0)>> || N <- lists:seq(0, 4)], Names),
        close(Options),
        Long = mcp_servers:hostile("plain"),
        [_, Cut] = [Name || #{name := Name} <- beamai_kernel:list_tools(connect(Long))],
        ?assertMatch({64, {match, _}}, {byte_size(Cut), re:run(Cut, "^mcp__hostile__x+_[0-9a-f]{8}$")}),
        close(Long)
    end}.

%% Of the newest revision: no handshake, and questions come as results of the call.
a_server_without_handshake_test_() ->
    {timeout, 60, fun() ->
        Options = mcp_servers:hostile("modern"),
        Kernel = connect(Options),
        Go = fun(Context) -> call(Kernel, <<"mcp__hostile__go">>, #{}, Context) end,
        Answer = fun([#{<<"question">> := Question}]) ->
            {match, _} = re:run(Question, "^the MCP server hostile .* asks: .*Which word"),
            {ok, #{Question => <<"yes">>}}
        end,
        ?assertEqual(
            {ok, #{<<"text">> => <<"2026-07-28 s1 accept {'word': 'yes'}">>}}, Go(#{ask_user => Answer})
        ),
        ?assertEqual({ok, #{<<"text">> => <<"2026-07-28 s1 decline None">>}}, Go(#{})),
        close(Options)
    end}.

idle_servers_end_test_() ->
    {timeout, 60, fun() ->
        Options = (mcp_servers:hostile("plain"))#{idle_timeout => 200},
        Kernel = connect(Options),
        gone(Options),
        ?assertEqual({ok, #{<<"text">> => <<"plain">>}}, call(Kernel, <<"mcp__hostile__go">>, #{})),
        gone(Options)
    end}.
