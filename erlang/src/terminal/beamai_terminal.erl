%% @doc The user at the terminal, as a kernel's `approve' and `ask_user' callbacks.
%%
%% ```
%%     beamai_kernel:new(#{approve => fun beamai_terminal:approve/1, ask_user => fun beamai_terminal:ask_user/1}).
%% '''
%%
%% Prompts are written to the group leader of the calling process. An Erlang shell reads whole lines: a line that starts
%% with Esc, or the end of input, cancels.
-module(beamai_terminal).

-export([approve/1, ask_user/1]).

-import(beamai_display, [printable/1]).

-define(RECOMMENDED, <<" (Recommended)">>).

%% @doc Shows what a call would do and asks for approval: `y' allows this call, `s' this call and identical ones for the
%% rest of the session, `a' adds the rules that are shown for the rest of the session, `r' followed by a rule, such as
%% `r Bash(git:*)', adds that rule. Esc cancels, anything else denies. Without a terminal the call is denied.
-spec approve(beamai_approval:request()) -> beamai_approval:answer().
approve(#{message := Message} = Request) ->
    case is_terminal() of
        true ->
            %% The message has one line, and ends with the size of its text.
            say("~ts~n", [printable(Message)]),
            _ = [say("~ts~n", [printable(Diff)]) || #{diff := Diff} <- [Request]],
            _ = [say("What would allow it: ~ts~n", [printable(Rule)]) || Rule <- maps:get(wanted, Request, [])],
            Always = maps:get(always, Request, []),
            decided(line(prompt(Always)), Always);
        false ->
            {deny, <<"there is no terminal to ask at">>}
    end.

prompt([]) ->
    "Allow it? [y]es, for the [s]ession, by a [r]ule for the session (r RULE), [N]o: ";
prompt(Always) ->
    Rules = printable(iolist_to_binary(lists:join(", ", Always))),
    io_lib:format(
        "Allow it? [y]es, for the [s]ession, [a]lways in the session what ~ts allows, by another [r]ule (r RULE), [N]o: ", [Rules]
    ).

decided({ok, Answer}, _Always) when Answer =:= <<"y">>; Answer =:= <<"Y">>; Answer =:= <<"yes">>; Answer =:= <<"Yes">> -> allow;
decided({ok, Answer}, _Always) when Answer =:= <<"s">>; Answer =:= <<"session">> -> {allow, session};
decided({ok, Answer}, [_ | _] = Always) when Answer =:= <<"a">>; Answer =:= <<"always">> -> {allow, {rules, Always}};
decided({ok, <<"r ", Rule/binary>>}, _Always) -> {allow, {rule, string:trim(Rule)}};
decided(cancelled, _Always) -> cancelled;
decided(_, _Always) -> deny.

%% @doc Asks questions one by one. A number selects an option, comma-separated numbers several if that is permitted; any
%% other text is the answer itself. Cancelling one question cancels all; `no_frontend' without a terminal.
-spec ask_user([map()]) -> {ok, #{binary() => binary() | [binary()]}} | cancelled | no_frontend.
ask_user(Questions) ->
    case is_terminal() of
        true -> ask(Questions, #{});
        false -> no_frontend
    end.

ask([], Answers) ->
    {ok, Answers};
ask([#{<<"question">> := Text} = Question | Rest], Answers) ->
    {Asks, Recommended} = asker(Question),
    say("~ts: ~ts~n", [Asks, indented(Text)]),
    _ = lists:foldl(fun(Option, Number) -> option(Option, Number, Recommended) end, 1, maps:get(<<"options">>, Question, [])),
    case line("> ") of
        {ok, <<>>} -> ask([Question | Rest], Answers);
        {ok, Answer} -> ask(Rest, Answers#{Text => chosen(Question, Answer)});
        _CancelledOrEof -> cancelled
    end.

%% Who asks, and the number of the option that they recommend.
asker(#{<<"asked_by">> := <<"mcp_server">>}) -> {"An MCP server asks", none};
asker(_Question) -> {"The model asks", 1}.

option(#{<<"label">> := Label, <<"description">> := Description}, Number, Recommended) ->
    say("  ~b. ~ts~ts  ~ts~n", [Number, indented(Label), [recommended(Label) || Number =:= Recommended], indented(Description)]),
    Number + 1.

%% With all lines but the first indented, so that no line of a model's text looks like one of ours.
indented(Text) ->
    string:replace(printable(Text), "\n", "\n      ", all).

%% The first option is the recommended one; some models already write that into its label.
recommended(Label) ->
    case string:find(Label, ?RECOMMENDED, trailing) of
        ?RECOMMENDED -> "";
        _ -> ?RECOMMENDED
    end.

chosen(Question, Answer) ->
    Labels = [Label || #{<<"label">> := Label} <- maps:get(<<"options">>, Question, [])],
    case {maps:get(<<"multi_select">>, Question, false), label(Answer, Labels)} of
        {false, none} -> Answer;
        {false, Label} -> Label;
        {true, _} -> several([label(Part, Labels) || Part <- binary:split(Answer, <<",">>, [global])], Answer)
    end.

several(Chosen, Answer) ->
    case lists:member(none, Chosen) of
        true -> Answer;
        false -> Chosen
    end.

label(Text, Labels) ->
    try binary_to_integer(string:trim(Text)) of
        Number when Number >= 1, Number =< length(Labels) -> lists:nth(Number, Labels);
        _ -> none
    catch
        error:badarg -> none
    end.

%% Only a terminal reports its width.
is_terminal() ->
    case io:columns() of
        {ok, _} -> true;
        {error, enotsup} -> false
    end.

line(Prompt) ->
    case io:get_line(Prompt) of
        eof -> eof;
        {error, _} -> eof;
        Line -> typed(string:trim(unicode:characters_to_binary(Line)))
    end.

typed(<<"\e", _/binary>>) -> cancelled;
typed(Text) -> {ok, Text}.

say(Format, Args) ->
    io:format(Format, Args).
