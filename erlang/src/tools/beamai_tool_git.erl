%% @doc The git tools: `git_status', `git_diff', `git_log', `git_add', `git_commit'.
%%
%% They run in the port program. The last two require approval unless a rule allows `GitAdd' or `GitCommit'.
-module(beamai_tool_git).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).

%% @doc What the module offers, and the tag of its tools.
-spec tool_info() -> beamai_tool_behaviour:info().
tool_info() ->
    #{description => <<"Looks at the workspace's git repository and commits to it.">>, tags => [<<"git">>]}.

%% @doc The specs of the tools.
-spec tools() -> [beamai_tool:tool_spec()].
tools() ->
    beamai_catalogue:family(<<"beamai">>, <<"git_">>).
