%% @doc The dialect `coder': `read', `list', `glob', `grep', `write', `edit', `patch', `bash', `todoread', `todowrite',
%% `skill', `task', `question', `fetch', and the tools for language servers and git: twenty-two in total.
%%
%% The same operations as in the `beamai_tool_' modules, with this dialect's names, parameters and results. Its git and
%% LSP tools, `skill' and `task' have the same names as in those modules: load only one of the two.
-module(beamai_dialect_coder).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).

%% @doc What the module offers, and the tag of its tools.
-spec tool_info() -> beamai_tool_behaviour:info().
tool_info() ->
    #{description => <<"The tools of a coding agent.">>, tags => [<<"coder">>]}.

%% @doc The specs of the tools.
-spec tools() -> [beamai_tool:tool_spec()].
tools() ->
    beamai_catalogue:tools(<<"coder">>).
