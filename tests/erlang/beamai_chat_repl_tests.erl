%% The chat at the terminal, as the program that it is.
-module(beamai_chat_repl_tests).

-include_lib("eunit/include/eunit.hrl").

%% The port's input stays open: `ends' says whether the chat has ended by itself.
start(Env) ->
    start(script(), [], Env).

%% The same at a terminal of its own, where byte 3 is the interrupt and byte 4 the end of input.
start_at_terminal(Env) ->
    Command = "stty cols 80 rows 24; exec " ++ script(),
    start(os:find_executable("script"), ["--quiet", "--return", "--flush", "--command", Command, "/dev/null"], Env).

start(Program, Args, Env) ->
    Ebin = filename:dirname(code:which(beamai_chat_repl)),
    None = [
        {Prefix ++ Suffix, false}
     || Prefix <- ["OPENAI", "ANTHROPIC"], Suffix <- ["_API_KEY", "_BASE_URL", "_MODEL"]
    ],
    Own = [{"BEAMAI_EBIN", Ebin}, {"TERM", "xterm"}, {"NO_COLOR", false} | Env],
    Port = open_port({spawn_executable, Program}, [
        {args, Args}, {env, None ++ Own}, exit_status, binary, stderr_to_stdout, {cd, own_directory()}
    ]),
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    put(os_pid, Pid),
    Port.

%% The tour looks around in it, so it is small. It goes with the chat.
own_directory() ->
    Dir = string:trim(os:cmd("mktemp -d")),
    ok = file:write_file(filename:join(Dir, "notes.txt"), <<"a note\n">>),
    put(own_directory, Dir),
    Dir.

script() ->
    filename:join([root(filename:dirname(beamai_nif:priv_file(""))), "scripts", "chat"]).

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
                {Port, {exit_status, Status}} -> fail(Port, {ended, Status, Seen})
            after 15000 -> fail(Port, {not_seen, Text, Seen})
            end;
        _ -> Seen
    end.

stop(Port) ->
    {os_pid, Pid} = erlang:port_info(Port, os_pid),
    _ = os:cmd("kill -TERM " ++ integer_to_list(Pid)),
    ended(Port).

%% Says at a terminal that the input ends.
leave(Port) ->
    port_command(Port, <<4>>),
    ended(Port).

ended(Port) ->
    receive
        {Port, {exit_status, Status}} ->
            flush(Port),
            ok = file:del_dir_r(get(own_directory)),
            Status
    after 15000 -> fail(Port, not_ended)
    end.

%% Leaves no VM running, nor its directory.
-spec fail(port(), term()) -> no_return().
fail(Port, Reason) ->
    Pid = integer_to_list(get(os_pid)),
    _ = os:cmd("kill -TERM " ++ Pid),
    receive
        {Port, {exit_status, _}} -> ok
    after 5000 -> os:cmd("pkill -KILL -P " ++ Pid ++ "; kill -KILL " ++ Pid)
    end,
    _ = file:del_dir_r(get(own_directory)),
    error(Reason).

flush(Port) ->
    receive
        {Port, _} -> flush(Port)
    after 0 -> ok
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

an_interrupt_ends_whatever_waits_for_the_person_test_() ->
    {timeout, 60, fun() ->
        Asks = #{tool_calls => [{<<"shell_exec">>, #{<<"command">> => <<"true">>}}]},
        Question = #{<<"question">> => <<"Which?">>, <<"header">> => <<"It">>, <<"options">> => [
            #{<<"label">> => Label, <<"description">> => <<"this one">>} || Label <- [<<"A">>, <<"B">>]
        ]},
        Wonders = #{tool_calls => [{<<"human_input">>, #{<<"questions">> => [Question]}}]},
        Server = chat_server:start([
            chat_server:says(openai_stream, Turn) || Turn <- [Asks, Wonders, Wonders, <<"So be it.">>]
        ]),
        Port = start_at_terminal(model_env(Server)),
        until(Port, "\n> "),
        type(Port, "Try"),
        until(Port, "Allow it?"),
        port_command(Port, <<3>>),
        until(Port, "\n> "),
        type(Port, "Ask"),
        until(Port, "2. B  this one\r\n> "),
        port_command(Port, <<3>>),
        until(Port, "\n> "),
        port_command(Port, <<3>>),
        until(Port, "\n> "),
        %% The line that was waited for before is not lost.
        type(Port, "Ask again"),
        until(Port, "2. B  this one\r\n> "),
        type(Port, "2"),
        until(Port, "So be it."),
        [_, _, #{body := #{<<"messages">> := Third}}, #{body := #{<<"messages">> := Last}}] = chat_server:requests(Server),
        ?assertMatch(#{<<"role">> := <<"user">>, <<"content">> := <<"Ask again">>}, lists:last(Third)),
        #{<<"content">> := Answered} = lists:last(Last),
        ?assertNotEqual(nomatch, string:find(Answered, "Which?\n  B")),
        ?assertEqual(0, leave(Port)),
        ?assertEqual([], beamai_test:mailbox()),
        chat_server:stop(Server)
    end}.

escape_ends_an_answer_at_once_and_cancels_a_question_test_() ->
    {timeout, 60, fun() ->
        Asks = #{tool_calls => [{<<"shell_exec">>, #{<<"command">> => <<"true">>}}]},
        Server = chat_server:start([silent | [chat_server:says(openai_stream, Turn) || Turn <- [Asks, <<"So be it.">>]]]),
        Port = start_at_terminal(model_env(Server)),
        until(Port, "\n> "),
        type(Port, "Hello"),
        beamai_test:eventually(fun() -> chat_server:requests(Server) =/= [] end),
        port_command(Port, "\e" ++ enter()),
        ?assertNotEqual(nomatch, string:find(until(Port, "\n> "), "Cancelled.")),
        %% A cursor key begins with Esc: the rest of it is no part of what is typed next.
        port_command(Port, "dropped\e[A" ++ enter()),
        until(Port, "\n> "),
        type(Port, "Try"),
        until(Port, "Allow it?"),
        port_command(Port, "\e" ++ enter()),
        until(Port, "So be it."),
        [_, #{body := #{<<"messages">> := Second}} | _] = chat_server:requests(Server),
        ?assertMatch(#{<<"role">> := <<"user">>, <<"content">> := <<"Try">>}, lists:last(Second)),
        ?assertEqual(0, leave(Port)),
        chat_server:stop(Server)
    end}.

%% From OTP 26 on, the VM passes on whole lines only.
enter() ->
    case list_to_integer(erlang:system_info(otp_release)) of
        Release when Release >= 26 -> "\n";
        _ -> ""
    end.

long_results_are_shown_by_pages_test_() ->
    {timeout, 60, fun() ->
        Lists = #{tool_calls => [{<<"file_read">>, #{<<"path">> => <<"long.txt">>}}]},
        Server = chat_server:start([chat_server:says(openai_stream, Turn) || Turn <- [Lists, <<"Read.">>]]),
        Port = start_at_terminal(model_env(Server)),
        Lines = [io_lib:format("line ~b~n", [N]) || N <- lists:seq(1, 50)],
        ok = file:write_file(filename:join(get(own_directory), "long.txt"), Lines),
        until(Port, "\n> "),
        type(Port, "Read it"),
        First = until(Port, "more lines: /more)"),
        ?assertEqual(nomatch, string:find(First, "line 20")),
        %% The prompt may have come with it.
        until(Port, "\n> ", string:find(First, "more lines: /more)")),
        type(Port, "/more"),
        Second = until(Port, "more lines: /more)"),
        ?assertNotEqual(nomatch, string:find(Second, "line 20")),
        [type(Port, "/more") || _ <- [third, last]],
        until(Port, "line 50"),
        type(Port, "/more"),
        until(Port, "There is no more."),
        ?assertEqual(0, leave(Port)),
        chat_server:stop(Server)
    end}.

the_chat_has_all_tools_test_() ->
    {timeout, 60, fun() ->
        Server = chat_server:start([chat_server:says(openai_stream, <<"Yes.">>)]),
        Servers = directory_with_language_server(),
        Port = start([{"PATH", Servers ++ ":" ++ os:getenv("PATH")} | model_env(Server)]),
        until(Port, "> "),
        type(Port, "Hello"),
        until(Port, "Yes."),
        [#{body := #{<<"tools">> := Tools}}] = chat_server:requests(Server),
        Names = [Name || #{<<"function">> := #{<<"name">> := Name}} <- Tools],
        All = [Name || #{name := Name} <- beamai_kernel:list_tools(lists:foldl(
            fun(Module, K) -> beamai_kernel:add_tool_module(K, Module) end, beamai_kernel:new(),
            [beamai_tool_file, beamai_tool_shell, beamai_tool_git, beamai_tool_lsp, beamai_tool_web, beamai_tool_todo,
             beamai_tool_human, beamai_tool_skill, beamai_tool_task]))],
        %% No search engine is set.
        ?assertEqual([<<"web_search">>], All -- Names),
        _ = stop(Port),
        ok = file:del_dir_r(Servers),
        chat_server:stop(Server)
    end}.

%% The machine may have none. This one is looked for, and not started.
directory_with_language_server() ->
    Dir = string:trim(os:cmd("mktemp -d")),
    Server = filename:join(Dir, "clangd"),
    ok = file:write_file(Server, <<"#!/bin/sh\n">>),
    ok = file:change_mode(Server, 8#755),
    Dir.

colour_is_for_terminals_test_() ->
    {timeout, 60, fun() ->
        Bold = <<"\e[1mfile_list">>,
        Seen = fun(Port, End) ->
            until(Port, "\n> "),
            type(Port, "go"),
            Shown = until(Port, "Both calls ran together"),
            _ = End(Port),
            string:find(Shown, Bold) =/= nomatch
        end,
        ?assert(Seen(start_at_terminal([]), fun leave/1)),
        ?assertNot(Seen(start_at_terminal([{"NO_COLOR", "1"}]), fun leave/1)),
        ?assertNot(Seen(start([]), fun stop/1))
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
    ?assertEqual("a", Named([{"OPENAI_API_KEY", "k"}, {"ANTHROPIC_API_KEY", "k"}, {"ANTHROPIC_MODEL", "a"}])),
    {error, Missing} = beamai_chat_repl:model(Env([{"ANTHROPIC_API_KEY", "k"}])),
    ?assertEqual(<<"set ANTHROPIC_MODEL to the name of a model">>, iolist_to_binary(Missing)),
    {error, Bad} = beamai_chat_repl:model(Env([{"OPENAI_API_KEY", "two words"}, {"OPENAI_MODEL", "m"}])),
    ?assertEqual(
        <<"OPENAI_API_KEY cannot be used: api_key: must be printable text without spaces, or a function of no arguments that returns it">>,
        iolist_to_binary(Bad)
    ).
