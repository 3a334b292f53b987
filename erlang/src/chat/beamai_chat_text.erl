%% @doc A function from text to text as a chat model: it calls tools in the text protocol of {@link beamai_protocol}.
%%
%% For models that are reached through a browser, or have no function calling. The whole conversation is one prompt
%% each time.
-module(beamai_chat_text).
-behaviour(beamai_chat_model).

-export([new/1, complete/2, instructions/1, prompt/1]).
-export_type([options/0]).

-define(DEFAULT_TIMEOUT_MS, 600000).

-type options() :: #{
    %% Runs in a process of its own, which ends with the caller.
    complete := fun((Prompt :: binary()) -> {ok, Text :: binary()} | {error, term()}),
    %% Milliseconds for an answer; ten minutes by default.
    timeout => timeout()
}.

%% @doc Checks the options; raises `{bad_option, Key}'.
-spec new(options()) -> options().
new(#{complete := Fun} = Options) when is_function(Fun, 1) ->
    case maps:keys(maps:without([complete, timeout], Options)) of
        [] -> Options#{timeout => timeout(maps:get(timeout, Options, ?DEFAULT_TIMEOUT_MS))};
        [Unknown | _] -> beamai_options:bad(Unknown, "is not an option of a text model")
    end;
new(_Options) ->
    beamai_options:bad(complete, "must be a fun from a prompt to {ok, Text} or {error, Reason}").

timeout(infinity) -> infinity;
timeout(Ms) when is_integer(Ms), Ms > 0 -> Ms;
timeout(_Other) -> beamai_options:bad(timeout, "must be milliseconds above 0, or infinity").

%% @doc How to call the kernel's tools, as {@link beamai_protocol:system_prompt/1} says it; nothing without tools.
-spec instructions(beamai_kernel:kernel()) -> binary().
instructions(Kernel) ->
    case beamai_kernel:list_tools(Kernel) of
        [] -> <<>>;
        _ -> beamai_protocol:system_prompt(Kernel)
    end.

%% @doc Has the function answer.
-spec complete(options(), beamai_chat_model:request()) ->
    {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
complete(#{complete := Fun, timeout := Timeout}, #{kernel := Kernel, run := Run} = Request) ->
    Prompt = prompt(Request),
    Handler = fun(_Args, _Context) -> Fun(Prompt) end,
    Context = maps:get(context, Request),
    Tool = {<<"the model">>, Handler},
    case beamai_call:run(Kernel, Tool, #{}, Context, in_time(Timeout, Request), Run) of
        {ok, Text, _Context} when is_binary(Text) -> answer(beamai_error:readable(Text), Request);
        {ok, Other, _Context} -> failed(["the function returned ", beamai_error:show({ok, Other}, 100)]);
        {error, Reason} -> {error, problem(Reason)}
    end.

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

answer(Text, #{kernel := Kernel, emit := Emit, messages := Messages}) ->
    Parts = parts(Text, Kernel),
    Content = string:trim(iolist_to_binary([T || {text, T} <- Parts])),
    Content =/= <<>> andalso Emit({text, Content}),
    Said = length([ok || #{role := assistant} <- Messages]),
    Calls = calls(Said, 1, [Part || Part <- Parts, element(1, Part) =/= text]),
    Message = #{role => assistant, content => Content, tool_calls => Calls, raw => {text, Text}},
    {ok, beamai_chat:reply(Message, #{})}.

parts(Text, Kernel) ->
    case beamai_kernel:list_tools(Kernel) of
        [] -> [{text, Text}];
        _ -> beamai_protocol:parse_all(Text, Kernel)
    end.

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

%% @doc A conversation as one text, ending where the model is to go on.
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

%% A call that another model made.
written(#{name := Name, args := Args}) ->
    ["<TOOL_CALL>\n", beamai_json:text(#{tool => Name, args => Args}), "\n</TOOL_CALL>"].

result(#{outcome := ok, content := Content}) ->
    case beamai_json:decode(Content) of
        {ok, Value} -> beamai_protocol:format_result({ok, Value});
        {error, _} -> beamai_protocol:format_result({ok, Content})
    end;
result(#{outcome := error, content := Content}) -> beamai_protocol:format_result({error, message_of(Content)});
result(#{outcome := refused, content := Content}) -> beamai_protocol:format_error(Content).

message_of(Content) ->
    case beamai_json:decode(Content) of
        {ok, #{<<"message">> := Message}} when is_binary(Message) -> Message;
        {ok, Message} when is_binary(Message) -> Message;
        _ -> Content
    end.
