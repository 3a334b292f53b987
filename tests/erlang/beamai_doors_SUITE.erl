%% What both doors must do alike, and what only the port can do: die.
-module(beamai_doors_SUITE).

-include_lib("stdlib/include/assert.hrl").

-export([all/0, groups/0, init_per_group/2, end_per_group/2, init_per_testcase/2, end_per_testcase/2]).
-export([
    a_call_answers_with_its_result/1,
    wrong_arguments_are_all_named/1,
    atom_keys_are_accepted/1,
    a_large_argument_comes_back_whole/1,
    arguments_that_no_model_can_send_are_refused/1,
    a_call_that_takes_too_long_is_stopped/1,
    a_panic_becomes_an_error_and_the_next_call_works/1,
    a_call_is_cancelled_by_its_run_id/1,
    many_calls_under_one_run_id_are_cancelled/1,
    native_work_stops_when_the_caller_dies/1,
    a_search_stops_when_the_caller_dies/1,
    progress_reaches_a_pid_and_a_fun/1,
    a_call_may_be_made_in_a_progress_fun/1,
    a_thousand_calls_at_once_finish/1,
    a_flaky_door_is_tried_again/1,
    invoke_all_runs_native_tools_in_parallel/1,
    nothing_is_left_in_the_mailbox/1,
    a_workspace_that_was_swapped_is_refused/1,
    a_native_tool_is_a_plain_handler_too/1,
    a_context_may_name_another_workspace/1,
    a_call_costs_no_process_and_no_session/1,
    a_dead_port_answers_every_call_and_the_next_one_works/1,
    a_stopped_port_is_killed_and_the_next_call_works/1,
    a_dead_owner_answers_every_call_and_the_next_one_works/1,
    the_port_ends_with_the_application/1,
    a_killed_vm_takes_every_process_with_it/1,
    no_atom_is_made_from_what_comes_in/1,
    a_tool_of_the_port_says_so_where_only_the_nif_is_allowed/1
]).

all() ->
    [
        {group, nif},
        {group, port},
        a_dead_port_answers_every_call_and_the_next_one_works,
        a_stopped_port_is_killed_and_the_next_call_works,
        a_dead_owner_answers_every_call_and_the_next_one_works,
        the_port_ends_with_the_application,
        a_killed_vm_takes_every_process_with_it,
        no_atom_is_made_from_what_comes_in,
        a_tool_of_the_port_says_so_where_only_the_nif_is_allowed
    ].

groups() ->
    Cases = [
        a_call_answers_with_its_result,
        wrong_arguments_are_all_named,
        atom_keys_are_accepted,
        a_large_argument_comes_back_whole,
        arguments_that_no_model_can_send_are_refused,
        a_call_that_takes_too_long_is_stopped,
        a_panic_becomes_an_error_and_the_next_call_works,
        a_call_is_cancelled_by_its_run_id,
        many_calls_under_one_run_id_are_cancelled,
        native_work_stops_when_the_caller_dies,
        a_search_stops_when_the_caller_dies,
        progress_reaches_a_pid_and_a_fun,
        a_call_may_be_made_in_a_progress_fun,
        a_thousand_calls_at_once_finish,
        a_flaky_door_is_tried_again,
        invoke_all_runs_native_tools_in_parallel,
        nothing_is_left_in_the_mailbox,
        a_workspace_that_was_swapped_is_refused,
        a_native_tool_is_a_plain_handler_too,
        a_context_may_name_another_workspace,
        a_call_costs_no_process_and_no_session
    ],
    [{nif, [], Cases}, {port, [], Cases}].

init_per_group(Door, Config) -> [{door, Door} | Config].
end_per_group(_Door, _Config) -> ok.

init_per_testcase(_Case, Config) ->
    {ok, _} = application:ensure_all_started(beamai),
    Workspace = beamai_test:workspace(),
    [{workspace, Workspace} | Config].

end_per_testcase(_Case, Config) ->
    _ = file:del_dir_r(workspace(Config)),
    ok.

workspace(Config) -> proplists:get_value(workspace, Config).
door(Config) -> proplists:get_value(door, Config, port).

kernel(Config) ->
    kernel(Config, #{}).

kernel(Config, Options) ->
    Kernel = beamai_kernel:new(Options#{workspace => workspace(Config), door => door(Config)}),
    beamai_test:probes(Kernel).

%% The kernel with other keys in the spec of probe_sleep.
sleeper(Config, Keys) ->
    Kernel = kernel(Config),
    {ok, Spec} = beamai_kernel:find_tool(Kernel, <<"probe_sleep">>),
    beamai_kernel:replace_tool(Kernel, maps:merge(Spec, Keys)).

noop(Kernel, Args) -> beamai_kernel:invoke(Kernel, <<"probe_noop">>, Args).
sleep(Kernel, Ms) -> sleep(Kernel, Ms, #{}).
sleep(Kernel, Ms, Context) ->
    beamai_kernel:invoke(Kernel, <<"probe_sleep">>, #{<<"duration">> => Ms}, Context).

%%% Cases of both doors

a_call_answers_with_its_result(Config) ->
    ?assertEqual(
        {ok, #{<<"echo">> => <<"hé"/utf8>>}, #{}},
        noop(kernel(Config), #{<<"echo">> => <<"hé"/utf8>>})
    ),
    ?assertEqual({ok, #{<<"echo">> => null}, #{}}, noop(kernel(Config), #{})).

wrong_arguments_are_all_named(Config) ->
    {error, Error} = noop(kernel(Config), #{<<"ecco">> => 1, <<"echo">> => 2}),
    ?assertMatch(
        #{tool := <<"probe_noop">>, error_type := invalid_input, details := #{reason := invalid_argument}},
        Error
    ),
    [
        ?assertMatch({match, _}, re:run(maps:get(message, Error), Name))
     || Name <- ["ecco", "echo", "Accepted"]
    ].

atom_keys_are_accepted(Config) ->
    ?assertMatch({ok, #{<<"echo">> := <<"x">>}, _}, noop(kernel(Config), #{echo => <<"x">>})).

a_large_argument_comes_back_whole(Config) ->
    Text = binary:copy(<<"0123456789">>, 500000),
    {ok, #{<<"echo">> := Echo}, _} = noop(kernel(Config), #{<<"echo">> => Text}),
    ?assert(Echo =:= Text).

arguments_that_no_model_can_send_are_refused(Config) ->
    [
        ?assertMatch(
            {error, #{error_type := invalid_input}}, noop(kernel(Config), #{<<"echo">> => Value})
        )
     || Value <- [self(), make_ref(), {tuple}, <<255>>, <<1:3>>]
    ].

a_call_that_takes_too_long_is_stopped(Config) ->
    Kernel = sleeper(Config, #{timeout => 100}),
    {Time, Result} = timer:tc(fun() -> sleep(Kernel, 60000) end),
    ?assertMatch({error, #{error_type := timeout, details := #{reason := timeout}}}, Result),
    ?assert(Time < 30000000).

a_panic_becomes_an_error_and_the_next_call_works(Config) ->
    Kernel = kernel(Config),
    [
        begin
            ?assertMatch(
                {error, #{error_type := execution_failed, details := #{reason := crash}}},
                beamai_kernel:invoke(Kernel, <<"probe_panic">>, #{})
            ),
            ?assertMatch({ok, _, _}, noop(Kernel, #{}))
        end
     || _ <- lists:seq(1, 20)
    ].

a_call_is_cancelled_by_its_run_id(Config) ->
    Kernel = sleeper(Config, #{retry => #{max => 5, delay => 1}}),
    Me = self(),
    RunId = make_ref(),
    spawn_link(fun() ->
        Result = sleep(Kernel, 60000, #{run_id => RunId, progress => Me}),
        Me ! {result, Result, beamai_test:mailbox()}
    end),
    receive
        {beamai_progress, RunId, #{}} -> ok
    end,
    ok = beamai_kernel:cancel(RunId),
    receive
        {result, Result, Mailbox} ->
            ?assertMatch(
                {error, #{error_type := execution_failed, details := #{reason := cancelled}}}, Result
            ),
            ?assertEqual([], Mailbox)
    after 30000 -> error(not_cancelled)
    end.

many_calls_under_one_run_id_are_cancelled(Config) ->
    Kernel = kernel(Config),
    Me = self(),
    RunId = make_ref(),
    Calls = lists:duplicate(100, {<<"probe_sleep">>, #{<<"duration">> => 60000}}),
    spawn_link(fun() ->
        Me ! {results, beamai_kernel:invoke_all(Kernel, Calls, #{run_id => RunId, progress => Me})}
    end),
    receive
        {beamai_progress, RunId, #{}} -> ok
    end,
    ok = beamai_kernel:cancel(RunId),
    receive
        {results, {Results, _}} ->
            ?assertEqual(100, length(Results)),
            [?assertMatch({error, #{details := #{reason := cancelled}}}, R) || R <- Results]
    after 10000 -> error(not_cancelled)
    end.

%% More calls than there are native threads: only if they stop is there room for the last one.
native_work_stops_when_the_caller_dies(Config) ->
    Kernel = kernel(Config),
    Me = self(),
    Callers = [
        spawn(fun() -> sleep(Kernel, 600000, #{progress => fun(_) -> Me ! {started, self()} end}) end)
     || _ <- lists:seq(1, 64)
    ],
    receive
        {started, _} -> ok
    end,
    [exit(Caller, kill) || Caller <- Callers],
    ?assertMatch({ok, #{<<"slept">> := 1}, _}, sleep(Kernel, 1)),
    beamai_test:eventually(fun() -> beamai_nif:running() =:= 0 end).

%% The searching process (the VM or the port program) comes to rest long before the search could end.
a_search_stops_when_the_caller_dies(Config) ->
    Line = <<"lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor\n">>,
    First = filename:join(workspace(Config), "0"),
    ok = file:write_file(First, binary:copy(Line, 100000)),
    %% One file under many names: minutes of work, little space.
    [
        ok = file:make_link(First, filename:join(workspace(Config), integer_to_list(N)))
     || N <- lists:seq(1, 4000)
    ],
    Kernel = beamai_kernel:add_tool_module(kernel(Config), beamai_tool_file),
    Args = #{<<"pattern">> => <<"(\\w+\\s+){5,9}\\d{3}\\w+$">>},
    {ok, _, _} = noop(Kernel, #{}),
    Searcher = searcher(Config),
    Callers = [spawn(fun() -> beamai_kernel:invoke(Kernel, <<"file_grep">>, Args) end) || _ <- [1, 2, 3]],
    Idle = cpu_ms(Searcher),
    beamai_test:eventually(fun() -> cpu_ms(Searcher) > Idle + 200 end),
    [exit(Caller, kill) || Caller <- Callers],
    beamai_test:eventually(fun() ->
        Before = cpu_ms(Searcher),
        timer:sleep(500),
        cpu_ms(Searcher) - Before < 200
    end),
    ?assertEqual([], [Caller || Caller <- Callers, is_process_alive(Caller)]).

searcher(Config) ->
    case door(Config) of
        nif -> os:getpid();
        port -> integer_to_list(os_pid())
    end.

%% Processor time that a process has used; the kernel counts hundredths of a second.
cpu_ms(OsPid) ->
    {ok, Stat} = file:read_file("/proc/" ++ OsPid ++ "/stat"),
    [_, Rest] = binary:split(Stat, <<") ">>),
    Fields = binary:split(Rest, <<" ">>, [global]),
    10 * lists:sum([binary_to_integer(lists:nth(N, Fields)) || N <- [12, 13]]).

progress_reaches_a_pid_and_a_fun(Config) ->
    Kernel = kernel(Config),
    Me = self(),
    {ok, _, _} = sleep(Kernel, 100, #{progress => Me, run_id => r}),
    receive
        {beamai_progress, r, #{<<"left">> := Left, <<"tool">> := <<"probe_sleep">>}} ->
            ?assert(is_integer(Left))
    after 0 -> error(no_progress)
    end,
    {ok, _, _} = sleep(Kernel, 100, #{progress => fun(P) -> Me ! {P, self()} end}),
    receive
        {#{<<"left">> := _}, Pid} -> ?assertEqual(Me, Pid)
    after 0 -> error(no_progress)
    end.

a_call_may_be_made_in_a_progress_fun(Config) ->
    Kernel = kernel(Config),
    Own = beamai_tool:new(<<"own">>, fun(_) -> {ok, 1} end),
    Both = beamai_kernel:add_tool(Kernel, Own),
    Progress = fun(_) ->
        {ok, _, _} = noop(Both, #{}),
        {ok, 1, _} = beamai_kernel:invoke(Both, <<"own">>, #{})
    end,
    ?assertMatch({ok, #{<<"slept">> := 100}, _}, sleep(Both, 100, #{progress => Progress})).

a_thousand_calls_at_once_finish(Config) ->
    Kernel = kernel(Config),
    Pids = [
        spawn_monitor(fun() ->
            Echo = integer_to_binary(N),
            {ok, #{<<"echo">> := Echo}, _} = noop(Kernel, #{<<"echo">> => Echo}),
            {ok, #{<<"slept">> := 1}, _} = sleep(Kernel, 1)
        end)
     || N <- lists:seq(1, 1000)
    ],
    [
        receive
            {'DOWN', Monitor, process, Pid, Reason} -> ?assertEqual(normal, Reason)
        after 60000 -> error(stuck)
        end
     || {Pid, Monitor} <- Pids
    ].

a_flaky_door_is_tried_again(Config) ->
    Kernel = sleeper(Config, #{timeout => 30, retry => #{max => 2, delay => 1}}),
    {Time, {error, #{error_type := timeout}}} = timer:tc(fun() -> sleep(Kernel, 60000) end),
    ?assert(Time >= 90000).

invoke_all_runs_native_tools_in_parallel(Config) ->
    Calls = lists:duplicate(8, {<<"probe_sleep">>, #{<<"duration">> => 1500}}),
    {Time, {Results, _}} = timer:tc(fun() -> beamai_kernel:invoke_all(kernel(Config), Calls, #{}) end),
    ?assertEqual(lists:duplicate(8, {ok, #{<<"slept">> => 1500}}), Results),
    ?assert(Time < 9000000).

nothing_is_left_in_the_mailbox(Config) ->
    beamai_test:alone(fun() ->
        Kernel = sleeper(Config, #{timeout => 500}),
        {ok, _, _} = noop(Kernel, #{}),
        {ok, _, _} = sleep(Kernel, 15),
        {error, _} = sleep(Kernel, 5000),
        {ok, _, _} = sleep(Kernel, 1, #{run_id => x}),
        timer:sleep(50),
        ?assertEqual([], beamai_test:mailbox()),
        ?assertEqual({monitors, []}, process_info(self(), monitors)),
        ?assertEqual([], ets:match(beamai_watched, {{self(), '_'}, '_'}))
    end).

a_workspace_that_was_swapped_is_refused(Config) ->
    Path = workspace(Config),
    Kernel = kernel(Config, #{permissions => #{default => allow}}),
    ok = file:rename(Path, <<Path/binary, "-old">>),
    ok = file:make_dir(Path),
    try
        %% The kernel was never used, so nothing holds the directory open yet in the port.
        case door(Config) of
            port -> ?assertMatch({error, #{error_type := _}}, noop(Kernel, #{}));
            nif -> ?assertMatch({ok, _, _}, noop(Kernel, #{}))
        end
    after
        file:del_dir_r(<<Path/binary, "-old">>)
    end.

a_native_tool_is_a_plain_handler_too(Config) ->
    {ok, #{handler := {M, F, Extra}}} = beamai_kernel:find_tool(kernel(Config), <<"probe_noop">>),
    ?assertMatch(
        {ok, #{<<"echo">> := <<"x">>}, _}, apply(M, F, [#{<<"echo">> => <<"x">>}, #{} | Extra])
    ).

a_context_may_name_another_workspace(Config) ->
    Call = fun(Path) ->
        beamai_kernel:invoke(kernel(Config), <<"probe_noop">>, #{}, #{workspace => Path})
    end,
    ?assertMatch({ok, _, _}, Call("/tmp")),
    ?assertMatch(
        {error, #{tool := <<"probe_noop">>, error_type := not_found}}, Call("/no/such/directory")
    ).

a_call_costs_no_process_and_no_session(Config) ->
    Kernel = kernel(Config),
    {ok, _, _} = sleep(Kernel, 1),
    Sessions = length(supervisor:which_children(beamai_session_sup)),
    Me = self(),
    Before = erlang:system_info(process_count),
    Progress = fun(_) -> Me ! {during, erlang:system_info(process_count)} end,
    {ok, _, _} = sleep(Kernel, 30, #{progress => Progress}),
    receive
        {during, Count} -> ?assert(Count =< Before)
    end,
    ?assertEqual(Sessions, length(supervisor:which_children(beamai_session_sup))).

%%% The port alone

os_pid() ->
    {ok, _Owner, Port} = beamai_port:connect(),
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    Pid.

sleeping_callers(Kernel, Count) ->
    Me = self(),
    Callers = [
        spawn_monitor(fun() ->
            Progress = fun(_) -> Me ! {started, self()} end,
            exit({result, sleep(Kernel, 600000, #{progress => Progress}), beamai_test:mailbox()})
        end)
     || _ <- lists:seq(1, Count)
    ],
    receive
        {started, _} -> ok
    end,
    %% One that has not written its call yet would rightly go to the next port.
    beamai_test:eventually(fun() ->
        length(ets:match(beamai_watched, {{'_', {port, '_'}}, '_'})) =:= Count
    end),
    timer:sleep(100),
    Callers.

all_lost(Callers) ->
    [
        receive
            {'DOWN', Monitor, process, Pid, {result, Result, Mailbox}} ->
                ?assertMatch(
                    {error, #{error_type := execution_failed, details := #{reason := door_lost}}},
                    Result
                ),
                ?assertEqual([], Mailbox)
        after 10000 -> error(unanswered)
        end
     || {Pid, Monitor} <- Callers
    ].

a_dead_port_answers_every_call_and_the_next_one_works(Config) ->
    Kernel = kernel(Config),
    {ok, _, _} = noop(Kernel, #{}),
    [
        begin
            Callers = sleeping_callers(Kernel, 200),
            OsPid = os_pid(),
            os:cmd("kill -9 " ++ integer_to_list(OsPid)),
            all_lost(Callers),
            ?assertMatch({ok, _, _}, noop(Kernel, #{})),
            ?assertNotEqual(OsPid, os_pid())
        end
     || _ <- lists:seq(1, 6)
    ].

%% The program is there and does nothing: calls end all the same, and the next one finds another program.
a_stopped_port_is_killed_and_the_next_call_works(Config) ->
    Kernel = kernel(Config),
    {ok, _, _} = noop(Kernel, #{}),
    OsPid = integer_to_list(os_pid()),
    Me = self(),
    {Caller, Monitor} = spawn_monitor(fun() ->
        exit({result, sleep(Kernel, 600000, #{run_id => stopped, progress => fun(_) -> Me ! started end})})
    end),
    receive
        started -> ok
    end,
    os:cmd("kill -STOP " ++ OsPid),
    ok = beamai_kernel:cancel(stopped),
    receive
        {'DOWN', Monitor, process, Caller, {result, Result}} ->
            ?assertMatch({error, #{error_type := execution_failed, details := #{reason := cancelled}}}, Result)
    end,
    ?assertMatch({ok, _, _}, noop(Kernel, #{})),
    ?assertNotEqual(OsPid, integer_to_list(os_pid())),
    ?assertEqual("", os:cmd("ps -o stat= -p " ++ OsPid)).

a_dead_owner_answers_every_call_and_the_next_one_works(Config) ->
    Kernel = kernel(Config),
    {ok, _, _} = noop(Kernel, #{}),
    Callers = sleeping_callers(Kernel, 20),
    {ok, Owner, _Port} = beamai_port:connect(),
    exit(Owner, kill),
    all_lost(Callers),
    ?assertMatch({ok, _, _}, noop(Kernel, #{})).

the_port_ends_with_the_application(Config) ->
    Kernel = kernel(Config),
    {ok, _, _} = noop(Kernel, #{}),
    OsPid = integer_to_list(os_pid()),
    ?assert(filelib:is_dir("/proc/" ++ OsPid)),
    ok = application:stop(beamai),
    beamai_test:eventually(fun() -> not filelib:is_dir("/proc/" ++ OsPid) end),
    ?assertMatch({ok, _, _}, noop(Kernel, #{})).

%% Daemons that are hard to kill, started by a VM of their own: it is killed, and they are gone with its port.
a_killed_vm_takes_every_process_with_it(Config) ->
    [killed_vm(Config, Sandbox) || Sandbox <- ["required", "off"]].

killed_vm(Config, Sandbox) ->
    Code = lists:flatten(
        io_lib:format(
            "{ok, _} = application:ensure_all_started(beamai),"
            "K = beamai_kernel:new(#{workspace => ~p, sandbox => ~s, permissions => #{default => allow}}),"
            "beamai_kernel:invoke(beamai_kernel:add_tool_module(K, beamai_tool_shell), <<\"shell_exec\">>,"
            " #{<<\"command\">> => ~p})",
            [workspace(Config), Sandbox, daemons()]
        )
    ),
    Path = lists:append([["-pa", Dir] || Dir <- code:get_path(), filelib:is_dir(Dir)]),
    Vm = open_port({spawn_executable, os:find_executable("erl")}, [
        {args, ["-noshell" | Path] ++ ["-eval", Code]}, exit_status, binary
    ]),
    {os_pid, Pid} = erlang:port_info(Vm, os_pid),
    try
        killed_vm_and_tree(Vm, Pid)
    after
        os:cmd("kill -9 " ++ integer_to_list(Pid) ++ " 2>/dev/null")
    end.

killed_vm_and_tree(Vm, Pid) ->
    %% A stopped process, and one that ignores signals in a session of its own.
    beamai_test:eventually(fun() -> lists:sort(states("sleep", Pid)) =:= [<<"S">>, <<"T">>] end),
    Tree = [Pid | descendants(Pid)],
    %% With them the VM and its own helper, the port program, the launcher, the reaper and the shell.
    ?assert(length(Tree) >= 8),
    _ = os:cmd("kill -9 " ++ integer_to_list(Pid)),
    receive
        {Vm, {exit_status, Status}} -> ?assertEqual(137, Status)
    after 30000 -> error(alive)
    end,
    beamai_test:eventually(fun() -> [P || P <- Tree, state(P) =/= gone, state(P) =/= <<"Z">>] =:= [] end).

daemons() ->
    <<"(trap '' TERM HUP; setsid sleep 1001 >/dev/null 2>&1 &); sleep 1001 & sleep 0.3; kill -STOP $!; wait">>.

pids() ->
    [list_to_integer(Name) || Name <- filelib:wildcard("[0-9]*", "/proc")].

%% The states of the processes of that name below another one.
states(Name, Pid) ->
    [state(Child) || Child <- descendants(Pid), comm(Child) =:= Name].

comm(Pid) ->
    case proc(Pid, "comm") of
        {ok, Name} -> string:trim(binary_to_list(Name));
        {error, _} -> gone
    end.

state(Pid) -> stat(Pid, 1).

proc(Pid, File) ->
    file:read_file("/proc/" ++ integer_to_list(Pid) ++ "/" ++ File).

%% A field of what the kernel says of a process, counted behind its name, which may have spaces.
stat(Pid, Field) ->
    case proc(Pid, "stat") of
        {ok, Stat} -> lists:nth(Field, string:lexemes(lists:last(string:split(Stat, ") ", trailing)), " "));
        {error, _} -> gone
    end.

descendants(Pid) ->
    below([integer_to_binary(Pid)], [{Child, stat(Child, 2)} || Child <- pids()]).

below(Pids, Parents) ->
    case [Child || {Child, Parent} <- Parents, lists:member(Parent, Pids)] of
        [] -> [];
        Children -> Children ++ below([integer_to_binary(Child) || Child <- Children], Parents)
    end.

%% Names that nobody has used before, in every place where a model or a file can put them.
no_atom_is_made_from_what_comes_in(Config) ->
    Kernel0 = kernel(Config, #{permissions => #{default => allow}}),
    Kernel = lists:foldl(fun(M, K) -> beamai_kernel:add_tool_module(K, M) end, Kernel0, [
        beamai_tool_file, beamai_tool_shell
    ]),
    Round = fun() ->
        Name = <<"unheard_of_", (beamai_temp_dir:random_name())/binary>>,
        Path = filename:join(workspace(Config), Name),
        ok = file:write_file(Path, Name),
        {error, _} = beamai_kernel:invoke(Kernel, Name, #{}),
        {error, _} = noop(Kernel, #{Name => Name}),
        {ok, _, _} = noop(Kernel, #{<<"echo">> => Name}),
        {ok, _, _} = beamai_kernel:invoke(Kernel, <<"file_read">>, #{<<"path">> => Name}),
        {ok, _, _} = beamai_kernel:invoke(Kernel, <<"file_glob">>, #{<<"pattern">> => <<"*">>}),
        {error, _} = beamai_kernel:invoke(Kernel, <<"file_read">>, #{<<"path">> => <<Name/binary, "_">>}),
        {ok, _, _} = beamai_kernel:invoke(Kernel, <<"shell_exec">>, #{<<"command">> => <<"echo ", Name/binary>>}),
        Call = <<"<TOOL_CALL>{\"tool\": \"", Name/binary, "\", \"args\": {\"", Name/binary, "\": 1}}</TOOL_CALL>">>,
        {tool_call, #{tool := Name}} = beamai_protocol:parse(Call),
        {invalid, _, _} = beamai_protocol:parse(Call, Kernel)
    end,
    Round(),
    Before = erlang:system_info(atom_count),
    [Round() || _ <- lists:seq(1, 5)],
    ?assertEqual(Before, erlang:system_info(atom_count)),
    %% That count does count.
    _ = binary_to_atom(<<"unheard_of_", (beamai_temp_dir:random_name())/binary>>),
    ?assertEqual(Before + 1, erlang:system_info(atom_count)).

a_tool_of_the_port_says_so_where_only_the_nif_is_allowed(Config) ->
    Kernel = kernel([{door, nif} | Config]),
    {ok, #{handler := {M, F, [Info]}} = Spec} = beamai_kernel:find_tool(Kernel, <<"probe_noop">>),
    InPort = Spec#{handler := {M, F, [Info#{door := port}]}},
    {error, #{message := Message}} = noop(beamai_kernel:replace_tool(Kernel, InPort), #{}),
    ?assertMatch({match, _}, re:run(Message, "runs only in the port program")).
