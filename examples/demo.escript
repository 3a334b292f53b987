%% The main job of beamai, step by step: what an agent does with tools, each with its real result and time; at the end a table of
%% what ran where and how fast, and what was refused and why.
-mode(compile).

%% Lines of a result that are shown.
-define(MOST_LINES, 6).

main([Ebin]) ->
    ok = io:setopts([{encoding, unicode}]),
    true = code:add_patha(Ebin),
    _ = application:load(beamai),
    %% Language servers that are missing are of no interest here.
    ok = application:set_env(beamai, announce, false),
    {ok, _} = application:ensure_all_started(beamai),
    Steps = in_this_repository() ++ on_a_copy() ++ with_own_tools(),
    table(Steps),
    refusals(Steps),
    halt(0).

%%% The steps

in_this_repository() ->
    K = kernel(#{workspace => ".", permissions => #{allow => [<<"Bash">>], deny => [<<"Bash(curl:*)">>, <<"Read(.git/**)">>]}}),
    heading("What only reads runs without asking"),
    [
        call(K, "three lines of a file", <<"file_read">>, #{<<"path">> => <<"README.md">>, <<"limit">> => 3}),
        call(K, "files by pattern", <<"file_glob">>, #{<<"pattern">> => <<"native/*/Cargo.toml">>, <<"limit">> => 4}),
        call(K, "contents of all files", <<"file_grep">>,
             #{<<"pattern">> => <<"pub trait \\w+">>, <<"type">> => <<"rust">>, <<"limit">> => 3}),
        call(K, "the state of the repository", <<"git_log">>, #{<<"limit">> => 3, <<"oneline">> => true}),
        heading("Commands run in a sandbox, and end with everything that they started"),
        call(K, "a command", <<"shell_exec">>, #{<<"command">> => <<"wc -l README.md; echo oops >&2">>}),
        call(K, "a command that hangs", <<"shell_exec">>,
             #{<<"command">> => <<"echo begun; setsid sleep 100 & sleep 100">>, <<"timeout">> => 300}),
        call(K, "a command that writes elsewhere", <<"shell_exec">>, #{<<"command">> => <<"echo x > /etc/beamai-demo">>}),
        call(K, "the network that a command has", <<"shell_exec">>, #{<<"command">> => <<"tail -n +3 /proc/net/dev | cut -d : -f 1">>}),
        heading("Rules hold where programs start and where files are opened"),
        call(K, "a denied program", <<"shell_exec">>, #{<<"command">> => <<"curl https://example.com">>}),
        call(K, "the same, in a script", <<"shell_exec">>,
             #{<<"command">> => <<"echo 'curl https://example.com' > /tmp/script; sh /tmp/script">>}),
        call(K, "a denied file", <<"file_read">>, #{<<"path">> => <<".git/config">>}),
        call(K, "outside the workspace", <<"file_read">>, #{<<"path">> => <<"/etc/passwd">>}),
        call(K, "a write that nobody allows", <<"file_write">>, #{<<"path">> => <<"new.txt">>, <<"content">> => <<"x">>}),
        call(K, "a slip in an argument", <<"file_read">>, #{<<"pth">> => <<"README.md">>})
    ].

%% Edits a copy, after asking: the approve function sees what would be done.
on_a_copy() ->
    heading("What changes something is asked about, with its diff"),
    Dir = string:trim(os:cmd("mktemp -d")),
    {ok, _} = file:copy("README.md", filename:join(Dir, "README.md")),
    Approve = fun(#{message := Message}) -> say(["   asked: ", paint(35, Message), "\n"]), allow end,
    K = kernel(#{workspace => Dir, approve => Approve}),
    Edit = #{<<"path">> => <<"README.md">>, <<"old_string">> => <<"# beamai\n">>, <<"new_string">> => <<"# beamai, edited\n">>},
    Steps = [call(K, "an edit of a copy", <<"file_edit">>, Edit), call(K, "the same once more", <<"file_edit">>, Edit)],
    ok = file:del_dir_r(Dir),
    Steps.

with_own_tools() ->
    heading("Your own tools have the same timeouts and retries"),
    K = beamai_kernel:add_tools(kernel(#{workspace => "."}), [slow(), flaky()]),
    [call(K, "an Erlang tool that hangs", <<"slow">>, #{}), call(K, "an Erlang tool that fails twice", <<"flaky">>, #{})].

kernel(Options) ->
    Modules = [beamai_tool_file, beamai_tool_shell, beamai_tool_git],
    lists:foldl(fun(Module, K) -> beamai_kernel:add_tool_module(K, Module) end, beamai_kernel:new(Options), Modules).

slow() ->
    beamai_tool:new(<<"slow">>, fun(_) -> timer:sleep(60000), {ok, done} end, #{timeout => 200}).

%% Fails twice, then works.
flaky() ->
    Tries = counters:new(1, []),
    Handler = fun(_) ->
        counters:add(Tries, 1, 1),
        case counters:get(Tries, 1) of
            Try when Try < 3 -> {error, {not_yet, Try}};
            Try -> {ok, #{tries => Try}}
        end
    end,
    beamai_tool:new(<<"flaky">>, Handler, #{retry => #{max => 3, delay => 50}}).

%%% One step: what came of it is shown at once, and is a row of the table

call(K, Title, Tool, Args) ->
    {ok, Spec} = beamai_kernel:find_tool(K, Tool),
    Start = erlang:monotonic_time(microsecond),
    Answer = beamai_kernel:invoke(K, Tool, Args),
    Time = erlang:monotonic_time(microsecond) - Start,
    #{summary := Summary} = Display = display(Tool, Args, Answer),
    say(["\n ", mark(Answer), " ", paint(1, Title), "\n   ", paint(2, Summary), "\n", body(maps:get(body, Display, <<>>))]),
    #{title => Title, tool => Tool, where => where(Spec), time => Time, answer => Answer}.

display(Tool, Args, {ok, Result, _Ctx}) -> beamai_display:of_result(Tool, Args, Result);
display(Tool, Args, {error, Error}) -> beamai_display:of_error(Tool, Args, Error).

mark({ok, #{<<"refused">> := [_ | _]}, _Ctx}) -> paint(33, "×");
mark({ok, _Result, _Ctx}) -> paint(32, "✓");
mark({error, #{error_type := permission_denied}}) -> paint(33, "×");
mark({error, _Error}) -> paint(31, "!").

body(Text) ->
    Lines = string:split(string:trim(Text, trailing, "\n"), "\n", all),
    {Shown, More} = lists:split(min(?MOST_LINES, length(Lines)), Lines),
    [[["   | ", Line, "\n"] || Line <- Shown, Text =/= <<>>], [io_lib:format("   | … ~b more lines~n", [length(More)]) || More =/= []]].

where(#{handler := {beamai_tool, call_native, [#{door := port}]}}) -> "sandboxed process";
where(#{handler := {beamai_tool, call_native, [#{door := nif}]}}) -> "native, in the VM";
where(_Own) -> "Erlang process".

%%% The end

table(Steps0) ->
    Steps = [Step || Step <- Steps0, is_map(Step)],
    heading("What ran where, and how fast"),
    say(io_lib:format("~n   ~-32ts ~-12ts ~-19ts ~10ts  ~ts~n", ["what", "tool", "where", "ms", "came of it"])),
    [row(Step) || Step <- Steps],
    ok.

row(#{title := Title, tool := Tool, where := Where, time := Time, answer := Answer}) ->
    Row = io_lib:format("   ~-32ts ~-12ts ~-19ts ~10.2f  ", [Title, Tool, Where, Time / 1000]),
    say([Row, mark(Answer), " ", came(Answer), "\n"]).

came({ok, #{<<"refused">> := [_ | _]}, _Ctx}) -> "a start refused";
came({ok, #{<<"exit_code">> := Code}, _Ctx}) when Code =/= 0 -> ["exit code ", integer_to_list(Code)];
came({ok, _Result, _Ctx}) -> "done";
came({error, #{error_type := Type, details := #{reason := Type}}}) -> atom_to_list(Type);
came({error, #{error_type := Type, details := #{reason := Reason}}}) -> [atom_to_list(Type), ", ", atom_to_list(Reason)].

refusals(Steps) ->
    heading("What was refused, and why"),
    [say(["\n ", mark(Answer), " ", paint(1, Title), "\n   ", Why, "\n"]) || #{title := Title, answer := Answer} <- Steps, Why <- why(Answer)],
    say("\n").

why({error, #{error_type := permission_denied, message := Message}}) -> [Message];
why({ok, #{<<"refused">> := Refused}, _Ctx}) ->
    [[Program, ": rule ", rule(One), ", held where the program started"] || #{<<"program">> := Program} = One <- Refused];
why(_Other) -> [].

rule(#{<<"rule">> := Rule}) when is_binary(Rule) -> Rule;
rule(_) -> "none".

heading(Text) ->
    say(["\n", paint("1;36", ["== ", Text]), "\n"]).

say(Text) -> io:put_chars(Text).

%% Only a terminal has a width; NO_COLOR is honoured.
paint(Code, Text) ->
    IsSet = fun(Name) -> not lists:member(os:getenv(Name), [false, ""]) end,
    case element(1, io:columns()) =:= ok andalso not IsSet("NO_COLOR") andalso os:getenv("TERM") =/= "dumb" of
        true -> io_lib:format("\e[~tsm~ts\e[0m", [if is_integer(Code) -> integer_to_list(Code); true -> Code end, Text]);
        false -> Text
    end.
