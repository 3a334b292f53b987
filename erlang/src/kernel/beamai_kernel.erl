%% @doc The kernel: tools with a workspace, a policy and filters; and calling them.
%%
%% A kernel is plain data. It can be stored, compared and sent to another process; functions that add to it return a new
%% one. Any number of processes can use it at once.
%%
%% ```
%% K0 = beamai_kernel:new(#{workspace => "/srv/project"}),
%% K1 = beamai_kernel:add_tool_module(K0, beamai_tool_file),
%% {ok, Result, Context} =
%%     beamai_kernel:invoke(K1, <<"file_read">>, #{<<"path">> => <<"README.md">>}).
%% '''
%%
%% A call returns `{ok, Result, Context}' or `{error, Error}', where `Error' is a {@link beamai_error:t()} or,
%% unchanged, a handler's `{error, Term}'. Calls start the application `beamai' if it is not running.
-module(beamai_kernel).

-include("beamai_plan.hrl").

-export([new/0, new/1]).
-export([add_tool/2, add_tools/2, add_tool_module/2, replace_tool/2, remove_tool/2]).
-export([add_filter/2, add_filter/3]).
-export([find_tool/2, list_tools/1, select_tools/2, tools_by_tag/2]).
-export([get_tool_specs/1, get_tool_schemas/1, get_tool_schemas/2, get_tool_schemas/3]).
-export([place/3]).
-export([invoke/3, invoke/4, invoke_all/3, cancel/1]).
-export_type([kernel/0, filter_options/0]).

-type kernel() :: #{
    tools := #{binary() => #plan{}},
    filters := [{beamai_filter:filter(), global | by_name}],
    env := beamai_env:t(),
    workspace := beamai_env:workspace(),
    permissions := beamai_permission:normalised(),
    door := auto | nif | port,
    default_timeout := timeout() | default,
    sandbox => beamai_options:sandbox(),
    skills => #{paths := [binary()]},
    web => map(),
    lsp => map(),
    agents => beamai_agents:agents(),
    %% In place of `agents' on another node, which gets neither their funs nor their keys.
    agents_digest => binary(),
    limits => beamai_options:limits(),
    placement => beamai_placement:t(),
    approve => beamai_approval:approve(),
    ask_user => fun(([term()]) -> {ok, term()} | cancelled | no_frontend)
}.
%% `by_name': only for tools whose `filters' list it. `global' is the default.
-type filter_options() :: #{scope => global | by_name}.

%% @doc Creates a kernel in the current directory, with the default policy: reading tools run, all others ask for
%% approval.
-spec new() -> kernel().
new() ->
    new(#{}).

%% @doc Creates a kernel. The workspace is pinned: if the directory is replaced, calls are refused. Raises `{bad_option,
%% Key}', also for a malformed rule or a workspace that does not exist.
-spec new(beamai_options:t()) -> kernel().
new(Options) ->
    (beamai_options:kernel(Options))#{tools => #{}, filters => []}.

%%% Tools

%% @doc Adds a tool. Raises `{duplicate_tool, Name}' or `{invalid_tool, Name, Problems}'. Like every function here,
%% raises `{bad_kernel, Term}' if the first argument is not a kernel.
-spec add_tool(kernel(), beamai_tool:tool_spec()) -> kernel().
add_tool(Kernel, Spec) ->
    beamai_validate:kernel(Kernel),
    #{tools := Tools} = Kernel,
    #plan{name = Name} = Plan = plan(Kernel, Spec),
    case is_map_key(Name, Tools) of
        true -> beamai_validate:raise({duplicate_tool, Name}, ["there is a tool ", beamai_validate:show(Name), " already; remove or replace it first"]);
        false -> Kernel#{tools := Tools#{Name => Plan}}
    end.

%% @doc Adds several tools; see {@link add_tool/2}.
-spec add_tools(kernel(), [beamai_tool:tool_spec()]) -> kernel().
add_tools(Kernel, Specs) ->
    beamai_validate:list(Specs, bad_tools, "tool specs"),
    lists:foldl(fun(Spec, K) -> add_tool(K, Spec) end, Kernel, Specs).

%% @doc Adds the tools of a module; see {@link beamai_tool_behaviour}.
-spec add_tool_module(kernel(), module()) -> kernel().
add_tool_module(Kernel, Module) ->
    add_tools(Kernel, beamai_tool_behaviour:load(Module)).

%% @doc Replaces the tool of the same name, or adds the tool.
-spec replace_tool(kernel(), beamai_tool:tool_spec()) -> kernel().
replace_tool(Kernel, Spec) ->
    beamai_validate:kernel(Kernel),
    #{tools := Tools} = Kernel,
    #plan{name = Name} = Plan = plan(Kernel, Spec),
    Kernel#{tools := Tools#{Name => Plan}}.

%% @doc Removes a tool; does nothing if it does not exist.
-spec remove_tool(kernel(), Name :: binary()) -> kernel().
remove_tool(Kernel, Name) ->
    beamai_validate:kernel(Kernel),
    beamai_validate:tool_name(Name),
    #{tools := Tools} = Kernel,
    Kernel#{tools := maps:remove(Name, Tools)}.

plan(#{default_timeout := Default, filters := Filters}, Spec) ->
    with_filters(beamai_plan:new(Spec, Default), Filters).

%%% Filters

%% @doc Adds a filter for all tools, inside those added before; see {@link beamai_filter}.
-spec add_filter(kernel(), beamai_filter:filter()) -> kernel().
add_filter(Kernel, Filter) ->
    add_filter(Kernel, Filter, #{}).

%% @doc Adds a filter. Raises `{duplicate_filter, Name}', `{bad_filter, Term}' or
%% `{bad_option, Key}'.
-spec add_filter(kernel(), beamai_filter:filter(), filter_options()) -> kernel().
add_filter(Kernel, Filter, Options) ->
    beamai_validate:kernel(Kernel),
    beamai_validate:options(Options),
    #{filters := Filters, tools := Tools} = Kernel,
    Name = beamai_filter:name(Filter),
    Scope = scope(Options),
    case [Name || {#{name := N}, _} <- Filters, N =:= Name] of
        [] -> ok;
        [_ | _] -> beamai_validate:raise({duplicate_filter, Name}, ["there is a filter ", beamai_validate:show(Name), " already"])
    end,
    All = Filters ++ [{Filter, Scope}],
    Plans = maps:map(fun(_, Plan) -> with_filters(Plan, All) end, Tools),
    Kernel#{filters := All, tools := Plans}.

scope(Options) ->
    case {maps:get(scope, Options, global), maps:keys(maps:remove(scope, Options))} of
        {Scope, []} when Scope =:= global; Scope =:= by_name -> Scope;
        {Other, []} -> beamai_validate:one_of(scope, [global, by_name], Other);
        {_, [Unknown | _]} -> beamai_validate:unknown_option(Unknown, [scope])
    end.

%% The filters of a tool, outermost first. A listed filter that does not exist comes before them as an error.
with_filters(Plan, Filters) ->
    Listed = maps:get(filters, beamai_plan:spec(Plan), []),
    Known = [Name || {#{name := Name}, _} <- Filters],
    Missing = [{missing, Name} || Name <- Listed, not lists:member(Name, Known)],
    Running = [
        Filter
     || {#{name := Name} = Filter, Scope} <- Filters,
        Scope =:= global orelse lists:member(Name, Listed)
    ],
    Plan#plan{filters = Missing ++ Running}.

%%% Nodes

%% @doc Places calls on another node: those of a tool, of tools with a tag, of a session, or all. `Where' is a node, or
%% a fun that gets `#{tool, tags, context}' and returns one; `node()' is this one. If several apply, the order is: the
%% tool's own `node', `{tool, Name}', `{tag, Tag}' (for several tags, the first one), `{session, Id}', `all'.
%%
%% A fun's choice for a session applies until the session is closed or the node is lost. Filters, `approve', `ask_user'
%% and `progress' run on this node. If a node is lost, its calls fail at once with `execution_failed' and the reason
%% `node_lost'. Raises `{bad_placement, Term}'.
-spec place(kernel(), beamai_placement:what(), beamai_placement:where()) -> kernel().
place(Kernel, What, Where) ->
    beamai_validate:kernel(Kernel),
    Kernel#{placement => beamai_placement:add(What, Where, maps:get(placement, Kernel, #{}))}.

%%% Queries

%% @doc The spec of a tool.
-spec find_tool(kernel(), Name :: binary()) -> {ok, beamai_tool:tool_spec()} | error.
find_tool(Kernel, Name) ->
    beamai_validate:kernel(Kernel),
    #{tools := Tools} = Kernel,
    case Tools of
        #{Name := Plan} -> {ok, beamai_plan:spec(Plan)};
        #{} -> error
    end.

%% @doc Names and descriptions, sorted by name.
-spec list_tools(kernel()) -> [#{name := binary(), description := binary()}].
list_tools(Kernel) ->
    [
        #{name => Name, description => maps:get(description, Spec, <<>>)}
     || #{name := Name} = Spec <- get_tool_specs(Kernel)
    ].

%% @doc The kernel with only these tools; unknown names are ignored.
-spec select_tools(kernel(), [Name :: binary()]) -> kernel().
select_tools(Kernel, Names) ->
    beamai_validate:kernel(Kernel),
    beamai_validate:tool_names(Names),
    #{tools := Tools} = Kernel,
    Kernel#{tools := maps:with(Names, Tools)}.

%% @doc The specs of the tools with a tag, sorted by name.
-spec tools_by_tag(kernel(), Tag :: binary()) -> [beamai_tool:tool_spec()].
tools_by_tag(Kernel, Tag) ->
    [Spec || Spec <- get_tool_specs(Kernel), lists:member(Tag, beamai_spec:tags(Spec))].

%% @doc All specs, sorted by name.
-spec get_tool_specs(kernel()) -> [beamai_tool:tool_spec()].
get_tool_specs(Kernel) ->
    beamai_validate:kernel(Kernel),
    #{tools := Tools} = Kernel,
    [beamai_plan:spec(maps:get(Name, Tools)) || Name <- lists:sort(maps:keys(Tools))].

%% @doc All tools in OpenAI's format.
-spec get_tool_schemas(kernel()) -> [#{binary() => term()}].
get_tool_schemas(Kernel) ->
    get_tool_schemas(Kernel, openai).

%% @doc All tools in a provider's format; see {@link beamai_tool:to_tool_schema/2}.
-spec get_tool_schemas(kernel(), beamai_tool_schema:provider()) -> [#{binary() => term()}].
get_tool_schemas(Kernel, Provider) ->
    get_tool_schemas(Kernel, Provider, #{}).

%% @doc As {@link get_tool_schemas/2}, with options.
-spec get_tool_schemas(kernel(), beamai_tool_schema:provider(), beamai_tool_schema:options()) ->
    [#{binary() => term()}].
get_tool_schemas(Kernel, Provider, Options) ->
    beamai_tool_schema:terms(get_tool_specs(Kernel), Provider, Options).

%%% Calls

%% @doc Calls a tool in an empty context.
-spec invoke(kernel(), Name :: binary(), Args :: map()) -> beamai_call:result().
invoke(Kernel, Name, Args) ->
    invoke(Kernel, Name, Args, #{}).

%% @doc Calls a tool: filters, argument check, permission, handler with timeout and retries. If the calling process
%% dies, the handler and all native work of the call are stopped. Raises `{bad_kernel, Term}' or `{bad_context, Term}';
%% all other errors of a call are returned.
-spec invoke(kernel(), Name :: binary(), Args :: map(), beamai_context:t()) ->
    beamai_call:result().
invoke(Kernel, Name, Args, Context) ->
    beamai_validate:kernel(Kernel),
    beamai_validate:context(Context),
    beamai_invocation:invoke(Kernel, Name, Args, Context).

%% @doc Calls several tools in parallel, each with the given context. Results are in call order; the returned context
%% has the changes of all calls, applied in call order. Filters and callbacks run in the calling process, one approval
%% at a time. Before any call runs, raises `{bad_call, Term}' for an element that is not `{Name, Args}', and
%% `{bad_calls, Term}' if it is not a list.
-spec invoke_all(kernel(), [{Name :: binary(), Args :: map()}], beamai_context:t()) ->
    {[{ok, term()} | {error, term()}], beamai_context:t()}.
invoke_all(Kernel, Calls, Context) ->
    beamai_validate:kernel(Kernel),
    beamai_validate:list(Calls, bad_calls, ["calls, ", beamai_syntax:either("{Name, Args}", "{name, args}"), ","]),
    beamai_validate:context(Context),
    beamai_batch:run(Kernel, Calls, Context).

%% @doc Cancels all calls made on this node whose context has this `run_id', wherever they run. They return
%% `execution_failed' with the reason `cancelled' and are not retried.
-spec cancel(RunId :: term()) -> ok.
cancel(RunId) ->
    beamai_runs:cancel(RunId).
