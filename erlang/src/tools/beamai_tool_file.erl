%% @doc The file tools: `file_read', `file_write', `file_edit', `file_patch', `file_list', `file_glob',
%% `file_grep'.
%%
%% They are confined to the kernel's workspace. Parameters and results are described in their
%% specs; their results are maps with binary keys.
-module(beamai_tool_file).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).
-export([needs_verification/1]).

-define(DOCUMENT_SUFFIXES, [<<".md">>, <<".mdx">>, <<".txt">>, <<".rst">>, <<".adoc">>]).

%% @doc What the module offers, and the tag of its tools.
-spec tool_info() -> beamai_tool_behaviour:info().
tool_info() ->
    #{description => <<"Reads, searches and changes files in the workspace.">>, tags => [<<"file">>]}.

%% @doc The specs of the tools.
-spec tools() -> [beamai_tool:tool_spec()].
tools() ->
    beamai_catalogue:family(<<"beamai">>, <<"file_">>).

%% @doc Whether a change of these files should be verified (built, tested): true unless all of them
%% are documentation, so false for no files at all.
%%
%% Documentation is what is in the directory `docs' at the top of the workspace, and what has the
%% suffix `.md', `.mdx', `.txt', `.rst' or `.adoc', in whatever case. `Paths' are relative to the
%% workspace, as results of the tools have them; `.' and `..' in them are worked out first, so
%% `docs/../a.erl' is `a.erl'. A directory `docs' further down may be a part of a program: what is
%% in it goes by its suffix, and so does an absolute path. A name that is a suffix and nothing else,
%% such as `.md', has none.
-spec needs_verification(Paths :: [file:filename_all()]) -> boolean().
needs_verification(Paths) ->
    not lists:all(fun(Path) -> is_document(bytes(Path)) end, Paths).

bytes(Path) when is_binary(Path) -> Path;
bytes(Path) -> <<_/binary>> = unicode:characters_to_binary(filename:flatten(Path)).

is_document(Path) ->
    case lists:reverse(lists:foldl(fun step/2, [], filename:split(Path))) of
        [] -> false;
        [<<"docs">> | _] -> true;
        Parts -> lists:member(suffix(lists:last(Parts)), ?DOCUMENT_SUFFIXES)
    end.

%% The parts of a path, the last one first, without those that lead nowhere or back.
step(<<".">>, Parts) -> Parts;
step(<<"..">>, [Part | Parts]) when Part =/= <<"..">>, Part =/= <<"/">> -> Parts;
step(Part, Parts) -> [Part | Parts].

%% From the last dot of a name, in lower case; empty where nothing comes before it.
suffix(Name) ->
    case binary:matches(Name, <<".">>) of
        [] -> <<>>;
        Dots ->
            case lists:last(Dots) of
                {0, 1} -> <<>>;
                {At, 1} -> lower(binary:part(Name, At, byte_size(Name) - At))
            end
    end.

%% Names need not be Unicode, and the suffixes are ASCII.
lower(Name) ->
    <<<<(if C >= $A, C =< $Z -> C + 32; true -> C end)>> || <<C>> <= Name>>.
