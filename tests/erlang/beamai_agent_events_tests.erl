%% What a host sees of a run: events, in their order, with durations.
-module(beamai_agent_events_tests).

-include_lib("eunit/include/eunit.hrl").

agent(Turns, Options) ->
    {ok, Agent} = beamai_agent:new(maps:merge(#{llm => beamai_chat:new(scripted, #{turns => Turns})}, Options)),
    Agent.

tools(Tools) -> beamai_test:kernel(Tools).

calls(Names) -> #{tool_calls => [{Name, #{}} || Name <- Names]}.

%% The events of a run, in their order.
events(Agent, Options) ->
    Self = self(),
    Id = make_ref(),
    _ = beamai_agent:run(Agent, <<"go">>, Options#{run_id => Id, events => Self}),
    heard(Id).

heard(Id) ->
    receive
        {beamai_event, Id, Event} -> [Event | heard(Id)]
    after 0 -> []
    end.

events_tell_what_happens_test() ->
    Slow = beamai_test:tool(<<"slow">>, fun(_, Context) ->
        ok = beamai_callback:progress(#{<<"half">> => true}, Context),
        {ok, 1}
    end),
    Agent = agent([#{content => <<"hm">>, tool_calls => [{<<"slow">>, #{}}]}, <<"done">>], #{kernel => tools([Slow])}),
    Self = self(),
    {ok, _, _} = beamai_agent:run(Agent, <<"go">>, #{run_id => r, events => Self}),
    Events = [Event || {beamai_event, r, Event} <- beamai_test:mailbox()],
    ?assertMatch(
        [
            {started, r},
            {message, #{role := user, content := <<"go">>}},
            {model_request, #{iteration := 1, messages := 1, tools := 1}},
            {text, <<"hm">>},
            {model_answer, #{iteration := 1, message := #{content := <<"hm">>}, stop := tool_calls, usage := _, reasoning := <<>>}},
            {message, #{role := assistant}},
            {usage, _},
            {tool_call, #{name := <<"slow">>}},
            {tool_started, #{id := Id, name := <<"slow">>}},
            {progress, #{<<"half">> := true, call_id := Id}},
            {tool_ended, #{call := #{id := Id}, outcome := ok, duration_us := _}},
            {tool_result, #{name := <<"slow">>}, {ok, 1}},
            {message, #{role := tool, call := Id}},
            {model_request, #{iteration := 2, messages := 3}},
            {text, <<"done">>},
            {model_answer, #{iteration := 2, stop := end_turn}},
            {message, #{role := assistant}},
            {usage, _},
            {ended, #{outcome := ok, stop := end_turn, iterations := 2, tool_calls := 1, duration_us := _, usage := _}}
        ],
        Events
    ),
    flush(),
    {ok, _, _} = beamai_agent:run(Agent, <<"go">>, #{events => fun(Event) -> Self = self(), Self ! Event end}),
    ?assertMatch([{started, _}, {message, _}, {model_request, _}, {text, <<"hm">>} | _], beamai_test:mailbox()),
    flush().

flush() ->
    receive
        _ -> flush()
    after 0 -> ok
    end.

calls_of_a_batch_have_their_own_durations_test() ->
    Sleep = fun(Name, Ms) ->
        beamai_test:tool(Name, fun(_) -> timer:sleep(Ms), {ok, Ms} end, #{metadata => #{read_only => true}})
    end,
    Kernel = tools([Sleep(<<"short">>, 20), Sleep(<<"long">>, 3000)]),
    [
        begin
            Events = events(agent([calls([<<"long">>, <<"short">>]), <<"ok">>], #{kernel => K}), #{}),
            [{<<"short">>, Short}, {<<"long">>, Long}] =
                [{Name, Us} || {tool_ended, #{call := #{name := Name}, outcome := ok, duration_us := Us}} <- Events],
            ?assert(Short >= 20000 andalso Short < 3000000),
            ?assert(Long >= 3000000),
            ?assertEqual([<<"long">>, <<"short">>], [Name || {tool_started, #{name := Name}} <- Events])
        end
     || K <- [Kernel]
    ],
    %% While a filter waits in its Next, the filters of further calls start.
    Filtered = beamai_kernel:add_filter(Kernel, beamai_filter:new(f, fun(Call, Next) -> Next(Call) end)),
    Events = events(agent([calls([<<"long">>, <<"short">>]), <<"ok">>], #{kernel => Filtered}), #{}),
    ?assertMatch(
        [{<<"long">>, Long}, {<<"short">>, Short}] when Long >= 3000000 andalso Short >= 20000 andalso Short < 3000000,
        lists:sort([{Name, Us} || {tool_ended, #{call := #{name := Name}, duration_us := Us}} <- Events])
    ).

waiting_for_a_person_is_told_test() ->
    Open = beamai_test:tool(<<"open">>, fun(_) -> {ok, 1} end, #{metadata => #{requires_permission => true}}),
    Approve = fun(Answer) -> fun(_) -> timer:sleep(30), Answer end end,
    Seen = fun(Answer) ->
        Agent = agent([calls([<<"open">>]), <<"ok">>], #{kernel => tools([Open])}),
        [Event || {Kind, _} = Event <- events(Agent, #{context => #{approve => Approve(Answer)}}), Kind =:= waiting orelse Kind =:= waited]
    end,
    ?assertMatch(
        [
            {waiting, #{for := approval, call_id := Id, tool := <<"open">>, request := #{args := _}}},
            {waited, #{for := approval, call_id := Id, answer := allow, duration_us := Us}}
        ] when Us >= 30000,
        Seen(allow)
    ),
    ?assertMatch([{waiting, _}, {waited, #{answer := deny}}], Seen(deny)).

an_approval_of_a_sub_agent_is_told_as_its_own_test() ->
    Open = beamai_test:tool(<<"open">>, fun(_) -> {ok, 1} end, #{metadata => #{requires_permission => true}}),
    Helper = #{prompt => <<"You help.">>, description => <<"Helps.">>, tools => [<<"open">>]},
    Turns = fun
        (#{system := <<"You help.">>, messages := [_]}) -> calls([<<"open">>]);
        (#{system := <<"You help.">>}) -> <<"helped">>;
        (#{messages := [_]}) -> #{tool_calls => [{<<"task">>, #{<<"agent">> => <<"helper">>, <<"objective">> => <<"x">>}}]};
        (_) -> <<"ok">>
    end,
    Agent = agent(Turns, #{kernel => tools([Open]), agents => #{<<"helper">> => Helper}}),
    Events = events(Agent, #{context => #{approve => fun(_) -> allow end}}),
    ?assertMatch([_], [ok || {agent, <<"helper">>, {waited, #{answer := allow}}} <- Events]),
    ?assertMatch([#{outcome := ok}], [Ended || {agent, <<"helper">>, {ended, Ended}} <- Events]),
    ?assertMatch({ended, #{outcome := ok}}, lists:last(Events)).

what_is_left_of_the_budget_is_told_test() ->
    Turn = #{content => <<"ok">>, usage => #{input_tokens => 30, output_tokens => 10}},
    Left = [Left || {budget, Left} <- events(agent([Turn], #{budget => #{max_tokens => 100, max_time => 60000}}), #{})],
    ?assertMatch([#{tokens := 60, time := Ms}] when Ms > 50000, Left),
    ?assertEqual([], [Budget || {budget, Budget} <- events(agent([<<"ok">>], #{}), #{})]).

the_end_says_why_test() ->
    ?assertMatch({ended, #{outcome := error, reason := {max_iterations, 1}}},
        lists:last(events(agent(fun(_) -> calls([<<"none">>]) end, #{max_iterations => 1}), #{}))),
    ?assertMatch({ended, #{outcome := error, reason := {model, _}}}, lists:last(events(agent([{error, broken}], #{}), #{}))).

what_a_model_thinks_is_told_whole_test() ->
    Data = fun(Delta) -> ["data: ", beamai_json:text(#{choices => [#{index => 0, delta => Delta}]}), "\n\n"] end,
    Server = chat_server:start([{stream, [
        Data(#{reasoning_content => <<"Let me ">>}), Data(#{reasoning_content => <<"see.">>}), Data(#{content => <<"Yes.">>}),
        "data: [DONE]\n\n"
    ]}]),
    Model = beamai_chat:new(openai, #{base_url => chat_server:url(Server), model => <<"m">>}),
    {ok, Agent} = beamai_agent:new(#{llm => Model}),
    Answers = [Answer || {model_answer, Answer} <- events(Agent, #{})],
    ok = chat_server:stop(Server),
    ?assertMatch([#{reasoning := <<"Let me see.">>, message := #{content := <<"Yes.">>}}], Answers).
