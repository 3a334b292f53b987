%% Calls of MCP servers that end before their answer, on streams and over HTTP.
-module(beamai_mcp_cancel_tests).

-include_lib("eunit/include/eunit.hrl").

-import(mcp_servers, [connect/2, call/3, call/4, work/2]).

real_servers_test_() ->
    {inorder, [
        {Name ++ ", " ++ Way, {timeout, 120, fun() -> cancelled(With, Test) end}}
     || {Way, With} <- [{"on streams", fun on_streams/1}, {"over HTTP", fun over_http/1}],
        {Name, Test} <- [
            {"cancel", fun a_cancelled_call_is_cancelled_in_the_server/3},
            {"timeout", fun a_call_that_takes_too_long_is_cancelled_in_the_server/3},
            {"caller", fun a_call_ends_with_its_caller/3}
        ]
    ]}.

a_cancelled_call_is_cancelled_in_the_server(Kernel, Args, Started) ->
    Self = self(),
    Call = spawn_link(fun() -> Self ! {self(), call(Kernel, <<"mcp__python__work">>, Args, #{run_id => mcp})} end),
    Started(),
    ok = beamai_kernel:cancel(mcp),
    receive
        {Call, Outcome} ->
            ?assertMatch({error, #{error_type := execution_failed, details := #{reason := cancelled}}}, Outcome)
    end.

a_call_that_takes_too_long_is_cancelled_in_the_server(Kernel, Args, _Started) ->
    {ok, Work} = beamai_kernel:find_tool(Kernel, <<"mcp__python__work">>),
    Short = beamai_kernel:replace_tool(Kernel, Work#{timeout => 3000}),
    ?assertMatch({error, #{error_type := timeout}}, call(Short, <<"mcp__python__work">>, Args)).

a_call_ends_with_its_caller(Kernel, Args, Started) ->
    {Caller, Monitor} = spawn_monitor(fun() -> call(Kernel, <<"mcp__python__work">>, Args) end),
    Started(),
    exit(Caller, kill),
    receive {'DOWN', Monitor, process, Caller, _} -> ok end.

%% The server notices, and goes on with its other work in the same session.
cancelled(With, Test) ->
    beamai_test:in_workspace(fun(Dir) ->
        With(fun(Options) ->
            Kernel = connect(Options, #{workspace => Dir, default_timeout => infinity}),
            {ok, _} = call(Kernel, <<"mcp__python__remember">>, #{<<"text">> => <<"before">>}),
            #{<<"file">> := File} = Args = work(Dir, 60),
            Is = fun(Text) -> beamai_test:eventually(fun() -> file:read_file(File) =:= {ok, Text} end) end,
            Test(Kernel, Args, fun() -> Is(<<"working">>) end),
            Is(<<"cancelled">>),
            ?assertEqual(
                {ok, #{<<"text">> => <<"before after">>}},
                call(Kernel, <<"mcp__python__remember">>, #{<<"text">> => <<"after">>})
            )
        end)
    end).

on_streams(Fun) ->
    Options = mcp_servers:python(),
    Fun(Options),
    mcp_servers:close(Options).

over_http(Fun) ->
    mcp_servers:serving(mcp_servers:python_http("sessions"), fun(#{options := Options}) ->
        Fun(Options),
        ok = beamai_mcp:close(Options)
    end).
