%% @doc Tool calls in plain text, for models without function calling.
%%
%% The model gets {@link system_prompt/1}. In its responses it writes calls between tags:
%%
%% ```
%% <TOOL_CALL>
%% {"tool": "file_read", "args": {"path": "README.md"}, "reasoning": "why"}
%% </TOOL_CALL>
%% '''
%%
%% {@link parse/2} returns the first call, {@link parse_all/2} all calls and the text around them, and a stream does the
%% same while the response arrives. Send the result of a call back to the model with {@link format_result/1}, and the
%% error of an invalid call with {@link format_error/1}.
%%
%% Calls are recognized everywhere except in fenced blocks and right after a backtick. A closing tag in a JSON string does
%% not end a call. After the JSON, a long text argument may follow without escapes, from a line `content <<END' to a line
%% `END'. Three more formats are recognized: `TOOL:' and `ARGS:' lines with YAML, a line `tool(name="value")', and `<tool
%% name="tool"><arg name="name">value</arg></tool>'.
%%
%% Do not run calls after an `invalid' one: they may have been meant as part of its content.
-module(beamai_protocol).

-export([parse/1, parse/2, parse/3, parse_all/1, parse_all/2, parse_all/3]).
-export([stream_new/0, stream_new/1, stream_new/2, stream_feed/2, stream_end/1]).
-export([system_prompt/1, format_result/1, format_result/3, format_error/1]).
-export([words/0]).
-export_type([tools/0, options/0, format/0, call/0, invalid/0, piece/0, stream/0]).

%% `any' checks only the format.
-define(FORMATS, [tag, yaml, function, xml]).
-type tools() :: beamai_kernel:kernel() | [beamai_tool:tool_spec()] | any.
-type options() :: #{
    %% Formats to recognize; all by default.
    formats => [format()],
    %% Whether almost valid JSON is repaired; false by default. A repaired call has `repairs'.
    repair => boolean(),
    %% Whether a call at the beginning of a fenced block outside of lists and quotes is a call, instead of text; false by
    %% default.
    fenced => boolean()
}.
-type format() :: tag | yaml | function | xml.
-type call() :: #{
    tool := binary(),
    args := #{binary() => term()},
    format := format(),
    reasoning => binary(),
    %% What was repaired, one sentence each.
    repairs => [binary()]
}.
%% A malformed call: what is wrong, and its text.
-type invalid() :: {invalid, Message :: binary(), Raw :: binary()}.
-type piece() :: {text, binary()} | {tool_call, call()} | invalid().
%% A response in progress. Each step returns the stream for the next one; a stream must not be used twice.
%%
%% It is a handle, not a plain term: an incomplete call is buffered, and as a term the buffer would be copied with every
%% token, at quadratic cost. It is only valid on this node, and is garbage collected.
-opaque stream() :: {beamai_stream, beamai_nif:stream(), Step :: non_neg_integer()}.

%%% Whole responses

%% @doc The first call of a response, checking only the format: the parser of the protocol's specification. A response
%% without a call, or whose first call between tags is malformed, is text.
-spec parse(unicode:chardata()) -> {text, binary()} | {tool_call, call()}.
parse(Text) ->
    case parse(Text, any, #{}) of
        {invalid, _, _} -> {text, binary(Text)};
        Piece -> Piece
    end.

%% @doc The first call of a response. `invalid' explains why a call is malformed, names no tool or has invalid
%% arguments.
-spec parse(unicode:chardata(), tools()) -> piece().
parse(Text, Tools) ->
    parse(Text, Tools, #{}).

%% @doc As {@link parse/2}, with options.
-spec parse(unicode:chardata(), tools(), options()) -> piece().
parse(Text, Tools, Options) ->
    [Piece] = pieces(binary(Text), rules(Tools, Options), false),
    Piece.

%% @doc All parts of a response, checking only the format. Texts and calls together are the whole response; malformed
%% calls are returned as text.
-spec parse_all(unicode:chardata()) -> [piece()].
parse_all(Text) ->
    parse_all(Text, any, #{}).

%% @doc All parts of a response, in order. Texts are returned unchanged, including white space.
-spec parse_all(unicode:chardata(), tools()) -> [piece()].
parse_all(Text, Tools) ->
    parse_all(Text, Tools, #{}).

%% @doc As {@link parse_all/2}, with options.
-spec parse_all(unicode:chardata(), tools(), options()) -> [piece()].
parse_all(Text, Tools, Options) ->
    pieces(binary(Text), rules(Tools, Options), true).

pieces(<<>>, _Rules, true) ->
    [];
pieces(Text, Rules, All) ->
    case beamai_nif:parse_text_now(Rules, Text, All) of
        defer -> parsed(beamai_nif:parse_text(Rules, Text, All), Text);
        Parsed -> parsed(Parsed, Text)
    end.

parsed(text, Text) -> [{text, Text}];
parsed(Encoded, _Text) -> decoded(Encoded).

decoded(Encoded) ->
    case binary_to_term(Encoded, [safe]) of
        Pieces when is_list(Pieces) -> Pieces;
        {error, #{<<"message">> := Message}} -> error({bad_tools, Message})
    end.

%% @private The atoms of the native side's answers. Decoding accepts only existing atoms; this function creates them.
-spec words() -> [atom()].
words() ->
    [
        text, tool_call, invalid, error, tool, args, reasoning, format, repairs, tag, yaml, function,
        xml, null, true, false
    ].

%%% Responses on their way

%% @doc A stream that checks only the format.
-spec stream_new() -> stream().
stream_new() ->
    stream_new(any, #{}).

%% @doc A stream that checks calls against the tools.
-spec stream_new(tools()) -> stream().
stream_new(Tools) ->
    stream_new(Tools, #{}).

%% @doc As {@link stream_new/1}, with options.
-spec stream_new(tools(), options()) -> stream().
stream_new(Tools, Options) ->
    case beamai_nif:stream_new(rules(Tools, Options)) of
        {ok, Stream} -> {beamai_stream, Stream, 0};
        Encoded -> error({bad_tools, maps:get(<<"message">>, element(2, binary_to_term(Encoded, [safe])))})
    end.

%% @doc Feeds the next part of a response, which may end anywhere, and returns the pieces that it completes. Text is
%% returned immediately unless it may be the start of a call. The pieces together are those of {@link parse_all/2}.
%% Raises `stale_stream' for a stream that was already fed.
-spec stream_feed(stream(), iodata()) -> {[piece()], stream()}.
stream_feed({beamai_stream, Stream, Step}, Part) ->
    Bytes = iolist_to_binary(Part),
    Encoded =
        case beamai_nif:stream_feed_now(Stream, Step, Bytes) of
            defer -> beamai_nif:stream_feed(Stream, Step, Bytes);
            Now -> Now
        end,
    {stepped(Encoded), {beamai_stream, Stream, Step + 1}}.

%% @doc Ends a stream and returns what was buffered.
-spec stream_end(stream()) -> [piece()].
stream_end({beamai_stream, Stream, Step}) ->
    stepped(beamai_nif:stream_end(Stream, Step)).

stepped(stale) -> error(stale_stream);
stepped(Encoded) -> decoded(Encoded).

%%% What the model is told

%% @doc The system prompt: the tools with their signatures, the format, rules and examples.
-spec system_prompt(beamai_kernel:kernel() | [beamai_tool:tool_spec()]) -> binary().
system_prompt(any) ->
    error({bad_tools, any});
system_prompt(Tools) ->
    text(beamai_nif:system_prompt(rules(Tools, #{}))).

%% @doc `TOOL_RESULT:' with the result of a call, as returned by `beamai_kernel:invoke/4' or a handler. Any other term
%% is the data itself. Terms that JSON cannot represent are shown in Erlang syntax.
-spec format_result({ok, term()} | {ok, term(), map()} | {error, term()} | term()) -> binary().
format_result({ok, Value}) -> result(#{ok => Value});
format_result({ok, Value, Context}) when is_map(Context) -> result(#{ok => Value});
format_result({error, Error}) -> result(#{error => message(Error)});
format_result(Value) -> result(#{ok => Value}).

%% @doc `TOOL_RESULT:' with the outcome of a call, rendered for a model: for tools of the dialect `ide' an object as in
%% the protocol's specification, for others the text of {@link beamai_display:for_model/3}.
-spec format_result(Tool :: binary(), Args :: map(), {ok, term()} | {ok, term(), map()} | {error, term()}) -> binary().
format_result(Tool, Args, {ok, Value, _Context}) ->
    format_result(Tool, Args, {ok, Value});
format_result(Tool, Args, {ok, Value}) ->
    case beamai_display:rendered(Tool, Args, Value, #{limit => beamai_display:limit(default), object => true}) of
        {ok, #{object := Object}} -> result(#{ok => Object});
        {ok, #{text := Text}} -> result(#{ok => Text});
        {error, Hint} -> result(#{error => Hint})
    end;
format_result(_Tool, _Args, {error, Error}) ->
    result(#{error => beamai_display:error_for_model(Error)}).

%% @doc `TOOL_ERROR:' with the error of a call, which asks the model to repeat the call.
-spec format_error(invalid() | {error, term()} | term()) -> binary().
format_error({invalid, Message, _Raw}) -> format_error(Message);
format_error({error, Error}) -> format_error(Error);
format_error(Error) -> beamai_nif:format_error(message(Error)).

%% The message of a kernel's error may end with advice that only the host can follow.
message(#{error_type := _, message := Message} = Error) when is_binary(Message) -> beamai_display:error_for_model(Error);
message(#{message := Message}) when is_binary(Message) -> beamai_error:readable(Message);
message(Message) when is_binary(Message) -> beamai_error:readable(Message);
message(Term) -> shown(Term).

%% Most results can be represented in JSON; the native side decides.
result(Outcome) ->
    case binary_to_term(beamai_nif:format_result(term_to_binary(Outcome)), [safe]) of
        {ok, Text} -> Text;
        {error, _NotJson} -> text(beamai_nif:format_result(term_to_binary(beamai_protocol_json:term(Outcome))))
    end.

text(Reply) ->
    case binary_to_term(Reply, [safe]) of
        {ok, Text} -> Text;
        {error, #{<<"message">> := Message}} -> error({bad_tools, Message})
    end.

shown(Term) ->
    unicode:characters_to_binary(io_lib:format("~0tp", [Term])).

%%% Rules, as the native side keeps them

-spec rules(tools(), options()) -> binary().
rules(any, Options) ->
    term_to_binary(options(Options));
rules(Tools, Options) ->
    term_to_binary((options(Options))#{tools => [described(Spec) || Spec <- specs(Tools)]}).

specs(Specs) when is_list(Specs) -> Specs;
specs(#{tools := _, env := _} = Kernel) -> beamai_kernel:get_tool_specs(Kernel);
specs(Other) ->
    beamai_validate:raise({bad_tools, Other}, [
        "tools are a kernel, as ", beamai_syntax:either("beamai_kernel:new", "Beamai.new"), " gives it, or a list of tool specs, not ", beamai_validate:show(Other)
    ]).

described(Spec) ->
    Known = maps:with([name, description, parameters, input_schema], Spec),
    Known#{is_built_in => is_built_in(Spec)}.

is_built_in(#{handler := {beamai_tool, call_native, [_]}}) -> true;
is_built_in(_Spec) -> false.

options(Options) ->
    maps:foreach(fun option/2, Options),
    Options.

option(formats, Formats) when is_list(Formats) ->
    case Formats -- ?FORMATS of
        [] -> ok;
        [Other | _] -> bad_formats(Other)
    end;
option(formats, Other) ->
    bad_formats(Other);
option(Key, Flag) when Key =:= repair orelse Key =:= fenced, is_boolean(Flag) ->
    ok;
option(Key, Other) when Key =:= repair; Key =:= fenced ->
    beamai_validate:bad_option(Key, ["must be true or false, not ", beamai_validate:show(Other)]);
option(Key, _Value) ->
    beamai_validate:unknown_option(Key, [formats, repair, fenced]).

-spec bad_formats(term()) -> no_return().
bad_formats(Other) ->
    beamai_validate:bad_option(formats, ["must be a list of ", beamai_syntax:atoms(?FORMATS), ", each once, not ", beamai_validate:show(Other)]).

binary(Text) when is_binary(Text) ->
    Text;
binary(Text) ->
    try unicode:characters_to_binary(Text) of
        Binary when is_binary(Binary) -> Binary;
        _ -> bad_text(Text)
    catch
        error:badarg -> bad_text(Text)
    end.

-spec bad_text(term()) -> no_return().
bad_text(Other) ->
    beamai_validate:raise({bad_text, Other}, ["the answer of a model is a text, not ", beamai_validate:show(Other)]).
