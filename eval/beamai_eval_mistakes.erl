%% @doc Scripted models that make the mistakes that models make, one each, and go on by what they read then.
%%
%% A script is a function from the results so far to what the model does next. After its mistake it has only the text of the
%% error ({@link beamai_eval_reader}). How many turns more than without the mistake it needs is what is measured here; that says
%% something about the texts, and nothing about any real model.
-module(beamai_eval_mistakes).

-export([all/0, model/3, turns_without/1]).
-export_type([mistake/0]).

-type outcome() :: ok | error.
-type step() ::
    {call, Tool :: binary(), Args :: map()}
    %% What a model of the text protocol writes, as it stands.
    | {write, binary()}
    | {say, binary()}.
-type world() :: #{dialect := beamai_eval_run:dialect(), workspace := binary(), tools := [binary()]}.
-type script() :: fun(([{outcome(), binary()}], world()) -> step()).
-type mistake() :: #{
    name := atom(),
    task := binary(),
    dialects := [beamai_eval_run:dialect()],
    %% How the model calls tools: as providers have it, or in text.
    calls := native | text,
    script := script()
}.

-define(PATH, <<"src/area.py">>).
-define(DEF, <<"def area(width, height):\n">>).
-define(WRONG, <<"return 2 * (width + height)">>).
-define(RIGHT, <<"return width * height">>).
-define(GIVEN_UP, {say, <<"I give up.">>}).

%% @doc Every mistake, with the task in which it is made and the dialects in which it can be made.
-spec all() -> [mistake()].
all() ->
    Editing = [beamai, microai, coder],
    Every = beamai_eval_run:dialects(),
    [
        mistake(wrong_whitespace, Editing, edited(fun wrong_whitespace/1)),
        mistake(wrong_word, Editing, edited(fun wrong_word/1)),
        mistake(several_places, Editing, edited(fun several_places/1)),
        mistake(wrong_argument_name, Every, first_read(fun wrong_argument/1, fun right_argument/2)),
        mistake(unknown_tool, Every, first_read(fun unknown_tool/1, fun known_tool/2)),
        mistake(absolute_path, Every, first_read(fun absolute/1, fun from_workspace/2)),
        mistake(missing_file, Every, first_read(fun misspelt/1, fun spelt/2)),
        mistake(relative_path, [microai], first_read(fun(World) -> read(World, ?PATH) end, fun nothing_to_mend/2)),
        mistake(number_as_text, [beamai, microai, coder], first_read(fun number_as_text/1, fun nothing_to_mend/2)),
        (mistake(stale_file, Editing, fun stale/2))#{task := <<"version">>},
        (mistake(huge_file, Every, fun huge/2))#{task := <<"large_file">>},
        (mistake(prose_around, Every, in_text(fun prose/1, fun nothing_to_mend/2)))#{calls := text},
        (mistake(comma_in_json, Every, in_text(fun comma/1, fun better_json/2)))#{calls := text},
        (mistake(json_never_closed, Every, in_text(fun unclosed/1, fun better_json/2)))#{calls := text}
    ].

mistake(Name, Dialects, Script) ->
    #{name => Name, task => <<"edit_line">>, dialects => Dialects, calls => native, script => Script}.

%% @doc How many turns the same model needs without its mistake.
-spec turns_without(mistake()) -> pos_integer().
turns_without(#{task := <<"large_file">>}) -> 2;
turns_without(#{}) -> 3.

%% @doc The model that makes a mistake in a dialect and a workspace.
-spec model(mistake(), beamai_eval_run:dialect(), Workspace :: binary()) -> beamai_chat:model().
model(#{calls := native, script := Script}, Dialect, Workspace) ->
    beamai_chat:new(scripted, #{turns => fun(#{messages := Messages, kernel := Kernel}) ->
        Tools = [Name || #{name := Name} <- beamai_kernel:list_tools(Kernel)],
        Told = [{outcome(Outcome), Text} || #{role := tool, outcome := Outcome, content := Text} <- Messages],
        turn(Script(Told, #{dialect => Dialect, workspace => Workspace, tools => Tools}))
    end});
model(#{calls := text, script := Script}, Dialect, Workspace) ->
    World = #{dialect => Dialect, workspace => Workspace, tools => []},
    beamai_chat:new(text, #{complete => fun(Prompt) -> {ok, iolist_to_binary(written(Script(told(Prompt), World)))} end}).

outcome(ok) -> ok;
outcome(_ErrorOrRefused) -> error.

turn({call, Tool, Args}) -> #{tool_calls => [{Tool, Args}]};
turn({say, Text}) -> Text.

written({call, Tool, Args}) -> ["<TOOL_CALL>\n", beamai_json:text(#{tool => Tool, args => Args}), "\n</TOOL_CALL>"];
written({_WriteOrSay, Text}) -> Text.

%% The results in a prompt of the text protocol. What the model is told of the format comes before what the user asks.
told(Prompt) ->
    [_Instructions, Conversation] = binary:split(Prompt, <<"\n\nUSER: ">>),
    [result(hd(binary:split(Part, <<"\n\nASSISTANT:">>))) || Part <- tl(binary:split(Conversation, <<"\n\nSYSTEM:\n">>, [global]))].

result(<<"TOOL_RESULT: ", Json/binary>>) ->
    case beamai_json:decode(Json) of
        {ok, #{<<"success">> := true, <<"data">> := Text}} when is_binary(Text) -> {ok, Text};
        {ok, #{<<"success">> := true, <<"data">> := Value}} -> {ok, beamai_json:text(Value)};
        {ok, #{<<"error">> := Why}} -> {error, Why}
    end;
result(Text) ->
    {error, Text}.

%%% Tools of the dialects

read(#{dialect := Dialect}, Path) ->
    {Tool, Key} = reader(Dialect),
    {call, Tool, #{Key => Path}}.

reader(beamai) -> {<<"file_read">>, <<"path">>};
reader(microai) -> {<<"Read">>, <<"file_path">>};
reader(coder) -> {<<"read">>, <<"path">>};
reader(ide) -> {<<"read_file">>, <<"path">>}.

edit(#{dialect := Dialect}, Path, Old, New) ->
    {Tool, Key} = case Dialect of
        beamai -> {<<"file_edit">>, <<"path">>};
        microai -> {<<"Edit">>, <<"file_path">>};
        coder -> {<<"edit">>, <<"path">>}
    end,
    {call, Tool, #{Key => Path, <<"old_string">> => Old, <<"new_string">> => New}}.

%% The right edit, by the line as it was read.
mended(#{dialect := ide}, Text) ->
    [Before, After] = binary:split(beamai_eval_reader:content(Text), <<(?DEF)/binary, "\t", (?WRONG)/binary>>),
    Whole = <<Before/binary, (?DEF)/binary, "\t", (?RIGHT)/binary, After/binary>>,
    {call, <<"write_file">>, #{<<"path">> => ?PATH, <<"content">> => <<(string:trim(Whole))/binary, "\n">>}};
mended(World, Text) ->
    case beamai_eval_reader:line_like(?WRONG, Text) of
        none -> ?GIVEN_UP;
        Line -> in_place(World, Line)
    end.

in_place(World, Line) ->
    New = binary:replace(Line, ?WRONG, ?RIGHT),
    edit(World, ?PATH, <<(?DEF)/binary, Line/binary>>, <<(?DEF)/binary, New/binary>>).

%%% Mistakes in an edit: read, edit wrongly, edit by what the error shows

edited(Mistake) ->
    fun([], World) -> read(World, ?PATH);
       ([{ok, _}], World) -> Mistake(World);
       ([{ok, Read}, {error, Why}], World) -> by_error(World, Read, Why);
       ([_, _, {ok, _}], _World) -> {say, <<"Done.">>};
       (_Otherwise, _World) -> ?GIVEN_UP
    end.

wrong_whitespace(World) ->
    edit(World, ?PATH, <<(?DEF)/binary, "    ", (?WRONG)/binary>>, <<(?DEF)/binary, "    ", (?RIGHT)/binary>>).

wrong_word(World) ->
    edit(World, ?PATH, <<(?DEF)/binary, "\treturn 2 * (height + width)">>, <<(?DEF)/binary, "\t", (?RIGHT)/binary>>).

several_places(World) ->
    edit(World, ?PATH, <<"\t", (?WRONG)/binary>>, <<"\t", (?RIGHT)/binary>>).

%% If the text is ambiguous, the whole line is taken from the content that was read; otherwise from the error message.
by_error(World, Read, Why) ->
    Found = case beamai_eval_reader:tells(["occurs", "times", "matches"], Why) of
        true -> beamai_eval_reader:line_like(?WRONG, Read);
        false -> beamai_eval_reader:line_after(<<"return 2 * (">>, Why)
    end,
    case Found of
        none -> ?GIVEN_UP;
        Line -> in_place(World, Line)
    end.

%%% Mistakes in the first call, which reads

first_read(Mistake, Mend) ->
    fun([], World) -> Mistake(World);
       ([{ok, Text}], World) -> mended(World, Text);
       ([{error, Why}], World) -> Mend(World, Why);
       ([{error, _}, {ok, Text}], World) -> mended(World, Text);
       (Results, _World) ->
           case lists:last(Results) of
               {ok, _} -> {say, <<"Done.">>};
               {error, _} -> ?GIVEN_UP
           end
    end.

nothing_to_mend(_World, _Why) -> ?GIVEN_UP.

wrong_argument(#{dialect := Dialect}) ->
    {Tool, _Key} = reader(Dialect),
    {call, Tool, #{<<"filename">> => ?PATH}}.

right_argument(#{dialect := Dialect}, Why) ->
    {Tool, _Key} = reader(Dialect),
    case beamai_eval_reader:first_named([<<"path">>, <<"file_path">>, <<"filePath">>, <<"file">>], Why) of
        none -> ?GIVEN_UP;
        Key -> {call, Tool, #{Key => ?PATH}}
    end.

unknown_tool(#{dialect := Dialect}) ->
    Name = case Dialect of
        beamai -> <<"read_file">>;
        microai -> <<"read_file">>;
        coder -> <<"Read">>;
        ide -> <<"file_read">>
    end,
    {call, Name, #{<<"path">> => ?PATH}}.

%% The name comes from the error; the arguments from the schema, which a model knows.
known_tool(#{dialect := Dialect, tools := Tools}, Why) ->
    {Reader, Key} = reader(Dialect),
    case beamai_eval_reader:first_named(Tools, Why) of
        Reader -> {call, Reader, #{Key => ?PATH}};
        _Other -> ?GIVEN_UP
    end.

absolute(World) -> read(World, <<"/repo/", ?PATH/binary>>).

from_workspace(#{workspace := Workspace} = World, Why) ->
    case {binary:match(Why, Workspace), beamai_eval_reader:tells(["relative", "from the workspace"], Why)} of
        {nomatch, false} -> ?GIVEN_UP;
        {nomatch, true} -> read(World, ?PATH);
        {_Named, _} -> read(World, <<Workspace/binary, "/", ?PATH/binary>>)
    end.

misspelt(World) -> read(World, <<"src/areas.py">>).

spelt(World, Why) ->
    case beamai_eval_reader:first_named([?PATH], Why) of
        none -> ?GIVEN_UP;
        Path -> read(World, Path)
    end.

number_as_text(World) ->
    {call, Tool, Args} = read(World, ?PATH),
    {call, Tool, Args#{<<"limit">> => <<"20">>, <<"offset">> => <<>>}}.

%%% Mistakes in a call of the text protocol

in_text(Mistake, Mend) ->
    first_read(fun(World) -> {write, Mistake(written(read(World, ?PATH)))} end, Mend).

prose(Call) -> iolist_to_binary(["I look at the file first, and then I mend it.\n", Call, "\nAfter that I shall be done."]).

comma(Call) -> replaced_end(Call, <<",}">>).

unclosed(Call) -> replaced_end(Call, <<>>).

replaced_end(Call, End) ->
    binary:replace(iolist_to_binary(Call), <<"}\n</TOOL_CALL>">>, <<End/binary, "\n</TOOL_CALL>">>).

better_json(World, Why) ->
    case beamai_eval_reader:tells(["json"], Why) of
        true -> read(World, ?PATH);
        false -> ?GIVEN_UP
    end.

%%% A file that somebody changes in the meantime

-define(SETTINGS, <<"settings.ini">>).

stale([], World) ->
    read(World, ?SETTINGS);
stale([_Read], #{workspace := Workspace} = World) ->
    Others = <<"[app]\nname = shop\nversion = 2\nport = 8080\nowner = ada\n">>,
    ok = file:write_file(filename:join(Workspace, ?SETTINGS), Others),
    ok = file:write_file(filename:join(Workspace, ".written"), <<>>),
    edit(World, ?SETTINGS, <<"version = 1">>, <<"version = 3">>);
stale(Results, World) ->
    {Outcome, Text} = lists:last(Results),
    case {Outcome, beamai_eval_reader:line_after(<<"version =">>, Text)} of
        {error, none} when length(Results) =:= 2 -> again(World, Text);
        {error, none} -> ?GIVEN_UP;
        {error, Line} -> edit(World, ?SETTINGS, Line, <<"version = 3">>);
        {ok, <<"version = 2">>} -> edit(World, ?SETTINGS, <<"version = 2">>, <<"version = 3">>);
        {ok, _Edited} -> {say, <<"Done.">>}
    end.

again(World, Text) ->
    case beamai_eval_reader:tells(["read"], Text) of
        true -> read(World, ?SETTINGS);
        false -> ?GIVEN_UP
    end.

%%% A file that is too large to be read at once

huge([], World) ->
    read(World, <<"events.log">>);
huge(Results, World) ->
    {Outcome, Text} = lists:last(Results),
    case {Outcome, beamai_eval_reader:line_after(<<"event 45000 ">>, Text)} of
        {ok, Line} when is_binary(Line) -> {say, Line};
        {_, none} when length(Results) =:= 1 -> continued(World, Text);
        _ -> ?GIVEN_UP
    end.

%% By line where the text says how, else by searching.
continued(#{dialect := Dialect} = World, Text) ->
    {call, Tool, Args} = read(World, <<"events.log">>),
    case {beamai_eval_reader:tells(["offset"], Text), Dialect} of
        {true, _} -> {call, Tool, Args#{<<"offset">> => 45000, <<"limit">> => 1}};
        {false, ide} -> {call, <<"search_code">>, #{<<"query">> => <<"event 45000 ">>}};
        {false, _} -> ?GIVEN_UP
    end.
