%% Models are offered the tools that can work, and no others.
-module(beamai_agent_tools_tests).

-include_lib("eunit/include/eunit.hrl").

-define(QUESTION, #{<<"questions">> => [#{<<"question">> => <<"Which?">>}]}).

a_question_is_offered_where_somebody_can_be_asked_test_() ->
    Ask = fun(_Questions) -> {ok, #{<<"Which?">> => <<"this">>}} end,
    [
        {timeout, 60, fun() ->
            K = beamai_kernel:add_tool_module(beamai_kernel:new(Options), Module),
            ?assertEqual({Name, Expected}, {Name, lists:member(Name, offered(K, #{context => Context}))}),
            %% The kernel of the agent has it all the same.
            ?assertMatch({ok, _}, beamai_kernel:find_tool(beamai_agent:kernel(agent(K, [])), Name))
        end}
     || {Module, Name} <- [{beamai_tool_human, <<"human_input">>}, {beamai_dialect_microai, <<"AskUserQuestion">>}],
        {Options, Context, Expected} <- [
            {#{}, #{}, false}, {#{ask_user => Ask}, #{}, true}, {#{}, #{ask_user => Ask}, true}
        ]
    ].

a_question_that_was_not_offered_is_answered_with_what_to_do_instead_test() ->
    K = beamai_kernel:add_tool_module(beamai_kernel:new(), beamai_tool_human),
    Said = fun(#{messages := Messages}) -> maps:get(content, lists:last(Messages)) end,
    {ok, #{content := Text}, _} = beamai_agent:run(agent(K, [#{tool_calls => [{<<"human_input">>, ?QUESTION}]}, Said]), <<"go">>),
    ?assertNotEqual(nomatch, string:find(Text, <<"Decide by yourself">>), Text).

language_servers_are_offered_where_one_is_of_use_test() ->
    Off = maps:from_list([{Language, #{disabled => true}} || Language <- [sh, python, c, rust, go, typescript, erlang]]),
    Own = maps:put(zig, #{command => [<<"/bin/sh">>], extensions => [<<"zig">>]}, Off),
    Names = fun(Servers, Files) ->
        Dir = beamai_test:workspace(),
        [ok = file:write_file(filename:join(Dir, File), <<>>) || File <- Files],
        K = beamai_kernel:add_tool_module(beamai_kernel:new(#{workspace => Dir, lsp => #{servers => Servers}}), beamai_tool_lsp),
        ?assertEqual([<<"lsp">>, <<"lsp_diagnostics">>], [Name || #{name := Name} <- beamai_kernel:list_tools(K)]),
        offered(K, #{})
    end,
    ?assertEqual([], Names(Off, [])),
    ?assertEqual([<<"lsp">>, <<"lsp_diagnostics">>], Names(Own, [])),
    ?assertEqual([], Names(Own, ["a.py"])),
    ?assertEqual([<<"lsp">>, <<"lsp_diagnostics">>], Names(Own, ["a.py", "a.zig"])).

a_sub_agent_asks_whom_its_caller_asks_test() ->
    Tell = fun(#{kernel := #{tools := Tools}}) -> iolist_to_binary(lists:join(" ", lists:sort(maps:keys(Tools)))) end,
    Helper = #{description => <<"Helps.">>, llm => beamai_chat:new(scripted, #{turns => [Tell]}), tools => [<<"human_input">>]},
    K = beamai_kernel:add_tool_module(beamai_kernel:new(#{permissions => #{default => allow}}), beamai_tool_human),
    Call = {<<"task">>, #{<<"agent">> => <<"helper">>, <<"objective">> => <<"help">>}},
    Last = fun(#{messages := Messages}) -> maps:get(content, lists:last(Messages)) end,
    Lead = beamai_chat:new(scripted, #{turns => [#{tool_calls => [Call]}, Last]}),
    {ok, Agent} = beamai_agent:new(#{llm => Lead, kernel => K, agents => #{<<"helper">> => Helper}}),
    Ask = fun(_Questions) -> cancelled end,
    [
        begin
            {ok, #{content := Text}, _} = beamai_agent:run(Agent, <<"go">>, #{context => Context}),
            ?assertEqual(Expected, string:find(Text, <<"human_input">>) =/= nomatch)
        end
     || {Context, Expected} <- [{#{}, false}, {#{ask_user => Ask}, true}]
    ].

agent(K, Turns) ->
    {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => Turns}), kernel => K}),
    Agent.

%% The tools of the request that the model gets.
offered(K, Options) ->
    Self = self(),
    Turn = fun(#{kernel := #{tools := Tools}}) -> Self ! {offered, lists:sort(maps:keys(Tools))}, <<"done">> end,
    {ok, _, _} = beamai_agent:run(agent(K, [Turn]), <<"go">>, Options),
    receive {offered, Names} -> Names end.
