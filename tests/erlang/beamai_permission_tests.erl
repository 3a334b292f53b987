-module(beamai_permission_tests).

-include_lib("eunit/include/eunit.hrl").

-import(beamai_test, [kernel/2, tool/2, tool/3]).

plain() ->
    tool(<<"plain">>, fun(_) -> {ok, ran} end).

careful() ->
    tool(<<"careful">>, fun(_) -> {ok, ran} end, #{metadata => #{requires_permission => true}}).

invoke(Name, Options) ->
    invoke(Name, Options, #{}).

invoke(Name, Options, Context) ->
    beamai_kernel:invoke(kernel([plain(), careful()], Options), Name, #{x => 1}, Context).

reason({error, #{error_type := permission_denied, details := #{reason := Reason}}}) -> Reason;
reason({ok, ran, _}) -> ok.

by_default_a_hosts_own_tools_run_unless_they_require_permission_test() ->
    ?assertEqual(ok, reason(invoke(<<"plain">>, #{}))),
    ?assertEqual(needs_approval, reason(invoke(<<"careful">>, #{}))).

the_modes_do_what_they_say_test() ->
    Table = [
        {allow, <<"careful">>, ok},
        {ask, <<"plain">>, needs_approval},
        {deny, <<"plain">>, denied},
        {auto, <<"plain">>, ok}
    ],
    [
        ?assertEqual(Reason, reason(invoke(Name, #{permissions => #{default => Mode}})))
     || {Mode, Name, Reason} <- Table
    ].

rules_name_a_hosts_own_tools_test() ->
    With = fun(Policy) -> reason(invoke(<<"careful">>, #{permissions => Policy})) end,
    ?assertEqual(ok, With(#{allow => [<<"careful">>]})),
    ?assertEqual(ok, With(#{allow => ["careful"]})),
    ?assertEqual(denied, With(#{allow => [<<"careful">>], deny => [<<"careful">>]})),
    ?assertEqual(needs_approval, With(#{allow => [<<"careful">>], ask => [<<"careful">>]})).

a_denial_names_the_rule_test() ->
    {error, #{details := Details}} = invoke(<<"plain">>, #{permissions => #{deny => [<<"plain">>]}}),
    ?assertMatch(#{matched_rule := <<"plain">>}, Details).

a_refusal_for_want_of_approval_says_how_to_allow_it_test() ->
    {error, #{message := Message}} = invoke(<<"careful">>, #{}),
    ?assertMatch({match, _}, re:run(Message, "allow => \\[<<\"careful\">>\\]")),
    ?assertMatch({match, _}, re:run(Message, "approve callback")).

approve_gets_the_request_in_the_callers_process_test() ->
    Me = self(),
    Approve = fun(Request) -> Me ! {self(), Request}, allow end,
    Context = #{run_id => r, agent_id => a, session_id => approve_gets, other => x},
    {ok, ran, _} = invoke(<<"careful">>, #{approve => Approve}, Context),
    receive
        {Pid, Request} ->
            ?assertEqual(Me, Pid),
            ?assertMatch(
                #{
                    tool := <<"careful">>,
                    rule := <<"careful">>,
                    subject := <<"careful">>,
                    message := <<_/binary>>,
                    args := #{x := 1},
                    run_id := r,
                    agent_id := a,
                    session_id := approve_gets
                },
                Request
            ),
            ?assertNot(is_map_key(other, Request))
    end.

the_contexts_approve_goes_before_the_kernels_test() ->
    Options = #{approve => fun(_) -> deny end},
    ?assertEqual(denied, reason(invoke(<<"careful">>, Options))),
    ?assertEqual(ok, reason(invoke(<<"careful">>, Options, #{approve => fun(_) -> allow end}))).

every_other_answer_denies_test() ->
    [
        ?assertEqual(denied, reason(invoke(<<"careful">>, #{approve => Approve})))
     || Approve <- [
            fun(_) -> deny end,
            fun(_) -> {deny, <<"because">>} end,
            fun(_) -> yes end,
            fun(_) -> error(oops) end,
            fun(_) -> throw(allow) end
        ]
    ],
    {error, #{message := Message}} = invoke(<<"careful">>, #{approve => fun(_) -> {deny, <<"no!">>} end}),
    ?assertMatch({match, _}, re:run(Message, "no!")).

an_approval_for_the_session_is_remembered_in_it_test() ->
    Asked = counters:new(1, []),
    Approve = fun(_) -> counters:add(Asked, 1, 1), {allow, session} end,
    Call = fun(Id) -> invoke(<<"careful">>, #{approve => Approve}, #{session_id => Id}) end,
    [{ok, ran, _} = Call(perm_1) || _ <- [1, 2, 3]],
    ?assertEqual(1, counters:get(Asked, 1)),
    {ok, ran, _} = Call(perm_2),
    ?assertEqual(2, counters:get(Asked, 1)),
    ok = beamai_session:close(perm_1),
    {ok, ran, _} = Call(perm_1),
    ?assertEqual(3, counters:get(Asked, 1)),
    beamai_session:close(perm_1),
    beamai_session:close(perm_2).

without_a_session_id_the_calling_process_is_the_session_test() ->
    Asked = counters:new(1, []),
    Approve = fun(_) -> counters:add(Asked, 1, 1), {allow, session} end,
    Twice = fun() -> [{ok, ran, _} = invoke(<<"careful">>, #{approve => Approve}) || _ <- [1, 2]] end,
    beamai_test:alone(Twice),
    ?assertEqual(1, counters:get(Asked, 1)),
    beamai_test:alone(Twice),
    ?assertEqual(2, counters:get(Asked, 1)).

time_in_approve_does_not_count_test() ->
    Slow = tool(<<"t">>, fun(_) -> {ok, ran} end, #{
        timeout => 400, metadata => #{requires_permission => true}
    }),
    Kernel = kernel([Slow], #{approve => fun(_) -> timer:sleep(800), allow end}),
    ?assertMatch({ok, ran, _}, beamai_kernel:invoke(Kernel, <<"t">>, #{})).

a_tool_without_a_kernel_is_judged_by_the_contexts_policy_test() ->
    ?assertEqual(needs_approval, reason(beamai_tool:invoke(careful(), #{}, #{}))),
    ?assertMatch({error, #{error_type := permission_denied}}, beamai_tool:invoke(careful(), #{})),
    ?assertEqual(ok, reason(beamai_tool:invoke(careful(), #{}, #{approve => fun(_) -> allow end}))),
    ?assertEqual(
        denied, reason(beamai_tool:invoke(plain(), #{}, #{permissions => #{default => deny}}))
    ).

explain_gives_the_verdict_and_the_rule_test() ->
    Policy = #{deny => [<<"plain">>]},
    Kernel = kernel([plain(), careful()], #{permissions => Policy}),
    ?assertMatch(
        #{verdict := deny, matched_rule := <<"plain">>}, beamai_permission:explain(Kernel, <<"plain">>, #{})
    ),
    ?assertMatch(
        #{verdict := ask, matched_rule := undefined, message := <<_/binary>>},
        beamai_permission:explain(Kernel, <<"careful">>, #{})
    ),
    ?assertMatch(
        {error, #{error_type := not_found}}, beamai_permission:explain(Kernel, <<"none">>, #{})
    ).
