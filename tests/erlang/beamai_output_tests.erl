%% The output of commands, as it comes.
-module(beamai_output_tests).

-include_lib("eunit/include/eunit.hrl").

output_comes_while_a_command_runs_test_() ->
    {timeout, 60, fun() ->
        beamai_test:in_workspace(fun(Dir) ->
            Self = self(),
            K = beamai_kernel:add_tool_module(beamai_kernel:new(#{workspace => Dir, permissions => #{default => allow}}), beamai_tool_shell),
            Command = <<"for n in 1 2 3 4; do echo line $n; echo oops $n >&2; sleep 1; done">>,
            Hear = fun(Event) -> Self ! {heard, erlang:monotonic_time(millisecond), Event} end,
            {ok, #{<<"stdout">> := Whole}, _} = beamai_kernel:invoke(K, <<"shell_exec">>, #{<<"command">> => Command}, #{progress => Hear}),
            Ended = erlang:monotonic_time(millisecond),
            Heard = heard(),
            [{First, _} | _] = [Event || {_, #{<<"stdout">> := _}} = Event <- Heard],
            ?assert(Ended - First > 1000),
            Text = iolist_to_binary([Piece || {_, #{<<"stdout">> := Piece}} <- Heard]),
            ?assertEqual({0, byte_size(Text)}, binary:match(Whole, Text)),
            ?assertMatch({_, _}, binary:match(Text, <<"line 3\n">>)),
            ?assertMatch({_, _}, binary:match(iolist_to_binary([Piece || {_, #{<<"stderr">> := Piece}} <- Heard]), <<"oops 3\n">>)),
            ?assert(length(Heard) >= 4)
        end)
    end}.

heard() ->
    receive {heard, At, #{<<"tool">> := <<"shell_exec">>} = Event} -> [{At, Event} | heard()] after 0 -> [] end.

%% In the events of an agent's run, with the call that they belong to.
an_agents_events_have_it_test_() ->
    {timeout, 60, fun() ->
        beamai_test:in_workspace(fun(Dir) ->
            Turns = [#{tool_calls => [{<<"shell_exec">>, #{<<"command">> => <<"echo now; sleep 1">>}}]}, <<"Done.">>],
            {ok, Agent} = beamai_agent:new(#{
                llm => beamai_chat:new(scripted, #{turns => Turns}), plugins => [beamai_tool_shell],
                kernel => beamai_kernel:new(#{workspace => Dir, permissions => #{default => allow}})
            }),
            {ok, _, _} = beamai_agent:run(Agent, <<"Go.">>, #{events => self()}),
            Events = events(),
            ?assertMatch([#{<<"stdout">> := <<"now\n">>, call_id := <<"call_1_1">>} | _], [P || {progress, #{<<"stdout">> := _} = P} <- Events]),
            Names = [element(1, Event) || Event <- Events],
            ?assert(index(progress, Names) < index(tool_ended, Names))
        end)
    end}.

events() ->
    receive {beamai_event, _, Event} -> [Event | events()] after 0 -> [] end.

index(Name, [Name | _]) -> 1;
index(Name, [_ | Rest]) -> 1 + index(Name, Rest).

a_fetch_says_how_much_has_come_test_() ->
    {timeout, 60, fun() ->
        {ok, Listen} = gen_tcp:listen(0, [binary, {ip, {127, 0, 0, 1}}, {active, false}, {reuseaddr, true}]),
        {ok, Port} = inet:port(Listen),
        spawn_link(fun() -> slowly(Listen) end),
        Address = iolist_to_binary(io_lib:format("127.0.0.1:~b", [Port])),
        Self = self(),
        K = beamai_kernel:add_tool_module(
            beamai_kernel:new(#{workspace => "/var/tmp", permissions => #{default => allow}, web => #{allow_addresses => [Address]}}), beamai_tool_web),
        Args = #{<<"url">> => <<"http://", Address/binary, "/">>},
        {ok, #{<<"status_code">> := 200}, _} = beamai_kernel:invoke(K, <<"web_fetch">>, Args, #{progress => fun(P) -> Self ! {heard, P} end}),
        Counts = received(),
        ?assert(length(Counts) >= 2),
        ?assertEqual(lists:usort(Counts), Counts),
        ok = gen_tcp:close(Listen)
    end}.

received() ->
    receive {heard, #{<<"progress">> := Count, <<"message">> := _}} -> [Count | received()] after 0 -> [] end.

slowly(Listen) ->
    {ok, Socket} = gen_tcp:accept(Listen),
    {ok, _} = gen_tcp:recv(Socket, 0),
    ok = gen_tcp:send(Socket, <<"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6000\r\n\r\n">>),
    [begin ok = gen_tcp:send(Socket, binary:copy(<<"x">>, 1000)), timer:sleep(400) end || _ <- lists:seq(1, 6)],
    gen_tcp:close(Socket).
