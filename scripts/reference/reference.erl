%% @doc The tool reference: one page for each module of tools, and an index. See scripts/docs-tools.
%%
%% What a page says of a tool comes from the tool's spec. Its example and its errors are calls from examples.terms, made for
%% real in a workspace of their own; see reference_world. A tool without an example is an error.
-module(reference).

-export([main/1]).

-define(TO, "docs/tools").
-define(CAPTURE, [dotall, multiline, unicode, {capture, all_but_first, binary}]).
-define(EXAMPLES, "scripts/reference/examples.terms").

%% Page, dialect, module.
-define(PAGES, [
    {"file.md", beamai, beamai_tool_file},
    {"shell.md", beamai, beamai_tool_shell},
    {"git.md", beamai, beamai_tool_git},
    {"lsp.md", beamai, beamai_tool_lsp},
    {"web.md", beamai, beamai_tool_web},
    {"todo.md", beamai, beamai_tool_todo},
    {"human.md", beamai, beamai_tool_human},
    {"skill.md", beamai, beamai_tool_skill},
    {"task.md", beamai, beamai_tool_task},
    {"microai.md", microai, beamai_dialect_microai},
    {"coder.md", coder, beamai_dialect_coder},
    {"ide.md", ide, beamai_dialect_ide}
]).

%% @doc Writes the pages ("write"), or halts with 1 where they differ from what is there ("check").
-spec main(string()) -> ok.
main(What) when What =:= "write"; What =:= "check" ->
    {ok, _} = application:ensure_all_started(beamai),
    {ok, Cases} = file:consult(?EXAMPLES),
    case pages(Cases) of
        {bad_examples, Values} -> fail("~ts has ~b examples for ~ts of ~ts, not one", Values);
        Pages -> done(What, [{filename:join(?TO, File), unicode:characters_to_binary(Text)} || {File, Text} <- Pages])
    end.

pages(Cases) ->
    World = reference_world:start(),
    try
        [{"README.md", index(World)} | [{File, page(Page, Cases, World)} || {File, _, _} = Page <- ?PAGES]]
    catch
        throw:{bad_examples, Values} -> {bad_examples, Values}
    after
        reference_world:stop(World)
    end.

page({_File, Dialect, Module}, Cases, World) ->
    #{description := Description} = Module:tool_info(),
    Sections = [tool(Dialect, Spec, Cases, World) || Spec <- Module:tools()],
    reference_page:page(Module, Description, Dialect, Sections).

tool(Dialect, #{name := Name} = Spec, Cases, World) ->
    case [Case || #{dialect := D, tool := Tool} = Case <- Cases, D =:= Dialect, Tool =:= Name] of
        [Case] -> {Spec, reference_world:run(World, Spec, Case)};
        Found -> throw({bad_examples, [?EXAMPLES, length(Found), Name, Dialect]})
    end.

index(World) ->
    Modules = [{File, Module, [Name || #{name := Name} <- Module:tools()]} || {File, _, Module} <- ?PAGES],
    reference_page:index(Modules, reasons(), reference_world:everywhere(World)).

%% Every reason with its doc comment: the catalogue of errors is a list in the source of the native side.
reasons() ->
    Sources = [Text || File <- filelib:wildcard("native/*/src/**/*.rs"), {ok, Text} <- [file:read_file(File)]],
    [List] = [List || Text <- Sources, {match, [List]} <- [re:run(Text, "^reasons! \\{\n(.*?)^\\}", ?CAPTURE)]],
    {match, Found} = re:run(List, "^((?: *///[^\n]*\n)+) *\\w+ = \"(\\w+)\": (\\w+),", [global | ?CAPTURE]),
    [{Reason, snake(Kind), prose(Doc)} || [Doc, Reason, Kind] <- Found].

prose(Doc) ->
    string:trim(re:replace(Doc, "\n? *///", "", [global, unicode, {return, binary}])).

snake(Camel) ->
    string:lowercase(re:replace(Camel, "(?<!^)([A-Z])", "_\\1", [global, {return, binary}])).

done("write", Pages) ->
    ok = filelib:ensure_dir(filename:join(?TO, "x")),
    Stale = filelib:wildcard(filename:join(?TO, "*.md")) -- [File || {File, _} <- Pages],
    lists:foreach(fun(File) -> ok = file:delete(File) end, Stale),
    lists:foreach(fun({File, Text}) -> ok = file:write_file(File, Text) end, Pages),
    io:format("~b pages in ~ts~n", [length(Pages), ?TO]);
done("check", Pages) ->
    Extra = filelib:wildcard(filename:join(?TO, "*.md")) -- [File || {File, _} <- Pages],
    Differing = [{File, Difference} || {File, Text} <- Pages, Difference <- difference(file:read_file(File), Text)],
    case {Extra, Differing} of
        {[], []} ->
            io:format("~b pages of the tool reference are up to date~n", [length(Pages)]);
        _ ->
            Lines = [[File, ": no such page would be written\n"] || File <- Extra] ++
                [io_lib:format("~ts~ts~n", [File, Difference]) || {File, Difference} <- Differing],
            fail("~ts~nRun scripts/docs-tools and look at what it changes.", [Lines])
    end.

difference({ok, Text}, Text) -> [];
difference({ok, Old}, New) -> [first(1, lines(Old), lines(New))];
difference({error, _}, _New) -> [": there is no such page yet"].

first(At, [Same | Old], [Same | New]) -> first(At + 1, Old, New);
first(At, Old, New) -> io_lib:format(":~b~n  is        ~ts~n  should be ~ts", [At, head(Old), head(New)]).

head([]) -> "(the end)";
head([Line | _]) -> Line.

lines(Text) -> binary:split(Text, <<"\n">>, [global]).

fail(Format, Values) ->
    io:format(standard_error, Format ++ "~n", Values),
    halt(1).
