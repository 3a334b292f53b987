%% @doc What a tool module exports: its tools, and optionally what holds for all of them.
-module(beamai_tool_behaviour).

-export([load/1]).
-export_type([info/0]).

%% `tags' are given to those tools of the module that have no `tag' of their own.
-type info() :: #{description => binary(), tags => [binary()]}.

-callback tool_info() -> info().
-callback tools() -> [beamai_tool:tool_spec()].

-optional_callbacks([tool_info/0]).

%% @doc The tools of a module, with its tags on those that have none. Raises
%% `{bad_tool_module, Module}' for a module that cannot be loaded or has no `tools/0'.
-spec load(module()) -> [beamai_tool:tool_spec()].
load(Module) ->
    case code:ensure_loaded(Module) of
        {module, Module} -> loaded(Module);
        {error, _Reason} -> error({bad_tool_module, Module})
    end.

loaded(Module) ->
    case erlang:function_exported(Module, tools, 0) of
        true -> [tagged(Tool, tags(Module)) || Tool <- Module:tools()];
        false -> error({bad_tool_module, Module})
    end.

tags(Module) ->
    case erlang:function_exported(Module, tool_info, 0) of
        true -> maps:get(tags, Module:tool_info(), []);
        false -> []
    end.

tagged(Tool, []) -> Tool;
tagged(#{tag := _} = Tool, _Tags) -> Tool;
tagged(Tool, Tags) -> Tool#{tag => Tags}.
