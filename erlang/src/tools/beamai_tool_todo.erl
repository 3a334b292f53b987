%% @doc The task list: `todo_add', `todo_list', `todo_update'.
%%
%% The list belongs to the session: the one of the context's `session_id', or without it that of the calling process.
-module(beamai_tool_todo).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).

%% @doc What the module offers, and the tag of its tools.
-spec tool_info() -> beamai_tool_behaviour:info().
tool_info() ->
    #{description => <<"Keeps the session's list of tasks.">>, tags => [<<"todo">>]}.

%% @doc The specs of the tools.
-spec tools() -> [beamai_tool:tool_spec()].
tools() ->
    beamai_catalogue:family(<<"beamai">>, <<"todo_">>).
