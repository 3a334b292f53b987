%% Conversations that are longer than the model's window.
-module(beamai_window_tests).

-include_lib("eunit/include/eunit.hrl").

-define(WINDOW, 32000).

messages(Agent) -> beamai_conversation:messages(beamai_agent:conversation(Agent)).

%% A model with a window: refuses what does not fit, counts as a provider does, calls a tool for each input, and
%% summarises when it is asked to.
model(Window) ->
    Turn = fun(#{messages := Messages} = Request) ->
        Tokens = beamai_tokens:of_request(Request),
        case {Tokens > Window, lists:last(Messages)} of
            {true, _} -> {error, #{reason => context_overflow, message => <<"prompt is too long">>}};
            {false, #{role := user} = Message} -> (answer(Request, Message))#{usage => #{input_tokens => Tokens, output_tokens => 20}};
            {false, #{role := tool}} -> #{content => <<"Noted.">>, usage => #{input_tokens => Tokens, output_tokens => 20}}
        end
    end,
    beamai_chat:new(scripted, #{turns => Turn}).

answer(#{system := <<"You summarise", _/binary>>}, _Message) -> #{content => <<"They talked about numbers.">>};
answer(_Request, _Message) -> #{tool_calls => [{<<"look">>, #{<<"n">> => 1}}]}.

look(Bytes) ->
    beamai_test:tool(<<"look">>, fun(_) -> {ok, binary:copy(<<"x">>, Bytes)} end, #{metadata => #{read_only => true}}).

agent(Bytes, Options) ->
    {ok, Agent} = beamai_agent:new(
        maps:merge(
            #{
                llm => model(?WINDOW), kernel => beamai_test:kernel([look(Bytes)]), window => ?WINDOW,
                limits => #{result => 1000000}
            },
            Options
        )
    ),
    Agent.

%% As every provider wants it.
is_sound(Messages) ->
    Roles = [Role || #{role := Role} <- Messages],
    ?assertEqual(user, hd(Roles)),
    ?assertEqual([], [pair || {user, user} <- lists:zip(lists:droplast(Roles), tl(Roles))]),
    ?assertEqual({[], []}, {element(1, beamai_conversation:unanswered((beamai_conversation:new())#{messages := Messages})), []}),
    Calls = [Id || #{tool_calls := Made} <- Messages, #{id := Id} <- Made],
    Results = [Id || #{role := tool, call := Id} <- Messages],
    ?assertEqual(length(Results), length(Calls)).

two_thousand_turns_end_and_what_was_pinned_is_there_test_() ->
    {timeout, 300, fun() ->
        Pin = <<"Never touch the file secrets.txt, whatever comes.">>,
        {ok, _, First} = beamai_agent:run(agent(1500, #{}), Pin, #{pin => true}),
        Self = self(),
        Note = fun(Event) -> is_tuple(Event) andalso element(1, Event) =:= compacted andalso (Self ! Event) end,
        Last = lists:foldl(
            fun(N, Agent) ->
                Text = iolist_to_binary(["Turn ", integer_to_list(N), ": ", binary:copy(<<"what next? ">>, 40)]),
                {ok, #{content := <<"Noted.">>}, After} = beamai_agent:run(Agent, Text, #{events => Note}),
                After
            end,
            First,
            lists:seq(1, 2000)
        ),
        Messages = messages(Last),
        is_sound(Messages),
        ?assert(beamai_tokens:of_messages(Messages) < ?WINDOW),
        ?assertMatch([_ | _], [ok || #{role := user, content := Text} <- Messages, binary:match(Text, Pin) =/= nomatch]),
        ?assertMatch([_ | _], [ok || #{role := user, content := <<"Turn 2000:", _/binary>>} <- Messages]),
        Compacted = flush(),
        ?assert(length(Compacted) > 10),
        [?assert(After < ?WINDOW * 55 div 100) || {compacted, #{tokens_after := After}} <- Compacted],
        ?assert(lists:any(fun({compacted, #{summarised := Count}}) -> Count > 0 end, Compacted)),
        ?assert(lists:any(fun({compacted, #{summarised := Count}}) -> Count =:= 0 end, Compacted))
    end}.

flush() ->
    receive
        Message -> [Message | flush()]
    after 0 -> []
    end.

%% One run that calls many tools: the request that is being worked on stays.
a_long_run_keeps_its_request_test() ->
    Turn = fun(#{messages := Messages, system := System} = Request) ->
        case {beamai_tokens:of_request(Request) > 8000, System} of
            {true, _} -> {error, #{reason => context_overflow, message => <<"too long">>}};
            {false, <<"You summarise", _/binary>>} -> <<"Looked at many things.">>;
            {false, _} ->
                ?assertMatch([_ | _], [ok || #{role := user, content := Text} <- Messages, binary:match(Text, <<"Count the stars.">>) =/= nomatch]),
                is_sound(Messages),
                case get(asked) of
                    60 -> <<"Many.">>;
                    N -> put(asked, N + 1), #{content => binary:copy(<<"hm ">>, 200), tool_calls => [{<<"look">>, #{}}]}
                end
        end
    end,
    put(asked, 0),
    {ok, Agent} = beamai_agent:new(#{
        llm => beamai_chat:new(scripted, #{turns => Turn}), kernel => beamai_test:kernel([look(2000)]), window => 8000,
        max_iterations => 100
    }),
    {ok, #{content := <<"Many.">>, tool_calls := 60}, _} = beamai_agent:run(Agent, <<"Count the stars.">>).

one_result_that_is_larger_than_the_window_is_cut_test() ->
    {ok, #{content := <<"Noted.">>}, After} = beamai_agent:run(agent(500000, #{}), <<"Look.">>),
    [Result] = [Text || #{role := tool, content := Text} <- messages(After)],
    ?assert(byte_size(Result) < 4 * ?WINDOW),
    ?assertNotEqual(nomatch, binary:match(Result, <<"bytes that followed were removed">>)).

a_refused_request_is_made_shorter_once_test() ->
    %% Nobody said how large the window is.
    Agent = agent(60000, #{window => infinity}),
    {ok, _, A1} = beamai_agent:run(Agent, <<"Look.">>, #{}),
    Self = self(),
    {ok, _, A2} = beamai_agent:run(A1, <<"Look again.">>, #{}),
    {ok, _, A3} = beamai_agent:run(A2, <<"And again.">>, #{events => Self}),
    ?assertMatch([_], [Event || {beamai_event, _, {compacted, _} = Event} <- flush()]),
    is_sound(messages(A3)),
    Stubborn = beamai_chat:new(scripted, #{turns => fun(_) -> {error, #{reason => context_overflow, message => <<"no">>}} end}),
    {ok, Never} = beamai_agent:new(#{llm => Stubborn}),
    ?assertMatch({error, {model, #{reason := context_overflow}}, _}, beamai_agent:run(Never, <<"Look.">>)),
    {ok, Off} = beamai_agent:new(#{llm => Stubborn, compaction => off}),
    ?assertMatch({error, {model, #{reason := context_overflow}}, _}, beamai_agent:run(Off, <<"Look.">>)).

a_summary_that_fails_loses_nothing_test() ->
    Turn = fun
        (#{system := <<"You summarise", _/binary>>}) -> {error, broken};
        (_) -> #{content => binary:copy(<<"long ">>, 4000)}
    end,
    {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => Turn}), window => 12000}),
    {ok, _, A1} = beamai_agent:run(Agent, <<"a">>),
    {ok, _, A2} = beamai_agent:run(A1, <<"b">>),
    {error, {model, #{message := <<"broken">>}}, A3} = beamai_agent:run(A2, <<"c">>),
    ?assertEqual(messages(A2), lists:sublist(messages(A3), 4)).

a_shorter_conversation_is_stored_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Options = #{store => {beamai_store_file, #{dir => Dir, sync => false}}, agent_id => <<"a">>},
        Last = lists:foldl(
            fun(_, Agent) -> {ok, _, After} = beamai_agent:run(Agent, binary:copy(<<"more ">>, 2000)), After end,
            agent(6000, Options),
            lists:seq(1, 15)
        ),
        ?assertEqual(messages(Last), messages(agent(6000, Options))),
        ?assertMatch([_ | _], [ok || #{summary := _} <- messages(Last)])
    end).

options_are_checked_test() ->
    [
        ?assertError({bad_option, Key}, agent(1, #{Key => Bad}))
     || {Key, Bad} <- [
            {window, 0}, {window, 1.5}, {compaction, on}, {compaction, #{at => 50, to => 50}}, {compaction, #{at => 101}},
            {compaction, #{other => 1}}
        ]
    ],
    ?assertError({bad_option, pin}, beamai_agent:run(agent(1, #{}), <<"a">>, #{pin => yes})).

%%% What providers say

each_provider_is_understood_test_() ->
    {timeout, 30, fun() ->
        Openai = fun(Status, Error) -> {openai, {Status, [], beamai_json:text(#{error => Error})}} end,
        Anthropic = fun(Status, Error) -> {anthropic, {Status, [], beamai_json:text(#{type => error, error => Error})}} end,
        Too = [
            Openai(400, #{code => context_length_exceeded, type => invalid_request_error, message => <<"Too much.">>}),
            Openai(400, #{message => <<"This model's maximum context length is 8192 tokens. However, you requested 9000.">>}),
            Openai(400, #{message => <<"Your input exceeds the context window of this model.">>}),
            Openai(400, #{code => 400, type => exceed_context_size_error, message => <<"the request exceeds the available context size">>}),
            Openai(400, #{message => <<"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).">>}),
            Openai(400, #{message => <<"Input length 131393 exceeds the maximum allowed input length of 131040 tokens.">>}),
            Openai(422, #{message => <<"`inputs` tokens + `max_new_tokens` must be <= 4096.">>}),
            Anthropic(400, #{type => invalid_request_error, message => <<"prompt is too long: 210000 tokens > 200000 maximum">>}),
            Anthropic(400, #{type => invalid_request_error, message => <<"input length and `max_tokens` exceed context limit: 1 + 2 > 2">>}),
            Anthropic(413, #{type => request_too_large, message => <<"Request exceeds the maximum size">>}),
            {openai, {stream, ["data: ", beamai_json:text(#{error => #{code => context_length_exceeded, message => <<"no">>}}), "\n\n"]}},
            {anthropic, {stream, [
                "data: ", beamai_json:text(#{type => error, error => #{type => invalid_request_error, message => <<"prompt is too long">>}}), "\n\n"
            ]}}
        ],
        [?assertMatch({error, #{reason := context_overflow}}, heard(Provider, Answer)) || {Provider, Answer} <- Too],
        Other = [
            Openai(429, #{message => <<"Too many tokens: maximum context length of this minute">>}),
            Openai(400, #{message => <<"max_tokens is too large">>}),
            Anthropic(400, #{type => invalid_request_error, message => <<"messages: at least one message is required">>})
        ],
        [
            begin {error, #{reason := Reason}} = heard(Provider, Answer), ?assertNotEqual(context_overflow, Reason) end
         || {Provider, Answer} <- Other
        ]
    end}.

heard(Provider, Answer) ->
    Server = chat_server:start([Answer]),
    try
        beamai_chat:complete(
            beamai_chat:new(Provider, #{base_url => chat_server:url(Server), model => <<"m">>, max_retries => 0}), <<"Hi">>
        )
    after
        chat_server:stop(Server)
    end.

%%% Caching at the provider

the_conversation_so_far_is_marked_for_the_cache_test() ->
    Server = chat_server:start([
        chat_server:says(anthropic, #{tool_calls => [{<<"look">>, #{}}]}), chat_server:says(anthropic, <<"ok">>),
        chat_server:says(anthropic, <<"ok">>), chat_server:says(anthropic, <<"ok">>)
    ]),
    Model = fun(Options) ->
        beamai_chat:new(anthropic, Options#{base_url => chat_server:url(Server), model => <<"m">>, stream => false})
    end,
    {ok, Agent} = beamai_agent:new(#{
        llm => Model(#{}), kernel => beamai_test:kernel([look(10)]), system_prompt => <<"Be brief.">>
    }),
    {ok, #{usage := #{cached_tokens := 8}}, _} = beamai_agent:run(Agent, <<"Look.">>),
    {ok, _} = beamai_chat:complete(Model(#{}), <<"Hi">>),
    {ok, _} = beamai_chat:complete(Model(#{cache => true}), <<"Hi">>),
    [First, Second, Plain, Forced] = [Body || #{body := Body} <- chat_server:requests(Server)],
    ok = chat_server:stop(Server),
    Mark = #{<<"type">> => <<"ephemeral">>},
    [
        begin
            ?assertMatch(#{<<"cache_control">> := Mark}, lists:last(maps:get(<<"tools">>, Body))),
            ?assertMatch([#{<<"text">> := <<"Be brief.">>, <<"cache_control">> := Mark}], maps:get(<<"system">>, Body)),
            #{<<"content">> := Blocks} = lists:last(maps:get(<<"messages">>, Body)),
            ?assertMatch(#{<<"cache_control">> := Mark}, lists:last(Blocks))
        end
     || Body <- [First, Second]
    ],
    %% What comes before the marks stays the same.
    ?assertEqual(maps:with([<<"tools">>, <<"system">>], First), maps:with([<<"tools">>, <<"system">>], Second)),
    Begin = fun(Body) -> [maps:remove(<<"cache_control">>, Block) || Block <- maps:get(<<"content">>, hd(maps:get(<<"messages">>, Body)))] end,
    ?assertEqual(Begin(First), Begin(Second)),
    ?assertEqual(nomatch, binary:match(beamai_json:text(Plain), <<"cache_control">>)),
    ?assertNotEqual(nomatch, binary:match(beamai_json:text(Forced), <<"cache_control">>)).
