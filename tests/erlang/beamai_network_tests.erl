%% The network of commands by name: the option, the rules, and who is asked.
-module(beamai_network_tests).

-include_lib("eunit/include/eunit.hrl").

%% A server of HTTP under this machine's name, which is not `localhost': that is the command's own machine.
with_server(Test) ->
    {ok, Name} = inet:gethostname(),
    {ok, Ip} = inet:getaddr(Name, inet),
    {ok, Listening} = gen_tcp:listen(0, [binary, {active, false}, {reuseaddr, true}, {ip, Ip}]),
    {ok, Port} = inet:port(Listening),
    Heard = ets:new(heard, [public, bag]),
    Server = spawn_link(fun() -> serve(Listening, Heard) end),
    Dir = filename:join("/var/tmp", "beamai-network-" ++ integer_to_list(erlang:unique_integer([positive]))),
    ok = file:make_dir(Dir),
    Text = fun(Format, Values) -> iolist_to_binary(io_lib:format(Format, Values)) end,
    try
        Test(#{
            dir => Dir,
            place => Text("~s:~b", [string:lowercase(Name), Port]),
            address => Text("~s:~b", [inet:ntoa(Ip), Port]),
            heard => Heard
        })
    after
        unlink(Server),
        exit(Server, kill),
        gen_tcp:close(Listening),
        ets:delete(Heard),
        file:del_dir_r(Dir)
    end.

serve(Listening, Heard) ->
    {ok, Socket} = gen_tcp:accept(Listening),
    {ok, Request} = gen_tcp:recv(Socket, 0),
    ets:insert(Heard, {request, Request}),
    ok = gen_tcp:send(Socket, <<"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello">>),
    gen_tcp:close(Socket),
    serve(Listening, Heard).

kernel(#{dir := Dir, address := Address}, Options) ->
    Usual = #{workspace => Dir, permissions => #{default => allow}, web => #{allow_addresses => [Address]}},
    beamai_kernel:add_tool_module(beamai_kernel:new(maps:merge(Usual, Options)), beamai_tool_shell).

get_it(Kernel, #{place := Place}, Context) ->
    Command = <<"curl -sS http://", Place/binary, "/">>,
    {ok, Result, _} = beamai_kernel:invoke(Kernel, <<"shell_exec">>, #{command => Command}, Context),
    Result.

rule(#{place := Place}) ->
    <<"Network(domain:", Place/binary, ")">>.

a_listed_name_is_reached_and_another_is_not_test_() ->
    {timeout, 60, fun() ->
        with_server(fun(#{place := Place} = Server) ->
            Listed = get_it(kernel(Server, #{sandbox => #{network => [Place]}}), Server, #{}),
            ?assertMatch(#{<<"stdout">> := <<"hello">>, <<"network">> := [#{<<"name">> := Place, <<"reached">> := 1}]}, Listed),
            Rule = rule(Server),
            Other = get_it(kernel(Server, #{sandbox => #{network => ["*.example.com", <<"example.org:443">>]}}), Server, #{}),
            ?assertMatch(#{<<"network">> := [#{<<"refused">> := 1, <<"wanted">> := Rule}]}, Other),
            ByRule = kernel(Server, #{permissions => #{default => allow, allow => [Rule]}}),
            ?assertMatch(#{<<"stdout">> := <<"hello">>}, get_it(ByRule, Server, #{})),
            Off = kernel(Server, #{permissions => #{default => allow, allow => [Rule]}, sandbox => #{network => false}}),
            Nothing = get_it(Off, Server, #{}),
            ?assertNotEqual(0, maps:get(<<"exit_code">>, Nothing)),
            ?assertNot(is_map_key(<<"network">>, Nothing))
        end)
    end}.

a_new_name_is_asked_about_test_() ->
    {timeout, 60, fun() ->
        with_server(fun(#{place := Place} = Server) ->
            Me = self(),
            Approve = fun(Request) -> Me ! {asked, Request}, allow end,
            Kernel = kernel(Server, #{approve => Approve, sandbox => #{network => []}}),
            ?assertMatch(#{<<"stdout">> := <<"hello">>}, get_it(Kernel, Server, #{})),
            Rule = rule(Server),
            receive
                {asked, Request} ->
                    ?assertMatch(#{tool := <<"shell_exec">>, rule := <<"Network">>, subject := Rule, wanted := [Rule]}, Request),
                    ?assertNotEqual(nomatch, binary:match(maps:get(message, Request), Place))
            end,
            Refusing = kernel(Server, #{approve => fun(_) -> {deny, <<"not there">>} end, sandbox => #{network => []}}),
            #{<<"network">> := [#{<<"refused">> := 1, <<"why">> := Why}]} = get_it(Refusing, Server, #{}),
            ?assertNotEqual(nomatch, binary:match(Why, <<"not there">>))
        end)
    end}.

%% Nobody answers.
a_call_is_cancelled_while_a_connection_waits_test_() ->
    {timeout, 60, fun() ->
        with_server(fun(#{place := Place} = Server) ->
            Me = self(),
            Approve = fun(_) -> Me ! {asked, self()}, receive never -> allow end end,
            Kernel = kernel(Server, #{approve => Approve, sandbox => #{network => []}}),
            Run = {?MODULE, make_ref()},
            Command = <<"curl -sS http://", Place/binary, "/">>,
            _ = spawn_link(fun() ->
                Me ! {ran, beamai_kernel:invoke(Kernel, <<"shell_exec">>, #{command => Command}, #{run_id => Run})}
            end),
            Asker = receive {asked, Pid} -> Pid end,
            ok = beamai_kernel:cancel(Run),
            receive
                {ran, Ran} -> ?assertMatch({error, #{details := #{reason := cancelled}}}, Ran)
            after 30000 -> error(not_ended)
            end,
            ?assertNot(is_process_alive(Asker))
        end)
    end}.

an_approval_for_the_session_and_a_rule_are_remembered_test_() ->
    {timeout, 60, fun() ->
        with_server(fun(Server) ->
            Me = self(),
            Once = fun(Answer) ->
                Kernel = kernel(Server, #{approve => fun(_) -> Me ! asked, Answer end, sandbox => #{network => []}}),
                Context = #{session_id => {?MODULE, Answer, Server}},
                [?assertMatch(#{<<"stdout">> := <<"hello">>}, get_it(Kernel, Server, Context)) || _ <- [1, 2]],
                receive asked -> ok end,
                receive
                    asked -> ?assert(false)
                after 0 -> ok
                end
            end,
            Once({allow, session}),
            Once({allow, {rule, rule(Server)}})
        end)
    end}.

%% As text and as a fun, which is called for each command.
credentials_are_added_and_nothing_shows_them_test_() ->
    {timeout, 60, fun() ->
        with_server(fun(#{place := Place, heard := Heard} = Server) ->
            Key = <<"hush-hush-77">>,
            Shown = fun(Term) -> unicode:characters_to_binary(io_lib:format("~p ~w", [Term, Term])) end,
            With = fun(Value) ->
                kernel(Server, #{sandbox => #{network => [Place], credentials => #{<<"http://", Place/binary>> => #{authorization => Value}}}})
            end,
            [
                begin
                    Kernel = With(Value),
                    Result = get_it(Kernel, Server, #{}),
                    ?assertMatch(#{<<"stdout">> := <<"hello">>}, Result),
                    [{request, Request}] = ets:take(Heard, request),
                    ?assertNotEqual(nomatch, binary:match(Request, <<"authorization: Bearer ", Key/binary>>)),
                    [?assertEqual(nomatch, binary:match(Shown(Term), Key)) || Term <- [Kernel, Result]],
                    ?assertEqual(nomatch, binary:match(maps:get(env, Kernel), Key))
                end
             || Value <- [<<"Bearer ", Key/binary>>, "Bearer " ++ binary_to_list(Key), fun() -> <<"Bearer ", Key/binary>> end]
            ],
            Command = #{command => <<"true">>},
            {error, #{message := Message}} =
                beamai_kernel:invoke(With(fun() -> error(gone) end), <<"shell_exec">>, Command, #{}),
            ?assertNotEqual(nomatch, binary:match(Message, <<"authorization">>)),
            [
                begin
                    {'EXIT', Failed} = (catch With(Bad)),
                    ?assertMatch({{bad_option, sandbox}, _}, Failed),
                    ?assertEqual(nomatch, binary:match(Shown(Failed), Key))
                end
             || Bad <- [<<Key/binary, "\n">>, <<>>, 5, [{Key, Key}]]
            ]
        end)
    end}.

names_that_cannot_hold_are_errors_test_() ->
    [
        {lists:flatten(io_lib:format("~0tp", [Options])), ?_assertError({bad_option, _}, beamai_kernel:new(Options))}
     || Options <- [
            #{sandbox => #{network => <<"example.com">>}},
            #{sandbox => #{network => [<<"https://example.com">>]}},
            #{sandbox => #{network => [example]}},
            #{sandbox => #{network => names}},
            #{sandbox => #{credentials => #{<<"*.example.com">> => #{<<"authorization">> => <<"x">>}}}},
            #{sandbox => #{credentials => #{<<"example.com">> => #{<<"host">> => <<"x">>}}}},
            #{sandbox => #{credentials => #{<<"example.com">> => <<"x">>}}},
            #{sandbox => #{credentials => [<<"example.com">>]}},
            #{sandbox => #{network => true, credentials => #{<<"example.com">> => #{<<"authorization">> => <<"x">>}}}},
            #{sandbox => #{network => [<<"a.*.example">>]}},
            #{sandbox => #{network => [<<"example.com">>], mode => off}},
            #{sandbox => #{network => true}, permissions => #{deny => [<<"Network(domain:example.com)">>]}},
            #{permissions => #{allow => [<<"Network(example.com)">>]}},
            #{permissions => #{allow => [<<"Network(domain:*.example.com)">>]}}
        ]
    ].
