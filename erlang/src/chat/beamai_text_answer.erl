%% @doc The answer of a text model: its calls in the text protocol, with invented results removed.
%%
%% Models are trained on whole dialogues, and sometimes continue with the result of their own call. The answer is cut
%% before the first `TOOL_RESULT:' or `TOOL_ERROR:' outside of a call that starts a line or comes after a call. Before it on its line
%% there may be white space, marks of quotes and of emphasis, a role as in the system prompt (`System:'), or a function call.
%% @hidden
-module(beamai_text_answer).

-export([answer/3]).
-export([begin_stream/1, feed/2]).
-export_type([options/0, stream/0]).

-define(RESULTS, [<<"TOOL_RESULT:">>, <<"TOOL_ERROR:">>]).
%% As the parser detects the start of a Markdown code fence.
-define(MARGIN, "^(?:[ \t>]|(?:[-*+]|[0-9]{1,9}[.)])[ \t]){0,256}").
-define(FENCE, ?MARGIN "(?:```|~~~)").

-define(EMPHASIS, "[*_]{0,3}").
-define(ROLES, [<<"system">>, <<"user">>, <<"you">>, <<"assistant">>, <<"tool">>, <<"human">>, <<"function">>]).
%% Between a function call and a result on its line.
-define(JOINT, "[-=>:*_#| \t]*").

%% `fenced': whether calls in a Markdown code fence are run if the fence ends the answer.
-type options() :: #{fenced := boolean(), formats => [beamai_protocol:format()], repair => boolean(), _ => _}.
%% Whether a call has come, and the text that is held back; `ended' if no further text is shown.
-opaque stream() :: {open | called, Fenced :: boolean(), Held :: binary()} | ended.

%% @doc The answer without anything after an invented result, and its texts and calls, in order.
-spec answer(Text :: binary(), beamai_kernel:kernel(), options()) -> {Own :: binary(), [beamai_protocol:piece()]}.
answer(Text, Kernel, #{fenced := true} = Options) ->
    Own = own(Text, Kernel, Options),
    Parts = protocol(Own, Kernel, Options),
    case protocol(Own, Kernel, Options#{fenced := false}) of
        Parts -> {Own, Parts};
        _InCode -> fenced(Own, Parts, Text, Kernel, Options)
    end;
answer(Text, Kernel, Options) ->
    Own = own(Text, Kernel, Options),
    {Own, protocol(Own, Kernel, Options)}.

%% A fence that the answer does not end with is an example.
fenced(Own, Parts, Text, Kernel, Options) ->
    case calls_to_end(before(Parts), byte_size(Own) < byte_size(Text)) of
        none -> example(Parts, answer(Text, Kernel, Options#{fenced := false}));
        Whole -> {Own, Whole}
    end.

%% A fence in the contents of an example seems to end it. What follows there is still no call.
example(Parts, {Own, Found}) ->
    case [Piece || Piece <- Found, element(1, Piece) =/= text, not lists:member(Piece, Parts)] of
        [] -> {Own, Found};
        [_ | _] -> {Own, [Piece || Piece <- Parts, element(1, Piece) =/= tool_call orelse lists:member(Piece, Found)]}
    end.

%% The words before the fence, without its line, and what follows them.
before([{text, Words} | Parts]) ->
    Lines = binary:split(string:trim(Words, trailing), <<"\n">>, [global]),
    {iolist_to_binary([[Line, $\n] || Line <- lists:droplast(Lines)]), Parts};
before(Parts) ->
    {<<>>, Parts}.

calls_to_end({Words, Parts}, IsCut) ->
    {Calls, Rest} = lists:splitwith(fun(Part) -> element(1, Part) =/= text orelse is_blank(Part) end, Parts),
    case Rest of
        [] -> [{text, Words} | Calls];
        [{text, After}] -> ended({closes(After, IsCut), IsCut andalso not has_fence(After)}, {text, After}, [{text, Words} | Calls]);
        _ -> none
    end.

ended({true, _}, _After, Whole) -> Whole;
ended({false, true}, After, Whole) -> Whole ++ [After];
ended({false, false}, _After, _Whole) -> none.

%% The fence's last line may be missing, and an invented result may have had a fence of its own, or its mark been emphasised.
closes(Text, false) -> is_like(Text, "^\\s*(?:`{3,}|~{3,})?\\s*\\z");
closes(Text, true) -> is_like(Text, "^\\s*(?:`{3,}|~{3,})?\\s*(?:(?:`{3,}|~{3,})[^`\n]*\n)?[\\s>*_#]*\\z").

is_like(Text, Pattern) -> re:run(Text, Pattern, [{capture, none}]) =:= match.

has_fence(Text) -> is_like(Text, "(?m)" ?FENCE).

is_blank({text, Text}) -> string:trim(Text) =:= <<>>;
is_blank(_Call) -> false.

own(Text, Kernel, Options) ->
    case binary:matches(Text, ?RESULTS) of
        [] -> Text;
        Marks -> until(Marks, Text, calls(Text, Kernel, Options), Kernel, Options)
    end.

until([], Text, _Whole, _Kernel, _Options) ->
    Text;
until([{Start, _} | Rest], Text, Whole, Kernel, Options) ->
    Before = binary:part(Text, 0, Start),
    case before_invented(Before, calls(Before, Kernel, Options), Whole) of
        none ->
            case ends_with_function(Before, Kernel, Options) of
                none -> until(Rest, Text, Whole, Kernel, Options);
                Own -> Own
            end;
        Own ->
            Own
    end.

%% Within a call, as in a file's text, half of a call would be left before it. There the call is another one than in the whole answer.
before_invented(Before, [], _Whole) ->
    without_lead(Before);
before_invented(Before, Calls, Whole) ->
    Last = lists:last(Calls),
    case lists:nthtail(min(length(Calls) - 1, length(Whole)), Whole) of
        [Last | _] when element(1, Last) =:= tool_call -> Before;
        [Last | _] -> without_lead(Before);
        _ -> none
    end.

%% The text before what leads to a result on its line; `none' if that is something else.
without_lead(Before) ->
    {Line, At} = last_line(Before),
    case lead(Line) of
        <<>> -> binary:part(Before, 0, At);
        _ -> none
    end.

%% With text after it on its line, a function call is a sentence about one. A result there makes it a call, as on the next line.
ends_with_function(Before, Kernel, Options) ->
    {Last, _} = last_line(Before),
    case re:run(Last, "\\)(" ?JOINT ")\\z", [{capture, [1]}]) of
        {match, [{_, Size}]} ->
            Own = binary:part(Before, 0, byte_size(Before) - Size),
            case lists:reverse(protocol(<<Own/binary, "\n">>, Kernel, Options)) of
                [{text, <<"\n">>}, {tool_call, #{format := function}} | _] -> Own;
                [{text, <<"\n">>}, {invalid, _, <<First, _/binary>>} | _] when First =/= $< -> Own;
                _ -> none
            end;
        nomatch ->
            none
    end.

last_line(Text) ->
    At = case binary:matches(Text, <<"\n">>) of
        [] -> 0;
        Breaks -> element(1, lists:last(Breaks)) + 1
    end,
    {binary:part(Text, At, byte_size(Text) - At), At}.

%% The line after what may come before a result.
lead(Line) ->
    Rest = re:replace(Line, "^[ \t>]*" ?EMPHASIS, "", [{return, binary}]),
    Role = ["^(?i:", lists:join("|", ?ROLES), ")" ?EMPHASIS ":" ?EMPHASIS "[ \t>]*" ?EMPHASIS],
    re:replace(Rest, Role, "", [{return, binary}]).

calls(Text, Kernel, Options) ->
    [Part || Part <- protocol(Text, Kernel, Options), element(1, Part) =/= text].

protocol(Text, Kernel, Options) ->
    beamai_protocol:parse_all(Text, Kernel, maps:with([formats, repair, fenced], Options)).

%%% What is shown while the answer comes

%% @doc Starts a stream for displaying an answer; it takes the texts from {@link beamai_protocol:stream_feed/2}.
-spec begin_stream(options()) -> stream().
begin_stream(#{fenced := Fenced}) ->
    {open, Fenced, <<>>}.

%% @doc The text that can be displayed: without the start of an invented result, and without a fence that a call may begin.
%% `Pieces' are those of {@link beamai_protocol:stream_feed/2}.
-spec feed([beamai_protocol:piece()], stream()) -> {Shown :: binary(), stream()}.
feed(Pieces, Stream) ->
    {Shown, Next} = lists:mapfoldl(fun piece/2, Stream, Pieces),
    {iolist_to_binary(Shown), Next}.

%% Only the whole answer tells whether a call in a fence is run, and what of the text is left then.
piece(_Piece, ended) ->
    {<<>>, ended};
piece({text, Text}, {Place, Fenced, Held}) ->
    All = <<Held/binary, Text/binary>>,
    case shown_to(All, 0, Place, Fenced) of
        {result, At} -> {binary:part(All, 0, At), ended};
        At -> {binary:part(All, 0, At), {Place, Fenced, binary:part(All, At, byte_size(All) - At)}}
    end;
piece(_Call, {_Place, Fenced, Held}) ->
    case Fenced andalso has_fence(Held) of
        true -> {<<>>, ended};
        false -> {Held, {called, Fenced, <<>>}}
    end.

%% Checks line by line.
shown_to(Text, At, Place, Fenced) ->
    {Line, Next} = line(Text, At),
    case {mark(Place, Line, Next), Fenced andalso may_begin_call(Line, Next, Text)} of
        {{result, Offset}, _} -> {result, At + Offset};
        {_, true} -> At;
        {{partly, Offset}, _} -> At + Offset;
        {none, false} when Next =:= none -> byte_size(Text);
        {none, false} -> shown_to(Text, Next, Place, Fenced)
    end.

%% The line at this offset, and the offset of the next one.
line(Text, At) ->
    Rest = byte_size(Text) - At,
    case binary:match(Text, <<"\n">>, [{scope, {At, Rest}}]) of
        {Newline, 1} -> {binary:part(Text, At, Newline - At), Newline + 1};
        nomatch -> {binary:part(Text, At, Rest), none}
    end.

%% A fence is shown once it is followed by text.
may_begin_call(<<>>, _Next, _Text) -> false;
may_begin_call(Line, none, _Text) -> is_like(Line, ?MARGIN "(?:[-*+]?\\z|[0-9]{1,9}[.)]?\\z|`{0,2}\\z|~{0,2}\\z|```|~~~)");
may_begin_call(Line, Next, Text) -> has_fence(Line) andalso re:run(Text, "\\S", [{offset, Next}, {capture, none}]) =:= nomatch.

%% Where the mark of an invented result begins in a line, or may begin if it is not complete.
mark(open, Line, Next) ->
    Rest = lead(Line),
    case begins_any(?RESULTS, Rest) of
        yes -> {result, 0};
        partly when Next =:= none, Line =/= <<>> -> {partly, 0};
        no when Next =:= none -> case begins_role(Rest) of true -> {partly, 0}; false -> mark_after_function(Line, Next) end;
        _ -> mark_after_function(Line, Next)
    end;
mark(called, Line, Next) ->
    case binary:match(Line, ?RESULTS) of
        {Offset, _} -> {result, Offset};
        nomatch when Next =:= none -> partly(byte_size(Line), lists:max([beginning(Mark, Line, byte_size(Mark) - 1) || Mark <- ?RESULTS]));
        nomatch -> none
    end.

%% Whether this was a function call is known when the answer is whole; then the rest is shown, if it is part of the answer.
mark_after_function(Line, Next) ->
    case is_like(Line, "^[A-Za-z_][\\w.:-]*\\(.*\\)" ?JOINT "(?:T|\\z)") of
        true -> mark(called, Line, Next);
        false -> none
    end.

%% Whether a role may be what the line goes on to.
begins_role(Rest) ->
    Word = string:lowercase(re:replace(Rest, ?EMPHASIS "\\z", "", [{return, binary}])),
    lists:any(fun(Role) -> string:prefix(Role, Word) =/= nomatch end, ?ROLES).

partly(_Size, 0) -> none;
partly(Size, Beginning) -> {partly, Size - Beginning}.

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
