%% Helpers of the tests: workspaces, kernels, and waiting for what happens in its own time.
-module(beamai_test).

-export([workspace/0, remove/1, in_workspace/1, kernel/1, kernel/2, tool/2, tool/3]).
-export([eventually/1, eventually/2, mailbox/0, alone/1, probes/1, dialect_tools/1]).

%% A new empty directory; its path without links.
workspace() ->
    Name = binary_to_list(beamai_temp_dir:random_name()),
    Path = filename:join("/tmp", "beamai-test-" ++ Name),
    ok = file:make_dir(Path),
    unicode:characters_to_binary(Path).

remove(Path) ->
    ok = file:del_dir_r(Path).

in_workspace(Fun) ->
    Path = workspace(),
    try
        Fun(Path)
    after
        remove(Path)
    end.

kernel(Tools) ->
    kernel(Tools, #{}).

kernel(Tools, Options) ->
    beamai_kernel:add_tools(beamai_kernel:new(Options), Tools).

tool(Name, Handler) ->
    tool(Name, Handler, #{}).

tool(Name, Handler, Options) ->
    beamai_tool:new(Name, Handler, Options).

probes(Kernel) ->
    beamai_kernel:add_tools(Kernel, dialect_tools(<<"probe">>)).

dialect_tools(Dialect) ->
    beamai_catalogue:tools(Dialect).

%% Waits up to thirty seconds for Fun to be true.
eventually(Fun) ->
    eventually(Fun, 3000).

%% The same for so many times ten milliseconds.
eventually(Fun, 0) ->
    error({never, Fun});
eventually(Fun, Tries) ->
    case Fun() of
        true ->
            ok;
        _ ->
            timer:sleep(10),
            eventually(Fun, Tries - 1)
    end.

mailbox() ->
    {messages, Messages} = process_info(self(), messages),
    Messages.

%% Runs Fun in a process of its own and returns its value, or raises what it raised.
alone(Fun) ->
    {Pid, Monitor} = spawn_monitor(fun() -> exit({value, Fun()}) end),
    receive
        {'DOWN', Monitor, process, Pid, {value, Value}} -> Value;
        {'DOWN', Monitor, process, Pid, Reason} -> error(Reason)
    end.
