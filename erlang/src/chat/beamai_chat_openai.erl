%% @doc The chat completions API of OpenAI and compatible servers.
%%
%% Options: {@link beamai_chat_options:http()}. Default: `base_url' is `https://api.openai.com/v1'; `api_key' is
%% optional for servers that need none. Other parameters, such as `#{<<"max_completion_tokens">> => 2000}', go into
%% `params'.
%% @hidden
-module(beamai_chat_openai).
-behaviour(beamai_chat_wire).

-export([defaults/0, url/1, headers/2, tools/2, body/3, whole/1, begin_stream/0, event/2, end_stream/1]).

-import(beamai_chat_http, [count/3, counts/1]).

-type piece() :: #{index := term(), id := binary(), name := binary(), json := [binary()]}.

-record(stream, {
    text = [] :: [binary()],
    %% Last first; so are the chunks of their arguments.
    calls = [] :: [piece()],
    finish = none :: none | binary(),
    usage = #{} :: map(),
    done = false :: boolean()
}).

%%% The options

%% @private
-spec defaults() -> map().
defaults() ->
    #{base_url => <<"https://api.openai.com/v1">>}.

%%% The request

%% @private
-spec url(map()) -> binary().
url(#{base_url := Base}) -> beamai_chat_http:url(Base, <<"/chat/completions">>).

%% @private
-spec headers(map(), binary() | none) -> [{string(), string()}].
headers(_Options, none) -> [];
headers(_Options, Key) -> [{"authorization", "Bearer " ++ binary_to_list(Key)}].

%% @private
-spec body(map(), beamai_chat_model:request(), Tools :: #{binary() => term()}) -> #{binary() => term()}.
body(#{model := Model, params := Params} = Options, #{messages := Messages} = Request, Tools) ->
    Body = #{
        <<"model">> => Model,
        <<"messages">> => system(Request) ++ messages(Messages, Options)
    },
    Limits = [{atom_to_binary(Key), Value} || {Key, Value} <- maps:to_list(maps:with([max_tokens, temperature], Options))],
    Parts = [maps:from_list(Limits), stream(Options), Tools, beamai_chat_controls:openai(Request)],
    maps:merge(lists:foldl(fun maps:merge/2, Body, Parts), Params).

stream(#{stream := true}) -> #{<<"stream">> => true, <<"stream_options">> => #{<<"include_usage">> => true}};
stream(#{stream := false}) -> #{}.

%% @private
-spec tools(map(), beamai_kernel:kernel()) -> #{binary() => term()}.
tools(#{strict := Strict}, Kernel) ->
    case beamai_tool_schema:requests(beamai_kernel:get_tool_specs(Kernel), openai, #{strict => Strict}) of
        [] -> #{};
        Schemas -> #{<<"tools">> => Schemas}
    end.

system(#{system := <<>>}) -> [];
system(#{system := Text}) -> [#{<<"role">> => <<"system">>, <<"content">> => Text}].

%% Results must be text in this API. Images follow after all results of the turn, which must be consecutive.
messages([#{role := tool} | _] = Messages, #{images := Shown} = Options) ->
    {Results, Rest} = lists:splitwith(fun(#{role := Role}) -> Role =:= tool end, Messages),
    Images = [Result || Shown, #{images := _} = Result <- Results],
    [message(Result) || Result <- Results] ++ images(Images) ++ messages(Rest, Options);
messages([Message | Rest], Options) ->
    [message(Message, Options) | messages(Rest, Options)];
messages([], _Options) ->
    [].

images([]) ->
    [];
images(Results) ->
    Parts = [Part || Result <- Results, Part <- image_parts(Result)],
    [#{<<"role">> => <<"user">>, <<"content">> => Parts}].

image_parts(#{name := Name, call := Id, images := Images}) ->
    Text = <<"From the result of ", Name/binary, " (", Id/binary, "):">>,
    [#{<<"type">> => <<"text">>, <<"text">> => Text} | [image(Image) || Image <- Images]].

image(#{media_type := Type, data := Data}) ->
    Url = <<"data:", Type/binary, ";base64,", Data/binary>>,
    #{<<"type">> => <<"image_url">>, <<"image_url">> => #{<<"url">> => Url}}.

message(#{role := user, content := Text, attachments := [_ | _] = Files}, Options) ->
    Parts = beamai_attachments:openai(Files, Options) ++ [#{<<"type">> => <<"text">>, <<"text">> => Text} || Text =/= <<>>],
    #{<<"role">> => <<"user">>, <<"content">> => Parts};
message(Message, _Options) ->
    message(Message).

message(#{role := user, content := Text}) ->
    #{<<"role">> => <<"user">>, <<"content">> => Text};
message(#{role := assistant, content := Text, tool_calls := [_ | _] = Calls}) ->
    #{
        <<"role">> => <<"assistant">>,
        <<"content">> => case Text of <<>> -> null; _ -> Text end,
        <<"tool_calls">> => [call(Call) || Call <- Calls]
    };
message(#{role := assistant, content := Text}) ->
    #{<<"role">> => <<"assistant">>, <<"content">> => Text};
message(#{role := tool, call := Id, content := Content}) ->
    #{<<"role">> => <<"tool">>, <<"tool_call_id">> => Id, <<"content">> => Content}.

call(#{id := Id, name := Name, args := Args}) ->
    Function = #{<<"name">> => beamai_chat_http:accepted(Name, 64), <<"arguments">> => beamai_json:text(Args)},
    #{<<"id">> => Id, <<"type">> => <<"function">>, <<"function">> => Function}.

%%% The answer

%% @private
-spec whole(beamai_chat_wire:event()) ->
    {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
whole(#{<<"error">> := Error}) when Error =/= null ->
    {error, said(Error)};
whole(#{<<"choices">> := [#{<<"message">> := Message} = Choice | _]} = Answer) ->
    Calls = [begun(Call) || Call <- list(<<"tool_calls">>, Message)],
    {ok, Reply} = end_stream(#stream{
        text = [spoken(Message)], calls = lists:reverse(Calls), finish = finish(Choice), usage = usage(Answer), done = true
    }),
    {ok, Reply#{reasoning => thought(Message)}}.

%% @private
-spec begin_stream() -> #stream{}.
begin_stream() -> #stream{}.

%% @private
-spec event(beamai_chat_wire:event(), #stream{}) ->
    {ok, #stream{}, [beamai_chat_wire:said()]} | {error, beamai_chat_model:error()}.
event(#{<<"type">> := <<"[DONE]">>}, State) ->
    {ok, State#stream{done = true}, []};
event(#{<<"error">> := Error}, _State) when Error =/= null ->
    {error, said(Error)};
event(#{<<"choices">> := [#{<<"delta">> := #{} = Delta} = Choice | _]} = Event, State) ->
    {After, Said} = delta(Delta, State),
    {ok, finished(Choice, counted(Event, After)), Said};
event(#{<<"choices">> := [#{} = Choice | _]} = Event, State) ->
    null = maps:get(<<"delta">>, Choice, null),
    {ok, finished(Choice, counted(Event, State)), []};
event(Event, State) ->
    [] = list(<<"choices">>, Event),
    {ok, counted(Event, State), []}.

delta(Delta, #stream{text = Text} = State) ->
    Piece = spoken(Delta),
    Said = [Told || {_Kind, Words} = Told <- [{reasoning, thought(Delta)}, {text, Piece}], Words =/= <<>>],
    {lists:foldl(fun tool_call/2, State#stream{text = [Piece | Text]}, list(<<"tool_calls">>, Delta)), Said}.

thought(Message) ->
    first(beamai_chat_http:text(<<"reasoning_content">>, Message), beamai_chat_http:text(<<"reasoning">>, Message)).

%% A refusal is sent in a field of its own, but is also text.
spoken(#{<<"content">> := Parts} = Message) when is_list(Parts) ->
    Texts = [Text || #{<<"type">> := <<"text">>, <<"text">> := Text} <- Parts, is_binary(Text)],
    spoken(Message#{<<"content">> := iolist_to_binary(Texts)});
spoken(Message) ->
    <<(beamai_chat_http:words(<<"content">>, Message))/binary, (beamai_chat_http:words(<<"refusal">>, Message))/binary>>.

%% The first chunk of a call has its id and name; all chunks have parts of the arguments.
tool_call(Piece, #stream{calls = Calls} = State) ->
    New = begun(Piece),
    case lists:splitwith(fun(Call) -> not goes_on(New, Call) end, Calls) of
        {_, []} -> State#stream{calls = [New | Calls]};
        {Later, [Call | Earlier]} -> State#stream{calls = Later ++ [gone_on(New, Call) | Earlier]}
    end.

begun(Piece) ->
    Function = maps:get(<<"function">>, Piece, #{}),
    #{
        index => maps:get(<<"index">>, Piece, null),
        id => beamai_chat_http:text(<<"id">>, Piece),
        name => beamai_chat_http:text(<<"name">>, Function),
        json => [json(maps:get(<<"arguments">>, Function, null))]
    }.

%% Some servers send an object instead of its JSON text.
json(Text) when is_binary(Text) -> Text;
json(null) -> <<>>;
json(Value) -> beamai_json:text(Value).

%% Whether a chunk continues a call. Some servers omit the index, or send the same index for all calls of an answer;
%% then the id separates calls, and without ids the name, which starts a new call.
goes_on(#{index := null, id := <<>>, name := Name}, _Last) -> Name =:= <<>>;
goes_on(#{index := null, id := Id}, #{id := Known}) -> Id =:= Known;
goes_on(#{index := Index, id := Id}, #{index := Index, id := Known}) -> Id =:= <<>> orelse Known =:= <<>> orelse Id =:= Known;
goes_on(_Piece, _Call) -> false.

gone_on(#{id := Id, name := Name, json := [Piece]}, #{id := Known, name := Begun, json := Json} = Call) ->
    Call#{id := first(Known, Id), name := first(Begun, Name), json := [Piece | Json]}.

first(<<>>, New) -> New;
first(Known, _New) -> Known.

finished(Choice, State) ->
    case finish(Choice) of
        none -> State;
        Finish -> State#stream{finish = Finish}
    end.

finish(#{<<"finish_reason">> := Finish}) when is_binary(Finish) -> Finish;
finish(_Choice) -> none.

counted(Event, State) ->
    case usage(Event) of
        None when map_size(None) =:= 0 -> State;
        Usage -> State#stream{usage = Usage}
    end.

usage(#{<<"usage">> := #{} = Usage}) ->
    Details = maps:get(<<"prompt_tokens_details">>, Usage, #{}),
    counts([
        {input_tokens, count(<<"prompt_tokens">>, Usage, unknown)},
        {output_tokens, count(<<"completion_tokens">>, Usage, unknown)},
        {cached_tokens, count(<<"cached_tokens">>, Details, unknown)}
    ]);
usage(_Event) ->
    #{}.

list(Key, Object) ->
    case Object of
        #{Key := List} when is_list(List) -> List;
        #{Key := Other} when Other =/= null -> error(badarg);
        #{} -> []
    end.

%% @private
-spec end_stream(#stream{}) -> {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
end_stream(#stream{finish = none, done = false}) ->
    beamai_chat_http:broke_off();
end_stream(#stream{text = Text, calls = Reversed, finish = Finish, usage = Usage}) ->
    Calls = lists:reverse(Reversed),
    Ids = beamai_chat_reply:ids([Id || #{id := Id} <- Calls]),
    Message = #{
        role => assistant,
        content => iolist_to_binary(lists:reverse(Text)),
        tool_calls => beamai_chat_http:cut_off(Finish =:= <<"length">>, [made(Call, Id) || {Call, Id} <- lists:zip(Calls, Ids)])
    },
    {ok, beamai_chat_model:reply(Message, with_stop(Finish, #{usage => Usage}))}.

made(#{name := Name, json := Json}, Id) ->
    Arguments = beamai_chat_http:arguments(iolist_to_binary(lists:reverse(Json))),
    Arguments#{id => Id, name => Name}.

with_stop(<<"length">>, Rest) -> Rest#{stop => max_tokens};
with_stop(<<"content_filter">>, Rest) -> Rest#{stop => refusal};
with_stop(Usual, Rest) when Usual =:= none; Usual =:= <<"stop">>; Usual =:= <<"tool_calls">>; Usual =:= <<"function_call">> ->
    Rest;
with_stop(Other, Rest) ->
    Rest#{stop => Other}.

said(#{<<"message">> := Message} = Error) when is_binary(Message) ->
    #{reason => reason(maps:get(<<"type">>, Error, null), maps:get(<<"code">>, Error, null), Message), message => Message};
said(Message) when is_binary(Message) ->
    #{reason => failed, message => Message};
said(_Other) ->
    #{reason => failed, message => <<"the server reported an error without a message">>}.

reason(Type, Code, Message) ->
    case reason(Type, Code) of
        rate_limited -> rate_limited;
        Other ->
            case beamai_chat_overflow:is_overflow([Type, Code, Message]) of
                true -> context_overflow;
                false -> Other
            end
    end.

reason(_Type, Code) when Code =:= 429; Code =:= <<"rate_limit_exceeded">> -> rate_limited;
reason(_Type, Code) when is_integer(Code), Code >= 500 -> overloaded;
reason(<<"server_error">>, _Code) -> overloaded;
reason(<<"invalid_request_error">>, _Code) -> invalid_request;
reason(_Type, _Code) -> failed.
