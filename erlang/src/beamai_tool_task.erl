%% @doc The tool for sub-agents: `task'.
%%
%% The kernel's option `agents' says which there are; see {@link beamai_agents} and {@link beamai_task}. The model that
%% they use is their definition's `llm', or the `model' of the context, which an agent puts there.
-module(beamai_tool_task).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0, task/2]).

%% @doc What the module offers, and the tag of its tools.
-spec tool_info() -> beamai_tool_behaviour:info().
tool_info() ->
    #{description => <<"Hands work to sub-agents.">>, tags => [<<"task">>]}.

%% @doc The specs of the tools.
-spec tools() -> [beamai_tool:tool_spec()].
tools() ->
    [
        beamai_tool:new(<<"task">>, {?MODULE, task}, #{
            description =>
                <<"Hands work to a sub-agent and waits for its report. The report says in `state` how it ended: ",
                    "completed, failed, out_of_budget or cancelled.">>,
            parameters => #{
                <<"agent">> => #{type => string, required => true, description => <<"Name of the sub-agent.">>},
                <<"objective">> => #{
                    type => string,
                    required => true,
                    description =>
                        <<"What it is to achieve, with everything that it needs to know: it sees nothing of this ",
                            "conversation.">>
                }
            },
            metadata => #{read_only => false, destructive => true, open_world => true, requires_permission => true},
            timeout => infinity
        })
    ].

%% @doc The handler of `task'.
-spec task(beamai_tool:args(), beamai_context:t()) -> beamai_tool:tool_result().
task(Args, Context) ->
    beamai_task:run(Args, beamai_callback:kernel(), Context).
