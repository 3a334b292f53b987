%% @doc The web tools: `web_fetch', `web_search'.
%%
%% They run in the port program and require approval unless a rule allows `WebFetch' or `WebSearch'. The kernel's `web'
%% option lists reachable addresses besides public ones, and configures the search engine.
-module(beamai_tool_web).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).

%% @doc What the module offers, and the tag of its tools.
-spec tool_info() -> beamai_tool_behaviour:info().
tool_info() ->
    #{description => <<"Fetches resources and searches the web.">>, tags => [<<"web">>]}.

%% @doc The specs of the tools.
-spec tools() -> [beamai_tool:tool_spec()].
tools() ->
    beamai_catalogue:family(<<"beamai">>, <<"web_">>).
