%% @doc The question tool: `human_input'.
%%
%% Questions go to `ask_user' of the context or the kernel, in the process that called the kernel; the time
%% that an answer takes counts for no timeout. Without `ask_user' the model is told that nobody can be asked.
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
