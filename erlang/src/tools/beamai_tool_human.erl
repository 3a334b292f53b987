%% @doc The question tool: `human_input'.
%%
%% Questions go to the `ask_user' callback of the context or the kernel, in the process that called the kernel; the time
%% of an answer does not count towards any timeout. Without a callback, the model is told that nobody can be asked.
-module(beamai_tool_human).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).

%% @doc What the module offers, and the tag of its tools.
-spec tool_info() -> beamai_tool_behaviour:info().
tool_info() ->
    #{description => <<"Asks the user.">>, tags => [<<"human">>]}.

%% @doc The specs of the tools.
-spec tools() -> [beamai_tool:tool_spec()].
tools() ->
    beamai_catalogue:named(<<"beamai">>, <<"human_input">>).
