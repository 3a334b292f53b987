%% The servers that the tests of the MCP client talk to: reference servers, one of the official Python library, and one
%% that misbehaves on purpose. Each test gives its server an argument of its own, by which its process is found.
-module(mcp_servers).

-export([everything/0, filesystem/1, python/0, own/1, hostile/1, hostile/2]).
-export([connect/1, connect/2, kernel/1, kernel/2, call/3, call/4, mark/1, processes/1, gone/1]).

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
    #{name => <<"own">>, command => beamai_nif:priv_file("beamai-port"), args => ["mcp", "--default", "allow", "--workspace", Directory]}.

python() ->
    Program = filename:join(place(), "python/bin/python"),
    marked(#{name => "python", command => Program, args => [filename:absname("tests/mcp_servers/python_server.py")]}).

hostile(Mode) ->
    hostile(Mode, #{}).

hostile(Mode, Options) ->
    Script = filename:absname("tests/mcp_servers/hostile_server.py"),
    Program = os:find_executable("python3"),
    maps:merge(marked(#{name => "hostile", command => Program, args => [Script, Mode]}), Options).

marked(#{args := Args} = Options) ->
    Options#{args => Args ++ ["stdio", binary_to_list(beamai_temp_dir:random_name())]}.

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
