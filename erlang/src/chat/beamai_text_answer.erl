%% @doc The answer of a text model: its calls in the text protocol, with invented results removed.
%%
%% Models are trained on whole dialogues, and sometimes continue with the result of their own call. The answer is cut
%% before the first `TOOL_RESULT:' or `TOOL_ERROR:' outside of a call that starts a line or comes after a call. Before it on its line
%% there may be any white space, marks of Markdown, a role as in the system prompt (`System:'), and a function call.
%% @hidden
-module(beamai_text_answer).

-export([answer/3]).
-export([begin_stream/1, feed/2]).
-export_type([options/0, stream/0]).

-define(WORD, "TOOL_(?:RESULT|ERROR)[*_]*").
-define(RESULT, ?WORD ":").
%% The end of a text that may become one.
-define(PART, "(?:T|TO|TOO|TOOL|TOOL_|TOOL_R|TOOL_RE|TOOL_RES|TOOL_RESU|TOOL_RESUL|TOOL_E|TOOL_ER|TOOL_ERR|TOOL_ERRO|" ?WORD ")\\z").
%% As the parser detects the start of a Markdown code fence.
-define(MARGIN, "^(?:[ \t>]|(?:[-*+]|[0-9]{1,9}[.)])[ \t]){0,256}").
-define(FENCE, ?MARGIN "(?:```|~~~)").

%% White space and characters that nobody sees.
-define(IS_SPACE(C),
    C =< $\s; C =:= 16#85; C =:= 16#A0; C =:= 16#1680; C =:= 16#180E; C >= 16#2000, C =< 16#200F; C >= 16#2028, C =< 16#202F;
    C >= 16#205F, C =< 16#2064; C =:= 16#3000; C =:= 16#FEFF
).
%% The marks of quotes, lists, headings, tables and emphasis, and what models write between a call and a result.
-define(IS_MARK(C),
    C =:= $>; C =:= $-; C =:= $*; C =:= $_; C =:= $+; C =:= $#; C =:= $|; C =:= $=; C =:= $:;
    C >= $0, C =< $9; C =:= $.; C =:= $)
).
-define(ROLES, "system|user|you|assistant|tool|human|function").
-define(ROLE, "(?i:" ?ROLES ")[*_]*:").
%% So that text that goes on with marks only is not held back and searched without end.
-define(MOST_HELD, 64).

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
    {_Fence, At} = last_line(string:trim(Words, trailing)),
    {binary:part(Words, 0, At), Parts};
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
closes(Text, true) -> is_like(Text, "^\\s*(?:`{3,}|~{3,})?\\s*(?:(?:`{3,}|~{3,})[^`\r\n]*[\r\n])?[\\s>*_#]*\\z").

is_like(Text, Pattern) -> re:run(Text, Pattern, [{capture, none}, {newline, anycrlf}]) =:= match.

has_fence(Text) -> is_like(Text, "(?m)" ?FENCE).

is_blank({text, Text}) -> string:trim(Text) =:= <<>>;
is_blank(_Call) -> false.

own(Text, Kernel, Options) ->
    case re:run(Text, ?RESULT, [global, {capture, first}]) of
        nomatch -> Text;
        {match, Marks} -> until(Marks, Text, calls(Text, Kernel, Options), Kernel, Options)
    end.

until([], Text, _Whole, _Kernel, _Options) ->
    Text;
until([[{Start, _}] | Rest], Text, Whole, Kernel, Options) ->
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
        [Last | _] when element(1, Last) =:= tool_call -> after_call(without_lead(Before), Before);
        [Last | _] -> without_lead(Before);
        _ -> none
    end.

after_call(none, Before) -> Before;
after_call(Own, _Before) -> Own.

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
    After = lists:last(string:split(Last, ")", trailing)),
    Own = binary:part(Before, 0, byte_size(Before) - byte_size(After)),
    case After =/= Last andalso lead(After) =:= <<>> andalso lists:reverse(protocol(<<Own/binary, "\n">>, Kernel, Options)) of
        [{text, <<"\n">>}, {tool_call, #{format := function}} | _] -> Own;
        [{text, <<"\n">>}, {invalid, _, <<First, _/binary>>} | _] when First =/= $< -> Own;
        _ -> none
    end.

last_line(Text) ->
    At = case binary:matches(Text, [<<"\n">>, <<"\r">>]) of
        [] -> 0;
        Breaks -> element(1, lists:last(Breaks)) + 1
    end,
    {binary:part(Text, At, byte_size(Text) - At), At}.

%% The line after what may come before a result, in any order.
lead(<<C/utf8, Rest/binary>>) when ?IS_SPACE(C); ?IS_MARK(C) ->
    lead(Rest);
lead(Line) ->
    case re:run(Line, "^" ?ROLE, [{capture, first}]) of
        {match, [{0, Size}]} -> lead(binary:part(Line, Size, byte_size(Line) - Size));
        nomatch -> Line
    end.

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
    case binary:match(Text, [<<"\n">>, <<"\r">>], [{scope, {At, Rest}}]) of
        {Newline, 1} -> {binary:part(Text, At, Newline - At), Newline + 1};
        nomatch -> {binary:part(Text, At, Rest), none}
    end.

%% A fence is shown once it is followed by text.
may_begin_call(<<>>, _Next, _Text) -> false;
may_begin_call(Line, none, _Text) -> is_like(Line, ?MARGIN "(?:[-*+]?\\z|[0-9]{1,9}[.)]?\\z|`{0,2}\\z|~{0,2}\\z|```|~~~)");
may_begin_call(Line, Next, Text) -> has_fence(Line) andalso re:run(Text, "\\S", [{offset, Next}, {capture, none}]) =:= nomatch.

%% Where the mark of an invented result begins in a line, or may begin if it is not complete.
mark(Place, Line, Next) ->
    Rest = lead(Line),
    case is_like(Rest, "^" ?RESULT) of
        true -> {result, 0};
        false when Next =:= none, Line =/= <<>> ->
            case byte_size(Line) =< ?MOST_HELD andalso may_lead(Rest) of
                true -> {partly, 0};
                false -> mark_within(Place, Line, Next)
            end;
        false -> mark_within(Place, Line, Next)
    end.

may_lead(Rest) ->
    is_like(Rest, "^(?:\\z|" ?PART ")") orelse begins_role(Rest).

%% Whether a line that begins like a function call is one is known when the answer is whole; then the rest is shown, if it is part
%% of the answer.
mark_within(open, Line, Next) ->
    case is_like(Line, "^[A-Za-z_][\\w.:-]*\\(.*\\)") of
        true -> mark_within(called, Line, Next);
        false -> none
    end;
mark_within(called, Line, Next) ->
    case {re:run(Line, ?RESULT, [{capture, first}]), re:run(Line, ?PART, [{capture, first}])} of
        {{match, [{At, _}]}, _} -> {result, At};
        {nomatch, {match, [{At, _}]}} when Next =:= none -> {partly, At};
        _ -> none
    end.

%% Whether a role may be what the line goes on to.
begins_role(Rest) ->
    case re:run(Rest, "^([A-Za-z]*)[*_]*\\z", [{capture, [1], binary}]) of
        {match, [Word]} -> lists:any(fun(Role) -> string:prefix(Role, string:lowercase(Word)) =/= nomatch end, string:lexemes(?ROLES, "|"));
        nomatch -> false
    end.
