%% @doc Shortens a conversation: removes old tool results first, then replaces the beginning by a summary. Pinned
%% messages and the current request are kept verbatim.
%% @hidden
-module(beamai_compaction).

-export([without_old_results/2, split/2, summarised/3, transcript/2, cut_results/2]).
-export_type([summary/0]).

-type messages() :: [beamai_chat_model:message()].
%% The part of a summary that is kept in later summaries.
-type summary() :: #{pinned := [binary()]}.

%% Shorter results are kept: a note in their place would be as long.
-define(SHORT_BYTES, 300).
%% Maximum characters of a message in the text that is summarised.
-define(SHOWN_CHARS, 2000).

%%% Results

%% @doc Removes tool results, oldest first, until the messages have at most `Goal' tokens. The results of the last
%% answer are kept.
-spec without_old_results(messages(), Goal :: non_neg_integer()) -> messages().
without_old_results(Messages, Goal) ->
    {Last, Before} = lists:splitwith(fun(#{role := Role}) -> Role =:= tool end, lists:reverse(Messages)),
    emptied(lists:reverse(Before), beamai_tokens:of_messages(Messages) - Goal) ++ lists:reverse(Last).

emptied([Message | Rest], Excess) when Excess > 0 ->
    Shorter = emptied(Message),
    [Shorter | emptied(Rest, Excess - beamai_tokens:of_message(Message) + beamai_tokens:of_message(Shorter))];
emptied(Messages, _Excess) ->
    Messages.

emptied(#{role := tool, pinned := true} = Message) ->
    Message;
emptied(#{role := tool, content := Text} = Message) when byte_size(Text) > ?SHORT_BYTES; is_map_key(images, Message) ->
    (maps:remove(images, Message))#{content := note(["The result, ", bytes(Text), ", was removed"])};
emptied(Message) ->
    Message.

note(Text) ->
    iolist_to_binary(["(", Text, " to make room. Call the tool again if you need it.)"]).

bytes(Text) -> [integer_to_list(byte_size(Text)), " bytes"].

%% @doc Cuts results that are too long even on their own to equal shares of `Goal'.
-spec cut_results(messages(), Goal :: non_neg_integer()) -> messages().
cut_results(Messages, Goal) ->
    Results = length([ok || #{role := tool} <- Messages]),
    Others = beamai_tokens:of_messages([Message || #{role := Role} = Message <- Messages, Role =/= tool]),
    Most = max(?SHORT_BYTES, 4 * max(0, Goal - Others) div max(1, Results)),
    [cut(Message, Most) || Message <- Messages].

cut(#{role := tool, content := Text} = Message, Most) when byte_size(Text) > Most ->
    Begin = beamai_text:whole_characters(binary:part(Text, 0, Most - ?SHORT_BYTES div 2)),
    Note = note([integer_to_list(byte_size(Text) - byte_size(Begin)), " bytes that followed were removed"]),
    (maps:remove(images, Message))#{content := <<Begin/binary, "\n", Note/binary>>};
cut(Message, _Most) ->
    Message.

%%% The beginning

%% @doc Splits the messages into a beginning to summarise, and an end of about `Goal' tokens that is kept. The end
%% starts with an answer or an input, not between calls and their results.
-spec split(messages(), Goal :: non_neg_integer()) -> {messages(), messages()}.
split(Messages, Goal) ->
    {Before, After} = suffix(lists:reverse(Messages), Goal, []),
    whole_turns(Before, After).

suffix([Message | Before], Left, After) ->
    case Left - beamai_tokens:of_message(Message) of
        Rest when Rest >= 0; After =:= [] -> suffix(Before, Rest, [Message | After]);
        _ -> {[Message | Before], After}
    end;
suffix([], _Left, After) ->
    {[], After}.

%% Results belong to the answer before them.
whole_turns([Message | Before], [#{role := tool} | _] = After) -> whole_turns(Before, [Message | After]);
whole_turns(Before, After) -> {lists:reverse(Before), After}.

%% @doc Replaces the beginning of the messages by a summary.
-spec summarised(Begin :: messages(), End :: messages(), Text :: binary()) -> messages().
summarised(Begin, End, Text) ->
    Pinned = lists:append([pinned(Message) || Message <- Begin]),
    Parts =
        [["The beginning of this conversation was replaced by a summary, to make room.\n\n<summary>\n", Text, "\n</summary>"]] ++
            [["<pinned>\n", Word, "\n</pinned>"] || Word <- Pinned] ++
            [["The request that is being worked on:\n<request>\n", Request, "\n</request>"] || Request <- request(Begin, End)],
    Content = iolist_to_binary(lists:join("\n\n", Parts)),
    Summary = #{role => user, content => Content, summary => #{pinned => Pinned}},
    case End of
        [#{role := user} | _] -> [Summary, #{role => assistant, content => <<"Understood.">>} | End];
        _ -> [Summary | End]
    end.

pinned(#{summary := #{pinned := Pinned}}) -> Pinned;
pinned(#{pinned := true, content := Text} = Message) -> [iolist_to_binary([Text, beamai_attachments:names(Message)])];
pinned(_Message) -> [].

%% If the end has no input of its own, it answers the last input of the beginning.
request(Begin, End) ->
    case {[ok || #{role := user} <- End], [Message || #{role := user} = Message <- lists:reverse(Begin)]} of
        {[], [#{summary := _} = Message | _]} -> [request_of(Message)];
        {[], [#{pinned := true} | _]} -> [];
        {[], [#{content := Text} = Message | _]} -> [[Text, beamai_attachments:names(Message)]];
        _ -> []
    end.

request_of(#{content := Text}) ->
    case re:run(Text, "<request>\n(.*)\n</request>", [dotall, {capture, all_but_first, binary}]) of
        {match, [Request]} -> Request;
        nomatch -> <<"(see the summary)">>
    end.

%% @doc The messages as text for summarising, at most `Most' tokens.
-spec transcript(messages(), Most :: pos_integer()) -> binary().
transcript(Messages, Most) ->
    Text = unicode:characters_to_binary(lists:join("\n\n", [line(Message) || Message <- Messages])),
    Bytes = 4 * Most,
    case byte_size(Text) of
        Size when Size =< Bytes -> Text;
        Size ->
            Begin = beamai_text:whole_characters(binary:part(Text, 0, Bytes div 4)),
            <<Begin/binary, "\n\n(...)\n\n", (tail(binary:part(Text, Size - Bytes div 2, Bytes div 2)))/binary>>
    end.

%% Drops a partial UTF-8 character at the start.
tail(<<2#10:2, _:6, Rest/binary>>) -> tail(Rest);
tail(Text) -> Text.

line(#{role := user, content := Text} = Message) -> ["USER: ", shown(Text), beamai_attachments:names(Message)];
line(#{role := assistant, content := Text} = Message) ->
    ["ASSISTANT: ", shown(Text), [["\nCALL ", Name, " ", shown(beamai_json:text(Args))] || #{name := Name, args := Args} <- maps:get(tool_calls, Message, [])]];
line(#{role := tool, name := Name, content := Text}) -> ["RESULT of ", Name, ": ", shown(Text)].

shown(Text) ->
    Begin = string:slice(beamai_text:whole_characters(binary:part(Text, 0, min(byte_size(Text), 4 * ?SHOWN_CHARS))), 0, ?SHOWN_CHARS),
    case byte_size(Begin) < byte_size(Text) of
        true -> [Begin, " (...)"];
        false -> Begin
    end.
