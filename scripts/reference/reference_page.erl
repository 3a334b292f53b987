%% @doc The Markdown of the tool reference.
-module(reference_page).

-export([page/4, index/3]).

%% @doc A module's page. `Sections' are `{Spec, #{call, answer, errors}}'.
page(Module, Description, Dialect, Sections) ->
    [
        generated(),
        "# `", atom_to_binary(Module), "`\n\n",
        Description, " ", loaded(Module), command_line(Dialect),
        "\n\n[All tools, and the errors that any of them can give](README.md)\n",
        [section(Spec, Shown) || {Spec, Shown} <- Sections]
    ].

generated() -> "<!-- Written by scripts/docs-tools from the catalogue and from calls that it made. Do not edit. -->\n".

loaded(Module) -> ["Loaded by `beamai_kernel:add_tool_module(Kernel, ", atom_to_binary(Module), ")`"].

command_line(beamai) -> ".";
command_line(Dialect) -> ["; on the command line by `--dialect ", atom_to_binary(Dialect), "`."].

section(#{name := Name, description := Description} = Spec, #{call := Call, answer := Answer, errors := Errors}) ->
    #{metadata := #{output_schema := Output}, parameters := Parameters} = Spec,
    [
        "\n## `", Name, "`\n\n", Description, "\n\n", facts(Spec),
        "\n### Parameters\n\n", parameters(Parameters),
        "\n### Result\n\n", results(Output),
        "\n### Example\n\n", fenced(Call), "\nanswers\n\n", fenced(Answer),
        errors(Errors)
    ].

fenced(Value) -> ["```json\n", reference_json:pretty(Value), "\n```\n"].

facts(#{timeout := Timeout, metadata := #{rule := Rule} = Metadata}) ->
    [
        "Name in permission rules: `", Rule, "`. With the mode `auto` it ", runs(Metadata), ". Timeout of a call: ", time(Timeout), ".",
        [" It only reads." || maps:get(read_only, Metadata)], "\n"
    ].

runs(#{requires_permission := true}) -> "asks for approval, unless a rule allows the call";
runs(#{requires_permission := false}) -> "runs without asking".

time(infinity) -> "none";
time(Ms) -> [integer_to_binary(Ms), " ms"].

%% Parameters, the required ones first.

parameters(Parameters) when map_size(Parameters) =:= 0 -> "None.\n";
parameters(Parameters) ->
    table(["parameter", "type", "required or default", "limits", "meaning"], parameter_rows("", Parameters)).

parameter_rows(Prefix, Parameters) ->
    Named = lists:keysort(1, maps:to_list(Parameters)),
    {Required, Optional} = lists:partition(fun({_, Param}) -> maps:get(required, Param, false) end, Named),
    lists:append([parameter_row([Prefix, Name], Param) || {Name, Param} <- Required ++ Optional]).

parameter_row(Path, #{type := Type} = Param) ->
    Row = [code(Path), atom_to_binary(Type), presence(Param), limits(Param), maps:get(description, Param, "")],
    [Row | nested(Path, Param)].

nested(Path, #{properties := Properties}) -> parameter_rows([Path, "."], Properties);
nested(Path, #{items := #{properties := _} = Items}) -> nested([Path, "[]"], Items);
nested(_Path, _Param) -> [].

presence(#{required := true}) -> "required";
presence(#{default := Default}) -> code(reference_json:compact(Default));
presence(_Param) -> "optional".

limits(Param) ->
    Known = [{enum, ""}, {minimum, "at least "}, {maximum, "at most "}, {minItems, "items: at least "}, {maxItems, "items: at most "}],
    lists:join(", ", [limit(Key, Text, maps:get(Key, Param)) || {Key, Text} <- Known, is_map_key(Key, Param)] ++ items(Param)).

items(#{items := #{type := Type} = Items}) when not is_map_key(properties, Items) -> [["of ", atom_to_binary(Type)]];
items(_Param) -> [].

limit(enum, _Text, Values) -> lists:join(", ", [code(reference_json:compact(Value)) || Value <- Values]);
limit(_Key, Text, Number) -> [Text, reference_json:compact(Number)].

%% Results: keys that are always there first.

results(Schema) ->
    table(["key", "type", "meaning"], result_rows("", Schema)).

result_rows(Prefix, #{<<"properties">> := Properties} = Schema) ->
    Required = maps:get(<<"required">>, Schema, []),
    {Always, Sometimes} = lists:partition(
        fun({Key, _}) -> lists:member(Key, Required) end, lists:keysort(1, maps:to_list(Properties))),
    lists:append([result_row([Prefix, Key], Value, "") || {Key, Value} <- Always]) ++
        lists:append([result_row([Prefix, Key], Value, "; may be absent") || {Key, Value} <- Sometimes]);
result_rows(_Prefix, _Schema) ->
    [].

result_row(Path, Schema, Absent) ->
    Row = [code(Path), [type(Schema), Absent], [maps:get(<<"description">>, Schema, ""), choices(Schema)]],
    [Row | below(Path, Schema)].

below(Path, #{<<"items">> := Items}) -> below([Path, "[]"], Items);
below(Path, Schema) -> result_rows([Path, "."], Schema).

type(true) -> "any value";
type(#{<<"type">> := <<"null">>}) -> "null";
type(#{<<"oneOf">> := _}) -> "string";
type(#{<<"anyOf">> := Types}) -> lists:join(" or ", [type(Type) || Type <- Types]);
type(#{<<"type">> := Types} = Schema) when is_list(Types) ->
    lists:join(" or ", [type(Schema#{<<"type">> := Type}) || Type <- Types]);
type(#{<<"type">> := <<"array">>, <<"items">> := Items}) -> ["array of ", type(Items)];
type(#{<<"additionalProperties">> := Values}) when is_map(Values) -> ["object of ", type(Values)];
type(#{<<"type">> := Type}) -> Type.

choices(#{<<"oneOf">> := Choices}) ->
    [" ", lists:join("; ", [choice(Choice) || Choice <- Choices]), "."];
choices(#{<<"anyOf">> := Types}) ->
    [choices(Type) || Type <- Types];
choices(#{<<"enum">> := Values}) ->
    [" ", lists:join(", ", [code(reference_json:compact(Value)) || Value <- Values]), "."];
choices(_Schema) ->
    "".

choice(#{<<"const">> := Value} = Choice) ->
    Text = string:trim(maps:get(<<"description">>, Choice, <<>>), trailing, "."),
    [code(reference_json:compact(Value)), [[": ", Text] || Text =/= <<>>]];
choice(#{<<"enum">> := Values}) ->
    lists:join("; ", [code(reference_json:compact(Value)) || Value <- Values]).

errors([]) -> "";
errors(Errors) ->
    Rows = [[code(Reason), code(Type), code(reference_json:compact(Args)), Message] || {Args, Error} <- Errors,
            #{error_type := Type, details := #{reason := Reason}, message := Message} <- [text(Error)]],
    ["\n### Errors of its own\n\n", table(["reason", "error_type", "arguments", "message"], Rows)].

text(#{error_type := Type, details := #{reason := Reason} = Details} = Error) ->
    Error#{error_type := atom_to_binary(Type), details := Details#{reason := atom_to_binary(Reason)}}.

%% @doc The index: modules, errors of any tool, every reason.
index(Modules, Reasons, Everywhere) ->
    General = [[What, code(Reason), code(Type), Message] || {What, Error} <- Everywhere,
               #{error_type := Type, details := #{reason := Reason}, message := Message} <- [text(Error)]],
    [
        generated(),
        "# Tool reference\n\n"
        "One page for each module of tools. Arguments and results are shown as JSON; in Erlang they are maps with binary keys. Every\n"
        "example and every error was run for real, in a small workspace with a git repository; times, ids, ports and the name of\n"
        "the directory are replaced.\n\n",
        table(["page", "module", "tools"],
              [[["[", filename:rootname(File), "](", File, ")"], code(atom_to_binary(Module)),
                lists:join(", ", [code(Name) || Name <- Names])] || {File, Module, Names} <- Modules]),
        "\n## Errors that any tool can give\n\n"
        "The answer is `{error, #{tool, error_type, message, details}}`, and `details` has the `reason`. The pages list what a tool\n"
        "can give besides.\n\n",
        table(["when", "reason", "error_type", "an example's message"], General),
        "\n## Every reason\n\n",
        table(["reason", "error_type", "meaning"], [[code(Reason), code(Kind), Doc] || {Reason, Kind, Doc} <- Reasons])
    ].

%% Markdown.

table(Head, Rows) ->
    [row(Head), row(["---" || _ <- Head]), [row([cell(Cell) || Cell <- Row]) || Row <- Rows]].

row(Cells) -> ["| ", lists:join(" | ", Cells), " |\n"].

%% A line break ends a row, and so does a bar a cell, in code, too.
cell(Text) ->
    Line = re:replace(unicode:characters_to_binary(Text), "\\s*\n\\s*", " ", [global, unicode, {return, binary}]),
    binary:replace(Line, <<"|">>, <<"\\|">>, [global]).

%% Text with a backquote needs two around it.
code(Text) ->
    Flat = unicode:characters_to_binary(Text),
    case binary:match(Flat, <<"`">>) of
        nomatch -> ["`", Flat, "`"];
        _ -> ["`` ", Flat, " ``"]
    end.
