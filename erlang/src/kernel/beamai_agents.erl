%% @doc Definitions of sub-agents: from settings, and from files named `AGENT.md'.
%%
%% ```
%% #{paths => ["/etc/my-app/agents"],
%%   <<"reviewer">> => #{description => <<"Reviews a change.">>,
%%                       prompt => <<"You review code. Be strict.">>,
%%                       tools => [<<"file_read">>, <<"file_grep">>]}}
%% '''
%%
%% A file must start with YAML front matter between two lines of three dashes, with `name' (default: the directory's name),
%% `description', and optionally `tools' (a list, comma-separated names, or `all'), `profile', `max_iterations',
%% `max_tokens' and `max_time'. The rest of the file is the system prompt. A few keys of other programs that limit nothing
%% are ignored. Every other key is an error: it may be meant as a limit.
%% Definitions in settings take precedence over files.
%% @hidden
-module(beamai_agents).

-export([load/1, find/2, list/1, names/1, max_depth/1, only_reads/2, digest/1]).
-export_type([options/0, definition/0, agents/0, work/0]).

-define(MAX_BYTES, 262144).
-define(DEFAULT_DEPTH, 3).
-define(KEYS, [description, prompt, tools, profile, max_iterations, max_tokens, max_time, llm]).

%% The keys of an `AGENT.md'.
-define(FILE_KEYS, [<<"name">>, <<"description">>, <<"tools">>, <<"profile">>, <<"max_iterations">>, <<"max_tokens">>, <<"max_time">>]).
%% Keys of other programs that give and take no rights.
-define(IGNORED_KEYS, [<<"model">>, <<"color">>, <<"version">>, <<"author">>, <<"license">>, <<"tags">>]).

-type options() :: #{
    %% Directories: every `AGENT.md' in them or in their subdirectories (one level) is an agent.
    paths => [file:filename_all()],
    %% Maximum nesting of agents.
    max_depth => pos_integer(),
    Name :: binary() => definition()
}.
%% A fun does the work itself, in a process of its own, and returns `{ok, Summary}' with a text, or `{error, Reason}'.
-type definition() ::
    #{
        description => binary(),
        %% Its system prompt.
        prompt => binary(),
        %% The tools of the kernel that it can use; by default all except `task'.
        tools => all | [binary()],
        profile => default | plan,
        max_iterations => pos_integer(),
        %% Limits for it and its own sub-agents: tokens, and milliseconds.
        max_tokens => pos_integer(),
        max_time => pos_integer(),
        %% By default the model of the calling agent.
        llm => beamai_chat:model()
    }
    | fun((work(), beamai_context:t()) -> term()).
-type work() :: #{binary() => binary()}.
%% As `options()', with the files read.
-type agents() :: #{max_depth := pos_integer(), binary() => definition()}.

%% @doc Validates definitions and reads files. Raises `{bad_option, agents}'.
-spec load(options()) -> agents().
load(Options) when is_map(Options) ->
    Own = maps:without([paths, max_depth], Options),
    Checked = maps:map(fun(Name, Definition) -> definition(show(Name), Name, Definition) end, Own),
    Depth = depth(maps:get(max_depth, Options, ?DEFAULT_DEPTH)),
    (maps:merge(from_files(maps:get(paths, Options, [])), Checked))#{max_depth => Depth};
load(Other) ->
    bad(["must be a map of names to definitions, not ", show(Other)]).

depth(Depth) when is_integer(Depth), Depth > 0 -> Depth;
depth(Other) -> bad(["max_depth must be a count above 0, not ", show(Other)]).

definition(Where, Name, Fun) when is_binary(Name), is_function(Fun, 2) ->
    named(Where, Name, Fun);
definition(Where, Name, #{} = Definition) when is_binary(Name) ->
    maps:foreach(fun(Key, Value) -> check(Where, Key, Value) end, Definition),
    named(Where, Name, Definition);
definition(Where, Name, Definition) when is_binary(Name) ->
    bad([Where, " must be a map of ", listed(), ", or ", beamai_syntax:either("fun(Work, Context)", "fn work, context -> ... end"), ", not ", show(Definition)]);
definition(Where, _Name, _Definition) ->
    bad([Where, ": the name of an agent must be a ", beamai_syntax:text(), "; the options are paths and max_depth"]).

listed() -> lists:join(", ", [atom_to_binary(Key) || Key <- ?KEYS]).

%% Names that calls can use.
named(Where, Name, Definition) ->
    IsText = unicode:characters_to_binary(Name) =:= Name,
    case IsText andalso re:run(Name, "^[\\p{L}\\p{N}_.-]{1,64}$", [unicode, dollar_endonly, {capture, none}]) of
        match -> Definition;
        _ -> bad([Where, ": ", show(Name), " is no name: up to 64 letters, digits, \"_\", \"-\" and \".\""])
    end.

check(_Where, Key, Text) when (Key =:= description orelse Key =:= prompt), is_binary(Text) ->
    ok;
check(_Where, tools, all) ->
    ok;
check(Where, tools, Tools) when is_list(Tools) ->
    lists:all(fun is_binary/1, Tools) orelse bad([Where, ": tools must be names"]),
    ok;
check(_Where, profile, Profile) when Profile =:= default; Profile =:= plan ->
    ok;
check(_Where, Key, Count) when
    Key =:= max_iterations orelse Key =:= max_tokens orelse Key =:= max_time, is_integer(Count), Count > 0
->
    ok;
check(_Where, llm, #{module := _, state := _}) ->
    ok;
check(Where, Key, Value) ->
    bad([Where, ": " | case lists:member(Key, ?KEYS) of
        true -> [atom_to_binary(Key), " must be ", wanted(Key), ", not ", show(Value)];
        false -> [show(Key), " is not an option", beamai_validate:unknown_key(Key, ?KEYS)]
    end]).

wanted(Text) when Text =:= description; Text =:= prompt -> ["a ", beamai_syntax:text()];
wanted(tools) -> [beamai_syntax:atom(all), " or a list of names"];
wanted(profile) -> beamai_syntax:atoms([default, plan]);
wanted(llm) -> ["a model made with ", beamai_syntax:either("beamai_chat:new", "Beamai.Agent.model")];
wanted(_Count) -> "an integer above 0".

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
    %% Opening a FIFO would never end.
    filelib:is_regular(File) orelse bad([show(File), " is no file"]),
    case filelib:file_size(File) =< ?MAX_BYTES andalso file:read_file(File) of
        {ok, Text} -> parsed(File, binary_to_term(beamai_nif:front_matter(Text), [safe]));
        false -> bad([show(File), " is larger than 256 KiB"]);
        {error, Reason} -> bad([show(File), ": ", file:format_error(Reason)])
    end.

parsed(File, {error, #{<<"message">> := Why}}) ->
    bad([show(File), ": ", Why]);
parsed(File, {ok, #{<<"head">> := null, <<"body">> := Text}}) ->
    %% As a prompt alone, it would have every tool, although its author may have written a list of tools.
    [First | _] = binary:split(Text, <<"\n">>),
    Seen = show(binary:replace(First, <<"\r">>, <<"\\r">>, [global])),
    bad([show(File), " must begin with a line ---, the keys, and another line ---; its first line is ", Seen]);
parsed(File, {ok, #{<<"head">> := #{} = Keys, <<"body">> := Body}}) ->
    Directory = unicode:characters_to_binary(filename:basename(filename:dirname(File))),
    Name = maps:get(<<"name">>, Keys, Directory),
    Entries = [entry(File, Key, Value) || {Key, Value} <- maps:to_list(Keys), Key =/= <<"name">>, is_own(File, Key)],
    Definition = maps:from_list([{prompt, string:trim(Body)} | Entries]),
    {Name, definition(show(File), Name, Definition)};
parsed(File, {ok, _NoKeys}) ->
    bad([show(File), ": its front matter has no keys"]).

is_own(File, Key) ->
    lists:member(Key, ?FILE_KEYS) orelse (not lists:member(Key, ?IGNORED_KEYS) andalso unknown_key(File, Key)).

-spec unknown_key(file:filename_all(), binary()) -> no_return().
unknown_key(File, Key) ->
    bad([
        show(File), ": ", show(Key), " is not a key of these files; the keys are ", lists:join(", ", ?FILE_KEYS),
        "; remove it (ignored are ", lists:join(", ", ?IGNORED_KEYS), ")"
    ]).

entry(_File, <<"description">>, Text) when is_binary(Text) -> {description, Text};
entry(_File, <<"tools">>, Tools) when is_list(Tools) -> {tools, Tools};
entry(_File, <<"tools">>, null) -> {tools, []};
entry(_File, <<"tools">>, <<"all">>) -> {tools, all};
entry(_File, <<"tools">>, Text) when is_binary(Text) ->
    {tools, [string:trim(Tool) || Tool <- binary:split(Text, <<",">>, [global]), string:trim(Tool) =/= <<>>]};
entry(_File, <<"profile">>, <<"plan">>) -> {profile, plan};
entry(_File, <<"profile">>, <<"default">>) -> {profile, default};
entry(_File, <<"max_iterations">>, Count) when is_integer(Count) -> {max_iterations, Count};
entry(_File, <<"max_tokens">>, Count) when is_integer(Count) -> {max_tokens, Count};
entry(_File, <<"max_time">>, Count) when is_integer(Count) -> {max_time, Count};
entry(File, Key, Value) -> bad([show(File), ": ", Key, " cannot be ", show(Value)]).

%%% Looking

%% @doc The definition of an agent.
-spec find(Name :: binary(), agents()) -> {ok, definition()} | error.
find(Name, Agents) ->
    maps:find(Name, Agents).

%% @doc Maximum nesting of agents.
-spec max_depth(agents()) -> pos_integer().
max_depth(#{max_depth := Depth}) -> Depth.

%% @doc The names of the agents, sorted.
-spec names(agents()) -> [binary()].
names(Agents) ->
    lists:sort([Name || Name <- maps:keys(Agents), is_binary(Name)]).

%% @doc Names and descriptions, sorted by name.
-spec list(agents()) -> [#{name := binary(), description := binary()}].
list(Agents) ->
    [#{name => Name, description => description(maps:get(Name, Agents))} || Name <- names(Agents)].

description(#{description := Text}) -> Text;
description(_Definition) -> <<"(no description)">>.

%% @doc Whether the agent that a call of `task' names has only reading tools, so that calls of it can run in parallel. A
%% fun of the host may do anything.
-spec only_reads(beamai_kernel:kernel(), Args :: map()) -> boolean().
only_reads(#{agents := Agents, tools := Tools}, #{<<"agent">> := Name}) ->
    case find(Name, Agents) of
        {ok, #{tools := Names}} when is_list(Names) ->
            lists:all(fun beamai_plan:only_reads/1, maps:values(maps:with(Names, Tools)));
        _ ->
            false
    end;
only_reads(_Kernel, _Args) ->
    false.

%% @doc Identifies the definitions of the kernel for approvals. A kernel on another node has only the digest of them.
-spec digest(beamai_kernel:kernel()) -> binary().
digest(#{agents_digest := Digest}) -> Digest;
digest(Kernel) -> crypto:hash(sha256, term_to_binary(maps:get(agents, Kernel, #{}), [deterministic])).

-spec bad(iodata() | unicode:chardata()) -> no_return().
bad(Text) ->
    beamai_validate:bad_option(agents, Text).

show(Term) ->
    beamai_error:show(beamai_secret:mask(Term), 120).
