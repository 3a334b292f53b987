%% @doc The outcome of a call as a message for the model.
%% @hidden
-module(beamai_agent_result).

-export([message/1]).

%% @doc The message.
-spec message(beamai_agent_calls:outcome()) -> beamai_chat_model:message().
message({#{id := Id, name := Name}, {ok, Result}}) ->
    {Left, Images} = beamai_images:take(Result),
    Message = #{role => tool, call => Id, name => Name, content => beamai_json:text(Left), outcome => ok},
    case Images of
        [] -> Message;
        [_ | _] -> Message#{images => Images}
    end;
message({#{id := Id, name := Name}, Outcome}) ->
    {Kind, Content} = content(Outcome),
    #{role => tool, call => Id, name => Name, content => Content, outcome => Kind}.

content({refused, Message}) -> {refused, Message};
content({error, #{error_type := Type, message := Message, details := Details}}) when is_map(Details) ->
    {error, beamai_json:text(#{error_type => Type, message => Message, details => tellable(Details)})};
content({error, Reason}) -> {error, beamai_json:text(Reason)}.

%% Terms of Erlang that JSON cannot say tell a model nothing.
tellable(Details) ->
    maps:filter(fun(_Key, Value) -> element(1, beamai_json:encode(Value)) =:= ok end, Details).
