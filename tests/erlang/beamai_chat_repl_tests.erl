%% The chat at the terminal, as the program that it is.
-module(beamai_chat_repl_tests).

-include_lib("eunit/include/eunit.hrl").

%% The port's input stays open: `ends' says whether the chat has ended by itself.
start(Env) ->
    Root = filename:dirname(beamai_nif:priv_file("")),
    Script = filename:join([root(Root), "scripts", "chat"]),
    Ebin = filename:dirname(code:which(beamai_chat_repl)),
    None = [{Prefix ++ Suffix, false} || Prefix <- ["OPENAI", "ANTHROPIC"], Suffix <- ["_API_KEY", "_BASE_URL", "_MODEL"]],
    open_port({spawn_executable, Script}, [
        {env, None ++ [{"BEAMAI_EBIN", Ebin} | Env]}, exit_status, binary, stderr_to_stdout, {cd, "/tmp"}
    ]).

%% `priv' is a link to the repository's own.
root(Path) ->
    Priv = filename:dirname(Path) ++ "/priv",
    case file:read_link_all(Priv) of
        {ok, Link} -> filename:dirname(filename:absname(Link, filename:dirname(Priv)));
        {error, _} -> filename:dirname(Priv)
    end.

type(Port, Line) -> port_command(Port, [Line, "\n"]).

until(Port, Text) -> until(Port, Text, <<>>).

until(Port, Text, Seen) ->
    case string:find(Seen, Text) of
        nomatch ->
            receive
                {Port, {data, Data}} -> until(Port, Text, <<Seen/binary, Data/binary>>);
                {Port, {exit_status, Status}} -> error({ended, Status, Seen})
            after 15000 -> error({not_seen, Text, Seen})
            end;
        _ -> Seen
    end.

stop(Port) ->
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    _ = os:cmd("kill -TERM " ++ integer_to_list(Pid)),
    receive
        {Port, {exit_status, Status}} -> Status
    after 15000 -> error(not_ended)
    end.

model_env(Server) ->
    [{"OPENAI_BASE_URL", binary_to_list(chat_server:url(Server))}, {"OPENAI_MODEL", "m"}].

it_answers_and_tells_the_cost_test_() ->
    {timeout, 60, fun() ->
        Server = chat_server:start([chat_server:says(openai_stream, <<"Good day – hm."/utf8>>)]),
        Port = start(model_env(Server)),
        until(Port, "> "),
        type(Port, "Hello"),
        Seen = until(Port, "[10 tokens in, 5 out, 0 calls]"),
        ?assertNotEqual(nomatch, string:find(Seen, <<"Good day – hm."/utf8>>)),
        _ = stop(Port),
        chat_server:stop(Server)
    end}.

an_interrupt_ends_the_answer_and_not_the_chat_test_() ->
    {timeout, 60, fun() ->
        Server = chat_server:start([silent, chat_server:says(openai_stream, <<"Again.">>)]),
        Port = start(model_env(Server)),
        until(Port, "> "),
        type(Port, "Hello"),
        beamai_test:eventually(fun() -> chat_server:requests(Server) =/= [] end),
        {os_pid, Pid} = erlang:port_info(Port, os_pid),
        _ = os:cmd("kill -INT " ++ integer_to_list(Pid)),
        until(Port, "Cancelled."),
        type(Port, "Hello?"),
        until(Port, "Again."),
        _ = stop(Port),
        chat_server:stop(Server)
    end}.

without_a_model_there_is_a_tour_test_() ->
    {timeout, 60, fun() ->
        Port = start([]),
        until(Port, "this is a tour"),
        type(Port, "go"),
        until(Port, "Both calls ran together"),
        type(Port, "go"),
        until(Port, "there is no terminal to ask at"),
        _ = stop(Port)
    end}.

which_model_it_is_comes_from_the_environment_test() ->
    Env = fun(Set) -> fun(Name) -> proplists:get_value(Name, Set, false) end end,
    Named = fun(Set) -> element(2, beamai_chat_repl:model(Env(Set))) end,
    ?assertEqual("m", Named([{"OPENAI_API_KEY", "k"}, {"OPENAI_MODEL", "m"}])),
    ?assertEqual("m", Named([{"ANTHROPIC_BASE_URL", "http://localhost"}, {"ANTHROPIC_MODEL", "m"}])),
    {error, Missing} = beamai_chat_repl:model(Env([{"ANTHROPIC_API_KEY", "k"}])),
    ?assertEqual(<<"set ANTHROPIC_MODEL to the name of a model">>, iolist_to_binary(Missing)),
    {error, Bad} = beamai_chat_repl:model(Env([{"OPENAI_API_KEY", "two words"}, {"OPENAI_MODEL", "m"}])),
    ?assertEqual(<<"OPENAI_API_KEY cannot be used">>, iolist_to_binary(Bad)).
