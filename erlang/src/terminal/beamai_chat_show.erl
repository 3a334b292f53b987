%% @doc Formats the events of a run for a terminal.
%% @hidden
-module(beamai_chat_show).

-export([event/2]).

-import(beamai_display, [printable/1]).

%% @doc The text for an event; empty for most.
-spec event(beamai_agent:event(), IsColoured :: boolean()) -> unicode:chardata().
event({text, Text}, _IsColoured) ->
    printable(Text);
event({retry, #{delay_ms := Delay, message := Message}}, _IsColoured) ->
    ["\n(", printable(Message), "; again in ", io_lib:format("~.1f", [Delay / 1000]), " s)\n"];
event({tool_result, #{name := Name, args := Args}, Outcome}, IsColoured) ->
    ["\n", string:trim(text(display(Name, Args, Outcome), IsColoured), trailing, "\n"), "\n"];
event({agent, Name, {tool_result, #{name := Tool, args := Args}, Outcome}}, _IsColoured) ->
    #{summary := Summary} = display(Tool, Args, Outcome),
    ["  ", printable(Name), ": ", Summary, "\n"];
event(_Other, _IsColoured) ->
    [].

text(#{text := Text}, true) -> Text;
text(#{summary := Summary} = Display, false) -> [Summary, "\n", maps:get(body, Display, <<>>)].

display(Name, Args, {ok, Result}) -> beamai_display:of_result(Name, Args, Result);
display(Name, Args, {error, Error}) -> beamai_display:of_error(Name, Args, Error);
display(Name, Args, {refused, Why}) ->
    beamai_display:of_error(Name, Args, beamai_error:new(Name, invalid_input, invalid_argument, Why)).
