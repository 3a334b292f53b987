%% @doc The common part of models with an HTTP API.
%%
%% A provider's module, see {@link beamai_chat_wire}, builds requests and parses answers; this module sends requests, reads
%% whole and streamed answers, and retries.
%% @hidden
-module(beamai_chat_http).
-behaviour(beamai_chat_model).

-export([new/1, complete/2, instructions/1, tools/2]).
-export([url/2, accepted/2, arguments/1, cut_off/2, text/2, words/2, count/3, counts/1, later/2, broke_off/0]).

%% Minimum length of a secret, in bytes.
-define(SECRET_BYTES, 8).
%% How many keys that a process sent are hidden from its errors.
-define(SENT, 50).
-define(CUT_OFF, <<
    "the answer reached its limit of tokens before the arguments of this call were whole; call again with shorter "
    "arguments, or with the work in several calls"
>>).

-record(answer, {
    wire :: module(),
    emit :: beamai_chat_model:emit(),
    %% Gives what error messages must not show.
    secrets :: fun(() -> [binary()]),
    %% Determined by the first byte: a server may send a whole answer although streaming was requested.
    form = unknown :: unknown | {whole, [binary()]} | {stream, beamai_sse:t()},
    state :: term()
}).

%% @doc Validates the options; raises `{bad_option, Key}'. `wire' is the provider's module.
-spec new(#{wire := module(), _ => _}) -> beamai_chat_options:checked().
new(#{wire := Wire} = Options) ->
    (beamai_chat_options:http(maps:remove(wire, Options), Wire:defaults()))#{wire => Wire}.

%% @doc Empty: tools are declared in the request.
-spec instructions(beamai_kernel:kernel()) -> binary().
instructions(_Kernel) -> <<>>.

%% @doc The kernel's tools in the provider's format. Raises `{invalid_tool, Name, Problems}'.
-spec tools(beamai_chat_options:checked(), beamai_kernel:kernel()) -> #{binary() => term()}.
tools(#{wire := Wire} = Options, Kernel) ->
    Wire:tools(Options, Kernel).

%% @doc Sends a request, with retries.
-spec complete(beamai_chat_options:checked(), beamai_chat_model:request()) ->
    {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
complete(#{wire := Wire} = Options, Request) ->
    case beamai_json:encode(body(Wire, Options, Request)) of
        {ok, Body} -> beamai_chat_retry:run(Options, Request, fun() -> attempt(Wire, Options, Request, Body) end);
        {error, Why} -> fault(invalid_request, ["the conversation cannot be sent: ", Why])
    end.

%% A key may expire while the server is busy, so each attempt asks for it.
attempt(Wire, Options, Request, Body) ->
    case {key(Options), beamai_chat_options:headers(Options)} of
        {{ok, Key}, {ok, Headers}} ->
            Secrets = sent(secrets(Key, Headers)),
            hidden(try_it(Wire, http(Wire, Options, Key, Headers, Body), Request, Secrets), Secrets);
        {error, _} ->
            fault(authentication, "the function in api_key gave no key: printable text without spaces or line breaks");
        {_, error} ->
            fault(authentication, "a function in headers gave no value: text without line breaks")
    end.

body(Wire, Options, #{tools := #{rendered := Tools}} = Request) -> Wire:body(Options, Request, Tools);
body(Wire, Options, #{kernel := Kernel} = Request) -> Wire:body(Options, Request, Wire:tools(Options, Kernel)).

key(#{api_key := Secret}) -> beamai_secret:reveal(Secret);
key(_Options) -> {ok, none}.

http(Wire, Options, Key, Own, Body) ->
    Given = [Name || {Name, _} <- Own],
    Default = [Header || {Name, _} = Header <- Wire:headers(Options, Key), not lists:member(Name, Given)],
    Kept = maps:with([connect_timeout, idle_timeout, timeout, cacertfile, proxy, reuse], Options),
    Kept#{url => Wire:url(Options), headers => Own ++ Default, body => Body}.

%% A server may repeat the key of an earlier attempt or request, so the last ones of this process are hidden, too. They are kept in a fun,
%% because crash reports print the process dictionary, but not what is in a fun.
sent(Secrets) ->
    Before = get(?MODULE),
    Kept = [Secrets | lists:delete(Secrets, if is_function(Before) -> Before(); true -> [] end)],
    Last = lists:sublist(Kept, ?SENT),
    _ = put(?MODULE, fun() -> Last end),
    fun() -> lists:append(Last) end.

%% The key, and the values of the host's headers. Short values, such as a version, are not secret and may be ordinary
%% words.
secrets(Key, Headers) ->
    All = [Key || is_binary(Key)] ++ lists:append([header_secrets(Name, list_to_binary(Value)) || {Name, Value} <- Headers]),
    [beamai_error:readable(Secret) || Secret <- All, byte_size(Secret) >= ?SECRET_BYTES].

%% Of a scheme and a token, the token alone is a secret, too.
header_secrets("authorization", Value) -> [Value | tl(binary:split(Value, <<" ">>, [global]))];
header_secrets(_Name, Value) -> [Value].

%% Removes secrets from error messages of the server.
hidden({error, #{message := Message} = Error}, Secrets) ->
    {error, Error#{message := beamai_nif:hide_secrets(Message, Secrets(), false)}};
hidden(Result, _Secrets) ->
    Result.

try_it(Wire, Http, #{emit := Emit, run := Run} = Request, Secrets) ->
    Answer = #answer{wire = Wire, emit = Emit, secrets = Secrets, state = Wire:begin_stream()},
    try
        case beamai_http:post(in_time(Http, Request), Run, fun piece/2, Answer) of
            {ok, Whole} -> finished(last_event(Whole));
            {status, Status, Headers, Body} -> {error, status_error(Status, Headers, Body, Secrets)};
            {error, Error} -> {error, transport_error(Error)}
        end
    catch
        throw:{?MODULE, Thrown} -> {error, Thrown}
    end.

%% @doc Appends a path to the base URL, before its query.
-spec url(Base :: binary(), Path :: binary()) -> binary().
url(Base, Path) ->
    case binary:split(Base, <<"?">>) of
        [Base] -> <<Base/binary, Path/binary>>;
        [Place, Query] -> <<(string:trim(Place, trailing, "/"))/binary, Path/binary, "?", Query/binary>>
    end.

in_time(Http, #{until := infinity}) ->
    Http;
in_time(#{timeout := Timeout} = Http, #{until := Until}) ->
    Http#{timeout := min(Timeout, max(0, Until - erlang:monotonic_time(millisecond)))}.

%%% Reading

piece(Piece, #answer{form = unknown} = Answer) ->
    case string:trim(Piece, leading) of
        <<>> -> Answer;
        <<239, 187, 191, Rest/binary>> -> piece(Rest, Answer);
        <<"{", _/binary>> = Begun -> Answer#answer{form = {whole, [Begun]}};
        <<"<", _/binary>> = Page -> throw({?MODULE, no_answer(Page, Answer)});
        Begun -> piece(Begun, Answer#answer{form = {stream, beamai_sse:new()}})
    end;
piece(Piece, #answer{form = {whole, Pieces}} = Answer) ->
    Answer#answer{form = {whole, [Piece | Pieces]}};
piece(Piece, #answer{form = {stream, Sse}} = Answer) ->
    case beamai_sse:feed(Piece, Sse) of
        {ok, Events, After} -> lists:foldl(fun event/2, Answer#answer{form = {stream, After}}, Events);
        {error, too_large} -> throw({?MODULE, problem(too_large, "an event of the stream is larger than 8 MiB")})
    end.

%% Some servers omit the empty line after the last event. A truncated event is not treated as the last one.
last_event(#answer{form = {stream, _}} = Answer) ->
    try
        piece(<<"\n\n">>, Answer)
    catch
        throw:{?MODULE, _} -> Answer
    end;
last_event(Answer) ->
    Answer.

event(#{data := <<"[DONE]">>}, #answer{wire = Wire} = Answer) ->
    event_object(#{<<"type">> => <<"[DONE]">>}, Wire, Answer);
event(#{data := Data}, #answer{wire = Wire} = Answer) ->
    case beamai_json:decode(Data) of
        {ok, #{} = Object} -> event_object(Object, Wire, Answer);
        {ok, _} -> throw({?MODULE, problem(invalid_response, "an event of the stream is no object")});
        {error, Why} -> throw({?MODULE, problem(invalid_response, ["an event of the stream: ", Why])})
    end.

event_object(Object, Wire, #answer{state = State, emit = Emit} = Answer) ->
    case understood(fun() -> said_in(Wire:event(Object, State)) end) of
        {ok, After, Said} ->
            lists:foreach(Emit, Said),
            Answer#answer{state = After};
        {error, Error} ->
            throw({?MODULE, Error})
    end.

said_in({ok, _After, Said} = Read) ->
    _ = beamai_chat_reply:joined([Text || {_Kind, Text} <- Said]),
    Read;
said_in({error, _} = Error) ->
    Error.

%% Handles answers of unexpected structure, in which any function of a provider's module may raise. The reason of the
%% exception is dropped: it may have a part of the answer in it, which may repeat the key.
understood(Read) ->
    try
        Read()
    catch
        error:_ -> fault(invalid_response, "the answer has an unknown shape")
    end.

finished(#answer{form = {whole, Pieces}, wire = Wire, emit = Emit}) ->
    case beamai_json:decode(iolist_to_binary(lists:reverse(Pieces))) of
        {ok, #{} = Object} -> announced(understood(fun() -> beamai_chat_reply:checked(Wire:whole(Object)) end), Emit);
        {ok, _} -> fault(invalid_response, "the answer is no object");
        {error, Why} -> fault(invalid_response, ["the answer: ", Why])
    end;
finished(#answer{form = unknown}) ->
    fault(connection, "the answer is empty");
finished(#answer{wire = Wire, state = State}) ->
    understood(fun() -> beamai_chat_reply:checked(Wire:end_stream(State)) end).

announced({ok, #{message := #{content := Content}} = Reply} = Ok, Emit) ->
    _ = [Emit({reasoning, Text}) || #{reasoning := Text} <- [Reply], Text =/= <<>>],
    Content =/= <<>> andalso Emit({text, Content}),
    Ok;
announced({error, _} = Error, _Emit) ->
    Error.

%% @doc Replaces characters in a name or id that some provider rejects in a conversation's history.
-spec accepted(Text :: binary(), Most :: pos_integer()) -> binary().
accepted(Text, Most) ->
    case re:run(Text, "^[a-zA-Z0-9_-]+$", [dollar_endonly, {capture, none}]) of
        match when byte_size(Text) =< Most ->
            Text;
        _ ->
            Plain = re:replace(Text, "[^a-zA-Z0-9_-]", "_", [global, {return, binary}]),
            %% Adds a hash, so that different names stay different.
            Hash = binary:part(binary:encode_hex(crypto:hash(sha256, Text)), 0, 8),
            <<(binary:part(Plain, 0, min(byte_size(Plain), Most - 9)))/binary, "_", Hash/binary>>
    end.

%% @doc Parses the arguments of a call: an object, or the reason why it is invalid.
-spec arguments(binary()) -> #{args := map(), invalid => binary()}.
arguments(Text) ->
    case string:trim(Text) of
        <<>> -> #{args => #{}};
        Json -> decoded(beamai_json:decode(Json))
    end.

decoded({ok, #{} = Args}) -> #{args => Args};
decoded({ok, _}) -> #{args => #{}, invalid => <<"the arguments are no JSON object">>};
decoded({error, Why}) -> #{args => #{}, invalid => <<"the arguments: ", Why/binary>>}.

%% @doc Marks the last call as invalid if the answer was cut off before or within its arguments.
-spec cut_off(WasCut :: boolean(), [beamai_chat_model:call()]) -> [beamai_chat_model:call()].
cut_off(true, [_ | _] = Calls) ->
    case lists:split(length(Calls) - 1, Calls) of
        {Before, [#{args := Args} = Last]} when map_size(Args) =:= 0 ->
            Before ++ [Last#{invalid => ?CUT_OFF}];
        _ ->
            Calls
    end;
cut_off(_WasCut, Calls) ->
    Calls.

%% @doc The text of a key in an object; empty if there is none.
-spec text(binary(), #{binary() => term()}) -> binary().
text(Key, Object) ->
    case Object of
        #{Key := Text} when is_binary(Text) -> Text;
        #{} -> <<>>
    end.

%% @doc What the model has said under a key; empty if the key is missing or null. Raises `badarg' for anything but a text, which
%% makes the answer one of an unknown shape.
-spec words(binary(), #{binary() => term()}) -> binary().
words(Key, Object) ->
    case Object of
        #{Key := Text} when is_binary(Text) -> Text;
        #{Key := Other} when Other =/= null -> error(badarg);
        #{} -> <<>>
    end.

%%% Errors

status_error(Status, Headers, Body, Secrets) ->
    Said = beamai_nif:hide_secrets(said(Body), Secrets(), false),
    Message = ["the server answered ", integer_to_list(Status), ": ", beamai_error:show(Said, 500), later(Headers)],
    Error = (problem(status_reason(Status, Body), Message))#{status => Status},
    case beamai_chat_retry:retry_after(Headers) of
        {ok, Delay} -> Error#{retry_after => Delay};
        none -> Error
    end.

later(Headers) ->
    case beamai_chat_retry:retry_after(Headers) of
        {ok, Delay} -> ["; it asks to wait ", integer_to_list((Delay + 999) div 1000), " s"];
        none -> ""
    end.

%% Throttling errors have similar wording, so status codes are checked too.
status_reason(Status, Body) when Status =:= 400; Status =:= 413; Status =:= 422; Status =:= 500 ->
    case beamai_chat_overflow:is_overflow(codes(beamai_json:decode(Body)) ++ [said(Body)]) of
        true -> context_overflow;
        false -> status_reason(Status)
    end;
status_reason(Status, _Body) ->
    status_reason(Status).

codes({ok, #{<<"error">> := #{} = Error}}) -> [maps:get(Key, Error, null) || Key <- [<<"code">>, <<"type">>]];
codes(_Other) -> [].

status_reason(429) -> rate_limited;
status_reason(408) -> overloaded;
status_reason(Status) when Status >= 500 -> overloaded;
status_reason(Status) when Status =:= 401; Status =:= 403 -> authentication;
status_reason(413) -> too_large;
status_reason(_Status) -> invalid_request.

said(Body) ->
    case beamai_json:decode(Body) of
        {ok, #{<<"error">> := #{<<"message">> := Message}}} when is_binary(Message) -> Message;
        {ok, #{<<"error">> := Message}} when is_binary(Message) -> Message;
        {ok, #{<<"message">> := Message}} when is_binary(Message) -> Message;
        _ -> beamai_error:readable(Body)
    end.

transport_error({connection, Message}) -> problem(connection, Message);
transport_error({tls, Message}) -> problem(tls, Message);
transport_error({timeout, connect}) -> problem(connection, "no connection in time");
transport_error({timeout, idle}) -> problem(timeout, "the server has sent nothing for too long");
transport_error({timeout, total}) -> problem(timeout, "the answer took too long");
transport_error({too_large, Bytes}) -> problem(too_large, ["the answer is larger than ", integer_to_list(Bytes), " bytes"]);
transport_error(cancelled) -> problem(cancelled, "the run was cancelled").

%% This is the first piece of the page, and may end anywhere.
no_answer(Page, #answer{secrets = Secrets}) ->
    Text = case unicode:characters_to_binary(Page) of
        {incomplete, Whole, _Cut} -> Whole;
        _ -> beamai_error:readable(Page)
    end,
    Said = beamai_nif:hide_secrets(Text, Secrets(), true),
    problem(invalid_response, ["the server answered with a page of HTML, not as a chat model: ", beamai_error:show(Said, 200)]).

problem(Reason, Message) ->
    #{reason => Reason, message => unicode:characters_to_binary(Message)}.

fault(Reason, Message) ->
    {error, problem(Reason, Message)}.

%% @doc A count in an answer; `Default' if it is missing or no count.
-spec count(binary(), term(), Default) -> non_neg_integer() | Default.
count(Key, Object, Default) ->
    case Object of
        #{Key := Count} -> beamai_tokens:count(Count, Default);
        _ -> Default
    end.

%% @doc Drops unknown counts, and zeros of a server that counts nothing: no request and answer have no tokens at all.
-spec counts([{Key :: atom(), non_neg_integer() | unknown}]) -> #{atom() => non_neg_integer()}.
counts(Counts) ->
    case maps:from_list([{Key, Count} || {Key, Count} <- Counts, Count =/= unknown]) of
        #{input_tokens := 0, output_tokens := 0} = Known -> maps:without([input_tokens, output_tokens], Known);
        Known -> Known
    end.

%% @doc The counts of a stream: later ones replace those `Known', unless they are null.
-spec later(#{binary() => term()}, Known :: #{binary() => term()}) -> #{binary() => term()}.
later(Counts, Known) ->
    maps:merge(Known, maps:filter(fun(_Key, Count) -> Count =/= null end, Counts)).

%% @doc The error of a stream that ended prematurely.
-spec broke_off() -> {error, beamai_chat_model:error()}.
broke_off() ->
    {error, #{reason => connection, message => <<"the stream broke off before the answer was whole">>}}.
