%% Answers as servers send them that are only like the providers' own, and images on the wire.
-module(beamai_chat_wire_tests).

-include_lib("eunit/include/eunit.hrl").

-export([log/2]).

model(Provider, Server, Options) ->
    Fast = #{base_url => chat_server:url(Server), model => <<"m">>, retry_delay => 1, max_retries => 0},
    beamai_chat:new(Provider, maps:merge(Fast, Options)).

%% What a model makes of one answer.
heard(Provider, Answer) ->
    heard(Provider, Answer, #{}).

heard(Provider, Answer, Options) ->
    Server = chat_server:start([Answer]),
    try
        beamai_chat:complete(model(Provider, Server, Options), <<"Hello, who are you?">>)
    after
        chat_server:stop(Server)
    end.

whole(Object) -> {200, [], beamai_json:text(Object)}.

stream(Events) -> {stream, [data(Event) || Event <- Events]}.

data(Event) -> ["data: ", beamai_json:text(Event), "\n\n"].

%%% The interface of OpenAI

choice(Delta) -> choice(Delta, null).

choice(Delta, Finish) -> #{choices => [#{index => 0, delta => Delta, finish_reason => Finish}]}.

piece(Keys, Function) -> choice(#{tool_calls => [Keys#{function => Function}]}).

calls_in(Events) ->
    {ok, #{message := #{tool_calls := Calls}}} = heard(openai, stream(Events ++ [choice(#{}, tool_calls)])),
    Calls.

parallel_calls_are_told_apart_by_whatever_the_server_gives_test_() ->
    One = #{name => <<"one">>, arguments => <<"{\"a\":1}">>},
    Two = #{name => <<"two">>, arguments => <<"{\"b\":2}">>},
    More = fun(Text) -> #{arguments => Text} end,
    Servers = #{
        "indexes, in turns" => [
            piece(#{index => 0, id => <<"x">>}, One#{arguments := <<>>}), piece(#{index => 1, id => <<"y">>}, Two#{arguments := <<>>}),
            piece(#{index => 0}, More(<<"{\"a\"">>)), piece(#{index => 1}, More(<<"{\"b\"">>)),
            piece(#{index => 0}, More(<<":1}">>)), piece(#{index => 1}, More(<<":2}">>))
        ],
        "no index" => [piece(#{id => <<"x">>}, One), piece(#{id => <<"y">>}, Two)],
        "no index, in pieces" => [
            piece(#{id => <<"x">>}, One#{arguments := <<"{\"a\"">>}), piece(#{id => <<"x">>}, More(<<":1}">>)),
            piece(#{id => <<"y">>}, Two#{arguments := <<"{\"b\"">>}), piece(#{}, More(<<":2}">>))
        ],
        "index null, no ids" => [piece(#{index => null}, One), piece(#{index => null}, Two)],
        "one index for all" => [piece(#{index => 0, id => <<"x">>}, One), piece(#{index => 0, id => <<"y">>}, Two)],
        "ids and names in every piece" => [
            piece(#{index => 0, id => <<"x">>}, One#{arguments := <<"{\"a\"">>}),
            piece(#{index => 0, id => <<"x">>}, One#{arguments := <<":1}">>}), piece(#{index => 1, id => <<"y">>}, Two)
        ]
    },
    [
        {Name, fun() ->
            ?assertMatch(
                [#{name := <<"one">>, args := #{<<"a">> := 1}}, #{name := <<"two">>, args := #{<<"b">> := 2}}], calls_in(Events)
            )
        end}
     || {Name, Events} <- maps:to_list(Servers)
    ].

arguments_may_be_an_object_test() ->
    ?assertMatch([#{args := #{<<"a">> := 1}}], calls_in([piece(#{id => <<"x">>}, #{name => one, arguments => #{a => 1}})])),
    ?assertMatch([#{invalid := _}], calls_in([piece(#{id => <<"x">>}, #{name => one, arguments => [1]})])).

what_is_said_may_come_in_parts_and_an_error_may_be_null_test() ->
    Parts = [#{type => text, text => <<"Y">>}, #{type => thinking, thinking => []}, #{type => text, text => <<"es">>}],
    Message = #{role => assistant, content => Parts, tool_calls => null},
    Answer = whole(#{error => null, choices => [#{message => Message, finish_reason => stop}]}),
    ?assertMatch({ok, #{message := #{content := <<"Yes">>}}}, heard(openai, Answer, #{stream => false})),
    ?assertMatch({ok, #{message := #{content := <<"Yes">>}}}, heard(openai, stream([choice(#{content => Parts}, stop)]))).

a_stream_may_begin_with_a_mark_and_end_without_an_empty_line_test() ->
    Said = data(choice(#{content => <<"Yes">>})),
    Answer = {stream, [[<<239, 187, 191>>, Said], "data: [DONE]"]},
    ?assertMatch({ok, #{message := #{content := <<"Yes">>}}}, heard(openai, Answer)),
    ?assertMatch({error, #{reason := connection}}, heard(openai, {stream, [Said, "data: {\"choi"]})).

a_page_is_no_answer_test() ->
    {error, #{reason := invalid_response, message := Message}} = heard(openai, {200, [], <<"\n<html>Sign in</html>">>}),
    ?assertNotEqual(nomatch, string:find(Message, "Sign in")).

a_call_that_was_cut_off_before_its_arguments_is_not_run_test() ->
    Cut = stream([piece(#{index => 0, id => <<"x">>}, #{name => <<"one">>, arguments => <<>>}), choice(#{}, length)]),
    ?assertMatch({ok, #{stop := max_tokens, message := #{tool_calls := [#{invalid := _}]}}}, heard(openai, Cut)),
    Use = #{type => tool_use, id => <<"x">>, name => <<"one">>, input => #{}},
    ?assertMatch(
        {ok, #{stop := max_tokens, message := #{tool_calls := [#{invalid := _}]}}},
        heard(anthropic, blocks([{Use, []}], max_tokens))
    ).

arguments_that_were_cut_off_are_called_that_test() ->
    Half = <<"{\"path\": \"a\", \"content\": \"Once upo">>,
    Use = #{type => tool_use, id => <<"x">>, name => <<"one">>, input => #{}},
    Openai = fun(Finish) ->
        stream([piece(#{index => 0, id => <<"x">>}, #{name => <<"one">>, arguments => Half}), choice(#{}, Finish)])
    end,
    Anthropic = fun(Stop) -> blocks([{Use, [#{type => input_json_delta, partial_json => Half}]}], Stop) end,
    Why = fun({ok, #{message := #{tool_calls := [#{invalid := Invalid}]}}}) -> Invalid end,
    [
        ?assertMatch(<<"the answer reached its limit of tokens before", _/binary>>, Why(Cut))
     || Cut <- [heard(openai, Openai(length)), heard(anthropic, Anthropic(max_tokens))]
    ],
    [
        ?assertMatch(<<"the arguments: ", _/binary>>, Why(Broken))
     || Broken <- [heard(openai, Openai(tool_calls)), heard(anthropic, Anthropic(tool_use))]
    ].

a_function_without_a_key_is_an_error_of_the_answer_test() ->
    [
        ?assertMatch(
            {error, #{reason := authentication, message := <<"the function in api_key", _/binary>>}},
            beamai_chat:complete(beamai_chat:new(openai, #{model => <<"m">>, api_key => Fun}), <<"Hi">>)
        )
     || Fun <- [fun() -> error(locked) end, fun() -> <<"from a file\n">> end, fun() -> <<>> end, fun() -> none end]
    ].

the_query_of_an_address_stays_at_its_end_test() ->
    Server = chat_server:start([chat_server:says(openai, <<"ok">>)]),
    Url = <<(chat_server:url(Server))/binary, "/deployments/d/?api-version=1">>,
    {ok, _} = beamai_chat:complete(model(openai, Server, #{base_url => Url, stream => false}), <<"Hi">>),
    ?assertMatch([#{path := <<"/deployments/d/chat/completions?api-version=1">>}], chat_server:requests(Server)),
    chat_server:stop(Server).

tokens_are_estimated_where_nobody_counts_them_test() ->
    Text = binary:copy(<<"word ">>, 100),
    {ok, #{usage := Usage}} = heard(openai, stream([choice(#{content => Text}, stop)])),
    ?assertEqual(#{input_tokens => 9, output_tokens => 129, cached_tokens => 0, estimated_tokens => 138}, Usage),
    Counted = (choice(#{content => Text}, stop))#{usage => #{prompt_tokens => 7, completion_tokens => 3}},
    ?assertMatch({ok, #{usage := #{input_tokens := 7, output_tokens := 3}}}, heard(openai, stream([Counted]))).

an_estimate_has_the_tools_in_it_and_a_count_of_null_is_none_test() ->
    Tool = beamai_test:tool(<<"one">>, fun(_) -> {ok, 1} end, #{description => binary:copy(<<"what it is for ">>, 100)}),
    Asked = fun(Usage) ->
        Server = chat_server:start([whole(#{choices => [#{message => #{content => <<"Yes">>}, finish_reason => stop}], usage => Usage})]),
        {ok, #{usage := Counted}} = beamai_chat:complete(model(openai, Server, #{stream => false}), #{
            messages => [#{role => user, content => <<"Hello?">>}], kernel => beamai_test:kernel([Tool])
        }),
        ok = chat_server:stop(Server),
        Counted
    end,
    #{input_tokens := Input, output_tokens := Output, estimated_tokens := Estimated} =
        Asked(#{prompt_tokens => null, completion_tokens => null}),
    ?assert(Input > 375),
    ?assertEqual(Input + Output, Estimated),
    ?assertEqual(
        #{input_tokens => Input, output_tokens => 3, cached_tokens => 0, estimated_tokens => Input},
        Asked(#{prompt_tokens => null, completion_tokens => 3, prompt_tokens_details => null})
    ),
    ?assertEqual(
        #{input_tokens => 0, output_tokens => 3, cached_tokens => 0}, Asked(#{prompt_tokens => 0, completion_tokens => 3})
    ),
    Null = #{type => message_delta, delta => #{stop_reason => end_turn}, usage => #{input_tokens => null, output_tokens => 4}},
    {ok, #{usage := Usage}} = heard(anthropic, blocks([{#{type => text, text => <<"Yes">>}, []}], end_turn, [Null])),
    ?assertEqual(#{input_tokens => 1, output_tokens => 4, cached_tokens => 0}, Usage).

what_is_no_count_is_estimated_test() ->
    Asked = fun(Provider, Answer) -> {ok, #{usage := Usage}} = heard(Provider, whole(Answer), #{stream => false}), Usage end,
    Openai = fun(Input, Output) ->
        Asked(openai, #{
            choices => [#{message => #{content => <<"Yes">>}, finish_reason => stop}],
            usage => #{prompt_tokens => Input, completion_tokens => Output, cached_tokens => Input}
        })
    end,
    Estimated = Openai(null, null),
    ?assertMatch(#{estimated_tokens := _}, Estimated),
    [
        ?assertEqual({Bad, Estimated}, {Bad, Openai(Bad, Bad)})
     || Bad <- [-600, 1.0e30, 0.4, 1000000000001, 18446744073709551615, <<"7">>, [7], #{}]
    ],
    %% Zeros are estimated too: every request has tokens.
    ?assertEqual(Estimated, Openai(0, 0)),
    Cached = #{prompt_tokens => 3, completion_tokens => 1, prompt_tokens_details => #{cached_tokens => 1000}},
    ?assertEqual(
        #{input_tokens => 3, output_tokens => 1, cached_tokens => 3},
        Asked(openai, #{choices => [#{message => #{content => <<"Yes">>}, finish_reason => stop}], usage => Cached})
    ),
    Most = 1000000000000,
    ?assertEqual(#{input_tokens => Most, output_tokens => 0, cached_tokens => 0}, Openai(Most, 0)),
    Anthropic = Asked(anthropic, #{
        content => [#{type => text, text => <<"Yes">>}], stop_reason => end_turn,
        usage => #{input_tokens => -1, output_tokens => 1.0e30, cache_read_input_tokens => 1.0e30}
    }),
    Gemini = Asked(gemini, #{
        candidates => [#{content => #{parts => [#{text => <<"Yes">>}]}, finishReason => <<"STOP">>}],
        usageMetadata => #{promptTokenCount => -1, candidatesTokenCount => 1.0e30, thoughtsTokenCount => 1.0e30}
    }),
    [?assertEqual(Estimated, Usage) || Usage <- [Anthropic, Gemini]].

a_reason_to_stop_is_kept_as_it_is_test() ->
    Stop = fun(Answer) -> {ok, #{stop := Reason}} = Answer, Reason end,
    Openai = fun(Reason) -> Stop(heard(openai, stream([choice(#{content => <<"Yes">>}, Reason)]))) end,
    Anthropic = fun(Reason) -> Stop(heard(anthropic, blocks([{#{type => text, text => <<"Yes">>}, []}], Reason))) end,
    ?assertEqual(
        [end_turn, max_tokens, refusal, <<"insufficient_system_resource">>],
        [Openai(Reason) || Reason <- [stop, length, content_filter, insufficient_system_resource]]
    ),
    ?assertEqual(
        [end_turn, max_tokens, refusal, <<"pause_turn">>, <<"stop_sequence">>, <<"model_context_window_exceeded">>],
        [
            Anthropic(Reason)
         || Reason <- [end_turn, max_tokens, refusal, pause_turn, stop_sequence, model_context_window_exceeded]
        ]
    ).

%%% The interface of Anthropic

blocks(Blocks, Stop) ->
    blocks(Blocks, Stop, []).

blocks(Blocks, Stop, Later) ->
    Numbered = lists:zip(lists:seq(0, length(Blocks) - 1), Blocks),
    stream(
        [#{type => message_start, message => #{usage => #{input_tokens => 1, output_tokens => 1}}}] ++
            lists:append([
                [#{type => content_block_start, index => Index, content_block => Start}] ++
                    [#{type => content_block_delta, index => Index, delta => Delta} || Delta <- Deltas]
             || {Index, {Start, Deltas}} <- Numbered
            ]) ++
            [#{type => message_delta, delta => #{stop_reason => Stop}, usage => #{output_tokens => 2}}] ++ Later ++ [#{type => message_stop}]
    ).

a_malformed_block_is_an_error_and_no_crash_test() ->
    [
        ?assertMatch({error, #{reason := invalid_response}}, heard(anthropic, blocks([{Start, []}], tool_use)))
     || Start <- [#{type => tool_use, id => <<"x">>, input => #{}}, #{no => type}, null, [], <<"text">>]
    ],
    List = #{type => tool_use, id => <<"x">>, name => <<"one">>, input => [1]},
    ?assertMatch(
        {ok, #{message := #{tool_calls := [#{args := Empty, invalid := _}]}}} when map_size(Empty) =:= 0,
        heard(anthropic, blocks([{List, []}], tool_use))
    ).

blocks_of_any_kind_go_back_as_they_came_in_pieces_test() ->
    Answer = blocks(
        [
            {#{type => thinking, thinking => <<>>}, [
                #{type => thinking_delta, thinking => <<"h">>}, #{type => thinking_delta, thinking => <<"m">>},
                #{type => signature_delta, signature => <<"sig">>}
            ]},
            {#{type => redacted_thinking, data => <<"xyz">>}, []},
            {#{type => server_tool_use, id => <<"s">>, name => <<"web_search">>, input => #{}}, [
                #{type => input_json_delta, partial_json => <<"{\"query\"">>},
                #{type => input_json_delta, partial_json => <<":\"beam\"}">>}
            ]},
            {#{type => text, text => <<>>}, [
                #{type => text_delta, text => <<"Yes">>}, #{type => citations_delta, citation => #{url => <<"u">>}}
            ]}
        ],
        end_turn
    ),
    {ok, #{message := #{content := <<"Yes">>, raw := {anthropic, Blocks}}}} = heard(anthropic, Answer),
    ?assertEqual(
        [
            #{<<"type">> => <<"thinking">>, <<"thinking">> => <<"hm">>, <<"signature">> => <<"sig">>},
            #{<<"type">> => <<"redacted_thinking">>, <<"data">> => <<"xyz">>},
            #{
                <<"type">> => <<"server_tool_use">>, <<"id">> => <<"s">>, <<"name">> => <<"web_search">>,
                <<"input">> => #{<<"query">> => <<"beam">>}
            },
            #{<<"type">> => <<"text">>, <<"text">> => <<"Yes">>, <<"citations">> => [#{<<"url">> => <<"u">>}]}
        ],
        Blocks
    ).

%%% Answers of the wrong shape

-define(KEY, <<"sk-Abc0dEf1ghI2jkLmnoPqrs">>).

gemini(Parts) -> #{candidates => [#{content => #{role => model, parts => Parts}, finishReason => <<"STOP">>}]}.

openai(Calls) -> #{choices => [#{message => #{role => assistant, content => null, tool_calls => Calls}, finish_reason => tool_calls}]}.

log(Event, #{config := Pid}) -> Pid ! {logged, Event}.

%% They repeat the key where it is not expected. Nothing of it gets into the error or into the log, and the conversation goes on.
an_answer_of_the_wrong_shape_is_an_error_without_the_key_test_() ->
    Key = ?KEY,
    Use = #{type => tool_use, id => <<"i">>, name => <<"t">>, input => #{}},
    Thinking = fun(Piece) -> blocks([{#{type => thinking, thinking => <<>>}, [#{type => thinking_delta, thinking => Piece}]}], end_turn) end,
    Answers = [
        {anthropic, whole(#{content => null, key => Key})},
        {anthropic, whole(#{content => Key})},
        {anthropic, whole(#{content => [#{type => text, text => #{key => Key}}]})},
        {anthropic, whole(#{content => [#{type => text, text => [255]}]})},
        {anthropic, whole(#{content => [Use#{name := null, key => Key}]})},
        {anthropic, whole(#{content => [Use#{name := [Key]}]})},
        {anthropic, Thinking(#{key => Key})},
        {anthropic, Thinking([104, 105])},
        {anthropic, blocks([{#{type => text, text => <<>>}, [#{type => text_delta, text => [Key]}]}], end_turn)},
        {gemini, whole(gemini([#{text => #{key => Key}}]))},
        {gemini, stream([gemini([#{text => #{key => Key}}])])},
        {gemini, stream([gemini([#{text => null, thought => true, key => Key}, #{text => <<"x">>}])])},
        {gemini, whole(gemini([#{functionCall => #{name => null, args => #{key => Key}}}]))},
        {gemini, whole(gemini([#{functionCall => Key}]))},
        {openai, whole(#{choices => [#{message => #{tool_calls => [Key]}}]})},
        {openai, whole(#{choices => [#{message => #{content => 5, key => Key}}]})},
        {openai, whole(#{choices => [#{message => #{content => <<"x">>, tool_calls => 7, key => Key}}]})},
        {openai, stream([choice(#{content => 5, key => Key}, stop)])},
        {openai, stream([#{choices => [#{delta => Key}]}, choice(#{content => <<"x">>}, stop)])},
        {openai, stream([#{choices => Key}, choice(#{content => <<"x">>}, stop)])},
        {gemini, whole(#{candidates => [#{content => Key, finishReason => <<"STOP">>}]})},
        {gemini, whole(#{candidates => [#{content => #{parts => Key}, finishReason => <<"STOP">>}]})},
        {openai, stream([choice(#{tool_calls => [#{function => Key}]})])}
    ],
    [{beamai_json:text(element(tuple_size(Answer), Answer)), fun() -> is_an_error(Provider, Answer) end} || {Provider, Answer} <- Answers].

is_an_error(Provider, Answer) ->
    Server = chat_server:start([Answer]),
    ok = logger:add_handler(?MODULE, ?MODULE, #{config => self(), level => debug}),
    try
        {ok, Agent} = beamai_agent:new(#{llm => model(Provider, Server, #{api_key => ?KEY}), kernel => beamai_test:kernel([])}),
        {error, {model, Error}, After} = beamai_agent:run(Agent, <<"Hello?">>),
        ?assertEqual(#{reason => invalid_response, message => <<"the answer has an unknown shape">>}, Error),
        {ok, Next} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => [<<>>, <<"Hi.">>]}), conversation => beamai_agent:conversation(After)}),
        ?assertMatch({ok, #{content := <<"Hi.">>}, _}, beamai_agent:run(Next, <<"Hello again?">>)),
        ?assertEqual(nomatch, string:find(io_lib:format("~0tp", [beamai_test:mailbox()]), ?KEY))
    after
        ok = logger:remove_handler(?MODULE),
        chat_server:stop(Server)
    end.

%% An exception of the host's own function is not the server's.
what_the_host_raises_is_no_wrong_answer_test() ->
    Server = chat_server:start([stream([choice(#{content => <<"Yes">>}, stop)])]),
    try
        Request = #{messages => [#{role => user, content => <<"?">>}], emit => fun(_) -> error(badarg) end},
        ?assertError(badarg, beamai_chat:complete(model(openai, Server, #{}), Request))
    after
        chat_server:stop(Server)
    end.

%% Ids that are no texts, and those of earlier calls of the answer, are replaced. The server gets the new ids, too.
calls_of_one_answer_have_different_ids_test_() ->
    Given = [<<"a">>, <<"a">>, <<>>, null, 7, [], [1], #{}, none],
    Openai = [maps:filter(fun(_, V) -> V =/= none end, #{id => Id, type => function, function => #{name => <<"t">>, arguments => <<"{}">>}}) || Id <- Given],
    Use = [maps:filter(fun(_, V) -> V =/= none end, #{type => tool_use, id => Id, name => <<"t">>, input => #{}}) || Id <- Given],
    Blocks = [#{type => thinking, thinking => <<"h">>, signature => <<"s">>} | Use],
    Parts = [#{functionCall => maps:filter(fun(_, V) -> V =/= none end, #{name => <<"t">>, id => Id, args => #{}})} || Id <- Given],
    Pieces = [choice(#{tool_calls => [Call#{index => Index}]}) || {Index, Call} <- lists:enumerate(Openai)],
    [
        {lists:concat([Provider, " ", Form]), fun() -> have_different_ids(Provider, length(Given), Answer) end}
     || {Provider, Form, Answer} <- [
            {openai, whole, whole(openai(Openai))},
            {openai, stream, stream(Pieces ++ [choice(#{}, tool_calls)])},
            {anthropic, whole, whole(#{content => Blocks, stop_reason => tool_use})},
            {anthropic, stream, blocks([{Block, []} || Block <- Blocks], tool_use)},
            {gemini, whole, whole(gemini(Parts))},
            {gemini, stream, stream([gemini(Parts)])}
        ]
    ].

have_different_ids(Provider, Count, Answer) ->
    {ok, #{message := #{tool_calls := Calls} = Message}} = heard(Provider, Answer),
    Ids = [Id || #{id := Id} <- Calls],
    ?assertEqual({Count, <<"a">>}, {length(lists:usort(Ids)), hd(Ids)}),
    ?assertEqual([], [Id || Id <- Ids, not is_binary(Id) orelse Id =:= <<>>]),
    case Message of
        #{raw := {anthropic, Blocks}} -> ?assertEqual(Ids, [Id || #{<<"type">> := <<"tool_use">>, <<"id">> := Id} <- Blocks]);
        %% An id that is not the server's own is not sent.
        #{raw := {gemini, Parts}} -> ?assertEqual([<<"a">>], [Id || #{<<"functionCall">> := #{<<"id">> := Id}} <- Parts]);
        #{} -> ok
    end.

%% Two calls with the same id, one of which has arguments that are no JSON.
only_the_malformed_call_of_an_id_is_malformed_test() ->
    Start = #{type => tool_use, id => <<"a">>, name => <<"t">>, input => #{}},
    Json = fun(Text) -> [#{type => input_json_delta, partial_json => Text}] end,
    {ok, #{message := #{tool_calls := [One, Two]}}} = heard(anthropic, blocks([{Start, Json(<<"{">>)}, {Start, Json(<<"{}">>)}], tool_use)),
    ?assertEqual({true, false}, {is_map_key(invalid, One), is_map_key(invalid, Two)}).

%%% What was said before

a_name_that_a_model_made_up_is_no_error_for_the_next_request_test() ->
    Call = #{id => <<"functions.read:0">>, name => <<"functions.read file">>, args => #{}},
    Messages = [
        #{role => user, content => <<"Go.">>},
        #{role => assistant, content => <<>>, tool_calls => [Call]},
        #{role => tool, call => <<"functions.read:0">>, name => <<"functions.read file">>, content => <<"none">>, outcome => error}
    ],
    Sent = fun(Provider) ->
        Server = chat_server:start([chat_server:says(Provider, <<"Sorry.">>)]),
        {ok, _} = beamai_chat:complete(model(Provider, Server, #{stream => false}), #{messages => Messages}),
        [#{body := #{<<"messages">> := [_ | Said]}}] = chat_server:requests(Server),
        chat_server:stop(Server),
        Said
    end,
    IsAccepted = fun(Text) -> ?assertEqual(match, re:run(Text, "^[a-zA-Z0-9_-]{1,64}$", [{capture, none}])) end,
    [#{<<"tool_calls">> := [#{<<"id">> := Own, <<"function">> := #{<<"name">> := Name}}]}, #{<<"tool_call_id">> := Own}] = Sent(openai),
    IsAccepted(Name),
    [#{<<"content">> := [#{<<"id">> := Id, <<"name">> := Named}]}, #{<<"content">> := [#{<<"tool_use_id">> := Id}]}] = Sent(anthropic),
    lists:foreach(IsAccepted, [Id, Named]),
    ?assertNotEqual(beamai_chat_http:accepted(<<"a.b">>, 64), beamai_chat_http:accepted(<<"a:b">>, 64)),
    [IsAccepted(beamai_chat_http:accepted(Text, 64)) || Text <- [<<>>, binary:copy(<<"a">>, 200), <<"ä"/utf8>>, <<"a\n">>]].

%%% Images of results

images_are_shown_as_images_test_() ->
    Image = #{media_type => <<"image/png">>, data => <<"AAAA">>},
    Result = fun(Id) -> #{role => tool, call => Id, name => <<"look">>, content => <<"{}">>, outcome => ok} end,
    Call = fun(Id) -> #{id => Id, name => <<"look">>, args => #{}} end,
    Messages = [
        #{role => user, content => <<"What is it?">>},
        #{role => assistant, content => <<>>, tool_calls => [Call(<<"x">>), Call(<<"y">>)]},
        (Result(<<"x">>))#{images => [Image]}, Result(<<"y">>), #{role => user, content => <<"Well?">>}
    ],
    Sent = fun(Provider, Options) ->
        Server = chat_server:start([chat_server:says(Provider, <<"A dot.">>)]),
        {ok, _} = beamai_chat:complete(model(Provider, Server, Options#{stream => false}), #{messages => Messages}),
        [#{body := #{<<"messages">> := Said}}] = chat_server:requests(Server),
        chat_server:stop(Server),
        Said
    end,
    [
        {"OpenAI", fun() ->
            [_, _, #{<<"role">> := <<"tool">>}, #{<<"role">> := <<"tool">>}, Shown, #{<<"content">> := <<"Well?">>}] =
                Sent(openai, #{}),
            ?assertMatch(
                #{
                    <<"role">> := <<"user">>,
                    <<"content">> := [
                        #{<<"type">> := <<"text">>},
                        #{<<"type">> := <<"image_url">>, <<"image_url">> := #{<<"url">> := <<"data:image/png;base64,AAAA">>}}
                    ]
                },
                Shown
            ),
            ?assertEqual(5, length(Sent(openai, #{images => false})))
        end},
        {"Anthropic", fun() ->
            [_, _, #{<<"content">> := [#{<<"content">> := Shown}, #{<<"content">> := <<"{}">>} | _]}] = Sent(anthropic, #{}),
            Source = #{<<"type">> => <<"base64">>, <<"media_type">> => <<"image/png">>, <<"data">> => <<"AAAA">>},
            ?assertEqual(
                [
                    #{<<"type">> => <<"text">>, <<"text">> => <<"{}">>},
                    #{<<"type">> => <<"image">>, <<"source">> => Source}
                ],
                Shown
            ),
            ?assertMatch(
                [_, _, #{<<"content">> := [#{<<"content">> := <<"{}">>} | _]}], Sent(anthropic, #{images => false})
            )
        end}
    ].

images_are_taken_out_of_every_form_of_result_test() ->
    Is = fun(Result, Data) ->
        {Left, [#{media_type := <<"image/png">>, data := Data}]} = beamai_images:take(Result),
        ?assertEqual(nomatch, binary:match(beamai_json:text(Left), Data)),
        ?assertNotEqual(nomatch, binary:match(beamai_json:text(Left), <<"left out of this text">>))
    end,
    Type = #{<<"media_type">> => <<"image/png">>},
    Is(Type#{<<"image_base64">> => <<"AAAA">>, <<"content">> => <<>>}, <<"AAAA">>),
    Is(Type#{<<"content">> => <<"BBBB">>, <<"is_image">> => true}, <<"BBBB">>),
    Part = #{<<"type">> => <<"image">>, <<"data">> => <<"CCCC">>, <<"mimeType">> => <<"image/png">>},
    Is(#{<<"text">> => <<"a dot">>, <<"content">> => [#{<<"type">> => <<"audio">>}, Part]}, <<"CCCC">>),
    [
        ?assertEqual({Result, []}, beamai_images:take(Result))
     || Result <- [
            1, #{}, <<"text">>, Type#{<<"image_base64">> => null}, Type#{<<"content">> => <<"BBBB">>, <<"is_image">> => false},
            #{<<"media_type">> => <<"image/tiff">>, <<"image_base64">> => <<"AAAA">>}, #{<<"content">> => [1 | 2]},
            #{<<"content">> => []}
        ]
    ].

schemas_are_rendered_once_for_all_runs_of_an_agent_test() ->
    Server = chat_server:start([chat_server:says(openai_stream, <<"One.">>), chat_server:says(openai_stream, <<"Two.">>)]),
    Rendered = fun() -> element(2, erlang:trace_info({beamai_tool_schema, requests, 3}, call_count)) end,
    1 = erlang:trace_pattern({beamai_tool_schema, requests, 3}, true, [call_count]),
    try
        Model = beamai_chat:new(openai, #{base_url => chat_server:url(Server), model => <<"m">>}),
        {ok, Agent} = beamai_agent:new(#{llm => Model, plugins => [beamai_dialect_coder], window => 100000}),
        Tools = length(beamai_kernel:list_tools(beamai_agent:kernel(Agent))),
        {ok, #{content := <<"One.">>}, Agent1} = beamai_agent:run(Agent, <<"one">>),
        {ok, #{content := <<"Two.">>}, _} = beamai_agent:run(Agent1, <<"two">>),
        ?assertEqual(1, Rendered()),
        [?assertEqual(Tools, length(maps:get(<<"tools">>, Body))) || #{body := Body} <- chat_server:requests(Server)]
    after
        erlang:trace_pattern({beamai_tool_schema, requests, 3}, false, [call_count]),
        chat_server:stop(Server)
    end.
