%% @doc Creates an agent or sub-agent from validated options and a kernel.
%% @hidden
-module(beamai_agent_setup).

-export([agent/2, of_run/2]).

%% @doc Creates the agent, restored from its store. The profile may hide tools of the kernel, and the tool for searching
%% tools may be added. Raises `{invalid_tool, Name, Problems}' for a tool that the model's provider does not accept, and
%% `{bad_option, tool_listing}' for a model that gets its tools in the system prompt.
-spec agent(Settings :: map(), beamai_kernel:kernel()) -> beamai_agent:agent().
agent(#{llm := Model, profile := Profile} = Settings, Kernel) ->
    Profiled = profiled(Profile, beamai_agent_tools:able(beamai_tool_search:without_search(Kernel))),
    Ready = beamai_tool_search:with_search(Profiled, listing(Settings, Profiled)),
    Tools = beamai_chat:tools(Model, Ready),
    beamai_agent_log:restored((maps:without([plugins, agents], Settings))#{kernel => Ready, tools => Tools, unfinished => none, stored => beamai_agent_log:nothing()}).

%% @doc The agent for a run with this context: without question tools if nobody can be asked.
-spec of_run(beamai_agent:agent(), beamai_context:t()) -> beamai_agent:agent().
of_run(#{llm := Model, kernel := Kernel} = Agent, Context) ->
    case beamai_agent_tools:attended(Kernel, Context) of
        Kernel -> Agent;
        Fewer -> Agent#{kernel := Fewer, tools := beamai_chat:tools(Model, Fewer)}
    end.

%% Tools hidden by a profile do not exist for the agent: calling one is calling an unknown tool.
profiled(Profile, Kernel) ->
    Names = [Name || #{name := Name} = Spec <- beamai_kernel:get_tool_specs(Kernel), offers(Profile, Spec)],
    beamai_kernel:select_tools(Kernel, Names).

offers(default, #{name := <<"question">>}) -> false;
offers(default, _Spec) -> true;
offers(plan, #{name := Name}) when
    Name =:= <<"question">>; Name =:= <<"human_input">>; Name =:= <<"AskUserQuestion">>
->
    true;
offers(plan, #{metadata := #{read_only := true}}) -> true;
offers(plan, _Spec) -> false.

%% Models with the text protocol get the list of tools once, in the system prompt.
listing(#{tool_listing := none}, _Kernel) ->
    none;
listing(#{tool_listing := Options, llm := Model}, Kernel) ->
    beamai_chat:instructions(Model, Kernel) =:= <<>> orelse
        beamai_validate:bad_option(tool_listing, "is not for text models, which are told of all tools in the system prompt"),
    Options.
