%% The filters that come with the library.
-module(beamai_filters_tests).

-include_lib("eunit/include/eunit.hrl").

%% A tool that counts how often it ran, around which a filter is put.
counting(Name) ->
    Self = self(),
    beamai_test:tool(Name, fun(Args) -> Self ! ran, {ok, Args} end).

with(Filter) -> with(Filter, [counting(<<"t">>)]).

with(Filter, Tools) -> beamai_kernel:add_filter(beamai_test:kernel(Tools), Filter).

ran() ->
    receive
        ran -> 1 + ran()
    after 0 -> 0
    end.

call(Kernel, Args) -> beamai_kernel:invoke(Kernel, <<"t">>, Args, #{session_id => s}).

%%% Cache

%% Files that changed long ago.
old(File) ->
    ok = file:write_file(File, "one"),
    timer:sleep(2100).

a_result_is_given_again_until_the_file_changes_test_() ->
    {timeout, 30, fun() ->
        beamai_test:in_workspace(fun(Dir) ->
            File = filename:join(Dir, "a"),
            old(File),
            Kernel = beamai_kernel:add_filter(
                beamai_kernel:add_tool_module(beamai_kernel:new(#{workspace => Dir}), beamai_tool_file),
                beamai_filters:cache(#{tools => [<<"file_read">>], workspace => Dir})
            ),
            Self = self(),
            Counted = beamai_kernel:add_filter(Kernel, beamai_filter:new(count, fun(Call, Next) -> Self ! ran, Next(Call) end)),
            Read = fun(Context) ->
                {ok, #{<<"content">> := Text}, _} = beamai_kernel:invoke(Counted, <<"file_read">>, #{<<"path">> => <<"a">>}, Context),
                {string:trim(Text), ran()}
            end,
            ?assertEqual({<<"one">>, 1}, Read(#{session_id => s})),
            ?assertEqual({<<"one">>, 0}, Read(#{session_id => s})),
            %% Another session has not read it.
            ?assertEqual({<<"one">>, 1}, Read(#{session_id => other})),
            %% Changed from outside, to the same size: not given again, and too fresh to be kept.
            ok = file:write_file(File, "two"),
            ?assertEqual({<<"two">>, 1}, Read(#{session_id => s})),
            ?assertEqual({<<"two">>, 1}, Read(#{session_id => s})),
            timer:sleep(2100),
            ?assertEqual({<<"two">>, 1}, Read(#{session_id => s})),
            ?assertEqual({<<"two">>, 0}, Read(#{session_id => s})),
            %% What its handler changed in a context stays with the call that ran.
            {ok, _, Context} = beamai_kernel:invoke(Counted, <<"file_read">>, #{<<"path">> => <<"a">>}, #{session_id => s, mine => 1}),
            ?assertMatch(#{mine := 1}, Context)
        end)
    end}.

what_is_about_no_file_is_kept_for_a_while_only_test() ->
    Kept = with(beamai_filters:cache(#{tools => [<<"t">>], ttl => 100})),
    {ok, _, _} = call(Kept, #{}),
    {ok, _, _} = call(Kept, #{}),
    ?assertEqual(1, ran()),
    timer:sleep(120),
    {ok, _, _} = call(Kept, #{}),
    ?assertEqual(1, ran()),
    Always = with(beamai_filters:cache(#{tools => [<<"t">>]})),
    [{ok, _, _} = call(Always, #{}) || _ <- [1, 2]],
    ?assertEqual(2, ran()),
    Other = with(beamai_filters:cache(#{tools => [<<"else">>], ttl => 1000})),
    [{ok, _, _} = call(Other, #{}) || _ <- [1, 2]],
    ?assertEqual(2, ran()).

%%% Repetitions and limits

a_call_that_was_just_made_is_not_made_again_test() ->
    Kernel = with(beamai_filters:debounce(#{window => 100})),
    [?assertMatch({ok, #{<<"a">> := 1}, _}, call(Kernel, #{<<"a">> => 1})) || _ <- [1, 2, 3]],
    ?assertEqual(1, ran()),
    {ok, #{<<"a">> := 2}, _} = call(Kernel, #{<<"a">> => 2}),
    ?assertEqual(1, ran()),
    timer:sleep(120),
    {ok, _, _} = call(Kernel, #{<<"a">> => 1}),
    ?assertEqual(1, ran()),
    Self = self(),
    Failing = with(beamai_filters:debounce(#{}), [beamai_test:tool(<<"t">>, fun(_) -> Self ! ran, {error, no} end)]),
    [?assertEqual({error, no}, call(Failing, #{})) || _ <- [1, 2]],
    ?assertEqual(1, ran()).

calls_that_are_too_fast_are_refused_with_the_time_to_wait_test() ->
    Kernel = with(beamai_filters:rate_limit(#{calls => 3, per => 60000})),
    Results = [call(Kernel, #{}) || _ <- lists:seq(1, 8)],
    %% A window may end in between.
    ?assert(ran() =< 6),
    {error, #{error_type := execution_failed, details := #{reason := busy, retry_after_ms := Left}}} = lists:last(Results),
    ?assert(Left > 0 andalso Left =< 60000),
    Fast = with(beamai_filters:rate_limit(#{calls => 2, per => 50})),
    [call(Fast, #{}) || _ <- lists:seq(1, 3)],
    timer:sleep(60),
    ?assertMatch({ok, _, _}, call(Fast, #{})),
    _ = ran(),
    Free = with(beamai_filters:rate_limit(#{calls => 1, per => 60000, tools => [<<"else">>]})),
    [{ok, _, _} = call(Free, #{}) || _ <- [1, 2]],
    ?assertEqual(2, ran()).

a_run_has_so_many_calls_test() ->
    Kernel = with(beamai_filters:call_limit(#{calls => 2})),
    In = fun(Context) -> beamai_kernel:invoke(Kernel, <<"t">>, #{}, Context) end,
    [{ok, _, _} = In(#{run_id => R}) || R <- [1, 2], _ <- [1, 2]],
    {error, #{error_type := permission_denied, message := Message}} = In(#{run_id => 1}),
    ?assertNotEqual(nomatch, string:find(Message, "made all of its 2 calls")),
    ?assertEqual(4, ran()),
    Session = with(beamai_filters:call_limit(#{calls => 2, per => session})),
    [{ok, _, _} = beamai_kernel:invoke(Session, <<"t">>, #{}, #{session_id => s, run_id => R}) || R <- [1, 2]],
    ?assertMatch({error, _}, beamai_kernel:invoke(Session, <<"t">>, #{}, #{session_id => s, run_id => 3})),
    ?assertEqual(2, ran()).

limits_hold_for_calls_at_once_test() ->
    Kernel = with(beamai_filters:call_limit(#{calls => 5})),
    {Results, _} = beamai_kernel:invoke_all(Kernel, [{<<"t">>, #{}} || _ <- lists:seq(1, 20)], #{run_id => once}),
    ?assertEqual(5, length([ok || {ok, _} <- Results])),
    ?assertEqual(5, ran()).

%%% Audit

each_call_is_told_without_its_contents_test() ->
    Self = self(),
    Note = fun(Entry) -> Self ! {audit, Entry} end,
    Entry = fun() -> receive {audit, E} -> E end end,
    Fail = beamai_test:tool(<<"fail">>, fun(_) -> error(boom) end),
    Kernel = with(beamai_filters:audit(#{to => Note}), [counting(<<"t">>), Fail]),
    {ok, _, _} = beamai_kernel:invoke(Kernel, <<"t">>, #{<<"a">> => 1}, #{run_id => r, agent_id => a}),
    Told = Entry(),
    ?assertMatch(#{tool := <<"t">>, outcome := ok, run_id := r, agent_id := a, at := _, duration_us := _}, Told),
    ?assertEqual([], [Key || Key <- [args, result], is_map_key(Key, Told)]),
    ok = logger:set_primary_config(level, none),
    {error, _} = beamai_kernel:invoke(Kernel, <<"fail">>, #{}),
    ok = logger:set_primary_config(level, notice),
    ?assertMatch(#{outcome := execution_failed}, Entry()),
    Full = with(beamai_filters:audit(#{to => Note, contents => true})),
    {ok, _, _} = call(Full, #{<<"a">> => 1}),
    ?assertMatch(#{args := #{<<"a">> := 1}, result := #{<<"a">> := 1}}, Entry()),
    Raising = with(beamai_filters:audit(#{to => fun(_) -> error(oops) end})),
    ok = logger:set_primary_config(level, none),
    ?assertMatch({ok, _, _}, call(Raising, #{})),
    ok = logger:set_primary_config(level, notice).

%%% Texts

secrets_are_taken_out_test() ->
    Kernel = with(beamai_filters:redact(#{})),
    Long = fun(Prefix, Count) -> <<Prefix/binary, (binary:copy(<<"aB3d">>, Count))/binary>> end,
    Secrets = [
        Long(<<"sk-ant-">>, 6), Long(<<"ghp_">>, 9), <<"AKIAIOSFODNN7EXAMPLE">>, Long(<<"xoxb-">>, 4), Long(<<"glpat-">>, 5),
        <<"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P">>,
        <<"-----BEGIN RSA PRIVATE KEY-----\nMIIB\nAAAA\n-----END RSA PRIVATE KEY-----">>, <<"Bearer abcdefghijklmnop1234">>
    ],
    [
        begin
            {ok, #{<<"out">> := [#{<<"line">> := Line}], <<"n">> := 1}, _} =
                call(Kernel, #{<<"out">> => [#{<<"line">> => <<"key: ", Secret/binary, " end">>}], <<"n">> => 1}),
            ?assertEqual(<<"key: *** end">>, Line)
        end
     || Secret <- Secrets
    ],
    Plain = [<<"sk-short">>, <<"a task-oriented-approach-to-things">>, <<"Grüße"/utf8>>, <<255, 0>>],
    [?assertMatch({ok, #{<<"a">> := Text}, _}, call(Kernel, #{<<"a">> => Text})) || Text <- Plain],
    Failing = with(beamai_filters:redact(#{patterns => ["pin [0-9]+"]}), [
        beamai_test:tool(<<"t">>, fun(_) -> {error, {bad, <<"the pin 1234 is wrong">>}} end)
    ]),
    ?assertEqual({error, {bad, <<"the *** is wrong">>}}, call(Failing, #{})).

a_long_result_is_cut_where_it_is_longest_test() ->
    Kernel = with(beamai_filters:result_budget(#{bytes => 5000})),
    Big = binary:copy(<<"ä"/utf8>>, 50000),
    {ok, #{<<"short">> := <<"stays">>, <<"long">> := Cut, <<"list">> := [Also]} = Result, _} =
        call(Kernel, #{<<"short">> => <<"stays">>, <<"long">> => Big, <<"list">> => [Big]}),
    ?assert(byte_size(Cut) + byte_size(Also) =< 5000),
    ?assert(byte_size(Cut) > 1000),
    ?assertNotEqual(nomatch, binary:match(Cut, <<"bytes more)">>)),
    ?assertMatch({ok, _}, beamai_json:encode(Result)),
    Small = #{<<"a">> => <<"b">>},
    ?assertMatch({ok, Small, _}, call(Kernel, Small)).

options_are_checked_test() ->
    [
        ?assertError({bad_option, Key}, beamai_filters:Filter(Options))
     || {Filter, Key, Options} <- [
            {cache, tools, #{}}, {cache, other, #{tools => [], other => 1}}, {debounce, tool, #{tool => 1}},
            {rate_limit, calls, #{calls => 1}}, {rate_limit, calls, #{calls => 0, per => 1}}, {call_limit, calls, #{}},
            {call_limit, per, #{calls => 1, per => day}}, {audit, to, #{}}, {redact, patterns, #{patterns => ["("]}},
            {result_budget, bytes, #{bytes => 0}}, {redact, options, []}
        ]
    ],
    K = beamai_kernel:add_filter(beamai_kernel:new(), beamai_filters:call_limit(#{calls => 1})),
    _ = beamai_kernel:add_filter(K, beamai_filters:call_limit(#{calls => 1, name => other})).
