%% Runs of 30 calls in a VM that is killed with SIGKILL at random points, and resumed in the next one. A few times here;
%% the long form is BEAMAI_KILLS=50 rebar3 eunit --module=beamai_kill_tests.
-module(beamai_kill_tests).

-include_lib("eunit/include/eunit.hrl").

-export([main/1]).

-define(CALLS, 30).

runs_survive_kills_at_random_points_test_() ->
    Kills = list_to_integer(os:getenv("BEAMAI_KILLS", "4")),
    {timeout, 60 + 20 * Kills, fun() -> beamai_test:in_workspace(fun(Dir) -> survive(Dir, 1, Kills) end) end}.

%% One run after the other, of which some end before they are killed, until there were enough kills.
survive(_Dir, Run, 0) ->
    Run > 20 andalso ?debugFmt("~b runs", [Run - 1]);
survive(Dir, Run, Left) ->
    Scenario = filename:join(Dir, integer_to_list(Run)),
    ok = file:make_dir(Scenario),
    Killed = one(Scenario, min(5, Left), 0),
    judged(Scenario),
    survive(Dir, Run + 1, Left - Killed).

one(Dir, 0, Killed) ->
    done = started(Dir, infinity),
    Killed;
one(Dir, Left, Killed) ->
    case started(Dir, rand:uniform(700)) of
        done -> Killed;
        killed -> one(Dir, Left - 1, Killed + 1)
    end.

%% What holds however often it was killed.
judged(Dir) ->
    {ok, Entries} = beamai_store:read(<<"a">>, {beamai_store_file, #{dir => Dir}}),
    Results = [Result || #{type := result, message := Result} <- Entries],
    Made = [list_to_integer(Line) || Line <- lines(Dir, "made")],
    %% No call was made twice, whatever the model was told; and the files are all there.
    ?assertEqual(lists:sort(Made), lists:usort(Made)),
    ?assertEqual(lists:seq(1, ?CALLS), lists:sort([list_to_integer(F) || F <- filelib:wildcard("[0-9]*", binary_to_list(iolist_to_binary(Dir)))])),
    %% Each call has one result; one that is told as done was made; one that is not, nobody knows.
    Ids = [Id || #{call := Id} <- Results],
    ?assertEqual(lists:sort(Ids), lists:usort(Ids)),
    [?assert(lists:member(binary_to_integer(N), Made)) || #{name := Name, outcome := ok, content := N} <- Results, Name =/= <<"ensure">>],
    [?assertMatch({_, _}, binary:match(Why, <<"may or may not">>)) || #{outcome := error, content := Why} <- Results].

lines(Dir, Name) ->
    {ok, Text} = file:read_file(filename:join(Dir, Name)),
    string:lexemes(binary_to_list(Text), "\n").

%% A VM that goes on with the run, killed after so many milliseconds of it. The timer's message may come after its end.
started(Dir, Ms) -> beamai_test:alone(fun() -> runs(Dir, Ms) end).

runs(Dir, Ms) ->
    Args = ["-noshell", "-pa" | code:get_path()] ++ ["-run", atom_to_list(?MODULE), "main", Dir],
    Port = open_port({spawn_executable, os:find_executable("erl")}, [{args, Args}, exit_status, {line, 1000}, stderr_to_stdout]),
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    Timer = fun() -> Ms =/= infinity andalso erlang:send_after(Ms, self(), {kill, Port}) end,
    ended(Port, Pid, Timer, []).

ended(Port, Pid, Timer, Said) ->
    receive
        {Port, {data, {eol, "begins"}}} ->
            _ = Timer(),
            ended(Port, Pid, Timer, Said);
        {Port, {data, {_, Line}}} ->
            ended(Port, Pid, Timer, [Line | Said]);
        {kill, Port} ->
            %% It may just have ended by itself.
            _ = os:cmd("kill -9 " ++ integer_to_list(Pid) ++ " 2>/dev/null"),
            ended(Port, Pid, Timer, Said);
        {Port, {exit_status, 0}} ->
            done;
        {Port, {exit_status, 137}} ->
            killed;
        {Port, {exit_status, Status}} ->
            error({ended, Status, lists:reverse(Said)})
    end.

%%% In the VM

main([Dir]) ->
    _ = application:load(beamai),
    ok = application:set_env(beamai, announce, false),
    {ok, Agent} = beamai_agent:new(#{
        llm => beamai_chat:new(scripted, #{turns => fun turn/1}), kernel => kernel(Dir), agent_id => <<"a">>,
        store => {beamai_store_file, #{dir => Dir}}, max_iterations => 100, context => #{approve => fun(_) -> timer:sleep(10), allow end}
    }),
    io:format("begins~n"),
    case beamai_agent:resume(Agent, #{}) of
        {idle, Ready} -> new_or_done(Ready);
        {ok, #{content := <<"done">>}, _} -> halt(0)
    end.

new_or_done(Agent) ->
    case beamai_conversation:messages(beamai_agent:conversation(Agent)) of
        [] ->
            {ok, #{content := <<"done">>}, _} = beamai_agent:run(Agent, <<"go">>),
            halt(0);
        _ ->
            halt(0)
    end.

%% Tools that note that they were called, and make a file of their number.
kernel(Dir) ->
    Make = fun(#{<<"n">> := N}) ->
        ok = file:write_file(filename:join(Dir, "made"), [integer_to_list(N), "\n"], [append]),
        timer:sleep(rand:uniform(10)),
        ok = file:write_file(filename:join(Dir, integer_to_list(N)), "x"),
        {ok, N}
    end,
    Ensure = fun(#{<<"n">> := N}) ->
        ok = file:write_file(filename:join(Dir, integer_to_list(N)), "x"),
        {ok, N}
    end,
    beamai_test:kernel([
        beamai_test:tool(<<"make">>, Make),
        beamai_test:tool(<<"side">>, Make, #{metadata => #{read_only => true}}),
        beamai_test:tool(<<"guarded">>, Make, #{metadata => #{requires_permission => true}}),
        beamai_test:tool(<<"ensure">>, Ensure)
    ]).

%% First it makes sure of what it was not told, then it goes on with the next numbers.
turn(#{messages := Messages}) ->
    Calls = maps:from_list([{Id, N} || #{tool_calls := Made} <- Messages, #{id := Id, args := #{<<"n">> := N}} <- Made]),
    Results = lists:takewhile(fun(#{role := Role}) -> Role =:= tool end, lists:reverse(Messages)),
    case [maps:get(Id, Calls) || #{outcome := error, call := Id} <- Results] of
        [] -> next(lists:max([0 | maps:values(Calls)]) + 1);
        Unknown -> #{tool_calls => [{<<"ensure">>, #{<<"n">> => N}} || N <- Unknown]}
    end.

next(N) when N > ?CALLS -> <<"done">>;
next(N) ->
    Names =
        case N rem 6 of
            1 -> [<<"side">>, <<"side">>, <<"side">>];
            4 -> [<<"guarded">>, <<"make">>];
            0 -> [<<"make">>]
        end,
    #{tool_calls => [{Name, #{<<"n">> => M}} || {Name, M} <- lists:zip(Names, lists:seq(N, N + length(Names) - 1))]}.
