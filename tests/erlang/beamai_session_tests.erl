-module(beamai_session_tests).

-include_lib("eunit/include/eunit.hrl").
-include_lib("kernel/include/file.hrl").

-import(beamai_test, [eventually/1]).

started_test() ->
    ok = beamai_runtime:ensure_started().

temp_dir(Id) ->
    {ok, Path} = beamai_session:temp_dir(beamai_session:key(#{session_id => Id})),
    Path.

mode(Path) ->
    {ok, #file_info{mode = Mode}} = file:read_file_info(Path),
    Mode band 8#777.

a_temporary_directory_is_private_and_stays_the_same_test() ->
    Path = temp_dir(s1),
    ?assertEqual(Path, temp_dir(s1)),
    ?assertEqual(8#700, mode(Path)),
    ?assertEqual(8#700, mode(filename:dirname(Path))),
    ?assertNotEqual(Path, temp_dir(s2)),
    beamai_session:close(s1),
    beamai_session:close(s2).

closing_a_session_deletes_its_directory_test() ->
    Path = temp_dir(s3),
    ok = file:make_dir(filename:join(Path, "sub")),
    ok = file:write_file(filename:join(Path, "sub/file"), "x"),
    ok = file:make_symlink("/etc", filename:join(Path, "link")),
    ok = file:change_mode(filename:join(Path, "sub"), 8#500),
    ok = beamai_session:close(s3),
    ?assertNot(filelib:is_file(filename:dirname(Path))),
    ?assert(filelib:is_dir("/etc")),
    ?assertEqual(ok, beamai_session:close(s3)).

a_session_without_an_id_ends_with_its_process_test() ->
    Path = beamai_test:alone(fun() ->
        {ok, Path} = beamai_session:temp_dir(beamai_session:key(#{})),
        ?assert(filelib:is_dir(Path)),
        Path
    end),
    eventually(fun() -> not filelib:is_dir(Path) end).

a_handler_belongs_to_its_callers_session_test() ->
    Tool = beamai_tool:new(<<"t">>, fun(_, Ctx) ->
        {ok, beamai_session:key(Ctx)}
    end),
    Kernel = beamai_test:kernel([Tool]),
    ?assertEqual({ok, {process, self()}, #{}}, beamai_kernel:invoke(Kernel, <<"t">>, #{})),
    ?assertEqual(
        {[{ok, {process, self()}}], #{}}, beamai_kernel:invoke_all(Kernel, [{<<"t">>, #{}}], #{})
    ).

an_idle_session_ends_and_activity_keeps_it_test() ->
    application:set_env(beamai, session_idle_ms, 3000),
    try
        Path = temp_dir(s4),
        Kernel = beamai_test:kernel([
            beamai_tool:new(<<"t">>, fun(_) -> {ok, 1} end, #{timeout => 5000})
        ]),
        [
            begin
                timer:sleep(1000),
                {ok, 1, _} = beamai_kernel:invoke(Kernel, <<"t">>, #{}, #{session_id => s4})
            end
         || _ <- [1, 2, 3, 4]
        ],
        ?assert(filelib:is_dir(Path)),
        eventually(fun() -> not filelib:is_dir(Path) end)
    after
        application:set_env(beamai, session_idle_ms, 3600000)
    end.

a_first_call_keeps_its_session_while_it_runs_test() ->
    %% More than a machine under load takes to begin a call.
    application:set_env(beamai, session_idle_ms, 1000),
    try
        beamai_test:in_workspace(fun(Workspace) ->
            Kernel = beamai_kernel:add_tool_module(
                beamai_kernel:new(#{workspace => Workspace, permissions => #{allow => [<<"Bash">>]}}),
                beamai_tool_shell
            ),
            Command = <<"sleep 2.5; ls -d \"$TMPDIR\"">>,
            {ok, Result, _} = beamai_kernel:invoke(
                Kernel, <<"shell_exec">>, #{<<"command">> => Command}, #{session_id => s9}
            ),
            ?assertMatch(#{<<"exit_code">> := 0}, Result)
        end)
    after
        application:set_env(beamai, session_idle_ms, 3600000),
        beamai_session:close(s9)
    end.

a_directory_that_was_removed_is_made_anew_test() ->
    Path = temp_dir(s10),
    ok = file:del_dir(Path),
    Other = temp_dir(s10),
    ?assert(filelib:is_dir(Other)),
    ?assertNot(filelib:is_dir(filename:dirname(Path))),
    ok = file:del_dir(Other),
    ok = file:make_symlink("/tmp", Other),
    ?assertNotEqual(Other, temp_dir(s10)),
    ?assert(filelib:is_dir("/tmp")),
    beamai_session:close(s10).

stopping_the_application_deletes_every_directory_test() ->
    Paths = [temp_dir(s5), temp_dir(s6)],
    ok = application:stop(beamai),
    [?assertNot(filelib:is_dir(Path)) || Path <- Paths],
    ok = beamai_runtime:ensure_started().

killing_the_supervisor_deletes_every_directory_test() ->
    {ok, Path} = beamai_session:temp_dir({id, with_supervisor}),
    exit(whereis(beamai_sup), kill),
    eventually(fun() -> not filelib:is_dir(Path) end),
    ok = beamai_runtime:ensure_started().

a_session_whose_process_was_killed_starts_anew_test() ->
    Key = beamai_session:key(#{session_id => s7}),
    Path = temp_dir(s7),
    Session = beamai_session:opened(Key),
    ok = beamai_session:approve(Session, <<"Bash(ls)">>),
    exit(Session, kill),
    eventually(fun() -> not is_process_alive(Session) end),
    ?assertNotEqual(Path, temp_dir(s7)),
    ?assertNot(filelib:is_dir(Path)),
    ?assertNot(beamai_session:approved(Key, <<"Bash(ls)">>)),
    beamai_session:close(s7).

many_processes_starting_one_session_get_the_same_test() ->
    Me = self(),
    [spawn(fun() -> Me ! {path, temp_dir(s8)} end) || _ <- lists:seq(1, 50)],
    Paths = [
        receive
            {path, Path} -> Path
        end
     || _ <- lists:seq(1, 50)
    ],
    ?assertEqual(1, length(lists:usort(Paths))),
    beamai_session:close(s8).

a_node_that_was_killed_leaves_nothing_for_long_test_() ->
    {timeout, 60, fun() -> in_another_tmpdir(fun a_node_that_was_killed_leaves_nothing_for_long/0) end}.

a_node_that_was_killed_leaves_nothing_for_long() ->
    {ok, Own} = beamai_temp_dir:create(),
    Left = made_by_another_node(),
    ?assert(filelib:is_dir(Left)),
    beamai_tmp_cleanup:sweep(),
    ?assertNot(filelib:is_dir(filename:dirname(Left))),
    ?assert(beamai_temp_dir:is_there(Own)),
    beamai_temp_dir:delete(Own).

%% What nobody is known to have made, or somebody in another namespace, or what others can change, stays.
directories_whose_maker_may_live_stay_test_() ->
    {timeout, 60, fun() -> in_another_tmpdir(fun directories_whose_maker_may_live_stay/0) end}.

directories_whose_maker_may_live_stay() ->
    Left = made_by_another_node(),
    Outer = filename:dirname(Left),
    Owner = filename:join(Outer, "owner"),
    {ok, Signed} = file:read_file(Owner),
    [Where, Pid, Started] = binary:split(Signed, <<"\n">>, [global]),
    Stays = fun() -> beamai_tmp_cleanup:sweep(), filelib:is_dir(Outer) end,
    ok = file:write_file(Owner, [Where, "-elsewhere\n", Pid, "\n", Started]),
    ?assert(Stays()),
    ok = file:delete(Owner),
    ?assert(Stays()),
    ok = file:write_file(Owner, Signed),
    ok = file:change_mode(Outer, 8#755),
    ?assert(Stays()),
    ok = file:change_mode(Outer, 8#700),
    ?assertNot(Stays()).

%% Every node that starts on this machine sweeps the usual one.
in_another_tmpdir(Fun) ->
    {ok, Directory} = beamai_temp_dir:create(),
    Usual = os:getenv("TMPDIR"),
    os:putenv("TMPDIR", unicode:characters_to_list(Directory)),
    try
        Fun()
    after
        case Usual of
            false -> os:unsetenv("TMPDIR");
            _ -> os:putenv("TMPDIR", Usual)
        end,
        beamai_temp_dir:delete(Directory)
    end.

%% By one that is halted, which stops no application.
made_by_another_node() ->
    Paths = [["-pa ", filename:dirname(code:which(beamai_temp_dir))]],
    Eval = "{ok, D} = beamai_temp_dir:create(), io:put_chars(D), erlang:halt(0, [{flush, true}]).",
    Path = os:cmd(lists:flatten(["erl -noshell ", Paths, " -eval '", Eval, "'"])),
    unicode:characters_to_binary(Path).
