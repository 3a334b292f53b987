%% The MCP client against real servers over HTTP.
-module(beamai_mcp_http_tests).

-include_lib("eunit/include/eunit.hrl").

-import(mcp_servers, [in_order/1, serving/2, connect/1, connect/2, kernel/1, call/3, call/4, work/2]).

real_servers_test_() ->
    in_order([
        {"a reference server", fun a_reference_server/0},
        {"our own server", fun our_own_server/0},
        {"in sessions", fun() -> the_python_server("sessions") end},
        {"in JSON", fun() -> the_python_server("json") end},
        {"without sessions", fun() -> the_python_server("stateless") end},
        {"progress", fun progress_reaches_the_context/0},
        {"questions", fun questions_reach_the_user/0},
        {"together", fun many_calls_run_at_once/0},
        {"long calls together", fun long_calls_do_not_wait_for_each_other/0},
        {"death", fun a_server_that_dies_ends_its_calls_and_may_come_back/0},
        {"sessions", fun equal_settings_share_a_session/0},
        {"port", fun a_port_that_dies_is_connected_again/0},
        {"news", fun tools_that_change_are_seen_on_refresh/0},
        {"data", fun a_connection_shows_no_key/0},
        {"reference server again", fun a_reference_server_that_was_started_again/0}
    ]).

a_reference_server() ->
    serving(mcp_servers:everything_http(), fun(#{options := Options}) ->
        Kernel = connect(Options),
        ?assertEqual(
            {ok, #{<<"text">> => <<"Echo: hé"/utf8>>}},
            call(Kernel, <<"mcp__everything__echo">>, #{message => <<"hé"/utf8>>})
        ),
        ?assertMatch(
            {ok, #{<<"structured">> := #{<<"temperature">> := _}}},
            call(Kernel, <<"mcp__everything__get-structured-content">>, #{<<"location">> => <<"Chicago">>})
        ),
        Self = self(),
        Long = #{<<"duration">> => 1, <<"steps">> => 2},
        {ok, _} = call(Kernel, <<"mcp__everything__trigger-long-running-operation">>, Long, #{progress => Self, run_id => r}),
        ?assertMatch([_ | _], [P || {beamai_progress, r, P} <- beamai_test:mailbox()]),
        ok = beamai_mcp:close(Options)
    end).

%% It says of a session that it does not know that it is a bad request.
a_reference_server_that_was_started_again() ->
    serving(mcp_servers:everything_http(), fun(#{options := Options} = Served) ->
        Kernel = connect(Options),
        Echo = fun() -> call(Kernel, <<"mcp__everything__echo">>, #{<<"message">> => <<"a">>}) end,
        {ok, #{<<"text">> := <<"Echo: a">>} = First} = Echo(),
        ?assertNot(is_map_key(<<"note">>, First)),
        ok = mcp_servers:restart(Served),
        ?assertMatch({ok, #{<<"text">> := <<"Echo: a">>, <<"note">> := <<"The server had lost its session", _/binary>>}}, Echo()),
        ?assertEqual({ok, First}, Echo()),
        ok = beamai_mcp:close(Options)
    end).

our_own_server() ->
    beamai_test:in_workspace(fun(Dir) ->
        serving(mcp_servers:own_http(Dir), fun(#{options := Options}) ->
            {ok, Connection} = beamai_mcp:connect(Options),
            ?assertMatch(#{name := <<"beamai", _/binary>>, protocol := <<"2025-11-25">>}, beamai_mcp:info(Connection)),
            Kernel = beamai_mcp:add(kernel(#{default => allow}), Connection),
            Write = #{<<"path">> => <<"a">>, <<"content">> => <<"one\n">>},
            {ok, #{<<"structured">> := #{<<"operation">> := <<"created">>}}} = call(Kernel, <<"mcp__own__file_write">>, Write),
            ?assertEqual({ok, <<"one\n">>}, file:read_file(filename:join(Dir, "a"))),
            ?assertMatch(
                {error, #{error_type := execution_failed, details := #{reason := tool_failed}}},
                call(Kernel, <<"mcp__own__file_read">>, #{<<"path">> => <<"b">>})
            ),
            Run = #{<<"command">> => <<"echo hello">>},
            {ok, #{<<"structured">> := #{<<"stdout">> := <<"hello\n">>}}} = call(Kernel, <<"mcp__own__shell_exec">>, Run),
            ok = beamai_mcp:close(Options)
        end)
    end).

the_python_server(How) ->
    serving(mcp_servers:python_http(How), fun(#{options := Options}) ->
        Kernel = connect(Options),
        ?assertEqual({ok, #{<<"structured">> => #{<<"sum">> => 3}}}, call(Kernel, <<"mcp__python__add">>, #{<<"a">> => 2})),
        ?assertMatch(
            {error, #{error_type := execution_failed, details := #{reason := tool_failed}}},
            call(Kernel, <<"mcp__python__fail">>, #{<<"text">> => <<"the disk is full">>})
        ),
        Long = binary:copy(<<"0123456789">>, 150000),
        ?assertMatch(
            {ok, #{<<"text_bytes">> := 1500000}}, call(Kernel, <<"mcp__python__remember">>, #{<<"text">> => Long})
        ),
        ok = beamai_mcp:close(Options)
    end).

progress_reaches_the_context() ->
    python(fun(Kernel, _) ->
        beamai_test:in_workspace(fun(Dir) ->
            {ok, #{<<"text">> := <<"done">>}} =
                call(Kernel, <<"mcp__python__work">>, work(Dir, 0.4), #{progress => self(), run_id => work}),
            Told = [Progress || {beamai_progress, work, Progress} <- beamai_test:mailbox()],
            ?assertEqual([0.0, 1.0, 2.0, 3.0], [Part * 1.0 || #{<<"progress">> := Part} <- Told])
        end)
    end).

questions_reach_the_user() ->
    python(fun(Kernel, _) ->
        Answer = fun(Questions) -> {ok, maps:from_list([{Q, <<"2">>} || #{<<"question">> := Q} <- Questions])} end,
        Order = fun(Context) -> call(Kernel, <<"mcp__python__order">>, #{}, Context) end,
        ?assertEqual({ok, #{<<"text">> => <<"2 x 2">>}}, Order(#{ask_user => Answer})),
        ?assertEqual({ok, #{<<"text">> => <<"decline">>}}, Order(#{}))
    end).

many_calls_run_at_once() ->
    python(fun(Kernel, _) ->
        Numbers = lists:seq(1, 50),
        Calls = [{<<"mcp__python__add">>, #{<<"a">> => N, <<"b">> => 0}} || N <- Numbers],
        {Outcomes, _} = beamai_kernel:invoke_all(Kernel, Calls, #{}),
        ?assertEqual([{ok, #{<<"structured">> => #{<<"sum">> => N}}} || N <- Numbers], Outcomes)
    end).

long_calls_do_not_wait_for_each_other() ->
    serving(mcp_servers:hostile_http("waits"), fun(#{options := Options}) ->
        Kernel = connect(Options),
        Started = erlang:monotonic_time(second),
        {Outcomes, _} = beamai_kernel:invoke_all(Kernel, [{<<"mcp__hostile__go">>, #{}} || _ <- lists:seq(1, 40)], #{}),
        ?assertEqual([{ok, #{<<"text">> => <<"waited">>}}], lists:usort(Outcomes)),
        %% One after another they take two minutes.
        ?assert(erlang:monotonic_time(second) - Started < 60),
        ok = beamai_mcp:close(Options)
    end).

%%% Servers that go, and come back

a_server_that_dies_ends_its_calls_and_may_come_back() ->
    serving(mcp_servers:python_http("sessions"), fun(#{options := Options} = Served) ->
        Kernel = connect(Options, #{default_timeout => 60000}),
        beamai_test:in_workspace(fun(Dir) ->
            #{<<"file">> := File} = Args = work(Dir, 60),
            Self = self(),
            Calls = [
                spawn_link(fun() -> Self ! {self(), call(Kernel, <<"mcp__python__work">>, Args)} end)
             || _ <- [1, 2, 3]
            ],
            beamai_test:eventually(fun() -> file:read_file(File) =:= {ok, <<"working">>} end),
            timer:sleep(500),
            {error, #{message := Died, details := #{reason := mcp_server}}} = call(Kernel, <<"mcp__python__die">>, #{}),
            says(Died, [<<"the MCP server python (http://127.0.0.1:">>, <<"was incomplete">>, <<"unknown">>]),
            [
                receive
                    {Call, Outcome} -> ?assertMatch({error, #{details := #{reason := mcp_server}}}, Outcome)
                end
             || Call <- Calls
            ]
        end),
        Add = fun() -> call(Kernel, <<"mcp__python__add">>, #{<<"a">> => 1}) end,
        %% Its connections end before it does: until then, a new one may be accepted and ended, too.
        IsRefused = fun() -> {error, #{message := Message}} = Add(), binary:match(Message, <<"connection refused">>) =/= nomatch end,
        beamai_test:eventually(IsRefused),
        {error, #{message := Gone, details := #{reason := network}}} = Add(),
        says(Gone, [<<"the MCP server python">>, <<"connection refused">>]),
        ok = mcp_servers:restart(Served),
        ?assertMatch({ok, #{<<"structured">> := #{<<"sum">> := 2}, <<"note">> := _}}, Add()),
        ?assertEqual({ok, #{<<"structured">> => #{<<"sum">> => 2}}}, Add()),
        ok = beamai_mcp:close(Options)
    end).

equal_settings_share_a_session() ->
    serving(mcp_servers:hostile_http("counts"), fun(#{options := Options} = Served) ->
        [One, Two] = [connect(Options), connect(Options#{trust_annotations => true})],
        Sessions = fun() -> lists:usort([S || {<<"POST">>, <<"tools/call">>, S, _} <- mcp_servers:asked(Served)]) end,
        {ok, _} = call(One, <<"mcp__hostile__go">>, #{}),
        {ok, _} = call(Two, <<"mcp__hostile__go">>, #{}),
        ?assertEqual([<<"s1">>], Sessions()),
        beamai_test:in_workspace(fun(Dir) ->
            {ok, _} = call(connect(Options, #{workspace => Dir}), <<"mcp__hostile__go">>, #{}),
            ?assertEqual([<<"s1">>, <<"s2">>], Sessions())
        end),
        ok = beamai_mcp:close(Options),
        Ended = [S || {<<"DELETE">>, <<"end">>, S, _} <- mcp_servers:asked(Served)],
        ?assertEqual([<<"s1">>, <<"s2">>], lists:sort(Ended)),
        %% The next call begins another one.
        {ok, _} = call(One, <<"mcp__hostile__go">>, #{}),
        ?assertEqual([<<"s1">>, <<"s2">>, <<"s3">>], Sessions()),
        ok = beamai_mcp:close(Options)
    end).

a_port_that_dies_is_connected_again() ->
    python(fun(Kernel, _) ->
        {ok, Owner, Port} = beamai_port:connect(),
        Monitor = erlang:monitor(process, Owner),
        {os_pid, OsPid} = erlang:port_info(Port, os_pid),
        _ = os:cmd("kill -KILL " ++ integer_to_list(OsPid)),
        receive {'DOWN', Monitor, process, Owner, _} -> ok end,
        ?assertEqual({ok, #{<<"structured">> => #{<<"sum">> => 2}}}, call(Kernel, <<"mcp__python__add">>, #{<<"a">> => 1}))
    end).

tools_that_change_are_seen_on_refresh() ->
    serving(mcp_servers:python_http("sessions"), fun(#{options := Options}) ->
        {ok, Connection} = beamai_mcp:connect(Options),
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
        ok = beamai_mcp:close(Options)
    end).

%%% Keys

a_connection_shows_no_key() ->
    serving(mcp_servers:hostile_http("counts"), fun(#{options := Options} = Served) ->
        [Key, Asked] = [<<"t0ken-t0ken">>, <<"qu3ry-qu3ry">>],
        Url = unicode:characters_to_binary([maps:get(url, Options), "?key=", Asked]),
        Given = Options#{url := Url, headers => #{'Authorization' => <<"Bearer ", Key/binary>>}},
        {ok, Connection} = beamai_mcp:connect(Given),
        Kernel = beamai_mcp:add(kernel(#{default => allow}), Connection),
        {ok, #{handler := _} = Spec} = beamai_kernel:find_tool(Kernel, <<"mcp__hostile__go">>),
        [
            ?assertEqual(nomatch, string:find(io_lib:format(Format, [Term]), Secret))
         || Format <- ["~p", "~0tp", "~w"], Term <- [Connection, Kernel, Spec], Secret <- [Key, Asked]
        ],
        Stored = binary_to_term(term_to_binary(Kernel)),
        ?assertEqual(Kernel, Stored),
        {ok, _} = call(Stored, <<"mcp__hostile__go">>, #{}),
        ?assertEqual([<<"Bearer ", Key/binary>>], lists:usort([A || {_, _, _, A} <- mcp_servers:asked(Served)])),
        ok = beamai_mcp:close(Connection),
        %% A fun is asked each time.
        persistent_term:put(?MODULE, <<"one">>),
        Renewed = Options#{headers => #{<<"authorization">> => fun() -> persistent_term:get(?MODULE) end}},
        Fresh = connect(Renewed),
        persistent_term:put(?MODULE, <<"two">>),
        {ok, _} = call(Fresh, <<"mcp__hostile__go">>, #{}),
        ?assertMatch({<<"POST">>, <<"tools/call">>, _, <<"two">>}, last_call(Served)),
        persistent_term:put(?MODULE, none),
        ?assertMatch(
            {error, #{details := #{reason := not_configured}, message := <<"the fun for the header authorization", _/binary>>}},
            call(Fresh, <<"mcp__hostile__go">>, #{})
        ),
        [begin persistent_term:put(?MODULE, Token), ok = beamai_mcp:close(Renewed) end || Token <- [<<"one">>, <<"two">>]],
        persistent_term:erase(?MODULE)
    end).

last_call(Served) ->
    lists:last([Asked || {_, <<"tools/call">>, _, _} = Asked <- mcp_servers:asked(Served)]).

%%% Helpers

python(Fun) ->
    serving(mcp_servers:python_http("sessions"), fun(#{options := Options}) ->
        Fun(connect(Options, #{default_timeout => 100000}), Options),
        ok = beamai_mcp:close(Options)
    end).

says(Message, Parts) ->
    [?assertNotEqual({Message, nomatch}, {Message, binary:match(Message, Part)}) || Part <- Parts].
