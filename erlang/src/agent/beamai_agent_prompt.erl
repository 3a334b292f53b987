%% @doc The system prompt of a run: the host's own, followed by sections for the profile, the environment, the
%% sub-agents, the model and the output format.
%% @hidden
-module(beamai_agent_prompt).

-export([text/2]).

-define(PLAN, <<
    "You are in plan mode: find out what is needed and propose a plan. You can read and ask, and change nothing; "
    "do not try to. Where a decision is the user's, ask with the tool for questions. End with the plan."
>>).

%% @doc The prompt, as paragraphs.
-spec text(#{
    system_prompt := binary(),
    profile := default | plan,
    kernel := beamai_kernel:kernel(),
    llm := beamai_chat:model(),
    tell := beamai_agent_input:told(),
    _ => _
}, beamai_agent_controls:options()) -> binary().
text(#{system_prompt := Own, profile := Profile, kernel := Kernel, llm := Model, tell := Tell}, Controls) ->
    Parts = [
        Own, profile(Profile), beamai_agent_input:told(Tell, Kernel), agents(Kernel), beamai_chat:instructions(Model, Kernel),
        beamai_chat_controls:instructions(Controls)
    ],
    iolist_to_binary(lists:join("\n\n", [Part || Part <- Parts, Part =/= <<>>])).

profile(default) -> <<>>;
profile(plan) -> ?PLAN.

%% Lists the sub-agents, if the model can call them.
agents(#{agents := Agents, tools := Tools}) when is_map_key(<<"task">>, Tools) ->
    case beamai_agents:list(Agents) of
        [] -> <<>>;
        Listed ->
            Lines = [["\n- ", Name, ": ", Description] || #{name := Name, description := Description} <- Listed],
            iolist_to_binary(["Sub-agents for the tool task:", Lines])
    end;
agents(_Kernel) ->
    <<>>.
