%% Approvals of calls on other nodes: what is asked on the calling node, and how often.
-module(beamai_node_approvals_tests).

-include_lib("eunit/include/eunit.hrl").

-export([fails/2, closes/2, scout/2]).

%% Asks for approval of another call before it fails.
fails(#{<<"nested">> := Nested}, Context) ->
    K = beamai_kernel:add_tool(beamai_kernel:new(#{workspace => "/var/tmp"}), #{
        name => <<"inner">>, handler => fun(_) -> {ok, 1} end, metadata => #{requires_permission => true}
    }),
    _ = Nested andalso beamai_kernel:invoke(K, <<"inner">>, #{}, Context),
    {error, not_yet}.

%% Only the calling node has the definition. The other node remembers the approval.
an_approval_for_the_session_there_is_about_one_definition_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        Self = self(),
        Approve = fun(#{tool := Tool}) -> Self ! {asked, Tool}, {allow, session} end,
        Options = #{workspace => "/var/tmp", permissions => #{default => ask}, approve => Approve},
        Task = fun(Agents, Where) ->
            K = beamai_kernel:add_tool_module(beamai_kernel:new(Options#{agents => Agents}), beamai_tool_task),
            Args = #{<<"agent">> => <<"scout">>, <<"objective">> => <<"look">>},
            {ok, #{<<"summary">> := Summary}, _} = beamai_kernel:invoke(beamai_kernel:place(K, all, Where), <<"task">>, Args, #{session_id => Where}),
            {Summary, asked()}
        end,
        Model = fun(Text) -> beamai_chat:new(scripted, #{turns => [Text]}) end,
        A = #{prompt => <<"a">>, llm => Model(<<"A">>), tools => []},
        Definitions = [A, A, A#{prompt => <<"b">>}, A#{llm => Model(<<"B">>)}, maps:remove(tools, A), fun(_, _) -> {ok, <<"F">>} end, A],
        Expected = [{<<"A">>, ask}, {<<"A">>, known}, {<<"A">>, ask}, {<<"B">>, ask}, {<<"A">>, ask}, {<<"F">>, ask}, {<<"A">>, known}],
        Was = fun([<<"task">>]) -> ask; ([]) -> known end,
        [?assertEqual({Where, Expected}, {Where, [
            begin {Summary, Asked} = Task(#{<<"scout">> => Definition}, Where), {Summary, Was(Asked)} end || Definition <- Definitions
        ]}) || Where <- [node(), Node]],
        %% Sub-agents of a sub-agent are part of it.
        ?assertEqual({<<"A">>, [<<"task">>]}, Task(#{<<"scout">> => A, <<"helper">> => A}, Node))
    end).

%% It is the same one wherever the call was made.
an_approval_for_the_session_is_the_same_for_calls_of_that_node_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        Self = self(),
        Approve = fun(#{tool := Tool}) -> Self ! {asked, Tool}, {allow, session} end,
        Options = #{workspace => "/var/tmp", permissions => #{default => ask}, agents => #{<<"scout">> => fun ?MODULE:scout/2}},
        Own = #{name => <<"own">>, handler => {?MODULE, scout}, retry => #{max => 1}, node => Node},
        K = beamai_kernel:add_tool(beamai_kernel:add_tool_module(beamai_kernel:new(Options), beamai_tool_task), Own),
        Context = #{session_id => s, approve => Approve},
        [begin
            {ok, _, _} = beamai_kernel:invoke(beamai_kernel:place(K, all, Node), Tool, Args, Context),
            ?assertEqual([Tool], asked()),
            ?assertMatch({ok, _, _}, erpc:call(Node, beamai_kernel, invoke, [K, Tool, Args, Context])),
            ?assertEqual([], asked())
        end || {Tool, Args} <- [{<<"task">>, #{<<"agent">> => <<"scout">>, <<"objective">> => <<"look">>}}, {<<"own">>, #{}}]]
    end).

scout(_Work, _Context) -> {ok, <<"seen">>}.

%% As on this node, approval is asked once for a call, and for what its handler calls each time.
approval_is_asked_once_for_all_tries_test_() ->
    peer_nodes:with(2, fun([A, B]) ->
        Self = self(),
        Approve = fun(#{tool := Tool}) -> Self ! {asked, Tool}, allow end,
        Asked = fun(Where, Nested, Context) ->
            K = beamai_kernel:add_tool(beamai_kernel:new(#{workspace => "/var/tmp", approve => Approve}), #{
                name => <<"fails">>, handler => {?MODULE, fails}, retry => #{max => 2}, node => Where, metadata => #{requires_permission => true}
            }),
            {error, not_yet} = beamai_kernel:invoke(K, <<"fails">>, #{<<"nested">> => Nested}, Context),
            asked()
        end,
        [?assertEqual({Where, [<<"fails">>]}, {Where, Asked(Where, false, #{})}) || Where <- [node(), A]],
        [?assertEqual({Where, [<<"fails">>, <<"inner">>, <<"inner">>, <<"inner">>]}, {Where, Asked(Where, true, #{approve => Approve})}) || Where <- [node(), A]],
        %% Each try on another node.
        Turns = counters:new(1, []),
        InTurns = fun(_) -> counters:add(Turns, 1, 1), element(1 + counters:get(Turns, 1) rem 3, {A, B, node()}) end,
        ?assertEqual([<<"fails">>], Asked(fun(Call) -> timer:sleep(1), InTurns(Call) end, false, #{})),
        %% Another call asks again.
        ?assertEqual([<<"fails">>], Asked(A, false, #{session_id => s})),
        %% A built-in tool, whose native side asks.
        beamai_test:in_workspace(fun(Dir) ->
            K0 = beamai_kernel:add_tool_module(beamai_kernel:new(#{workspace => Dir, approve => Approve, permissions => #{ask => [<<"Bash">>]}}), beamai_tool_shell),
            {ok, Shell} = beamai_kernel:find_tool(K0, <<"shell_exec">>),
            K1 = beamai_kernel:replace_tool(K0, Shell#{retry => #{max => 1}}),
            [begin
                Result = beamai_kernel:invoke(beamai_kernel:place(K1, all, Where), <<"shell_exec">>, #{<<"command">> => <<"echo x >> tries; sleep 5">>, <<"timeout">> => 300}),
                ?assertMatch({error, #{error_type := timeout}}, Result),
                ?assertEqual({Where, [<<"shell_exec">>]}, {Where, asked()})
            end || Where <- [node(), A]],
            ?assertEqual({ok, <<"x\nx\nx\nx\n">>}, file:read_file(filename:join(Dir, "tries")))
        end)
    end).

%% As on this node: a late answer counts for its call at most.
an_answer_adds_nothing_once_its_session_or_call_is_over_test_() ->
    peer_nodes:with(1, fun([Node]) ->
        Self = self(),
        Asked = fun(Where, Before, Handler) ->
            Id = make_ref(),
            Approve = fun(#{tool := Tool}) -> Self ! {asked, Tool}, Before(Id), {allow, session} end,
            K = beamai_kernel:add_tool(beamai_kernel:new(#{workspace => "/var/tmp", approve => Approve}), #{
                name => <<"own">>, handler => {?MODULE, Handler}, retry => #{max => 1}, node => Where, metadata => #{requires_permission => true}
            }),
            Context = #{session_id => Id, run_id => Id, caller => node()},
            _ = beamai_kernel:invoke(K, <<"own">>, #{}, Context),
            First = length(asked()),
            _ = beamai_kernel:invoke(K, <<"own">>, #{}, Context),
            {Where, First, length(asked())}
        end,
        [begin
            ?assertEqual({Where, 1, 0}, Asked(Where, fun(_) -> ok end, scout)),
            ?assertEqual({Where, 1, 1}, Asked(Where, fun beamai_session:close/1, scout)),
            ?assertEqual({Where, 1, 1}, Asked(Where, fun beamai_kernel:cancel/1, scout))
        end || Where <- [node(), Node]],
        %% The session is closed between two attempts: the answer in the first one is not given again.
        ?assertEqual({Node, 2, 2}, Asked(Node, fun(_) -> ok end, closes))
    end).

closes(_Args, #{session_id := Id, caller := Caller}) ->
    ok = erpc:call(Caller, beamai_session, close, [Id]),
    {error, not_yet}.

asked() ->
    receive
        {asked, Tool} -> [Tool | asked()]
    after 0 -> []
    end.
