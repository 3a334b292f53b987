%% @doc Google's Gemini API: `generateContent' and `streamGenerateContent'.
%%
%% Options: {@link beamai_chat_options:http()}. Default: `base_url' is
%% `https://generativelanguage.googleapis.com/v1beta'. Other parameters, such as `#{<<"safetySettings">> => [...]}', go
%% into `params'. Thought signatures are sent back unchanged.
%% @hidden
-module(beamai_chat_gemini).
-behaviour(beamai_chat_wire).

-export([defaults/0, url/1, headers/2, tools/2, body/3, whole/1, begin_stream/0, event/2, end_stream/1]).

-import(beamai_chat_http, [count/3, counts/1, text/2]).
-import(beamai_chat_reply, [joined/1]).

-record(stream, {
    %% Last first.
    parts = [] :: [map()],
    finish = none :: none | binary(),
    usage = #{} :: map()
}).

-define(REFUSALS, [
    <<"SAFETY">>, <<"RECITATION">>, <<"BLOCKLIST">>, <<"PROHIBITED_CONTENT">>, <<"SPII">>, <<"IMAGE_SAFETY">>, <<"LANGUAGE">>
]).

%%% The options

%% @private
-spec defaults() -> map().
defaults() ->
    #{base_url => <<"https://generativelanguage.googleapis.com/v1beta">>}.

%%% The request

%% @private
-spec url(map()) -> binary().
url(#{base_url := Base, model := Model, stream := Stream}) ->
    Path = <<"/models/", (uri_string:quote(Model))/binary, ":", (method(Stream))/binary>>,
    asking(Stream, beamai_chat_http:url(Base, Path)).

method(true) -> <<"streamGenerateContent">>;
method(false) -> <<"generateContent">>.

asking(false, Url) -> Url;
asking(true, Url) ->
    case binary:match(Url, <<"?">>) of
        nomatch -> <<Url/binary, "?alt=sse">>;
        _ -> <<Url/binary, "&alt=sse">>
    end.

%% @private
-spec headers(map(), binary() | none) -> [{string(), string()}].
headers(_Options, none) -> [];
headers(_Options, Key) -> [{"x-goog-api-key", binary_to_list(Key)}].

%% @private
-spec body(map(), beamai_chat_model:request(), Tools :: #{binary() => term()}) -> #{binary() => term()}.
body(#{params := Params} = Options, #{messages := Messages} = Request, Tools) ->
    Body = #{<<"contents">> => contents(Messages, Options)},
    Rest = [system(Request), Tools, limits(Options), beamai_chat_controls:gemini(Request), Params],
    lists:foldl(fun(More, Acc) -> beamai_chat_controls:merged(Acc, More) end, Body, Rest).

system(#{system := <<>>}) -> #{};
system(#{system := Text}) -> #{<<"systemInstruction">> => #{<<"parts">> => [text_part(Text)]}}.

%% @private
-spec tools(map(), beamai_kernel:kernel()) -> #{binary() => term()}.
tools(#{strict := Strict}, Kernel) ->
    case beamai_tool_schema:requests(beamai_kernel:get_tool_specs(Kernel), gemini, #{strict => Strict}) of
        [] -> #{};
        Schemas -> #{<<"tools">> => [#{<<"functionDeclarations">> => Schemas}]}
    end.

limits(Options) ->
    Names = [{max_tokens, <<"maxOutputTokens">>}, {temperature, <<"temperature">>}],
    case maps:from_list([{Name, maps:get(Key, Options)} || {Key, Name} <- Names, is_map_key(Key, Options)]) of
        None when map_size(None) =:= 0 -> #{};
        Config -> #{<<"generationConfig">> => Config}
    end.

%% Roles must alternate: tool results have the role of the user, followed by the user's next text.
contents(Messages, Options) ->
    Known = [Id || #{raw := {gemini, Parts}} <- Messages, #{<<"functionCall">> := #{<<"id">> := Id}} <- Parts],
    Said = [message(Message, Known, Options) || Message <- Messages],
    lists:foldr(fun joined/2, [], [Message || {_Role, [_ | _]} = Message <- Said]).

joined({Role, Parts}, [#{<<"role">> := Role, <<"parts">> := After} | Rest]) ->
    [#{<<"role">> => Role, <<"parts">> => Parts ++ After} | Rest];
joined({Role, Parts}, Rest) ->
    [#{<<"role">> => Role, <<"parts">> => Parts} | Rest].

message(#{role := user, content := Text} = Message, _Known, Options) ->
    Files = beamai_attachments:gemini(maps:get(attachments, Message, []), Options),
    {<<"user">>, Files ++ [text_part(Text) || Text =/= <<>> orelse Files =:= []]};
message(#{role := assistant, raw := {gemini, Parts}}, _Known, _Options) ->
    {<<"model">>, Parts};
message(#{role := assistant, content := Text} = Message, _Known, _Options) ->
    {<<"model">>, [text_part(Text) || Text =/= <<>>] ++ [call_part(Call) || Call <- maps:get(tool_calls, Message, [])]};
message(#{role := tool, call := Id, name := Name} = Message, Known, Options) ->
    %% An id is sent back only if it came from the server.
    Response = maps:from_list(
        [{<<"id">>, Id} || lists:member(Id, Known)] ++ [{<<"name">>, name(Name)}, {<<"response">>, response(Message)}]
    ),
    {<<"user">>, [#{<<"functionResponse">> => Response} | images(Message, Options)]}.

text_part(Text) -> #{<<"text">> => Text}.

call_part(#{name := Name, args := Args}) ->
    #{<<"functionCall">> => #{<<"name">> => name(Name), <<"args">> => Args}}.

%% The name must be sent back as declared, including dots.
name(Name) ->
    case re:run(Name, "^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$", [dollar_endonly, {capture, none}]) of
        match -> Name;
        nomatch -> beamai_chat_http:accepted(<<"_", Name/binary>>, 64)
    end.

response(#{outcome := ok, content := Text}) -> #{<<"output">> => Text};
response(#{content := Text}) -> #{<<"error">> => Text}.

images(#{images := Images}, #{images := true}) ->
    [#{<<"inlineData">> => #{<<"mimeType">> => Type, <<"data">> => Data}} || #{media_type := Type, data := Data} <- Images];
images(_Message, _Options) ->
    [].

%%% The answer

%% @private
-spec whole(beamai_chat_wire:event()) ->
    {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
whole(Answer) ->
    case event(Answer, begin_stream()) of
        {ok, State, _Said} -> with_reasoning(parts_said(State), end_stream(State));
        {error, _} = Error -> Error
    end.

parts_said(#stream{parts = Parts}) -> lists:reverse(Parts).

with_reasoning(Parts, {ok, Reply}) ->
    {ok, Reply#{reasoning => joined([Text || #{<<"thought">> := true, <<"text">> := Text} <- Parts])}};
with_reasoning(_Parts, {error, _} = Error) ->
    Error.

%% @private
-spec begin_stream() -> #stream{}.
begin_stream() -> #stream{}.

%% @private
-spec event(beamai_chat_wire:event(), #stream{}) ->
    {ok, #stream{}, [beamai_chat_wire:said()]} | {error, beamai_chat_model:error()}.
event(#{<<"error">> := Error}, _State) ->
    {error, said(Error)};
event(#{<<"candidates">> := [Candidate | _]} = Event, State) ->
    Parts = parts(Candidate),
    After = State#stream{parts = lists:reverse(Parts, State#stream.parts)},
    {ok, finished(Candidate, counted(Event, After)), lists:flatmap(fun told/1, Parts)};
event(#{<<"promptFeedback">> := #{<<"blockReason">> := _}} = Event, State) ->
    {ok, counted(Event, State#stream{finish = <<"PROHIBITED_CONTENT">>}), []};
event(Event, State) ->
    {ok, counted(Event, State), []}.

%% A candidate without content has only the reason why it ended.
parts(#{<<"content">> := #{<<"parts">> := Parts}}) when Parts =/= null -> [#{} = Part || Part <- Parts];
parts(#{<<"content">> := #{}}) -> [];
parts(#{} = Candidate) ->
    null = maps:get(<<"content">>, Candidate, null),
    [].

told(#{<<"thought">> := true, <<"text">> := Text}) -> [{reasoning, Text}];
told(#{<<"text">> := Text}) when Text =/= <<>> -> [{text, Text}];
told(_Part) -> [].

finished(#{<<"finishReason">> := Finish}, State) when is_binary(Finish) -> State#stream{finish = Finish};
finished(_Candidate, State) -> State.

counted(#{<<"usageMetadata">> := #{} = Usage}, #stream{usage = Known} = State) ->
    State#stream{usage = beamai_chat_http:later(Usage, Known)};
counted(_Event, State) ->
    State.

%% @private
-spec end_stream(#stream{}) -> {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
end_stream(#stream{finish = none}) ->
    beamai_chat_http:broke_off();
end_stream(#stream{parts = Reversed, finish = Finish, usage = Usage}) ->
    Parts = joined_texts(identified([Part || Part <- lists:reverse(Reversed), maps:get(<<"thought">>, Part, false) =/= true])),
    Message = #{
        role => assistant,
        content => joined([Text || #{<<"text">> := Text} <- Parts]),
        tool_calls => beamai_chat_http:cut_off(Finish =:= <<"MAX_TOKENS">>, [made(Part) || #{<<"functionCall">> := _} = Part <- Parts])
    },
    {ok, beamai_chat_model:reply(with_raw([sent(Part) || Part <- Parts], Message), with_stop(Finish, #{usage => usage(Usage)}))}.

%% Joins chunks of text; a part with a signature stays on its own.
joined_texts([#{<<"text">> := One} = First, #{<<"text">> := Two} = Second | Rest]) when map_size(First) =:= 1, map_size(Second) =:= 1 ->
    joined_texts([#{<<"text">> => <<One/binary, Two/binary>>} | Rest]);
joined_texts([Part | Rest]) ->
    [Part | joined_texts(Rest)];
joined_texts([]) ->
    [].

%% Results are matched to calls by id, which the server may omit. An id that was replaced is not sent back, as the server
%% does not know the new one.
identified(Parts) ->
    Ids = beamai_chat_reply:ids([maps:get(<<"id">>, Call, none) || #{<<"functionCall">> := #{} = Call} <- Parts]),
    {Identified, []} = lists:mapfoldl(fun identified/2, Ids, Parts),
    Identified.

identified(#{<<"functionCall">> := #{<<"id">> := Id}} = Part, [Id | Ids]) -> {Part#{own_id => Id}, Ids};
identified(#{<<"functionCall">> := #{} = Call} = Part, [Id | Ids]) ->
    {Part#{<<"functionCall">> := maps:remove(<<"id">>, Call), own_id => Id}, Ids};
identified(Part, Ids) -> {Part, Ids}.

sent(Part) -> maps:remove(own_id, Part).

made(#{<<"functionCall">> := #{<<"name">> := Name} = Call, own_id := Id}) ->
    case maps:get(<<"args">>, Call, #{}) of
        #{} = Args -> #{id => Id, name => Name, args => Args};
        null -> #{id => Id, name => Name, args => #{}};
        _ -> #{id => Id, name => Name, args => #{}, invalid => <<"the arguments are no JSON object">>}
    end.

%% Parts in the provider's own format must be sent back unchanged: signatures and call ids.
with_raw(Parts, Message) ->
    case lists:all(fun(Part) -> maps:keys(Part) =:= [<<"text">>] end, Parts) of
        true -> Message;
        false -> Message#{raw => {gemini, Parts}}
    end.

with_stop(<<"MAX_TOKENS">>, Rest) -> Rest#{stop => max_tokens};
with_stop(<<"STOP">>, Rest) -> Rest;
with_stop(Finish, Rest) ->
    case lists:member(Finish, ?REFUSALS) of
        true -> Rest#{stop => refusal};
        false -> Rest#{stop => Finish}
    end.

%% Thinking tokens are counted separately.
usage(Usage) ->
    counts([
        {input_tokens, count(<<"promptTokenCount">>, Usage, unknown)},
        {output_tokens, output(count(<<"candidatesTokenCount">>, Usage, unknown), count(<<"thoughtsTokenCount">>, Usage, 0))},
        {cached_tokens, count(<<"cachedContentTokenCount">>, Usage, unknown)}
    ]).

output(unknown, 0) -> unknown;
output(unknown, Thoughts) -> Thoughts;
output(Said, Thoughts) -> Said + Thoughts.

said(#{} = Error) ->
    Message = case text(<<"message">>, Error) of <<>> -> <<"the server reported an error without a message">>; Said -> Said end,
    #{reason => reason(text(<<"status">>, Error), Message), message => Message};
said(_Other) ->
    #{reason => failed, message => <<"the server reported an error without a message">>}.

reason(<<"RESOURCE_EXHAUSTED">>, _Message) -> rate_limited;
reason(Status, _Message) when Status =:= <<"UNAVAILABLE">>; Status =:= <<"INTERNAL">>; Status =:= <<"DEADLINE_EXCEEDED">> -> overloaded;
reason(Status, _Message) when Status =:= <<"UNAUTHENTICATED">>; Status =:= <<"PERMISSION_DENIED">> -> authentication;
reason(_Status, Message) ->
    case beamai_chat_overflow:is_overflow([Message]) of
        true -> context_overflow;
        false -> invalid_request
    end.
