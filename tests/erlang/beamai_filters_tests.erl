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
    Kept = with(beamai_filters:cache(#{tools => [<<"t">>], ttl => 2000})),
    {ok, _, _} = call(Kept, #{}),
    {ok, _, _} = call(Kept, #{}),
    ?assertEqual(1, ran()),
    timer:sleep(2100),
    {ok, _, _} = call(Kept, #{}),
    ?assertEqual(1, ran()),
    Always = with(beamai_filters:cache(#{tools => [<<"t">>]})),
    [{ok, _, _} = call(Always, #{}) || _ <- [1, 2]],
    ?assertEqual(2, ran()),
    Other = with(beamai_filters:cache(#{tools => [<<"else">>], ttl => 1000})),
    [{ok, _, _} = call(Other, #{}) || _ <- [1, 2]],
    ?assertEqual(2, ran()).

%%% Batches

%% How often the tool ran, and the results of calls that a filter joins.
joined(Calls) -> joined(Calls, #{}).

joined(Calls, Context) ->
    {Results, After} = beamai_kernel:invoke_all(with(beamai_filters:batch(#{tools => [<<"t">>]})), [{<<"t">>, Args} || Args <- Calls], Context),
    {ran(), Results, After}.

the_same_calls_of_a_batch_have_one_run_test() ->
    [A, B] = [#{<<"x">> => N} || N <- [1, 2]],
    ?assertEqual({2, [{ok, A}, {ok, B}, {ok, A}, {ok, A}], #{own => 1}}, joined([A, B, A, A], #{own => 1})),
    ?assertEqual({1, [{ok, A}], #{}}, joined([A])),
    ?assertMatch({2, _, _}, joined([#{<<"x">> => list_to_float(X)} || X <- ["0.0", "-0.0", "0.0"]])),
    %% More of them than run at once.
    Many = [#{<<"x">> => N rem 60} || N <- lists:seq(1, 600)],
    ?assertEqual({60, [{ok, Each} || Each <- Many], #{}}, joined(Many)),
    %% Calls that are not made together do not share anything, and neither do other tools.
    K = with(beamai_filters:batch(#{tools => [<<"t">>]}), [counting(<<"t">>), counting(<<"u">>)]),
    [{ok, A, _} = call(K, A) || _ <- [1, 2]],
    ?assertEqual(2, ran()),
    {[{ok, A}, {ok, A}], _} = beamai_kernel:invoke_all(K, [{<<"u">>, A}, {<<"u">>, A}], #{}),
    ?assertEqual(2, ran()),
    ?assertError({bad_option, tools}, beamai_filters:batch(#{})),
    ?assertError({bad_option, window}, beamai_filters:batch(#{tools => [], window => 1})).

%% Inner filters and errors are those of each call; what a run changed in the context each call has changed.
joined_calls_stay_calls_of_their_own_test() ->
    Self = self(),
    Tools = [
        beamai_test:tool(<<"t">>, fun(#{<<"x">> := X}) -> Self ! ran, {error, {no, X}} end),
        #{name => <<"u">>, handler => fun(_, #{own := Own}) -> Self ! ran, {ok, Own, #{seen => Own}} end},
        beamai_test:tool(<<"slow">>, fun(_) -> timer:sleep(30), {ok, slow} end)
    ],
    Seen = beamai_filter:new(seen, fun(#{tool := Tool} = Call, Next) -> Self ! {through, Tool}, Next(Call) end),
    K = beamai_kernel:add_filter(with(beamai_filters:batch(#{tools => [<<"t">>, <<"u">>]}), Tools), Seen),
    T = {<<"t">>, #{<<"x">> => 1}},
    {Results, Context} = beamai_kernel:invoke_all(K, [T, {<<"u">>, #{}}, {<<"slow">>, #{}}, T, {<<"u">>, #{}}], #{own => 7}),
    ?assertEqual([{error, {no, 1}}, {ok, 7}, {ok, slow}, {error, {no, 1}}, {ok, 7}], Results),
    ?assertEqual(#{own => 7, seen => 7}, Context),
    ?assertEqual(2, ran()),
    ?assertEqual(5, length([Tool || Tool <- through()])),
    %% A filter that changes the arguments after the calls were joined decides what they are.
    Turns = counters:new(1, []),
    Own = beamai_filter:new(own, fun(Call, Next) -> counters:add(Turns, 1, 1), Next(Call#{args := #{<<"n">> => counters:get(Turns, 1)}}) end),
    K2 = beamai_kernel:add_filter(with(beamai_filters:batch(#{tools => [<<"t">>]})), Own),
    ?assertMatch({[{ok, #{<<"n">> := 1}}, {ok, #{<<"n">> := 2}}], _}, beamai_kernel:invoke_all(K2, [T, T], #{})),
    ?assertEqual(2, ran()).

through() ->
    receive
        {through, Tool} -> [Tool | through()]
    after 0 -> []
    end.

joined_calls_end_with_their_run_test() ->
    Self = self(),
    Cancels = spawn_link(fun() -> receive runs -> beamai_kernel:cancel(joined) end end),
    K = with(beamai_filters:batch(#{tools => [<<"t">>]}), [beamai_test:tool(<<"t">>, fun(_) -> Self ! ran, Cancels ! runs, timer:sleep(10000), {ok, 1} end)]),
    {[{error, #{details := #{reason := cancelled}}}, {error, #{details := #{reason := cancelled}}}], _} =
        beamai_kernel:invoke_all(K, [{<<"t">>, #{}}, {<<"t">>, #{}}], #{run_id => joined}),
    ?assertEqual(1, ran()).

%% Whatever lines are read together, each call has the result that it would have had alone.
ranges_of_a_file_are_read_at_once_test_() -> {timeout, 60, fun ranges_of_a_file_are_read_at_once/0}.

ranges_of_a_file_are_read_at_once() ->
    beamai_test:in_workspace(fun(Dir) ->
        Files = #{
            <<"plain">> => lines(9000, "\n"), <<"crlf">> => lines(300, "\r\n"), <<"cr">> => lines(50, "\r"), <<"open">> => [lines(20, "\n"), "no end"],
            <<"mixed">> => "one\r\ntwo\nthree\rfour\n\nsix", <<"empty">> => "", <<"accents">> => unicode:characters_to_binary(lines(30, " \x{e9}\x{20ac}\n")),
            <<"latin">> => lines(30, [16#e9, $\n]), <<"wide">> => [lists:duplicate(20000, $x), "\n", lines(20, "\n")]
        },
        maps:foreach(fun(Name, Text) -> ok = file:write_file(filename:join(Dir, Name), Text) end, Files),
        K = beamai_kernel:add_tool_module(beamai_kernel:new(#{workspace => Dir}), beamai_tool_file),
        Batch = beamai_kernel:add_filter(K, beamai_filters:batch(#{tools => [<<"file_read">>]})),
        Sets = [[maps:merge(#{<<"path">> => Path}, some_range()) || _ <- lists:seq(1, 12), Path <- some(maps:keys(Files))] || _ <- lists:seq(1, 40)],
        [begin
            {Results, _} = beamai_kernel:invoke_all(Batch, [{<<"file_read">>, Args} || Args <- Set], #{}),
            [?assertEqual({Args, alone(K, Args)}, {Args, Result}) || {Args, Result} <- lists:zip(Set, Results)]
        end || Set <- Sets]
    end).

lines(Count, End) -> [[integer_to_list(N), End] || N <- lists:seq(1, Count)].

some(List) -> [Each || Each <- List, rand:uniform(3) =:= 1].

some_range() ->
    Offset = lists:nth(rand:uniform(5), [rand:uniform(40), rand:uniform(9200), -rand:uniform(30), 0, 1]),
    element(rand:uniform(4), {#{<<"offset">> => Offset, <<"limit">> => rand:uniform(60)}, #{<<"offset">> => Offset}, #{<<"offset">> => Offset, <<"limit">> => rand:uniform(6000)}, #{}}).

alone(K, Args) ->
    case beamai_kernel:invoke(K, <<"file_read">>, Args) of
        {ok, Read, _} -> {ok, Read};
        {error, _} = Error -> Error
    end.

reads_that_are_joined_are_asked_about_once_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        ok = file:write_file(filename:join(Dir, "a"), lines(9, "\n")),
        Self = self(),
        Options = #{workspace => Dir, permissions => #{ask => [<<"Read(a)">>]}, approve => fun(_) -> Self ! asked, deny end},
        K = beamai_kernel:add_filter(
            beamai_kernel:add_tool_module(beamai_kernel:new(Options), beamai_tool_file),
            beamai_filters:batch(#{tools => [<<"file_read">>]})
        ),
        Reads = [{<<"file_read">>, #{<<"path">> => <<"a">>, <<"offset">> => N, <<"limit">> => 2}} || N <- [1, 3, 5]],
        {Results, _} = beamai_kernel:invoke_all(K, Reads, #{}),
        [?assertMatch({error, #{error_type := permission_denied}}, Result) || Result <- Results],
        ?assertEqual([asked], beamai_test:mailbox())
    end).

reads_that_are_joined_are_one_native_call_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        ok = file:write_file(filename:join(Dir, "a"), lines(1000, "\n")),
        Asked = counters:new(1, []),
        K = beamai_kernel:add_filter(
            beamai_kernel:add_tool_module(
                beamai_kernel:new(#{workspace => Dir, permissions => #{ask => [<<"Read">>]}, approve => fun(_) -> counters:add(Asked, 1, 1), allow end}),
                beamai_tool_file
            ),
            beamai_filters:batch(#{tools => [<<"file_read">>]})
        ),
        Calls = [{<<"file_read">>, #{<<"path">> => <<"a">>, <<"offset">> => N, <<"limit">> => 10}} || N <- lists:seq(1, 500, 50)],
        {Results, _} = beamai_kernel:invoke_all(K, Calls, #{}),
        ?assertEqual(lists:seq(1, 500, 50), [Start || {ok, #{<<"start_line">> := Start, <<"end_line">> := End}} <- Results, End =:= Start + 9]),
        ?assertEqual(1, counters:get(Asked, 1))
    end).

%%% Repetitions and limits

a_call_that_was_just_made_is_not_made_again_test() ->
    Kernel = with(beamai_filters:debounce(#{window => 2000})),
    [?assertMatch({ok, #{<<"a">> := 1}, _}, call(Kernel, #{<<"a">> => 1})) || _ <- [1, 2, 3]],
    ?assertEqual(1, ran()),
    {ok, #{<<"a">> := 2}, _} = call(Kernel, #{<<"a">> => 2}),
    ?assertEqual(1, ran()),
    timer:sleep(2100),
    {ok, _, _} = call(Kernel, #{<<"a">> => 1}),
    ?assertEqual(1, ran()),
    Self = self(),
    Failing = with(beamai_filters:debounce(#{}), [beamai_test:tool(<<"t">>, fun(_) -> Self ! ran, {error, no} end)]),
    [?assertEqual({error, no}, call(Failing, #{})) || _ <- [1, 2]],
    ?assertEqual(1, ran()).

%% The same filter is part of several kernels, or rules, files and links have changed since the call whose result the filter has kept.
%% In parallel, because a file must be two seconds old.

judged_again_test_() ->
    {inparallel, [
        {lists:concat([Name, " ", Kind]), {timeout, 30, fun() -> beamai_test:in_workspace(fun(Dir) -> Test(Dir, filter(Kind, Dir)) end) end}}
     || Kind <- [debounce, cache],
        {Name, Test} <- [
            {"other rules", fun other_rules_are_judged/2},
            {"another workspace", fun another_workspace_has_other_files/2},
            {"a link that leads elsewhere", fun a_link_is_followed_again/2},
            {"another tool of the same name", fun another_tool_has_another_result/2},
            {"a search", fun a_search_leaves_out_what_is_denied/2},
            {"what needs approval", fun what_needs_approval_is_asked_each_time/2},
            {"a session's rule", fun a_rule_of_a_session_counts/2}
        ]
    ]}.

filter(debounce, _Dir) -> beamai_filters:debounce(#{window => 60000});
filter(cache, Dir) -> beamai_filters:cache(#{workspace => Dir, tools => [<<"file_read">>, <<"file_grep">>, <<"t">>], ttl => 60000}).

%% Files that are old enough to be cached.
settled(Dir, Files) ->
    [ok = file:write_file(filename:join(Dir, Name), Text) || {Name, Text} <- Files],
    timer:sleep(2100).

files(Filter, Options) ->
    beamai_kernel:add_filter(beamai_kernel:add_tool_module(beamai_kernel:new(Options), beamai_tool_file), Filter).

read(Kernel, Path) -> read(Kernel, Path, #{}).

read(Kernel, Path, Context) ->
    case beamai_kernel:invoke(Kernel, <<"file_read">>, #{<<"path">> => Path}, Context#{session_id => self()}) of
        {ok, #{<<"content">> := Text}, _} -> Text;
        {error, #{error_type := Type}} -> Type
    end.

other_rules_are_judged(Dir, Filter) ->
    settled(Dir, [{"a", "secret"}]),
    Open = files(Filter, #{workspace => Dir}),
    ?assertEqual(<<"secret">>, read(Open, <<"a">>)),
    [
        ?assertEqual(permission_denied, read(files(Filter, #{workspace => Dir, permissions => Rules}), <<"a">>))
     || Rules <- [#{deny => [<<"Read(a)">>]}, #{default => deny}, #{ask => [<<"Read">>]}]
    ],
    ?assertEqual(<<"secret">>, read(Open, <<"a">>)).

another_workspace_has_other_files(Dir, Filter) ->
    beamai_test:in_workspace(fun(Other) ->
        settled(Dir, [{"a", "one"}]),
        settled(Other, [{"a", "two"}]),
        Open = files(Filter, #{workspace => Dir}),
        ?assertEqual(<<"one">>, read(Open, <<"a">>)),
        ?assertEqual(<<"two">>, read(files(Filter, #{workspace => Other}), <<"a">>)),
        ?assertEqual(<<"two">>, read(Open, <<"a">>, #{workspace => Other})),
        ?assertEqual(<<"one">>, read(Open, <<"a">>))
    end).

a_link_is_followed_again(Dir, Filter) ->
    settled(Dir, [{"a", "one"}, {"secret", "two"}]),
    Kernel = files(Filter, #{workspace => Dir, permissions => #{deny => [<<"Read(secret)">>]}}),
    Link = filename:join(Dir, "link"),
    ok = file:make_symlink("a", Link),
    ?assertEqual(<<"one">>, read(Kernel, <<"link">>)),
    ok = file:delete(Link),
    ok = file:make_symlink("secret", Link),
    ?assertEqual(permission_denied, read(Kernel, <<"link">>)).

another_tool_has_another_result(_Dir, Filter) ->
    Says = fun(Text, Metadata) ->
        with(Filter, [#{name => <<"t">>, handler => fun(_) -> {ok, Text} end, metadata => Metadata}])
    end,
    {ok, one, _} = call(Says(one, #{}), #{}),
    {ok, two, _} = call(Says(two, #{}), #{}),
    ?assertMatch({error, #{error_type := permission_denied}}, call(Says(one, #{requires_permission => true}), #{})).

a_search_leaves_out_what_is_denied(Dir, Filter) ->
    settled(Dir, [{"a", "word"}, {"secret", "word"}]),
    Found = fun(Options) ->
        {ok, #{<<"files">> := Files}, _} = beamai_kernel:invoke(files(Filter, Options#{workspace => Dir}), <<"file_grep">>, #{<<"pattern">> => <<"word">>}, #{session_id => self()}),
        lists:sort(Files)
    end,
    ?assertEqual([<<"a">>, <<"secret">>], Found(#{})),
    ?assertEqual([<<"a">>], Found(#{permissions => #{deny => [<<"Read(secret)">>]}})).

what_needs_approval_is_asked_each_time(Dir, Filter) ->
    settled(Dir, [{"a", "one"}]),
    Kernel = files(Filter, #{workspace => Dir, permissions => #{ask => [<<"Read">>]}}),
    ?assertEqual(<<"one">>, read(Kernel, <<"a">>, #{approve => fun(_) -> allow end})),
    ?assertEqual(permission_denied, read(Kernel, <<"a">>, #{approve => fun(_) -> deny end})).

a_rule_of_a_session_counts(Dir, Filter) ->
    settled(Dir, [{"a", "one"}]),
    Kernel = files(Filter, #{workspace => Dir, permissions => #{default => ask}}),
    ?assertEqual(permission_denied, read(Kernel, <<"a">>)),
    ?assertEqual(<<"one">>, read(Kernel, <<"a">>, #{approve => fun(_) -> {allow, {rule, <<"Read(a)">>}} end})),
    ?assertEqual(<<"one">>, read(Kernel, <<"a">>)),
    ok = beamai_session:close(self()),
    ?assertEqual(permission_denied, read(Kernel, <<"a">>)).

%% Calls at once, and a filter outside that makes a new call of its own, which nothing may be reused for.
calls_at_once_are_answered_from_earlier_ones_test() ->
    Filter = beamai_filters:debounce(#{window => 60000}),
    Call = fun(Kernel) -> beamai_kernel:invoke_all(Kernel, [{<<"t">>, #{}}], #{session_id => s}) end,
    Kernel = with(Filter),
    [{[{ok, #{}}], _} = Call(Kernel) || _ <- [1, 2]],
    ?assertEqual(1, ran()),
    New = beamai_filter:new(new, fun(#{tool := Tool, args := Args, context := Context}, Next) -> Next(#{tool => Tool, args => Args, context => Context}) end),
    Outside = beamai_kernel:add_filter(beamai_kernel:add_filter(beamai_test:kernel([counting(<<"t">>)]), New), Filter),
    [{[{ok, #{}}], _} = Call(Outside) || _ <- [1, 2]],
    ?assertEqual(2, ran()).

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

%% What begins again after an effect and then does not run has not "not run".
a_filter_that_calls_again_hides_no_effect_test() ->
    Twice = beamai_filter:new(twice, fun(Call, Next) -> _ = Next(Call), Next(Call) end),
    Limit = beamai_filters:call_limit(#{calls => 1, name => limit}),
    Ran = fun(Filters) ->
        Kernel = lists:foldl(fun(Filter, K) -> beamai_kernel:add_filter(K, Filter) end, beamai_kernel:new(), Filters),
        Tool = #{name => <<"t">>, handler => fun(_) -> {ok, done} end},
        Context = beamai_context:new(#{session_id => make_ref(), run_id => make_ref()}),
        {error, #{message := Message, details := Details}} = beamai_kernel:invoke(beamai_kernel:add_tool(Kernel, Tool), <<"t">>, #{}, Context),
        {Message, maps:get(has_run, Details, unknown)}
    end,
    {Message, HasRun} = Ran([Twice, Limit]),
    ?assertEqual(unknown, HasRun),
    ?assertNotEqual(nomatch, string:find(Message, <<"an earlier one may have had an effect">>)),
    None = beamai_filter:new(none, fun(#{tool := Tool}, _) -> {error, beamai_error:not_run(Tool, permission_denied, call_limit, "no")} end),
    ?assertMatch({_, false}, Ran([Twice, None])).

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

well_known_secrets() ->
    Long = fun(Prefix, Count) -> <<Prefix/binary, (binary:copy(<<"aB3d">>, Count))/binary>> end,
    [
        Long(<<"sk-ant-">>, 6), Long(<<"ghp_">>, 9), <<"AKIAIOSFODNN7EXAMPLE">>, Long(<<"xoxb-">>, 4), Long(<<"glpat-">>, 5),
        <<"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P">>,
        <<"-----BEGIN RSA PRIVATE KEY-----\nMIIB\nAAAA\n-----END RSA PRIVATE KEY-----">>, <<"Bearer abcdefghijklmnop1234">>,
        Long(<<"hf_">>, 9), <<"AIza", (binary:copy(<<"aB3d_">>, 7))/binary>>
    ].

secrets_are_taken_out_test() ->
    Kernel = with(beamai_filters:redact(#{})),
    [
        begin
            {ok, #{<<"out">> := [#{<<"line">> := Line}], <<"n">> := 1}, _} =
                call(Kernel, #{<<"out">> => [#{<<"line">> => <<"key: ", Secret/binary, " end">>}], <<"n">> => 1}),
            ?assertEqual(<<"key: *** end">>, Line)
        end
     || Secret <- well_known_secrets()
    ],
    Plain = [<<"sk-short">>, <<"a task-oriented-approach-to-things">>, <<"Grüße"/utf8>>, <<255, 0>>],
    [?assertMatch({ok, #{<<"a">> := Text}, _}, call(Kernel, #{<<"a">> => Text})) || Text <- Plain],
    Failing = with(beamai_filters:redact(#{patterns => ["pin [0-9]+"]}), [
        beamai_test:tool(<<"t">>, fun(_) -> {error, {bad, <<"the pin 1234 is wrong">>}} end)
    ]),
    ?assertEqual({error, {bad, <<"the *** is wrong">>}}, call(Failing, #{})).

secrets_after_escapes_and_underscores_are_taken_out_test() ->
    Kernel = with(beamai_filters:redact(#{})),
    Before = [
        <<"\e[32m">>, <<"\e[m\e[K">>, <<"\\n">>, <<"\\t">>, <<"\\u000A">>, <<"\\u001b[1m">>, <<"\\x0A">>, <<"\\012">>, <<"%3D">>, <<"x_">>, <<255>>,
        <<"é"/utf8>>
    ],
    [
        ?assertMatch(
            {Begin, Secret, {ok, #{<<"a">> := <<Begin:(byte_size(Begin))/binary, "***\e[0m">>}, _}},
            {Begin, Secret, call(Kernel, #{<<"a">> => <<Begin/binary, Secret/binary, "\e[0m">>})}
        )
     || Begin <- Before, Secret <- well_known_secrets()
    ],
    ?assertMatch({ok, #{<<"a">> := <<"***_1">>}, _}, call(Kernel, #{<<"a">> => <<"AKIAIOSFODNN7EXAMPLE_1">>})).

longer_words_are_no_secrets_test() ->
    Kernel = with(beamai_filters:redact(#{})),
    [
        ?assertMatch({ok, #{<<"a">> := Text}, _}, call(Kernel, #{<<"a">> => Text}))
     || Text <- [
            <<"desk-organisers-and-other-things">>, <<"C:\\task-oriented-approach-to-things">>, <<"keyJournalEntry.journalNumber1.itsValue">>,
            <<"ABCDAKIAIOSFODNN7EXAMPLE">>, <<"AKIAIOSFODNN7EXAMPLEABCD">>, <<"QUJDAIza", (binary:copy(<<"aB3d_">>, 7))/binary>>
        ]
    ].

%% Nothing is lost if different keys become the same one.
secrets_in_keys_are_taken_out_test() ->
    Redacted = fun(Value) ->
        {ok, Result, _} = call(with(beamai_filters:redact(#{patterns => ["pin [0-9]+"]}), [beamai_test:tool(<<"t">>, fun(_) -> {ok, Value} end)]), #{}),
        Result
    end,
    ?assertEqual(#{a => [#{<<"the ***">> => <<"***">>, <<"b">> => 1}]}, Redacted(#{a => [#{<<"the pin 1">> => <<"pin 2">>, <<"b">> => 1}]})),
    ?assertEqual(
        #{<<"***">> => kept, <<"*** (2)">> => 1, <<"*** (3)">> => 2, {<<"***">>} => 3, {{<<"***">>}, 2} => 4},
        Redacted(#{<<"***">> => kept, <<"pin 1">> => 1, <<"pin 2">> => 2, {<<"pin 1">>} => 3, {<<"pin 2">>} => 4})
    ).

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
            {cache, tools, #{tools => <<"file_read">>}}, {cache, ttl, #{tools => [], ttl => 0}}, {debounce, window, #{window => 0}},
            {batch, tools, #{tools => [file_read]}}, {redact, patterns, #{patterns => 5}}, {rate_limit, per, #{calls => 1}},
            {audit, contents, #{to => fun(_) -> ok end, contents => 1}},
            {cache, tools, #{}}, {cache, other, #{tools => [], other => 1}}, {debounce, tool, #{tool => 1}},
            {rate_limit, calls, #{per => 1}}, {rate_limit, calls, #{calls => 0, per => 1}}, {call_limit, calls, #{}},
            {call_limit, per, #{calls => 1, per => day}}, {audit, to, #{}}, {redact, patterns, #{patterns => ["("]}},
            {result_budget, bytes, #{bytes => 0}}, {redact, options, []}
        ]
    ],
    K = beamai_kernel:add_filter(beamai_kernel:new(), beamai_filters:call_limit(#{calls => 1})),
    _ = beamai_kernel:add_filter(K, beamai_filters:call_limit(#{calls => 1, name => other})).
