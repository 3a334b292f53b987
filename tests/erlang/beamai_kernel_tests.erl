-module(beamai_kernel_tests).

-include_lib("eunit/include/eunit.hrl").

-import(beamai_test, [kernel/1, tool/2, tool/3]).

echo(Name) ->
    tool(Name, fun(Args) -> {ok, Args} end).

%%% Making a kernel

a_kernel_is_plain_data_that_can_be_compared_test() ->
    Make = fun() -> beamai_kernel:add_tool_module(beamai_kernel:new(), my_tools) end,
    ?assertEqual(Make(), Make()),
    ?assertEqual(Make(), binary_to_term(term_to_binary(Make()))).

a_kernel_works_in_another_process_test() ->
    Kernel = kernel([echo(<<"echo">>)]),
    Result = beamai_test:alone(fun() -> beamai_kernel:invoke(Kernel, <<"echo">>, #{a => 1}) end),
    ?assertEqual({ok, #{a => 1}, #{}}, Result).

a_kernel_outlives_a_restart_of_the_application_test() ->
    Kernel = kernel([echo(<<"echo">>)]),
    {ok, _, _} = beamai_kernel:invoke(Kernel, <<"echo">>, #{}),
    ok = application:stop(beamai),
    {ok, _, _} = beamai_kernel:invoke(Kernel, <<"echo">>, #{}).

every_option_is_checked_test_() ->
    Bad = [
        #{workspace => 1},
        #{workspace => ""},
        #{workspace => [$/, $t | p]},
        #{workspace => [16#110000]},
        #{permissions => #{allow => [<<"Read">> | deny]}},
        #{skills => #{paths => ["/tmp" | none]}},
        #{skills => #{paths => [1]}},
        #{workspace => "/no/such/directory"},
        #{permissions => allow},
        #{permissions => #{default => perhaps}},
        #{permissions => #{allow => [42]}},
        #{permissions => #{allow => [<<"Bash(git">>]}},
        #{permissions => #{allowed => []}},
        #{approve => fun() -> allow end},
        #{ask_user => no},
        #{sandbox => strict},
        #{sandbox => #{netwrok => true}},
        #{sandbox => #{mode => strict}},
        #{sandbox => #{writable => "/one"}},
        #{sandbox => #{writable => [<<"~/x">>]}},
        #{sandbox => #{memory => 5}},
        #{sandbox => #{report => sometimes}},
        #{door => window},
        #{default_timeout => 0},
        #{default_timeout => soon},
        #{skills => #{paths => none}},
        #{skills => #{}},
        #{web => []},
        #{web => #{no_such => 1}},
        #{web => #{search => #{provider => brave, api_key => <<"two words">>}}},
        #{web => #{search => #{provider => brave}}},
        #{nonsense => 1}
    ],
    [
        {lists:flatten(io_lib:format("~0tp", [Options])),
            ?_assertError({bad_option, _}, beamai_kernel:new(Options))}
     || Options <- Bad
    ].

a_bad_option_is_explained_test() ->
    try
        beamai_kernel:new(#{agents => #{}})
    catch
        error:{bad_option, agents} = Reason:Stack ->
            #{general := Text} = beamai_validate:format_error(Reason, Stack),
            ?assertMatch(<<"agents: is not an option; the options are ", _/binary>>, Text)
    end.

%%% Tools

%% Whatever is passed by mistake: the reason names it, and the explanation says what is taken.
what_cannot_be_meant_is_explained_test_() ->
    Kernel = beamai_kernel:new(),
    Tool = tool(<<"t">>, fun(_) -> {ok, 1} end),
    Filter = beamai_filter:new(f, fun(Call, Next) -> Next(Call) end),
    [
        {lists:flatten(io_lib:format("~0p", [Reason])), fun() -> ?assert(is_explained(Reason, Wanted, Fun)) end}
     || {Reason, Wanted, Fun} <- [
            {{bad_kernel, x}, "beamai_kernel:new", fun() -> beamai_kernel:add_tool(x, Tool) end},
            {{bad_kernel, x}, "beamai_kernel:new", fun() -> beamai_kernel:add_tool_module(x, beamai_tool_file) end},
            {{bad_kernel, x}, "beamai_kernel:new", fun() -> beamai_kernel:add_filter(x, Filter) end},
            {{bad_kernel, x}, "beamai_kernel:new", fun() -> beamai_kernel:find_tool(x, <<"t">>) end},
            {{bad_kernel, x}, "beamai_kernel:new", fun() -> beamai_kernel:list_tools(x) end},
            {{bad_kernel, x}, "beamai_kernel:new", fun() -> beamai_kernel:get_tool_schemas(x, openai) end},
            {{bad_kernel, #{}}, "beamai_kernel:new", fun() -> beamai_kernel:invoke(#{}, <<"t">>, #{}) end},
            {{bad_kernel, x}, "beamai_kernel:new", fun() -> beamai_kernel:invoke_all(x, [], #{}) end},
            {{bad_kernel, x}, "beamai_kernel:new", fun() -> beamai_permission:explain(x, <<"t">>, #{}) end},
            {{bad_context, x}, "a map", fun() -> beamai_kernel:invoke(Kernel, <<"t">>, #{}, x) end},
            {{bad_context, x}, "a map", fun() -> beamai_kernel:invoke_all(Kernel, [], x) end},
            {{bad_context, x}, "a map", fun() -> beamai_tool:invoke(Tool, #{}, x) end},
            {{bad_context, x}, "a map", fun() -> beamai_permission:explain(Kernel, <<"t">>, #{}, x) end},
            {{bad_context, x}, "a map", fun() -> beamai_context:new(x) end},
            {{bad_calls, x}, "{Name, Args}", fun() -> beamai_kernel:invoke_all(Kernel, x, #{}) end},
            {{bad_calls, [a | b]}, "{Name, Args}", fun() -> beamai_kernel:invoke_all(Kernel, [a | b], #{}) end},
            {{bad_call, a}, "{Name, Args}", fun() -> beamai_kernel:invoke_all(Kernel, [a], #{}) end},
            {{bad_tools, Tool}, "a list of tool specs", fun() -> beamai_kernel:add_tools(Kernel, Tool) end},
            {{bad_tool_name, t}, "a binary", fun() -> beamai_kernel:remove_tool(Kernel, t) end},
            {{bad_tool_name, t}, "a binary", fun() -> beamai_kernel:select_tools(Kernel, [t]) end},
            {{bad_tool_name, <<"t">>}, "a list", fun() -> beamai_kernel:select_tools(Kernel, <<"t">>) end},
            {{bad_tool_module, "x"}, "an atom", fun() -> beamai_kernel:add_tool_module(Kernel, "x") end},
            {{bad_tool_module, lists}, "tools/0", fun() -> beamai_kernel:add_tool_module(Kernel, lists) end},
            {{bad_filter, x}, "beamai_filter:new", fun() -> beamai_kernel:add_filter(Kernel, x) end},
            {{bad_filter, #{name => f, handler => x}}, "a fun of two", fun() -> beamai_filter:new(f, x) end},
            {{bad_option, options}, "a map", fun() -> beamai_kernel:add_filter(Kernel, Filter, x) end},
            {{bad_option, scope}, "by_name", fun() -> beamai_kernel:add_filter(Kernel, Filter, #{scope => x}) end},
            {{bad_option, options}, "a map", fun() -> beamai_tool:new(<<"t">>, fun(_) -> {ok, 1} end, x) end},
            {{bad_option, strict}, "true or false", fun() -> beamai_tool:encode_schema(Tool, mcp, #{strict => x}) end},
            {{bad_provider, x}, "openai, openai_responses, anthropic, gemini or mcp, not x", fun() -> beamai_tool:to_tool_schema(Tool, x) end},
            {{bad_provider, x}, "a module that exports complete/2, not x", fun() -> beamai_chat:new(x, #{}) end},
            {{bad_tool_module, no_such_module}, "there is no such module", fun() -> beamai_kernel:add_tool_module(Kernel, no_such_module) end},
            {{duplicate_tool, <<"t">>}, "there is a tool \"t\" already", fun() -> beamai_kernel:add_tools(Kernel, [Tool, Tool]) end},
            {{duplicate_filter, f}, "there is a filter f already", fun() ->
                beamai_kernel:add_filter(beamai_kernel:add_filter(Kernel, Filter), Filter)
            end},
            {{bad_option, <<"workspace">>}, "because it is a binary; write the atom workspace", fun() ->
                beamai_kernel:new(#{<<"workspace">> => <<".">>})
            end},
            {{bad_option, permissions}, "default must be auto, allow, ask or deny, not \"allow\"", fun() ->
                beamai_kernel:new(#{permissions => #{default => <<"allow">>}})
            end},
            {{bad_option, sandbox}, "mode must be required, best_effort or off, not on", fun() -> beamai_kernel:new(#{sandbox => #{mode => on}}) end},
            {{bad_option, sandbox}, "nope is not an option; the options are mode, tier,", fun() -> beamai_kernel:new(#{sandbox => #{nope => 1}}) end},
            {{bad_option, web}, "search must be #{provider => searxng, base_url => Url}, not 5", fun() -> beamai_kernel:new(#{web => #{search => 5}}) end},
            {{bad_option, web}, "the provider of search must be searxng, brave or tavily, not bing", fun() ->
                beamai_kernel:new(#{web => #{search => #{provider => bing}}})
            end},
            {{bad_option, lsp}, "servers must be a map", fun() -> beamai_kernel:new(#{lsp => #{servers => 5}}) end},
            {{bad_placement, x}, "{tool, Name}, {tag, Tag}, {session, Id} or all, not x", fun() -> beamai_kernel:place(Kernel, x, node()) end},
            {{bad_agent, x}, "beamai_agent:new gives as {ok, Agent}, not x", fun() -> beamai_agent:run(x, <<"Hello">>) end},
            {{bad_agent, x}, "beamai_agent:new gives", fun() -> beamai_agent:resume(x, #{}) end},
            {{bad_agent, {ok, x}}, "beamai_agent:new gives", fun() -> beamai_agent:run({ok, x}, <<"Hello">>) end},
            {{bad_text, 5}, "a text in UTF-8, or a map with text and files, not 5", fun() -> beamai_agent:run(agent(), 5) end},
            {{bad_option, tool_choice}, "there is no tool named \"todo_lst\"; did you mean todo_list,", fun() ->
                beamai_agent:run(agent(), <<"Hello">>, #{tool_choice => {tool, <<"todo_lst">>}})
            end},
            {{bad_context, #{approve => x}}, "approve in a context must be a function of one argument, not x", fun() ->
                beamai_kernel:invoke(Kernel, <<"t">>, #{}, #{approve => x})
            end},
            {{bad_context, #{ask_user => x}}, "ask_user in a context must be a function of one", fun() ->
                beamai_agent:run(agent(), <<"Hello">>, #{context => #{ask_user => x}})
            end},
            {{bad_tools, x}, "as beamai_kernel:new gives it, or a list of tool specs, not x", fun() -> beamai_protocol:system_prompt(x) end},
            {{bad_text, x}, "a text, not x", fun() -> beamai_protocol:parse(x) end},
            {{bad_handler, x}, "a function of four arguments", fun() -> beamai_telemetry:attach(x, [], x, x) end},
            {{bad_events, x}, "such as [[beamai,tool,stop]], is wanted, not x", fun() -> beamai_telemetry:attach(x, x, fun(_, _, _, _) -> ok end, x) end},
            {{bad_option, output}, "is no JSON Schema: \"type\" must be string, integer, number, boolean, null, array, object, not \"float\"", fun() ->
                beamai_agent:run(agent(), <<"Hello">>, #{output => #{type => float}})
            end},
            {{bad_option, cacertfile}, "there is no file \"/no/such\"", fun() ->
                beamai_chat:new(openai, #{model => <<"m">>, cacertfile => "/no/such"})
            end},
            {{bad_option, store}, "there is no Mnesia table nope: start Mnesia and create the table with beamai_store_mnesia:create_table/2", fun() ->
                beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => []}), agent_id => <<"a">>, store => {beamai_store_mnesia, #{table => nope}}})
            end},
            {{bad_model, x}, "beamai_chat:new gives, not x", fun() -> beamai_chat:complete(x, <<"Hello">>) end},
            {{bad_request, #{}}, "a map with a list of messages", fun() -> beamai_chat:complete(beamai_chat:new(scripted, #{turns => []}), #{}) end},
            {{bad_option, formats}, "must be a list of tag, yaml, function or xml, each once, not x", fun() -> beamai_protocol:parse(<<>>, any, #{formats => [x]}) end},
            {{bad_option, format}, "the options are formats, repair", fun() -> beamai_protocol:parse(<<>>, any, #{format => x}) end},
            {{bad_option, settings}, "web: the kernel's settings are not valid", fun() -> beamai_kernel:new(#{web => #{nope => 1}}) end},
            {{bad_option, settings}, "permissions: permission rule \"Bash(\"", fun() -> beamai_kernel:new(#{permissions => #{deny => [<<"Bash(">>]}}) end},
            {{bad_option, agents}, "the name of an agent must be a binary", fun() -> beamai_kernel:new(#{agents => #{a => #{}}}) end},
            {{bad_option, headers}, "a list of pairs of a name and a value", fun() ->
                beamai_chat:new(openai, #{model => <<"m">>, headers => #{<<"authorization">> => <<"hunter2">>}})
            end}
        ]
    ].

agent() ->
    {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => [<<"Hello.">>]}), plugins => [beamai_tool_todo]}),
    Agent.

a_model_that_answers_wrongly_is_explained_test_() ->
    Failure = fun(Provider, Options) ->
        {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(Provider, Options)}),
        {error, {model, #{message := Message}}, _} = beamai_agent:run(Agent, <<"Hello">>),
        Message
    end,
    [
        ?_assertEqual(Message, Failure(Provider, Options))
     || {Provider, Options, Message} <- [
            {text, #{complete => fun(_) -> x end}, <<"the function in complete returned x; it returns {ok, Text}, with a binary, or {error, Reason}">>},
            {text, #{complete => fun(_) -> {ok, 5} end}, <<"the function in complete returned {ok,5}; it returns {ok, Text}, with a binary, or {error, Reason}">>},
            {text, #{complete => fun(_) -> {error, x} end}, <<"the function failed: x">>},
            {scripted, #{turns => [5]}, <<"the script is not valid: a turn must be a binary, a map of content and tool_calls, or a function, not 5">>},
            {scripted, #{turns => [#{tool_calls => [x]}]}, <<"the script is not valid: a call of a turn must be {Name, Args}, not x">>},
            {scripted, #{turns => [#{content => x}]},
                <<"the script is not valid: a turn has content, a binary, and tool_calls, a list, not #{content => x}">>},
            {scripted, #{turns => []}, <<"the script has no turn 1: it has 0">>}
        ]
    ].

failures_of_runs_are_sentences_test_() ->
    [
        ?_assertEqual(Text, beamai_agent:explain(Failure))
     || {Failure, Text} <- [
            {{max_iterations, 1}, <<"Ended: the model had not finished after 1 answer, the limit max_iterations.">>},
            {{max_iterations, 20}, <<"Ended: the model had not finished after 20 answers, the limit max_iterations.">>},
            {{store, {enoent, "/a"}}, <<"The store failed, so nothing more was done: \"/a\": no such file or directory">>},
            {{store, full}, <<"The store failed, so nothing more was done: full">>}
        ]
    ].

is_explained(Reason, Wanted, Fun) ->
    try Fun() of
        Value -> error({not_raised, Value})
    catch
        error:Reason:Stack ->
            [{_, _, _, Info} | _] = Stack,
            #{module := Module} = proplists:get_value(error_info, Info),
            #{general := Text} = Module:format_error(Reason, Stack),
            string:find(Text, Wanted) =/= nomatch
    end.

what_is_no_tool_spec_is_refused_where_it_is_called_too_test() ->
    ?assertError({invalid_tool, undefined, [<<"must be a map, not x">>]}, beamai_tool:invoke(x, #{})).

a_parameter_that_no_value_suits_is_refused_test_() ->
    Problems = fun(Param) ->
        {error, {invalid_tool, _, Found}} =
            beamai_tool:validate(#{name => <<"t">>, handler => fun(_) -> {ok, 1} end, parameters => #{a => Param}}),
        Found
    end,
    [
        {binary_to_list(Problem), ?_assertEqual([<<"parameters \"a\"", Problem/binary>>], Problems(Param))}
     || {Param, Problem} <- [
            {#{type => string, enum => [<<"x">>], default => <<"y">>}, <<": \"default\" must be one of \"x\", not \"y\"">>},
            {#{type => string, enum => [<<"x">>], default => y}, <<": \"default\" must be one of \"x\", not \"y\"">>},
            {#{type => integer, maximum => 3, default => 4}, <<": \"default\" must be at most 3, not 4">>},
            {#{type => array, items => #{type => integer}, default => [x]}, <<": \"default[0]\" must be integer, not x">>},
            {#{type => integer, enum => [<<"x">>]}, <<" enum must be of values of its type, integer, not \"x\"">>},
            {#{type => integer, minimum => 2, maximum => 1}, <<" minimum is over its maximum">>},
            {#{type => array, minItems => 2, maxItems => 1}, <<" minItems is over its maxItems">>}
        ]
    ].

what_a_server_says_of_a_parameter_and_cannot_be_is_left_out_test() ->
    Given = #{
        <<"a">> => #{<<"type">> => <<"integer">>, <<"minimum">> => 2, <<"maximum">> => 1},
        <<"b">> => #{<<"type">> => <<"string">>, <<"enum">> => [<<"x">>], <<"default">> => <<>>},
        <<"c">> => #{<<"type">> => <<"string">>, <<"default">> => null}
    },
    ?assertEqual(
        #{
            <<"a">> => #{type => integer},
            <<"b">> => #{type => string, enum => [<<"x">>]},
            <<"c">> => #{type => string, default => null}
        },
        beamai_catalogue:parameters(Given)
    ).

a_duplicate_name_is_refused_test() ->
    Kernel = kernel([echo(<<"echo">>)]),
    ?assertError({duplicate_tool, <<"echo">>}, beamai_kernel:add_tool(Kernel, echo(<<"echo">>))).

a_malformed_spec_is_refused_with_every_problem_test() ->
    Spec = #{name => <<"t">>, handler => 1, timeout => -1, colour => red},
    {error, {invalid_tool, <<"t">>, Problems}} = beamai_tool:validate(Spec),
    ?assertEqual(3, length(Problems)),
    ?assertError({invalid_tool, <<"t">>, Problems}, beamai_kernel:add_tool(beamai_kernel:new(), Spec)).

replace_tool_puts_another_in_its_place_test() ->
    Kernel = beamai_kernel:replace_tool(
        kernel([echo(<<"t">>)]), tool(<<"t">>, fun(_) -> {ok, new} end)
    ),
    ?assertMatch({ok, new, _}, beamai_kernel:invoke(Kernel, <<"t">>, #{})).

remove_tool_removes_it_test() ->
    Kernel = kernel([echo(<<"a">>), echo(<<"b">>)]),
    Left = beamai_kernel:remove_tool(beamai_kernel:remove_tool(Kernel, <<"a">>), <<"none">>),
    ?assertEqual(error, beamai_kernel:find_tool(Left, <<"a">>)),
    ?assertMatch([#{name := <<"b">>}], beamai_kernel:list_tools(Left)).

list_tools_gives_names_and_descriptions_in_name_order_test() ->
    Kernel = kernel([tool(<<"b">>, fun(_) -> {ok, 1} end, #{description => <<"B">>}), echo(<<"a">>)]),
    ?assertEqual(
        [
            #{name => <<"a">>, description => <<>>},
            #{name => <<"b">>, description => <<"B">>}
        ],
        beamai_kernel:list_tools(Kernel)
    ).

select_tools_ignores_unknown_names_test() ->
    Kernel = kernel([echo(<<"a">>), echo(<<"b">>), echo(<<"c">>)]),
    Some = beamai_kernel:select_tools(Kernel, [<<"c">>, <<"a">>, <<"zzz">>]),
    ?assertEqual([<<"a">>, <<"c">>], [N || #{name := N} <- beamai_kernel:list_tools(Some)]).

a_module_without_tools_is_refused_test() ->
    ?assertError({bad_tool_module, lists}, beamai_kernel:add_tool_module(beamai_kernel:new(), lists)),
    ?assertError(
        {bad_tool_module, no_such_mod}, beamai_kernel:add_tool_module(beamai_kernel:new(), no_such_mod)
    ).

a_name_of_any_kind_is_answered_test() ->
    [
        ?assertMatch(
            {error, #{error_type := not_found}}, beamai_kernel:invoke(kernel([echo(<<"a">>)]), Name, #{})
        )
     || Name <- [<<255, 0>>, <<>>, none, "a", 1, {a, self()}]
    ].

an_unknown_tool_gives_the_nearest_names_test() ->
    Kernel = kernel([echo(<<"file_read">>), echo(<<"file_write">>), echo(<<"shell">>)]),
    {error, Error} = beamai_kernel:invoke(Kernel, <<"file_raed">>, #{}),
    ?assertMatch(
        #{
            tool := <<"file_raed">>,
            error_type := not_found,
            details := #{reason := unknown_tool, nearest := [<<"file_read">> | _]}
        },
        Error
    ),
    ?assertMatch(
        <<"there is no tool named \"file_raed\"; did you mean file_read", _/binary>>,
        maps:get(message, Error)
    ).

a_name_that_is_no_binary_is_told_so_test() ->
    Kernel = kernel([echo(<<"file_read">>), echo(<<"shell">>)]),
    [
        begin
            {error, #{message := Message}} = beamai_kernel:invoke(Kernel, Name, #{}),
            ?assertEqual(
                iolist_to_binary([
                    "the name of a tool is a binary, not ", Shown, "; did you mean file_read?"
                ]),
                Message
            )
        end
     || {Name, Shown} <- [{file_read, "file_read"}, {"file_read", "\"file_read\""}]
    ].

a_context_without_a_usable_workspace_is_refused_test() ->
    Kernel = beamai_kernel:add_tool_module(beamai_kernel:new(), beamai_tool_file),
    [
        ?assertMatch(
            {error, #{tool := <<"file_list">>, error_type := invalid_input}},
            beamai_kernel:invoke(Kernel, <<"file_list">>, #{}, #{workspace => Path})
        )
     || Path <- [<<>>, "", 1, self(), [-1]]
    ].

a_name_that_resembles_none_lists_the_tools_test() ->
    {error, #{message := Message}} = beamai_kernel:invoke(kernel([echo(<<"a">>)]), <<"quux">>, #{}),
    ?assertEqual(<<"there is no tool named \"quux\"; the tools are a">>, Message).

arguments_are_checked_before_the_handler_runs_test() ->
    Me = self(),
    Tool = tool(<<"t">>, fun(_) -> Me ! ran end, #{
        parameters => #{<<"n">> => #{type => integer, required => true}}
    }),
    ?assertMatch(
        {error, #{error_type := invalid_input, tool := <<"t">>}},
        beamai_kernel:invoke(kernel([Tool]), <<"t">>, #{<<"m">> => 1})
    ),
    ?assertMatch(
        {error, #{error_type := invalid_input}}, beamai_kernel:invoke(kernel([Tool]), <<"t">>, [])
    ),
    ?assertEqual([], beamai_test:mailbox()).

schemas_come_for_every_provider_in_name_order_test() ->
    Kernel = beamai_kernel:add_tool_module(beamai_kernel:new(), my_tools),
    [
        ?assertEqual(2, length(beamai_kernel:get_tool_schemas(Kernel, Provider)))
     || Provider <- [openai, openai_responses, anthropic, gemini, mcp]
    ],
    [#{<<"name">> := <<"tool_a">>}, #{<<"name">> := <<"tool_b">>}] =
        beamai_kernel:get_tool_schemas(Kernel, anthropic, #{strict => false}),
    ?assertError({bad_provider, nobody}, beamai_kernel:get_tool_schemas(Kernel, nobody)),
    ?assertError({bad_option, loud}, beamai_kernel:get_tool_schemas(Kernel, openai, #{loud => true})).

encode_schema_gives_json_text_test() ->
    Tool = tool(<<"t">>, fun(_) -> {ok, 1} end, #{
        description => <<"says \"hi\"">>,
        parameters => #{<<"n">> => #{type => integer, required => true}}
    }),
    Json = beamai_tool:encode_schema(Tool, anthropic, #{}),
    ?assertMatch({match, _}, re:run(Json, "\"input_schema\"")),
    ?assertMatch({match, _}, re:run(Json, "says \\\\\"hi\\\\\"")).

no_atoms_are_made_from_schema_words_test() ->
    Name = <<"never_seen_before_parameter_", (beamai_temp_dir:random_name())/binary>>,
    Tool = tool(<<"t">>, fun(_) -> {ok, 1} end, #{parameters => #{Name => #{type => string}}}),
    #{<<"input_schema">> := #{properties := #{Name := _}}} =
        beamai_tool:to_tool_schema(Tool, anthropic),
    ?assertError(badarg, binary_to_existing_atom(Name)).

%%% Filters

log(Name, Me) ->
    beamai_filter:new(Name, fun(Call, Next) ->
        Me ! {before, Name},
        Result = Next(Call),
        Me ! {afterwards, Name},
        Result
    end).

the_first_filter_is_the_outermost_test() ->
    K0 = kernel([tool(<<"t">>, fun(_) -> {ok, 1} end)]),
    K1 = beamai_kernel:add_filter(K0, log(<<"outer">>, self())),
    K2 = beamai_kernel:add_filter(K1, log(<<"inner">>, self())),
    {ok, 1, #{}} = beamai_kernel:invoke(K2, <<"t">>, #{}),
    ?assertEqual(
        [
            {before, <<"outer">>},
            {before, <<"inner">>},
            {afterwards, <<"inner">>},
            {afterwards, <<"outer">>}
        ],
        drain()
    ).

drain() ->
    receive
        Message -> [Message | drain()]
    after 0 -> []
    end.

a_by_name_filter_runs_only_for_tools_that_list_it_test() ->
    Tools = [
        tool(<<"with">>, fun(_) -> {ok, 1} end, #{filters => [<<"log">>]}),
        tool(<<"without">>, fun(_) -> {ok, 1} end)
    ],
    Kernel = beamai_kernel:add_filter(kernel([]), log(<<"log">>, self()), #{scope => by_name}),
    K = beamai_kernel:add_tools(Kernel, Tools),
    {ok, 1, _} = beamai_kernel:invoke(K, <<"without">>, #{}),
    ?assertEqual([], drain()),
    {ok, 1, _} = beamai_kernel:invoke(K, <<"with">>, #{}),
    ?assertEqual(2, length(drain())).

a_tool_that_lists_a_filter_which_is_not_there_does_not_run_test() ->
    Kernel = kernel([tool(<<"t">>, fun(_) -> {ok, 1} end, #{filters => [audit]})]),
    ?assertMatch(
        {error, #{error_type := execution_failed, details := #{reason := missing_filter}}},
        beamai_kernel:invoke(Kernel, <<"t">>, #{})
    ),
    Whole = beamai_kernel:add_filter(Kernel, log(audit, self()), #{scope => by_name}),
    ?assertMatch({ok, 1, _}, beamai_kernel:invoke(Whole, <<"t">>, #{})),
    drain().

a_filter_changes_arguments_context_and_result_test() ->
    Filter = beamai_filter:new(change, fun(#{args := Args, context := Ctx} = Call, Next) ->
        {ok, Result, After} = Next(Call#{args := Args#{more => 1}, context := Ctx#{seen => true}}),
        {ok, {changed, Result}, After}
    end),
    Kernel = beamai_kernel:add_filter(kernel([echo(<<"t">>)]), Filter),
    ?assertEqual(
        {ok, {changed, #{more => 1}}, #{seen => true}}, beamai_kernel:invoke(Kernel, <<"t">>, #{})
    ).

a_filter_that_leaves_next_out_answers_itself_test() ->
    Filter = beamai_filter:new(cache, fun(#{context := Ctx}, _Next) -> {ok, cached, Ctx} end),
    Tool = tool(<<"t">>, fun(_) -> error(ran) end),
    Kernel = beamai_kernel:add_filter(kernel([Tool]), Filter),
    ?assertMatch({ok, cached, _}, beamai_kernel:invoke(Kernel, <<"t">>, #{})).

a_filter_that_calls_next_twice_retries_test() ->
    Counter = counters:new(1, []),
    Tool = tool(<<"t">>, fun(_) ->
        counters:add(Counter, 1, 1),
        case counters:get(Counter, 1) of
            1 -> {error, flaky};
            N -> {ok, N}
        end
    end),
    Filter = beamai_filter:new(again, fun(Call, Next) ->
        case Next(Call) of
            {error, flaky} -> Next(Call);
            Result -> Result
        end
    end),
    Kernel = beamai_kernel:add_filter(kernel([Tool]), Filter),
    ?assertMatch({ok, 2, _}, beamai_kernel:invoke(Kernel, <<"t">>, #{})).

filters_run_in_the_callers_process_test() ->
    Filter = beamai_filter:new(who, fun(#{context := Ctx}, _Next) -> {ok, self(), Ctx} end),
    Kernel = beamai_kernel:add_filter(kernel([echo(<<"t">>)]), Filter),
    ?assertEqual({ok, self(), #{}}, beamai_kernel:invoke(Kernel, <<"t">>, #{})).

what_a_filter_does_wrong_becomes_an_error_test() ->
    With = fun(Fun) ->
        Kernel = beamai_kernel:add_filter(kernel([echo(<<"t">>)]), beamai_filter:new(f, Fun)),
        {error, #{error_type := execution_failed, details := #{reason := Reason}}} =
            beamai_kernel:invoke(Kernel, <<"t">>, #{}),
        Reason
    end,
    ?assertEqual(crash, With(fun(_, _) -> error(oops) end)),
    ?assertEqual(bad_filter, With(fun(_, _) -> ok end)),
    ?assertEqual(bad_filter, With(fun(Call, Next) -> Next(Call#{tool := <<"other">>}) end)).

filters_are_added_once_and_checked_test() ->
    Kernel = beamai_kernel:add_filter(kernel([]), log(a, self())),
    ?assertError({duplicate_filter, a}, beamai_kernel:add_filter(Kernel, log(a, self()))),
    ?assertError({bad_filter, x}, beamai_kernel:add_filter(Kernel, x)),
    ?assertError({bad_option, scope}, beamai_kernel:add_filter(Kernel, log(b, self()), #{scope => some})).

%%% The default workspace

%% A release that is started there would hand the whole disk to the tools, or every file of its user.
the_root_and_the_home_directory_are_workspaces_only_by_name_test() ->
    {ok, Before} = file:get_cwd(),
    {ok, Home} = case os:getenv("HOME") of false -> {ok, Before}; Path -> {ok, Path} end,
    try
        [
            begin
                ok = file:set_cwd(Directory),
                [?assertMatch({match, _}, re:run(fault(New), Says))
                 || New <- [fun() -> beamai_kernel:new() end, fun() -> beamai_kernel:new(#{sandbox => off}) end],
                    Says <- [What, "pass workspace => Directory"]],
                ?assertMatch(#{}, beamai_kernel:new(#{workspace => "."})),
                ?assertMatch(#{}, beamai_kernel:new(#{workspace => Directory}))
            end
         || {Directory, What} <- [{"/", "root of the file system"}, {Home, "home directory"}]
        ]
    after
        ok = file:set_cwd(Before)
    end.

fault(Fun) ->
    try Fun() of
        _ -> none
    catch
        error:{bad_option, workspace} = Reason:Stack ->
            maps:get(general, beamai_validate:format_error(Reason, Stack))
    end.

%%% Keys

a_search_key_is_in_nothing_that_is_printed_or_raised_test() ->
    Key = <<"hush-hush-1234">>,
    Search = #{provider => brave, api_key => Key},
    Kernel = beamai_kernel:add_tool_module(beamai_kernel:new(#{web => #{search => Search}}), beamai_tool_web),
    Shown = fun(Term) -> unicode:characters_to_binary(io_lib:format("~p ~w", [Term, Term])) end,
    ?assertEqual(nomatch, binary:match(Shown(Kernel), Key)),
    %% As bytes, too: the encoded environment is shown as such.
    ?assertEqual(nomatch, binary:match(maps:get(env, Kernel), Key)),
    [
        ?assertMatch({'EXIT', {{bad_option, web}, _}}, Failed)
     || Bad <- [<<"hush hush">>, <<>>, 5],
        Failed <- [catch beamai_kernel:new(#{web => #{search => Search#{api_key => Bad}}})],
        nomatch =:= binary:match(Shown(Failed), <<"hush hush">>) orelse error(Failed)
    ],
    %% Still plain data, and the same for the same key.
    ?assertMatch(#{}, binary_to_term(term_to_binary(Kernel))),
    ?assertEqual(Kernel, beamai_kernel:add_tool_module(beamai_kernel:new(#{web => #{search => Search}}), beamai_tool_web)).

a_search_key_reaches_the_engine_and_only_there_test() ->
    {ok, Listener} = gen_tcp:listen(0, [binary, {active, false}, {ip, {127, 0, 0, 1}}, {packet, raw}]),
    {ok, Port} = inet:port(Listener),
    Me = self(),
    Serve = fun Serve() ->
        {ok, Socket} = gen_tcp:accept(Listener),
        {ok, Head} = gen_tcp:recv(Socket, 0, 5000),
        Me ! {head, Head},
        Body = <<"{\"results\": []}">>,
        ok = gen_tcp:send(Socket, ["HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ",
            integer_to_list(byte_size(Body)), "\r\n\r\n", Body]),
        gen_tcp:close(Socket),
        Serve()
    end,
    Server = spawn_link(Serve),
    Address = iolist_to_binary(["127.0.0.1:", integer_to_list(Port)]),
    Kernel = fun(Key) ->
        beamai_kernel:add_tool_module(
            beamai_kernel:new(#{
                permissions => #{allow => [<<"WebSearch">>]},
                web => #{
                    allow_addresses => [Address],
                    search => #{provider => searxng, base_url => <<"http://", Address/binary>>, api_key => Key}
                }
            }),
            beamai_tool_web
        )
    end,
    Args = #{<<"query">> => <<"q">>},
    [
        begin
            ?assertMatch({ok, #{<<"count">> := 0}, _}, beamai_kernel:invoke(Kernel(Key), <<"web_search">>, Args)),
            receive
                {head, Head} -> ?assertNotEqual(nomatch, binary:match(Head, <<"Bearer k-1">>))
            after 30000 -> error(no_request)
            end
        end
     || Key <- [<<"k-1">>, "k-1", fun() -> <<"k-1">> end]
    ],
    {error, #{message := Message}} =
        beamai_kernel:invoke(Kernel(fun() -> error({oops, <<"hush">>}) end), <<"web_search">>, Args),
    ?assertMatch({match, _}, re:run(Message, "api_key => Fun")),
    unlink(Server),
    exit(Server, kill),
    gen_tcp:close(Listener).
