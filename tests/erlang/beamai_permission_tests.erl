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

%% The name of a tool does not say what a call does.
an_approval_for_the_session_holds_for_the_same_arguments_test() ->
    Me = self(),
    Pay = tool(<<"pay">>, fun(#{<<"to">> := To}) -> {ok, To} end, #{
        parameters => #{<<"to">> => #{type => string}}, metadata => #{requires_permission => true}
    }),
    Approve = fun(#{message := Message}) -> Me ! {asked, Message}, {allow, session} end,
    Kernel = kernel([Pay], #{approve => Approve}),
    Call = fun(To) ->
        {ok, To, _} = beamai_kernel:invoke(Kernel, <<"pay">>, #{<<"to">> => To}, #{session_id => pays}),
        receive {asked, Message} -> Message after 0 -> nothing end
    end,
    ?assertEqual(<<"pay wants to run with {\"to\":\"bob\"}">>, Call(<<"bob">>)),
    ?assertEqual(nothing, Call(<<"bob">>)),
    ?assertEqual(<<"pay wants to run with {\"to\":\"eve\\u{202e}\"}">>, Call(<<"eve\x{202e}"/utf8>>)),
    Long = Call(binary:copy(<<"x">>, 5000)),
    ?assertMatch({match, _}, re:run(Long, <<"… \\(1 line, 5009 characters\\); not all of it is shown$"/utf8>>)),
    beamai_session:close(pays).

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
        timeout => 2000, metadata => #{requires_permission => true}
    }),
    Kernel = kernel([Slow], #{approve => fun(_) -> timer:sleep(2500), allow end}),
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

%% What was approved is this command here, with this input, under these settings; nothing else is.
an_approval_for_the_session_holds_for_nothing_that_differs_test_() ->
    {timeout, 60, fun() -> beamai_test:in_workspace(fun remembered_exactly/1) end}.

remembered_exactly(Dir) ->
    Other = filename:join(Dir, "other"),
    ok = file:make_dir(Other),
    Me = self(),
    Approve = fun(#{subject := Subject}) -> Me ! {asked, Subject}, {allow, session} end,
    Kernel = fun(Options) ->
        beamai_kernel:add_tool_module(beamai_kernel:new(Options#{workspace => Dir}), beamai_tool_shell)
    end,
    Context = #{session_id => exactly, approve => Approve},
    Ask = fun(K, Args, More) ->
        {ok, Result, _} = beamai_kernel:invoke(K, <<"shell_exec">>, Args, maps:merge(Context, More)),
        Asked = receive {asked, Subject} -> Subject after 0 -> nothing end,
        {Asked, maps:get(<<"stdout">>, Result)}
    end,
    Sh = #{<<"command">> => <<"sh">>, <<"stdin">> => <<"echo one">>},
    K = Kernel(#{}),
    ?assertEqual({<<"Bash(sh <<< 'echo one')">>, <<"one\n">>}, Ask(K, Sh, #{})),
    ?assertEqual({nothing, <<"one\n">>}, Ask(K, Sh, #{})),
    Differing = [
        {K, Sh#{<<"stdin">> => <<"echo two">>}, #{}, <<"Bash(sh <<< 'echo two')">>},
        {K, maps:remove(<<"stdin">>, Sh), #{}, <<"Bash(sh)">>},
        {K, Sh#{<<"cwd">> => <<"other">>}, #{}, <<"Bash(cd other && sh <<< 'echo one')">>},
        {K, Sh#{<<"env">> => #{<<"A">> => <<"b">>}}, #{}, <<"Bash(A=b sh <<< 'echo one')">>},
        {K, Sh, #{workspace => Other}, <<"Bash(sh <<< 'echo one')">>},
        {Kernel(#{sandbox => off}), Sh, #{}, <<"Bash(sh <<< 'echo one')">>},
        {Kernel(#{permissions => #{ask => [<<"Bash">>]}}), Sh, #{}, <<"Bash(sh <<< 'echo one')">>},
        {K, Sh, #{session_id => not_exactly}, <<"Bash(sh <<< 'echo one')">>}
    ],
    [?assertMatch({Subject, _}, Ask(In, Args, More)) || {In, Args, More, Subject} <- Differing],
    [?assertMatch({nothing, _}, Ask(In, Args, More)) || {In, Args, More, _} <- Differing],
    [beamai_session:close(Session) || Session <- [exactly, not_exactly]].

%% Rules with patterns

explain(Policy, Tool, Args) ->
    Kernel = lists:foldl(
        fun(Module, K) -> beamai_kernel:add_tool_module(K, Module) end,
        beamai_kernel:new(#{permissions => Policy}),
        [beamai_tool_shell, beamai_tool_file, beamai_tool_web]
    ),
    beamai_permission:explain(Kernel, Tool, Args).

command(Policy, Command) ->
    explain(Policy, <<"shell_exec">>, #{<<"command">> => Command}).

explain_names_the_part_of_a_command_that_decided_test() ->
    Policy = #{allow => [<<"Bash(git:*)">>], deny => [<<"Bash(rm -rf:*)">>]},
    ?assertMatch(
        #{verdict := allow, matched_rule := <<"Bash(git:*)">>}, command(Policy, <<"git log && git status">>)
    ),
    #{verdict := deny, matched_rule := Rule, message := Message} =
        command(Policy, <<"git log; timeout 5 r''m -f -r x">>),
    ?assertEqual(<<"Bash(rm -rf:*)">>, Rule),
    ?assertMatch({match, _}, re:run(Message, "for the part \"rm -f -r x\"")),
    #{verdict := ask, message := Why} = command(Policy, <<"$x status">>),
    ?assertMatch({match, _}, re:run(Why, "because")).

paths_and_addresses_are_matched_test() ->
    Policy = #{allow => [<<"Edit(lib/**)">>, <<"WebFetch(domain:erlang.org)">>], deny => [<<"Read(**/*.pem)">>]},
    Verdict = fun(Tool, Args) -> maps:get(verdict, explain(Policy, Tool, Args)) end,
    Edit = fun(Path) -> #{<<"path">> => Path, <<"old_string">> => <<"a">>, <<"new_string">> => <<"b">>} end,
    ?assertEqual(allow, Verdict(<<"file_edit">>, Edit(<<"lib/x.erl">>))),
    ?assertEqual(ask, Verdict(<<"file_edit">>, Edit(<<"x.erl">>))),
    ?assertEqual(deny, Verdict(<<"file_edit">>, Edit(<<"lib/k.pem">>))),
    ?assertEqual(deny, Verdict(<<"file_read">>, #{<<"path">> => <<"k.pem">>})),
    ?assertEqual(allow, Verdict(<<"web_fetch">>, #{<<"url">> => <<"https://www.erlang.org/x">>})),
    ?assertEqual(ask, Verdict(<<"web_fetch">>, #{<<"url">> => <<"https://xerlang.org/">>})).

fault(Permissions) ->
    try beamai_kernel:new(#{permissions => Permissions}) of
        _ -> none
    catch
        error:{bad_option, _} = Reason:Stack ->
            #{general := Text} = beamai_validate:format_error(Reason, Stack),
            Text
    end.

examples_are_checked_when_the_kernel_is_made_test() ->
    Rule = #{rule => <<"Bash(rm -rf:*)">>, match => [<<"rm -fr /">>], no_match => ["rm x"]},
    ?assertEqual(none, fault(#{deny => [Rule]})),
    Failing = fault(#{deny => [Rule#{no_match => [<<"rm -r -f x">>]}]}),
    ?assertMatch({match, _}, re:run(Failing, "matches its example \"rm -r -f x\"")),
    ?assertMatch({match, _}, re:run(fault(#{deny => [Rule#{matches => []}]}), "a rule is a text")),
    ?assertMatch({match, _}, re:run(fault(#{deny => [Rule#{match => <<"x">>}]}), "a rule is a text")).

a_malformed_rule_says_what_is_accepted_test() ->
    [
        ?assertMatch({match, _}, re:run(fault(#{allow => [Rule]}), Says))
     || {Rule, Says} <- [
            {<<"Bash(git">>, "not closed; write Tool or Tool\\(pattern\\)"},
            {<<"shell_exec">>, "write Bash"},
            {<<"Raed">>, "did you mean Read"},
            {<<"Read(!x)">>, "another list"},
            {<<"WebFetch(erlang.org)">>, "domain:example.com"},
            {<<"own(x)">>, "takes no pattern"}
        ]
    ].

a_settings_file_is_read_from_where_the_host_says_test() ->
    beamai_test:in_workspace(fun(Directory) ->
        File = filename:join(Directory, "settings.json"),
        Write = fun(Text) -> ok = file:write_file(File, Text) end,
        Write(<<"{\"permissions\": {\"deny\": [\"Bash(sudo:*)\"]}, \"permission\": {\"fetch\": \"allow\"}}">>),
        Policy = {file, File},
        ?assertMatch(#{verdict := deny, matched_rule := <<"Bash(sudo:*)">>}, command(Policy, <<"sudo x">>)),
        ?assertMatch(#{verdict := ask}, command(Policy, <<"x">>)),
        ?assertMatch(
            #{verdict := allow}, explain(Policy, <<"web_fetch">>, #{<<"url">> => <<"https://a.example/">>})
        ),
        Write(<<"{\"permissions\": {\"deny\": [\"Bash(\"]}}">>),
        ?assertMatch({match, _}, re:run(fault(Policy), "not closed")),
        ok = file:delete(File),
        ?assertMatch({match, _}, re:run(fault(Policy), "cannot be read"))
    end).

what_is_asked_shows_the_command_and_the_rules_that_would_allow_it_test() ->
    Me = self(),
    Approve = fun(Request) -> Me ! Request, {allow, session} end,
    Kernel = beamai_kernel:add_tool_module(beamai_kernel:new(#{}), beamai_tool_shell),
    Context = #{session_id => asks_for_commands, approve => Approve},
    Run = fun(Command) ->
        beamai_kernel:invoke(Kernel, <<"shell_exec">>, #{<<"command">> => Command}, Context)
    end,
    ?assertMatch({ok, #{<<"exit_code">> := 0}, _}, Run(<<"uname > /dev/null; id -u">>)),
    receive
        #{command := _} = Request ->
            ?assertMatch(
                #{
                    command := <<"uname > /dev/null; id -u">>,
                    wanted := [<<"Bash(uname)">>, <<"Bash(id -u)">>]
                },
                Request
            )
    end,
    %% It holds for this command in this session, and for no other.
    ?assertMatch({ok, _, _}, Run(<<"uname > /dev/null; id -u">>)),
    receive
        #{command := _} = Again -> error({asked, Again})
    after 0 -> ok
    end,
    {ok, _, _} = Run(<<"echo y">>),
    receive
        #{command := <<"echo y">>} -> ok
    end,
    {error, #{message := Message}} =
        beamai_kernel:invoke(Kernel, <<"shell_exec">>, #{<<"command">> => <<"echo x">>}),
    ?assertMatch({match, _}, re:run(Message, "allow => \\[<<\"Bash\\(echo x\\)\">>\\]")),
    beamai_session:close(asks_for_commands).

%% Rules by approval

approving(Rule) ->
    Me = self(),
    fun(#{subject := Subject}) -> Me ! {asked, Subject}, {allow, {rule, Rule}} end.

asked() ->
    receive {asked, Subject} -> Subject after 0 -> nothing end.

shell(Options) ->
    beamai_kernel:add_tool_module(beamai_kernel:new(Options), beamai_tool_shell).

a_rule_of_an_approval_holds_for_the_session_test() ->
    Kernel = shell(#{permissions => #{deny => [<<"Bash(id -g)">>]}}),
    Context = #{session_id => by_rule, approve => approving(<<"Bash(id:*)">>)},
    Run = fun(Command, In) ->
        Result = beamai_kernel:invoke(Kernel, <<"shell_exec">>, #{<<"command">> => Command}, In),
        {element(1, Result), asked()}
    end,
    ?assertEqual({ok, <<"Bash(id -u)">>}, Run(<<"id -u">>, Context)),
    %% What it allows is not asked about any more, what it does not allow is, and deny rules hold as before.
    ?assertEqual({ok, nothing}, Run(<<"id -un">>, Context)),
    ?assertEqual({ok, <<"Bash(uname)">>}, Run(<<"uname">>, Context)),
    ?assertEqual({error, nothing}, Run(<<"id -g">>, Context)),
    ?assertEqual({ok, <<"Bash(id -un)">>}, Run(<<"id -un">>, Context#{session_id => by_rule_elsewhere})),
    %% It is shown where the policy is explained.
    Explain = fun(In) -> beamai_permission:explain(Kernel, <<"shell_exec">>, #{<<"command">> => <<"id -un">>}, In) end,
    ?assertMatch(#{verdict := allow, matched_rule := <<"Bash(id:*)">>}, Explain(#{session_id => by_rule})),
    ?assertMatch(#{verdict := ask}, Explain(#{})),
    [beamai_session:close(Id) || Id <- [by_rule, by_rule_elsewhere]],
    ?assertEqual({ok, <<"Bash(id -un)">>}, Run(<<"id -un">>, Context)),
    beamai_session:close(by_rule).

a_rule_of_an_approval_holds_for_a_hosts_own_tools_test() ->
    Context = #{session_id => own_by_rule, approve => approving("careful")},
    Kernel = kernel([careful(), tool(<<"other">>, fun(_) -> {ok, ran} end, #{metadata => #{requires_permission => true}})], #{}),
    Call = fun(Name) -> {reason(beamai_kernel:invoke(Kernel, Name, #{}, Context)), asked()} end,
    ?assertEqual({ok, <<"careful">>}, Call(<<"careful">>)),
    ?assertEqual({ok, nothing}, Call(<<"careful">>)),
    ?assertEqual({ok, <<"other">>}, Call(<<"other">>)),
    beamai_session:close(own_by_rule).

a_malformed_rule_of_an_approval_is_an_error_and_nothing_runs_test() ->
    [
        begin
            {error, #{message := Message}} = Error =
                invoke(<<"careful">>, #{approve => fun(_) -> {allow, {rule, Rule}} end}),
            ?assertEqual(denied, reason(Error)),
            ?assertMatch({match, _}, re:run(Message, Says))
        end
     || {Rule, Says} <- [
            {<<"Bash(git">>, "parenthesis is not closed"},
            {<<"Raed">>, "did you mean Read"},
            {42, "a rule is a text"},
            {#{rule => <<"Bash(rm:*)">>, match => [<<"ls">>]}, "does not match its example"}
        ]
    ].

the_question_of_an_approval_has_one_line_and_says_how_many_its_text_has_test() ->
    Me = self(),
    Approve = fun(#{message := Message, command := Command}) -> Me ! {Message, Command}, deny end,
    Command = unicode:characters_to_binary(["echo ok", lists:duplicate(100, $\n), "rm x ", 16#202E, "y"]),
    {error, _} = beamai_kernel:invoke(shell(#{approve => Approve}), <<"shell_exec">>, #{<<"command">> => Command}),
    receive
        {Message, As} ->
            ?assertEqual(Command, As),
            ?assertEqual(nomatch, binary:match(Message, [<<"\n">>, <<16#202E/utf8>>])),
            ?assertMatch({match, _}, re:run(Message, "\"echo ok\\\\n.*rm x \\\\u\\{202e\\}y\".*\\(101 lines, "))
    end.

every_canonical_name_of_the_contract_is_a_rule_test() ->
    Rules = [<<"Skill(review)">>, <<"Task(reviewer)">>, <<"GitAdd">>, <<"GitCommit">>, <<"Skill">>, <<"Task">>],
    ?assertEqual(none, fault(#{allow => Rules, deny => Rules, ask => Rules})).
