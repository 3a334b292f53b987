%% @doc Events of a run as text for a terminal.
-module(beamai_chat_show).

-export([event/1]).

-import(beamai_display, [printable/1]).

%% @doc What is shown of an event; nothing of most.
-spec event(beamai_agent:event()) -> unicode:chardata().
event({text, Text}) -> printable(Text);
event({retry, #{delay_ms := Delay, message := Message}}) ->
    ["\n(", printable(Message), "; again in ", io_lib:format("~.1f", [Delay / 1000]), " s)\n"];
event({tool_result, #{name := Name, args := Args}, Outcome}) -> ["\n", result(Name, Args, Outcome)];
event({agent, Name, {tool_result, #{name := Tool, args := Args}, Outcome}}) ->
    #{summary := Summary} = display(Tool, Args, Outcome),
    ["  ", printable(Name), ": ", Summary, "\n"];
event(_Other) -> [].

result(Name, Args, Outcome) ->
    #{text := Text} = display(Name, Args, Outcome),
    [string:trim(Text, trailing, "\n"), "\n"].

display(Name, Args, {ok, Result}) -> beamai_display:of_result(Name, Args, Result);
display(Name, Args, {error, Error}) -> beamai_display:of_error(Name, Args, Error);
display(Name, Args, {refused, Why}) ->
    beamai_display:of_error(Name, Args, beamai_error:new(Name, invalid_input, invalid_argument, Why)).
