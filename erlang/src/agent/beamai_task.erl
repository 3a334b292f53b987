%% @doc Sub-agents: does the work that the tool `task' delegates.
%%
%% A sub-agent is an agent with its own conversation, a kernel with only the tools in its definition, and a budget
%% within its caller's. It runs in its own process and ends with the call. The result states how it ended: `completed',
%% `failed', `out_of_budget' or `cancelled'; if it did not complete, the summary describes what was done.
%% @hidden
-module(beamai_task).

-export([run/3, run/4]).
-export_type([result/0]).

%% The tool's name in every dialect that has it.
-define(TOOL, <<"task">>).
%% Maximum number of calls listed in the summary of an incomplete run.
-define(LISTED, 30).

%% Keys: `agent', `state', `summary', `tool_calls', `usage' and, unless it completed, `error'.
-type result() :: #{binary() => term()}.

%% @doc Runs the agent that the request names. It cannot be cancelled by a run id except its own. Keys of a request:
%% `agent', and `objective' or `prompt'.
-spec run(Request :: #{binary() => term()}, beamai_kernel:kernel(), beamai_context:t()) ->
    {ok, result()} | {error, beamai_error:t() | term()}.
run(Request, Kernel, Context) ->
    run(Request, Kernel, Context, none).

%% @doc As {@link run/3}; `Run' is the tag from {@link beamai_runs:enter/1}.
-spec run(Request :: #{binary() => term()}, beamai_kernel:kernel(), beamai_context:t(), reference() | none) ->
    {ok, result()} | {error, beamai_error:t() | term()}.
run(#{<<"agent">> := Name} = Request, Kernel, Context, Run) ->
    Agents = maps:get(agents, Kernel, #{max_depth => 1}),
    case beamai_agents:find(Name, Agents) of
        {ok, Definition} -> allowed(Name, Definition, work(Request), {Kernel, Agents}, Context, Run);
        error -> {error, unknown(Name, beamai_agents:names(Agents))}
    end.

work(#{<<"objective">> := Objective} = Request) when is_binary(Objective) -> Request;
work(#{<<"prompt">> := Prompt} = Request) -> Request#{<<"objective">> => Prompt}.

allowed(Name, Definition, Work, {Kernel, Agents}, Context, Run) ->
    Depth = 1 + beamai_context:get(agent_depth, Context, 0),
    case Depth > beamai_agents:max_depth(Agents) of
        true ->
            {error, too_deep(Name, Depth - 1)};
        false ->
            Handler = handler(Name, Definition, Kernel, Depth),
            answer(Name, beamai_call:run(Kernel, {?TOOL, Handler}, Work, Context, timeout(Definition, Context), Run))
    end.

%% An agent ends by itself when its time is used up, and returns what it has.
timeout(Fun, Context) when is_function(Fun) -> beamai_budget:in_time(infinity, Context);
timeout(_Definition, _Context) -> infinity.

handler(Name, Fun, _Kernel, _Depth) when is_function(Fun, 2) ->
    fun(Work, Context) -> summary(Name, Fun(Work, Context)) end;
handler(Name, Definition, Kernel, Depth) ->
    fun(Work, Context) -> delegate(Name, Definition, Work, Kernel, Context#{agent_depth => Depth, agent_id => Name}) end.

answer(_Name, {ok, Result, _Context}) -> {ok, Result};
answer(_Name, {error, _} = Error) -> Error.

summary(Name, {ok, Summary}) when is_binary(Summary) ->
    case unicode:characters_to_binary(Summary) of
        Summary -> {ok, completed(Name, Summary, 0, #{})};
        _ -> {error, bad_answer(Name, Summary)}
    end;
summary(_Name, {error, _} = Error) ->
    Error;
summary(Name, Other) ->
    {error, bad_answer(Name, Other)}.

%%% In its own process

delegate(Name, Definition, #{<<"objective">> := Objective}, Kernel, Context) ->
    case model(Definition, Context) of
        {ok, Model} ->
            Agent = agent(Definition, Model, Kernel, Context),
            Input = #{role => user, content => Objective},
            {ok, outcome(Name, beamai_agent_run:start(Agent, Input, settings(Name, Definition, Context)))};
        error ->
            {error, no_model(Name)}
    end.

model(#{llm := Model}, _Context) -> {ok, Model};
model(_Definition, #{model := #{module := _, state := _} = Model}) -> {ok, Model};
model(_Definition, _Context) -> error.

agent(Definition, Model, Kernel, Context) ->
    Settings = beamai_agent_options:agent(#{
        llm => Model,
        system_prompt => maps:get(prompt, Definition, <<>>),
        profile => maps:get(profile, Definition, default),
        max_iterations => maps:get(max_iterations, Definition, 20)
    }),
    beamai_agent_setup:agent(Settings, with_tools(named(Definition, Kernel, Context), Kernel, Context)).

%% A misspelt tool name would silently leave a sub-agent without the tool, so it is logged. Not for nested sub-agents:
%% they lack tools that their callers lack.
named(#{tools := Names}, #{tools := Tools}, #{agent_depth := 1, agent_id := Name}) when is_list(Names) ->
    case [Tool || Tool <- Names, not is_map_key(Tool, Tools)] of
        [] -> ok;
        Missing ->
            Text = "beamai: the sub-agent ~ts names tools that are not there: ~ts",
            logger:warning(Text, [Name, lists:join(", ", Missing)])
    end,
    Names;
named(Definition, _Kernel, _Context) ->
    maps:get(tools, Definition, all).

%% Tools that a sub-agent may not use are not in its kernel at all. An agent at the maximum depth does not get the tool
%% for delegating.
with_tools(all, Kernel, _Context) ->
    beamai_kernel:remove_tool(Kernel, ?TOOL);
with_tools(Names, #{agents := Agents} = Kernel, #{agent_depth := Depth}) ->
    Chosen = beamai_kernel:select_tools(Kernel, Names),
    case Depth < beamai_agents:max_depth(Agents) of
        true -> Chosen;
        false -> beamai_kernel:remove_tool(Chosen, ?TOOL)
    end.

%% The host's own context keys are passed on for its tools; the keys of the caller's run are not.
settings(Name, Definition, Context) ->
    Events = fun(Event) -> beamai_callback:progress(#{agent => Name, event => Event}, Context) end,
    Above = maps:from_list([{parent_run_id, Id} || #{run_id := Id} <- [Context]]),
    Own = maps:merge(maps:without([run_id, progress, model], Context), Above),
    beamai_agent_options:run(#{
        events => Events,
        run_id => make_ref(),
        budget => maps:with([max_tokens, max_time], Definition),
        context => Own
    }).

outcome(Name, {ok, #{content := Text, tool_calls := Calls, usage := Usage}, _Agent}) ->
    completed(Name, Text, Calls, Usage);
outcome(Name, {error, Reason, #{conversation := Conversation}}) ->
    {State, Why} = ended(Reason),
    #{tool_calls := Calls, usage := Usage} = Conversation,
    Result = result(Name, State, hand_over(Why, Conversation), Calls, Usage),
    Result#{<<"error">> => Why}.

completed(Name, Text, Calls, Usage) ->
    result(Name, <<"completed">>, Text, Calls, Usage).

result(Name, State, Summary, Calls, Usage) ->
    #{
        <<"agent">> => Name,
        <<"state">> => State,
        <<"summary">> => Summary,
        <<"tool_calls">> => Calls,
        <<"usage">> => maps:from_list([{atom_to_binary(Key), N} || {Key, N} <- maps:to_list(Usage)])
    }.

ended(cancelled) -> {<<"cancelled">>, <<"it was cancelled">>};
ended({out_of_budget, tokens}) -> {<<"out_of_budget">>, <<"its tokens were used up">>};
ended({out_of_budget, time}) -> {<<"out_of_budget">>, <<"its time was over">>};
ended({max_iterations, Max}) ->
    {<<"out_of_budget">>, <<"it had answered ", (integer_to_binary(Max))/binary, " times, which is its limit">>};
ended({model, #{message := Message}}) -> {<<"failed">>, <<"its model failed: ", Message/binary>>}.

%% The last answer, and the calls made so far.
hand_over(Why, Conversation) ->
    Messages = beamai_conversation:messages(Conversation),
    Outcomes = maps:from_list([{Id, Outcome} || #{role := tool, call := Id, outcome := Outcome} <- Messages]),
    Calls = [Call || #{role := assistant, tool_calls := Made} <- Messages, Call <- Made],
    Last = lists:nthtail(max(0, length(Calls) - ?LISTED), Calls),
    Lines = [["\n- ", line(Call, maps:get(Id, Outcomes, none))] || #{id := Id} = Call <- Last],
    Text = [
        "The work is not done: ", Why, ".", said(beamai_conversation:last_text(Conversation)),
        listed(length(Calls), length(Last)), Lines
    ],
    unicode:characters_to_binary(Text).

said(<<>>) -> "";
said(Text) -> ["\n\nIt said last:\n", Text].

listed(0, _) -> "\n\nIt made no calls.";
listed(All, All) -> "\n\nIts calls:";
listed(All, Last) -> ["\n\nThe last ", integer_to_list(Last), " of its ", integer_to_list(All), " calls:"].

line(#{name := Name, args := Args}, Outcome) ->
    [Name, " ", string:slice(beamai_json:text(Args), 0, 200), " (", outcome_word(Outcome), ")"].

outcome_word(ok) -> "ok";
outcome_word(none) -> "no result";
outcome_word(_Other) -> "failed".

%%% Errors

unknown(Name, []) ->
    Configure = <<"Name them in the kernel's option agents, and the chat model that they use in the context's model">>,
    Message = [
        "this kernel has no sub-agents, so ", beamai_error:show(Name, 80), " cannot be asked; do the work yourself. ", Configure
    ],
    beamai_error:new(?TOOL, execution_failed, no_agents, Message, #{configure => Configure});
unknown(Name, Names) ->
    Nearest = beamai_nif:nearest(Name, Names),
    Message = [
        "there is no sub-agent ", beamai_error:show(Name, 80), "; those there are: ", lists:join(", ", Names)
    ],
    beamai_error:new(?TOOL, not_found, no_such_agent, Message, #{nearest => Nearest}).

too_deep(Name, Depth) ->
    Message = [
        "the sub-agent ", Name, " cannot be asked: ", integer_to_list(Depth),
        " agents work for one another already, which is the limit; do the work yourself"
    ],
    beamai_error:new(?TOOL, execution_failed, too_deep, Message).

no_model(Name) ->
    Configure = <<"Give one as llm in its definition, or as model in the context of the call">>,
    Message = ["the sub-agent ", Name, " has no chat model; do the work yourself. ", Configure],
    beamai_error:new(?TOOL, execution_failed, not_configured, Message, #{configure => Configure}).

bad_answer(Name, Answer) ->
    Message = [
        "the sub-agent ", Name, " returned ", beamai_error:show(Answer, 120),
        beamai_syntax:either(
            "; it returns {ok, Summary} with a text, or {error, Reason}", "; it returns {:ok, summary} with a text, or {:error, reason}"
        )
    ],
    beamai_error:new(?TOOL, execution_failed, handler_error, Message).
