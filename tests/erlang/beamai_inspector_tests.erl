%% The inspector's page: whole, self-contained, and safe whatever it shows.
-module(beamai_inspector_tests).

-include_lib("eunit/include/eunit.hrl").

entry(Number) ->
    #{number => Number, kind => tool, name => <<"look">>, at => Number * 1000, duration_us => 500, outcome => ok, run_id => make_ref()}.

data(Id, Page) ->
    {match, [Json]} = re:run(Page, ["<script type='application/json' id='", Id, "'>(.*?)</script>"], [dotall, {capture, all_but_first, binary}]),
    {ok, Value} = beamai_json:decode(Json),
    Value.

the_page_has_what_it_was_given_test() ->
    Evil = <<"</script><script>alert(1)</script><!-- \\">>,
    Messages = [#{role => user, content => Evil}, #{role => assistant, content => <<>>, tool_calls => [#{id => <<"1">>, name => <<"look">>, args => #{<<"x">> => Evil}}]}],
    Conversation = beamai_conversation:add(Messages, beamai_conversation:new()),
    Calls = [(entry(1))#{input => #{<<"x">> => Evil}, rule => Evil}, (entry(2))#{input => {not_json, self()}}],
    Page = iolist_to_binary(beamai_inspector:page(#{title => Evil, calls => Calls, conversation => Conversation})),
    ?assertMatch([#{<<"input">> := #{<<"x">> := Evil}, <<"rule">> := Evil}, #{<<"input">> := <<"{not_json,", _/binary>>}], data("calls", Page)),
    ?assertMatch([#{<<"text">> := Evil}, #{<<"calls">> := [#{<<"name">> := <<"look">>}]}], data("messages", Page)),
    ?assertEqual(4, length(binary:matches(Page, <<"</script>">>))),
    %% Nothing is loaded from anywhere.
    ?assertEqual([], binary:matches(Page, [<<"http://">>, <<"https://">>, <<"src=">>, <<"href=">>, <<"@import">>])),
    ?assertError({bad_option, colour}, beamai_inspector:page(#{colour => red})).

many_calls_are_written_quickly_test_() ->
    {timeout, 60, fun() ->
        beamai_test:in_workspace(fun(Dir) ->
            File = filename:join(Dir, "page.html"),
            ok = beamai_inspector:write(File, #{calls => [entry(N) || N <- lists:seq(1, 20000)]}),
            ?assert(filelib:file_size(File) > 2000000)
        end)
    end}.

got(Url) -> got(Url, []).

got(Url, Headers) ->
    {ok, {{_, Code, _}, _, Body}} = httpc:request(get, {binary_to_list(iolist_to_binary(Url)), Headers}, [], [{body_format, binary}]),
    {Code, Body}.

calls_are_served_as_they_are_made_test() ->
    {ok, Trace} = beamai_trace:start_link(),
    Conversation = beamai_conversation:add([#{role => user, content => <<"Hello.">>}], beamai_conversation:new()),
    {ok, Inspector} = beamai_inspector:start_link(#{trace => Trace, title => <<"T">>, conversation => fun() -> Conversation end}),
    Url = beamai_inspector:url(Inspector),
    #{host := <<"127.0.0.1">>, port := Port, query := <<"token=", Token/binary>>} = uri_string:parse(Url),
    At = fun(Path) -> [binary:part(Url, 0, binary:longest_common_prefix([Url, <<"http://127.0.0.1:", (integer_to_binary(Port))/binary>>])), Path] end,
    {200, Page} = got(Url),
    ?assertMatch({_, _}, binary:match(Page, <<"<title>T</title>">>)),
    ?assertEqual({true, []}, {data("live", Page), data("calls", Page)}),
    K = beamai_test:kernel([beamai_test:tool(<<"look">>, fun(_) -> {ok, 1} end)]),
    [{ok, 1, _} = beamai_kernel:invoke(K, <<"look">>, #{}) || _ <- [1, 2, 3]],
    {200, First} = got(At(["/calls?after=0&token=", Token])),
    {ok, #{<<"last">> := 3, <<"rest">> := false, <<"calls">> := [#{<<"name">> := <<"look">>} | _], <<"messages">> := [#{<<"text">> := <<"Hello.">>}]}} =
        beamai_json:decode(First),
    {200, Next} = got(At(["/calls?after=2&token=", Token])),
    ?assertMatch({ok, #{<<"calls">> := [#{<<"number">> := 3}]}}, beamai_json:decode(Next)),
    Self = self(),
    Waits = beamai_test:kernel([beamai_test:tool(<<"wait">>, fun(_) -> Self ! {waits, self()}, receive go -> {ok, 1} end end)]),
    spawn_link(fun() -> beamai_kernel:invoke(Waits, <<"wait">>, #{}), Self ! answered end),
    Handler = receive {waits, Pid} -> Pid end,
    {200, Open} = got(At(["/calls?after=3&token=", Token])),
    {ok, #{<<"under_way">> := 1, <<"calls">> := [], <<"running">> := [#{<<"name">> := <<"wait">>, <<"outcome">> := <<"running">>, <<"at">> := Start}]}} = beamai_json:decode(Open),
    {200, WithOpen} = got(At(["/export?token=", Token])),
    ?assertMatch([_, _, _, #{<<"outcome">> := <<"running">>}], data("calls", WithOpen)),
    Handler ! go,
    receive answered -> ok end,
    {200, Ended} = got(At(["/calls?after=3&token=", Token])),
    ?assertMatch({ok, #{<<"under_way">> := 0, <<"running">> := [], <<"calls">> := [#{<<"at">> := Start, <<"outcome">> := <<"ok">>}]}}, beamai_json:decode(Ended)),
    {200, Export} = got(At(["/export?token=", Token])),
    ?assertEqual({false, 4}, {data("live", Export), length(data("calls", Export))}),
    %% Nobody else gets anything.
    [?assertMatch({403, _}, got(At([Path, Query]))) || Path <- ["/", "/calls", "/export"], Query <- ["", "?token=", "?token=0000", "?token"]],
    ?assertMatch({403, _}, got(Url, [{"host", "evil.example"}])),
    Own = ["127.0.0.1:", integer_to_binary(Port)],
    [
        ?assertEqual(Status, status(Port, ["GET /?token=", Token, " HTTP/1.1\r\n", [["Host: ", Host, "\r\n"] || Host <- Hosts], "\r\n"]))
     || {Status, Hosts} <- [{<<"200">>, [Own]}, {<<"403">>, ["evil.example", Own]}, {<<"403">>, [Own, "evil.example"]}, {<<"403">>, [Own, Own]}]
    ],
    ?assertMatch({404, _}, got(At(["/etc/passwd?token=", Token]))),
    ?assertMatch({400, _}, got(At(["/calls?after=x&token=", Token]))),
    {ok, {{_, 405, _}, _, _}} = httpc:request(post, {binary_to_list(Url), [], "text/plain", ""}, [], []),
    %% Nobody sends anything to it. The answer comes before the body.
    [
        ?assertEqual(Status, status(Port, [Method, " / HTTP/1.1\r\nHost: ", Own, "\r\n", Header, "\r\n\r\n"]))
     || Method <- ["POST", "GET"],
        {Status, Header} <- [
            {<<"413">>, "Content-Length: 1"}, {<<"413">>, "Content-Length: 99999999999"}, {<<"411">>, "Content-Length: -1"},
            {<<"411">>, "Content-Length: x"}, {<<"501">>, "Transfer-Encoding: chunked"}, {<<"501">>, "transfer-encoding: Chunked"},
            {<<"501">>, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"}, {<<"501">>, "Content-Length: 0\r\nTransfer-Encoding: chunked"}
        ]
    ],
    %% An address without an end is not kept.
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}]),
    ok = gen_tcp:send(Socket, ["GET /", binary:copy(<<"a">>, 100000)]),
    {ok, <<"HTTP/1.1 414", _/binary>>} = gen_tcp:recv(Socket, 0, 30000),
    ok = gen_tcp:close(Socket),
    ok = beamai_inspector:stop(Inspector),
    ?assertMatch({error, _}, httpc:request(binary_to_list(Url))),
    [?assertError({bad_option, Key}, beamai_inspector:start_link(#{trace => Trace, Key => bad})) || Key <- [port, title, conversation, colour]],
    ?assertError({bad_option, trace}, beamai_inspector:start_link(#{})),
    ok = beamai_trace:stop(Trace).

status(Port, Request) ->
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}]),
    ok = gen_tcp:send(Socket, Request),
    {ok, <<"HTTP/1.1 ", Status:3/binary, _/binary>>} = gen_tcp:recv(Socket, 0, 30000),
    ok = gen_tcp:close(Socket),
    Status.

a_port_in_use_is_named_test() ->
    {ok, Socket} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(Socket),
    {ok, Trace} = beamai_trace:start_link(),
    Flag = process_flag(trap_exit, true),
    ?assertEqual({error, eaddrinuse}, beamai_inspector:start_link(#{trace => Trace, port => Port})),
    receive {'EXIT', _, eaddrinuse} -> ok after 30000 -> error(no_exit) end,
    true = process_flag(trap_exit, Flag),
    ok = beamai_trace:stop(Trace),
    ok = gen_tcp:close(Socket).
