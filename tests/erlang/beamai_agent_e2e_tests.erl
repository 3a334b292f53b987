%% An agent mends a failing test in a real repository: real tools, and a real server that decides by what it is told,
%% in both wire formats, whole and in pieces.
-module(beamai_agent_e2e_tests).

-include_lib("eunit/include/eunit.hrl").

it_mends_a_failing_test_test_() ->
    [
        {atom_to_list(Form), {timeout, 60, fun() -> mends(Form) end}}
     || Form <- [openai, openai_stream, anthropic, anthropic_stream]
    ].

mends(Form) ->
    beamai_test:in_workspace(fun(Dir) ->
        repository(Dir),
        {1, _} = run_tests(Dir),
        Server = chat_server:start(fun(Request) -> chat_server:says(Form, next(told(Form, Request))) end),
        Self = self(),
        {ok, Agent} = beamai_agent:new(#{
            llm => model(Form, Server),
            kernel => beamai_kernel:new(#{workspace => Dir, sandbox => best_effort, approve => approve(Self)}),
            plugins => [beamai_tool_file, beamai_tool_shell],
            system_prompt => <<"You mend programs.">>
        }),
        {ok, Result, After} = beamai_agent:run(Agent, <<"The tests fail. Mend the program.">>, #{events => Self}),
        ?assertMatch(#{content := <<"Mended: the tests pass – 3 of 3."/utf8>>, tool_calls := 4, iterations := 4}, Result),
        ?assertMatch(#{usage := #{input_tokens := 40, output_tokens := 20}}, Result),
        ?assertEqual({0, <<"3 of 3\n">>}, run_tests(Dir)),
        ?assertMatch({0, <<" M sum.sh\n">>}, sh(Dir, "git status --short")),
        chat_server:stop(Server),
        Asked = [Subject || {asked, Subject} <- beamai_test:mailbox()],
        ?assertMatch([<<"Bash(", _/binary>>, _Edit, <<"Bash(", _/binary>>], Asked),
        streamed(Form),
        resumed(Form, After)
    end).

approve(Pid) ->
    fun(#{subject := Subject}) ->
        Pid ! {asked, Subject},
        allow
    end.

%% The text came as it was written: in one piece or in many.
streamed(Form) ->
    Texts = [Text || {beamai_event, _, {text, Text}} <- beamai_test:mailbox()],
    Last = <<"Mended: the tests pass – 3 of 3."/utf8>>,
    All = iolist_to_binary(Texts),
    ?assertEqual(Last, binary:part(All, byte_size(All), -byte_size(Last))),
    case Form =:= openai_stream orelse Form =:= anthropic_stream of
        true -> ?assert(length(Texts) > 20);
        false -> ?assertEqual(2, length(Texts))
    end,
    flush().

flush() ->
    receive
        _ -> flush()
    after 0 -> ok
    end.

%% The conversation is stored, and goes on with a server of the other format.
resumed(Form, Agent) ->
    Other = case Form of openai -> anthropic; openai_stream -> anthropic_stream; anthropic -> openai; _ -> openai_stream end,
    Server = chat_server:start([chat_server:says(Other, <<"You are welcome.">>)]),
    Stored = binary_to_term(term_to_binary(beamai_agent:conversation(Agent)), [safe]),
    {ok, Again} = beamai_agent:new(#{llm => model(Other, Server), conversation => Stored}),
    ?assertMatch({ok, #{content := <<"You are welcome.">>}, _}, beamai_agent:run(Again, <<"Thanks!">>)),
    [Request] = chat_server:requests(Server),
    ?assertEqual(4, length(told(Other, Request))),
    chat_server:stop(Server).

model(Form, Server) ->
    Stream = Form =:= openai_stream orelse Form =:= anthropic_stream,
    Provider = case lists:member(Form, [openai, openai_stream]) of true -> openai; false -> anthropic end,
    beamai_chat:new(Provider, #{
        base_url => chat_server:url(Server), api_key => <<"sk-test">>, model => <<"m">>, stream => Stream
    }).

%%% The repository

repository(Dir) ->
    write(Dir, "sum.sh", "sum() { echo $(($1 - $2)); }\n"),
    write(Dir, "test.sh", [
        ". ./sum.sh\npassed=0\n",
        "is() { [ \"$1\" = \"$2\" ] && passed=$((passed + 1)); }\n",
        "is \"$(sum 1 0)\" 1\nis \"$(sum 1 2)\" 3\nis \"$(sum 20 22)\" 42\n",
        "echo \"$passed of 3\"\n[ $passed = 3 ]\n"
    ]),
    Set = "git config user.email a@b.c && git config user.name a && ",
    {0, _} = sh(Dir, ["git init -q && ", Set, "git add . && git commit -qm 'A sum'"]).

write(Dir, Name, Text) ->
    ok = file:write_file(filename:join(Dir, Name), Text).

run_tests(Dir) -> sh(Dir, "sh test.sh").

sh(Dir, Command) ->
    Port = open_port({spawn_executable, "/bin/sh"}, [
        {args, ["-c", iolist_to_binary(Command)]}, {cd, Dir}, exit_status, binary, stderr_to_stdout
    ]),
    collect(Port, <<>>).

collect(Port, Output) ->
    receive
        {Port, {data, Data}} -> collect(Port, <<Output/binary, Data/binary>>);
        {Port, {exit_status, Status}} -> {Status, Output}
    end.

%%% What the model does, by the results it has been told

next([]) ->
    #{
        content => <<"I run the tests and read the program.">>,
        tool_calls => [
            {<<"shell_exec">>, #{<<"command">> => <<"sh test.sh">>}},
            {<<"file_read">>, #{<<"path">> => <<"sum.sh">>}}
        ]
    };
next([<<"1 of 3\n[exit code 1]", _/binary>>, Program]) ->
    [_, Sum | _] = binary:split(Program, [<<"((">>, <<"))">>], [global]),
    Right = binary:replace(Sum, <<"-">>, <<"+">>),
    Args = #{<<"path">> => <<"sum.sh">>, <<"old_string">> => Sum, <<"new_string">> => Right},
    #{tool_calls => [{<<"file_edit">>, Args}]};
next([_, _, <<"@@ ", _/binary>>]) ->
    #{tool_calls => [{<<"shell_exec">>, #{<<"command">> => <<"sh test.sh">>}}]};
next([_, _, _, <<"3 of 3", _/binary>>]) ->
    <<"Mended: the tests pass – 3 of 3."/utf8>>;
next(Told) ->
    <<"I do not understand: ", (beamai_json:text(Told))/binary>>.

told(Form, #{body := #{<<"messages">> := Messages}}) when Form =:= openai; Form =:= openai_stream ->
    [Content || #{<<"role">> := <<"tool">>, <<"content">> := Content} <- Messages];
told(_Anthropic, #{body := #{<<"messages">> := Messages}}) ->
    [
        Content
     || #{<<"content">> := Blocks} <- Messages, #{<<"type">> := <<"tool_result">>, <<"content">> := Content} <- Blocks
    ].
