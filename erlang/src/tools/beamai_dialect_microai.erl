%% @doc The dialect `microai': `Read', `Write', `Edit', `Glob', `Grep', `Bash', `AskUserQuestion', `TodoWrite', `LSP',
%% `WebFetch' and `WebSearch'; and `BashOutput' and `KillShell' for the commands that `Bash' runs in the background.
%%
%% The operations of the `beamai_tool_' modules under these names, with the parameters and results of this dialect. Load
%% one dialect or the other: rules of permissions hold in all of them alike.
-module(beamai_dialect_microai).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).

%% @doc What the module offers, and the tag of its tools.
-spec tool_info() -> beamai_tool_behaviour:info().
tool_info() ->
    #{description => <<"The eleven canonical tools.">>, tags => [<<"microai">>]}.

%% @doc The specs of the tools.
-spec tools() -> [beamai_tool:tool_spec()].
tools() ->
    beamai_catalogue:tools(<<"microai">>).
