%% @doc The file tools: `file_read', `file_write', `file_edit', `file_patch', `file_list', `file_glob',
%% `file_grep'.
%%
%% They are confined to the kernel's workspace. Their specs describe parameters and results; results are maps with
%% binary keys.
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

%% @doc Whether a change of these files should be verified (built, tested): true unless all of them are documentation.
%% False for an empty list.
%%
%% Documentation is everything in the directory `docs' at the top of the workspace, and files with the suffix `.md',
%% `.mdx', `.txt', `.rst' or `.adoc', in any case. `Paths' are relative to the workspace, as in results of the tools;
%% `.' and `..' are resolved first, so `docs/../a.erl' is `a.erl'. A directory `docs' elsewhere may be part of a
%% program, so its files are judged by suffix, as are absolute paths. A name that consists of a suffix only, such as
%% `.md', has no suffix.
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

%% The components of a path in reverse order, with `.' and `..' resolved.
step(<<".">>, Parts) -> Parts;
step(<<"..">>, [Part | Parts]) when Part =/= <<"..">>, Part =/= <<"/">> -> Parts;
step(Part, Parts) -> [Part | Parts].

%% The suffix from the last dot, in lower case; empty if nothing precedes the dot.
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
