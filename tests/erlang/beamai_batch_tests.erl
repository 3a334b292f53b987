-module(beamai_batch_tests).

-include_lib("eunit/include/eunit.hrl").

-import(beamai_test, [kernel/1, kernel/2, tool/2, tool/3, eventually/1]).

sleeper() ->
    tool(<<"sleep">>, fun(#{ms := Ms}) -> timer:sleep(Ms), {ok, Ms} end).

setter() ->
    tool(<<"set">>, fun(#{key := Key, value := Value, after_ms := Ms}, Ctx) ->
        timer:sleep(Ms),
        {ok, Key, beamai_context:set(Key, Value, Ctx)}
    end).

guarded(Name) ->
    tool(Name, fun(_) -> {ok, Name} end, #{metadata => #{requires_permission => true}}).

forever() ->
    receive
        never -> ok
    end.

answers_come_in_call_order_test() ->
    Calls = [{<<"sleep">>, #{ms => Ms}} || Ms <- [60, 5, 30]],
    ?assertEqual(
        {[{ok, 60}, {ok, 5}, {ok, 30}], #{}},
        beamai_kernel:invoke_all(kernel([sleeper()]), Calls, #{})
    ).

calls_run_in_parallel_test() ->
    Calls = lists:duplicate(10, {<<"sleep">>, #{ms => 2000}}),
    {Time, {Results, _}} = timer:tc(fun() ->
        beamai_kernel:invoke_all(kernel([sleeper()]), Calls, #{})
    end),
    ?assertEqual(lists:duplicate(10, {ok, 2000}), Results),
    ?assert(Time < 16000000).

calls_with_filters_run_in_parallel_too_test() ->
    Filter = beamai_filter:new(f, fun(Call, Next) -> Next(Call) end),
    Kernel = beamai_kernel:add_filter(kernel([sleeper()]), Filter),
    Calls = lists:duplicate(10, {<<"sleep">>, #{ms => 2000}}),
    {Time, {Results, _}} = timer:tc(fun() -> beamai_kernel:invoke_all(Kernel, Calls, #{}) end),
    ?assertEqual(lists:duplicate(10, {ok, 2000}), Results),
    ?assert(Time < 16000000).

at_most_eight_workers_for_each_scheduler_run_at_once_test() ->
    Running = counters:new(1, []),
    Most = counters:new(1, []),
    Tool = tool(<<"t">>, fun(_) ->
        counters:add(Running, 1, 1),
        timer:sleep(20),
        Now = counters:get(Running, 1),
        Now > counters:get(Most, 1) andalso counters:put(Most, 1, Now),
        counters:sub(Running, 1, 1),
        {ok, 1}
    end),
    Count = 20 * erlang:system_info(schedulers_online),
    {Results, _} = beamai_kernel:invoke_all(kernel([Tool]), lists:duplicate(Count, {<<"t">>, #{}}), #{}),
    ?assertEqual(Count, length(Results)),
    ?assert(counters:get(Most, 1) =< 8 * erlang:system_info(schedulers_online)).

errors_stand_in_their_place_test() ->
    Boom = tool(<<"boom">>, fun(_) -> error(boom) end),
    {Results, #{a := b}} = beamai_kernel:invoke_all(
        kernel([sleeper(), Boom]),
        [{<<"sleep">>, #{ms => 1}}, {<<"boom">>, #{}}, {<<"nothing">>, #{}}],
        #{a => b}
    ),
    ?assertMatch(
        [
            {ok, 1},
            {error, #{error_type := execution_failed}},
            {error, #{error_type := not_found}}
        ],
        Results
    ).

no_calls_give_no_answers_test() ->
    ?assertEqual({[], #{a => 1}}, beamai_kernel:invoke_all(kernel([]), [], #{a => 1})).

context_changes_are_merged_in_call_order_test() ->
    Call = fun(Key, Value, Ms) -> {<<"set">>, #{key => Key, value => Value, after_ms => Ms}} end,
    {_, Context} = beamai_kernel:invoke_all(
        kernel([setter()]),
        [Call(a, 1, 40), Call(b, 2, 1), Call(a, 3, 1), Call(kept, old, 1)],
        #{kept => old}
    ),
    ?assertEqual(#{a => 3, b => 2, kept => old}, Context).

filters_run_in_the_callers_process_test() ->
    Me = self(),
    Filter = beamai_filter:new(f, fun(Call, Next) ->
        Me = self(),
        {ok, Result, Ctx} = Next(Call),
        Me = self(),
        {ok, {seen, Result}, Ctx}
    end),
    Kernel = beamai_kernel:add_filter(kernel([sleeper()]), Filter),
    Calls = [{<<"sleep">>, #{ms => Ms}} || Ms <- [20, 10, 1]],
    ?assertEqual(
        {[{ok, {seen, 20}}, {ok, {seen, 10}}, {ok, {seen, 1}}], #{}},
        beamai_kernel:invoke_all(Kernel, Calls, #{})
    ).

a_filter_may_retry_or_answer_itself_test() ->
    Filter = beamai_filter:new(f, fun
        (#{args := #{ms := 0}, context := Ctx}, _Next) ->
            {ok, cached, Ctx};
        (#{args := #{ms := Ms}} = Call, Next) ->
            {ok, Ms, _} = Next(Call),
            Next(Call)
    end),
    Kernel = beamai_kernel:add_filter(kernel([sleeper()]), Filter),
    ?assertMatch(
        {[{ok, cached}, {ok, 5}, {ok, cached}], _},
        beamai_kernel:invoke_all(
            Kernel, [{<<"sleep">>, #{ms => Ms}} || Ms <- [0, 5, 0]], #{}
        )
    ).

approvals_are_asked_one_at_a_time_in_the_callers_process_test() ->
    Me = self(),
    Busy = counters:new(1, []),
    Approve = fun(#{tool := Tool}) ->
        Me = self(),
        counters:add(Busy, 1, 1),
        1 = counters:get(Busy, 1),
        timer:sleep(20),
        counters:sub(Busy, 1, 1),
        case Tool of
            <<"b">> -> {deny, <<"not b">>};
            _ -> allow
        end
    end,
    Kernel = kernel([guarded(Name) || Name <- [<<"a">>, <<"b">>, <<"c">>]], #{approve => Approve}),
    {Results, _} = beamai_kernel:invoke_all(
        Kernel, [{Name, #{}} || Name <- [<<"a">>, <<"b">>, <<"c">>]], #{}
    ),
    ?assertMatch(
        [{ok, <<"a">>}, {error, #{error_type := permission_denied}}, {ok, <<"c">>}], Results
    ).

an_approval_for_the_session_holds_for_the_other_calls_test() ->
    beamai_test:alone(fun() ->
        Asked = counters:new(1, []),
        Approve = fun(_) ->
            counters:add(Asked, 1, 1),
            timer:sleep(20),
            {allow, session}
        end,
        Kernel = kernel([guarded(<<"a">>)], #{approve => Approve}),
        Calls = lists:duplicate(5, {<<"a">>, #{}}),
        {Results, _} = beamai_kernel:invoke_all(Kernel, Calls, #{}),
        ?assertEqual(lists:duplicate(5, {ok, <<"a">>}), Results),
        ?assertEqual(1, counters:get(Asked, 1))
    end).

a_worker_that_is_killed_makes_an_error_test() ->
    Me = self(),
    Tool = tool(<<"t">>, fun(_) ->
        {parent, Worker} = process_info(self(), parent),
        Me ! {worker, Worker},
        exit(Worker, kill),
        forever()
    end),
    {[Result], _} = beamai_kernel:invoke_all(kernel([Tool]), [{<<"t">>, #{}}], #{}),
    ?assertMatch(
        {error, #{tool := <<"t">>, error_type := execution_failed, details := #{reason := crash}}}, Result
    ),
    receive
        {worker, _} -> ok
    end.

workers_and_handlers_die_with_the_caller_test() ->
    Me = self(),
    Tool = tool(<<"t">>, fun(_) -> Me ! {handler, self()}, forever() end),
    Caller = spawn(fun() ->
        beamai_kernel:invoke_all(kernel([Tool]), lists:duplicate(3, {<<"t">>, #{}}), #{})
    end),
    Handlers = [
        receive
            {handler, Pid} -> Pid
        end
     || _ <- [1, 2, 3]
    ],
    exit(Caller, kill),
    eventually(fun() -> not lists:any(fun is_process_alive/1, Handlers) end).

cancelling_cancels_every_call_test() ->
    Me = self(),
    Tool = tool(<<"t">>, fun(_) -> Me ! started, forever() end),
    spawn(fun() ->
        Calls = lists:duplicate(3, {<<"t">>, #{}}),
        Me ! {results, beamai_kernel:invoke_all(kernel([Tool]), Calls, #{run_id => batch_1})}
    end),
    [
        receive
            started -> ok
        end
     || _ <- [1, 2, 3]
    ],
    ok = beamai_kernel:cancel(batch_1),
    receive
        {results, {Results, _}} ->
            [?assertMatch({error, #{details := #{reason := cancelled}}}, R) || R <- Results]
    after 30000 -> error(not_cancelled)
    end.

nobody_is_asked_after_a_cancel_test() ->
    Me = self(),
    Approve = fun(#{tool := Tool}) ->
        Me ! {asked, Tool},
        %% The other calls are waiting to ask.
        timer:sleep(200),
        ok = beamai_kernel:cancel(batch_3),
        allow
    end,
    Names = [<<"one">>, <<"two">>, <<"three">>],
    Guarded = [beamai_test:tool(Name, fun(_) -> {ok, 1} end, #{metadata => #{requires_permission => true}}) || Name <- Names],
    K = beamai_test:kernel(Guarded, #{approve => Approve}),
    {Results, _} = beamai_kernel:invoke_all(K, [{Name, #{}} || Name <- Names], #{run_id => batch_3}),
    [?assertMatch({error, #{details := #{reason := cancelled}}}, Result) || Result <- Results],
    ?assertMatch([{asked, _}], beamai_test:mailbox()).

calls_that_had_not_started_are_cancelled_too_test() ->
    Me = self(),
    Tool = tool(<<"t">>, fun(_) -> Me ! started, forever() end),
    Count = 20 * erlang:system_info(schedulers_online),
    spawn(fun() ->
        Calls = lists:duplicate(Count, {<<"t">>, #{}}),
        Me ! {results, beamai_kernel:invoke_all(kernel([Tool]), Calls, #{run_id => batch_2})}
    end),
    receive
        started -> ok = beamai_kernel:cancel(batch_2)
    end,
    receive
        {results, {Results, _}} ->
            [?assertMatch({error, #{details := #{reason := cancelled}}}, R) || R <- Results]
    after 30000 -> error(not_cancelled)
    end,
    flush().

flush() ->
    receive
        started -> flush()
    after 0 -> ok
    end.

a_batch_inside_a_handler_works_test() ->
    Outer = tool(<<"outer">>, fun(_, Ctx) ->
        {Results, _} = beamai_kernel:invoke_all(
            kernel([sleeper()]), [{<<"sleep">>, #{ms => 1}}, {<<"sleep">>, #{ms => 2}}], Ctx
        ),
        {ok, Results}
    end),
    ?assertMatch({ok, [{ok, 1}, {ok, 2}], _}, beamai_kernel:invoke(kernel([Outer]), <<"outer">>, #{})).

nothing_is_left_in_mailbox_or_dictionary_test() ->
    beamai_test:alone(fun() ->
        {_, _} = beamai_kernel:invoke_all(kernel([sleeper()]), [{<<"sleep">>, #{ms => 1}}], #{}),
        ?assertEqual([], beamai_test:mailbox()),
        ?assertMatch(['$beamai_guard'], dictionary_keys()),
        ?assertEqual([], ets:match(beamai_watched, {{self(), '_'}, '_'}))
    end).

dictionary_keys() ->
    [Key || {Key, _} <- get()].

a_malformed_call_is_refused_before_any_runs_test() ->
    Me = self(),
    Kernel = kernel([tool(<<"t">>, fun(_) -> Me ! ran, {ok, 1} end)]),
    ?assertError({bad_call, foo}, beamai_kernel:invoke_all(Kernel, [{<<"t">>, #{}}, foo], #{})),
    receive
        ran -> error(ran)
    after 50 -> ok
    end.

%% Whatever the moment, the answer is a result or an error of each call.
calls_survive_restarts_of_the_application_test_() ->
    {timeout, 60, fun() ->
        Kernel = beamai_test:probes(kernel([tool(<<"t">>, fun(_) -> {ok, 1} end)])),
        Calls = [{<<"t">>, #{}}, {<<"probe_noop">>, #{}}],
        Workers = [
            spawn_monitor(fun() ->
                [
                    {[_, _], _} = beamai_kernel:invoke_all(Kernel, Calls, #{run_id => I, session_id => I})
                 || _ <- lists:seq(1, 300)
                ]
            end)
         || I <- lists:seq(1, 8)
        ],
        [
            begin
                timer:sleep(20),
                application:stop(beamai)
            end
         || _ <- lists:seq(1, 15)
        ],
        [
            receive
                {'DOWN', Monitor, process, Pid, Reason} -> ?assertEqual(normal, Reason)
            end
         || {Pid, Monitor} <- Workers
        ],
        ok = beamai_runtime:ensure_started()
    end}.
