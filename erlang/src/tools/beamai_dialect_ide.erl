%% @doc The dialect `ide': `read_file', `write_file', `list_files', `search_code' and `get_diagnostics'.
%%
%% The same operations as in the `beamai_tool_' modules, with this dialect's names, parameters and results. Refuses
%% paths with a `..' component, and files larger than 10 MiB.
-module(beamai_dialect_ide).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).

%% @doc What the module offers, and the tag of its tools.
-spec tool_info() -> beamai_tool_behaviour:info().
tool_info() ->
    #{description => <<"The tools of an assistant in an editor.">>, tags => [<<"ide">>]}.

%% @doc The specs of the tools.
-spec tools() -> [beamai_tool:tool_spec()].
tools() ->
    beamai_catalogue:tools(<<"ide">>).
