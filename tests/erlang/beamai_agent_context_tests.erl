%% What a run's context has, and what of it is kept; crashes and keys in logs.
-module(beamai_agent_context_tests).

-include_lib("eunit/include/eunit.hrl").

-export([log/2]).

agent(Turns, Tools, Options) ->
    Model = beamai_chat:new(scripted, #{turns => Turns}),
    {ok, Agent} = beamai_agent:new(maps:merge(#{llm => Model, kernel => beamai_test:kernel(Tools)}, Options)),
    Agent.

calls(Names) -> #{tool_calls => [{Name, #{}} || Name <- Names]}.

the_id_of_the_agent_is_in_every_context_test() ->
    Self = self(),
    Tell = beamai_test:tool(<<"tell">>, fun(_, Context) -> Self ! {ids, maps:with([agent_id, run_id], Context)}, {ok, 1} end),
    Seen = fun(Options) ->
        Agent = agent([calls([<<"tell">>]), <<"ok">>], [Tell], Options),
        {ok, _, After} = beamai_agent:run(Agent, <<"go">>),
        ?assertEqual(beamai_agent:id(Agent), beamai_agent:id(After)),
        receive {ids, #{agent_id := Id, run_id := _}} -> {Id, beamai_agent:id(Agent)} end
    end,
    ?assertEqual({<<"a">>, <<"a">>}, Seen(#{agent_id => <<"a">>})),
    ?assertEqual({b, b}, Seen(#{context => #{agent_id => b}})),
    {Made, Made} = Seen(#{}),
    ?assertMatch(<<"agent_", _/binary>>, Made),
    ?assertNotEqual({Made, Made}, Seen(#{})).

what_tools_change_is_returned_and_kept_test() ->
    Count = beamai_test:tool(<<"count">>, fun(_, Context) ->
        Next = beamai_context:get(count, Context, 0) + 1,
        {ok, Next, beamai_context:set(count, Next, Context)}
    end),
    Agent = agent(fun(#{messages := M}) -> turn(M) end, [Count], #{context => #{mine => 1}}),
    {ok, #{context := First}, A1} = beamai_agent:run(Agent, <<"go">>, #{context => #{only_now => 1}}),
    ?assertEqual(#{mine => 1, count => 2}, First),
    ?assertEqual(First, beamai_agent:context(A1)),
    {ok, #{context := Second}, _} = beamai_agent:run(A1, <<"go">>),
    ?assertEqual(#{mine => 1, count => 4}, Second).

%% Two calls, then an answer.
turn(Messages) ->
    case lists:last(Messages) of
        #{role := user} -> calls([<<"count">>, <<"count">>]);
        #{role := tool} -> <<"ok">>
    end.

%% A context made anew takes nothing away from the run: it can still be cancelled, and its budget holds.
a_context_made_anew_loses_nothing_of_the_run_test() ->
    Self = self(),
    New = beamai_test:tool(<<"new">>, fun(_, _) -> {ok, 1, #{fresh => true}} end),
    Tell = beamai_test:tool(<<"tell">>, fun(_, Context) -> Self ! {context, Context}, {ok, 1} end),
    Agent = agent([calls([<<"new">>]), calls([<<"tell">>]), <<"ok">>], [New, Tell], #{context => #{mine => 1}}),
    {ok, #{context := Kept}, _} = beamai_agent:run(Agent, <<"go">>, #{run_id => r}),
    ?assertMatch(
        #{run_id := r, agent_id := _, agent_budget := _, model := _, mine := 1, fresh := true},
        receive {context, Context} -> Context end
    ),
    ?assertEqual(#{mine => 1, fresh => true}, Kept).

%%% Logs

log(Event, #{config := Pid}) -> Pid ! {logged, Event}.

logged(Fun) ->
    ok = logger:add_handler(?MODULE, ?MODULE, #{config => self(), level => error}),
    try
        _ = Fun(),
        [Event || {logged, Event} <- flushed()]
    after
        logger:remove_handler(?MODULE)
    end.

flushed() ->
    receive
        Message -> [Message | flushed()]
    after 50 -> []
    end.

what_a_handler_raises_is_logged_with_its_place_and_without_arguments_test() ->
    Crash = beamai_test:tool(<<"crash">>, fun(#{<<"key">> := Key}) -> picky(Key) end),
    Kernel = beamai_test:kernel([Crash]),
    Args = #{<<"key">> => <<"the-secret-argument">>},
    Runs = [
        fun() -> beamai_kernel:invoke(Kernel, <<"crash">>, Args) end,
        fun() -> beamai_kernel:invoke_all(Kernel, [{<<"crash">>, Args}], #{agent_id => a}) end
    ],
    [
        begin
            [#{level := error, msg := {report, Report}, meta := #{report_cb := Show}}] = logged(Run),
            {Format, Parts} = Show(Report),
            Text = unicode:characters_to_binary(io_lib:format(Format, Parts)),
            ?assertNotEqual(nomatch, binary:match(Text, <<"the handler of crash raised function_clause: no clause of ">>)),
            ?assertMatch({match, _}, re:run(Text, "picky/1 \\(.*beamai_agent_context_tests.erl:[0-9]+\\)")),
            ?assertEqual(nomatch, binary:match(Text, <<"the-secret">>)),
            ?assertEqual(nomatch, string:find(io_lib:format("~p", [Report]), "the-secret"))
        end
     || Run <- Runs
    ].

picky(only_this) -> {ok, 1}.

a_value_in_a_header_is_not_shown_test() ->
    Server = chat_server:start([
        chat_server:says(openai, <<"ok">>), {400, [], <<"{\"error\": {\"message\": \"bad token Bearer tok-123456\"}}">>},
        chat_server:says(openai, <<"ok">>)
    ]),
    New = fun(Value) ->
        beamai_chat:new(openai, #{
            base_url => chat_server:url(Server), model => <<"m">>, stream => false, headers => [{"Authorization", Value}, {"x-v", "1"}]
        })
    end,
    Model = New(<<"Bearer tok-123456">>),
    ?assertEqual(nomatch, string:find(io_lib:format("~p", [Model]), "tok-123456")),
    {ok, _} = beamai_chat:complete(Model, <<"Hi">>),
    {error, #{message := Message}} = beamai_chat:complete(Model, <<"Hi">>),
    ?assertEqual(nomatch, binary:match(Message, <<"tok-123456">>)),
    {ok, _} = beamai_chat:complete(New(fun() -> <<"Bearer tok-fresh">> end), <<"Hi">>),
    ?assertMatch(
        [<<"Bearer tok-123456">>, <<"Bearer tok-123456">>, <<"Bearer tok-fresh">>],
        [maps:get(<<"authorization">>, Headers) || #{headers := Headers} <- chat_server:requests(Server)]
    ),
    ok = chat_server:stop(Server),
    ?assertMatch({error, #{reason := authentication}}, beamai_chat:complete(New(fun() -> <<"a\r\nb">> end), <<"Hi">>)),
    ?assertError({bad_option, headers}, New(<<"a\nb">>)).
