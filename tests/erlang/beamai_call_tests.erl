-module(beamai_call_tests).

-include_lib("eunit/include/eunit.hrl").

-import(beamai_test, [kernel/1, kernel/2, tool/2, tool/3, eventually/1]).

invoke(Handler) ->
    invoke(Handler, #{}).

invoke(Handler, Options) ->
    invoke(Handler, Options, #{}).

invoke(Handler, Options, Context) ->
    beamai_kernel:invoke(kernel([tool(<<"t">>, Handler, Options)]), <<"t">>, #{}, Context).

forever() ->
    receive
        never -> ok
    end.

%%% The handler's process

a_handler_runs_in_its_own_process_test() ->
    {ok, Handler, _} = invoke(fun(_) -> {ok, self()} end),
    ?assertNotEqual(self(), Handler).

an_exception_becomes_execution_failed_without_a_report_test() ->
    {error, Error} = invoke(fun(_) -> error({broken, [1, 2]}) end),
    ?assertMatch(
        #{
            tool := <<"t">>,
            error_type := execution_failed,
            details := #{
                reason := crash, class := error, exception := {broken, [1, 2]}, stacktrace := [_ | _]
            }
        },
        Error
    ),
    ?assertMatch(<<"the handler of t raised error:{broken,[1,2]}">>, maps:get(message, Error)),
    [
        ?assertMatch({error, #{details := #{reason := crash, class := Class}}}, invoke(Handler))
     || {Class, Handler} <- [{throw, fun(_) -> throw(x) end}, {exit, fun(_) -> exit(normal) end}]
    ].

a_handler_killed_from_outside_is_a_crash_test() ->
    ?assertMatch(
        {error, #{error_type := execution_failed, details := #{reason := crash, exception := killed}}},
        invoke(fun(_) -> exit(self(), kill), forever() end)
    ).

a_handler_that_is_not_there_is_a_crash_test() ->
    {error, #{message := Message}} = invoke({no_such_module, f}),
    ?assertEqual(
        <<"the handler of t raised undef: there is no function no_such_module:f/2">>, Message
    ),
    {error, #{message := Unmatched}} = invoke(fun lists:sum/1),
    ?assertEqual(
        <<"the handler of t raised function_clause: no clause of lists:sum/2 takes what it was given">>, Unmatched
    ).

a_wrong_return_value_is_explained_test() ->
    {error, #{error_type := execution_failed, message := Message}} = invoke(fun(_) -> fine end),
    ?assertMatch({match, _}, re:run(Message, "returned fine; a handler returns")),
    ?assertMatch({error, #{details := #{reason := crash}}}, invoke(fun(_) -> {ok, 1, no_context} end)),
    ?assertMatch({error, #{details := #{reason := crash}}}, invoke(fun(_) -> cancelled end)).

processes_linked_to_a_handler_survive_it_test() ->
    {ok, Child, _} = invoke(fun(_) -> {ok, spawn_link(fun forever/0)} end),
    timer:sleep(20),
    ?assert(is_process_alive(Child)),
    exit(Child, kill).

the_callers_mailbox_and_flags_stay_as_they_were_test() ->
    beamai_test:alone(fun() ->
        process_flag(trap_exit, true),
        self() ! mine,
        {ok, 1, _} = invoke(fun(_) -> {ok, 1} end),
        {error, _} = invoke(fun(_) -> error(x) end),
        {error, _} = invoke(fun(_) -> forever() end, #{timeout => 10}),
        {error, _} = invoke(fun(_) -> exit(self(), kill), forever() end),
        timer:sleep(20),
        ?assertEqual([mine], beamai_test:mailbox()),
        ?assertEqual({trap_exit, true}, process_info(self(), trap_exit)),
        ?assertEqual({monitors, []}, process_info(self(), monitors)),
        ?assertEqual({links, []}, process_info(self(), links))
    end).

%%% Time

a_handler_that_takes_too_long_is_killed_test() ->
    Me = self(),
    {error, Error} = invoke(
        fun(_) ->
            Me ! {handler, self()},
            process_flag(trap_exit, true),
            forever()
        end,
        #{timeout => 50}
    ),
    ?assertMatch(
        #{error_type := timeout, details := #{reason := timeout, timeout_ms := 50}}, Error
    ),
    receive
        {handler, Handler} -> ?assertNot(is_process_alive(Handler))
    end.

the_kernels_default_timeout_holds_for_tools_without_one_test() ->
    Slow = fun(_) -> timer:sleep(500), {ok, done} end,
    Kernel = kernel(
        [tool(<<"default">>, Slow), tool(<<"own">>, Slow, #{timeout => 30000})],
        #{default_timeout => 50}
    ),
    ?assertMatch({error, #{error_type := timeout}}, beamai_kernel:invoke(Kernel, <<"default">>, #{})),
    ?assertMatch({ok, done, _}, beamai_kernel:invoke(Kernel, <<"own">>, #{})).

infinity_is_a_timeout_test() ->
    ?assertMatch({ok, 1, _}, invoke(fun(_) -> timer:sleep(10), {ok, 1} end, #{timeout => infinity})).

time_spent_asking_the_user_does_not_count_test() ->
    Slow = fun(_Questions) -> timer:sleep(2500), {ok, yes} end,
    Handler = fun(_, Ctx) ->
        {ok, yes} = beamai_callback:ask_user([<<"sure?">>], Ctx),
        {ok, done}
    end,
    ?assertMatch({ok, done, _}, invoke(Handler, #{timeout => 2000}, #{ask_user => Slow})),
    Then = fun(Args, Ctx) -> {ok, done} = Handler(Args, Ctx), forever() end,
    ?assertMatch(
        {error, #{error_type := timeout}}, invoke(Then, #{timeout => 2000}, #{ask_user => Slow})
    ).

ask_user_runs_in_the_callers_process_and_falls_back_to_the_kernels_test() ->
    Who = fun(_) -> {ok, self()} end,
    Handler = fun(_, Ctx) -> {ok, beamai_callback:ask_user([], Ctx)} end,
    Tools = [tool(<<"t">>, Handler)],
    ?assertMatch(
        {ok, {ok, Pid}, _} when Pid =:= self(),
        beamai_kernel:invoke(kernel(Tools, #{ask_user => Who}), <<"t">>, #{})
    ),
    ?assertMatch({ok, no_frontend, _}, beamai_kernel:invoke(kernel(Tools), <<"t">>, #{})).

time_of_an_approval_further_down_does_not_count_test() ->
    Approve = fun(_) -> timer:sleep(2500), allow end,
    Inner = tool(<<"inner">>, fun(_) -> {ok, inner} end, #{
        metadata => #{requires_permission => true}
    }),
    Kernel = kernel([Inner], #{approve => Approve}),
    Outer = fun(_) ->
        {ok, Result, _} = beamai_kernel:invoke(Kernel, <<"inner">>, #{}),
        {ok, Result}
    end,
    ?assertMatch({ok, inner, _}, invoke(Outer, #{timeout => 2000})).

%%% Retries

flaky(Failures, Error) ->
    Counter = counters:new(1, []),
    Handler = fun(_) ->
        counters:add(Counter, 1, 1),
        case counters:get(Counter, 1) of
            N when N =< Failures -> Error();
            N -> {ok, N}
        end
    end,
    {Handler, fun() -> counters:get(Counter, 1) end}.

tries(Error) ->
    {Handler, Count} = flaky(2, Error),
    Result = invoke(Handler, #{retry => #{max => 3, delay => 1}, timeout => 300}),
    {Result, Count()}.

what_another_try_can_mend_is_tried_again_test() ->
    [
        ?assertMatch({{ok, 3, _}, 3}, tries(Error))
     || Error <- [
            fun() -> {error, busy} end,
            fun() -> error(crash) end,
            fun() -> forever() end,
            fun() -> {error, #{error_type => execution_failed}} end
        ]
    ].

what_no_try_can_mend_is_not_tried_again_test() ->
    [
        ?assertMatch({{error, #{error_type := Type}}, 1}, tries(fun() -> {error, #{error_type => Type}} end))
     || Type <- [invalid_input, permission_denied, not_found]
    ].

retries_end_after_max_further_tries_test() ->
    {Handler, Count} = flaky(10, fun() -> {error, {still, broken}} end),
    ?assertEqual({error, {still, broken}}, invoke(Handler, #{retry => #{max => 2, delay => 0}})),
    ?assertEqual(3, Count()).

without_a_max_there_is_one_further_try_test() ->
    [
        begin
            {Handler, Count} = flaky(10, fun() -> {error, broken} end),
            ?assertEqual({error, broken}, invoke(Handler, #{retry => Retry})),
            ?assertEqual(2, Count())
        end
     || Retry <- [#{delay => 1}, #{}]
    ].

tries_are_delay_milliseconds_apart_test() ->
    {Handler, _} = flaky(2, fun() -> {error, x} end),
    {Time, {ok, 3, _}} = timer:tc(fun() -> invoke(Handler, #{retry => #{max => 2, delay => 50}}) end),
    ?assert(Time >= 100000).

%%% The caller's death

the_handler_dies_with_its_caller_test() ->
    Me = self(),
    Caller = spawn(fun() -> invoke(fun(_) -> Me ! {handler, self()}, forever() end) end),
    receive
        {handler, Handler} ->
            exit(Caller, kill),
            eventually(fun() -> not is_process_alive(Handler) end)
    end.

handlers_of_handlers_die_with_the_caller_test() ->
    Me = self(),
    Inner = fun(_) -> Me ! {inner, self()}, forever() end,
    Caller = spawn(fun() -> invoke(fun(_) -> Me ! {outer, self()}, invoke(Inner) end) end),
    receive
        {outer, Outer} ->
            receive
                {inner, Handler} ->
                    exit(Caller, kill),
                    eventually(fun() ->
                        not is_process_alive(Outer) andalso not is_process_alive(Handler)
                    end)
            end
    end.

the_handler_dies_with_its_caller_after_a_restart_of_the_guard_test() ->
    Me = self(),
    Caller = spawn(fun() ->
        {ok, 1, _} = invoke(fun(_) -> {ok, 1} end),
        Me ! ready,
        receive
            go -> invoke(fun(_) -> Me ! {handler, self()}, forever() end)
        end
    end),
    receive
        ready -> ok
    end,
    Guard = whereis(beamai_guard),
    exit(Guard, kill),
    eventually(fun() -> is_pid(whereis(beamai_guard)) andalso whereis(beamai_guard) =/= Guard end),
    Caller ! go,
    receive
        {handler, Handler} ->
            exit(Caller, kill),
            eventually(fun() -> not is_process_alive(Handler) end)
    end.

a_handler_under_way_when_the_guard_restarts_dies_with_its_caller_test() ->
    Me = self(),
    Caller = spawn(fun() -> invoke(fun(_) -> Me ! {handler, self()}, forever() end) end),
    receive
        {handler, Handler} ->
            exit(whereis(beamai_guard), kill),
            exit(Caller, kill),
            eventually(fun() -> not is_process_alive(Handler) end)
    end.

a_handler_that_outlives_the_application_dies_with_its_caller_test() ->
    [
        begin
            {Caller, Handlers} = caller_with_handlers(),
            ok = End(),
            ?assert(lists:all(fun is_process_alive/1, Handlers)),
            exit(Caller, kill),
            eventually(fun() -> not lists:any(fun is_process_alive/1, Handlers) end)
        end
     || End <- [fun() -> application:stop(beamai) end, fun kill_the_supervisor/0]
    ],
    running().

a_start_waits_until_what_a_killed_supervisor_left_has_ended_test() ->
    running(),
    Guard = whereis(beamai_guard),
    Me = self(),
    %% It holds the guard up for as long as it lives.
    spawn(fun() -> true = erlang:suspend_process(Guard), Me ! held, timer:sleep(300) end),
    receive
        held -> ok
    end,
    kill_the_supervisor(),
    ?assertEqual(Guard, whereis(beamai_guard)),
    eventually(fun() -> not lists:keymember(beamai, 1, application:which_applications()) end),
    ok = beamai_runtime:ensure_started(),
    ?assertNotEqual(Guard, whereis(beamai_guard)).

%% A caller that waits for a handler, for a worker and for the worker's handler.
caller_with_handlers() ->
    Me = self(),
    Wait = tool(<<"wait">>, fun(_) -> Me ! {handler, self()}, forever() end),
    Both = tool(<<"both">>, fun(_) ->
        Me ! {handler, self()},
        beamai_kernel:invoke_all(kernel([Wait]), [{<<"wait">>, #{}}], #{})
    end),
    Caller = spawn(fun() -> beamai_kernel:invoke(kernel([Both]), <<"both">>, #{}) end),
    Handlers = [receive {handler, Handler} -> Handler end || _ <- [1, 2]],
    {Caller, Handlers}.

%% The application controller learns of the supervisor's death a moment later.
running() ->
    eventually(fun() ->
        ok = beamai_runtime:ensure_started(),
        is_pid(whereis(beamai_sup))
    end).

kill_the_supervisor() ->
    Monitor = erlang:monitor(process, beamai_sup),
    exit(whereis(beamai_sup), kill),
    receive
        {'DOWN', Monitor, process, _, _} -> ok
    end.

the_next_call_works_whatever_was_killed_test() ->
    Call = fun() -> invoke(fun(_) -> {ok, 1} end) end,
    {ok, 1, _} = Call(),
    [
        begin
            Monitor = erlang:monitor(process, Name),
            exit(whereis(Name), kill),
            receive
                {'DOWN', Monitor, process, _, _} -> ok
            end,
            ?assertMatch({ok, 1, _}, Call()),
            ?assertMatch({ok, 1, _}, beamai_test:alone(Call))
        end
     || Name <- [beamai_sup, beamai_guard, beamai_session_sup, beamai_sup]
    ].

a_handler_runs_where_something_can_end_it_test() ->
    {ok, 1, _} = invoke(fun(_) -> {ok, 1} end),
    Gone = persistent_term:get(beamai_guard),
    ok = application:stop(beamai),
    %% As in the moment in which the tables have gone, and nobody has said so yet.
    persistent_term:put(beamai_guard, Gone),
    ?assertMatch({ok, 1, _}, invoke(fun(_) -> {ok, 1} end)),
    ?assertMatch({ok, 1, _}, invoke(fun(_) -> {ok, 1} end)),
    the_handler_dies_with_its_caller_test().

a_call_made_in_a_callback_leaves_the_outer_handler_guarded_test() ->
    Me = self(),
    Caller = spawn(fun() ->
        Ask = fun(_) ->
            {ok, 1, _} = invoke(fun(_) -> {ok, 1} end),
            {ok, answer}
        end,
        Handler = fun(_, Ctx) ->
            {ok, answer} = beamai_callback:ask_user([], Ctx),
            Me ! {handler, self()},
            forever()
        end,
        invoke(Handler, #{}, #{ask_user => Ask})
    end),
    receive
        {handler, Handler} ->
            exit(Caller, kill),
            eventually(fun() -> not is_process_alive(Handler) end)
    end.

an_inner_handler_of_a_callback_dies_with_the_caller_too_test() ->
    Me = self(),
    Caller = spawn(fun() ->
        Ask = fun(_) -> invoke(fun(_) -> Me ! {inner, self()}, forever() end) end,
        Handler = fun(_, Ctx) -> Me ! {outer, self()}, beamai_callback:ask_user([], Ctx) end,
        invoke(Handler, #{}, #{ask_user => Ask})
    end),
    receive
        {outer, Outer} ->
            receive
                {inner, Inner} ->
                    exit(Caller, kill),
                    eventually(fun() ->
                        not is_process_alive(Outer) andalso not is_process_alive(Inner)
                    end)
            end
    end.

nothing_is_left_of_a_caller_that_has_died_test() ->
    Rows = fun(Pid) ->
        ets:match(beamai_handlers, {Pid, '_', '_'}) ++ ets:match(beamai_watched, {{Pid, '_'}, '_'})
    end,
    Caller = spawn(fun() -> invoke(fun(_) -> forever() end, #{}, #{run_id => self()}) end),
    eventually(fun() -> length(Rows(Caller)) =:= 2 end),
    exit(Caller, kill),
    eventually(fun() -> Rows(Caller) =:= [] end),
    eventually(fun() -> ets:lookup(beamai_runs, Caller) =:= [] end).

%%% Cancelling

a_call_is_cancelled_by_its_run_id_test() ->
    Me = self(),
    Caller = spawn(fun() ->
        Result = invoke(
            fun(_) -> Me ! {handler, self()}, forever() end,
            #{retry => #{max => 5, delay => 1}},
            #{run_id => run_1}
        ),
        Me ! {result, Result, beamai_test:mailbox()}
    end),
    receive
        {handler, Handler} -> ok = beamai_kernel:cancel(run_1)
    end,
    receive
        {result, Result, Mailbox} ->
            ?assertMatch(
                {error, #{error_type := execution_failed, details := #{reason := cancelled}}}, Result
            ),
            ?assertEqual([], Mailbox),
            ?assertNot(is_process_alive(Handler)),
            ?assertNot(is_process_alive(Caller))
    after 30000 -> error(not_cancelled)
    end,
    ?assertEqual([], ets:lookup(beamai_runs, run_1)).

waiting_for_the_next_try_is_cancelled_too_test() ->
    Me = self(),
    spawn(fun() ->
        Handler = fun(_) -> Me ! tried, {error, x} end,
        Me ! {result, invoke(Handler, #{retry => #{max => 9, delay => 60000}}, #{run_id => run_2})}
    end),
    receive
        tried -> timer:sleep(20)
    end,
    ok = beamai_kernel:cancel(run_2),
    receive
        {result, Result} -> ?assertMatch({error, #{details := #{reason := cancelled}}}, Result)
    after 30000 -> error(not_cancelled)
    end.

a_cancelled_call_is_not_tried_again_by_a_filter_test() ->
    Me = self(),
    Again = beamai_filter:new(again, fun(Call, Next) ->
        {error, _} = Next(Call),
        Next(Call)
    end),
    Tool = tool(<<"t">>, fun(_) -> Me ! {handler, self()}, forever() end),
    Kernel = beamai_kernel:add_filter(kernel([Tool]), Again),
    spawn(fun() -> Me ! {result, beamai_kernel:invoke(Kernel, <<"t">>, #{}, #{run_id => run_3})} end),
    receive
        {handler, _} -> ok = beamai_kernel:cancel(run_3)
    end,
    receive
        {result, Result} -> ?assertMatch({error, #{details := #{reason := cancelled}}}, Result)
    after 30000 -> error(not_cancelled)
    end.

a_call_cancelled_while_it_is_being_approved_never_runs_test() ->
    Me = self(),
    Approve = fun(_) -> ok = beamai_kernel:cancel(run_5), allow end,
    Tool = tool(<<"t">>, fun(_) -> Me ! ran end, #{metadata => #{requires_permission => true}}),
    Kernel = kernel([Tool], #{approve => Approve}),
    ?assertMatch(
        {error, #{details := #{reason := cancelled}}},
        beamai_kernel:invoke(Kernel, <<"t">>, #{}, #{run_id => run_5})
    ),
    timer:sleep(20),
    ?assertEqual([], beamai_test:mailbox()).

%% The callback runs in the calling process, so the cancellation takes effect when it returns. The caller searches a long
%% mailbox for it, in which time a handler that was answered would continue.
a_handler_gets_no_answer_after_a_cancel_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        File = <<Dir/binary, "/went_on">>,
        Ask = fun(_) -> ok = beamai_kernel:cancel(run_6), {ok, yes} end,
        Handler = fun(_, Context) ->
            Answer = beamai_callback:ask_user([<<"sure?">>], Context),
            ok = file:write_file(File, <<>>),
            {ok, Answer}
        end,
        {Took, Result} = beamai_test:alone(fun() ->
            [self() ! {other, N} || N <- lists:seq(1, 300000)],
            timer:tc(fun() -> invoke(Handler, #{timeout => 60000}, #{ask_user => Ask, run_id => run_6}) end)
        end),
        ?assertMatch({error, #{details := #{reason := cancelled}}}, Result),
        ?assert(Took < 30000000),
        ?assertNot(filelib:is_file(File))
    end).

cancelling_what_does_not_run_does_nothing_test() ->
    {ok, 1, _} = invoke(fun(_) -> {ok, 1} end, #{}, #{run_id => run_4}),
    ok = beamai_kernel:cancel(run_4),
    ok = beamai_kernel:cancel(never_seen),
    {ok, 1, _} = invoke(fun(_) -> {ok, 1} end, #{}, #{run_id => run_4}),
    ?assertEqual([], beamai_test:mailbox()).

%%% Progress

progress_reaches_a_pid_or_a_fun_test() ->
    Handler = fun(_, Ctx) ->
        beamai_callback:progress(#{done => 1}, Ctx),
        {ok, 1}
    end,
    Me = self(),
    {ok, 1, _} = invoke(Handler, #{}, #{progress => Me, run_id => r}),
    receive
        {beamai_progress, r, #{done := 1}} -> ok
    after 30000 -> error(no_progress)
    end,
    {ok, 1, _} = invoke(Handler, #{}, #{progress => fun(P) -> Me ! {P, self()} end}),
    receive
        {#{done := 1}, Pid} -> ?assertEqual(Me, Pid)
    after 30000 -> error(no_progress)
    end.

%%% Many

a_thousand_calls_at_once_finish_test() ->
    Kernel = kernel([tool(<<"t">>, fun(#{n := N}) -> timer:sleep(10), {ok, N} end)]),
    Pids = [
        spawn_monitor(fun() ->
            {ok, N, _} = beamai_kernel:invoke(Kernel, <<"t">>, #{n => N}),
            exit({n, N})
        end)
     || N <- lists:seq(1, 1000)
    ],
    Ns = [
        receive
            {'DOWN', Monitor, process, Pid, {n, N}} -> N
        after 10000 -> error(stuck)
        end
     || {Pid, Monitor} <- Pids
    ],
    ?assertEqual(lists:seq(1, 1000), Ns).

%%% Times beyond what a process can wait

a_timeout_beyond_what_can_be_waited_is_refused_test() ->
    Handler = fun(_) -> {ok, 1} end,
    ?assertMatch({ok, 1, _}, invoke(Handler, #{timeout => 16#FFFFFFFF})),
    ?assertError({invalid_tool, <<"t">>, [_]}, invoke(Handler, #{timeout => 16#100000000})),
    ?assertError({invalid_tool, <<"t">>, [_]}, invoke(Handler, #{retry => #{max => 1, delay => 1 bsl 40}})),
    ?assertError({invalid_tool, <<"t">>, [_]}, invoke(Handler, #{retry => #{dealy => 1}})),
    ?assertError({bad_option, default_timeout}, beamai_kernel:new(#{default_timeout => 1 bsl 40})).

an_argument_timeout_of_any_size_is_answered_test() ->
    Kernel = beamai_kernel:add_tool_module(
        beamai_kernel:new(#{permissions => #{default => allow}, sandbox => best_effort}), beamai_tool_shell
    ),
    Run = fun(Ms) ->
        Args = #{<<"command">> => <<"true">>, <<"timeout">> => Ms},
        beamai_kernel:invoke(Kernel, <<"shell_exec">>, Args, #{session_id => long})
    end,
    [
        ?assertMatch({ok, #{<<"adjusted">> := [<<"timeout is 86400000, the maximum, not ", _/binary>>]}, _}, Run(Ms))
     || Ms <- [1 bsl 32, 1 bsl 40, 1 bsl 63]
    ],
    ?assertMatch({error, #{tool := <<"shell_exec">>, error_type := invalid_input}}, Run(1 bsl 90)),
    beamai_session:close(long).

%% The port program would end at it, and with it the calls of everybody else.
a_call_too_long_for_a_frame_is_refused_before_it_is_sent_test_() ->
    {timeout, 60, fun() ->
        Kernel = beamai_kernel:add_tool_module(
            beamai_kernel:new(#{door => port, permissions => #{default => allow}}), beamai_tool_file
        ),
        {ok, _, _} = beamai_kernel:invoke(Kernel, <<"file_list">>, #{}),
        Owner = whereis(beamai_port),
        Args = #{<<"path">> => <<"x">>, <<"content">> => binary:copy(<<"x">>, 257 bsl 20)},
        ?assertMatch(
            {error, #{error_type := invalid_input, details := #{reason := too_large}}},
            beamai_kernel:invoke(Kernel, <<"file_write">>, Args)
        ),
        ?assertEqual(Owner, whereis(beamai_port))
    end}.

%%% Contexts

a_handlers_context_is_merged_over_the_calls_test() ->
    Given = #{run_id => merged, kept => 1, changed => 1},
    Handler = fun(_, _) -> {ok, done, #{changed => 2, new => 3}} end,
    ?assertEqual({ok, done, Given#{changed => 2, new => 3}}, invoke(Handler, #{}, Given)),
    ?assertEqual({ok, done, Given}, invoke(fun(_) -> {ok, done, #{}} end, #{}, Given)),
    Kernel = kernel([tool(<<"t">>, Handler)]),
    ?assertEqual(
        {[{ok, done}], Given#{changed => 2, new => 3}}, beamai_kernel:invoke_all(Kernel, [{<<"t">>, #{}}], Given)
    ).
