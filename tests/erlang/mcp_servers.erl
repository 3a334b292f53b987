%% The servers that the tests of the MCP client talk to: reference servers, one of the official Python library, and
%% some that misbehave on purpose, on their streams and over HTTP. Each test gives its server an argument of its own, by which its process is found.
-module(mcp_servers).

-export([in_order/1, everything/0, filesystem/1, python/0, own/1, hostile/1, hostile/2]).
-export([serving/2, python_http/1, everything_http/0, own_http/1, hostile_http/1, hostile_http/2, asked/1, restart/1]).
-export([connected/1, close/1, work/2, flush/0]).
-export([connect/1, connect/2, kernel/1, kernel/2, call/3, call/4, mark/1, processes/1, gone/1]).

%% Tests with their names, one after the other; starting a server may take long.
in_order(Tests) ->
    {inorder, [{Name, {timeout, 120, Test}} || {Name, Test} <- Tests]}.

%% Installed by tests/mcp_servers/setup, once.
place() ->
    case persistent_term:get(?MODULE, none) of
        none ->
            Said = string:trim(os:cmd("tests/mcp_servers/setup 2>/dev/null")),
            true = filelib:is_dir(filename:join(Said, "node")),
            persistent_term:put(?MODULE, Said),
            Said;
        Place ->
            Place
    end.

node_program(Name) -> filename:join([place(), "node/node_modules/.bin", Name]).

everything() ->
    marked(#{name => <<"everything">>, command => node_program("mcp-server-everything"), args => []}).

filesystem(Directory) ->
    #{name => <<"files">>, command => node_program("mcp-server-filesystem"), args => [Directory]}.

%% Our own; it takes no argument for nothing, so it is found by its workspace.
own(Directory) ->
    #{name => <<"own">>, command => beamai_nif:priv_file("beamai-port"), args => ["mcp", "--structured", "--default", "allow", "--workspace", Directory]}.

python() ->
    Program = filename:join(place(), "python/bin/python"),
    marked(#{name => "python", command => Program, args => [filename:absname("tests/mcp_servers/python_server.py")]}).

hostile(Mode) ->
    hostile(Mode, #{}).

hostile(Mode, Options) ->
    Script = filename:absname("tests/mcp_servers/hostile_server.py"),
    Program = os:find_executable("python3"),
    maps:merge(marked(#{name => "hostile", command => Program, args => [Script, Mode]}), Options).

%%% Servers over HTTP

%% Runs Fun with the options for a server that listens, and ends the server.
serving(Start, Fun) ->
    Served = Start(),
    try
        Fun(Served)
    after
        ended(Served)
    end.

python_http(How) ->
    fun() ->
        Port = free_port(),
        Script = filename:absname("tests/mcp_servers/python_server.py"),
        Args = [Script, "http", integer_to_list(Port), How, binary_to_list(beamai_temp_dir:random_name())],
        listening(filename:join(place(), "python/bin/python"), Args, [], Port, #{name => <<"python">>})
    end.

everything_http() ->
    fun() ->
        Port = free_port(),
        Env = [{"PORT", integer_to_list(Port)}],
        listening(node_program("mcp-server-everything"), ["streamableHttp"], Env, Port, #{name => <<"everything">>})
    end.

own_http(Directory) ->
    fun() ->
        Port = free_port(),
        Address = "127.0.0.1:" ++ integer_to_list(Port),
        Args = ["mcp", "--structured", "--default", "allow", "--workspace", Directory, "--http", Address],
        listening(beamai_nif:priv_file("beamai-port"), Args, [], Port, #{name => <<"own">>})
    end.

hostile_http(Mode) ->
    hostile_http(Mode, #{}).

hostile_http(Mode, Options) ->
    fun() ->
        Port = free_port(),
        Log = "/tmp/beamai-test-" ++ binary_to_list(beamai_temp_dir:random_name()),
        ok = file:write_file(Log, ""),
        Args = [filename:absname("tests/mcp_servers/hostile_http.py"), Mode, integer_to_list(Port), Log],
        Served = listening(os:find_executable("python3"), Args, [], Port, maps:merge(#{name => <<"hostile">>}, Options)),
        Served#{log => Log}
    end.

%% What a hostile server was asked: method, message, session, authorization.
asked(#{log := Log}) ->
    {ok, Text} = file:read_file(Log),
    [list_to_tuple(binary:split(Line, <<"|">>, [global])) || Line <- binary:split(Text, <<"\n">>, [global, trim])].

listening(Program, Args, Env, Port, Options) ->
    Url = iolist_to_binary(["http://127.0.0.1:", integer_to_list(Port), "/mcp"]),
    running(#{command => {Program, Args, Env}, port => Port, options => Options#{url => Url}}).

running(#{command := {Program, Args, Env}, port := Port} = Served) ->
    Running = open_port({spawn_executable, Program}, [{args, Args}, {env, Env}, stderr_to_stdout, in, binary]),
    {os_pid, OsPid} = erlang:port_info(Running, os_pid),
    undefined = put({?MODULE, Port}, {Running, OsPid}),
    beamai_test:eventually(fun() -> listens(Port) end, 6000),
    Served.

%% Ends a server without a farewell, and starts it again at the same place.
restart(Served) ->
    killed(Served),
    _ = running(Served),
    ok.

ended(Served) ->
    killed(Served),
    _ = file:delete(maps:get(log, Served, "")),
    ok.

killed(#{port := Port}) ->
    {Running, OsPid} = erase({?MODULE, Port}),
    %% One that has ended by itself has no process any more.
    _ = [os:cmd("kill -KILL " ++ integer_to_list(OsPid)) || erlang:port_info(Running) =/= undefined],
    beamai_test:eventually(fun() -> not listens(Port) end),
    catch port_close(Running),
    flushed(Running).

flushed(Running) ->
    receive
        {Running, _} -> flushed(Running);
        {'EXIT', Running, _} -> flushed(Running)
    after 0 -> ok
    end.

listens(Port) ->
    case gen_tcp:connect({127, 0, 0, 1}, Port, [], 1000) of
        {ok, Socket} ->
            ok = gen_tcp:close(Socket),
            true;
        {error, _} ->
            false
    end.

free_port() ->
    {ok, Socket} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}]),
    {ok, Port} = inet:port(Socket),
    ok = gen_tcp:close(Socket),
    Port.

marked(#{args := Args} = Options) ->
    Options#{args => Args ++ ["stdio", binary_to_list(beamai_temp_dir:random_name())]}.

%% A server, and a kernel with its tools.
connected(Options) ->
    {Options, connect(Options)}.

%% Ends a server, and no process of it may be left.
close(Options) ->
    ok = beamai_mcp:close(Options),
    [] = processes(Options),
    ok.

%% Arguments of a tool of the Python server that writes its state down.
work(Dir, Seconds) ->
    #{<<"file">> => filename:join(Dir, "state"), <<"seconds">> => Seconds}.

flush() ->
    receive _ -> flush() after 0 -> ok end.

%% A kernel that lets everything run, with the server's tools.
connect(Options) ->
    connect(Options, #{}).

connect(Options, KernelOptions) ->
    {ok, Kernel} = beamai_mcp:connect(Options#{kernel => kernel(#{default => allow}, KernelOptions)}),
    Kernel.

kernel(Permissions) ->
    kernel(Permissions, #{}).

kernel(Permissions, Options) ->
    beamai_kernel:new(maps:merge(#{permissions => Permissions, sandbox => best_effort}, Options)).

call(Kernel, Name, Args) ->
    call(Kernel, Name, Args, #{}).

call(Kernel, Name, Args, Context) ->
    case beamai_kernel:invoke(Kernel, Name, Args, Context) of
        {ok, Result, _} -> {ok, Result};
        {error, _} = Error -> Error
    end.

mark(#{args := Args}) -> lists:last(Args).

%% The processes of a server, by its argument.
processes(Options) ->
    Mark = iolist_to_binary(mark(Options)),
    [
        list_to_integer(Pid)
     || Pid <- filelib:wildcard("[0-9]*", "/proc"),
        {ok, Line} <- [file:read_file("/proc/" ++ Pid ++ "/cmdline")],
        binary:match(Line, Mark) =/= nomatch
    ].

gone(Options) ->
    beamai_test:eventually(fun() -> processes(Options) =:= [] end).
