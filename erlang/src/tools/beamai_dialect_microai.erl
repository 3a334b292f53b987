%% @doc The dialect `microai': `Read', `Write', `Edit', `Glob', `Grep', `Bash', `AskUserQuestion', `TodoWrite', `LSP',
%% `WebFetch' and `WebSearch'; and `BashOutput' and `KillShell' for background commands of `Bash'.
%%
%% The same operations as in the `beamai_tool_' modules, with this dialect's names, parameters and results. Load only
%% one dialect; permission rules apply to all dialects alike.
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
