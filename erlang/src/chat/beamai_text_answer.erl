%% @doc The answer of a text model: its calls in the text protocol, with invented results removed.
%%
%% Models are trained on whole dialogues, and sometimes continue with the result of their own call. The answer is cut
%% before the first `TOOL_RESULT:' or `TOOL_ERROR:' outside of a call that starts a line or comes after a call.
%% @hidden
-module(beamai_text_answer).

-export([parts/3, own/3]).
-export([begin_stream/1, feed/2]).
-export_type([options/0, stream/0]).

-define(RESULTS, [<<"TOOL_RESULT:">>, <<"TOOL_ERROR:">>]).
-define(FENCE, <<"```">>).

%% `fenced': whether calls in a Markdown code fence are run if the fence ends the answer.
-type options() :: #{fenced := boolean(), formats => [beamai_protocol:format()], repair => boolean(), _ => _}.
%% Whether further text is shown, and the text that is held back.
-opaque stream() :: {open, Fenced :: boolean(), Held :: binary()} | {called, Held :: binary()} | ended.

%% @doc The answer without anything after an invented result.
-spec own(Text :: binary(), beamai_kernel:kernel(), options()) -> binary().
own(Text, Kernel, Options) when is_binary(Text) ->
    case binary:matches(Text, ?RESULTS) of
        [] -> Text;
        Marks -> until(Marks, Text, calls(Text, Kernel, Options), Kernel, Options)
    end.

until([], Text, _Whole, _Kernel, _Options) ->
    Text;
until([{Start, _} | Rest], Text, Whole, Kernel, Options) ->
    Before = binary:part(Text, 0, Start),
    case is_invented(Before, calls(Before, Kernel, Options), Whole) of
        true -> Before;
        false -> until(Rest, Text, Whole, Kernel, Options)
    end.

%% Within a call, as in a file's text, half of a call would be left before it. There the call is another one than in the whole answer.
is_invented(Before, [], _Whole) ->
    ends_line(Before);
is_invented(Before, Calls, Whole) ->
    Last = lists:last(Calls),
    case lists:nthtail(min(length(Calls) - 1, length(Whole)), Whole) of
        [Last | _] -> element(1, Last) =:= tool_call orelse ends_line(Before);
        _ -> false
    end.

calls(Text, Kernel, Options) ->
    [Part || Part <- protocol(Text, Kernel, Options), element(1, Part) =/= text].

ends_line(<<>>) -> true;
ends_line(Text) -> binary:last(Text) =:= $\n.

%% @doc The texts and calls of an answer, in order.
-spec parts(Text :: binary(), beamai_kernel:kernel(), options()) -> [beamai_protocol:piece()].
parts(Text, Kernel, #{fenced := Fenced} = Options) ->
    case protocol(Text, Kernel, Options) of
        [{text, _}] = Plain when Fenced -> fenced(Text, Plain, Kernel, Options);
        Parts -> Parts
    end.

protocol(Text, Kernel, Options) ->
    beamai_protocol:parse_all(Text, Kernel, maps:with([formats, repair], Options)).

fenced(Text, Plain, Kernel, Options) ->
    case re:run(Text, "^(.*?)^```[^`\n]*\n(.*)^```\\s*\\z", [dotall, multiline, {capture, all_but_first, index}]) of
        {match, [{0, WordsSize}, {Start, Size}]} ->
            Words = binary:part(Text, 0, WordsSize),
            Inner = binary:part(Text, Start, Size),
            inner(binary:match(Inner, <<"\n", ?FENCE/binary>>), Words, protocol(Inner, Kernel, Options), Plain);
        nomatch ->
            Plain
    end.

%% A fence that contains only calls.
inner(nomatch, Words, Parts, Plain) ->
    case [Part || Part <- Parts, not is_blank(Part)] of
        [_ | _] = Calls when element(1, hd(Calls)) =/= text ->
            case lists:keymember(text, 1, Calls) of
                true -> Plain;
                false -> [{text, Words} | Calls]
            end;
        _ ->
            Plain
    end;
inner(_MoreFences, _Words, _Parts, Plain) ->
    Plain.

is_blank({text, Text}) -> string:trim(Text) =:= <<>>;
is_blank(_Call) -> false.

%%% What is shown while the answer comes

%% @doc Starts a stream for displaying an answer; it takes the texts from {@link beamai_protocol:stream_feed/2}.
-spec begin_stream(options()) -> stream().
begin_stream(#{fenced := Fenced}) ->
    {open, Fenced, <<>>}.

%% @doc The text that can be displayed: without the start of an invented result, and without a fence that may contain a
%% call. `Pieces' are those of {@link beamai_protocol:stream_feed/2}.
-spec feed([beamai_protocol:piece()], stream()) -> {Shown :: binary(), stream()}.
feed(Pieces, Stream) ->
    {Shown, Next} = lists:mapfoldl(fun piece/2, Stream, Pieces),
    {iolist_to_binary(Shown), Next}.

piece(_Piece, ended) ->
    {<<>>, ended};
piece({text, Text}, {open, Fenced, Held}) ->
    All = <<Held/binary, Text/binary>>,
    shown(held_from(All, 0, Fenced), All, fun(Rest) -> {open, Fenced, Rest} end);
piece({text, Text}, {called, Held}) ->
    All = <<Held/binary, Text/binary>>,
    shown(held_after_call(All), All, fun(Rest) -> {called, Rest} end);
piece(_Call, {open, _Fenced, Held}) ->
    {Held, {called, <<>>}};
piece(_Call, {called, Held}) ->
    {Held, {called, <<>>}}.

shown({result, At}, All, _Open) -> {binary:part(All, 0, At), ended};
shown(At, All, Open) -> {binary:part(All, 0, At), Open(binary:part(All, At, byte_size(All) - At))}.

held_after_call(Text) ->
    case binary:match(Text, ?RESULTS) of
        {At, _} -> {result, At};
        nomatch -> byte_size(Text) - lists:max([beginning(Mark, Text, byte_size(Mark) - 1) || Mark <- ?RESULTS])
    end.

%% How many bytes at the end of a text may begin a mark.
beginning(_Mark, _Text, 0) ->
    0;
beginning(Mark, Text, Size) when Size > byte_size(Text) ->
    beginning(Mark, Text, byte_size(Text));
beginning(Mark, Text, Size) ->
    case binary:part(Text, byte_size(Text), -Size) =:= binary:part(Mark, 0, Size) of
        true -> Size;
        false -> beginning(Mark, Text, Size - 1)
    end.

%% Checks the start of each line.
held_from(Text, At, Fenced) ->
    Line = binary:part(Text, At, byte_size(Text) - At),
    case {begins_any(?RESULTS, Line), Fenced andalso begins(?FENCE, Line)} of
        {yes, _} -> {result, At};
        {partly, _} when Line =/= <<>> -> At;
        {_, yes} -> after_fence(Text, At, Fenced);
        {_, partly} when Line =/= <<>> -> At;
        _ -> next_line(Text, At, Fenced)
    end.

next_line(Text, At, Fenced) ->
    case binary:match(Text, <<"\n">>, [{scope, {At, byte_size(Text) - At}}]) of
        {Newline, 1} -> held_from(Text, Newline + 1, Fenced);
        nomatch -> byte_size(Text)
    end.

%% A fence that is followed by text is not a call.
after_fence(Text, At, Fenced) ->
    case re:run(Text, "\n```[^\n]*\n(?=\\s*\\S)", [{offset, At}, {capture, first}]) of
        {match, [{Start, Size}]} -> held_from(Text, Start + Size, Fenced);
        nomatch -> At
    end.

begins_any(Prefixes, Line) ->
    Found = [begins(Prefix, Line) || Prefix <- Prefixes],
    hd([Kind || Kind <- [yes, partly, no], lists:member(Kind, Found)]).

begins(Prefix, Line) ->
    Size = min(byte_size(Prefix), byte_size(Line)),
    case binary:part(Prefix, 0, Size) =:= binary:part(Line, 0, Size) of
        true when Size =:= byte_size(Prefix) -> yes;
        true -> partly;
        false -> no
    end.
