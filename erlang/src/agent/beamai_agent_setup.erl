%% @doc Makes an agent, or a sub-agent, of checked settings and a kernel that has its tools.
%% @hidden
-module(beamai_agent_setup).

-export([agent/2]).

%% @doc The agent, with what its store has of it. Its profile may withhold tools of the kernel. Raises
%% `{invalid_tool, Name, Problems}' for a tool that the model's provider would refuse.
-spec agent(Settings :: map(), beamai_kernel:kernel()) -> beamai_agent:agent().
agent(#{llm := Model, profile := Profile} = Settings, Kernel) ->
    Ready = profiled(Profile, Kernel),
    Tools = beamai_chat:tools(Model, Ready),
    beamai_agent_log:restored((maps:without([plugins, agents], Settings))#{kernel => Ready, tools => Tools, unfinished => none}).

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
