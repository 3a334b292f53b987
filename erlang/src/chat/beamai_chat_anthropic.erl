%% @doc The messages API of Anthropic.
%%
%% Options: {@link beamai_chat_options:http()}. Defaults: `base_url' is `https://api.anthropic.com', `max_tokens' 8192,
%% `cache' `auto'. Other parameters, such as thinking, go into `params'; thinking blocks are sent back unchanged.
%% @hidden
-module(beamai_chat_anthropic).
-behaviour(beamai_chat_wire).

-export([defaults/0, url/1, headers/2, tools/2, body/3, whole/1, begin_stream/0, event/2, end_stream/1]).

-import(beamai_chat_http, [count/3, counts/1]).
-import(beamai_chat_reply, [joined/1]).

-record(stream, {
    %% By index: the start event of each block, and the chunks of its keys, last first.
    blocks = #{} :: #{integer() => {Start :: map(), #{Key :: binary() => [Piece :: term()]}}},
    stop = none :: none | binary(),
    usage = #{} :: map(),
    done = false :: boolean()
}).

%%% The options

%% @private
-spec defaults() -> map().
defaults() ->
    #{base_url => <<"https://api.anthropic.com">>, max_tokens => 8192, cache => auto}.

%%% The request

%% @private
-spec url(map()) -> binary().
url(#{base_url := Base}) -> beamai_chat_http:url(Base, <<"/v1/messages">>).

%% @private
-spec headers(map(), binary() | none) -> [{string(), string()}].
headers(_Options, none) -> version();
headers(_Options, Key) -> [{"x-api-key", binary_to_list(Key)} | version()].

version() -> [{"anthropic-version", "2023-06-01"}].

%% @private
-spec body(map(), beamai_chat_model:request(), Tools :: #{binary() => term()}) -> #{binary() => term()}.
body(#{model := Model, max_tokens := Most, stream := Stream, params := Params} = Options, Request, Tools) ->
    Body = #{
        <<"model">> => Model,
        <<"max_tokens">> => Most,
        <<"stream">> => Stream,
        <<"messages">> => messages(maps:get(messages, Request), Options)
    },
    Rest = [temperature(Options), system(Request), Tools, beamai_chat_controls:anthropic(Request), Params],
    Whole = lists:foldl(fun(More, Acc) -> beamai_chat_controls:merged(Acc, More) end, Body, Rest),
    beamai_anthropic_cache:marked(maps:get(cache, Options), Whole).

temperature(#{temperature := Number}) -> #{<<"temperature">> => Number};
temperature(_Options) -> #{}.

system(#{system := <<>>}) -> #{};
system(#{system := Text}) -> #{<<"system">> => Text}.

%% @private
-spec tools(map(), beamai_kernel:kernel()) -> #{binary() => term()}.
tools(#{strict := Strict}, Kernel) ->
    case beamai_tool_schema:requests(beamai_kernel:get_tool_specs(Kernel), anthropic, #{strict => Strict}) of
        [] -> #{};
        Schemas -> #{<<"tools">> => Schemas}
    end.

%% Tool results have the role of the user. Results of one turn and the user's next text go into one message, because
%% roles must alternate.
messages(Messages, Options) ->
    Said = [message(Message, Options) || Message <- Messages],
    %% Messages without blocks are rejected, so empty answers are left out.
    lists:foldr(fun joined/2, [], [Message || {_Role, [_ | _]} = Message <- Said]).

joined({Role, Blocks}, [#{<<"role">> := Role, <<"content">> := After} | Rest]) ->
    [#{<<"role">> => Role, <<"content">> => Blocks ++ After} | Rest];
joined({Role, Blocks}, Rest) ->
    [#{<<"role">> => Role, <<"content">> => Blocks} | Rest].

message(#{role := user, content := Text} = Message, Options) ->
    {<<"user">>, beamai_attachments:anthropic(maps:get(attachments, Message, []), Options) ++ text_block(Text)};
message(#{role := assistant, raw := {anthropic, Blocks}}, _Options) ->
    {<<"assistant">>, Blocks};
message(#{role := assistant, content := Text} = Message, _Options) ->
    Calls = [call(Call) || Call <- maps:get(tool_calls, Message, [])],
    {<<"assistant">>, text_block(Text) ++ Calls};
message(#{role := tool, call := Id, outcome := Outcome} = Message, Options) ->
    Block = #{<<"type">> => <<"tool_result">>, <<"tool_use_id">> => id(Id), <<"content">> => result(Message, Options)},
    {<<"user">>, [Block#{<<"is_error">> => true} || Outcome =/= ok] ++ [Block || Outcome =:= ok]}.

result(#{content := Text, images := [_ | _] = Images}, #{images := true}) ->
    text_block(Text) ++ [image(Image) || Image <- Images];
result(#{content := Text}, _Options) ->
    Text.

image(#{media_type := Type, data := Data}) ->
    Source = #{<<"type">> => <<"base64">>, <<"media_type">> => Type, <<"data">> => Data},
    #{<<"type">> => <<"image">>, <<"source">> => Source}.

%% Empty text blocks are rejected.
text_block(Text) ->
    case string:trim(Text) of
        <<>> -> [];
        _ -> [#{<<"type">> => <<"text">>, <<"text">> => Text}]
    end.

call(#{id := Id, name := Name, args := Args}) ->
    #{<<"type">> => <<"tool_use">>, <<"id">> => id(Id), <<"name">> => beamai_chat_http:accepted(Name, 128), <<"input">> => Args}.

%% Ids from other providers may have unsupported characters.
id(Id) -> beamai_chat_http:accepted(Id, 128).

%%% The answer

%% @private
-spec whole(beamai_chat_wire:event()) ->
    {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
whole(#{<<"type">> := <<"error">>, <<"error">> := Error}) ->
    {error, said(Error)};
whole(#{<<"content">> := Blocks} = Answer) ->
    #stream{stop = Stop} = stopped(Answer, begin_stream()),
    {ok, Reply} = reply([{Block, valid} || Block <- Blocks], Stop, maps:get(<<"usage">>, Answer, #{})),
    Thought = [Text || #{<<"type">> := <<"thinking">>, <<"thinking">> := Text} <- Blocks, is_binary(Text)],
    {ok, Reply#{reasoning => joined(Thought)}}.

%% @private
-spec begin_stream() -> #stream{}.
begin_stream() -> #stream{}.

%% @private
-spec event(beamai_chat_wire:event(), #stream{}) ->
    {ok, #stream{}, [beamai_chat_wire:said()]} | {error, beamai_chat_model:error()}.
event(#{<<"type">> := <<"content_block_delta">>, <<"index">> := Index, <<"delta">> := Delta}, State) ->
    #stream{blocks = #{Index := Block} = Blocks} = State,
    {ok, State#stream{blocks = Blocks#{Index := delta(Delta, Block)}}, told(Delta)};
event(#{<<"type">> := <<"error">>, <<"error">> := Error}, _State) ->
    {error, said(Error)};
event(Event, State) ->
    {ok, after_event(Event, State), []}.

after_event(#{<<"type">> := <<"message_start">>, <<"message">> := Message}, State) ->
    counted(Message, State);
after_event(#{<<"type">> := <<"content_block_start">>, <<"index">> := Index, <<"content_block">> := Block}, State) ->
    #{<<"type">> := _} = Block,
    State#stream{blocks = (State#stream.blocks)#{Index => {Block, #{}}}};
after_event(#{<<"type">> := <<"message_delta">>} = Event, State) ->
    stopped(maps:get(<<"delta">>, Event, #{}), counted(Event, State));
after_event(#{<<"type">> := <<"message_stop">>}, State) ->
    State#stream{done = true};
%% Pings, ends of blocks, and unknown events are ignored.
after_event(_Other, State) ->
    State.

told(#{<<"type">> := <<"text_delta">>, <<"text">> := Text}) -> [{text, Text}];
told(#{<<"type">> := <<"thinking_delta">>, <<"thinking">> := Text}) -> [{reasoning, Text}];
told(_Other) -> [].

delta(#{<<"type">> := <<"text_delta">>, <<"text">> := Text}, Block) ->
    more(<<"text">>, Text, Block);
delta(#{<<"type">> := <<"thinking_delta">>, <<"thinking">> := Text}, Block) ->
    more(<<"thinking">>, Text, Block);
delta(#{<<"type">> := <<"input_json_delta">>, <<"partial_json">> := Json}, Block) ->
    more(<<"input">>, Json, Block);
delta(#{<<"type">> := <<"signature_delta">>, <<"signature">> := Piece}, Block) ->
    more(<<"signature">>, Piece, Block);
delta(#{<<"type">> := <<"citations_delta">>, <<"citation">> := Citation}, Block) ->
    more(<<"citations">>, Citation, Block);
delta(_Other, Block) ->
    Block.

more(Key, Piece, {Start, Pieces}) ->
    {Start, Pieces#{Key => [Piece | maps:get(Key, Pieces, [])]}}.

stopped(#{<<"stop_reason">> := Stop}, State) when is_binary(Stop) -> State#stream{stop = Stop};
stopped(_Delta, State) -> State.

counted(#{<<"usage">> := #{} = Usage}, #stream{usage = Known} = State) ->
    State#stream{usage = beamai_chat_http:later(Usage, Known)};
counted(_Event, State) ->
    State.

%% @private
-spec end_stream(#stream{}) -> {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
end_stream(#stream{done = false}) ->
    beamai_chat_http:broke_off();
end_stream(#stream{blocks = Blocks, stop = Stop, usage = Usage}) ->
    reply([block(Block) || {_Index, Block} <- lists:sort(maps:to_list(Blocks))], Stop, Usage).

block({Start, Pieces}) ->
    maps:fold(fun(Key, Came, Block) -> completed(Key, lists:reverse(Came), Block) end, {Start, valid}, Pieces).

%% No chunks at all mean the initial value, an empty object.
completed(<<"input">>, Pieces, {Start, _}) ->
    case beamai_chat_http:arguments(joined(Pieces)) of
        #{invalid := Why} -> {Start#{<<"input">> => #{}}, {invalid, Why}};
        #{args := Args} -> {Start#{<<"input">> => Args}, valid}
    end;
completed(<<"citations">>, Pieces, {#{<<"citations">> := Before} = Start, Validity}) when is_list(Before) ->
    {Start#{<<"citations">> := Before ++ Pieces}, Validity};
completed(<<"citations">>, Pieces, {Start, Validity}) ->
    {Start#{<<"citations">> => Pieces}, Validity};
completed(Key, Pieces, {Start, Validity}) ->
    {Start#{Key => joined([beamai_chat_http:text(Key, Start) | Pieces])}, Validity}.

%% Each block is paired with the error in its arguments, if there is one.
reply(Read, Stop, Usage) ->
    Whole = identified(Read),
    Blocks = [Block || {Block, _} <- Whole],
    Message = #{
        role => assistant,
        content => joined([Text || #{<<"type">> := <<"text">>, <<"text">> := Text} <- Blocks]),
        tool_calls => beamai_chat_http:cut_off(
            Stop =:= <<"max_tokens">>, [made(Block, Validity) || {#{<<"type">> := <<"tool_use">>} = Block, Validity} <- Whole]
        )
    },
    {ok, beamai_chat_model:reply(with_raw(Blocks, Message), with_stop(Stop, #{usage => usage(Usage)}))}.

%% The blocks may be sent back, so a new id is also theirs.
identified(Read) ->
    Ids = beamai_chat_reply:ids([maps:get(<<"id">>, Block, none) || {#{<<"type">> := <<"tool_use">>} = Block, _} <- Read]),
    {Identified, []} = lists:mapfoldl(fun identified/2, Ids, Read),
    Identified.

identified({#{<<"type">> := <<"tool_use">>} = Block, Validity}, [Id | Ids]) -> {{Block#{<<"id">> => Id}, Validity}, Ids};
identified(Other, Ids) -> {Other, Ids}.

made(#{<<"id">> := Id, <<"name">> := Name, <<"input">> := Input}, _Validity) when not is_map(Input) ->
    #{id => Id, name => Name, args => #{}, invalid => <<"the arguments are no JSON object">>};
made(#{<<"id">> := Id, <<"name">> := Name, <<"input">> := Input}, valid) ->
    #{id => Id, name => Name, args => Input};
made(#{<<"id">> := Id, <<"name">> := Name, <<"input">> := Input}, {invalid, Why}) ->
    #{id => Id, name => Name, args => Input, invalid => Why}.

%% Blocks in the provider's own format must be sent back unchanged.
with_raw(Blocks, Message) ->
    Own = fun(#{<<"type">> := Type}) -> Type =/= <<"text">> andalso Type =/= <<"tool_use">> end,
    case lists:any(Own, Blocks) of
        true -> Message#{raw => {anthropic, Blocks}};
        false -> Message
    end.

with_stop(<<"max_tokens">>, Rest) -> Rest#{stop => max_tokens};
with_stop(<<"refusal">>, Rest) -> Rest#{stop => refusal};
with_stop(Usual, Rest) when Usual =:= none; Usual =:= null; Usual =:= <<"end_turn">>; Usual =:= <<"tool_use">> -> Rest;
with_stop(Other, Rest) -> Rest#{stop => Other}.

usage(None) when map_size(None) =:= 0 ->
    #{};
usage(Usage) ->
    Cached = count(<<"cache_read_input_tokens">>, Usage, 0),
    Written = count(<<"cache_creation_input_tokens">>, Usage, 0),
    counts([
        {input_tokens, whole_input(count(<<"input_tokens">>, Usage, unknown), Cached + Written)},
        {output_tokens, count(<<"output_tokens">>, Usage, unknown)},
        {cached_tokens, Cached}
    ]).

%% The server counts cached input separately.
whole_input(unknown, _Cached) -> unknown;
whole_input(Input, Cached) -> Input + Cached.

said(#{<<"message">> := Message} = Error) when is_binary(Message) ->
    #{reason => reason(maps:get(<<"type">>, Error, null), Message), message => Message};
said(_Other) ->
    #{reason => failed, message => <<"the server reported an error without a message">>}.

reason(Type, Message) when Type =:= <<"invalid_request_error">>; Type =:= <<"request_too_large">> ->
    case beamai_chat_overflow:is_overflow([Type, Message]) of
        true -> context_overflow;
        false -> reason(Type)
    end;
reason(Type, _Message) ->
    reason(Type).

reason(<<"rate_limit_error">>) -> rate_limited;
reason(<<"overloaded_error">>) -> overloaded;
reason(<<"api_error">>) -> overloaded;
reason(<<"timeout_error">>) -> overloaded;
reason(<<"authentication_error">>) -> authentication;
reason(<<"permission_error">>) -> authentication;
reason(<<"invalid_request_error">>) -> invalid_request;
reason(_Type) -> failed.
