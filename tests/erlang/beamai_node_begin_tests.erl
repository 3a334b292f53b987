%% A call on another node begins if its caller still waits, and an error says that it has not run only if it has not.
-module(beamai_node_begin_tests).

-include_lib("eunit/include/eunit.hrl").

-export([writes/2, writes_last/2]).

writes(#{<<"file">> := File}, _Context) ->
    ok = file:write_file(File, <<"x">>, [append]),
    {ok, node()}.
writes_last(Args, Context) ->
    _ = writes(Args, Context),
    erlang:halt(1, [{flush, false}]).

kernel(Where) ->
    Tool = fun(Name, Handler, More) -> More#{name => Name, handler => {?MODULE, Handler}, node => Where} end,
    beamai_test:kernel([
        Tool(<<"writes">>, writes, #{timeout => 500, retry => #{max => 1, delay => 1}}),
        Tool(<<"writes_last">>, writes_last, #{retry => #{max => 1, delay => 1}}),
        Tool(<<"writes_if_allowed">>, writes, #{timeout => 500, metadata => #{requires_permission => true}})
    ], #{workspace => "/var/tmp"}).

%% The node is held up, and gets the requests when their calls are over.
nothing_begins_there_after_the_call_has_ended_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        beamai_test:in_workspace(fun(Dir) ->
            ok = file:write_file(filename:join(Dir, "warm"), <<>>),
            Write = fun(Tool, Name, Context) -> beamai_kernel:invoke(kernel(Node), Tool, #{<<"file">> => <<Dir/binary, "/", Name/binary>>}, Context) end,
            {ok, Node, _} = Write(<<"writes">>, <<"warm">>, #{}),
            Files = beamai_kernel:place(beamai_kernel:add_tool_module(beamai_kernel:new(#{workspace => Dir, permissions => #{default => allow}}), beamai_tool_file), all, Node),
            Native = fun(Name, Context) -> beamai_kernel:invoke(Files, <<"file_write">>, #{<<"path">> => Name, <<"content">> => <<"x">>}, Context) end,
            held_up(Node, fun() ->
                [?assertMatch({error, #{details := #{reason := cancelled}}}, cancelled(Call)) || Call <- [
                    fun(Context) -> Write(<<"writes">>, <<"cancelled">>, Context) end, fun(Context) -> Native(<<"cancelled_file">>, Context) end
                ]],
                [killed(Call) || Call <- [fun() -> Write(<<"writes">>, <<"killed">>, #{}) end, fun() -> Native(<<"killed_file">>, #{}) end]],
                {error, #{error_type := timeout, message := Message}} = Write(<<"writes">>, <<"over">>, #{}),
                ?assertMatch({_, _}, binary:match(Message, <<"has not run">>))
            end),
            ?assertEqual({ok, ["warm"]}, file:list_dir(Dir)),
            %% The answer that lets the call begin arrives late.
            Approve = fun(_) -> ok = signal(Node, "STOP"), allow end,
            ?assertMatch({error, #{error_type := timeout}}, Write(<<"writes_if_allowed">>, <<"allowed">>, #{approve => Approve})),
            held_up(Node, fun() -> ok end),
            ?assertEqual({ok, ["warm"]}, file:list_dir(Dir)),
            {ok, Node, _} = Write(<<"writes">>, <<"warm">>, #{})
        end)
    end).

a_lost_attempt_is_not_said_not_to_have_run_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        beamai_test:in_workspace(fun(Dir) ->
            File = <<Dir/binary, "/file">>,
            {error, #{message := Message, details := Details}} = beamai_kernel:invoke(kernel(Node), <<"writes_last">>, #{<<"file">> => File}),
            ?assertEqual({ok, <<"x">>}, file:read_file(File)),
            ?assertMatch({match, _}, re:run(Message, "^attempt 2 of writes_last has not run: .* attempt 1 may have had an effect: .*was lost while writes_last was running$")),
            ?assertMatch(#{reason := node_lost}, Details),
            ?assertNot(is_map_key(has_run, Details)),
            {error, #{message := Again, details := #{has_run := false}}} = beamai_kernel:invoke(kernel(Node), <<"writes_last">>, #{<<"file">> => File}),
            ?assertMatch({match, _}, re:run(Again, "^writes_last has not run: "))
        end)
    end).

%% It has run, whatever has become of a call that it made.
a_handler_that_returns_the_error_of_another_call_is_said_to_have_run_test() ->
    ok = peer_nodes:distributed(),
    Inner = beamai_test:kernel([#{name => <<"inner">>, handler => fun(_) -> {ok, 1} end, node => 'nobody@127.0.0.1'}]),
    Self = self(),
    Outer = fun(_Args, Context) ->
        Self ! ran,
        {error, #{details := #{has_run := false}}} = beamai_kernel:invoke(Inner, <<"inner">>, #{}, Context)
    end,
    K = beamai_test:kernel([
        #{name => <<"outer">>, handler => Outer}, #{name => <<"retried">>, handler => Outer, retry => #{max => 1, delay => 1}},
        #{name => <<"quiet">>, handler => fun(_) -> {error, #{error_type => timeout, details => #{has_run => false}}} end}
    ]),
    [begin
        {error, #{tool := <<"inner">>, message := Message, details := Details}} = beamai_kernel:invoke(K, Name, #{}),
        ?assertEqual([ran || _ <- lists:seq(1, Attempts)], [receive ran -> ran after 0 -> none end || _ <- lists:seq(1, Attempts)]),
        ?assertEqual(#{reason => node_lost, node => 'nobody@127.0.0.1'}, Details),
        ?assertMatch({match, _}, re:run(Message, <<"^a call that ", Name/binary, " made failed: inner has not run: ">>))
    end || {Name, Attempts} <- [{<<"outer">>, 1}, {<<"retried">>, 2}]],
    ?assertEqual({error, #{error_type => timeout, details => #{}}}, beamai_kernel:invoke(K, <<"quiet">>, #{})).

a_handler_that_rebuilds_the_error_of_another_call_is_said_to_have_run_test() ->
    [
        begin
            K = beamai_test:kernel([#{name => <<"outer">>, handler => fun(_) -> {error, Given} end}]),
            ?assertEqual({error, Left}, beamai_kernel:invoke(K, <<"outer">>, #{}))
        end
     || {Given, Left} <- [
            {#{details => #{has_run => false, reason => node_lost}}, #{details => #{reason => node_lost}}},
            {
                #{message => <<"in has not run">>, details => #{<<"has_run">> => false}},
                #{message => <<"a call that outer made failed: in has not run">>, details => #{}}
            },
            {#{details => #{has_run => true}}, #{details => #{has_run => true}}}
        ]
    ].

%% Runs the fun while the node does nothing. Afterwards it has handled what it was sent.
held_up(Node, Fun) ->
    ok = signal(Node, "STOP"),
    try Fun() after signal(Node, "CONT") end,
    _ = erpc:call(Node, erlang, processes, []),
    timer:sleep(1000).

signal(Node, Signal) ->
    Key = {pid_of, Node},
    Pid = case get(Key) of
        undefined -> erpc:call(Node, os, getpid, []);
        Known -> Known
    end,
    _ = put(Key, Pid),
    [] = os:cmd("kill -" ++ Signal ++ " " ++ Pid),
    %% Each thread stops by itself.
    AreStopped = fun() -> lists:all(fun is_stopped/1, filelib:wildcard("/proc/" ++ Pid ++ "/task/*/stat")) end,
    case Signal of
        "STOP" -> beamai_test:eventually(AreStopped);
        "CONT" -> ok
    end.

is_stopped(File) ->
    {ok, Stat} = file:read_file(File),
    [_, <<State, _/binary>>] = string:split(Stat, ") ", trailing),
    State =:= $T.

cancelled(Call) ->
    spawn_link(fun() -> timer:sleep(300), beamai_kernel:cancel(held_up) end),
    Call(#{run_id => held_up}).

killed(Call) ->
    Caller = spawn(Call),
    timer:sleep(300),
    exit(Caller, kill).
