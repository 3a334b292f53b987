%% Further tries of a tool within a run: told as events, and none after the run's time.
-module(beamai_tool_retry_tests).

-include_lib("eunit/include/eunit.hrl").

run(Tool, Options) ->
    Self = self(),
    Model = beamai_chat:new(scripted, #{turns => [#{tool_calls => [{<<"flaky">>, #{}}]}, <<"Done.">>]}),
    Kernel = beamai_kernel:add_tool(beamai_kernel:new(#{workspace => "/var/tmp"}), Tool#{name => <<"flaky">>}),
    {ok, Agent} = beamai_agent:new(#{llm => Model, kernel => Kernel}),
    Result = beamai_agent:run(Agent, <<"Go.">>, Options#{events => fun(Event) -> Self ! {event, Event} end}),
    {Result, events()}.

events() ->
    receive
        {event, Event} -> [Event | events()]
    after 0 -> []
    end.

each_further_try_is_told_test() ->
    Tries = counters:new(1, []),
    Handler = fun(_) ->
        ok = counters:add(Tries, 1, 1),
        case counters:get(Tries, 1) of
            3 -> {ok, there};
            _ -> {error, not_yet}
        end
    end,
    {{ok, _, _}, Events} = run(#{handler => Handler, retry => #{max => 5, delay => 2}}, #{}),
    [One, Two] = [Retry || {tool_retry, Retry} <- Events],
    ?assertMatch(#{tool := <<"flaky">>, call_id := <<"call_1_1">>, attempt := 1, delay_ms := 2, error := not_yet}, One),
    ?assertMatch(#{attempt := 2}, Two),
    ?assertMatch([#{outcome := ok}], [Ended || {tool_ended, Ended} <- Events]).

nothing_is_tried_after_the_time_is_over_test() ->
    Tries = counters:new(1, []),
    Handler = fun(_) ->
        ok = counters:add(Tries, 1, 1),
        timer:sleep(1000)
    end,
    Tool = #{handler => Handler, timeout => 5000, retry => #{max => 20, delay => 0}},
    {{error, {out_of_budget, time}, _}, Events} = run(Tool, #{budget => #{max_time => 100}}),
    ?assertEqual(1, counters:get(Tries, 1)),
    ?assertEqual([], [Retry || {tool_retry, Retry} <- Events]).

a_try_that_the_time_does_not_reach_is_not_told_test() ->
    Tool = #{handler => fun(_) -> {error, not_yet} end, retry => #{max => 1, delay => 60000}},
    {{error, {out_of_budget, time}, _}, Events} = run(Tool, #{budget => #{max_time => 100}}),
    ?assertEqual([], [Retry || {tool_retry, Retry} <- Events]).
