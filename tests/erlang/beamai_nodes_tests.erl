%% Calls on other nodes of the cluster: real ones, which are started here and killed.
-module(beamai_nodes_tests).

-include_lib("eunit/include/eunit.hrl").

-export([sleepy/2, echo/2, asks/2, goes_on/2, reports/2, reports_on/2, boom/2, nested/2, too_late/2]).

%% Commands have process ids of their own in the sandbox. What they do takes as long as no other process on the machine does.
-define(FOREVER, (integer_to_list(100000 + list_to_integer(os:getpid())))).

%%% What runs over there

sleepy(#{<<"ms">> := Ms}, _Context) -> timer:sleep(Ms), {ok, node()}.
echo(Args, Context) -> {ok, #{node => node(), args => Args, ids => maps:with([run_id, call_id, session_id], Context)}, #{told => node()}}.
asks(_Args, Context) -> {ok, {node(), beamai_callback:ask_user([#{question => <<"Well?">>}], Context)}}.
%% A handler that asks the user, by itself or in a nested call, ignores the answer, and writes a file.
goes_on(#{<<"file">> := File} = Args, Context) ->
    _ = case Args of
        #{<<"nested">> := true} -> asks_about_another(Context);
        #{} -> asks(Args, Context)
    end,
    ok = file:write_file(File, <<>>),
    {ok, node()}.
reports(_Args, Context) ->
    [beamai_callback:progress(#{step => N}, Context) || N <- [1, 2, 3]],
    {ok, node()}.
reports_on(Args, Context) ->
    ok = beamai_callback:progress(#{}, Context),
    reports_on(Args, Context).
boom(_Args, _Context) -> error(boom).
asks_about_another(Context) ->
    Inner = #{name => <<"inner">>, handler => fun(_) -> {ok, 1} end, metadata => #{requires_permission => true}},
    K = beamai_test:kernel([Inner], #{workspace => "/var/tmp"}),
    beamai_kernel:invoke(K, <<"inner">>, #{}, Context).
nested(#{<<"file">> := File, <<"sleep">> := Sleep}, Context) ->
    K = beamai_kernel:add_tool_module(beamai_kernel:new(#{workspace => filename:dirname(File), permissions => #{default => allow}}), beamai_tool_shell),
    Command = <<"echo $$ > ", File/binary, "; exec sleep ", Sleep/binary>>,
    beamai_kernel:invoke(K, <<"shell_exec">>, #{<<"command">> => Command}, Context).

%% Does its work after its run was cancelled, and before anything on this node could know of it.
too_late(#{<<"file">> := File}, #{run_id := RunId, home := Home}) ->
    [Watch] = [P || P <- processes(), process_info(P, initial_call) =:= {initial_call, {beamai_node_serve, start, 3}}],
    true = erlang:suspend_process(Watch),
    ok = erpc:call(Home, beamai_kernel, cancel, [RunId]),
    ok = file:write_file(File, <<>>),
    {ok, node()}.

tools(Where) ->
    Tool = fun(Name, Handler, More) -> maps:merge(#{name => Name, handler => Handler, node => Where}, More) end,
    [
        Tool(<<"sleepy">>, {?MODULE, sleepy}, #{timeout => 2000, parameters => #{<<"ms">> => #{type => integer, required => true}}}),
        Tool(<<"echo">>, {?MODULE, echo}, #{tag => <<"far">>}),
        Tool(<<"long">>, {?MODULE, sleepy}, #{timeout => 60000}),
        Tool(<<"asks">>, {?MODULE, asks}, #{timeout => 1000}),
        Tool(<<"goes_on">>, {?MODULE, goes_on}, #{timeout => 60000}),
        Tool(<<"reports">>, {?MODULE, reports}, #{}),
        Tool(<<"reports_on">>, {?MODULE, reports_on}, #{timeout => 100}),
        Tool(<<"boom">>, {?MODULE, boom}, #{}),
        Tool(<<"guarded">>, {?MODULE, echo}, #{metadata => #{requires_permission => true}}),
        Tool(<<"nested">>, {?MODULE, nested}, #{timeout => 60000}),
        Tool(<<"too_late">>, {?MODULE, too_late}, #{timeout => 60000})
    ].

kernel(Where) -> kernel(Where, #{}).

kernel(Where, Options) -> beamai_kernel:add_tools(beamai_kernel:new(maps:merge(#{workspace => "/var/tmp"}, Options)), tools(Where)).

quietly(Fun) ->
    ok = logger:set_primary_config(level, none),
    try Fun() after logger:set_primary_config(level, notice) end.

%%% Tests

a_call_runs_there_as_here_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        K = kernel(Node),
        Context = #{run_id => r, call_id => c, own => 1},
        {ok, #{node := Node, args := #{<<"a">> := 1}, ids := #{run_id := r, call_id := c}}, After} =
            beamai_kernel:invoke(K, <<"echo">>, #{<<"a">> => 1}, Context),
        ?assertEqual(Context#{told => Node}, After),
        %% Errors are those of any call.
        ?assertMatch({error, #{error_type := invalid_input}}, beamai_kernel:invoke(K, <<"sleepy">>, #{})),
        ?assertMatch({error, #{error_type := execution_failed, details := #{reason := crash, class := error, exception := boom}}},
            quietly(fun() -> beamai_kernel:invoke(K, <<"boom">>, #{}) end)),
        {Micro, {error, #{error_type := timeout}}} = timer:tc(fun() -> beamai_kernel:invoke(K, <<"sleepy">>, #{<<"ms">> => 60000}) end),
        ?assert(Micro < 30000000),
        ?assertMatch({error, #{error_type := permission_denied, details := #{reason := needs_approval}}}, beamai_kernel:invoke(K, <<"guarded">>, #{})),
        %% In parallel, and in call order.
        {Results, #{told := Node}} = beamai_kernel:invoke_all(K, [{<<"echo">>, #{<<"n">> => N}} || N <- lists:seq(1, 50)], #{}),
        ?assertEqual(lists:seq(1, 50), [N || {ok, #{node := At, args := #{<<"n">> := N}}} <- Results, At =:= Node]),
        peer_nodes:nothing_left(Node)
    end).

%% The host's callbacks run in the process that calls, on its own node.
callbacks_run_where_the_call_was_made_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        Self = self(),
        Ask = fun([#{question := <<"Well?">>}]) -> Self ! {asked, node(), self()}, timer:sleep(1500), {ok, #{<<"Well?">> => <<"yes">>}} end,
        Approve = fun(#{tool := <<"guarded">>, subject := _}) -> Self ! {approving, node()}, allow end,
        K = kernel(Node, #{ask_user => Ask, approve => Approve}),
        %% The time of the answer does not count.
        ?assertMatch({ok, {Node, {ok, #{<<"Well?">> := <<"yes">>}}}, _}, beamai_kernel:invoke(K, <<"asks">>, #{})),
        receive {asked, Here, Asked} -> ?assertEqual({node(), Self}, {Here, Asked}) end,
        ?assertMatch({ok, #{node := Node}, _}, beamai_kernel:invoke(K, <<"guarded">>, #{})),
        receive {approving, There} -> ?assertEqual(node(), There) end,
        {ok, Node, _} = beamai_kernel:invoke(K, <<"reports">>, #{}, #{progress => fun(P) -> Self ! {reported, node(), P} end}),
        ?assertEqual([1, 2, 3], [receive {reported, At, #{step := Step}} when At =:= node() -> Step end || _ <- [1, 2, 3]]),
        {ok, Node, _} = beamai_kernel:invoke(K, <<"reports">>, #{}, #{progress => Self, run_id => run}),
        ?assertEqual([1, 2, 3], [receive {beamai_progress, run, #{step := Step}} -> Step end || _ <- [1, 2, 3]])
    end).

reports_that_wait_there_when_the_time_is_over_are_dropped_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        Count = counters:new(1, []),
        Until_answered = fun(_) ->
            ok = counters:add(Count, 1, 1),
            answered()
        end,
        ?assertMatch({error, #{error_type := timeout}}, beamai_kernel:invoke(kernel(Node), <<"reports_on">>, #{}, #{progress => Until_answered})),
        ?assertEqual(1, counters:get(Count, 1)),
        ?assertEqual([], beamai_test:mailbox()),
        Cancel = fun(_) -> ok = counters:add(Count, 1, 1), beamai_kernel:cancel(over) end,
        ?assertMatch({error, #{details := #{reason := cancelled}}},
            beamai_kernel:invoke(kernel(Node), <<"reports_on">>, #{}, #{progress => Cancel, run_id => over})),
        ?assertEqual(2, counters:get(Count, 1))
    end).

%% Only a receive that looks for something fetches what has arrived.
answered() ->
    case [answer || {_, {answer, _}} <- beamai_test:mailbox()] of
        [] -> receive never -> ok after 10 -> answered() end;
        _ -> ok
    end.

cancelling_ends_it_there_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        beamai_test:in_workspace(fun(Dir) ->
            K = kernel(Node),
            File = filename:join(Dir, "pid"),
            Call = fun() -> beamai_kernel:invoke(K, <<"nested">>, #{<<"file">> => unicode:characters_to_binary(File), <<"sleep">> => list_to_binary(?FOREVER)}, #{run_id => gone}) end,
            Self = self(),
            spawn_link(fun() -> Self ! {answer, Call()} end),
            pid_in(File),
            ok = beamai_kernel:cancel(gone),
            receive {answer, Answer} -> ?assertMatch({error, #{error_type := execution_failed, details := #{reason := cancelled}}}, Answer) end,
            is_gone(),
            peer_nodes:nothing_left(Node),
            %% The caller's death ends it as well.
            ok = file:delete(File),
            Caller = spawn(Call),
            pid_in(File),
            exit(Caller, kill),
            is_gone(),
            peer_nodes:nothing_left(Node)
        end)
    end).

%% The callback runs in the calling process, so the cancellation takes effect when it returns.
a_handler_there_gets_no_answer_after_a_cancel_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        beamai_test:in_workspace(fun(Dir) ->
            File = <<Dir/binary, "/went_on">>,
            Cancels = fun(_) -> ok = beamai_kernel:cancel(over), allow end,
            Context = #{run_id => over, approve => Cancels, ask_user => fun(_) -> ok = beamai_kernel:cancel(over), {ok, yes} end},
            [begin
                Result = within(3000, fun() -> beamai_kernel:invoke(kernel(Node), <<"goes_on">>, #{<<"file">> => File, <<"nested">> => Nested}, Context) end),
                ?assertMatch({error, #{details := #{reason := cancelled}}}, Result),
                peer_nodes:nothing_left(Node),
                ?assertNot(filelib:is_file(File))
            end || Nested <- [false, true]]
        end)
    end).

%% Nobody answers.
cancelling_an_agent_ends_what_waits_for_a_person_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        beamai_test:in_workspace(fun(Dir) ->
            File = <<Dir/binary, "/went_on">>,
            [begin
                {ok, Agent} = agent(Node, [{Name, #{<<"file">> => File, <<"nested">> => Nested}}], #{}),
                {error, Why, After} = cancelled_when_asked(fun(Context) -> beamai_agent:run(Agent, <<"go">>, #{run_id => over, context => Context}) end),
                ?assertEqual({cancelled, [<<Name/binary, " was cancelled">>]}, {Why, results(After)}),
                peer_nodes:nothing_left(Node),
                ?assertNot(filelib:is_file(File))
            end || {Name, Nested} <- [{<<"guarded">>, false}, {<<"goes_on">>, false}, {<<"goes_on">>, true}]]
        end)
    end).

agent(Node, Calls, Options) ->
    Model = beamai_chat:new(scripted, #{turns => [#{tool_calls => Calls}]}),
    beamai_agent:new(Options#{llm => Model, kernel => kernel(Node)}).

results(Agent) -> [Text || #{role := tool, content := Text} <- beamai_conversation:messages(beamai_agent:conversation(Agent))].

cancelling_ends_a_start_that_waits_for_a_person_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        beamai_test:in_workspace(fun(Dir) ->
            File = <<Dir/binary, "/went_on">>,
            K = beamai_kernel:new(#{workspace => Dir, permissions => #{allow => [<<"Bash(awk:*)">>, <<"Bash(tee:*)">>]}}),
            Shell = beamai_kernel:place(beamai_kernel:add_tool_module(K, beamai_tool_shell), all, Node),
            %% The command does not continue after the start either.
            Command = #{<<"command">> => <<"awk 'BEGIN { system(\"touch went_on\") }'; echo x | tee went_on">>},
            Start = fun(Context) -> beamai_kernel:invoke(Shell, <<"shell_exec">>, Command, Context#{run_id => over}) end,
            ?assertMatch({error, #{details := #{reason := cancelled}}}, cancelled_when_asked(Start)),
            peer_nodes:nothing_left(Node),
            ?assertNot(filelib:is_file(File))
        end)
    end).

cancelled_when_asked(Call) ->
    Self = self(),
    Silent = fun(_) -> Self ! asked, timer:sleep(60000) end,
    spawn_link(fun() -> Self ! {answer, Call(#{approve => Silent, ask_user => Silent})} end),
    receive asked -> ok end,
    ok = beamai_kernel:cancel(over),
    within(3000, fun() -> receive {answer, Answer} -> Answer end end).

within(Ms, Fun) ->
    {Micro, Value} = timer:tc(Fun),
    ?assert(Micro < Ms * 1000),
    Value.

the_end_of_the_time_ends_a_handler_there_that_asks_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        beamai_test:in_workspace(fun(Dir) ->
            File = <<Dir/binary, "/went_on">>,
            [begin
                {ok, Agent} = agent(Node, [{<<"goes_on">>, #{<<"file">> => File, <<"nested">> => Nested}}], #{budget => #{max_time => 1000}}),
                Silent = fun(_) -> timer:sleep(60000) end,
                Context = #{approve => Silent, ask_user => Silent},
                ?assertMatch({error, {out_of_budget, time}, _}, within(4000, fun() -> beamai_agent:run(Agent, <<"go">>, #{context => Context}) end)),
                peer_nodes:nothing_left(Node),
                ?assertNot(filelib:is_file(File))
            end || Nested <- [false, true]]
        end)
    end).

%% The first call there starts the application.
a_call_is_cancelled_before_it_has_begun_there_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        ok = erpc:call(Node, application, stop, [beamai]),
        ok = erpc:call(Node, sys, suspend, [application_controller]),
        Self = self(),
        spawn_link(fun() -> Self ! {answer, beamai_kernel:invoke(kernel(Node), <<"long">>, #{<<"ms">> => 60000}, #{run_id => early})} end),
        ok = beamai_test:eventually(fun() -> peer_nodes:calls_there(Node) =/= [] end),
        ok = beamai_kernel:cancel(early),
        timer:sleep(200),
        ok = erpc:call(Node, sys, resume, [application_controller]),
        Answer = within(4000, fun() -> receive {answer, Got} -> Got end end),
        ?assertMatch({error, #{details := #{reason := cancelled}}}, Answer),
        peer_nodes:nothing_left(Node)
    end).

what_began_after_a_cancel_there_is_no_success_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        beamai_test:in_workspace(fun(Dir) ->
            File = <<Dir/binary, "/too_late">>,
            Answer = beamai_kernel:invoke(kernel(Node), <<"too_late">>, #{<<"file">> => File}, #{run_id => late, home => node()}),
            ?assertMatch({true, {error, #{details := #{reason := cancelled}}}}, {filelib:is_file(File), Answer})
        end)
    end).

places_are_found_by_tool_tag_and_session_test_() ->
    peer_nodes:with(2, fun([A, B]) ->
        Plain = [maps:remove(node, Tool) || Tool <- tools(none)],
        K0 = beamai_kernel:add_tools(beamai_kernel:new(#{workspace => "/var/tmp"}), Plain),
        On = fun(K, Context) -> {ok, #{node := Node}, _} = beamai_kernel:invoke(K, <<"echo">>, #{}, Context), Node end,
        ?assertEqual(node(), On(K0, #{})),
        K1 = beamai_kernel:place(K0, all, A),
        ?assertEqual(A, On(K1, #{})),
        K2 = beamai_kernel:place(K1, {session, s}, B),
        ?assertEqual({A, B}, {On(K2, #{}), On(K2, #{session_id => s})}),
        K3 = beamai_kernel:place(K2, {tag, <<"far">>}, node()),
        ?assertEqual(node(), On(K3, #{session_id => s})),
        ?assertEqual(B, On(beamai_kernel:place(K3, {tool, <<"echo">>}, B), #{})),
        ?assertError({bad_placement, 1}, beamai_kernel:place(K0, all, 1)),
        ?assertError({bad_placement, tool}, beamai_kernel:place(K0, tool, A)),
        ?assertError({invalid_tool, <<"t">>, [<<"node must be", _/binary>>]}, beamai_kernel:add_tool(K0, #{name => <<"t">>, handler => fun(_) -> ok end, node => "a"})),
        %% A chosen node is kept by the session.
        Turns = counters:new(1, []),
        InTurns = fun(#{tool := _, tags := [<<"far">>], context := #{}}) ->
            counters:add(Turns, 1, 1),
            case counters:get(Turns, 1) rem 2 of 1 -> A; 0 -> B end
        end,
        K4 = beamai_kernel:place(K0, {tag, <<"far">>}, InTurns),
        ?assertEqual([A, A, A, B, B], [On(K4, #{session_id => S}) || S <- [one, one, one, two, two]]),
        ok = beamai_session:close(one),
        ?assertEqual(A, On(K4, #{session_id => one})),
        [?assertMatch({error, #{details := #{reason := bad_placement}}}, beamai_kernel:invoke(beamai_kernel:place(K0, all, Bad), <<"echo">>, #{}))
            || Bad <- [fun(_) -> error(no) end, fun(_) -> "text" end]]
    end).

a_session_lives_on_its_node_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        beamai_test:in_workspace(fun(Dir) ->
            K0 = beamai_kernel:new(#{workspace => Dir, permissions => #{default => allow}}),
            K1 = beamai_kernel:add_tool_module(beamai_kernel:add_tool_module(K0, beamai_tool_shell), beamai_tool_file),
            K = beamai_kernel:place(K1, all, Node),
            Context = #{session_id => s},
            Args = #{<<"command">> => list_to_binary("echo $$ > pid; exec sleep " ++ ?FOREVER), <<"run_in_background">> => true},
            {ok, #{<<"id">> := Id}, _} = beamai_kernel:invoke(K, <<"shell_exec">>, Args, Context),
            pid_in(filename:join(Dir, "pid")),
            {ok, #{<<"status">> := <<"running">>}, _} = beamai_kernel:invoke(K, <<"shell_output">>, #{<<"id">> => Id}, Context),
            {ok, #{<<"content">> := _}, _} = beamai_kernel:invoke(K, <<"file_read">>, #{<<"path">> => <<"pid">>}, Context),
            ok = beamai_session:close(s),
            is_gone(),
            %% Without a name, it is the calling process that has a session there.
            ok = file:delete(filename:join(Dir, "pid")),
            Self = self(),
            Caller = spawn(fun() ->
                {ok, #{<<"id">> := Own}, _} = beamai_kernel:invoke(K, <<"shell_exec">>, Args),
                {ok, #{<<"status">> := <<"running">>}, _} = beamai_kernel:invoke(K, <<"shell_output">>, #{<<"id">> => Own}),
                Self ! there,
                receive stop -> ok end
            end),
            receive there -> ok end,
            pid_in(filename:join(Dir, "pid")),
            Caller ! stop,
            is_gone()
        end)
    end).

a_node_that_is_not_there_is_an_error_at_once_test_() ->
    {timeout, 60, fun() ->
        ok = peer_nodes:distributed(),
        K = kernel('nobody@127.0.0.1'),
        {Micro, Answer} = timer:tc(fun() -> beamai_kernel:invoke(K, <<"echo">>, #{}) end),
        ?assertMatch({error, #{tool := <<"echo">>, error_type := execution_failed, details := #{reason := node_lost, node := 'nobody@127.0.0.1'}}}, Answer),
        ?assert(Micro < 30000000)
    end}.

%% A tool that may be tried again is placed anew.
a_further_try_may_be_elsewhere_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        K = beamai_kernel:add_tool(beamai_kernel:new(#{workspace => "/var/tmp"}), #{
            name => <<"echo">>, handler => {?MODULE, echo}, retry => #{max => 1},
            node => fun(_) -> case get(tried) of undefined -> put(tried, true), 'nobody@127.0.0.1'; true -> Node end end
        }),
        ?assertMatch({ok, #{node := Node}, _}, beamai_kernel:invoke(K, <<"echo">>, #{}, #{session_id => tries}))
    end).

a_hundred_calls_on_a_node_that_is_killed_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        beamai_test:in_workspace(fun(Dir) ->
            K0 = beamai_kernel:new(#{workspace => Dir, permissions => #{default => allow}}),
            K1 = beamai_kernel:add_tools(beamai_kernel:add_tool_module(K0, beamai_tool_shell), tools(Node)),
            K = beamai_kernel:place(K1, {tool, <<"shell_exec">>}, Node),
            Self = self(),
            Call = fun
                (N) when N rem 10 =:= 0 ->
                    Name = integer_to_binary(N),
                    beamai_kernel:invoke(K, <<"shell_exec">>, #{<<"command">> => <<"echo $$ > ", Name/binary, ".pid; sleep ", (list_to_binary(?FOREVER))/binary, " & wait">>});
                (N) ->
                    beamai_kernel:invoke(K, <<"sleepy">>, #{<<"ms">> => 20 * N})
            end,
            Callers = [spawn_monitor(fun() -> Self ! {answer, N, Call(N)}, receive after 100 -> ok end, {messages, []} = process_info(self(), messages) end) || N <- lists:seq(1, 100)],
            [pid_in(filename:join(Dir, integer_to_list(N) ++ ".pid")) || N <- lists:seq(10, 100, 10)],
            timer:sleep(rand:uniform(400)),
            ok = peer_nodes:kill(Node),
            Answers = [receive {answer, N, Answer} -> Answer after 30000 -> {none, N} end || N <- lists:seq(1, 100)],
            ?assertEqual([], [Answer || Answer <- Answers, not is_answer(Answer, Node)]),
            ?assert(length([lost || {error, #{details := #{reason := node_lost}}} <- Answers]) >= 10),
            [receive {'DOWN', Monitor, process, _, Reason} -> ?assertEqual(normal, Reason) end || {_, Monitor} <- Callers],
            receive {answer, _, _} = Second -> error({second, Second}) after 0 -> ok end,
            is_gone(),
            beamai_test:eventually(fun() -> [] =:= [Row || {_, N, _} = Row <- ets:tab2list(beamai_session_nodes), N =:= Node] end)
        end)
    end).

is_answer({ok, Node, _}, Node) -> true;
is_answer({error, #{error_type := execution_failed, details := #{reason := node_lost}}}, _Node) -> true;
is_answer(_Other, _Node) -> false.

%% A path leads to a directory of the machine on which the call runs. Another one in its place is refused there, too.
a_workspace_is_that_of_the_other_machine_test_() ->
    peer_nodes:with(0, fun([]) ->
        {Peer, Node} = peer_nodes:start("127.0.0.2"),
        beamai_test:in_workspace(fun(Dir) ->
            Place = filename:join(Dir, "place"),
            Read = fun(K) -> beamai_kernel:invoke(beamai_kernel:place(K, all, Node), <<"file_read">>, #{<<"path">> => <<"a">>}) end,
            Made = fun(Text) -> ok = file:make_dir(Place), ok = file:write_file(filename:join(Place, "a"), Text) end,
            Made("here"),
            K = beamai_kernel:add_tool_module(beamai_kernel:new(#{workspace => Place}), beamai_tool_file),
            %% As if the directory of this name were another one there.
            ok = file:del_dir_r(Place),
            Made("there"),
            ?assertMatch({ok, #{<<"content">> := <<"there">>}, _}, Read(K)),
            ok = file:rename(Place, filename:join(Dir, "old")),
            Made("third"),
            ?assertMatch({error, #{details := #{reason := workspace_gone}}}, Read(K))
        end),
        peer:stop(Peer)
    end).

%%% Looking

pid_in(File) -> pid_in(File, 300).

pid_in(File, Left) ->
    case file:read_file(File) of
        {ok, <<_, _/binary>> = Text} -> string:trim(binary_to_list(Text));
        _ when Left > 0 -> timer:sleep(50), pid_in(File, Left - 1)
    end.

is_gone() -> is_gone(100).

is_gone(Left) ->
    case os:cmd("pgrep -x sleep -a | grep ' " ++ ?FOREVER ++ "$'") of
        [] -> ok;
        _ when Left > 0 -> timer:sleep(50), is_gone(Left - 1);
        Still -> error({still_running, Still})
    end.
