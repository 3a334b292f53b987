%% Chat models against a real server: both wire formats, whole and in pieces, and everything that goes wrong.
-module(beamai_chat_tests).

-include_lib("eunit/include/eunit.hrl").

-define(KEY, <<"sk-very-secret">>).

forms() -> [openai, openai_stream, anthropic, anthropic_stream].

model(Form, Server) ->
    model(Form, Server, #{}).

model(Form, Server, Options) ->
    {Provider, Stream} = provider(Form),
    Fast = #{
        base_url => chat_server:url(Server), api_key => ?KEY, model => <<"m">>, stream => Stream, retry_delay => 1
    },
    beamai_chat:new(Provider, maps:merge(Fast, Options)).

provider(openai) -> {openai, false};
provider(openai_stream) -> {openai, true};
provider(anthropic) -> {anthropic, false};
provider(anthropic_stream) -> {anthropic, true}.

with_server(Answers, Test) ->
    Server = chat_server:start(Answers),
    try
        Test(Server)
    after
        chat_server:stop(Server)
    end.

in_each_form_test_() ->
    [
        {lists:concat([Name, " ", Form]), {timeout, 20, fun() -> Test(Form) end}}
     || {Name, Test} <- [
            {"a text comes as it was written", fun a_text_comes_as_it_was_written/1},
            {"calls come with their arguments", fun calls_come_with_their_arguments/1},
            {"a busy server is asked again when it says", fun a_busy_server_is_asked_again/1},
            {"a broken connection is tried again", fun a_broken_connection_is_tried_again/1},
            {"each attempt asks for its key", fun each_attempt_asks_for_its_key/1},
            {"an error does not show keys of before", fun an_error_does_not_show_keys_of_before/1},
            {"an error does not show the key", fun an_error_does_not_show_the_key/1},
            {"silence ends", fun silence_ends/1},
            {"a cancelled run drops the connection", fun a_cancelled_run_drops_the_connection/1},
            {"a dead caller drops the connection", fun a_dead_caller_drops_the_connection/1}
        ],
        Form <- forms()
    ].

a_text_comes_as_it_was_written(Form) ->
    Text = <<"Grüße, 世界!\n\n"/utf8, "- a \"b\" \\ c">>,
    with_server([chat_server:says(Form, Text)], fun(Server) ->
        Self = self(),
        Emit = fun(Event) -> Self ! Event end,
        {ok, Reply} = beamai_chat:complete(model(Form, Server), #{
            system => <<"Be brief.">>, messages => [#{role => user, content => <<"Hello?">>}], emit => Emit
        }),
        ?assertMatch(
            #{
                message := #{role := assistant, content := Text, tool_calls := []},
                stop := end_turn,
                usage := #{input_tokens := 10, output_tokens := 5}
            },
            Reply
        ),
        ?assertEqual(Text, iolist_to_binary(emitted())),
        [Request] = chat_server:requests(Server),
        sent(element(1, provider(Form)), Request)
    end).

sent(openai, #{path := Path, headers := Headers, body := Body}) ->
    ?assertEqual(<<"/chat/completions">>, Path),
    ?assertMatch(#{<<"authorization">> := <<"Bearer sk-very-secret">>}, Headers),
    ?assertMatch(
        #{
            <<"model">> := <<"m">>,
            <<"messages">> := [
                #{<<"role">> := <<"system">>, <<"content">> := <<"Be brief.">>},
                #{<<"role">> := <<"user">>, <<"content">> := <<"Hello?">>}
            ]
        },
        Body
    ),
    ?assertNot(is_map_key(<<"tools">>, Body));
sent(anthropic, #{path := Path, headers := Headers, body := Body}) ->
    ?assertEqual(<<"/v1/messages">>, Path),
    ?assertMatch(#{<<"x-api-key">> := ?KEY, <<"anthropic-version">> := <<"2023-06-01">>}, Headers),
    ?assertMatch(
        #{
            <<"system">> := <<"Be brief.">>,
            <<"max_tokens">> := 8192,
            <<"messages">> := [
                #{<<"role">> := <<"user">>, <<"content">> := [#{<<"type">> := <<"text">>, <<"text">> := <<"Hello?">>}]}
            ]
        },
        Body
    ).

emitted() ->
    receive
        {text, Text} -> [Text | emitted()]
    after 0 -> []
    end.

%% With a conversation that has calls and results of an earlier turn in it.
calls_come_with_their_arguments(Form) ->
    Args = #{<<"path">> => <<"ä.txt"/utf8>>, <<"n">> => 1},
    Turn = #{content => <<"I look.">>, tool_calls => [{<<"one">>, Args}, {<<"two">>, #{}}]},
    with_server([chat_server:says(Form, Turn)], fun(Server) ->
        Kernel = beamai_test:kernel([beamai_test:tool(<<"one">>, fun(_) -> {ok, 1} end)]),
        {ok, #{message := Message, stop := Stop}} = beamai_chat:complete(model(Form, Server), #{
            kernel => Kernel,
            messages => [
                #{role => user, content => <<"Go.">>},
                #{role => assistant, content => <<>>, tool_calls => [#{id => <<"x">>, name => <<"one">>, args => Args}]},
                #{role => tool, call => <<"x">>, name => <<"one">>, content => <<"{}">>, outcome => error},
                #{role => user, content => <<"Again.">>}
            ]
        }),
        ?assertEqual(tool_calls, Stop),
        ?assertMatch(
            #{
                content := <<"I look.">>,
                tool_calls := [#{name := <<"one">>, args := Args}, #{name := <<"two">>, args := Empty}]
            } when map_size(Empty) =:= 0,
            Message
        ),
        [#{body := #{<<"messages">> := Sent, <<"tools">> := [Tool]}}] = chat_server:requests(Server),
        replayed(element(1, provider(Form)), Sent, Tool)
    end).

replayed(openai, Sent, Tool) ->
    ?assertMatch(#{<<"type">> := <<"function">>, <<"function">> := #{<<"name">> := <<"one">>}}, Tool),
    ?assertMatch(
        [
            #{<<"role">> := <<"user">>},
            #{
                <<"content">> := null,
                <<"tool_calls">> := [#{<<"id">> := <<"x">>, <<"function">> := #{<<"arguments">> := <<"{", _/binary>>}}]
            },
            #{<<"role">> := <<"tool">>, <<"tool_call_id">> := <<"x">>, <<"content">> := <<"{}">>},
            #{<<"role">> := <<"user">>}
        ],
        Sent
    );
replayed(anthropic, Sent, Tool) ->
    ?assertMatch(#{<<"name">> := <<"one">>, <<"input_schema">> := #{<<"type">> := <<"object">>}}, Tool),
    ?assertMatch(
        [
            #{<<"role">> := <<"user">>},
            #{<<"role">> := <<"assistant">>, <<"content">> := [#{<<"type">> := <<"tool_use">>, <<"id">> := <<"x">>}]},
            #{
                <<"role">> := <<"user">>,
                <<"content">> := [
                    #{<<"type">> := <<"tool_result">>, <<"tool_use_id">> := <<"x">>, <<"is_error">> := true},
                    #{<<"type">> := <<"text">>, <<"text">> := <<"Again.">>}
                ]
            }
        ],
        Sent
    ).

a_busy_server_is_asked_again(Form) ->
    Busy = {429, [{"Retry-After", "1"}], <<"{\"error\":{\"message\":\"slow down\"}}">>},
    Later = {529, [{"retry-after-ms", "20"}], <<>>},
    with_server([Later, Busy, chat_server:says(Form, <<"Here.">>)], fun(Server) ->
        Self = self(),
        Emit = fun(Event) -> Self ! Event end,
        Started = erlang:monotonic_time(millisecond),
        {ok, #{message := #{content := <<"Here.">>}}} =
            beamai_chat:complete(model(Form, Server), #{messages => hello(), emit => Emit}),
        ?assert(erlang:monotonic_time(millisecond) - Started >= 1020),
        ?assertEqual({20, 1}, receive {retry, #{delay_ms := D, attempt := A}} -> {D, A} end),
        ?assertEqual({1000, 2}, receive {retry, #{delay_ms := D, attempt := A}} -> {D, A} end),
        _ = emitted()
    end).

hello() -> [#{role => user, content => <<"Hello">>}].

a_broken_connection_is_tried_again(Form) ->
    Broken =
        case chat_server:says(Form, <<"A long answer">>) of
            {stream, Pieces} -> {broken, lists:sublist(Pieces, length(Pieces) div 2)};
            _ -> close
        end,
    %% The second one ends as a stream should, but the answer in it does not.
    Cut =
        case Broken of
            {broken, Half} -> {stream, Half};
            close -> close
        end,
    with_server([Broken, Cut, chat_server:says(Form, <<"A long answer">>)], fun(Server) ->
        ?assertMatch(
            {ok, #{message := #{content := <<"A long answer">>}}},
            beamai_chat:complete(model(Form, Server), #{messages => hello()})
        ),
        ?assertEqual(3, length(chat_server:requests(Server)))
    end).

%% The second one was given out while the server was busy, and the third is none.
each_attempt_asks_for_its_key(Form) ->
    Busy = fun(Headers) -> {529, [], <<"busy with ", (maps:get(<<"x-own">>, Headers))/binary, ", before with own-value-1">>} end,
    with_server(fun(#{headers := Headers}) -> Busy(Headers) end, fun(Server) ->
        Asked = counters:new(1, []),
        Key = fun() ->
            ok = counters:add(Asked, 1, 1),
            case counters:get(Asked, 1) of
                3 -> <<>>;
                N -> <<"sk-secret-", (integer_to_binary(N))/binary>>
            end
        end,
        Own = fun() -> <<"own-value-", (integer_to_binary(counters:get(Asked, 1)))/binary>> end,
        Self = self(),
        {error, #{reason := authentication}} =
            beamai_chat:complete(model(Form, Server, #{api_key => Key, headers => [{<<"x-own">>, Own}]}), #{
                messages => hello(), emit => fun(Event) -> Self ! Event end
            }),
        Requests = [Headers || #{headers := Headers} <- chat_server:requests(Server)],
        ?assertEqual([{N, <<"own-value-", N>>} || N <- "12"], [{binary:last(sent_key(Headers)), maps:get(<<"x-own">>, Headers)} || Headers <- Requests]),
        %% Each error hides what this attempt and those before it sent.
        [receive {retry, #{message := Message}} -> ?assertNotEqual(nomatch, string:find(Message, <<"busy with ***, before with ***">>)) end || _ <- [1, 2]]
    end).

an_error_does_not_show_keys_of_before(Form) ->
    Seen = fun(_) -> {401, [], <<"seen: sk-secret-1, sk-secret-2, sk-secret-3 and sk-secret-4">>} end,
    with_server(fun(Request) -> Seen(Request) end, fun(Server) ->
        Error = fun(N) ->
            Model = model(Form, Server, #{api_key => fun() -> <<"sk-secret-", (integer_to_binary(N))/binary>> end}),
            {error, #{message := Message}} = beamai_chat:complete(Model, #{messages => hello()}),
            Message
        end,
        _ = [Error(N) || N <- [1, 2]],
        ?assertNotEqual(nomatch, string:find(Error(3), <<"seen: ***, ***, *** and sk-secret-4">>))
    end).

sent_key(#{<<"authorization">> := Key}) -> Key;
sent_key(#{<<"x-api-key">> := Key}) -> Key.

an_error_does_not_show_the_key(Form) ->
    Refused = {401, [], [<<"{\"error\":{\"message\":\"Incorrect API key provided: ">>, ?KEY, <<"\"}}">>]},
    with_server([Refused], fun(Server) ->
        Model = model(Form, Server),
        {error, Error} = beamai_chat:complete(Model, #{messages => hello()}),
        ?assertMatch(#{reason := authentication, status := 401}, Error),
        ?assertEqual(1, length(chat_server:requests(Server))),
        Shown = io_lib:format("~p ~p", [Error, Model]),
        ?assertEqual(nomatch, string:find(Shown, ?KEY)),
        ?assertNotEqual(nomatch, string:find(maps:get(message, Error), <<"provided: ***">>))
    end).

silence_ends(Form) ->
    with_server([silent], fun(Server) ->
        Model = model(Form, Server, #{idle_timeout => 100}),
        ?assertMatch({error, #{reason := timeout}}, beamai_chat:complete(Model, #{messages => hello()})),
        beamai_test:eventually(fun() -> chat_server:open(Server) =:= 0 end)
    end).

a_cancelled_run_drops_the_connection(Form) ->
    with_server([silent], fun(Server) ->
        Run = beamai_runs:enter(some_run),
        Self = self(),
        spawn_link(fun() ->
            beamai_test:eventually(fun() -> chat_server:requests(Server) =/= [] end),
            ok = beamai_kernel:cancel(some_run),
            Self ! told
        end),
        ?assertMatch(
            {error, #{reason := cancelled}},
            beamai_chat:complete(model(Form, Server), #{messages => hello(), run => Run})
        ),
        ok = receive told -> ok end,
        beamai_runs:leave(some_run, Run),
        beamai_test:eventually(fun() -> chat_server:open(Server) =:= 0 end),
        ?assertEqual([], beamai_test:mailbox())
    end).

a_dead_caller_drops_the_connection(Form) ->
    with_server([silent], fun(Server) ->
        Pid = spawn(fun() -> beamai_chat:complete(model(Form, Server), #{messages => hello()}) end),
        beamai_test:eventually(fun() -> chat_server:requests(Server) =/= [] end),
        ?assertEqual(1, chat_server:open(Server)),
        exit(Pid, kill),
        beamai_test:eventually(fun() -> chat_server:open(Server) =:= 0 end)
    end).

%% Texts are cut at 500 characters.
an_error_shows_no_part_of_the_key_test_() ->
    [
        {lists:concat([Status, " ", Form]), fun() -> shows_no_part_of_the_key(Status, Form) end}
     || Status <- [400, 401, 500], Form <- [text, message, object]
    ].

shows_no_part_of_the_key(Status, Form) ->
    Key = <<"KQ7zX2mN9/L4vB8rT1wY6cD3fG5hJ0sA">>,
    Answer = fun(#{body := #{<<"messages">> := [#{<<"content">> := Before}]}}) ->
        Text = [binary:copy(<<"x">>, binary_to_integer(Before)), Key, binary:copy(<<"y">>, 500)],
        {Status, [], body(Form, iolist_to_binary(Text))}
    end,
    with_server(Answer, fun(Server) ->
        [
            begin
                Model = model(openai, Server, Secret#{max_retries => 0}),
                {error, #{message := Message}} = beamai_chat:complete(Model, integer_to_binary(Before)),
                ?assertEqual({Before, Message, nomatch}, {Before, Message, binary:match(Message, parts(Key))})
            end
         || Before <- [0 | lists:seq(440, 500, 6)],
            Secret <- [#{api_key => Key}, #{headers => [{"Authorization", <<"Bearer ", Key/binary>>}]}, #{headers => [{"x-key", Key}]}]
        ]
    end).

body(text, Text) -> Text;
body(message, Text) -> beamai_json:text(#{error => #{message => Text}});
body(object, Text) -> binary:replace(beamai_json:text(#{detail => Text}), <<"/">>, <<"\\/">>, [global]).

parts(Key) -> [binary:part(Key, At, 6) || At <- lists:seq(0, byte_size(Key) - 6)].

an_error_does_not_show_the_key_in_escapes_test() ->
    Key = <<"KQ7zX2mN9/L4vB8\"T1wY6">>,
    Each = fun(Format) -> iolist_to_binary([io_lib:format(Format, [Byte]) || <<Byte>> <= Key]) end,
    Escaped = [
        Each("%~2.16.0b"), uri_string:quote(Key), Each("\\u~4.16.0b"), Each("&#~b;"), Each("&#x~.16b;"),
        binary:replace(binary:replace(Key, <<"/">>, <<"\\/">>), <<"\"">>, <<"&quot;">>)
    ],
    [
        with_server([{401, [], <<"bad key ", Text/binary, " here">>}], fun(Server) ->
            {error, #{message := Message}} = beamai_chat:complete(model(openai, Server, #{api_key => Key}), <<"Hi">>),
            ?assertMatch({_, {match, _}}, {Text, re:run(Message, <<"bad key \\*\\*\\* here">>)})
        end)
     || Text <- Escaped
    ].

a_page_shows_no_part_of_the_key_test() ->
    Key = <<"KQ7zX2mN9pL4vB8rT1wY6cD3fG5hJ0sA">>,
    [
        with_server([{stream, Pieces}], fun(Server) ->
            {error, #{reason := invalid_response, message := Message}} =
                beamai_chat:complete(model(openai_stream, Server, #{api_key => Key}), <<"Hi">>),
            ?assertEqual({Message, nomatch}, {Message, binary:match(Message, parts(Key))})
        end)
     || Pieces <- [
            [[<<"<html>">>, binary:copy(<<"x">>, 180), Key, <<"</html>">>]],
            [[<<"<html>No ">>, binary:part(Key, 0, 20)], [binary:part(Key, 20, 12), <<"</html>">>]],
            [[<<"<html>Né "/utf8>>, Key, <<16#C3>>], [<<16#A9, "</html>">>]]
        ]
    ].

tries_are_bounded_test() ->
    with_server(fun(_) -> {503, [], <<"down">>} end, fun(Server) ->
        Model = model(openai, Server, #{max_retries => 2}),
        ?assertMatch({error, #{reason := overloaded, status := 503}}, beamai_chat:complete(Model, <<"Hi">>)),
        ?assertEqual(3, length(chat_server:requests(Server)))
    end).

a_wait_that_is_too_long_is_an_error_that_says_so_test() ->
    with_server([{429, [{"retry-after", "3600"}], <<"no">>}], fun(Server) ->
        {error, #{reason := rate_limited, message := Message, retry_after := 3600000}} =
            beamai_chat:complete(model(openai, Server), <<"Hi">>),
        ?assertNotEqual(nomatch, string:find(Message, "wait 3600 s"))
    end).

what_another_try_cannot_mend_is_not_tried_again_test() ->
    with_server([{400, [], <<"{\"error\":\"no such model\"}">>}], fun(Server) ->
        {error, #{reason := invalid_request, message := Message}} =
            beamai_chat:complete(model(openai, Server), <<"Hi">>),
        ?assertNotEqual(nomatch, string:find(Message, "no such model"))
    end).

a_redirect_is_not_followed_test() ->
    with_server([{307, [{"location", "http://127.0.0.1:1/"}], <<>>}], fun(Server) ->
        ?assertMatch(
            {error, #{reason := invalid_request, status := 307}},
            beamai_chat:complete(model(openai, Server), <<"Hi">>)
        )
    end).

nobody_listening_is_an_error_that_names_the_address_test() ->
    Server = chat_server:start([]),
    Url = chat_server:url(Server),
    chat_server:stop(Server),
    timer:sleep(20),
    Model = beamai_chat:new(openai, #{base_url => Url, model => <<"m">>, max_retries => 1, retry_delay => 1}),
    {error, #{reason := connection, message := Message}} = beamai_chat:complete(Model, <<"Hi">>),
    ?assertNotEqual(nomatch, string:find(Message, "127.0.0.1")).

no_cookie_is_kept_test() ->
    Answers = [
        {429, [{"set-cookie", "a=b"}], <<>>},
        chat_server:says(openai, <<"ok">>)
    ],
    with_server(Answers, fun(Server) ->
        {ok, _} = beamai_chat:complete(model(openai, Server), <<"Hi">>),
        [?assertNot(is_map_key(<<"cookie">>, Headers)) || #{headers := Headers} <- chat_server:requests(Server)]
    end).

arguments_that_are_no_json_come_as_invalid_test() ->
    Delta = fun(D) -> ["data: ", beamai_json:text(#{choices => [#{index => 0, delta => D}]}), "\n\n"] end,
    Call = #{index => 0, id => <<"x">>, function => #{name => <<"one">>, arguments => <<"{\"a\": ">>}},
    with_server([{stream, [Delta(#{tool_calls => [Call]}), "data: [DONE]\n\n"]}], fun(Server) ->
        {ok, #{message := #{tool_calls := [#{name := <<"one">>, invalid := Why}]}}} =
            beamai_chat:complete(model(openai_stream, Server), <<"Hi">>),
        ?assertNotEqual(nomatch, string:find(Why, "EOF"))
    end).

an_error_within_a_stream_is_tried_again_test() ->
    Error = #{type => error, error => #{type => overloaded_error, message => <<"Overloaded">>}},
    Broken = {stream, [["event: error\ndata: ", beamai_json:text(Error), "\n\n"]]},
    with_server([Broken, chat_server:says(anthropic_stream, <<"ok">>)], fun(Server) ->
        {ok, #{message := #{content := <<"ok">>}}} = beamai_chat:complete(model(anthropic_stream, Server), <<"Hi">>)
    end).

thinking_goes_back_as_it_came_test() ->
    Blocks = [
        #{<<"type">> => <<"thinking">>, <<"thinking">> => <<"hm">>, <<"signature">> => <<"s">>},
        #{<<"type">> => <<"text">>, <<"text">> => <<"Yes">>}
    ],
    Answer = #{type => message, content => Blocks, stop_reason => end_turn, usage => #{}},
    Said = {200, [], beamai_json:text(Answer)},
    with_server([Said, Said], fun(Server) ->
        Model = model(anthropic, Server),
        {ok, #{message := Message}} = beamai_chat:complete(Model, #{messages => hello()}),
        {ok, _} = beamai_chat:complete(Model, #{messages => hello() ++ [Message | hello()]}),
        [_, #{body := #{<<"messages">> := [_, #{<<"content">> := Sent}, _]}}] = chat_server:requests(Server),
        ?assertEqual(Blocks, Sent)
    end).

%%% TLS

over_tls_only_a_verified_server_is_talked_to_test_() ->
    {timeout, 30, fun() ->
        beamai_test:in_workspace(fun(Dir) ->
            #{server_config := Config, client_config := Trusted} = certificates(),
            Server = chat_server:start(fun(_) -> chat_server:says(openai, <<"ok">>) end, #{tls => Config}),
            File = filename:join(Dir, "ca.pem"),
            Pem = [{'Certificate', Der, not_encrypted} || Der <- proplists:get_value(cacerts, Trusted)],
            ok = file:write_file(File, public_key:pem_encode(Pem)),
            Known = model(openai, Server, #{cacertfile => File}),
            ?assertMatch({ok, _}, beamai_chat:complete(Known, <<"Hi">>)),
            Unknown = model(openai, Server),
            {error, #{reason := tls, message := Message}} = quiet(fun() -> beamai_chat:complete(Unknown, <<"Hi">>) end),
            ?assertNotEqual(nomatch, string:find(Message, "TLS")),
            ?assertEqual(1, length(chat_server:requests(Server))),
            chat_server:stop(Server)
        end)
    end}.

%% Both ends report a refused handshake.
quiet(Fun) ->
    #{level := Level} = logger:get_primary_config(),
    ok = logger:set_primary_config(level, none),
    try
        Fun()
    after
        logger:set_primary_config(level, Level)
    end.

certificates() ->
    Name = {'Extension', {2, 5, 29, 17}, false, [{dNSName, "localhost"}]},
    Rsa = [{digest, sha256}, {key, {rsa, 2048, 65537}}],
    Chain = #{root => Rsa, intermediates => [], peer => Rsa ++ [{extensions, [Name]}]},
    Data = public_key:pkix_test_data(#{server_chain => Chain, client_chain => Chain#{peer => Rsa}}),
    #{server_config := Server, client_config := Client} = Data,
    #{server_config => Server, client_config => Client}.

%%% Waiting

the_servers_delay_comes_as_seconds_milliseconds_or_a_date_test() ->
    Now = {{2024, 1, 31}, {23, 59, 50}},
    After = fun(Headers) -> beamai_chat_retry:retry_after(Headers, Now) end,
    ?assertEqual({ok, 2000}, After([{"retry-after", "2"}])),
    ?assertEqual({ok, 1500}, After([{"retry-after", "1.5"}])),
    ?assertEqual({ok, 7}, After([{"retry-after", "2"}, {"retry-after-ms", "7"}])),
    ?assertEqual({ok, 20000}, After([{"retry-after", "Thu, 01 Feb 2024 00:00:10 GMT"}])),
    ?assertEqual({ok, 0}, After([{"retry-after", "Wed, 31 Jan 2024 23:00:00 GMT"}])),
    [?assertEqual(none, After([{"retry-after", Bad}])) || Bad <- ["", "soon", "-1"]],
    ?assertEqual(none, After([])).

waits_double_and_are_bounded_test() ->
    Policy = #{max_retries => 9, retry_delay => 100, max_retry_delay => 1000},
    [
        begin
            Delay = beamai_chat_retry:delay(Policy, #{reason => connection, message => <<>>}, Attempt),
            ?assert(Delay > 0 andalso Delay >= Full div 2 andalso Delay =< Full)
        end
     || {Attempt, Full} <- [{1, 100}, {2, 200}, {3, 400}, {4, 800}, {5, 1000}, {40, 1000}], _ <- lists:seq(1, 20)
    ].

%%% Events

events_are_the_same_wherever_the_stream_is_cut_test() ->
    Text = <<": hello\r\nevent: a\r\ndata: 1\r\ndata:2\r\n\r\ndata: x\n\nid: 7\rdata: y\r\rdata\n\nevent: lost\n\ndata: cut">>,
    Whole = [
        #{event => <<"a">>, data => <<"1\n2">>},
        #{event => <<>>, data => <<"x">>},
        #{event => <<>>, data => <<"y">>},
        #{event => <<>>, data => <<>>}
    ],
    Feed = fun(Pieces) ->
        {Events, _} = lists:foldl(
            fun(Piece, {Acc, Sse}) ->
                {ok, New, Next} = beamai_sse:feed(Piece, Sse),
                {Acc ++ New, Next}
            end,
            {[], beamai_sse:new()},
            Pieces
        ),
        Events
    end,
    ?assertEqual(Whole, Feed([Text])),
    ?assertEqual(Whole, Feed([<<Byte>> || <<Byte>> <= Text])),
    [
        ?assertEqual(Whole, Feed([binary:part(Text, 0, At), binary:part(Text, At, byte_size(Text) - At)]))
     || At <- lists:seq(0, byte_size(Text))
    ].

an_event_without_an_end_is_refused_test() ->
    Mib = binary:copy(<<"x">>, 1048576),
    Feed = fun Feed(Sse, N) ->
        case beamai_sse:feed(Mib, Sse) of
            {ok, [], Next} when N < 20 -> Feed(Next, N + 1);
            Other -> Other
        end
    end,
    ?assertEqual({error, too_large}, Feed(beamai_sse:new(), 0)).

%%% Options

a_bad_option_is_refused_by_its_name_test() ->
    Good = #{model => <<"m">>},
    ?assertError({bad_option, model}, beamai_chat:new(openai, #{})),
    [
        ?assertError({bad_option, Key}, beamai_chat:new(Provider, Good#{Key => Bad}))
     || Provider <- [openai, anthropic],
        {Key, Bad} <- [
            {api_key, <<"two words">>}, {api_key, <<"line\n">>}, {base_url, <<"file:///etc">>},
            {base_url, <<"http://user:pw@host">>}, {headers, [{<<"a">>, <<"b\r\nc: d">>}]}, {stream, 1},
            {max_tokens, 0}, {timeout, 0}, {nonsense, 1}
        ]
    ],
    ?assertError({bad_option, complete}, beamai_chat:new(text, #{})),
    ?assertError({bad_option, turns}, beamai_chat:new(scripted, #{})),
    ?assertError({bad_provider, nobody}, beamai_chat:new(nobody, #{})).

%%% Scripts

a_script_says_its_turns_by_their_place_in_the_conversation_test() ->
    Model = beamai_chat:new(scripted, #{turns => [<<"one">>, #{tool_calls => [{<<"t">>, #{}}]}, {error, gone}]}),
    Say = fun(N) ->
        Said = lists:append([hello() ++ [#{role => assistant, content => <<>>}] || _ <- lists:seq(1, N)]),
        beamai_chat:complete(Model, #{messages => Said ++ hello()})
    end,
    ?assertMatch({ok, #{message := #{content := <<"one">>}}}, Say(0)),
    ?assertMatch({ok, #{message := #{tool_calls := [#{id := <<"call_2_1">>}]}, stop := tool_calls}}, Say(1)),
    ?assertMatch({error, #{reason := failed, message := <<"gone">>}}, Say(2)),
    ?assertMatch({error, #{reason := no_more_turns}}, Say(3)).
