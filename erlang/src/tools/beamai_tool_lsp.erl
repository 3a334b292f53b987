%% @doc The language server tools: `lsp', `lsp_diagnostics'.
%%
%% Servers run in the port program. They are started on first use, and are notified of all changes to files. The
%% kernel's `lsp' option configures them. If there is no server for a language, the result says how to install one.
-module(beamai_tool_lsp).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).

%% @doc What the module offers, and the tag of its tools.
-spec tool_info() -> beamai_tool_behaviour:info().
tool_info() ->
    #{description => <<"Asks language servers about code.">>, tags => [<<"lsp">>]}.

%% @doc The specs of the tools.
-spec tools() -> [beamai_tool:tool_spec()].
tools() ->
    beamai_catalogue:family(<<"beamai">>, <<"lsp">>).
