%% @doc The skill tool: `skill' lists skills and loads one.
%%
%% Skills are found in the paths of the kernel's `skills' option; `create-skill' is built in. Rules for `Skill' apply to
%% loading.
-module(beamai_tool_skill).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).

%% @doc What the module offers, and the tag of its tools.
-spec tool_info() -> beamai_tool_behaviour:info().
tool_info() ->
    #{description => <<"Lists and loads skills.">>, tags => [<<"skill">>]}.

%% @doc The specs of the tools.
-spec tools() -> [beamai_tool:tool_spec()].
tools() ->
    beamai_catalogue:named(<<"beamai">>, <<"skill">>).
