%% @doc Measures the runtime against its peers, both sides in the same run.
%%
%% Every row runs its two sides in turns, takes the median of each, and prints their ratio. Started by
%% `make bench', which builds what it needs and names the peers in the environment: `BENCH_RG' (ripgrep),
%% `BENCH_ECHO' (a port program that echoes), `BENCH_TREE' (a large source tree).
-module(beamai_bench).

-export([main/0]).

-define(ROUNDS, 9).

%% @doc Runs every row, or those whose name contains the text in `BENCH_ONLY'.
-spec main() -> ok.
main() ->
    {ok, _} = application:ensure_all_started(beamai),
    Only = os:getenv("BENCH_ONLY", ""),
    io:format("~-44ts ~12ts ~12ts ~7ts ~6ts~n", ["", "beamai", "peer", "ratio", "bound"]),
    lists:foreach(fun run/1, [Row || {Name, _} = Row <- rows(), string:find(Name, Only) =/= nomatch]).

run({_Name, Measure}) ->
    Measure().

rows() ->
    [{"invoke Erlang", fun invoke_erlang/0},
     {"invoke native", fun invoke_native/0},
     {"invoke_all", fun invoke_all/0},
     {"a task with a kernel", fun task/0},
     {"telemetry", fun telemetry/0},
     {"file_read", fun file_read/0},
     {"file_grep literal", fun() -> grep("literal", <<"unsafe impl">>, ["unsafe impl"]) end},
     {"file_grep regex", fun() -> grep("regex", <<"fn \\w+_unchecked">>, ["fn \\w+_unchecked"]) end},
     {"file_glob", fun glob/0},
     {"shell_exec", fun shell_exec/0},
     {"exec guard", fun exec_guard/0},
     {"git", fun git/0},
     {"port round trip", fun port_round_trip/0},
     {"cancel", fun cancel_grep/0},
     {"daemons", fun daemons/0},
     {"normal schedulers", fun longest_call/0}].

%%% Rows

invoke_erlang() ->
    Tool = #{name => <<"noop">>, parameters => #{<<"x">> => #{type => integer}},
             handler => fun(_, _) -> {ok, nothing} end},
    K = beamai_kernel:add_tool(kernel(), Tool),
    Ctx = beamai_context:new(),
    Args = #{<<"x">> => 1},
    Ours = fun() -> {ok, nothing, _} = beamai_kernel:invoke(K, <<"noop">>, Args, Ctx) end,
    ratio("invoke, Erlang tool / spawn_monitor", 2.0, times(20000, Ours), times(20000, fun spawn_monitor_round/0)).

invoke_native() ->
    K = probes(kernel()),
    Ctx = beamai_context:new(),
    Ours = fun() -> {ok, _, _} = beamai_kernel:invoke(K, <<"probe_noop">>, #{}, Ctx) end,
    ratio("invoke, native tool / spawn_monitor", 2.0, times(20000, Ours), times(20000, fun spawn_monitor_round/0)).

%% A batch runs its calls in parallel, each in a process of its own, so the peer starts them all before it waits.
invoke_all() ->
    K = beamai_kernel:add_tool(kernel(), #{name => <<"noop">>, handler => fun(_, _) -> {ok, nothing} end}),
    Calls = lists:duplicate(1000, {<<"noop">>, #{}}),
    Ours = fun() -> {Results, _} = beamai_kernel:invoke_all(K, Calls, beamai_context:new()), 1000 = length(Results) end,
    Peer = fun() ->
        Started = [spawn_monitor(fun() -> ok end) || _ <- Calls],
        [receive {'DOWN', Ref, process, Pid, _} -> ok end || {Pid, Ref} <- Started]
    end,
    ratio("invoke_all of 1,000 / spawn_monitor of 1,000", 3.0, times(20, Ours), times(20, Peer)).

%% A process gets a copy of the kernel that it works with.
task() ->
    Add = fun(Module, K) -> beamai_kernel:add_tool_module(K, Module) end,
    K = lists:foldl(Add, kernel(), [beamai_tool_file, beamai_tool_shell]),
    Ours = fun() -> spawned(fun() -> exit(map_size(K)) end) end,
    Peer = fun() -> spawned(fun() -> exit(1) end) end,
    ratio("spawn_monitor with a kernel / without", 4.0, times(20000, Ours), times(20000, Peer)).

spawned(Fun) ->
    {Pid, Monitor} = spawn_monitor(Fun),
    receive {'DOWN', Monitor, process, Pid, _} -> ok end.

%% What a call costs more where somebody listens, and where a trace is kept.
telemetry() ->
    K = beamai_kernel:add_tool(kernel(), #{name => <<"noop">>, handler => fun(_, _) -> {ok, nothing} end}),
    Ctx = #{run_id => make_ref(), agent_id => <<"bench">>, session_id => <<"bench">>},
    Call = times(2000, fun() -> {ok, nothing, _} = beamai_kernel:invoke(K, <<"noop">>, #{}, Ctx) end),
    Events = [[beamai, tool, start], [beamai, tool, stop]],
    Heard = fun() ->
        ok = beamai_telemetry:attach(?MODULE, Events, fun(_, _, _, _) -> ok end, none),
        Time = settled(Call),
        ok = beamai_telemetry:detach(?MODULE),
        Time
    end,
    With = fun(Calls) ->
        {ok, Trace} = beamai_trace:start_link(),
        %% Where callers find the tool's sums is known after the first call.
        {ok, nothing, _} = beamai_kernel:invoke(K, <<"noop">>, #{}, Ctx),
        Time = settled(Calls),
        ok = beamai_trace:stop(Trace),
        Time
    end,
    Traced = fun() -> With(Call) end,
    Off = fun() -> settled(Call) end,
    %% What is off is a look at one term: without it there is the call itself.
    Bare = times(2000, fun() -> {ok, nothing, _} = beamai_invocation:invoke(K, <<"noop">>, #{}, Ctx) end),
    extra("invoke with a telemetry handler, more / 2 us", 2000, Heard, Off),
    extra("invoke with a trace, more / 2 us", 2000, Traced, Off),
    share("invoke with a trace / without", 1.05, Traced, Off),
    %% The throughput of several callers at once, each with a run of its own.
    Several = {1, fun() -> in_parallel(4, fun() -> calls(1000, K, #{run_id => make_ref(), agent_id => <<"bench">>}) end) end},
    share("4 callers with a trace / without", 1.05, fun() -> With(Several) end, fun() -> settled(Several) end),
    share("invoke with telemetry off / without a span", 1.02, Off, fun() -> settled(Bare) end).

calls(0, _K, _Ctx) -> ok;
calls(Left, K, Ctx) ->
    {ok, nothing, _} = beamai_kernel:invoke(K, <<"noop">>, #{}, Ctx),
    calls(Left - 1, K, Ctx).

in_parallel(Count, Fun) ->
    Started = [spawn_monitor(Fun) || _ <- lists:seq(1, Count)],
    [receive {'DOWN', Monitor, process, _, normal} -> ok end || {_, Monitor} <- Started].

%% Who listens is a persistent term, and the VM looks through all heaps after one has changed. Of several short rounds the
%% quickest counts, in which the machine did nothing else.
settled(Call) ->
    timer:sleep(100),
    lists:min([round_of(Call) || _ <- lists:seq(1, 10)]).

%% The median of the differences, in nanoseconds, against a bound.
extra(Name, Bound, With, Without) ->
    More = median([A - B || {A, B} <- in_turns(With, Without)]),
    Mark = case More =< Bound of true -> ""; false -> " over" end,
    io:format("~-44ts ~12ts ~12ts ~7.2f ~6.1f~ts~n", [Name, unit(max(0, More)), unit(Bound), More / Bound, 1.0, Mark]).

%% The median of the ratios.
share(Name, Bound, With, Without) ->
    Rounds = in_turns(With, Without),
    {A, B} = {median([A || {A, _} <- Rounds]), median([B || {_, B} <- Rounds])},
    Ratio = median([X / Y || {X, Y} <- Rounds]),
    Mark = case Ratio =< Bound of true -> ""; false -> " over" end,
    io:format("~-44ts ~12ts ~12ts ~7.2f ~6.2f~ts~n", [Name, unit(A), unit(B), Ratio, Bound, Mark]).

in_turns(With, Without) ->
    Without(),
    [{With(), Without()} || _ <- lists:seq(1, ?ROUNDS)].

file_read() ->
    Dir = temp_dir(),
    Path = filename:join(Dir, "file.txt"),
    Line = <<"    let value = compute(left, right);     // 13 KB\n">>,
    ok = file:write_file(Path, binary:copy(Line, 13 * 1024 div byte_size(Line))),
    K = beamai_kernel:add_tool_module(kernel(Dir), beamai_tool_file),
    Ctx = beamai_context:new(),
    Ours = fun() -> {ok, _, _} = beamai_kernel:invoke(K, <<"file_read">>, #{<<"path">> => <<"file.txt">>}, Ctx) end,
    Peer = fun() -> {ok, _} = file:read_file(Path) end,
    ratio("file_read of 13 KB / file:read_file", 1.0, times(2000, Ours), times(2000, Peer)),
    file:del_dir_r(Dir).

grep(Kind, Pattern, RgArgs) ->
    Tree = tree(),
    K = beamai_kernel:add_tool_module(kernel(Tree), beamai_tool_file),
    Args = #{<<"pattern">> => Pattern, <<"limit">> => 10000},
    Ours = fun() ->
        {ok, #{<<"total_matches">> := Found}, _} = beamai_kernel:invoke(K, <<"file_grep">>, Args),
        Found
    end,
    Peer = fun() -> lines(rg(["-n", "--no-heading"] ++ RgArgs ++ ["."], Tree)) end,
    same(Ours(), Peer()),
    ratio("file_grep, " ++ Kind ++ " / rg", 1.0, times(1, Ours), times(1, Peer)).

glob() ->
    Tree = tree(),
    K = beamai_kernel:add_tool_module(kernel(Tree), beamai_tool_file),
    Args = #{<<"pattern">> => <<"**/*.rs">>, <<"limit">> => 100000},
    Ours = fun() ->
        {ok, #{<<"count">> := Found}, _} = beamai_kernel:invoke(K, <<"file_glob">>, Args),
        Found
    end,
    Peer = fun() -> lines(rg(["--files", "-g", "**/*.rs", "."], Tree)) end,
    same(Ours(), Peer()),
    ratio("file_glob **/*.rs / rg --files", 0.6, times(1, Ours), times(1, Peer)).

shell_exec() ->
    Dir = temp_dir(),
    Run = fun(Mode, Command) ->
        K = beamai_kernel:add_tool_module(kernel(Dir, #{sandbox => Mode}), beamai_tool_shell),
        Args = #{<<"command">> => Command},
        fun() -> {ok, #{<<"exit_code">> := 0}, _} = beamai_kernel:invoke(K, <<"shell_exec">>, Args) end
    end,
    Sandboxed = Run(required, <<"true">>),
    Peer = fun() -> [] = os:cmd("true") end,
    ratio("shell_exec of true / os:cmd", 0.7, times(100, Run(off, <<"true">>)), times(100, Peer)),
    %% A plain command takes the shell's place; this one needs bash, and os:cmd has the machine's quicker sh for it.
    Both = <<"true && true">>,
    ratio("shell_exec of true && true / os:cmd", 1.0, times(100, Run(off, Both)),
          times(100, fun() -> [] = os:cmd("true && true") end)),
    %% With every layer of the sandbox, against none.
    ratio("shell_exec of true, sandboxed / os:cmd", 0.6, times(100, Sandboxed), times(100, Peer)),
    against_bwrap(Sandboxed),
    file:del_dir_r(Dir).

against_bwrap(Ours) ->
    case os:find_executable("bwrap") of
        false ->
            io:format("~-44ts bwrap is not installed~n", ["shell_exec of true, sandboxed / bwrap"]);
        Bwrap ->
            Args = ["--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true"],
            Peer = fun() -> run_program(Bwrap, Args) end,
            ratio("shell_exec of true, sandboxed / bwrap", 0.5, times(100, Ours), times(100, Peer))
    end.

run_program(Program, Args) ->
    Port = open_port({spawn_executable, Program}, [{args, Args}, exit_status]),
    receive {Port, {exit_status, 0}} -> ok end.

%% The same command with a rule that denies some other program, so that every start is decided, and with nothing to decide.
exec_guard() ->
    Dir = temp_dir(),
    ok = file:write_file(filename:join(Dir, "small.c"),
                         [io_lib:format("int f~b(int x) { return x * ~b; }~n", [N, N]) || N <- lists:seq(1, 100)]),
    Empty = [filename:join(Dir, "empty" ++ integer_to_list(N)) || N <- lists:seq(1, 8)],
    lists:foreach(fun(Each) -> ok = file:make_dir(Each) end, Empty),
    Path = unicode:characters_to_binary(lists:join($:, Empty ++ ["/usr/bin"])),
    guarded("100 cc -c, guarded / not", 1.05, Dir,
            #{<<"command">> => <<"for i in {1..100}; do cc -c small.c -o small.o || exit; done">>}),
    guarded("200 env true, 9 PATH entries, guarded / not", 1.2, Dir,
            #{<<"command">> => <<"for i in {1..200}; do /usr/bin/env true || exit; done">>, <<"env">> => #{<<"PATH">> => Path}}),
    file:del_dir_r(Dir).

guarded(Name, Bound, Dir, Args) ->
    Run = fun(Rules) ->
        Options = #{permissions => Rules#{default => allow}, approve => fun(_) -> allow end},
        K = beamai_kernel:add_tool_module(kernel(Dir, Options), beamai_tool_shell),
        fun() -> {ok, #{<<"exit_code">> := 0}, _} = beamai_kernel:invoke(K, <<"shell_exec">>, Args) end
    end,
    ratio(Name, Bound, times(1, Run(#{deny => [<<"Bash(no-such-program:*)">>]})), times(1, Run(#{}))).

%% A repository of 2,000 files with ten of them changed; against the program git. A worker is kept from call to call; one of
%% other settings has to be started.
git() ->
    Dir = temp_dir(),
    Program = os:find_executable("git"),
    Git = fun(Args) -> collect(open_port({spawn_executable, Program}, [{args, Args}, {cd, Dir}, binary, exit_status]), []) end,
    Write = fun(N, Text) ->
        File = filename:join([Dir, integer_to_list(N rem 40), integer_to_list(N)]),
        ok = filelib:ensure_dir(File),
        ok = file:write_file(File, Text)
    end,
    Lines = binary:copy(<<"one line of many\n">>, 100),
    [Write(N, Lines) || N <- lists:seq(1, 2000)],
    User = ["-c", "user.name=A", "-c", "user.email=a@example.com"],
    [Git(Args) || Args <- [["init", "-q"], ["add", "."], User ++ ["commit", "-q", "-m", "all"]]],
    %% Later than what is staged, so that neither side has to read the files that did not change.
    timer:sleep(1100),
    Git(["update-index", "--refresh"]),
    [Write(N, [Lines, <<"changed\n">>]) || N <- lists:seq(1, 10)],
    Call = fun(K, Tool, Args) ->
        {ok, #{<<"available">> := true}, _} = beamai_kernel:invoke(K, Tool, Args)
    end,
    K = git_kernel(Dir, #{}),
    [ratio("git " ++ Name ++ ", worker kept / git", 1.0,
           times(20, fun() -> Call(K, Tool, Args) end), times(20, fun() -> Git(Peer) end))
     || {Name, Tool, Args, Peer} <-
            [{"status", <<"git_status">>, #{<<"short">> => true}, ["status", "--short"]},
             {"diff", <<"git_diff">>, #{}, ["diff"]},
             {"log", <<"git_log">>, #{}, ["log"]}]],
    First = fun() ->
        Memory = (4 bsl 30) + erlang:unique_integer([positive]),
        Call(git_kernel(Dir, #{sandbox => #{memory => Memory}}), <<"git_log">>, #{})
    end,
    ratio("git log, worker started / git", 20.0, times(3, First), times(3, fun() -> Git(["log"]) end)),
    file:del_dir_r(Dir).

git_kernel(Dir, Options) ->
    beamai_kernel:add_tool_module(kernel(Dir, Options), beamai_tool_git).

%% Where the kernel happens to place the programs decides between a switch on one processor and waking another one,
%% which takes ten times as long. So both are measured, each side alike.
port_round_trip() ->
    K = probes(kernel(".", #{door => port})),
    Ctx = beamai_context:new(),
    Ours = fun() -> {ok, _, _} = beamai_kernel:invoke(K, <<"probe_noop">>, #{}, Ctx) end,
    Ours(),
    {ok, _Owner, Port} = beamai_port:connect(),
    Options = [{packet, 4}, nouse_stdio, binary],
    Echo = open_port({spawn_executable, os:getenv("BENCH_ECHO")}, Options),
    Frame = binary:copy(<<"x">>, 400),
    Peer = fun() ->
        port_command(Echo, Frame),
        receive {Echo, {data, _}} -> ok end
    end,
    Programs = [Pid || P <- [Port, Echo], {os_pid, Pid} <- [erlang:port_info(P, os_pid)]],
    [begin
         pin([list_to_integer(os:getpid())], "0"),
         pin(Programs, Cpu),
         ratio("port call / echoing port, " ++ Where, 1.5, times(2000, Ours), times(2000, Peer))
     end || {Where, Cpu} <- [{"another CPU", "1"}, {"same CPU", "0"}]],
    pin([list_to_integer(os:getpid()) | Programs], "0-" ++ integer_to_list(erlang:system_info(logical_processors) - 1)),
    port_close(Echo).

pin(Pids, Cpus) ->
    [os:cmd(lists:flatten(io_lib:format("taskset -acp ~s ~b", [Cpus, Pid]))) || Pid <- Pids].

%% Not against a peer: from the caller's death to the end of the last native thread.
cancel_grep() ->
    Dir = big_tree(),
    K = beamai_kernel:add_tool_module(kernel(Dir), beamai_tool_file),
    Args = #{<<"pattern">> => <<"(a|b|c)+x[^z]*needle">>},
    Times = [kill_caller(K, Args) || _ <- lists:seq(1, ?ROUNDS)],
    io:format("~-44ts ~12ts ~12ts ~7ts ~6ts~n",
              ["grep stops after its caller's death, longest", ms(lists:max(Times)), "", "", "50 ms"]),
    file:del_dir_r(Dir).

kill_caller(K, Args) ->
    Caller = spawn(fun() -> beamai_kernel:invoke(K, <<"file_grep">>, Args) end),
    wait_until(fun() -> beamai_nif:running() > 0 end),
    timer:sleep(20),
    true = beamai_nif:running() > 0,
    Start = erlang:monotonic_time(nanosecond),
    exit(Caller, kill),
    wait_until(fun() -> beamai_nif:running() =:= 0 end),
    erlang:monotonic_time(nanosecond) - Start.

%% Not against a peer: how long after its timeout a call with 200 stubborn daemons has returned, and none is left.
daemons() ->
    Dir = temp_dir(),
    K = beamai_kernel:add_tool_module(kernel(Dir), beamai_tool_shell),
    Times = [kill_daemons(K) || _ <- lists:seq(1, 3)],
    io:format("~-44ts ~12ts ~12ts ~7ts ~6ts~n",
              ["200 daemons gone after the timeout, longest", ms(lists:max(Times)), "", "", "100 ms"]),
    file:del_dir_r(Dir).

kill_daemons(K) ->
    Mark = filename:basename(temp_name()),
    Command = <<"trap '' TERM; for i in {1..200}; do setsid sleep 1000 >/dev/null 2>&1 & done; wait">>,
    Timeout = 3000,
    Args = #{<<"command">> => Command, <<"timeout">> => Timeout, <<"env">> => #{<<"MARK">> => list_to_binary(Mark)}},
    Start = erlang:monotonic_time(nanosecond),
    {error, #{error_type := timeout, details := Details}} = beamai_kernel:invoke(K, <<"shell_exec">>, Args),
    Late = erlang:monotonic_time(nanosecond) - Start - Timeout * 1000000,
    201 = maps:get(killed, Details),
    [] = [File || File <- filelib:wildcard("/proc/[0-9]*/environ"), carries(File, Mark)],
    Late.

carries(File, Mark) ->
    case file:read_file(File) of
        {ok, Text} -> string:find(Text, Mark) =/= nomatch;
        {error, _} -> false
    end.

%% Not against a peer: the longest of many calls of each function that runs on a normal scheduler.
longest_call() ->
    process_flag(priority, max),
    %% Enough for a call, so that no garbage collection comes in between.
    process_flag(min_heap_size, 100000),
    process_flag(min_bin_vheap_size, 100000),
    Dir = temp_dir(),
    ok = file:write_file(filename:join(Dir, "file.txt"), binary:copy(<<"32 KB, the most\n">>, 2048)),
    #{env := Env} = kernel(Dir),
    Read = term_to_binary(#{tool => <<"file_read">>, args => #{<<"path">> => <<"file.txt">>}}),
    Noop = term_to_binary(#{tool => <<"probe_noop">>, args => #{<<"echo">> => binary:copy(<<"x">>, 8192)}}),
    Ref = make_ref(),
    {ok, Job} = beamai_nif:start(Env, Noop, Ref),
    receive {Ref, _} -> ok end,
    Rules = term_to_binary(#{}),
    Call = <<"<TOOL_CALL>{\"tool\": \"t\", \"args\": {}}</TOOL_CALL>\n">>,
    Response = binary:copy(Call, 16384 div byte_size(Call)),
    true = is_binary(beamai_nif:parse_text(Rules, Response, true)),
    Calls = [{"judge", fun() -> allow = beamai_nif:judge(Env, <<"some_tool">>, false) end},
             {"call_now, 8 KB", fun() -> at_once(Env, Noop) end},
             {"call_now, file of 32 KB", fun() -> at_once(Env, Read) end},
             {"parse_text_now, 16 KB", fun() -> true = is_binary(beamai_nif:parse_text_now(Rules, Response, true)) end},
             {"start", fun() -> {ok, _} = beamai_nif:start(Env, Noop, Ref), put(started, Ref) end},
             {"cancel", fun() -> ok = beamai_nif:cancel(Job) end},
             {"running", fun() -> true = is_integer(beamai_nif:running()) end}],
    [longest(Name, Measured) || {Name, Measured} <- Calls],
    process_flag(priority, normal),
    file:del_dir_r(Dir).

%% The machine takes the processor away now and then, which is no time of the call's own: of several rounds, the
%% one in which that happened least counts.
longest(Name, Call) ->
    put(deferrals, 0),
    Call(),
    answered(),
    Longest = lists:min([longest_of(20000, Call, 0) || _ <- lists:seq(1, 5)]),
    true = get(deferrals) < 100,
    io:format("~-44ts ~12ts ~12ts ~7ts ~6ts~n",
              ["longest " ++ Name ++ " of 20,000", us(Longest), "", "", "1 ms"]).

longest_of(0, _Call, Longest) ->
    Longest;
longest_of(Count, Call, Longest) ->
    Time = time(Call),
    answered(),
    longest_of(Count - 1, Call, max(Longest, Time)).

%% A call that finds that it would have to wait is made elsewhere, and then the next one need not: once a second, for a look at places of
%% secrets, and after a mount.
at_once(Env, Call) ->
    case beamai_nif:call_now(Env, Call) of
        defer -> put(deferred, {Env, Call}), put(deferrals, 1 + get(deferrals));
        Reply when is_binary(Reply) -> ok
    end.

%% Waits for the answer of a job, so that their queue never fills, and for a call that was deferred.
answered() ->
    case erase(started) of
        undefined -> ok;
        Ref -> receive {Ref, Reply} when is_binary(Reply) -> ok end
    end,
    case erase(deferred) of
        undefined -> ok;
        {Env, Call} -> true = is_binary(beamai_nif:call(Env, Call))
    end.

%%% Measuring

spawn_monitor_round() ->
    {Pid, Ref} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Ref, process, Pid, _} -> ok end.

%% What to run, and how often to make it long enough to measure.
times(Count, Fun) ->
    {Count, Fun}.

ratio(Name, Bound, Ours, Peer) ->
    round_of(Ours),
    round_of(Peer),
    Rounds = [{round_of(Ours), round_of(Peer)} || _ <- lists:seq(1, ?ROUNDS)],
    {A, B} = {median([A || {A, _} <- Rounds]), median([B || {_, B} <- Rounds])},
    Ratio = median([X / Y || {X, Y} <- Rounds]),
    Mark = case Ratio =< Bound of true -> ""; false -> " over" end,
    io:format("~-44ts ~12ts ~12ts ~7.2f ~6.2f~ts~n", [Name, unit(A), unit(B), Ratio, Bound, Mark]).

%% Nanoseconds that one call took, on average over a round that starts with a clean heap.
round_of({Count, Fun}) ->
    erlang:garbage_collect(),
    time(fun() -> repeat(Count, Fun) end) / Count.

repeat(0, _) -> ok;
repeat(Count, Fun) -> Fun(), repeat(Count - 1, Fun).

time(Fun) ->
    Start = erlang:monotonic_time(nanosecond),
    Fun(),
    erlang:monotonic_time(nanosecond) - Start.

median(List) ->
    lists:nth((length(List) + 1) div 2, lists:sort(List)).

unit(Ns) when Ns < 1000000 -> us(Ns);
unit(Ns) -> ms(Ns).

us(Ns) -> io_lib:format("~.2f us", [Ns / 1000]).
ms(Ns) -> io_lib:format("~.2f ms", [Ns / 1000000]).

same(Ours, Peer) ->
    Ours =:= Peer orelse io:format("   (found ~p, the peer ~p)~n", [Ours, Peer]).

wait_until(Done) ->
    Done() orelse wait_until(Done).

%%% Peers and places

rg(Args, Dir) ->
    Port = open_port({spawn_executable, os:getenv("BENCH_RG")},
                     [{args, Args}, {cd, Dir}, binary, stream, exit_status]),
    collect(Port, []).

collect(Port, Acc) ->
    receive
        {Port, {data, Data}} -> collect(Port, [Acc, Data]);
        {Port, {exit_status, 0}} -> iolist_to_binary(Acc)
    end.

lines(Text) ->
    length(binary:matches(Text, <<"\n">>)).

tree() ->
    os:getenv("BENCH_TREE").

%% Files that take long to search: without the needle that the pattern ends in.
big_tree() ->
    Dir = temp_dir(),
    Block = binary:copy(<<"abcabcabcabcabcabcabcabcabc x and no more of it\n">>, 200000),
    [ok = file:write_file(filename:join(Dir, integer_to_list(N)), Block) || N <- lists:seq(1, 20)],
    Dir.

temp_dir() ->
    Dir = temp_name(),
    ok = file:make_dir(Dir),
    Dir.

temp_name() ->
    filename:join("/tmp", "beamai-bench-" ++ integer_to_list(erlang:unique_integer([positive])) ++ "-" ++ os:getpid()).

probes(K) ->
    beamai_kernel:add_tools(K, beamai_catalogue:tools(<<"probe">>)).

kernel() ->
    kernel(".").

kernel(Dir) ->
    kernel(Dir, #{}).

kernel(Dir, Options) ->
    beamai_kernel:new(maps:merge(#{workspace => Dir, permissions => #{default => allow}}, Options)).
