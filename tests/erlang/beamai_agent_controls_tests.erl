%% What a run asks of the provider: the answer's form, the choice of tools, files, prices, on the wire of each.
-module(beamai_agent_controls_tests).

-include_lib("eunit/include/eunit.hrl").

-define(PNG, <<16#89, "PNG\r\n", 16#1A, "\n rest">>).
-define(SCHEMA, #{
    type => object, required => [<<"count">>], additionalProperties => false,
    properties => #{<<"count">> => #{type => integer, minimum => 1}}
}).

%%% Servers

says(openai, Text) -> chat_server:says(openai_stream, Text);
says(anthropic, Text) -> chat_server:says(anthropic_stream, Text);
says(gemini, #{tool_calls := [{Name, Args}]}) -> gemini([#{functionCall => #{name => Name, args => Args}}]);
says(gemini, Text) -> gemini([#{text => Text}]).

gemini(Parts) ->
    Candidate = #{content => #{role => model, parts => Parts}, finishReason => <<"STOP">>},
    Usage = #{promptTokenCount => 10, candidatesTokenCount => 5},
    {stream, [["data: ", beamai_json:text(#{candidates => [Candidate], usageMetadata => Usage}), "\r\n\r\n"]]}.

with_agent(Provider, Answers, Options, Test) ->
    Server = chat_server:start([says(Provider, Answer) || Answer <- Answers]),
    try
        ModelOptions = maps:get(model, Options, #{}),
        Model = beamai_chat:new(Provider, ModelOptions#{base_url => chat_server:url(Server), model => <<"m">>, retry_delay => 1}),
        {ok, Agent} = beamai_agent:new(maps:merge(#{llm => Model, kernel => kernel()}, maps:without([model, tools], Options))),
        Test(Agent, fun() -> [Body || #{body := Body} <- chat_server:requests(Server)] end)
    after
        chat_server:stop(Server)
    end.

kernel() -> beamai_kernel:new(#{workspace => "/var/tmp"}).

with_tool(Kernel) ->
    beamai_kernel:add_tool(Kernel, #{name => <<"look">>, handler => fun(_) -> {ok, #{<<"seen">> => 3}} end}).

each_provider(Test) ->
    [{atom_to_list(Provider), fun() -> Test(Provider) end} || Provider <- [openai, anthropic, gemini]].

%%% Structured answers

an_answer_has_the_form_that_is_asked_for_test_() ->
    each_provider(fun(Provider) ->
        with_agent(Provider, [<<"{\"count\": 3}">>], #{output => ?SCHEMA}, fun(Agent, Bodies) ->
            {ok, #{output := Output}, _} = beamai_agent:run(Agent, <<"How many?">>),
            ?assertEqual(#{<<"count">> => 3}, Output),
            ?assertMatch([_], [Format || Format <- formats(Provider, Bodies())])
        end)
    end).

formats(openai, [#{<<"response_format">> := #{<<"type">> := <<"json_schema">>, <<"json_schema">> := #{<<"strict">> := true} = Format}}]) ->
    [maps:get(<<"schema">>, Format)];
formats(anthropic, [#{<<"output_config">> := #{<<"format">> := #{<<"type">> := <<"json_schema">>, <<"schema">> := Schema}}}]) ->
    %% Its format has no bounds; they are checked all the same.
    #{<<"properties">> := #{<<"count">> := Count}} = Schema,
    ?assertNot(is_map_key(<<"minimum">>, Count)),
    [Schema];
formats(gemini, [#{<<"generationConfig">> := #{<<"responseMimeType">> := <<"application/json">>, <<"responseJsonSchema">> := Schema}}]) ->
    [Schema].

an_answer_of_another_form_is_refused_once_test_() ->
    each_provider(fun(Provider) ->
        with_agent(Provider, [<<"Three.">>, <<"```json\n{\"count\": 3}\n```">>], #{}, fun(Agent, Bodies) ->
            {ok, #{output := Output, iterations := 2}, _} = beamai_agent:run(Agent, <<"How many?">>, #{output => ?SCHEMA}),
            ?assertEqual(#{<<"count">> => 3}, Output),
            [_, Second] = Bodies(),
            ?assertNotEqual(nomatch, binary:match(beamai_json:text(Second), <<"the answer is not JSON: expected value">>))
        end),
        with_agent(Provider, [<<"{\"count\": 0}">>, <<"{\"total\": 1}">>], #{output => ?SCHEMA}, fun(Agent, _) ->
            {error, {bad_output, Problems} = Reason, After} = beamai_agent:run(Agent, <<"How many?">>),
            ?assertEqual([<<"\"answer.total\" is not in the schema">>, <<"\"answer.count\" is missing">>], Problems),
            ?assertNotEqual(nomatch, binary:match(beamai_agent:explain(Reason), <<"answer.count">>)),
            %% There is nothing to go on with.
            ?assertMatch({idle, _}, beamai_agent:resume(After, #{}))
        end)
    end).

a_schema_that_a_provider_cannot_express_is_only_described_test() ->
    Free = #{type => object},
    with_agent(anthropic, [<<"{\"a\": 1}">>], #{output => Free}, fun(Agent, Bodies) ->
        {ok, #{output := #{<<"a">> := 1}}, _} = beamai_agent:run(Agent, <<"?">>),
        [Body] = Bodies(),
        ?assertNot(is_map_key(<<"output_config">>, Body)),
        ?assertNotEqual(nomatch, binary:match(beamai_json:text(maps:get(<<"system">>, Body)), <<"JSON Schema">>))
    end),
    %% Gemini takes no format beside tools.
    with_agent(gemini, [<<"{\"count\": 1}">>], #{output => ?SCHEMA, kernel => with_tool(kernel())}, fun(Agent, Bodies) ->
        {ok, #{output := #{<<"count">> := 1}}, _} = beamai_agent:run(Agent, <<"?">>),
        [Body] = Bodies(),
        ?assertNot(is_map_key(<<"generationConfig">>, Body))
    end).

%%% Tools and ends

a_tool_is_required_until_one_was_called_test_() ->
    each_provider(fun(Provider) ->
        Answers = [#{tool_calls => [{<<"look">>, #{}}]}, <<"Three.">>],
        Options = #{kernel => with_tool(kernel()), stop_sequences => [<<"END">>]},
        with_agent(Provider, Answers, Options, fun(Agent, Bodies) ->
            {ok, #{content := <<"Three.">>}, _} = beamai_agent:run(Agent, <<"?">>, #{tool_choice => required}),
            [First, Second] = Bodies(),
            ?assertEqual(required(Provider), choice(Provider, First)),
            ?assertEqual(none, choice(Provider, Second)),
            ?assertEqual([<<"END">>], stop(Provider, First)),
            ?assertEqual([<<"END">>], stop(Provider, Second))
        end),
        with_agent(Provider, [<<"No.">>], Options, fun(Agent, Bodies) ->
            {ok, _, _} = beamai_agent:run(Agent, <<"?">>, #{tool_choice => {tool, <<"look">>}}),
            ?assertEqual(named(Provider), choice(Provider, hd(Bodies())))
        end),
        with_agent(Provider, [], Options, fun(Agent, _) ->
            ?assertError({bad_option, tool_choice}, beamai_agent:run(Agent, <<"?">>, #{tool_choice => {tool, <<"lok">>}}))
        end)
    end).

%% The model makes the call although its request does not allow it.
a_call_that_the_choice_of_tools_does_not_allow_is_not_made_test() ->
    Self = self(),
    Tools = [beamai_test:tool(Name, fun(_) -> Self ! {ran, Name}, {ok, 1} end) || Name <- [<<"one">>, <<"two">>]],
    Turns = [#{tool_calls => [{<<"one">>, #{}}, {<<"two">>, #{}}]}, <<"Done.">>],
    Ran = fun(Own, OfRun) ->
        {ok, Agent} = beamai_agent:new(Own#{llm => beamai_chat:new(scripted, #{turns => Turns}), kernel => beamai_test:kernel(Tools)}),
        {ok, #{content := <<"Done.">>}, After} = beamai_agent:run(Agent, <<"?">>, OfRun),
        Results = [{Outcome, Text} || #{role := tool, outcome := Outcome, content := Text} <- maps:get(messages, beamai_agent:conversation(After))],
        Names = [receive {ran, Name} -> Name after 0 -> none end || _ <- Results],
        {lists:sort(Names), Results}
    end,
    None = <<"no tool may be called in this run: answer without calling one">>,
    Refused = {[none, none], [{refused, None}, {refused, None}]},
    ?assertEqual(Refused, Ran(#{tool_choice => none}, #{})),
    ?assertEqual(Refused, Ran(#{}, #{tool_choice => none})),
    ?assertEqual(
        {[none, <<"two">>], [{refused, <<"this answer may call the tool two only">>}, {ok, <<"1">>}]},
        Ran(#{tool_choice => {tool, <<"two">>}}, #{})
    ),
    ?assertMatch({[<<"one">>, <<"two">>], _}, Ran(#{tool_choice => none}, #{tool_choice => auto})).

%% The choices of the requests of a run with these answers, and the calls that ran.
choices(Choice, Turns) -> choices(Choice, Turns, #{}).

choices(Choice, Turns, Options) ->
    Self = self(),
    Ran = fun(Name) -> fun(_) -> Self ! {ran, Name}, {error, failed} end end,
    Number = #{<<"n">> => #{type => integer}},
    Tools = [beamai_test:tool(Name, Ran(Name), #{parameters => Number}) || Name <- [<<"one">>, <<"two">>]],
    Noted = [fun(Request) -> Self ! {choice, maps:get(tool_choice, Request, none)}, Turn end || Turn <- Turns],
    Model = beamai_chat:new(scripted, #{turns => Noted}),
    {ok, Agent} = beamai_agent:new(maps:merge(#{llm => Model, kernel => beamai_test:kernel(Tools), tool_choice => Choice}, Options)),
    Ended = beamai_agent:run(Agent, <<"?">>),
    {said(choice), said(ran), Ended}.

said(Kind) ->
    receive
        {Kind, What} -> [What | said(Kind)]
    after 0 -> []
    end.

calls(Calls) -> #{tool_calls => Calls}.

%% The model tries what else there is.
a_choice_of_tools_holds_until_a_call_is_made_test() ->
    One = {tool, <<"one">>},
    Wrong = [
        calls([{<<"two">>, #{}}]), calls([{<<"other">>, #{}}]), calls([{<<"one">>, #{<<"n">> => <<"many">>}}]),
        calls([{<<"two">>, #{}}, {<<"two">>, #{}}])
    ],
    {Choices, Ran, {ok, #{tool_calls := 7}, _}} =
        choices(One, Wrong ++ [calls([{<<"one">>, #{}}]), calls([{<<"two">>, #{}}]), <<"Done.">>]),
    ?assertEqual({[One, One, One, One, One, none, none], [<<"one">>, <<"two">>]}, {Choices, Ran}),
    {Required, [<<"two">>], _} = choices(required, [calls([{<<"other">>, #{}}]), calls([{<<"two">>, #{}}]), <<"Done.">>]),
    ?assertEqual([required, required, none], Required),
    %% It does not give in.
    ?assertMatch(
        {[One, One, One], [], {error, {max_iterations, 3}, _}},
        choices(One, [calls([{<<"two">>, #{}}]) || _ <- [1, 2, 3, 4]], #{max_iterations => 3})
    ).

a_text_call_that_cannot_be_read_is_none_test() ->
    Self = self(),
    Call = fun(Name) -> <<"<TOOL_CALL>\n{\"tool\": \"", Name/binary, "\", \"args\": {}}\n</TOOL_CALL>">> end,
    Answers = [<<"<TOOL_CALL>\n{\"tool\": \n</TOOL_CALL>">>, Call(<<"two">>), Call(<<"one">>), <<"Done.">>],
    Count = counters:new(1, []),
    Complete = fun(_Prompt) -> counters:add(Count, 1, 1), {ok, lists:nth(counters:get(Count, 1), Answers)} end,
    Tools = [beamai_test:tool(Name, fun(_) -> Self ! {ran, Name}, {ok, 1} end) || Name <- [<<"one">>, <<"two">>]],
    {ok, Agent} = beamai_agent:new(#{
        llm => beamai_chat:new(text, #{complete => Complete}), kernel => beamai_test:kernel(Tools), tool_choice => {tool, <<"one">>}
    }),
    {ok, #{content := <<"Done.">>}, After} = beamai_agent:run(Agent, <<"?">>),
    ?assertEqual([<<"one">>], said(ran)),
    [Unread, Refused, _] = [Text || #{role := tool, content := Text} <- beamai_conversation:messages(beamai_agent:conversation(After))],
    ?assertEqual({nomatch, match}, {has(Unread, "may call"), has(Refused, "may call the tool one only")}).

has(Text, Part) -> re:run(Text, Part, [{capture, none}]).

%% With a store, and in the agent that the run returned.
a_choice_of_tools_holds_in_a_resumed_run_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        One = {tool, <<"one">>},
        Options = fun(Id) -> #{max_iterations => 1, store => {beamai_store_file, #{dir => Dir}}, agent_id => Id} end,
        Refused = [calls([{<<"two">>, #{}}]), calls([{<<"two">>, #{}}]), calls([{<<"one">>, #{}}]), calls([{<<"two">>, #{}}]), <<"Done.">>],
        {[One], [], {error, _, Failed}} = choices(One, Refused, Options(<<"a">>)),
        {error, {max_iterations, 1}, Again} = beamai_agent:resume(Failed, #{}),
        ?assertEqual({[One], []}, {said(choice), said(ran)}),
        {ok, _, _} = beamai_agent:resume(restored(Again), #{max_iterations => 9}),
        ?assertEqual({[One, none, none], [<<"one">>, <<"two">>]}, {said(choice), said(ran)}),
        Made = [calls([{<<"one">>, #{}}]), calls([{<<"two">>, #{}}]), <<"Done.">>, calls([{<<"two">>, #{}}])],
        {[One], [<<"one">>], {error, _, Called}} = choices(One, Made, Options(<<"b">>)),
        {ok, _, Done} = beamai_agent:resume(restored(Called), #{max_iterations => 9}),
        ?assertEqual({[none, none], [<<"two">>]}, {said(choice), said(ran)}),
        %% Another run begins anew.
        {error, {max_iterations, 1}, Next} = beamai_agent:run(Done, <<"?">>),
        {error, {model, _}, _} = beamai_agent:resume(restored(Next), #{}),
        ?assertEqual({[One], []}, {said(choice), said(ran)})
    end).

%% The agent as its log has it.
restored(#{llm := Model, kernel := Kernel, store := Store, agent_id := Id, tool_choice := Choice}) ->
    {ok, Agent} = beamai_agent:new(#{llm => Model, kernel => Kernel, store => Store, agent_id => Id, tool_choice => Choice, max_iterations => 1}),
    Agent.

required(openai) -> <<"required">>;
required(anthropic) -> #{<<"type">> => <<"any">>};
required(gemini) -> #{<<"mode">> => <<"ANY">>}.

named(openai) -> #{<<"type">> => <<"function">>, <<"function">> => #{<<"name">> => <<"look">>}};
named(anthropic) -> #{<<"type">> => <<"tool">>, <<"name">> => <<"look">>};
named(gemini) -> #{<<"mode">> => <<"ANY">>, <<"allowedFunctionNames">> => [<<"look">>]}.

choice(gemini, #{<<"toolConfig">> := #{<<"functionCallingConfig">> := Choice}}) -> Choice;
choice(_Provider, #{<<"tool_choice">> := Choice}) -> Choice;
choice(_Provider, _Body) -> none.

stop(openai, #{<<"stop">> := Stop}) -> Stop;
stop(anthropic, #{<<"stop_sequences">> := Stop}) -> Stop;
stop(gemini, #{<<"generationConfig">> := #{<<"stopSequences">> := Stop}}) -> Stop.

%%% Files

files_reach_the_model_test_() ->
    each_provider(fun(Provider) ->
        Files = [
            #{name => <<"a.png">>, data => ?PNG}, #{name => <<"b.pdf">>, data => <<"%PDF-1.7 x">>},
            #{name => <<"c.txt">>, data => <<"Grüße"/utf8>>}
        ],
        with_agent(Provider, [<<"Seen.">>, <<"Again.">>], #{}, fun(Agent, Bodies) ->
            {ok, _, After} = beamai_agent:run(Agent, #{text => <<"What is this?">>, files => Files}),
            [Body] = Bodies(),
            [Image, Document, Text, Said] = user_parts(Provider, Body),
            Png = base64:encode(?PNG),
            ?assertEqual({image, Png}, seen(Provider, Image)),
            ?assertEqual({document, base64:encode(<<"%PDF-1.7 x">>)}, seen(Provider, Document)),
            ?assertEqual(<<"<file name=\"c.txt\">\nGrüße\n</file>"/utf8>>, maps:get(<<"text">>, Text)),
            ?assertEqual(<<"What is this?">>, maps:get(<<"text">>, Said)),
            %% A stored conversation keeps them.
            Stored = binary_to_term(term_to_binary(beamai_agent:conversation(After))),
            {ok, Loaded} = beamai_conversation:load(Stored),
            {ok, _, _} = beamai_agent:run(After#{conversation := Loaded}, <<"And now?">>),
            [_, Second] = Bodies(),
            ?assertEqual([Image, Document, Text, Said], user_parts(Provider, Second))
        end)
    end).

user_parts(gemini, #{<<"contents">> := [#{<<"parts">> := Parts} | _]}) -> Parts;
user_parts(_Provider, #{<<"messages">> := Messages}) -> hd([Parts || #{<<"role">> := <<"user">>, <<"content">> := Parts} <- Messages]).

seen(openai, #{<<"image_url">> := #{<<"url">> := <<"data:image/png;base64,", Data/binary>>}}) -> {image, Data};
seen(openai, #{<<"file">> := #{<<"filename">> := <<"b.pdf">>, <<"file_data">> := <<"data:application/pdf;base64,", Data/binary>>}}) -> {document, Data};
seen(anthropic, #{<<"type">> := <<"image">>, <<"source">> := #{<<"data">> := Data, <<"media_type">> := <<"image/png">>}}) -> {image, Data};
seen(anthropic, #{<<"type">> := <<"document">>, <<"title">> := <<"b.pdf">>, <<"source">> := #{<<"data">> := Data}}) -> {document, Data};
seen(gemini, #{<<"inlineData">> := #{<<"mimeType">> := <<"image/png">>, <<"data">> := Data}}) -> {image, Data};
seen(gemini, #{<<"inlineData">> := #{<<"mimeType">> := <<"application/pdf">>, <<"data">> := Data}}) -> {document, Data}.

files_that_cannot_be_sent_are_refused_test() ->
    with_agent(openai, [], #{}, fun(Agent, _) ->
        Run = fun(File) -> beamai_agent:run(Agent, #{text => <<"?">>, files => [File]}) end,
        ?assertError({bad_file, "/nowhere"}, Run("/nowhere")),
        ?assertError({bad_file, #{name := <<"x">>}}, Run(#{name => <<"x">>, data => <<0, 1, 2>>})),
        ?assertError({bad_file, #{name := <<"x">>}}, Run(#{name => <<"x">>, data => <<255>>, media_type => <<"text/plain">>})),
        [?assertError({bad_file, #{name := Name}}, Run(#{name => Name, data => ?PNG})) || Name <- [<<"a", 255>>, "a.png", a]],
        [?assertError({bad_file, _}, Run(#{name => <<"x">>, data => ?PNG, media_type => Type})) || Type <- [<<255>>, "image/png", a]],
        ?assertError({bad_input, pictures}, beamai_agent:run(Agent, #{text => <<"?">>, pictures => []}))
    end).

a_model_without_eyes_is_told_of_images_test() ->
    Options = #{model => #{images => false}},
    with_agent(openai, [<<"No.">>], Options, fun(Agent, Bodies) ->
        {ok, _, _} = beamai_agent:run(Agent, #{text => <<"?">>, files => [#{name => <<"a.png">>, data => ?PNG}]}),
        [#{<<"text">> := Note}, _] = user_parts(openai, hd(Bodies())),
        ?assertNotEqual(nomatch, binary:match(Note, <<"cannot be shown to this model">>))
    end).

%%% The prompt

the_prompt_comes_from_files_and_says_where_and_when_test() ->
    Path = filename:join("/var/tmp", "prompt_" ++ os:getpid() ++ ".md"),
    ok = file:write_file(Path, <<"Follow the house rules.\n">>),
    try
        Options = #{system_prompt => [<<"Be brief.">>, {file, Path}], tell => [workspace, date]},
        with_agent(openai, [<<"Yes.">>], Options, fun(Agent, Bodies) ->
            {ok, _, _} = beamai_agent:run(Agent, <<"?">>),
            [#{<<"messages">> := [#{<<"role">> := <<"system">>, <<"content">> := System} | _]}] = Bodies(),
            {{Year, Month, Day}, _} = calendar:local_time(),
            Date = io_lib:format("~4..0b-~2..0b-~2..0b", [Year, Month, Day]),
            [?assertNotEqual(nomatch, string:find(System, Part)) || Part <- ["Be brief.\n\nFollow the house rules.\n\n", "/var/tmp", Date]]
        end)
    after
        file:delete(Path)
    end,
    Model = beamai_chat:new(scripted, #{turns => []}),
    ?assertError({bad_option, system_prompt}, beamai_agent:new(#{llm => Model, system_prompt => [{file, Path}]})),
    ?assertError({bad_option, tell}, beamai_agent:new(#{llm => Model, tell => [weather]})).

%%% Limits and costs

no_more_calls_run_at_once_than_allowed_test() ->
    Running = counters:new(2, []),
    Slow = #{name => <<"slow">>, metadata => #{read_only => true}, handler => fun(_) ->
        ok = counters:add(Running, 1, 1),
        counters:put(Running, 2, max(counters:get(Running, 2), counters:get(Running, 1))),
        timer:sleep(20),
        ok = counters:sub(Running, 1, 1),
        {ok, done}
    end},
    Model = beamai_chat:new(scripted, #{turns => [#{tool_calls => [{<<"slow">>, #{}} || _ <- lists:seq(1, 6)]}, <<"Done.">>]}),
    Kernel = beamai_kernel:add_tool(kernel(), Slow),
    Run = fun(K) ->
        {ok, Agent} = beamai_agent:new(#{llm => Model, kernel => K, parallel => 2}),
        {ok, #{tool_calls := 6}, _} = beamai_agent:run(Agent, <<"Go.">>),
        Most = counters:get(Running, 2),
        counters:put(Running, 2, 0),
        Most
    end,
    ?assertEqual(2, Run(Kernel)),
    Filter = beamai_filter:new(pass, fun(Call, Next) -> Next(Call) end),
    ?assertEqual(2, Run(beamai_kernel:add_filter(Kernel, Filter))).

runs_have_a_cost_test() ->
    Prices = #{<<"m">> => #{input => 3, cached => 0.5, output => 10}},
    with_agent(anthropic, [<<"Yes.">>, <<"No.">>], #{model => #{prices => Prices, stream => false}}, fun(Agent, _) ->
        {ok, #{cost := Cost, usage := #{cost_nano := Nano} = Usage}, After} = beamai_agent:run(Agent, <<"?">>),
        ?assertMatch(#{input_tokens := 10, output_tokens := 5}, Usage),
        ?assertEqual(10 * 3000 + 5 * 10000, Nano),
        ?assertEqual(Nano / 1.0e9, Cost),
        ?assertMatch(#{usage := #{cost_nano := Nano}}, beamai_agent:conversation(After))
    end),
    Counted = beamai_cost:counted(#{input_tokens => 10, cached_tokens => 4, output_tokens => 5}, maps:get(<<"m">>, Prices)),
    ?assertEqual(6 * 3000 + 4 * 500 + 5 * 10000, maps:get(cost_nano, Counted)),
    ?assertError({bad_option, prices}, beamai_chat:new(openai, #{model => <<"x">>, prices => Prices})),
    ?assertError({bad_option, prices}, beamai_chat:new(openai, #{model => <<"m">>, prices => #{<<"m">> => #{input => free}}})).
