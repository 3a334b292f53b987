%% @doc Where the examples of the tool reference run: a workspace for each tool, a kernel that allows everything, a web server,
%% and somebody who answers questions. What differs from run to run is replaced in the answers.
-module(reference_world).

-export([start/0, stop/1, run/3, everywhere/1]).

-define(SHOWN_AS, <<"/home/you/project">>).
-define(SHOWN_SERVER, <<"127.0.0.1:8080">>).
-define(AUTHOR, [
    {"GIT_CONFIG_GLOBAL", "/dev/null"}, {"GIT_CONFIG_NOSYSTEM", "1"},
    {"GIT_AUTHOR_NAME", "Ada"}, {"GIT_AUTHOR_EMAIL", "ada@example.org"}, {"GIT_AUTHOR_DATE", "2026-01-05T10:00:00Z"},
    {"GIT_COMMITTER_NAME", "Ada"}, {"GIT_COMMITTER_EMAIL", "ada@example.org"}, {"GIT_COMMITTER_DATE", "2026-01-05T10:00:00Z"}
]).

%% @doc The world: a directory that the workspaces are made in, and the web server's address.
start() ->
    Root = unicode:characters_to_binary(["/var/tmp/beamai-reference-", os:getpid()]),
    Template = filename:join(Root, "template"),
    ok = filelib:ensure_dir(filename:join(Template, "x")),
    lists:foreach(fun({Name, Bytes}) -> write(Template, Name, Bytes) end, files()),
    Git = "git init -q -b main && git config user.name Ada && git config user.email ada@example.org && git add -A"
        " && git commit -q -m 'Greet people' && printf 'Fourth line\\n' >> notes.txt",
    <<>> = sh(Git, Template),
    <<>> = sh("find . -path ./.git -prune -o -exec touch -d 2026-01-05T10:00:00Z {} +", Template),
    #{root => Root, template => Template, server => reference_web:start()}.

stop(#{root := Root}) ->
    ok = application:stop(beamai),
    file:del_dir_r(Root).

files() ->
    [
        {"notes.txt", "First line\nSecond line\nThird line\n"},
        {"README.md", "# Greeter\n\nGreets people.\n"},
        {"logo.bin", <<0, 1, 2, 3, 0>>},
        {".gitignore", "*.log\n"},
        {"debug.log", "nothing of interest\n"},
        {"src/greet.py", "def greet(name):\n    \"\"\"Return a greeting.\"\"\"\n    return \"Hello, \" + name\n\n\nprint(greet(\"Ada\"))\n"},
        {"src/unused.py", "import os\n"}
    ].

write(Directory, Name, Bytes) ->
    Path = filename:join(Directory, Name),
    ok = filelib:ensure_dir(Path),
    ok = file:write_file(Path, Bytes).

sh(Command, Directory) ->
    Options = [{cd, Directory}, {args, ["-c", Command]}, {env, ?AUTHOR}, exit_status, stderr_to_stdout, binary],
    Port = open_port({spawn_executable, "/bin/sh"}, Options),
    output(Port, <<>>).

output(Port, Before) ->
    receive
        {Port, {data, Data}} -> output(Port, <<Before/binary, Data/binary>>);
        {Port, {exit_status, 0}} -> Before;
        {Port, {exit_status, Status}} -> error({sh, Status, Before})
    end.

%% @doc A tool's example and errors: `#{call, answer, errors => [{Args, Error}]}'; arguments and answers as JSON values.
run(World, #{name := Name} = Spec, #{call := Args} = Case) ->
    Workspace = workspace(World, Case),
    Kernel = kernel(World, Workspace, Spec),
    Context = #{session_id => Workspace},
    Errors = [{json(Wrong), failed(Kernel, Name, Wrong, Context)} || Wrong <- maps:get(errors, Case, [])],
    Id = lists:foldl(fun(Before, _) -> before(Kernel, Before, Context) end, none, maps:get(before, Case, [])),
    Given = json(filled_in(Args, Id, maps:get(server, World))),
    {ok, Answer, _} = answered(Name, beamai_kernel:invoke(Kernel, Name, Given, Context)),
    Shown = #{call => Given, answer => Answer, errors => Errors},
    shown(Shown, [
        {Workspace, ?SHOWN_AS}, {maps:get(root, World), <<"/home/you">>}, {maps:get(server, World), ?SHOWN_SERVER}, {id(Id), <<"5b1d">>}
    ]).

failed(Kernel, Name, Args, Context) ->
    case beamai_kernel:invoke(Kernel, Name, json(Args), Context) of
        {error, Error} -> Error;
        {ok, Answer, _} -> error({no_error, Name, Args, Answer})
    end.

answered(_Name, {ok, _, _} = Answer) -> Answer;
answered(Name, {error, Error}) -> error({no_answer, Name, Error}).

before(Kernel, {Tool, Args}, Context) ->
    {ok, Answer, _} = answered(Tool, beamai_kernel:invoke(Kernel, Tool, json(Args), Context)),
    %% A command in the background has no other way to say that it has written its line.
    timer:sleep(maps:get(wait, Args, 0)),
    maps:get(<<"id">>, Answer, none).

filled_in(Args, Id, Server) ->
    maps:map(
        fun(_Key, '$id') -> Id;
           (_Key, "$server" ++ Path) -> "http://" ++ binary_to_list(Server) ++ Path;
           (_Key, Value) -> Value
        end, Args).

id(Id) when is_binary(Id) -> Id;
id(_) -> none.

%% Language servers are slow to start: their tools share a workspace, which they do not change.
workspace(#{template := Template}, #{shared := true}) ->
    Template;
workspace(#{root := Root, template := Template}, #{dialect := Dialect, tool := Tool}) ->
    Workspace = filename:join([Root, atom_to_binary(Dialect), Tool]),
    ok = filelib:ensure_dir(Workspace),
    <<>> = sh(lists:flatten(io_lib:format("cp -a ~ts ~ts", [Template, Workspace])), "/"),
    Workspace.

kernel(#{root := Root, server := Server}, Workspace, Spec) ->
    Skills = filename:join(Root, "skills"),
    Skill = "---\nname: release\ndescription: How a release of this project is made.\n---\nRun the tests, then tag the commit.\n",
    write(Skills, "release/SKILL.md", Skill),
    Scout = #{
        description => <<"Finds things.">>,
        prompt => <<"You find things.">>,
        tools => [<<"file_glob">>],
        llm => beamai_chat:new(scripted, #{turns => [<<"There are two Python files.">>]})
    },
    Kernel = beamai_kernel:new(#{
        workspace => Workspace,
        permissions => #{default => allow},
        ask_user => fun(Questions) -> {ok, answers(Questions)} end,
        skills => #{paths => [Skills]},
        agents => #{<<"scout">> => Scout},
        web => #{
            allow_addresses => [Server],
            search => #{provider => searxng, base_url => <<"http://", Server/binary>>}
        }
    }),
    %% Examples of tools that follow up on another one need that one, too.
    Modules = [beamai_tool_file, beamai_tool_shell, beamai_tool_todo, beamai_dialect_microai, beamai_dialect_coder],
    lists:foldl(fun(Tool, K) -> beamai_kernel:replace_tool(K, Tool) end, Kernel,
                lists:append([Module:tools() || Module <- Modules]) ++ [Spec]).

answers(Questions) ->
    maps:from_list([{Question, first(maps:get(<<"options">>, Asked, []))} || #{<<"question">> := Question} = Asked <- Questions]).

first([#{<<"label">> := Label} | _]) -> Label;
first([]) -> <<"Ada">>.

%% @doc Errors that any tool can give: `[{What, Error}]'.
everywhere(World) ->
    [Spec] = [Spec || #{name := <<"file_read">>} = Spec <- beamai_tool_file:tools()],
    Workspace = workspace(World, #{dialect => any, tool => <<"tool">>}),
    Allowing = kernel(World, Workspace, Spec),
    Kernel = fun(Rules) ->
        beamai_kernel:add_tools(beamai_kernel:new(#{workspace => Workspace, permissions => Rules}), beamai_tool_file:tools())
    end,
    Failed = fun(Options, Tool, Args) ->
        {error, Error} = beamai_kernel:invoke(Options, Tool, json(Args), #{session_id => Workspace}),
        Error
    end,
    Errors = [
        {<<"A name that no tool has">>, Failed(Allowing, <<"file_raed">>, #{})},
        {<<"Wrong arguments: unknown, missing, ill-typed, out of range">>,
            Failed(Allowing, <<"file_read">>, #{pth => "notes.txt", limit => 0})},
        {<<"A path outside of the workspace">>, Failed(Allowing, <<"file_read">>, #{path => "/etc/hostname"})},
        {<<"A rule denies the call">>, Failed(Kernel(#{deny => [<<"Read(*.txt)">>]}), <<"file_read">>, #{path => "notes.txt"})},
        {<<"The call needs an approval, and nobody can be asked">>,
            Failed(Kernel(#{}), <<"file_write">>, #{path => "a.txt", content => "a"})},
        {<<"The time is over">>, Failed(Allowing, <<"shell_exec">>, #{command => "echo begun; sleep 60", timeout => 300})},
        {<<"The call was cancelled">>, cancelled(Allowing)}
    ],
    shown(Errors, [{Workspace, ?SHOWN_AS}]).

cancelled(Kernel) ->
    Owner = self(),
    Pid = spawn_link(fun() ->
        Owner ! {self(), beamai_kernel:invoke(Kernel, <<"shell_exec">>, #{<<"command">> => <<"sleep 60">>}, #{run_id => <<"docs">>})}
    end),
    timer:sleep(300),
    ok = beamai_kernel:cancel(<<"docs">>),
    receive {Pid, {error, Error}} -> Error end.

%% Strings are written as such in examples.terms; atoms stand for keys and for JSON's three.
json(Map) when is_map(Map) -> maps:from_list([{key(Key), json(Value)} || {Key, Value} <- maps:to_list(Map), Key =/= wait]);
json([_ | _] = List) ->
    case io_lib:printable_unicode_list(List) of
        true -> unicode:characters_to_binary(List);
        false -> [json(Item) || Item <- List]
    end;
json(Value) -> Value.

key(Key) when is_atom(Key) -> atom_to_binary(Key);
key(Key) -> unicode:characters_to_binary(Key).

%% The value with what differs from run to run replaced: names, times, ids, and the hash of a commit that is made now.
shown(Value, Names) when is_map(Value) ->
    maps:map(fun(Key, V) -> steady(Key, shown(V, Names)) end, Value);
shown(List, Names) when is_list(List) -> [shown(Item, Names) || Item <- List];
shown(Tuple, Names) when is_tuple(Tuple) -> list_to_tuple(shown(tuple_to_list(Tuple), Names));
shown(Text, Names) when is_binary(Text) ->
    Named = lists:foldl(fun({none, _}, T) -> T; ({From, To}, T) -> binary:replace(T, From, To, [global]) end, Text, Names),
    re:replace(Named, "timeout after \\d+ ms", "timeout after 300 ms", [global, unicode, {return, binary}]);
shown(Value, _Names) -> Value.

steady(<<"duration_ms">>, Ms) when is_integer(Ms) -> 12;
steady(<<"id">>, <<_, _/binary>>) -> <<"5b1d">>;
steady(<<"commit">>, <<_:40/binary>>) -> <<"8c5e1f0a7d3b964e2c81f5a09b7d3e6f14c2a805">>;
steady(<<"content">>, <<"[main ", _:7/binary, "] ", Subject/binary>>) -> <<"[main 8c5e1f0] ", Subject/binary>>;
steady(_Key, Value) -> Value.
