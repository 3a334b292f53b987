%% Runs an agent with a sub-agent, a tool that works, one that is refused and one that fails, and writes the trace as OTLP to a
%% file, and names of metadata of all telemetry events, one a line, to another one.
-mode(compile).

main([Ebin, Otlp, Names]) ->
    true = code:add_patha(Ebin),
    {ok, _} = application:ensure_all_started(beamai),
    ok = logger:set_primary_config(level, none),
    %% With contents, so that their names are held to the conventions, too.
    ok = application:set_env(beamai, telemetry_contents, true),
    ok = beamai_telemetry:refresh(),
    Self = self(),
    Events = [[beamai, Kind, What] || Kind <- [tool, model, agent], What <- [start, stop, exception]],
    ok = beamai_telemetry:attach(names, Events, fun(_, _, Metadata, _) -> Self ! {names, maps:keys(Metadata)} end, none),
    {ok, Trace} = beamai_trace:start_link(),
    ran(),
    Entries = beamai_trace:entries(Trace),
    ok = file:write_file(Otlp, beamai_otlp:encode(Entries, #{service => <<"a test">>})),
    ok = file:write_file(Names, [[atom_to_list(Name), $\n] || Name <- lists:usort(seen())]),
    io:format("~b entries~n", [length(Entries)]).

ran() ->
    Kernel0 = beamai_kernel:new(#{workspace => "/var/tmp", permissions => #{allow => [<<"Task">>], deny => [<<"closed">>]}}),
    Kernel = beamai_kernel:add_tools(Kernel0, [
        #{name => <<"look">>, handler => fun(_) -> {ok, #{seen => 1}} end},
        #{name => <<"closed">>, handler => fun(_) -> {ok, 1} end},
        #{name => <<"broken">>, handler => fun(_) -> error(oops) end}
    ]),
    Usage = #{input_tokens => 70, output_tokens => 5, cached_tokens => 40},
    Scout = #{description => <<"Looks.">>, prompt => <<"Look.">>, tools => [<<"look">>], llm => beamai_chat:new(scripted, #{turns => [
        #{tool_calls => [{<<"look">>, #{}}], usage => Usage}, <<"One.">>]})},
    Lead = beamai_chat:new(scripted, #{turns => [
        #{tool_calls => [{Name, #{}} || Name <- [<<"look">>, <<"closed">>, <<"broken">>]], usage => Usage},
        #{tool_calls => [{<<"task">>, #{<<"agent">> => <<"scout">>, <<"objective">> => <<"Look.">>}}]},
        <<"Done.">>]}),
    {ok, Agent} = beamai_agent:new(#{llm => Lead, kernel => Kernel, agent_id => <<"lead">>, agents => #{<<"scout">> => Scout}}),
    {ok, _, _} = beamai_agent:run(Agent, <<"Go.">>, #{context => #{session_id => <<"conversation-1">>}}).

seen() ->
    receive {names, Names} -> Names ++ seen() after 100 -> [] end.
