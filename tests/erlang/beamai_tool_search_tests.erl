%% Many tools: what is offered, what is found, what can be called.
-module(beamai_tool_search_tests).

-include_lib("eunit/include/eunit.hrl").

kernel() ->
    Tools = [tool(<<"tool_", (integer_to_binary(N))/binary>>, <<"Counts to ", (integer_to_binary(N))/binary, ".">>) || N <- lists:seq(1, 200)],
    Named = [tool(<<"weather_forecast">>, <<"Tells the weather of a city on a day.">>), tool(<<"send_mail">>, <<"Sends a letter to people.">>)],
    beamai_kernel:add_tools(beamai_kernel:new(#{workspace => "/var/tmp"}), Tools ++ Named).

tool(Name, Description) -> #{name => Name, description => Description, handler => fun(_) -> {ok, Name} end}.

offered(#{kernel := Kernel}) -> [Name || #{name := Name} <- beamai_kernel:get_tool_specs(Kernel)].

agent(Turns, Options) ->
    Model = beamai_chat:new(scripted, #{turns => Turns}),
    {ok, Agent} = beamai_agent:new(maps:merge(#{llm => Model, kernel => kernel(), tool_listing => #{max => 20, always => [<<"tool_1">>]}}, Options)),
    Agent.

seen(Turn) ->
    Self = self(),
    fun(Request) -> Self ! {offered, offered(Request)}, Turn end.

next() -> receive {offered, Names} -> Names after 0 -> none end.

call(Name, Args) -> #{tool_calls => [{Name, Args}]}.

tools_are_found_by_searching_test() ->
    Agent = agent([seen(call(<<"tool_search">>, #{<<"query">> => <<"forecasts for a city">>})), seen(call(<<"weather_forecast">>, #{})), seen(<<"Rain.">>)], #{}),
    {ok, #{tool_calls := 2}, After} = beamai_agent:run(Agent, <<"?">>),
    ?assertEqual([<<"tool_1">>, <<"tool_search">>], next()),
    Found = next(),
    ?assert(lists:member(<<"weather_forecast">>, Found)),
    ?assert(length(Found) =< 10),
    ?assertEqual(Found, next()),
    [Result | _] = [Content || #{role := tool, content := Content} <- beamai_conversation:messages(beamai_agent:conversation(After))],
    ?assertNotEqual(nomatch, binary:match(Result, <<"Tells the weather">>)),
    %% A stored conversation goes on with what was found.
    Again = agent(fun(_) -> seen(<<"Sun.">>) end, #{conversation => beamai_agent:conversation(After)}),
    {ok, _, _} = beamai_agent:run(Again, <<"And now?">>),
    ?assertEqual(Found, next()).

what_is_not_offered_can_be_called_and_stays_test() ->
    Agent = agent([call(<<"send_mail">>, #{}), seen(<<"Sent.">>)], #{}),
    {ok, _, _} = beamai_agent:run(Agent, <<"?">>),
    ?assert(lists:member(<<"send_mail">>, next())).

only_what_is_offered_is_sent_test() ->
    Server = chat_server:start([chat_server:says(openai_stream, Answer) || Answer <- [call(<<"tool_search">>, #{<<"query">> => <<"weather">>}), <<"Rain.">>]]),
    try
        Model = beamai_chat:new(openai, #{base_url => chat_server:url(Server), model => <<"m">>}),
        {ok, _, _} = beamai_agent:run(agent([], #{llm => Model}), <<"?">>),
        [First, Second] = [lists:sort([Name || #{<<"function">> := #{<<"name">> := Name}} <- Tools]) || #{body := #{<<"tools">> := Tools}} <- chat_server:requests(Server)],
        ?assertEqual([<<"tool_1">>, <<"tool_search">>], First),
        ?assertEqual([<<"tool_1">>, <<"tool_search">>, <<"weather_forecast">>], Second)
    after
        chat_server:stop(Server)
    end.

nothing_found_is_said_test() ->
    {ok, #{<<"tools">> := [], <<"searched">> := 202, <<"note">> := _}, _} =
        beamai_kernel:invoke(beamai_agent:kernel(agent([], #{})), <<"tool_search">>, #{<<"query">> => <<"zebra">>}).

few_tools_are_listed_test() ->
    Agent = agent([seen(<<"ok">>)], #{tool_listing => #{max => 500}}),
    {ok, _, _} = beamai_agent:run(Agent, <<"?">>),
    ?assertEqual(202, length(next())).

a_sub_agent_lists_its_own_tools_test() ->
    Helper = #{description => <<"Helps.">>, tools => all, llm => beamai_chat:new(scripted, #{turns => [seen(<<"Done.">>)]})},
    Self = self(),
    Saw = fun(Request) -> Self ! {offered, offered(Request)}, <<"Done.">> end,
    Agents = #{<<"helper">> => Helper#{llm => beamai_chat:new(scripted, #{turns => [Saw]})}},
    Kernel = beamai_kernel:new(#{workspace => "/var/tmp", permissions => #{allow => [<<"Task">>]}}),
    All = beamai_kernel:add_tools(Kernel, beamai_kernel:get_tool_specs(kernel())),
    Turns = [call(<<"task">>, #{<<"agent">> => <<"helper">>, <<"objective">> => <<"Help.">>}), <<"ok">>],
    {ok, _, _} = beamai_agent:run(agent(Turns, #{kernel => All, agents => Agents}), <<"?">>),
    ?assertEqual(202, length(next())).

options_are_checked_test() ->
    [
        ?assertError({bad_option, tool_listing}, agent([], #{tool_listing => Bad}))
     || Bad <- [10, #{}, #{max => 0}, #{max => 1, always => all}, #{max => 1, some => []}]
    ].
