%% @doc The state of a conversation: messages and usage. Plain data, without keys, funs or pids.
%% @hidden
-module(beamai_conversation).

-export([new/0, load/1, restored/1, add/2, messages/1, replace/2, unanswered/1, interrupted/1, count/3, sum/2, last_text/1, is_text/1]).
-export_type([t/0]).

-type t() :: #{
    version := 1,
    messages := [beamai_chat_model:message()],
    tool_calls := non_neg_integer(),
    usage := #{atom() => non_neg_integer()}
}.

%% @doc An empty conversation.
-spec new() -> t().
new() ->
    #{version => 1, messages => [], tool_calls => 0, usage => #{}}.

%% @doc Prepares a stored conversation for continuation. If it ended between calls and their results, the missing
%% results are added, because providers reject calls without results.
-spec load(term()) -> {ok, t()} | error.
load(#{version := 1, messages := Messages, tool_calls := Calls, usage := Usage} = Stored) when
    is_list(Messages), is_integer(Calls), is_map(Usage)
->
    case lists:all(fun is_message/1, Messages) andalso lists:all(fun is_integer/1, maps:values(Usage)) of
        true -> {ok, Stored#{messages := answered(Messages)}};
        false -> error
    end;
load(_Other) ->
    error.

%% @doc A conversation from stored messages. Results are put in the order of their calls; the last calls may have none
%% yet.
-spec restored([beamai_chat_model:message()]) -> t().
restored(Messages) ->
    (new())#{messages := ordered(Messages)}.

ordered([#{role := assistant, tool_calls := [_ | _] = Calls} = Message | Rest]) ->
    {Results, After} = lists:splitwith(fun is_result/1, Rest),
    Known = maps:groups_from_list(fun(#{call := Id}) -> Id end, Results),
    {OfCalls, _} = lists:mapfoldl(fun result_of/2, Known, Calls),
    [Message | lists:append(OfCalls)] ++ ordered(After);
ordered([Message | Rest]) ->
    [Message | ordered(Rest)];
ordered([]) ->
    [].

%% A log of an earlier version may have several calls with the same id in an answer.
result_of(#{id := Id}, Left) ->
    case Left of
        #{Id := [Result | Rest]} -> {[Result], Left#{Id := Rest}};
        #{} -> {[], Left}
    end.

is_result(#{role := Role}) -> Role =:= tool.

is_message(#{role := user, content := Text} = Message) ->
    Files = maps:get(attachments, Message, []),
    is_text(Text) andalso is_list(Files) andalso lists:all(fun beamai_attachments:is_attachment/1, Files);
is_message(#{role := assistant, content := Text} = Message) ->
    Calls = maps:get(tool_calls, Message, []),
    is_text(Text) andalso is_list(Calls) andalso lists:all(fun is_call/1, Calls);
is_message(#{role := tool, call := Id, name := Name, content := Text, outcome := Outcome} = Message) ->
    Images = maps:get(images, Message, []),
    lists:member(Outcome, [ok, error, refused]) andalso lists:all(fun is_text/1, [Id, Name, Text]) andalso is_list(Images) andalso lists:all(fun is_image/1, Images);
is_message(_Other) ->
    false.

is_call(#{id := Id, name := Name, args := Args}) -> is_text(Id) andalso is_text(Name) andalso is_map(Args);
is_call(_Other) -> false.

is_image(#{media_type := Type, data := Data}) -> is_text(Type) andalso is_text(Data);
is_image(_Other) -> false.

%% @doc Whether a term is valid UTF-8 text.
-spec is_text(term()) -> boolean().
is_text(Text) ->
    is_binary(Text) andalso unicode:characters_to_binary(Text) =:= Text.

answered([#{role := assistant, tool_calls := [_ | _] = Calls} = Message | Rest]) ->
    {Results, After} = lists:splitwith(fun is_result/1, Rest),
    Known = [Id || #{call := Id} <- Results],
    Missing = [interrupted(Call) || Call <- without_result(Calls, Known)],
    [Message | Results] ++ Missing ++ answered(After);
answered([Message | Rest]) ->
    [Message | answered(Rest)];
answered([]) ->
    [].

%% @doc The calls of the last answer that have no result yet, and the results of the others.
-spec unanswered(t()) -> {[beamai_chat_model:call()], Results :: [beamai_chat_model:message()]}.
unanswered(#{messages := Messages}) ->
    {Results, Before} = lists:splitwith(fun is_result/1, lists:reverse(Messages)),
    Known = [Id || #{call := Id} <- Results],
    case Before of
        [#{role := assistant, tool_calls := Calls} | _] ->
            {without_result(Calls, Known), lists:reverse(Results)};
        _ ->
            {[], []}
    end.

%% A result answers one call, even if a server has given several the same id.
without_result([], _Known) ->
    [];
without_result([#{id := Id} = Call | Calls], Known) ->
    case lists:member(Id, Known) of
        true -> without_result(Calls, lists:delete(Id, Known));
        false -> [Call | without_result(Calls, Known)]
    end.

%% @doc The result for a call whose effect is unknown.
-spec interrupted(beamai_chat_model:call()) -> beamai_chat_model:message().
interrupted(#{id := Id, name := Name}) ->
    Text = <<"the run was interrupted before this call's result was there; it may or may not have taken effect: find out before you repeat it">>,
    #{role => tool, call => Id, name => Name, content => Text, outcome => error}.

%% @doc Appends messages.
-spec add([beamai_chat_model:message()], t()) -> t().
add(New, #{messages := Messages} = Conversation) ->
    Conversation#{messages := Messages ++ New}.

%% @doc Replaces all messages.
-spec replace([beamai_chat_model:message()], t()) -> t().
replace(Messages, Conversation) ->
    Conversation#{messages := Messages}.

%% @doc The messages, oldest first, with a result for each call.
-spec messages(t()) -> [beamai_chat_model:message()].
messages(#{messages := Messages}) ->
    Messages.

%% @doc Adds usage to the totals.
-spec count(Calls :: non_neg_integer(), Usage :: #{atom() => non_neg_integer()}, t()) -> t().
count(Calls, Usage, #{tool_calls := Before, usage := Used} = Conversation) ->
    Conversation#{tool_calls := Before + Calls, usage := sum(Usage, Used)}.

%% @doc Adds two usages.
-spec sum(#{atom() => non_neg_integer()}, #{atom() => non_neg_integer()}) -> #{atom() => non_neg_integer()}.
sum(Usage, Used) ->
    maps:fold(fun(Key, N, Acc) -> Acc#{Key => N + maps:get(Key, Acc, 0)} end, Used, Usage).

%% @doc The text of the last answer; empty if there is none.
-spec last_text(t()) -> binary().
last_text(#{messages := Messages}) ->
    case [Text || #{role := assistant, content := Text} <- lists:reverse(Messages), Text =/= <<>>] of
        [Text | _] -> Text;
        [] -> <<>>
    end.
