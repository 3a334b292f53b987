%% @doc The input of a run, and the parts of its system prompt.
%% @hidden
-module(beamai_agent_input).

-export([message/1, system_prompt/1, told/2]).
-export_type([input/0, prompt/0, told/0]).

%% `files' are images and other files, placed before the text.
-type input() :: unicode:chardata() | #{text := unicode:chardata(), files => [beamai_attachments:file()]}.
%% Several parts become paragraphs. A file is read when the agent is created.
-type prompt() :: binary() | [binary() | {file, file:name_all()}].
%% What the system prompt tells the model of its environment.
-type told() :: [workspace | date].

%% Maximum size of a file in the system prompt.
-define(MAX_PROMPT_BYTES, 262144).

%% @doc Converts the input to a message. Raises `{bad_text, Input}' if it is not valid Unicode text, and `{bad_file,
%% File}' for a file that cannot be sent.
-spec message(input()) -> beamai_chat_model:message().
message(#{text := Text} = Input) ->
    [beamai_validate:raise({bad_input, Key}, ["an input has text and files, not ", beamai_validate:show(Key)]) || Key <- maps:keys(maps:without([text, files], Input))],
    Files = maps:get(files, Input, []),
    beamai_validate:list(Files, bad_files, "files"),
    case [file(File) || File <- Files] of
        [] -> message(Text);
        Attachments -> (message(Text))#{attachments => Attachments}
    end;
message(Input) when is_map(Input) ->
    bad_input(Input);
message(Input) ->
    #{role => user, content => text(Input)}.

file(File) ->
    case beamai_attachments:read(File) of
        {ok, Attachment} -> Attachment;
        {error, Why} -> beamai_validate:raise({bad_file, shown(File)}, Why)
    end.

shown(#{data := _} = File) -> maps:remove(data, File);
shown(File) -> File.

%% Invalid text could never be sent as part of a conversation.
text(Input) ->
    try unicode:characters_to_binary(Input) of
        Text when is_binary(Text) -> Text;
        _ -> bad_input(Input)
    catch
        error:badarg -> bad_input(Input)
    end.

-spec bad_input(term()) -> no_return().
bad_input(Input) ->
    beamai_validate:raise({bad_text, Input}, ["an input is a text in UTF-8, or a map with text and files, not ", beamai_validate:show(Input)]).

%% @doc The host's system prompt as one text. Raises `{bad_option, system_prompt}'.
-spec system_prompt(prompt()) -> binary().
system_prompt(Text) when is_binary(Text) -> part(Text);
system_prompt(Parts) when length(Parts) >= 0 -> iolist_to_binary(lists:join("\n\n", [part(Part) || Part <- Parts]));
system_prompt(Other) -> bad(["must be a ", beamai_syntax:text(), ", or a list of these and ", file_path(), ", not ", beamai_validate:show(Other)]).

part({file, Path}) ->
    case filelib:file_size(Path) =< ?MAX_PROMPT_BYTES andalso file:read_file(Path) of
        {ok, Text} -> of_file(Path, Text);
        false -> bad([beamai_error:show(Path, 200), " is larger than 256 KiB"]);
        {error, Reason} -> bad([beamai_error:show(Path, 200), ": ", file:format_error(Reason)])
    end;
part(Text) when is_binary(Text) ->
    beamai_conversation:is_text(Text) orelse bad("must be UTF-8"),
    Text;
part(Other) ->
    bad(["has a part that is neither a ", beamai_syntax:text(), " nor ", file_path(), ": ", beamai_validate:show(Other)]).

of_file(Path, Text) ->
    beamai_conversation:is_text(Text) orelse bad([beamai_error:show(Path, 200), " must be UTF-8"]),
    iolist_to_binary(string:trim(Text, trailing)).

file_path() -> beamai_syntax:either("{file, Path}", "{:file, path}").

-spec bad(iodata()) -> no_return().
bad(Text) -> beamai_validate:bad_option(system_prompt, Text).

%% @doc The part of the system prompt about workspace and date. It changes only once a day, so that providers can cache
%% the prompt.
-spec told(told(), beamai_kernel:kernel()) -> binary().
told(What, #{workspace := #{<<"path">> := Path}}) ->
    Lines = [["The tools work in the directory ", Path, "; paths are relative to it."] || lists:member(workspace, What)] ++
        [["Today is ", today(), "."] || lists:member(date, What)],
    iolist_to_binary(lists:join("\n", Lines)).

today() ->
    {Date, _Time} = calendar:local_time(),
    {Year, Month, Day} = Date,
    Name = element(calendar:day_of_the_week(Date), {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}),
    io_lib:format("~s, ~4..0b-~2..0b-~2..0b", [Name, Year, Month, Day]).
