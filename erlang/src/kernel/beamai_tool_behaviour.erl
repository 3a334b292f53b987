%% @doc The behaviour of tool modules: they export their tools, and optionally settings for all of them.
-module(beamai_tool_behaviour).

-export([load/1]).
-export_type([info/0]).

%% `tags' are added to the tools of the module that have no `tag' of their own.
-type info() :: #{description => binary(), tags => [binary()]}.

-callback tool_info() -> info().
-callback tools() -> [beamai_tool:tool_spec()].

-optional_callbacks([tool_info/0]).

%% @private The tools of a module, with its tags added. Raises `{bad_tool_module, Module}' for a module that cannot be
%% loaded or has no `tools/0'.
-spec load(module()) -> [beamai_tool:tool_spec()].
load(Module) ->
    case is_atom(Module) andalso code:ensure_loaded(Module) of
        false -> bad(Module, "a tool module is named by an atom");
        {module, Module} -> loaded(Module);
        {error, nofile} -> bad(Module, "cannot be loaded: there is no such module");
        {error, Reason} -> bad(Module, ["cannot be loaded: ", beamai_error:show(Reason, 80)])
    end.

loaded(Module) ->
    case erlang:function_exported(Module, tools, 0) of
        true -> tools(Module, Module:tools());
        false -> bad(Module, "exports no tools/0")
    end.

tools(Module, Tools) when length(Tools) >= 0 ->
    Tags = tags(Module),
    [tagged(Tool, Tags) || Tool <- Tools];
tools(Module, Other) ->
    bad(Module, ["tools/0 gives a list of tool specs, not ", beamai_validate:show(Other)]).

tags(Module) ->
    case erlang:function_exported(Module, tool_info, 0) andalso Module:tool_info() of
        false -> [];
        Info when is_map(Info) -> maps:get(tags, Info, []);
        Other -> bad(Module, ["tool_info/0 gives a map, not ", beamai_validate:show(Other)])
    end.

tagged(Tool, []) -> Tool;
tagged(#{tag := _} = Tool, _Tags) -> Tool;
tagged(#{} = Tool, Tags) -> Tool#{tag => Tags};
tagged(Malformed, _Tags) -> Malformed.

-spec bad(term(), iodata()) -> no_return().
bad(Module, Why) ->
    beamai_validate:raise({bad_tool_module, beamai_secret:mask(Module)}, [beamai_validate:show(Module), ": ", Why]).
