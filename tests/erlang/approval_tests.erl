%% What an approve callback gets to see, and what its answers mean.
-module(approval_tests).

-include_lib("eunit/include/eunit.hrl").

-define(EDIT, #{<<"path">> => <<"a">>, <<"old_string">> => <<"one">>, <<"new_string">> => <<"1">>}).

with_file(Test) ->
    beamai_test:in_workspace(fun(Dir) ->
        ok = file:write_file(filename:join(Dir, "a"), <<"one\n">>),
        Test(Dir)
    end).

kernel(Dir, Options) ->
    beamai_kernel:add_tool_module(beamai_kernel:new(Options#{workspace => Dir, door => nif}), beamai_tool_file).

the_request_has_the_diff_and_the_rules_for_always_test() ->
    with_file(fun(Dir) ->
        Self = self(),
        Kernel = kernel(Dir, #{approve => fun(Request) -> Self ! {asked, Request}, deny end}),
        {error, #{details := Details}} = beamai_kernel:invoke(Kernel, <<"file_edit">>, ?EDIT),
        ?assertMatch(#{reason := denied, answer := declined}, Details),
        Request = receive {asked, R} -> R end,
        ?assertMatch(#{diff := <<"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+1\n">>, always := [<<"Edit(./a)">>]}, Request)
    end).

nobody_is_asked_for_what_must_fail_test() ->
    with_file(fun(Dir) ->
        Kernel = kernel(Dir, #{approve => fun(_) -> error(asked) end}),
        {error, #{details := #{reason := no_match}}} =
            beamai_kernel:invoke(Kernel, <<"file_edit">>, ?EDIT#{<<"old_string">> := <<"three">>})
    end).

the_rules_for_always_hold_for_the_session_test() ->
    with_file(fun(Dir) ->
        Self = self(),
        Approve = fun(#{always := Always}) -> Self ! asked, {allow, {rules, Always}} end,
        Kernel = kernel(Dir, #{approve => Approve}),
        Context = beamai_context:new(#{session_id => make_ref()}),
        {ok, _, _} = beamai_kernel:invoke(Kernel, <<"file_edit">>, ?EDIT, Context),
        Back = ?EDIT#{<<"old_string">> := <<"1">>, <<"new_string">> := <<"one">>},
        {ok, _, _} = beamai_kernel:invoke(Kernel, <<"file_edit">>, Back, Context),
        ?assertEqual(ok, receive asked -> ok after 0 -> none end),
        ?assertEqual(none, receive asked -> again after 0 -> none end)
    end).

the_rules_for_always_are_offered_for_fetches_and_commits_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Self = self(),
        Approve = fun(Request) -> Self ! {asked, maps:get(always, Request, none)}, deny end,
        Kernel = beamai_kernel:add_tools(
            beamai_kernel:new(#{workspace => Dir, approve => Approve}), beamai_tool_git:tools() ++ beamai_tool_web:tools()
        ),
        Offered = fun(Tool, Args) ->
            {error, #{details := #{answer := declined}}} = beamai_kernel:invoke(Kernel, Tool, Args),
            receive {asked, Rules} -> Rules end
        end,
        ?assertEqual([<<"GitCommit">>], Offered(<<"git_commit">>, #{<<"message">> => <<"m">>})),
        ?assertEqual([<<"WebFetch(domain:example.com)">>], Offered(<<"web_fetch">>, #{<<"url">> => <<"https://example.com/a">>}))
    end).

a_refusal_repeats_little_of_a_long_command_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Command = <<"echo ", (binary:copy(<<"é"/utf8>>, 28000))/binary, " end">>,
        Args = #{<<"command">> => Command},
        Message = fun(Options) ->
            Kernel = beamai_kernel:add_tool_module(beamai_kernel:new(Options#{workspace => Dir}), beamai_tool_shell),
            {error, Error} = beamai_kernel:invoke(Kernel, <<"shell_exec">>, Args),
            beamai_display:error_for_model(Error)
        end,
        [
            begin
                Text = Message(Options),
                ?assert(string:length(Text) < 600),
                ?assertNotEqual(nomatch, string:find(Text, <<"characters …]"/utf8>>))
            end
         || Options <- [#{}, #{approve => fun(_) -> deny end}, #{permissions => #{deny => [<<"Bash">>]}}]
        ]
    end).

declined_cancelled_and_nobody_there_are_three_answers_test() ->
    with_file(fun(Dir) ->
        Said = fun(Options) ->
            {error, #{message := Message, details := #{reason := Reason, answer := Answer}}} =
                beamai_kernel:invoke(kernel(Dir, Options), <<"file_edit">>, ?EDIT),
            {Reason, Answer, Message}
        end,
        {denied, declined, No} = Said(#{approve => fun(_) -> deny end}),
        {denied, cancelled, Closed} = Said(#{approve => fun(_) -> cancelled end}),
        {needs_approval, nobody, Nobody} = Said(#{}),
        ?assertEqual(3, length(lists:usort([No, Closed, Nobody])))
    end).

%% Two kernels can have different tools and sub-agents of one name in one session.
an_approval_for_the_session_is_about_one_definition_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Self = self(),
        Context = #{session_id => make_ref(), approve => fun(_) -> Self ! asked, {allow, session} end},
        Asked = fun(Kernel, Tool, Args) ->
            {ok, Answer, _} = beamai_kernel:invoke(Kernel, Tool, Args, Context),
            {Answer, receive asked -> asked after 0 -> known end}
        end,
        Deploy = fun(To) ->
            Spec = #{name => <<"deploy">>, metadata => #{requires_permission => true}, handler => fun(_) -> {ok, To} end},
            Asked(beamai_kernel:add_tool(beamai_kernel:new(#{workspace => Dir}), Spec), <<"deploy">>, #{})
        end,
        ?assertEqual(
            [{staging, asked}, {staging, known}, {production, asked}, {production, known}],
            [Deploy(To) || To <- [staging, staging, production, production]]
        ),
        Task = fun(Report) ->
            Options = #{workspace => Dir, permissions => #{default => ask}, agents => #{<<"scout">> => fun(_, _) -> {ok, Report} end}},
            Kernel = beamai_kernel:add_tool_module(beamai_kernel:new(Options), beamai_tool_task),
            {_, Was} = Asked(Kernel, <<"task">>, #{<<"agent">> => <<"scout">>, <<"objective">> => <<"look">>}),
            Was
        end,
        ?assertEqual([asked, known, asked], [Task(Report) || Report <- [<<"a">>, <<"a">>, <<"b">>]])
    end).

%% The approve callback does this before it answers; then the same call asks again.
asks_again_after(Before, Answer) ->
    beamai_test:in_workspace(fun(Dir) ->
        Self = self(),
        Id = make_ref(),
        Own = #{name => <<"own">>, handler => fun(_) -> {ok, 1} end, metadata => #{requires_permission => true}},
        Asks = fun(Permissions, Tool, Args) ->
            Kernel0 = beamai_kernel:new(#{workspace => Dir, permissions => Permissions}),
            Kernel = beamai_kernel:add_tool(beamai_kernel:add_tools(Kernel0, beamai_tool_file:tools() ++ beamai_tool_shell:tools()), Own),
            First = fun(#{wanted := Wanted}) -> Before(Id), Answer(Wanted); (#{rule := Rule}) -> Before(Id), Answer([Rule]) end,
            Second = fun(_) -> Self ! asked, deny end,
            _ = beamai_kernel:invoke(Kernel, Tool, Args, #{session_id => Id, run_id => Id, approve => First}),
            _ = beamai_kernel:invoke(Kernel, Tool, Args, #{session_id => Id, run_id => Id, approve => Second}),
            ok = beamai_session:close(Id),
            {Tool, receive asked -> asked after 0 -> known end}
        end,
        Ask = #{default => ask},
        ?assertEqual(
            [{<<"own">>, asked}, {<<"file_write">>, asked}, {<<"shell_exec">>, asked}, {<<"shell_exec">>, asked}],
            [
                Asks(Ask, <<"own">>, #{}),
                Asks(Ask, <<"file_write">>, #{<<"path">> => <<"w">>, <<"content">> => <<"1">>}),
                Asks(Ask, <<"shell_exec">>, #{<<"command">> => <<"echo 1">>}),
                Asks(#{allow => [<<"Bash(awk:*)">>]}, <<"shell_exec">>, #{<<"command">> => <<"awk 'BEGIN{system(\"/usr/bin/id\")}'">>})
            ]
        )
    end).

an_answer_adds_nothing_to_a_session_that_was_closed_meanwhile_test() ->
    asks_again_after(fun beamai_session:close/1, fun(_Rules) -> {allow, session} end),
    asks_again_after(fun beamai_session:close/1, fun(Rules) -> {allow, {rules, Rules}} end).

an_answer_about_a_cancelled_call_adds_nothing_test() ->
    asks_again_after(fun beamai_kernel:cancel/1, fun(_Rules) -> {allow, session} end),
    asks_again_after(fun beamai_kernel:cancel/1, fun(Rules) -> {allow, {rules, Rules}} end).

a_refused_answer_adds_none_of_its_rules_test() ->
    asks_again_after(fun(_) -> ok end, fun(Rules) -> {allow, {rules, Rules ++ [<<"x((">>]}} end),
    asks_again_after(fun(_) -> ok end, fun(Rules) -> {allow, {rules, Rules ++ rest}} end).
