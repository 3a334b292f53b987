%% @doc Definitions of sub-agents: from settings, and from files named `AGENT.md'.
%%
%% ```
%% #{paths => ["/etc/my-app/agents"],
%%   <<"reviewer">> => #{description => <<"Reviews a change.">>,
%%                       prompt => <<"You review code. Be strict.">>,
%%                       tools => [<<"file_read">>, <<"file_grep">>]}}
%% '''
%%
%% A file has a head with `name' (the directory's by default), `description', and optionally `tools', `profile',
%% `max_iterations', `max_tokens' and `max_time'; what follows the head is the system prompt. Other keys of a head belong to
%% other programs and are left alone. Definitions in settings hold over files.
-module(beamai_agents).

-export([load/1, find/2, list/1, names/1, max_depth/1]).
-export_type([options/0, definition/0, agents/0, work/0]).

-define(MAX_BYTES, 262144).
-define(DEFAULT_DEPTH, 3).

-type options() :: #{
    %% Directories: each `AGENT.md' in them or right below them is an agent.
    paths => [file:filename_all()],
    %% How many agents may work for one another.
    max_depth => pos_integer(),
    Name :: binary() => definition()
}.
%% A fun does the work by itself, in a process of its own, and returns `{ok, Summary}' with a text, or `{error, Reason}'.
-type definition() ::
    #{
        description => binary(),
        %% Its system prompt.
        prompt => binary(),
        %% The tools that it sees, of those that the kernel has: all but `task' by default.
        tools => all | [binary()],
        profile => default | plan,
        max_iterations => pos_integer(),
        %% Of it and all that work for it: tokens, and milliseconds.
        max_tokens => pos_integer(),
        max_time => pos_integer(),
        %% By default the model of the agent that calls it.
        llm => beamai_chat:model()
    }
    | fun((work(), beamai_context:t()) -> term()).
-type work() :: #{binary() => binary()}.
%% The same without `paths': the files are read.
-type agents() :: #{max_depth := pos_integer(), binary() => definition()}.

%% @doc Checks definitions and reads files. Raises `{bad_option, agents}'.
-spec load(options()) -> agents().
load(Options) when is_map(Options) ->
    Own = maps:without([paths, max_depth], Options),
    Checked = maps:map(fun definition/2, Own),
    Depth = depth(maps:get(max_depth, Options, ?DEFAULT_DEPTH)),
    (maps:merge(from_files(maps:get(paths, Options, [])), Checked))#{max_depth => Depth};
load(Other) ->
    bad(["must be a map of names to definitions, not ", show(Other)]).

depth(Depth) when is_integer(Depth), Depth > 0 -> Depth;
depth(Other) -> bad(["max_depth must be a count above 0, not ", show(Other)]).

definition(Name, Fun) when is_binary(Name), is_function(Fun, 2) ->
    named(Name, Fun);
definition(Name, #{} = Definition) when is_binary(Name) ->
    maps:foreach(fun(Key, Value) -> check(Name, Key, Value) end, Definition),
    named(Name, Definition);
definition(Name, _Other) ->
    bad(["the entry ", show(Name), " must map a binary to a definition or a fun of two arguments"]).

%% The names that calls can have.
named(Name, Definition) ->
    IsText = unicode:characters_to_binary(Name) =:= Name,
    case IsText andalso re:run(Name, "^[\\p{L}\\p{N}_.-]{1,64}$", [unicode, dollar_endonly, {capture, none}]) of
        match -> Definition;
        _ -> bad([show(Name), " is no name: up to 64 letters, digits, \"_\", \"-\" and \".\""])
    end.

check(_Name, Key, Text) when (Key =:= description orelse Key =:= prompt), is_binary(Text) -> ok;
check(_Name, tools, all) -> ok;
check(Name, tools, Tools) when is_list(Tools) ->
    lists:all(fun is_binary/1, Tools) orelse bad([Name, ": tools must be names"]),
    ok;
check(_Name, profile, Profile) when Profile =:= default; Profile =:= plan -> ok;
check(_Name, Key, Count) when
    Key =:= max_iterations orelse Key =:= max_tokens orelse Key =:= max_time, is_integer(Count), Count > 0
->
    ok;
check(_Name, llm, #{module := _, state := _}) -> ok;
check(Name, Key, Value) -> bad([Name, ": ", show(Key), " cannot be ", show(Value)]).

%%% Files

from_files(Paths) when is_list(Paths) ->
    Files = [File || Path <- Paths, File <- files(Path)],
    lists:foldl(fun add_file/2, #{}, Files);
from_files(Other) ->
    bad(["paths must be a list of directories, not ", show(Other)]).

files(Path) ->
    case filelib:is_dir(Path) of
        true ->
            Below = filelib:wildcard("*/AGENT.md", unicode:characters_to_list(Path)),
            Names = ["AGENT.md" || filelib:is_regular(filename:join(Path, "AGENT.md"))] ++ Below,
            [filename:join(Path, Name) || Name <- lists:sort(Names)];
        false ->
            bad([show(Path), " is no directory"])
    end.

add_file(File, Agents) ->
    {Name, Definition} = read(File),
    is_map_key(Name, Agents) andalso bad([show(File), ": there is an agent ", Name, " already"]),
    Agents#{Name => Definition}.

read(File) ->
    case filelib:file_size(File) =< ?MAX_BYTES andalso file:read_file(File) of
        {ok, Text} -> parsed(File, beamai_front_matter:parse(Text));
        false -> bad([show(File), " is larger than 256 KiB"]);
        {error, Reason} -> bad([show(File), ": ", file:format_error(Reason)])
    end.

parsed(File, {error, Why}) ->
    bad([show(File), ": ", Why]);
parsed(File, {ok, Keys, Body}) ->
    Directory = unicode:characters_to_binary(filename:basename(filename:dirname(File))),
    Name = maps:get(<<"name">>, Keys, Directory),
    Entries = [entry(File, Key, Value) || {Key, Value} <- maps:to_list(Keys), known(Key)],
    Definition = maps:from_list([{prompt, string:trim(Body)} | Entries]),
    {Name, definition(Name, Definition)}.

known(Key) ->
    lists:member(Key, [
        <<"description">>, <<"tools">>, <<"profile">>, <<"max_iterations">>, <<"max_tokens">>, <<"max_time">>
    ]).

entry(_File, <<"description">>, Text) -> {description, Text};
entry(_File, <<"tools">>, Tools) when is_list(Tools) -> {tools, Tools};
entry(_File, <<"tools">>, <<>>) -> {tools, []};
entry(_File, <<"tools">>, <<"all">>) -> {tools, all};
entry(_File, <<"tools">>, Text) ->
    {tools, [string:trim(Tool) || Tool <- binary:split(Text, <<",">>, [global]), string:trim(Tool) =/= <<>>]};
entry(_File, <<"profile">>, <<"plan">>) -> {profile, plan};
entry(_File, <<"profile">>, <<"default">>) -> {profile, default};
entry(File, <<"max_iterations">>, Text) -> {max_iterations, count(File, Text)};
entry(File, <<"max_tokens">>, Text) -> {max_tokens, count(File, Text)};
entry(File, <<"max_time">>, Text) -> {max_time, count(File, Text)};
entry(File, Key, Value) -> bad([show(File), ": ", Key, " cannot be ", show(Value)]).

count(File, Text) ->
    try
        binary_to_integer(Text)
    catch
        error:badarg -> bad([show(File), ": ", show(Text), " is no number"])
    end.

%%% Looking

%% @doc The definition of an agent.
-spec find(Name :: binary(), agents()) -> {ok, definition()} | error.
find(Name, Agents) ->
    maps:find(Name, Agents).

%% @doc How many agents may work for one another.
-spec max_depth(agents()) -> pos_integer().
max_depth(#{max_depth := Depth}) -> Depth.

%% @doc The names of the agents, in order.
-spec names(agents()) -> [binary()].
names(Agents) ->
    lists:sort([Name || Name <- maps:keys(Agents), is_binary(Name)]).

%% @doc Names and descriptions, in name order.
-spec list(agents()) -> [#{name := binary(), description := binary()}].
list(Agents) ->
    [#{name => Name, description => description(maps:get(Name, Agents))} || Name <- names(Agents)].

description(#{description := Text}) -> Text;
description(_Definition) -> <<"(no description)">>.

-spec bad(iodata() | unicode:chardata()) -> no_return().
bad(Text) ->
    beamai_options:bad(agents, Text).

show(Term) ->
    beamai_error:show(Term, 120).
