%% @doc Identifies processes of the operating system in a way that stays valid after their end.
%%
%% The identity consists of the boot id, the pid namespace, the pid, and the start time, because pids are reused. The
%% data come from Linux's proc(5); other systems are not supported.
%% @hidden
-module(beamai_os_process).

-export([identity/0, has_ended/1]).

%% @doc The identity of this process, as lines of text; `error' on other systems.
-spec identity() -> {ok, iodata()} | error.
identity() ->
    case facts() of
        {ok, {Where, Pid, Started}} -> {ok, lists:join($\n, [Where, Pid, Started])};
        error -> error
    end.

%% @doc Whether the process with this identity has certainly exited. `false' if that is unknown, as for other machines
%% and namespaces.
-spec has_ended(Identity :: binary()) -> boolean().
has_ended(Identity) ->
    case {facts(), binary:split(Identity, <<"\n">>, [global])} of
        {{ok, {Here, _Pid, _Started}}, [Here, Pid, Started]} ->
            started(Pid) =/= {ok, Started} andalso filelib:is_regular("/proc/self/stat");
        _ ->
            false
    end.

facts() ->
    Pid = list_to_binary(os:getpid()),
    case {file:read_file("/proc/sys/kernel/random/boot_id"), file:read_link("/proc/self/ns/pid"), started(Pid)} of
        {{ok, Boot}, {ok, Namespace}, {ok, Started}} ->
            {ok, {iolist_to_binary([string:trim(Boot), $\s, Namespace]), Pid, Started}};
        _ ->
            error
    end.

%% The 22nd field of the stat file. The second one is in parentheses and may contain any characters.
started(Pid) ->
    case file:read_file(filename:join(["/proc", Pid, "stat"])) of
        {ok, Stat} ->
            [_, After] = string:split(Stat, <<") ">>, trailing),
            {ok, lists:nth(20, binary:split(After, <<" ">>, [global]))};
        {error, _} ->
            error
    end.
