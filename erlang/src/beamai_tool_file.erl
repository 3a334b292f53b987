%% @doc The file tools: `file_read', `file_write', `file_edit', `file_list', `file_glob', `file_grep'.
%%
%% They are confined to the kernel's workspace. Parameters and results are described in their
%% specs; their results are maps with binary keys.
-module(beamai_tool_file).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).

%% @doc What the module offers, and the tag of its tools.
-spec tool_info() -> beamai_tool_behaviour:info().
tool_info() ->
    #{description => <<"Reads, searches and changes files in the workspace.">>, tags => [<<"file">>]}.

%% @doc The specs of the tools.
-spec tools() -> [beamai_tool:tool_spec()].
tools() ->
    beamai_catalogue:family(<<"beamai">>, <<"file_">>).
