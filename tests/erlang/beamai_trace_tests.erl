%% The log of calls: what is in it, what it costs to be bounded, totals, and the file.
-module(beamai_trace_tests).

-include_lib("eunit/include/eunit.hrl").

kernel() ->
    beamai_kernel:add_tools(beamai_kernel:new(#{workspace => "/var/tmp", permissions => #{deny => [<<"denied">>]}}), [
        #{name => <<"fine">>, handler => fun(_) -> {ok, 1} end},
        #{name => <<"slow">>, handler => fun(_) -> timer:sleep(20), {ok, 1} end},
        #{name => <<"broken">>, handler => fun(_) -> {error, no} end},
        #{name => <<"denied">>, handler => fun(_) -> {ok, 1} end}
    ]).

traced(Options, Test) ->
    {ok, Trace} = beamai_trace:start_link(Options),
    try Test(Trace) after beamai_trace:stop(Trace) end.

calls_are_kept_with_what_came_of_them_test() ->
    traced(#{}, fun(Trace) ->
        Context = #{agent_id => <<"a">>, session_id => <<"s">>, run_id => make_ref()},
        [beamai_kernel:invoke(kernel(), Name, #{}, Context) || Name <- [<<"fine">>, <<"slow">>, <<"broken">>, <<"denied">>, <<"absent">>]],
        [Fine, Slow, Broken, Denied, Absent] = beamai_trace:entries(Trace),
        ?assertMatch(#{number := 1, kind := tool, name := <<"fine">>, outcome := ok, agent_id := <<"a">>, session_id := <<"s">>, run_id := _}, Fine),
        ?assertNot(is_map_key(input, Fine)),
        #{duration_us := Us, at := At} = Slow,
        ?assert(Us >= 20000 andalso abs(erlang:system_time(microsecond) - At) < 5000000),
        ?assertMatch(#{outcome := error}, Broken),
        ?assertMatch(#{outcome := refused, rule := <<"denied">>, error := <<"permission_denied.", _/binary>>}, Denied),
        ?assertMatch(#{outcome := error, error := <<"not_found.unknown_tool">>}, Absent),
        ?assertEqual([Denied], beamai_trace:entries(Trace, #{outcome => refused})),
        ?assertEqual([Slow], beamai_trace:entries(Trace, #{name => <<"slow">>, kind => tool}))
    end).

an_agents_run_is_whole_test() ->
    traced(#{}, fun(Trace) ->
        Turns = [#{tool_calls => [{<<"fine">>, #{}}], usage => #{input_tokens => 7, output_tokens => 2}}, #{content => <<"ok">>, usage => #{input_tokens => 9, output_tokens => 1}}],
        {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => Turns}), kernel => kernel(), agent_id => <<"me">>}),
        {ok, _, _} = beamai_agent:run(Agent, <<"Go.">>, #{run_id => one}),
        Entries = beamai_trace:entries(Trace, #{run_id => one, agent_id => <<"me">>}),
        ?assertEqual([model, tool, model, agent], [Kind || #{kind := Kind} <- Entries]),
        ?assertMatch([#{call_id := <<"call_1_1">>}], [Entry || #{kind := tool} = Entry <- Entries]),
        #{tools := Tools, models := Models, agents := #{<<"me">> := #{count := 1}}, dropped := 0} = beamai_trace:totals(Trace),
        ?assertMatch(#{<<"fine">> := #{count := 1, errors := 0}}, Tools),
        ?assertMatch([#{count := 2, input_tokens := 16, output_tokens := 3}], maps:values(Models))
    end).

lists_of_an_entry_are_json_test() ->
    traced(#{}, fun(Trace) ->
        {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => [<<"ok">>]}), kernel => kernel()}),
        {ok, _, _} = beamai_agent:run(Agent, <<"Go.">>),
        [Model, _] = beamai_trace:entries(Trace),
        ?assertMatch({ok, #{<<"finish_reasons">> := [<<"end_turn">>]}}, beamai_json:decode(beamai_trace:json(Model)))
    end).

memory_is_bounded_and_totals_are_not_test() ->
    traced(#{max => 10}, fun(Trace) ->
        [{ok, _, _} = beamai_kernel:invoke(kernel(), <<"fine">>, #{}) || _ <- lists:seq(1, 100)],
        ?assertEqual(lists:seq(91, 100), [Number || #{number := Number} <- beamai_trace:entries(Trace)]),
        #{tools := #{<<"fine">> := #{count := 100, p50_us := P50, p99_us := P99, max_us := Max}}} = beamai_trace:totals(Trace),
        ?assert(P50 =< P99 andalso P99 =< Max * 1.04 + 1)
    end).

a_file_has_a_line_for_each_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        File = filename:join(Dir, "calls.jsonl"),
        traced(#{file => File}, fun(_Trace) ->
            [beamai_kernel:invoke(kernel(), <<"fine">>, #{}, #{run_id => make_ref()}) || _ <- lists:seq(1, 5)]
        end),
        {ok, Text} = file:read_file(File),
        Lines = binary:split(string:trim(Text), <<"\n">>, [global]),
        ?assertEqual(5, length(Lines)),
        [?assertMatch({ok, #{<<"name">> := <<"fine">>, <<"outcome">> := <<"ok">>, <<"run_id">> := <<"#Ref", _/binary>>}}, beamai_json:decode(Line)) || Line <- Lines],
        %% Its process ends, and is linked.
        Start = fun() ->
            process_flag(trap_exit, true),
            exit({said, beamai_trace:start_link(#{file => filename:join(Dir, "no/where")})})
        end,
        {_, Monitor} = spawn_monitor(Start),
        receive {'DOWN', Monitor, _, _, Said} -> ?assertEqual({said, {error, enoent}}, Said) end
    end).

callers_never_wait_test() ->
    traced(#{max => 1000}, fun(Trace) ->
        ok = sys:suspend(Trace),
        [{ok, _, _} = beamai_kernel:invoke(kernel(), <<"fine">>, #{}) || _ <- lists:seq(1, 1100)],
        ok = sys:resume(Trace),
        ?assertMatch(#{tools := #{<<"fine">> := #{count := 1100}}, dropped := 0}, beamai_trace:totals(Trace)),
        ?assertEqual(lists:seq(101, 1100), [Number || #{number := Number} <- beamai_trace:entries(Trace)])
    end).

what_the_file_lacks_is_counted_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        File = filename:join(Dir, "calls.jsonl"),
        {ok, Trace} = beamai_trace:start_link(#{file => File, max => 100}),
        ok = sys:suspend(Trace),
        [{ok, _, _} = beamai_kernel:invoke(kernel(), <<"fine">>, #{}) || _ <- lists:seq(1, 150)],
        ok = sys:resume(Trace),
        timer:sleep(200),
        ?assertMatch(#{dropped := Dropped} when Dropped >= 40, beamai_trace:totals(Trace)),
        #{dropped := Dropped} = beamai_trace:totals(Trace),
        ok = beamai_trace:stop(Trace),
        {ok, Text} = file:read_file(File),
        ?assertEqual(150 - Dropped, length(binary:matches(Text, <<"\n">>)))
    end).

many_processes_write_at_once_test_() -> {timeout, 60, fun many_processes_write_at_once/0}.

many_processes_write_at_once() ->
    traced(#{}, fun(Trace) ->
        K = kernel(),
        Call = fun(N) -> {ok, 1, _} = beamai_kernel:invoke(K, <<"fine">>, #{}, #{call_id => N}) end,
        Started = [spawn_monitor(fun() -> [Call({P, N}) || N <- lists:seq(1, 300)] end) || P <- lists:seq(1, 20)],
        [receive {'DOWN', Monitor, _, _, Reason} -> ?assertEqual(normal, Reason) end || {_, Monitor} <- Started],
        Entries = beamai_trace:entries(Trace),
        ?assertEqual(lists:seq(1, 6000), [Number || #{number := Number} <- Entries]),
        ?assertEqual(6000, length(lists:usort([Id || #{call_id := Id} <- Entries]))),
        ?assertMatch(#{tools := #{<<"fine">> := #{count := 6000}}}, beamai_trace:totals(Trace)),
        ?assertEqual(lists:seq(5001, 5010), [Number || #{number := Number} <- beamai_trace:entries_after(Trace, 5000, 10)])
    end).

a_trace_that_stops_in_the_middle_of_a_call_harms_nobody_test() ->
    {ok, Trace} = beamai_trace:start_link(),
    Self = self(),
    spawn_link(fun() -> Self ! beamai_kernel:invoke(kernel(), <<"slow">>, #{}) end),
    timer:sleep(5),
    ok = beamai_trace:stop(Trace),
    receive Answer -> ?assertMatch({ok, 1, _}, Answer) end.

names_and_contents_are_bounded_test_() -> {timeout, 60, fun names_and_contents_are_bounded/0}.

names_and_contents_are_bounded() ->
    traced(#{}, fun(Trace) ->
        [beamai_kernel:invoke(kernel(), <<"none", (integer_to_binary(N))/binary>>, #{}) || N <- lists:seq(1, 1100)],
        #{tools := Tools} = beamai_trace:totals(Trace),
        ?assertEqual(1001, map_size(Tools)),
        ?assertMatch(#{<<"(others)">> := #{count := 100, errors := 100}}, Tools)
    end),
    ok = application:set_env(beamai, telemetry_contents, true),
    ok = beamai_telemetry:refresh(),
    try
        traced(#{}, fun(Trace) ->
            Long = binary:copy(<<"x">>, 200000),
            {ok, 1, _} = beamai_kernel:invoke(kernel(), <<"fine">>, #{<<"long">> => Long}),
            [#{input := Input, output := 1, input_bytes := Bytes}] = beamai_trace:entries(Trace),
            ?assert(Bytes > 200000 andalso byte_size(Input) < 100000),
            ?assertNotEqual(nomatch, string:find(Input, "bytes)"))
        end)
    after
        ok = application:set_env(beamai, telemetry_contents, false),
        ok = beamai_telemetry:refresh()
    end.

%% Entries are written in two ways, as rows of a table or as a few integers; what is read is the same.
all_entries_are_read_alike_test() ->
    traced(#{max => 50}, fun(Trace) ->
        K = kernel(),
        Ids = #{agent_id => <<"a">>, session_id => {s, 1}, run_id => make_ref()},
        Call = fun(Args, Context) -> {ok, 1, _} = beamai_kernel:invoke(K, <<"fine">>, Args, Context) end,
        Call(#{}, #{}),
        %% The tool is known to callers after a while.
        timer:sleep(60),
        Contexts = [Ids, Ids, Ids, #{}, #{}, #{}, #{agent_id => <<"b">>}, Ids, #{agent_id => <<"b">>}, Ids#{call_id => <<"c">>}, Ids#{call_id => <<"c">>}, Ids, Ids, Ids],
        [Call(#{<<"n">> => N}, Context) || {N, Context} <- lists:zip(lists:seq(1, length(Contexts)), Contexts)],
        [_ | Entries] = beamai_trace:entries(Trace),
        ?assertEqual(Contexts, [maps:with([agent_id, session_id, run_id, call_id], Entry) || Entry <- Entries]),
        ?assertEqual([erlang:external_size(#{<<"n">> => N}) || N <- lists:seq(1, length(Contexts))], [Bytes || #{input_bytes := Bytes} <- Entries]),
        Now = erlang:system_time(microsecond),
        [?assert(abs(Now - At) < 5000000 andalso Us < 5000000 andalso Out > 0) || #{at := At, duration_us := Us, output_bytes := Out} <- Entries],
        ?assertEqual(lists:sort([At || #{at := At} <- Entries]), [At || #{at := At} <- Entries]),
        ?assertEqual(Entries, beamai_trace:entries_after(Trace, 1, 100)),
        %% Several laps of the array.
        [Call(#{}, Ids) || _ <- lists:seq(1, 9000)],
        ?assertEqual(lists:seq(8966, 9015), [Number || #{number := Number, run_id := _} <- beamai_trace:entries(Trace)]),
        ?assertMatch(#{tools := #{<<"fine">> := #{count := 9015}}}, beamai_trace:totals(Trace)),
        %% Arguments that are too large to be counted in an array.
        Call(#{<<"n">> => binary:copy(<<"x">>, 40000000)}, Ids),
        ?assertMatch(#{input_bytes := Bytes} when Bytes > 40000000, lists:last(beamai_trace:entries(Trace)))
    end).

many_processes_come_and_go_test_() -> {timeout, 60, fun many_processes_come_and_go/0}.

many_processes_come_and_go() ->
    traced(#{}, fun(Trace) ->
        K = kernel(),
        Call = fun(N) -> [{ok, 1, _} = beamai_kernel:invoke(K, <<"fine">>, #{}, #{session_id => N}) || _ <- [1, 2, 3, 4]] end,
        Call(0),
        timer:sleep(60),
        %% More than there are numbers for their ids.
        [begin {_, Monitor} = spawn_monitor(fun() -> Call(N) end), receive {'DOWN', Monitor, _, _, Why} -> ?assertEqual(normal, Why) end end || N <- lists:seq(1, 5000)],
        Wanted = lists:sort(lists:append([lists:duplicate(4, N) || N <- lists:seq(2501, 5000)])),
        ?assertEqual(Wanted, [Id || #{session_id := Id} <- beamai_trace:entries(Trace)]),
        %% Those of the dead are used again when none of their entries is left.
        Trace ! sweep,
        [Call(N) || N <- lists:seq(5001, 8000)],
        Trace ! sweep,
        [Call(N) || N <- lists:seq(8001, 9000)],
        ?assertEqual(lists:sort(lists:append([lists:duplicate(4, N) || N <- lists:seq(6501, 9000)])), [Id || #{session_id := Id} <- beamai_trace:entries(Trace)])
    end).

totals_are_exact_while_many_processes_overwrite_entries_test_() -> {timeout, 60, fun totals_are_exact_while_many_processes_overwrite_entries/0}.

totals_are_exact_while_many_processes_overwrite_entries() ->
    traced(#{max => 100}, fun(Trace) ->
        K = kernel(),
        Call = fun(Context) -> {ok, 1, _} = beamai_kernel:invoke(K, <<"fine">>, #{}, Context) end,
        Call(#{}),
        timer:sleep(60),
        Started = [spawn_monitor(fun() -> [Call(#{run_id => {P, N div 100}}) || N <- lists:seq(0, 1999)] end) || P <- lists:seq(1, 10)],
        [receive {'DOWN', Monitor, _, _, Reason} -> ?assertEqual(normal, Reason) end || {_, Monitor} <- Started],
        ?assertMatch(#{tools := #{<<"fine">> := #{count := 20001, errors := 0}}, dropped := 0}, beamai_trace:totals(Trace)),
        Entries = beamai_trace:entries(Trace),
        ?assertEqual(lists:seq(19902, 20001), [Number || #{number := Number} <- Entries]),
        [?assertMatch({P, Part} when P =< 10 andalso Part < 20, Run) || #{run_id := Run} <- Entries]
    end).

a_process_is_known_to_several_traces_test() ->
    traced(#{}, fun(One) ->
        traced(#{}, fun(Other) ->
            K = kernel(),
            Call = fun(N) -> {ok, 1, _} = beamai_kernel:invoke(K, <<"fine">>, #{}, #{session_id => N}) end,
            Call(0),
            timer:sleep(60),
            Sessions = [N || N <- lists:seq(1, 20), _ <- lists:seq(1, 5)],
            lists:foreach(Call, Sessions),
            [?assertEqual([0 | Sessions], [Id || #{session_id := Id} <- beamai_trace:entries(Trace)]) || Trace <- [One, Other]]
        end)
    end).

a_process_forgets_traces_that_have_ended_test() ->
    K = kernel(),
    Call = fun(_Trace) -> {ok, 1, _} = beamai_kernel:invoke(K, <<"fine">>, #{}) end,
    %% The tool is known to a trace after its first call.
    Calls = fun(Trace) -> Call(Trace), timer:sleep(60), Call(Trace) end,
    lists:foreach(fun(_) -> traced(#{}, Calls) end, lists:seq(1, 4)),
    ?assertEqual(1, map_size(get('$beamai_trace'))).

durations_are_counted_in_buckets_test() ->
    Total = fun(Durations) ->
        {new, _, Cells} = beamai_trace_sums:find({tool, <<"a">>}, beamai_trace_sums:new_table()),
        lists:foreach(fun(Us) -> ok = beamai_trace_sums:count(Cells, Us) end, Durations),
        beamai_trace_sums:total(Cells)
    end,
    ?assertMatch(#{count := 0, p50_us := 0, max_us := 0}, Total([])),
    %% Short ones exactly.
    [?assertMatch(#{count := 2, p50_us := Us, p99_us := Us, max_us := Us}, Total([Us, Us])) || Us <- lists:seq(0, 32)],
    ?assertMatch(#{count := 4, p50_us := 7, p99_us := 31, max_us := 31}, Total([31, 7, 3, 9])),
    %% Longer ones about, and the longest exactly.
    lists:foreach(
        fun(Us) ->
            #{count := 3, p50_us := P50, p99_us := P99, max_us := Us} = Total([Us, 1, Us]),
            ?assertEqual(P50, P99),
            ?assert(abs(P50 - Us) =< 1 + Us * 0.02)
        end,
        [33, 40, 99, 1000, 12345, 2000000, 1 bsl 39]
    ),
    ?assertMatch(#{count := 1, max_us := Us} when Us =:= 1 bsl 50, Total([1 bsl 50])).

%%% Calls under way

slow() ->
    beamai_kernel:add_tool(kernel(), #{name => <<"wait">>, handler => fun(#{<<"for">> := Pid}, _) -> Pid ! {waits, self()}, receive go -> {ok, 1} end end}).

%% Calls the tool in a process of its own, until the tool is told to go.
waiting(Context) ->
    Self = self(),
    Caller = spawn(fun() -> Self ! {answer, beamai_kernel:invoke(slow(), <<"wait">>, #{<<"for">> => Self}, Context)} end),
    receive {waits, Handler} -> {Caller, Handler} end.

calls_of_agents_are_shown_while_they_run_test() ->
    traced(#{}, fun(Trace) ->
        Self = self(),
        Wait = {<<"wait">>, #{<<"for">> => Self}},
        {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => [#{tool_calls => [Wait]}, <<"ok">>]}), kernel => slow(), agent_id => <<"me">>}),
        spawn_link(fun() -> {ok, _, _} = beamai_agent:run(Agent, <<"Go.">>, #{run_id => one}), Self ! done end),
        Handler = receive {waits, Pid} -> Pid end,
        timer:sleep(30),
        [#{kind := agent, name := <<"me">>, run_id := one, id := Run, at := At}, #{kind := tool, name := <<"wait">>, call_id := <<"call_1_1">>, duration_us := Us, at := Later} = Call] =
            beamai_trace:running(Trace),
        ?assert(Us >= 30000 andalso Later >= At),
        ?assertMatch(#{outcome := running}, Call),
        ?assertMatch([#{id := Run}, #{duration_us := More}] when More > Us, beamai_trace:running(Trace)),
        Handler ! go,
        receive done -> ok end,
        ?assertEqual([], beamai_trace:running(Trace)),
        %% The entry has the same start.
        ?assertMatch([#{at := Later}], beamai_trace:entries(Trace, #{name => <<"wait">>}))
    end).

other_calls_are_shown_while_somebody_watches_test() ->
    traced(#{}, fun(Trace) ->
        {_, Before} = waiting(#{}),
        ?assertEqual([], beamai_trace:running(Trace)),
        Self = self(),
        Watcher = spawn_link(fun() -> ok = beamai_trace:watch(Trace), Self ! watches, receive stop -> ok end end),
        receive watches -> ok end,
        {Caller, _} = waiting(#{session_id => s}),
        {_, Handler} = waiting(#{session_id => t}),
        ?assertMatch([#{name := <<"wait">>, session_id := s}, #{session_id := t}], beamai_trace:running(Trace)),
        %% A call whose caller has died has ended, and left nothing.
        exit(Caller, kill),
        beamai_test:eventually(fun() -> length(beamai_trace:running(Trace)) =:= 1 end),
        Trace ! sweep,
        [H ! go || H <- [Before, Handler]],
        [receive {answer, Answer} -> ?assertMatch({ok, 1, _}, Answer) end || _ <- [1, 2]],
        ?assertEqual([], beamai_trace:running(Trace)),
        %% Nobody watches any more.
        Watcher ! stop,
        timer:sleep(500),
        {_, After} = waiting(#{}),
        ?assertEqual([], beamai_trace:running(Trace)),
        After ! go,
        receive {answer, _} -> ok end,
        ?assertMatch(#{tools := #{<<"wait">> := #{count := 3}}}, beamai_trace:totals(Trace))
    end).

options_are_checked_test() ->
    [?assertError({bad_option, Key}, beamai_trace:start_link(#{Key => Value})) || {Key, Value} <- [{max, 0}, {file, 1}, {colour, red}]].

%% The largest value of each part of a short row, one more, and the largest of a long one.
rows_of_any_size_are_read_as_they_were_written_test() ->
    Rows = beamai_trace_rows:new(10, atomics:new(1, [])),
    Start = erlang:convert_time_unit(os:perf_counter(), perf_counter, microsecond),
    Short = {(1 bsl 14) - 1, 127, 1023, 1023, 1023},
    Above = [setelement(N, Short, element(N, Short) + 1) || N <- [1, 2, 3, 4, 5]],
    All = [{0, 0, 0, 0, 0}, Short, {(1 bsl 31) - 1, 255, 4095, (1 bsl 25) - 1, (1 bsl 25) - 1} | Above],
    [?assert(beamai_trace_rows:write(Start, Us, Tool, Ids, In, Out, Rows)) || {Us, Tool, Ids, In, Out} <- All],
    ?assertEqual(
        [{Start, {Us, Tool, Ids}, {In, Out}} || {Us, Tool, Ids, In, Out} <- All],
        [beamai_trace_rows:read(N, Rows) || N <- lists:seq(1, length(All))]
    ),
    ?assertNot(beamai_trace_rows:write(Start, 1 bsl 31, 0, 0, 0, 0, Rows)),
    ?assertNot(beamai_trace_rows:write(Start, 0, 0, 0, 1 bsl 25, 0, Rows)),
    ?assertEqual(none, beamai_trace_rows:read(length(All) + 1, Rows)).

sizes_are_those_of_the_external_format_test() ->
    {ok, Trace} = beamai_trace:start_link(),
    K = beamai_kernel:add_tool(beamai_kernel:new(#{permissions => #{default => allow}}), #{
        name => <<"echo">>, handler => fun(#{<<"value">> := Value}, _) -> {ok, Value}; (#{}, _) -> {ok, none} end
    }),
    Values = [<<>>, <<"text">>, #{}, [1, 2], #{<<"a">> => 1}],
    %% The first call makes the tool known to the callers.
    {ok, _, _} = beamai_kernel:invoke(K, <<"echo">>, #{}),
    timer:sleep(100),
    [{ok, Value, _} = beamai_kernel:invoke(K, <<"echo">>, #{<<"value">> => Value}) || Value <- Values],
    {ok, none, _} = beamai_kernel:invoke(K, <<"echo">>, #{}),
    [_ | Entries] = beamai_trace:entries(Trace),
    ?assertEqual(
        [{erlang:external_size(#{<<"value">> => Value}), erlang:external_size(Value)} || Value <- Values] ++
            [{erlang:external_size(#{}), erlang:external_size(none)}],
        [{In, Out} || #{input_bytes := In, output_bytes := Out} <- Entries]
    ),
    ok = beamai_trace:stop(Trace).
