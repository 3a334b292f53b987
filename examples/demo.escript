%% The main job of beamai, step by step: what an agent does with tools, each with its real result and time.
-mode(compile).

main([Ebin]) ->
    true = code:add_patha(Ebin),
    {ok, _} = application:ensure_all_started(beamai),
    K = kernel(),
    show("the schema that a model is given for file_read", fun() -> schema(K) end),
    call(K, "read three lines of a file", <<"file_read">>, #{<<"path">> => <<"README.md">>, <<"limit">> => 3}),
    call(K, "find files", <<"file_glob">>, #{<<"pattern">> => <<"native/*/Cargo.toml">>}),
    call(K, "search contents", <<"file_grep">>,
         #{<<"pattern">> => <<"pub trait \\w+">>, <<"type">> => <<"rust">>, <<"limit">> => 3}),
    edit(),
    call(K, "run a command", <<"shell_exec">>, #{<<"command">> => <<"git log --oneline | head -n 2; echo oops >&2">>}),
    call(K, "be refused outside the workspace", <<"file_read">>, #{<<"path">> => <<"/etc/passwd">>}),
    call(K, "get a bad argument explained", <<"file_read">>, #{<<"pth">> => <<"README.md">>}),
    call(K, "time out a slow tool", <<"slow">>, #{}),
    call(K, "time out a slow command, and end all it started", <<"shell_exec">>,
         #{<<"command">> => <<"echo begun; setsid sleep 100 & sleep 100">>, <<"timeout">> => 300}),
    call(K, "retry a flaky tool", <<"flaky">>, #{}),
    halt(0).

kernel() ->
    K0 = beamai_kernel:new(#{workspace => ".", permissions => #{allow => [<<"Bash">>]}}),
    K1 = beamai_kernel:add_tool_module(K0, beamai_tool_file),
    K2 = beamai_kernel:add_tool_module(K1, beamai_tool_shell),
    beamai_kernel:add_tools(K2, [slow(), flaky()]).

slow() ->
    beamai_tool:new(<<"slow">>, fun(_) -> timer:sleep(60000), {ok, done} end, #{timeout => 200}).

%% Fails twice, then works.
flaky() ->
    Tries = counters:new(1, []),
    Handler = fun(_) ->
        counters:add(Tries, 1, 1),
        case counters:get(Tries, 1) of
            Try when Try < 3 -> {error, {not_yet, Try}};
            Try -> {ok, #{tries => Try}}
        end
    end,
    beamai_tool:new(<<"flaky">>, Handler, #{retry => #{max => 3, delay => 50}}).

schema(K) ->
    {ok, Spec} = beamai_kernel:find_tool(K, <<"file_read">>),
    beamai_tool:to_tool_schema(Spec, anthropic).

%% Edits a copy, after asking: the approve function sees what would be done.
edit() ->
    Dir = string:trim(os:cmd("mktemp -d")),
    {ok, _} = file:copy("README.md", filename:join(Dir, "README.md")),
    Approve = fun(#{message := Message}) -> io:format("   asked: ~ts~n", [Message]), allow end,
    K = beamai_kernel:add_tool_module(beamai_kernel:new(#{workspace => Dir, approve => Approve}), beamai_tool_file),
    call(K, "edit a copy, with an approval", <<"file_edit">>,
         #{<<"path">> => <<"README.md">>, <<"old_string">> => <<"# beamai\n">>, <<"new_string">> => <<"# beamai, edited\n">>}),
    ok = file:del_dir_r(Dir).

call(K, Title, Tool, Args) ->
    show(Title, fun() ->
        case beamai_kernel:invoke(K, Tool, Args) of
            {ok, Result, _} -> Result;
            {error, Error} -> {error, Error}
        end
    end).

show(Title, Work) ->
    Start = erlang:monotonic_time(microsecond),
    io:format("~n-- ~ts~n", [Title]),
    Result = Work(),
    Time = (erlang:monotonic_time(microsecond) - Start) / 1000,
    io:format("   ~tp~n   in ~.2f ms~n", [Result, Time]).
