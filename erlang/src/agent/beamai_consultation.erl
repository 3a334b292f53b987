%% @doc Asks the chat model in a call's context on behalf of a built-in tool.
%%
%% The model gets one message and no tools. The request runs in a process of its own, which ends with the call; its
%% usage is counted in the budget of the calling agent.
%% @hidden
-module(beamai_consultation).

-export([run/5]).
-export_type([question/0, outcome/0]).

%% Timeout of the model in milliseconds.
-define(TIMEOUT_MS, 120000).

%% Keys: `system', `prompt' and `so_far', which is returned to the tool unchanged.
-type question() :: #{binary() => term()}.
-type outcome() :: #{reply := #{answer | failed := binary()}, so_far := term()}.

%% @doc The model's answer, or why there is none. Fails only if the call is cancelled or its caller has exited. `Run' is
%% the tag from {@link beamai_runs:enter/1}.
-spec run(Tool :: binary(), question(), beamai_kernel:kernel(), beamai_context:t(), reference() | none) ->
    {ok, outcome()} | {error, beamai_error:t() | term()}.
run(Tool, #{<<"so_far">> := SoFar} = Question, Kernel, Context, Run) ->
    Handler = fun(_Args, Asking) -> {ok, reply(Question, Kernel, Asking)} end,
    case beamai_call:run(Kernel, {Tool, Handler}, #{}, Context, ?TIMEOUT_MS, Run) of
        {ok, Reply, _Context} -> {ok, #{reply => Reply, so_far => SoFar}};
        {error, #{details := #{reason := cancelled}}} = Error -> Error;
        {error, #{message := Message}} -> {ok, #{reply => #{failed => Message}, so_far => SoFar}}
    end.

%%% In its own process

reply(Question, Kernel, #{model := Model} = Context) ->
    Budget = beamai_context:get(agent_budget, Context, none),
    case beamai_budget:left(Budget) of
        ok -> answer(beamai_chat:complete(Model, request(Question, Kernel, Context, Budget)), Budget);
        {out_of, What} -> #{failed => <<"the agent's ", (atom_to_binary(What))/binary, " are used up">>}
    end.

request(#{<<"system">> := System, <<"prompt">> := Prompt}, Kernel, Context, Budget) ->
    #{
        system => System,
        messages => [#{role => user, content => Prompt}],
        kernel => beamai_kernel:select_tools(Kernel, []),
        context => Context,
        until => beamai_budget:until(Budget)
    }.

answer({ok, #{message := #{content := Text}, usage := Usage}}, Budget) ->
    ok = beamai_budget:spend(Usage, Budget),
    case string:is_empty(string:trim(Text)) of
        true -> #{failed => <<"the chat model gave an empty answer">>};
        false -> #{answer => Text}
    end;
answer({error, #{message := Message}}, _Budget) ->
    #{failed => <<"the chat model failed: ", Message/binary>>}.
