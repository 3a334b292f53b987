%% The interface of Gemini against a real server, whole and in pieces.
-module(beamai_gemini_tests).

-include_lib("eunit/include/eunit.hrl").

-define(KEY, <<"key-very-secret">>).

model(Server, Options) ->
    beamai_chat:new(gemini, maps:merge(#{base_url => chat_server:url(Server), api_key => ?KEY, model => <<"gemini-x">>, retry_delay => 1}, Options)).

with_server(Answers, Test) ->
    Server = chat_server:start(Answers),
    try
        Test(Server)
    after
        chat_server:stop(Server)
    end.

parts(Parts) -> parts(Parts, <<"STOP">>).

parts(Parts, Finish) ->
    #{
        candidates => [#{content => #{role => model, parts => Parts}, finishReason => Finish, index => 0}],
        usageMetadata => #{promptTokenCount => 10, candidatesTokenCount => 5, thoughtsTokenCount => 2, cachedContentTokenCount => 4}
    }.

whole(Object) -> {200, [{"content-type", "application/json"}], beamai_json:text(Object)}.

stream(Objects) -> {stream, [["data: ", beamai_json:text(Object), "\r\n\r\n"] || Object <- Objects]}.

heard(Answer, Options) ->
    with_server([Answer], fun(Server) -> beamai_chat:complete(model(Server, Options#{max_retries => 0}), <<"Hello?">>) end).

a_text_comes_as_it_was_written_test() ->
    Self = self(),
    Pieces = [<<"Gr">>, <<"üße"/utf8>>, <<", 世界!\n"/utf8>>],
    Text = iolist_to_binary(Pieces),
    Objects = [#{candidates => [#{content => #{role => model, parts => [#{text => Piece}]}}]} || Piece <- Pieces],
    [
        with_server([Answer], fun(Server) ->
            {ok, Reply} = beamai_chat:complete(model(Server, #{stream => Stream, max_tokens => 100, temperature => 0.5}), #{
                system => <<"Be brief.">>, messages => [#{role => user, content => <<"Hello?">>}], emit => fun(Event) -> Self ! Event end
            }),
            ?assertMatch(
                #{
                    message := #{content := Text, tool_calls := []}, stop := end_turn,
                    usage := #{input_tokens := 10, output_tokens := 7, cached_tokens := 4}
                },
                Reply
            ),
            ?assertEqual(Text, iolist_to_binary(emitted())),
            [#{path := Path, headers := Headers, body := Body}] = chat_server:requests(Server),
            ?assertEqual(Asked, Path),
            ?assertMatch(#{<<"x-goog-api-key">> := ?KEY}, Headers),
            ?assertEqual(
                #{
                    <<"contents">> => [#{<<"role">> => <<"user">>, <<"parts">> => [#{<<"text">> => <<"Hello?">>}]}],
                    <<"systemInstruction">> => #{<<"parts">> => [#{<<"text">> => <<"Be brief.">>}]},
                    <<"generationConfig">> => #{<<"maxOutputTokens">> => 100, <<"temperature">> => 0.5}
                },
                Body
            )
        end)
     || {Stream, Asked, Answer} <- [
            {false, <<"/models/gemini-x:generateContent">>, whole(parts([#{text => Text}]))},
            {true, <<"/models/gemini-x:streamGenerateContent?alt=sse">>, stream(Objects ++ [parts([#{text => <<>>}])])}
        ]
    ].

emitted() ->
    receive
        {text, Text} -> [Text | emitted()]
    after 0 -> []
    end.

%% A whole run: a call with a signature and one with an id of the server's go back as they came.
an_agent_calls_tools_test_() ->
    [{atom_to_list(Form), fun() -> an_agent_calls_tools(Form) end} || Form <- [whole, pieces]].

an_agent_calls_tools(Form) ->
    Thought = #{text => <<"Let me see.">>, thought => true},
    Signed = #{functionCall => #{name => <<"my.one">>, args => #{a => 1}}, thoughtSignature => <<"sig">>},
    Named = #{functionCall => #{id => <<"server_1">>, name => <<"two">>, args => #{}}},
    {Say, Stream} = case Form of
        whole -> {fun(Parts) -> whole(parts(Parts)) end, false};
        pieces -> {fun(Parts) -> stream([#{candidates => [#{content => #{parts => [P]}}]} || P <- Parts] ++ [parts([])]) end, true}
    end,
    with_server([Say([Thought, Signed, Named]), Say([#{text => <<"Done.">>}])], fun(Server) ->
        Kernel = beamai_test:kernel([
            beamai_test:tool(<<"my.one">>, fun(#{<<"a">> := 1}) -> {ok, #{found => true}} end),
            beamai_test:tool(<<"two">>, fun(_) -> {error, no} end)
        ]),
        {ok, Agent} = beamai_agent:new(#{llm => model(Server, #{stream => Stream}), kernel => Kernel}),
        Self = self(),
        {ok, #{content := <<"Done.">>, tool_calls := 2}, _} =
            beamai_agent:run(Agent, <<"Go.">>, #{events => fun({model_answer, A}) -> Self ! A; (_) -> ok end}),
        [#{body := First}, #{body := Second}] = chat_server:requests(Server),
        ?assertMatch(#{<<"tools">> := [#{<<"functionDeclarations">> := [#{<<"name">> := <<"my.one">>}, #{<<"name">> := <<"two">>}]}]}, First),
        ?assertEqual(
            [
                #{<<"role">> => <<"user">>, <<"parts">> => [#{<<"text">> => <<"Go.">>}]},
                #{<<"role">> => <<"model">>, <<"parts">> => [
                    #{<<"functionCall">> => #{<<"name">> => <<"my.one">>, <<"args">> => #{<<"a">> => 1}}, <<"thoughtSignature">> => <<"sig">>},
                    #{<<"functionCall">> => #{<<"id">> => <<"server_1">>, <<"name">> => <<"two">>, <<"args">> => #{}}}
                ]},
                #{<<"role">> => <<"user">>, <<"parts">> => [
                    #{<<"functionResponse">> => #{<<"name">> => <<"my.one">>, <<"response">> => #{<<"output">> => <<"{\"found\":true}">>}}},
                    #{<<"functionResponse">> => #{<<"id">> => <<"server_1">>, <<"name">> => <<"two">>, <<"response">> => #{<<"error">> => <<"error: no">>}}}
                ]}
            ],
            maps:get(<<"contents">>, Second)
        ),
        ?assertMatch(#{reasoning := <<"Let me see.">>}, receive #{iteration := 1} = A -> A end),
        receive #{iteration := 2} -> ok end
    end).

%% What another provider said, with results that have images.
a_conversation_of_another_provider_is_taken_up_test() ->
    with_server([whole(parts([#{text => <<"ok">>}]))], fun(Server) ->
        {ok, _} = beamai_chat:complete(model(Server, #{stream => false}), #{messages => [
            #{role => user, content => <<"a">>},
            #{role => assistant, content => <<"b">>, tool_calls => [#{id => <<"x">>, name => <<"1 odd name">>, args => #{}}]},
            #{role => tool, call => <<"x">>, name => <<"1 odd name">>, content => <<"not json">>, outcome => ok,
                images => [#{media_type => <<"image/png">>, data => <<"AAAA">>}]},
            #{role => user, content => <<"c">>}
        ]}),
        [#{body := #{<<"contents">> := [_, #{<<"parts">> := [_, #{<<"functionCall">> := #{<<"name">> := Name}}]}, Results]}}] =
            chat_server:requests(Server),
        ?assertMatch({match, _}, re:run(Name, "^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$")),
        ?assertMatch(
            #{<<"role">> := <<"user">>, <<"parts">> := [
                #{<<"functionResponse">> := #{<<"name">> := Name, <<"response">> := #{<<"output">> := <<"not json">>}}},
                #{<<"inlineData">> := #{<<"mimeType">> := <<"image/png">>, <<"data">> := <<"AAAA">>}},
                #{<<"text">> := <<"c">>}
            ]},
            Results
        )
    end).

how_it_ends_is_kept_test() ->
    Stop = fun(Finish) -> {ok, #{stop := Stop}} = heard(whole(parts([#{text => <<"a">>}], Finish)), #{stream => false}), Stop end,
    ?assertEqual(
        [end_turn, max_tokens, refusal, <<"MALFORMED_FUNCTION_CALL">>],
        [Stop(Finish) || Finish <- [<<"STOP">>, <<"MAX_TOKENS">>, <<"SAFETY">>, <<"MALFORMED_FUNCTION_CALL">>]]
    ),
    ?assertMatch({ok, #{stop := refusal}}, heard(whole(#{promptFeedback => #{blockReason => <<"SAFETY">>}}), #{stream => false})),
    Half = #{candidates => [#{content => #{parts => [#{text => <<"Once">>}]}}]},
    ?assertMatch({error, #{reason := connection}}, heard(stream([Half]), #{})),
    Odd = [#{candidates => [#{content => #{parts => [#{functionCall => #{}}]}, finishReason => <<"STOP">>}]}, #{candidates => [1]}],
    [?assertMatch({error, #{reason := _}}, heard(whole(Bad), #{stream => false})) || Bad <- Odd],
    {ok, #{message := #{tool_calls := [#{invalid := _}]}}} =
        heard(whole(parts([#{functionCall => #{name => <<"f">>, args => [1]}}])), #{stream => false}).

errors_are_understood_and_do_not_show_the_key_test() ->
    Error = fun(Code, Status, Message) ->
        {error, #{reason := Reason, message := Said}} =
            heard({Code, [], beamai_json:text(#{error => #{code => Code, status => Status, message => Message}})}, #{}),
        ?assertEqual(nomatch, binary:match(Said, ?KEY)),
        Reason
    end,
    ?assertEqual(rate_limited, Error(429, <<"RESOURCE_EXHAUSTED">>, <<"Quota.">>)),
    ?assertEqual(overloaded, Error(503, <<"UNAVAILABLE">>, <<"Later.">>)),
    ?assertEqual(authentication, Error(403, <<"PERMISSION_DENIED">>, <<"The key key-very-secret is not allowed.">>)),
    ?assertEqual(invalid_request, Error(400, <<"INVALID_ARGUMENT">>, <<"No.">>)),
    ?assertEqual(context_overflow, Error(400, <<"INVALID_ARGUMENT">>,
        <<"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).">>)),
    InStream = stream([#{error => #{code => 429, status => <<"RESOURCE_EXHAUSTED">>, message => <<"Quota.">>}}]),
    ?assertMatch({error, #{reason := rate_limited}}, heard(InStream, #{})).

an_address_keeps_its_query_test() ->
    with_server([stream([parts([#{text => <<"ok">>}])])], fun(Server) ->
        Url = <<(chat_server:url(Server))/binary, "/v1?project=p">>,
        {ok, _} = beamai_chat:complete(beamai_chat:new(gemini, #{base_url => Url, model => <<"a/b">>}), <<"Hi">>),
        ?assertMatch([#{path := <<"/v1/models/a%2Fb:streamGenerateContent?project=p&alt=sse">>}], chat_server:requests(Server))
    end).
