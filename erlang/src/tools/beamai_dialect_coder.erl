%% @doc The dialect `coder': `read', `list', `glob', `grep', `write', `edit', `patch', `bash', `todoread', `todowrite',
%% `skill', `task', `question', `fetch', and tools for language servers and git: twenty-two of them.
%%
%% The operations of the `beamai_tool_' modules under these names, with the parameters and results of this dialect. The
%% names of its git and LSP tools, `skill' and `task' are also in those modules: load one or the other.
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
