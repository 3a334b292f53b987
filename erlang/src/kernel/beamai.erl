%% @doc Functions of upstream BeamAI's module `beamai' that have a counterpart in this library, for migrating code.
%%
%% New code should call the modules named below. `docs/migrating.md' covers functions whose counterpart is not a single
%% call.
-module(beamai).

-export([kernel/0, kernel/1, function/2, function/3, tool/2, tool/3]).
-export([add_tool/2, add_tools/2, add_tool_module/2, add_plugin/3, add_filter/2]).
-export([invoke_tool/4, functions/1, tools/1, tools/2, context/0, context/1]).

%% @doc {@link beamai_kernel:new/0}.
-spec kernel() -> beamai_kernel:kernel().
kernel() -> beamai_kernel:new().

%% @doc {@link beamai_kernel:new/1}, with the options of this library.
-spec kernel(beamai_options:t()) -> beamai_kernel:kernel().
kernel(Options) -> beamai_kernel:new(Options).

%% @doc {@link beamai_tool:new/2}.
-spec function(binary(), beamai_tool:handler()) -> beamai_tool:tool_spec().
function(Name, Handler) -> beamai_tool:new(Name, Handler).

%% @doc {@link beamai_tool:new/3}.
-spec function(binary(), beamai_tool:handler(), map()) -> beamai_tool:tool_spec().
function(Name, Handler, Options) -> beamai_tool:new(Name, Handler, Options).

%% @doc {@link beamai_tool:new/2}.
-spec tool(binary(), beamai_tool:handler()) -> beamai_tool:tool_spec().
tool(Name, Handler) -> beamai_tool:new(Name, Handler).

%% @doc {@link beamai_tool:new/3}.
-spec tool(binary(), beamai_tool:handler(), map()) -> beamai_tool:tool_spec().
tool(Name, Handler, Options) -> beamai_tool:new(Name, Handler, Options).

%% @doc {@link beamai_kernel:add_tool/2}.
-spec add_tool(beamai_kernel:kernel(), beamai_tool:tool_spec()) -> beamai_kernel:kernel().
add_tool(Kernel, Spec) -> beamai_kernel:add_tool(Kernel, Spec).

%% @doc {@link beamai_kernel:add_tools/2}.
-spec add_tools(beamai_kernel:kernel(), [beamai_tool:tool_spec()]) -> beamai_kernel:kernel().
add_tools(Kernel, Specs) -> beamai_kernel:add_tools(Kernel, Specs).

%% @doc {@link beamai_kernel:add_tool_module/2}.
-spec add_tool_module(beamai_kernel:kernel(), module()) -> beamai_kernel:kernel().
add_tool_module(Kernel, Module) -> beamai_kernel:add_tool_module(Kernel, Module).

%% @doc Adds a plugin's functions, with the plugin's name as an additional tag. Tools are called by their own name here,
%% without the plugin's name as a prefix.
-spec add_plugin(beamai_kernel:kernel(), Plugin :: binary(), [beamai_tool:tool_spec()]) -> beamai_kernel:kernel().
add_plugin(Kernel, Plugin, Functions) ->
    beamai_kernel:add_tools(Kernel, [Spec#{tag => lists:usort([Plugin | beamai_tool:tags(Spec)])} || Spec <- Functions]).

%% @doc {@link beamai_kernel:add_filter/2}.
-spec add_filter(beamai_kernel:kernel(), beamai_filter:filter()) -> beamai_kernel:kernel().
add_filter(Kernel, Filter) -> beamai_kernel:add_filter(Kernel, Filter).

%% @doc {@link beamai_kernel:invoke/4}.
-spec invoke_tool(beamai_kernel:kernel(), binary(), map(), beamai_context:t()) -> beamai_call:result().
invoke_tool(Kernel, Name, Args, Context) -> beamai_kernel:invoke(Kernel, Name, Args, Context).

%% @doc {@link beamai_kernel:get_tool_specs/1}.
-spec functions(beamai_kernel:kernel()) -> [beamai_tool:tool_spec()].
functions(Kernel) -> beamai_kernel:get_tool_specs(Kernel).

%% @doc {@link beamai_kernel:get_tool_schemas/2} for OpenAI.
-spec tools(beamai_kernel:kernel()) -> [#{binary() => term()}].
tools(Kernel) -> beamai_kernel:get_tool_schemas(Kernel, openai).

%% @doc {@link beamai_kernel:get_tool_schemas/2}.
-spec tools(beamai_kernel:kernel(), beamai_tool_schema:provider()) -> [#{binary() => term()}].
tools(Kernel, Provider) -> beamai_kernel:get_tool_schemas(Kernel, Provider).

%% @doc {@link beamai_context:new/0}.
-spec context() -> beamai_context:t().
context() -> beamai_context:new().

%% @doc {@link beamai_context:new/1}.
-spec context(map()) -> beamai_context:t().
context(Values) -> beamai_context:new(Values).
