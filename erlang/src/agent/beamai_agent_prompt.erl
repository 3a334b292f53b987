%% @doc The system prompt of a run: the host's own, followed by sections for the profile, the environment, the
%% sub-agents, the model and the output format.
%% @hidden
-module(beamai_agent_prompt).

-export([text/2]).

-define(PLAN, <<
    "You are in plan mode: find out what is needed and propose a plan. You can read, and change nothing; do not try to. "
    "End with the plan."
>>).
-define(QUESTIONS, <<" Where a decision is the user's, ask with the tool for questions.">>).

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
        Own, profile(Profile, Kernel), beamai_agent_input:told(Tell, Kernel), agents(Kernel), beamai_chat:instructions(Model, Kernel),
        beamai_chat_controls:instructions(Controls)
    ],
    iolist_to_binary(lists:join("\n\n", [Part || Part <- Parts, Part =/= <<>>])).

profile(default, _Kernel) ->
    <<>>;
profile(plan, #{tools := Tools}) ->
    case [Name || Name <- [<<"question">>, <<"human_input">>, <<"AskUserQuestion">>], is_map_key(Name, Tools)] of
        [] -> ?PLAN;
        [_ | _] -> <<?PLAN/binary, ?QUESTIONS/binary>>
    end.

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
