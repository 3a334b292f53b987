%% MCP servers as processes: started, shared, confined, ended, and there again.
-module(beamai_mcp_process_tests).

-include_lib("eunit/include/eunit.hrl").

-import(mcp_servers, [in_order/1, connect/1, connect/2, kernel/1, call/3, processes/1, gone/1, close/1]).

real_servers_test_() ->
    in_order([
        {"death", fun a_server_that_dies_is_started_again/0},
        {"port", fun a_port_that_dies_takes_its_servers_and_both_come_back/0},
        {"close", fun a_closed_server_is_gone/0},
        {"sharing", fun equal_settings_share_a_process/0},
        {"environment", fun a_server_sees_what_it_is_given/0},
        {"confinement", fun a_server_is_confined_as_commands_are/0},
        {"denied starts", fun a_server_starts_no_program_that_a_rule_denies/0},
        {"news", fun tools_that_change_are_seen_on_refresh/0},
        {"data", fun a_connection_is_plain_data/0},
        {"without a kernel", fun a_tool_runs_without_a_kernel/0},
        {"agent", fun an_agent_calls_tools_of_a_server/0}
    ]).

a_server_that_dies_is_started_again() ->
    {Options, Kernel} = python(),
    Remember = fun() -> call(Kernel, <<"mcp__python__remember">>, #{<<"text">> => <<"x">>}) end,
    {ok, #{<<"text">> := <<"x">>}} = Remember(),
    {ok, #{<<"text">> := <<"x x">>}} = Remember(),
    {error, #{error_type := execution_failed, message := Message, details := Details}} =
        call(Kernel, <<"mcp__python__die">>, #{}),
    ?assertMatch(#{reason := mcp_server, stderr := _}, Details),
    [
        ?assertNotEqual({Part, nomatch}, {Part, binary:match(Message, Part)})
     || Part <- [<<"MCP server python">>, <<"code 3">>, <<"my last words">>, <<"starts it again">>]
    ],
    ?assertEqual({ok, #{<<"text">> => <<"x">>}}, Remember()),
    close(Options).

a_port_that_dies_takes_its_servers_and_both_come_back() ->
    {Options, Kernel} = python(),
    ?assertMatch([_ | _], processes(Options)),
    {ok, Owner, Port} = beamai_port:connect(),
    Monitor = erlang:monitor(process, Owner),
    {os_pid, OsPid} = erlang:port_info(Port, os_pid),
    _ = os:cmd("kill -KILL " ++ integer_to_list(OsPid)),
    receive {'DOWN', Monitor, process, Owner, _} -> ok end,
    gone(Options),
    ?assertEqual({ok, #{<<"structured">> => #{<<"sum">> => 2}}}, call(Kernel, <<"mcp__python__add">>, #{<<"a">> => 1})),
    close(Options).

a_closed_server_is_gone() ->
    [
        begin
            {ok, Connection} = beamai_mcp:connect(Options#{sandbox => best_effort}),
            ?assertMatch([_ | _], processes(Options)),
            ?assertEqual(ok, beamai_mcp:close(Connection)),
            ?assertEqual([], processes(Options)),
            ?assertEqual(ok, beamai_mcp:close(Connection))
        end
     || Options <- [mcp_servers:python(), mcp_servers:hostile("stays")]
    ].

equal_settings_share_a_process() ->
    Options = mcp_servers:python(),
    [One, Two] = [connect(Options), connect(Options#{trust_annotations => true, timeout => 5000})],
    Remember = fun(Kernel, Text) -> call(Kernel, <<"mcp__python__remember">>, #{<<"text">> => Text}) end,
    {ok, #{<<"text">> := <<"a">>}} = Remember(One, <<"a">>),
    ?assertEqual({ok, #{<<"text">> => <<"a b">>}}, Remember(Two, <<"b">>)),
    beamai_test:in_workspace(fun(Dir) ->
        Three = connect(Options, #{workspace => Dir}),
        ?assertEqual({ok, #{<<"text">> => <<"c">>}}, Remember(Three, <<"c">>))
    end),
    close(Options).

a_server_sees_what_it_is_given() ->
    true = os:putenv("MCP_SECRET", "s3cret"),
    beamai_test:in_workspace(fun(Dir) ->
        ok = file:make_dir(filename:join(Dir, "below")),
        Options = (mcp_servers:python())#{env => #{'TOKEN' => <<"t">>}, cwd => "below"},
        {ok, #{<<"structured">> := Told}} = call(connect(Options, #{workspace => Dir}), <<"mcp__python__whoami">>, #{}),
        ?assertEqual(filename:join(Dir, "below"), maps:get(<<"cwd">>, Told)),
        ?assertMatch(#{<<"env TOKEN">> := <<"t">>, <<"env PATH">> := _}, Told),
        ?assertNot(is_map_key(<<"env MCP_SECRET">>, Told)),
        {error, #{details := #{reason := outside_workspace}}} =
            beamai_mcp:connect(Options#{cwd => "..", workspace => Dir, sandbox => best_effort}),
        close(Options)
    end),
    os:unsetenv("MCP_SECRET").

a_server_is_confined_as_commands_are() ->
    beamai_test:in_workspace(fun(Dir) ->
        Elsewhere = beamai_test:workspace(),
        ok = file:write_file(filename:join(Dir, "secret.txt"), "s3cret"),
        Options = mcp_servers:python(),
        Kernel = connect(Options, #{
            workspace => Dir, sandbox => required, permissions => #{default => allow, deny => [<<"Read(secret.txt)">>]}
        }),
        Write = fun(Place) ->
            Path = filename:join(Place, "new"),
            call(Kernel, <<"mcp__python__write">>, #{<<"file">> => Path, <<"text">> => <<"x">>}),
            filelib:is_regular(Path)
        end,
        ?assertEqual({true, false}, {Write(Dir), Write(Elsewhere)}),
        case call(Kernel, <<"mcp__python__read">>, #{<<"file">> => filename:join(Dir, "secret.txt")}) of
            {ok, #{<<"text">> := Text}} -> ?assertEqual(<<>>, Text);
            {error, #{details := #{reason := tool_failed}}} -> ok
        end,
        beamai_test:remove(Elsewhere),
        close(Options)
    end).

a_server_starts_no_program_that_a_rule_denies() ->
    beamai_test:in_workspace(fun(Dir) ->
        #{command := Program, args := Args} = Python = mcp_servers:python(),
        Text = <<"env touch made; echo $? >code; /bin/cat code >read; exec \"$@\"">>,
        Options = Python#{command => <<"/bin/sh">>, args => [<<"-c">>, Text, <<"sh">>, Program | Args]},
        Kernel = connect(Options, #{
            workspace => Dir, sandbox => required, permissions => #{default => allow, deny => [<<"Bash(touch:*)">>]}
        }),
        ?assertMatch({ok, _}, call(Kernel, <<"mcp__python__remember">>, #{<<"text">> => <<"x">>})),
        %% Others start; the server goes on.
        ?assertEqual({ok, <<"126\n">>}, file:read_file(filename:join(Dir, "read"))),
        ?assertNot(filelib:is_file(filename:join(Dir, "made"))),
        close(Options)
    end).

tools_that_change_are_seen_on_refresh() ->
    Options = (mcp_servers:python())#{sandbox => best_effort},
    {ok, Connection} = beamai_mcp:connect(Options),
    ?assertMatch(#{name := <<"python">>, version := <<"1.2.3">>, instructions := <<"Tools for tests.">>}, beamai_mcp:info(Connection)),
    Has = fun(C) -> lists:member(<<"mcp__python__add">>, [Name || #{name := Name} <- beamai_mcp:tools(C)]) end,
    ?assert(Has(Connection)),
    Kernel = beamai_mcp:add(kernel(#{default => allow}), Connection),
    {ok, #{<<"text">> := <<"swapped">>}} = call(Kernel, <<"mcp__python__swap">>, #{}),
    ?assertMatch(
        {error, #{error_type := not_found, details := #{reason := unknown_tool}}},
        call(Kernel, <<"mcp__python__add">>, #{<<"a">> => 1})
    ),
    {ok, After} = beamai_mcp:refresh(Connection),
    ?assertNot(Has(After)),
    ?assertEqual(length(beamai_mcp:tools(Connection)) - 1, length(beamai_mcp:tools(After))),
    close(Options).

a_connection_is_plain_data() ->
    Options = (mcp_servers:python())#{sandbox => best_effort},
    {ok, Connection} = beamai_mcp:connect(Options),
    Stored = binary_to_term(term_to_binary(Connection), [safe]),
    ?assertEqual(Connection, Stored),
    Kernel = binary_to_term(term_to_binary(beamai_mcp:add(kernel(#{default => allow}), Stored)), [safe]),
    ?assertMatch({ok, _}, call(Kernel, <<"mcp__python__add">>, #{<<"a">> => 1})),
    ?assertError({duplicate_tool, <<"mcp__python__add">>}, beamai_mcp:add(Kernel, Connection)),
    close(Options).

a_tool_runs_without_a_kernel() ->
    Options = (mcp_servers:python())#{sandbox => best_effort, trust_annotations => true},
    {ok, Connection} = beamai_mcp:connect(Options),
    [Add] = [Spec || #{name := <<"mcp__python__add">>} = Spec <- beamai_mcp:tools(Connection)],
    ?assertEqual({ok, #{<<"structured">> => #{<<"sum">> => 8}}}, beamai_tool:invoke(Add, #{<<"a">> => 7})),
    {ok, Nif} = beamai_mcp:connect(Options#{kernel => beamai_kernel:new(#{door => nif, sandbox => best_effort})}),
    ?assertMatch(
        {error, #{details := #{reason := door_lost}}}, call(Nif, <<"mcp__python__add">>, #{<<"a">> => 7})
    ),
    close(Options).

an_agent_calls_tools_of_a_server() ->
    {Options, Kernel} = python(),
    Turns = [
        #{tool_calls => [{<<"mcp__python__add">>, #{<<"a">> => 20, <<"b">> => 22}}, {<<"mcp__python__describe">>, #{<<"thing">> => []}}]},
        fun(#{messages := Messages}) -> lists:last([C || #{role := tool, content := C} <- lists:droplast(Messages)]) end
    ],
    {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => Turns}), kernel => Kernel}),
    {ok, #{content := Content, tool_calls := 2}, _} = beamai_agent:run(Agent, <<"Add.">>),
    ?assertMatch({match, _}, re:run(Content, "42")),
    close(Options).

python() ->
    mcp_servers:connected(mcp_servers:python()).
