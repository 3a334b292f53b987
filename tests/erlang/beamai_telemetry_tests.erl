%% Telemetry: spans of tools, models and runs, through our own handlers and through the library.
-module(beamai_telemetry_tests).

-include_lib("eunit/include/eunit.hrl").

-define(EVENTS, [[beamai, Kind, What] || Kind <- [tool, model, agent], What <- [start, stop, exception]]).

traced(Fun) ->
    Self = self(),
    ok = beamai_telemetry:attach(?MODULE, ?EVENTS, fun(Event, M, Meta, Config) -> Self ! {Config, Event, M, Meta} end, seen),
    try
        Fun(),
        seen()
    after
        ok = beamai_telemetry:detach(?MODULE)
    end.

seen() ->
    receive
        {seen, Event, Measurements, Metadata} -> [{Event, Measurements, Metadata} | seen()]
    after 20 -> []
    end.

tools() ->
    beamai_test:kernel([
        beamai_test:tool(<<"echo">>, fun(Args) -> timer:sleep(5), {ok, Args} end),
        beamai_test:tool(<<"crash">>, fun(_) -> error({secret, <<"word">>}) end),
        beamai_test:tool(<<"own">>, fun(_) -> {error, mine} end)
    ]).

a_run_has_spans_of_each_kind_test() ->
    Turns = [
        #{tool_calls => [{<<"echo">>, #{<<"a">> => <<"secret">>}}], usage => #{input_tokens => 7, output_tokens => 2, cached_tokens => 3}},
        <<"the answer">>
    ],
    {ok, Agent} = beamai_agent:new(#{
        llm => beamai_chat:new(scripted, #{turns => Turns}), kernel => tools(), agent_id => <<"a1">>, context => #{session_id => <<"s">>}
    }),
    Seen = traced(fun() -> {ok, _, _} = beamai_agent:run(Agent, <<"a question">>, #{run_id => r}) end),
    ?assertEqual(
        [
            [beamai, agent, start], [beamai, model, start], [beamai, model, stop], [beamai, tool, start], [beamai, tool, stop],
            [beamai, model, start], [beamai, model, stop], [beamai, agent, stop]
        ],
        [Event || {Event, _, _} <- Seen]
    ),
    [{_, Started, _}, _, {_, Model, ModelMeta}, _, {_, Tool, ToolMeta}, _, _, {_, Run, RunMeta}] = Seen,
    ?assertMatch(#{system_time := _, monotonic_time := _}, Started),
    ?assertMatch(#{duration := _, input_tokens := 7, output_tokens := 2, cached_tokens := 3}, Model),
    ?assertMatch(
        #{
            'gen_ai.operation.name' := <<"chat">>, 'gen_ai.provider.name' := <<"beamai_chat_scripted">>,
            'gen_ai.usage.input_tokens' := 7, 'gen_ai.usage.cache_read.input_tokens' := 3,
            'gen_ai.response.finish_reasons' := [<<"tool_calls">>], 'gen_ai.agent.id' := <<"a1">>, run_id := r,
            'gen_ai.conversation.id' := <<"s">>
        },
        ModelMeta
    ),
    ?assert(erlang:convert_time_unit(maps:get(duration, Tool), native, millisecond) >= 5),
    ?assertMatch(
        #{
            'gen_ai.operation.name' := <<"execute_tool">>, 'gen_ai.tool.name' := <<"echo">>,
            'gen_ai.tool.type' := <<"function">>, 'gen_ai.tool.call.id' := <<"call_1_1">>, run_id := r
        },
        ToolMeta
    ),
    ?assertMatch(#{iterations := 2, tool_calls := 1, input_tokens := 7, duration := _}, Run),
    ?assertMatch(#{'gen_ai.operation.name' := <<"invoke_agent">>, 'gen_ai.agent.name' := <<"a1">>}, RunMeta),
    %% No contents.
    Shown = io_lib:format("~p", [Seen]),
    [?assertEqual(nomatch, string:find(Shown, Word)) || Word <- ["secret", "a question", "the answer"]].

the_events_of_a_span_belong_together_test() ->
    Seen = traced(fun() -> beamai_kernel:invoke_all(tools(), [{<<"echo">>, #{}} || _ <- lists:seq(1, 5)], #{}) end),
    Refs = fun(What) -> [Ref || {[_, _, W], _, #{telemetry_span_context := Ref}} <- Seen, W =:= What] end,
    ?assertEqual(5, length(lists:usort(Refs(start)))),
    ?assertEqual(lists:sort(Refs(start)), lists:sort(Refs(stop))).

errors_have_a_type_and_exceptions_a_place_test() ->
    Kernel = tools(),
    Ended = fun(Name) -> lists:last(traced(fun() -> beamai_kernel:invoke(Kernel, Name, #{}) end)) end,
    Quiet = fun(Name) ->
        ok = logger:set_primary_config(level, none),
        try Ended(Name) after logger:set_primary_config(level, notice) end
    end,
    {[beamai, tool, exception], #{duration := _}, Crash} = Quiet(<<"crash">>),
    ?assertMatch(#{kind := error, 'error.type' := <<"crash">>, stacktrace := [_ | _]}, Crash),
    ?assertNot(is_map_key(reason, Crash)),
    ?assertMatch({[beamai, tool, stop], _, #{'error.type' := <<"_OTHER">>}}, Ended(<<"own">>)),
    ?assertMatch({[beamai, tool, stop], _, #{'error.type' := <<"not_found.unknown_tool">>}}, Ended(<<"nobody">>)),
    {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => [{error, broken}]})}),
    Failed = traced(fun() -> beamai_agent:run(Agent, <<"go">>) end),
    ?assertMatch([_, _, {[beamai, model, stop], _, #{'error.type' := <<"failed">>}}, {[beamai, agent, stop], _, #{'error.type' := <<"failed">>}}], Failed).

contents_come_where_they_are_wanted_test() ->
    ok = application:set_env(beamai, telemetry_contents, true),
    try
        Args = #{<<"a">> => 1},
        ok = beamai_telemetry:refresh(),
        [{_, _, Start}, {_, _, Stop}] = traced(fun() ->
            ok = beamai_telemetry:refresh(),
            beamai_kernel:invoke(tools(), <<"echo">>, Args)
        end),
        ?assertMatch(#{'gen_ai.tool.call.arguments' := Args}, Start),
        ?assertMatch(#{'gen_ai.tool.call.result' := Args}, Stop)
    after
        ok = application:set_env(beamai, telemetry_contents, false),
        ok = beamai_telemetry:refresh()
    end.

a_handler_that_raises_is_detached_test() ->
    ok = beamai_telemetry:attach(bad, ?EVENTS, fun(_, _, _, _) -> error(oops) end, none),
    ?assertEqual({error, already_exists}, beamai_telemetry:attach(bad, ?EVENTS, fun(_, _, _, _) -> ok end, none)),
    ok = logger:set_primary_config(level, none),
    {ok, _, _} = beamai_kernel:invoke(tools(), <<"echo">>, #{}),
    ok = logger:set_primary_config(level, notice),
    ?assertEqual({error, not_found}, beamai_telemetry:detach(bad)).

%% The library's interface: telemetry:execute(EventName, Measurements, Metadata).
the_library_gets_the_events_where_it_is_loaded_test() ->
    Forms = [
        {attribute, 1, module, telemetry},
        {attribute, 1, export, [{execute, 3}]},
        {function, 1, execute, 3, [{clause, 1, [{var, 1, 'E'}, {var, 1, 'M'}, {var, 1, 'D'}], [],
            [{op, 1, '!', {call, 1, {remote, 1, {atom, 1, persistent_term}, {atom, 1, get}}, [{atom, 1, ?MODULE}]},
                {tuple, 1, [{atom, 1, seen}, {var, 1, 'E'}, {var, 1, 'M'}, {var, 1, 'D'}]}}]}]}
    ],
    false = code:is_loaded(telemetry),
    {ok, telemetry, Code} = compile:forms(Forms),
    persistent_term:put(?MODULE, self()),
    {module, telemetry} = code:load_binary(telemetry, "telemetry.beam", Code),
    try
        ok = beamai_telemetry:refresh(),
        {ok, _, _} = beamai_kernel:invoke(tools(), <<"echo">>, #{}),
        ?assertMatch([{[beamai, tool, start], _, _}, {[beamai, tool, stop], _, _}], seen())
    after
        true = code:delete(telemetry),
        _ = code:purge(telemetry),
        ok = beamai_telemetry:refresh(),
        persistent_term:erase(?MODULE)
    end,
    {ok, _, _} = beamai_kernel:invoke(tools(), <<"echo">>, #{}),
    ?assertEqual([], seen()).

a_call_that_is_cancelled_while_its_start_is_told_does_not_begin_test() ->
    Self = self(),
    Kernel = beamai_kernel:add_tool(beamai_kernel:new(), beamai_test:tool(<<"t">>, fun(_) -> Self ! ran, {ok, done} end)),
    ok = beamai_telemetry:attach(?FUNCTION_NAME, [[beamai, tool, start]], fun(_, _, _, _) -> beamai_kernel:cancel(r) end, none),
    try
        ?assertMatch({error, #{details := #{reason := cancelled}}}, beamai_kernel:invoke(Kernel, <<"t">>, #{}, #{run_id => r})),
        receive ran -> error(ran) after 0 -> ok end
    after
        ok = beamai_telemetry:detach(?FUNCTION_NAME)
    end.
