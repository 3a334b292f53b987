%% @doc The tool for sub-agents: `task'.
%%
%% It delegates work to one of the agents in the kernel's option `agents'. It requires approval unless a rule allows it.
-module(beamai_tool_task).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).

%% @doc What the module offers, and the tag of its tools.
-spec tool_info() -> beamai_tool_behaviour:info().
tool_info() ->
    #{description => <<"Gives work to sub-agents.">>, tags => [<<"task">>]}.

%% @doc The specs of the tools.
-spec tools() -> [beamai_tool:tool_spec()].
tools() ->
    beamai_catalogue:named(<<"beamai">>, <<"task">>).
