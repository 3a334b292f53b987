%% @doc Makes an agent, or a sub-agent, of checked settings and a kernel that has its tools.
%% @hidden
-module(beamai_agent_setup).

-export([agent/2, of_run/2]).

%% @doc The agent, with what its store has of it. Its profile may withhold tools of the kernel, and it may get the tool that
%% searches them. Raises `{invalid_tool, Name, Problems}' for a tool that the model's provider would refuse, and
%% `{bad_option, tool_listing}' for a model that is told of its tools in the system prompt.
-spec agent(Settings :: map(), beamai_kernel:kernel()) -> beamai_agent:agent().
agent(#{llm := Model, profile := Profile} = Settings, Kernel) ->
    Profiled = profiled(Profile, beamai_agent_tools:able(beamai_tool_search:without_search(Kernel))),
    Ready = beamai_tool_search:with_search(Profiled, listing(Settings, Profiled)),
    Tools = beamai_chat:tools(Model, Ready),
    beamai_agent_log:restored((maps:without([plugins, agents], Settings))#{kernel => Ready, tools => Tools, unfinished => none}).

%% @doc The agent as a run with this context has it: without tools for questions where nobody can be asked.
-spec of_run(beamai_agent:agent(), beamai_context:t()) -> beamai_agent:agent().
of_run(#{llm := Model, kernel := Kernel} = Agent, Context) ->
    case beamai_agent_tools:attended(Kernel, Context) of
        Kernel -> Agent;
        Fewer -> Agent#{kernel := Fewer, tools := beamai_chat:tools(Model, Fewer)}
    end.

%% Tools that a profile withholds are not there at all: naming one is naming an unknown tool.
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

%% Text models are told of their tools once.
listing(#{tool_listing := none}, _Kernel) ->
    none;
listing(#{tool_listing := Options, llm := Model}, Kernel) ->
    beamai_chat:instructions(Model, Kernel) =:= <<>> orelse
        beamai_validate:bad_option(tool_listing, "is not for text models, which are told of all tools in the system prompt"),
    Options.
