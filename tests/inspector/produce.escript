%% Writes a page of 100,000 calls, serves another one of a run with a sub-agent, and prints its address. Until it is ended, a call
%% is made every second, and a long one every five seconds.
-mode(compile).

main([Ebin, Many]) ->
    true = code:add_patha(Ebin),
    {ok, _} = application:ensure_all_started(beamai),
    ok = logger:set_primary_config(level, none),
    Entries = [
        #{number => N, kind => tool, name => element(1 + N rem 3, {<<"file_read">>, <<"file_grep">>, <<"shell_exec">>}), at => 1000000 + N * 100,
          duration_us => 50 + N rem 997, outcome => element(1 + min(1, N rem 50), {error, ok}), agent_id => <<"a">>}
     || N <- lists:seq(1, 100000)
    ],
    ok = beamai_inspector:write(Many, #{title => <<"many">>, calls => Entries}),
    ok = application:set_env(beamai, telemetry_contents, true),
    ok = beamai_telemetry:refresh(),
    {ok, Trace} = beamai_trace:start_link(),
    {Kernel, Agent} = ran(),
    {ok, Inspector} = beamai_inspector:start_link(#{
        trace => Trace, title => <<"beamai">>, conversation => fun() -> beamai_agent:conversation(Agent) end
    }),
    io:format("~ts~n", [beamai_inspector:url(Inspector)]),
    called(Kernel, 1).

%% Every fifth call takes a while.
called(Kernel, N) ->
    timer:sleep(1000),
    _ = N rem 5 =:= 0 andalso spawn(fun() -> beamai_kernel:invoke(Kernel, <<"long">>, #{}) end),
    {ok, _, _} = beamai_kernel:invoke(Kernel, <<"tick">>, #{}),
    called(Kernel, N + 1).

ran() ->
    Dir = filename:join("/var/tmp", "beamai-inspector-" ++ os:getpid()),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    ok = file:write_file(filename:join(Dir, "notes.txt"), <<"one\ntwo\nthree\n">>),
    ok = file:write_file(filename:join(Dir, "dot.png"), base64:decode(<<"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==">>)),
    Kernel0 = beamai_kernel:new(#{workspace => Dir, sandbox => best_effort, permissions => #{default => allow, deny => [<<"Bash(rm:*)">>]}}),
    Kernel1 = lists:foldl(fun(M, K) -> beamai_kernel:add_tool_module(K, M) end, Kernel0, [beamai_tool_file, beamai_tool_shell]),
    Kernel2 = beamai_kernel:add_tool(Kernel1, #{name => <<"tick">>, handler => fun(_) -> timer:sleep(20), {ok, 1} end}),
    Kernel = beamai_kernel:add_tool(Kernel2, #{name => <<"long">>, handler => fun(_) -> timer:sleep(3000), {ok, 1} end}),
    Usage = #{input_tokens => 1200, output_tokens => 80},
    Scout = #{description => <<"Looks.">>, prompt => <<"Look.">>, llm => beamai_chat:new(scripted, #{turns => [
        #{tool_calls => [{<<"file_glob">>, #{<<"pattern">> => <<"*">>}}, {<<"tick">>, #{}}], usage => Usage}, <<"Two files.">>]})},
    Lead = beamai_chat:new(scripted, #{turns => [
        #{content => <<"I look first.">>, tool_calls => [{<<"file_read">>, #{<<"path">> => <<"notes.txt">>}}, {<<"file_read">>, #{<<"path">> => <<"dot.png">>}}, {<<"tick">>, #{}}], usage => Usage},
        #{tool_calls => [{<<"task">>, #{<<"agent">> => <<"scout">>, <<"objective">> => <<"Look.">>}}], usage => Usage},
        #{tool_calls => [{<<"file_edit">>, #{<<"path">> => <<"notes.txt">>, <<"old_string">> => <<"two">>, <<"new_string">> => <<"TWO">>}}], usage => Usage},
        #{tool_calls => [{<<"shell_exec">>, #{<<"command">> => <<"printf 'all good\\n'; echo careful >&2">>}}, {<<"shell_exec">>, #{<<"command">> => <<"rm notes.txt">>}}], usage => Usage},
        <<"It is done.">>]}),
    {ok, Agent} = beamai_agent:new(#{llm => Lead, kernel => Kernel, agent_id => <<"lead">>, agents => #{<<"scout">> => Scout}}),
    {ok, _, After} = beamai_agent:run(Agent, <<"Make the second line loud.">>),
    ok = file:del_dir_r(Dir),
    {Kernel, After}.
