%% Progress reports of calls that are over: those that wait are dropped, so that a slow or endless one keeps no call.
-module(beamai_progress_tests).

-include_lib("eunit/include/eunit.hrl").

%% Runs the call with a progress callback, and returns its outcome and how many reports there were.
counted(Kernel, {Tool, Args}, Callback) ->
    Count = counters:new(1, []),
    Context = #{run_id => over, progress => fun(_) -> ok = counters:add(Count, 1, 1), Callback() end},
    {error, #{details := #{reason := Reason}}} = beamai_kernel:invoke(Kernel, Tool, Args, Context),
    ?assertEqual([], beamai_test:mailbox()),
    {Reason, counters:get(Count, 1)}.

cancel() -> beamai_kernel:cancel(over).

%% Waits, in a callback, for such a message of the call. Only a receive that looks for something fetches what has arrived.
waits(Is) ->
    case lists:any(Is, beamai_test:mailbox()) of
        true -> ok;
        false ->
            receive never -> ok
            after 10 -> waits(Is)
            end
    end.

is_report({_, {callback, _, {progress, _}}}) -> true;
is_report({_, _, {progress, _}}) -> true;
is_report(_) -> false.

is_reply({_, _, {reply, _}}) -> true;
is_reply(_) -> false.

%%% Own tools

reporting(Timeout) -> beamai_test:kernel([beamai_test:tool(<<"reports">>, fun report/2, #{timeout => Timeout})]).

report(Args, Context) ->
    ok = beamai_callback:progress(#{}, Context),
    report(Args, Context).

an_endless_row_of_reports_ends_with_the_time_test() ->
    ?assertMatch({timeout, _}, counted(reporting(100), {<<"reports">>, #{}}, fun() -> ok end)).

the_time_of_a_report_counts_test() ->
    ?assertEqual({timeout, 1}, counted(reporting(100), {<<"reports">>, #{}}, fun() -> timer:sleep(200) end)).

no_report_follows_a_cancellation_test() ->
    ?assertEqual({cancelled, 1}, counted(reporting(60000), {<<"reports">>, #{}}, fun cancel/0)).

%% The reports of one call wait while that of another one is told.
no_report_of_another_call_follows_a_cancellation_test() ->
    Count = counters:new(1, []),
    Cancel = fun(_) ->
        ok = counters:add(Count, 1, 1),
        ok = waits(fun is_report/1),
        cancel()
    end,
    {Results, _} = beamai_kernel:invoke_all(reporting(60000), [{<<"reports">>, #{}}, {<<"reports">>, #{}}], #{run_id => over, progress => Cancel}),
    ?assertMatch([{error, #{details := #{reason := cancelled}}}, {error, #{details := #{reason := cancelled}}}], Results),
    ?assertEqual(1, counters:get(Count, 1)).

%%% Commands

shell() ->
    beamai_kernel:add_tool_module(beamai_kernel:new(#{workspace => "/var/tmp", permissions => #{default => allow}}), beamai_tool_shell).

command(Timeout) -> {<<"shell_exec">>, #{<<"command">> => <<"while :; do echo x; sleep 0.05; done">>, <<"timeout">> => Timeout}}.

reports_of_a_command_do_not_outlast_its_time_test_() ->
    {timeout, 60, fun() -> ?assertEqual({timeout, 1}, counted(shell(), command(1000), fun() -> waits(fun is_reply/1) end)) end}.

reports_of_a_command_do_not_outlast_its_cancellation_test_() ->
    {timeout, 60, fun() ->
        Cancel = fun() -> ok = waits(fun is_report/1), cancel() end,
        ?assertEqual({cancelled, 1}, counted(shell(), command(30000), Cancel))
    end}.
