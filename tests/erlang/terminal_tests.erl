%% The person at the terminal, played by a group leader that types.
-module(terminal_tests).

-include_lib("eunit/include/eunit.hrl").

-define(QUESTION, #{<<"question">> => <<"Which?">>,
                    <<"options">> => [#{<<"label">> => <<"Red">>, <<"description">> => <<"warm">>},
                                      #{<<"label">> => <<"Green">>, <<"description">> => <<"calm">>}]}).
-define(REQUEST, #{message => <<"shell_exec wants to run: x\e[2J">>, subject => <<"Bash(x)">>}).

a_number_stands_for_its_option_test() ->
    {Answer, Screen} = typing(["2\n"], fun() -> beamai_terminal:ask_user([?QUESTION]) end),
    ?assertEqual({ok, #{<<"Which?">> => <<"Green">>}}, Answer),
    ?assertNotEqual(nomatch, string:find(Screen, "1. Red (Recommended)  warm")).

an_option_that_is_marked_as_recommended_is_not_marked_again_test() ->
    #{<<"options">> := [Red | Others]} = ?QUESTION,
    Marked = ?QUESTION#{<<"options">> := [Red#{<<"label">> := <<"Red (Recommended)">>} | Others]},
    {_, Screen} = typing(["1\n"], fun() -> beamai_terminal:ask_user([Marked]) end),
    ?assertNotEqual(nomatch, string:find(Screen, "1. Red (Recommended)  warm")).

no_option_of_a_servers_question_is_recommended_test() ->
    {_, Screen} = typing(["1\n"], fun() -> beamai_terminal:ask_user([?QUESTION#{<<"asked_by">> => <<"mcp_server">>}]) end),
    ?assertNotEqual(nomatch, string:find(Screen, "An MCP server asks: Which?")),
    ?assertNotEqual(nomatch, string:find(Screen, "1. Red  warm")).

an_empty_line_asks_again_and_own_text_stands_for_itself_test() ->
    ?assertMatch({{ok, #{<<"Which?">> := <<"blue">>}}, _},
                 typing(["\n", "blue\n"], fun() -> beamai_terminal:ask_user([?QUESTION]) end)).

several_numbers_where_several_may_be_taken_test() ->
    Question = ?QUESTION#{<<"multi_select">> => true},
    ?assertMatch({{ok, #{<<"Which?">> := [<<"Green">>, <<"Red">>]}}, _},
                 typing(["2, 1\n"], fun() -> beamai_terminal:ask_user([Question]) end)).

escape_or_the_end_of_input_cancels_test() ->
    [?assertMatch({cancelled, _}, typing([Line], fun() -> beamai_terminal:ask_user([?QUESTION]) end))
     || Line <- ["\e\n", eof]].

only_a_yes_is_an_approval_test() ->
    [?assertMatch({Answer, _}, typing([Line], fun() -> beamai_terminal:approve(?REQUEST) end))
     || {Line, Answer} <- [{"y\n", allow}, {"s\n", {allow, session}}, {"\n", deny}, {"no\n", deny}, {eof, deny}]].

a_rule_may_be_the_answer_test() ->
    Request = ?REQUEST#{wanted => [<<"Bash(x)">>]},
    {Answer, Screen} = typing(["r Bash(x:*) \n"], fun() -> beamai_terminal:approve(Request) end),
    ?assertEqual({allow, {rule, <<"Bash(x:*)">>}}, Answer),
    ?assertNotEqual(nomatch, string:find(Screen, "What would allow it: Bash(x)\n")).

the_rules_that_are_shown_may_be_the_answer_test() ->
    Request = ?REQUEST#{always => [<<"Bash(npm test:*)">>, <<"Bash(x)">>], diff => <<"-a\n+b\n">>},
    {Answer, Screen} = typing(["a\n"], fun() -> beamai_terminal:approve(Request) end),
    ?assertEqual({allow, {rules, [<<"Bash(npm test:*)">>, <<"Bash(x)">>]}}, Answer),
    ?assertNotEqual(nomatch, string:find(Screen, "-a\n+b\n")),
    ?assertNotEqual(nomatch, string:find(Screen, "what Bash(npm test:*), Bash(x) allows")),
    ?assertMatch({deny, _}, typing(["a\n"], fun() -> beamai_terminal:approve(?REQUEST) end)).

escape_is_an_answer_of_its_own_test() ->
    ?assertMatch({cancelled, _}, typing(["\e\n"], fun() -> beamai_terminal:approve(?REQUEST) end)).

what_is_shown_cannot_steer_the_terminal_test() ->
    {_, Screen} = typing(["\n"], fun() -> beamai_terminal:approve(?REQUEST) end),
    ?assertEqual(nomatch, string:find(Screen, "\e")).

without_a_terminal_nobody_is_asked_test() ->
    ?assertMatch({no_frontend, _}, typing(none, fun() -> beamai_terminal:ask_user([?QUESTION]) end)),
    ?assertMatch({{deny, _}, _}, typing(none, fun() -> beamai_terminal:approve(?REQUEST) end)).

%% Runs a fun before a terminal on which these lines are typed; `none' is no terminal.
typing(Lines, Fun) ->
    Leader = spawn_link(fun() -> leader(Lines, []) end),
    Before = group_leader(),
    group_leader(Leader, self()),
    Answer = try Fun() after group_leader(Before, self()) end,
    Leader ! {screen, self()},
    receive {screen, Screen} -> {Answer, unicode:characters_to_list(Screen)} end.

leader(Lines, Screen) ->
    receive
        {screen, Pid} -> Pid ! {screen, lists:reverse(Screen)};
        {io_request, From, Ref, Request} ->
            {Reply, Rest, Shown} = io(Request, Lines),
            From ! {io_reply, Ref, Reply},
            leader(Rest, [Shown | Screen])
    end.

io({get_geometry, columns}, none) -> {{error, enotsup}, none, []};
io({get_geometry, columns}, Lines) -> {80, Lines, []};
io({get_line, unicode, Prompt}, [Line | Rest]) -> {Line, Rest, Prompt};
io({put_chars, unicode, Chars}, Lines) -> {ok, Lines, Chars};
io({put_chars, unicode, M, F, A}, Lines) -> {ok, Lines, apply(M, F, A)}.
