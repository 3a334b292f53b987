%% @doc Uses a function from text to text as a chat model, with tool calls in the text protocol of {@link
%% beamai_protocol}.
%%
%% For models without function calling, or without an API. Every request contains the whole conversation as one prompt.
%% @hidden
-module(beamai_chat_text).
-behaviour(beamai_chat_model).

-export([new/1, complete/2, instructions/1, prompt/1]).
-export_type([options/0]).

-define(DEFAULT_TIMEOUT_MS, 600000).

-type options() :: #{
    %% Runs in a process of its own, which ends with the caller. The second form passes chunks of the answer to `Show',
    %% and also returns the whole text.
    complete :=
        fun((Prompt :: binary()) -> {ok, Text :: binary()} | {error, term()})
        | fun((Prompt :: binary(), Show :: fun((Piece :: binary()) -> ok)) -> {ok, Text :: binary()} | {error, term()}),
    %% Whether calls in a Markdown code fence are run if the fence ends the answer; true by default.
    fenced => boolean(),
    %% As in {@link beamai_protocol}: the formats of calls, and whether almost valid JSON is repaired.
    formats => [beamai_protocol:format()],
    repair => boolean(),
    %% Timeout of an answer in milliseconds; ten minutes by default.
    timeout => timeout()
}.

%% @doc Validates the options; raises `{bad_option, Key}'.
-spec new(options()) -> options().
new(#{complete := Fun} = Options) when is_function(Fun, 1); is_function(Fun, 2) ->
    case maps:keys(maps:without([complete, timeout, fenced, formats, repair], Options)) of
        [] -> maps:map(fun option/2, maps:merge(#{timeout => ?DEFAULT_TIMEOUT_MS, fenced => true}, Options));
        [Unknown | _] -> beamai_validate:unknown_option(Unknown, [complete, timeout, fenced, formats, repair])
    end;
new(_Options) ->
    beamai_validate:bad_option(complete, ["must be a function from a prompt to ", returned()]).

option(timeout, Timeout) -> timeout(Timeout);
option(Key, Flag) when Key =:= fenced orelse Key =:= repair, is_boolean(Flag) -> Flag;
option(formats, [_ | _] = Formats) ->
    Formats -- [tag, yaml, function, xml] =:= [] orelse beamai_validate:bad_option(formats, ["must be a list of ", beamai_syntax:atoms([tag, yaml, function, xml]), ", each once, not ", beamai_validate:show(Formats)]),
    Formats;
option(complete, Fun) -> Fun;
option(formats, Other) -> beamai_validate:bad_option(formats, ["must be a list of ", beamai_syntax:atoms([tag, yaml, function, xml]), ", not ", beamai_validate:show(Other)]);
option(Key, Value) -> beamai_validate:bad_option(Key, ["must be true or false, not ", beamai_validate:show(Value)]).

timeout(infinity) -> infinity;
timeout(Ms) when is_integer(Ms), Ms > 0 -> Ms;
timeout(_Other) -> beamai_validate:bad_option(timeout, ["must be milliseconds above 0, or ", beamai_syntax:atom(infinity)]).

%% @doc Explains how to call the kernel's tools, see {@link beamai_protocol:system_prompt/1}; empty without tools.
-spec instructions(beamai_kernel:kernel()) -> binary().
instructions(Kernel) ->
    case beamai_kernel:list_tools(Kernel) of
        [] -> <<>>;
        _ -> beamai_protocol:system_prompt(Kernel)
    end.

%% @doc Calls the function.
-spec complete(options(), beamai_chat_model:request()) ->
    {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
complete(#{complete := Fun, timeout := Timeout} = Options, #{kernel := Kernel, run := Run} = Request) ->
    Prompt = prompt(asking(Request)),
    Handler = fun(_Args, Context) -> called(Fun, Prompt, Context) end,
    Tool = {<<"the model">>, Handler},
    {Context, IsShown} = showing(Fun, Options, Request),
    case beamai_call:run(Kernel, Tool, #{}, Context, in_time(Timeout, Request), Run) of
        {ok, Text, _Context} when is_binary(Text) -> answer(beamai_error:readable(Text), IsShown, Options, Request);
        {ok, {?MODULE, Other}, _Context} -> failed(["the function in complete returned ", beamai_error:show(Other, 100), "; it returns ", returned()]);
        {error, Reason} -> {error, problem(Reason)}
    end.

called(Fun, Prompt, Context) ->
    case answered(Fun, Prompt, Context) of
        {ok, Text} = Answer when is_binary(Text) -> Answer;
        {error, _} = Error -> Error;
        Other -> {ok, {?MODULE, Other}}
    end.

answered(Fun, Prompt, _Context) when is_function(Fun, 1) -> Fun(Prompt);
answered(Fun, Prompt, Context) -> Fun(Prompt, fun(Piece) -> beamai_callback:progress(#{piece => Piece}, Context) end).

returned() -> beamai_syntax:either("{ok, Text}, with a binary, or {error, Reason}", "{:ok, text} or {:error, reason}").

%% Chunks are sent to the calling process like progress.
showing(Fun, _Options, #{context := Context}) when is_function(Fun, 1) ->
    {Context, fun() -> <<>> end};
showing(_Fun, Options, #{context := Context, kernel := Kernel, emit := Emit}) ->
    Key = {?MODULE, make_ref()},
    _ = put(Key, {protocol_stream(Kernel, Options), beamai_text_answer:begin_stream(Options), []}),
    Show = fun(#{piece := Piece}) -> shown(Key, Piece, Emit) end,
    {Context#{progress => Show}, fun() -> iolist_to_binary(lists:reverse(element(3, erase(Key)))) end}.

protocol_stream(Kernel, Options) ->
    case beamai_kernel:list_tools(Kernel) of
        [] -> none;
        _ -> beamai_protocol:stream_new(Kernel, maps:with([formats, repair, fenced], Options))
    end.

shown(Key, Piece, Emit) ->
    {Protocol, Stream, Before} = get(Key),
    {Pieces, Next} = fed(Protocol, Piece),
    {Text, After} = beamai_text_answer:feed(Pieces, Stream),
    Text =/= <<>> andalso Emit({text, Text}),
    _ = put(Key, {Next, After, [Text | Before]}),
    ok.

fed(none, Piece) -> {[{text, iolist_to_binary(Piece)}], none};
fed(Protocol, Piece) -> beamai_protocol:stream_feed(Protocol, Piece).

%% The request's controls, which other providers take as parameters.
asking(#{system := System} = Request) ->
    Request#{system := iolist_to_binary(lists:join("\n\n", [Part || Part <- [System, choice(Request)], Part =/= <<>>]))}.

choice(#{tool_choice := none}) -> <<"Answer without calling a tool.">>;
choice(#{tool_choice := required}) -> <<"Your next answer must call a tool.">>;
choice(#{tool_choice := {tool, Name}}) -> <<"Your next answer must call the tool ", Name/binary, ".">>;
choice(_Request) -> <<>>.

in_time(Timeout, #{until := infinity}) ->
    Timeout;
in_time(Timeout, #{until := Until}) ->
    min(Timeout, max(0, Until - erlang:monotonic_time(millisecond))).

problem(#{details := #{reason := cancelled}, message := Message}) -> #{reason => cancelled, message => Message};
problem(#{error_type := timeout, message := Message}) -> #{reason => timeout, message => Message};
problem(#{error_type := _, message := Message}) -> #{reason => failed, message => Message};
problem(Reason) ->
    Shown = unicode:characters_to_binary(beamai_error:show(Reason, 300)),
    #{reason => failed, message => <<"the function failed: ", Shown/binary>>}.

failed(Text) ->
    {error, #{reason => failed, message => unicode:characters_to_binary(Text)}}.

%%% The answer

answer(Whole, IsShown, Options, #{emit := Emit, messages := Messages} = Request) ->
    {Text, Parts} = parts(stopped(Whole, maps:get(stop_sequences, Request, [])), Options, Request),
    Content = string:trim(iolist_to_binary([T || {text, T} <- Parts])),
    Left = left(Content, string:trim(IsShown(), leading)),
    Left =/= <<>> andalso Emit({text, Left}),
    Said = length([ok || #{role := assistant} <- Messages]),
    Calls = calls(Said, 1, [Part || Part <- Parts, element(1, Part) =/= text]),
    Message = #{role => assistant, content => Content, tool_calls => Calls, raw => {text, Text}},
    {ok, beamai_chat_model:reply(Message, #{})}.

%% What has not been shown as it came.
left(Content, Shown) ->
    case string:prefix(Content, Shown) of
        nomatch -> <<>>;
        Rest -> Rest
    end.

stopped(Text, []) -> Text;
stopped(Text, Sequences) ->
    case binary:match(Text, Sequences) of
        {Start, _} -> binary:part(Text, 0, Start);
        nomatch -> Text
    end.

%% The answer as it counts, and its texts and calls.
parts(Text, Options, #{kernel := Kernel} = Request) ->
    case beamai_kernel:list_tools(Kernel) of
        [] -> {Text, [{text, Text}]};
        _ -> allowed(maps:get(tool_choice, Request, auto), beamai_text_answer:answer(Text, Kernel, Options))
    end.

allowed(none, {Own, _Parts}) -> {Own, [{text, Own}]};
allowed(_Choice, Answer) -> Answer.

%% Where a call is not valid, what follows may have been meant as its content, so none of it is run.
calls(_Said, _Number, []) ->
    [];
calls(Said, Number, [{tool_call, #{tool := Name, args := Args}} | Rest]) ->
    [#{id => id(Said, Number), name => Name, args => Args} | calls(Said, Number + 1, Rest)];
calls(Said, Number, [{invalid, Message, _Raw} | Rest]) ->
    Why = case Rest of
        [] -> Message;
        _ -> <<Message/binary, " (the calls after it were not run)">>
    end,
    [#{id => id(Said, Number), name => <<"tool_call">>, args => #{}, invalid => Why}].

%% Another provider, which takes the conversation up, wants them to be different.
id(Said, Number) -> iolist_to_binary(io_lib:format("call_~b_~b", [Said + 1, Number])).

%%% The prompt

%% @doc The conversation as one text, ending where the model continues.
-spec prompt(#{system := binary(), messages := [beamai_chat_model:message()], _ => _}) -> binary().
prompt(#{system := System, messages := Messages}) ->
    Parts = [System || System =/= <<>>] ++ [message(Message) || Message <- Messages] ++ [<<"ASSISTANT:">>],
    iolist_to_binary(lists:join("\n\n", Parts)).

message(#{role := user, content := Text} = Message) ->
    ["USER: ", lists:join("\n\n", beamai_attachments:plain(Message) ++ [Text])];
message(#{role := assistant, raw := {text, Text}}) -> ["ASSISTANT:\n", Text];
message(#{role := assistant, content := Text} = Message) ->
    ["ASSISTANT:\n", lists:join("\n", [Text | [written(Call) || Call <- maps:get(tool_calls, Message, [])]])];
message(#{role := tool} = Message) -> ["SYSTEM:\n", result(Message)].

%% Formats a call that another model made.
written(#{name := Name, args := Args}) ->
    ["<TOOL_CALL>\n", beamai_json:text(#{tool => Name, args => Args}), "\n</TOOL_CALL>"].

result(#{outcome := ok, object := Object}) -> beamai_protocol:format_result({ok, Object});
result(#{outcome := ok, content := Content}) -> beamai_protocol:format_result({ok, Content});
result(#{outcome := error, content := Content}) -> beamai_protocol:format_result({error, Content});
result(#{outcome := refused, content := Content}) -> beamai_protocol:format_error(Content).
