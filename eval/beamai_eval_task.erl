%% @doc Tasks of the evaluation: a directory for each, with what is asked (`prompt.txt'), the workspace (`files'), a script that
%% says whether it was done (`check') and, where files are too large to be kept, one that makes them (`prepare').
-module(beamai_eval_task).

-export([all/1, named/2, name/1, prompt/1, prepare/2, check/3]).
-export_type([t/0]).

-opaque t() :: #{name := binary(), directory := file:filename_all(), prompt := binary()}.

%% @doc Every task below a directory, by name. Raises `{no_tasks, Root}' where there is none.
-spec all(file:filename_all()) -> [t()].
all(Root) ->
    case lists:sort(filelib:wildcard("*/prompt.txt", Root)) of
        [] -> error({no_tasks, Root});
        Found -> [task(filename:join(filename:absname(Root), filename:dirname(Prompt))) || Prompt <- Found]
    end.

%% @doc These tasks, in this order. Raises `{no_task, Name}'.
-spec named(file:filename_all(), [binary()]) -> [t()].
named(Root, Names) ->
    All = maps:from_list([{Name, Task} || #{name := Name} = Task <- all(Root)]),
    [maps:get(Name, All, none) =/= none orelse error({no_task, Name}) || Name <- Names],
    [maps:get(Name, All) || Name <- Names].

task(Directory) ->
    {ok, Prompt} = file:read_file(filename:join(Directory, "prompt.txt")),
    #{name => unicode:characters_to_binary(filename:basename(Directory)), directory => Directory, prompt => string:trim(Prompt)}.

%% @doc Its name: the directory's.
-spec name(t()) -> binary().
name(#{name := Name}) -> Name.

%% @doc What the model is asked.
-spec prompt(t()) -> binary().
prompt(#{prompt := Prompt}) -> Prompt.

%% @doc Puts the task's files into a workspace that is empty.
-spec prepare(t(), Workspace :: file:filename_all()) -> ok.
prepare(#{directory := Directory} = Task, Workspace) ->
    Files = filename:join(Directory, "files"),
    [{0, _} = sh(["cp -R ", quoted(Files), "/. ."], Task, Workspace, <<>>) || filelib:is_dir(Files)],
    Script = filename:join(Directory, "prepare"),
    [{0, _} = sh(quoted(Script), Task, Workspace, <<>>) || filelib:is_regular(Script)],
    ok.

%% @doc Whether the task is done: what its script says of the workspace and the model's last answer, which it has as
%% `$ANSWER'. `$TASK' is the task's directory.
-spec check(t(), Workspace :: file:filename_all(), Answer :: binary()) -> done | {not_done, Output :: binary()}.
check(#{directory := Directory} = Task, Workspace, Answer) ->
    case sh(quoted(filename:join(Directory, "check")), Task, Workspace, Answer) of
        {0, _Output} -> done;
        {_Code, Output} -> {not_done, Output}
    end.

quoted(Path) ->
    ["'", string:replace(Path, "'", "'\\''", all), "'"].

sh(Command, #{directory := Directory}, Workspace, Answer) ->
    Port = open_port({spawn_executable, "/bin/sh"}, [
        {args, ["-c", unicode:characters_to_binary(Command)]},
        {cd, unicode:characters_to_list(Workspace)},
        {env, [{"ANSWER", unicode:characters_to_list(Answer)}, {"TASK", unicode:characters_to_list(Directory)}]},
        exit_status, binary, stderr_to_stdout
    ]),
    collect(Port, <<>>).

collect(Port, Output) ->
    receive
        {Port, {data, Data}} -> collect(Port, <<Output/binary, Data/binary>>);
        {Port, {exit_status, Code}} -> {Code, Output}
    end.
