%% @doc The shell tools: `shell_exec' runs a command in the port program, in the workspace; `shell_output' and
%% `shell_kill' are for commands that it started in the background. A background command belongs to the session that
%% started it, and ends with it; see {@link beamai_session}.
-module(beamai_tool_shell).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).

%% @doc What the module offers, and the tag of its tools.
-spec tool_info() -> beamai_tool_behaviour:info().
tool_info() ->
    #{description => <<"Runs shell commands in the workspace.">>, tags => [<<"shell">>]}.

%% @doc The specs of the tools.
-spec tools() -> [beamai_tool:tool_spec()].
tools() ->
    beamai_catalogue:family(<<"beamai">>, <<"shell_">>).
