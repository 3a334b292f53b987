%% @doc Sub-agents: has the work done that the tool `task' hands over.
%%
%% The kernel's option `agents' names them. Each is a fun that gets the work and the call's context, where it finds
%% the chat model under `model', and returns `{ok, Summary}' or `{error, Reason}'. It runs in a process of its own,
%% without a timeout, and ends with the call that it works for.
-module(beamai_task).

-export([run/3, run/4]).
-export_type([agent/0, work/0]).

-type agent() :: fun((work(), beamai_context:t()) -> {ok, Summary :: binary()} | {error, term()}).
%% The keys `<<"agent">>' and `<<"objective">>'.
-type work() :: #{binary() => binary()}.

%% Its name in every dialect that has it.
-define(TOOL, <<"task">>).

%% @doc Has the agent that the work names do it; cannot be cancelled by a run id.
-spec run(work(), beamai_kernel:kernel(), beamai_context:t()) ->
    {ok, Summary :: binary()} | {error, beamai_error:t() | term()}.
run(Work, Kernel, Context) ->
    run(Work, Kernel, Context, none).

%% @doc As {@link run/3}; `Run' is the tag of {@link beamai_runs:enter/1}.
-spec run(work(), beamai_kernel:kernel(), beamai_context:t(), reference() | none) ->
    {ok, Summary :: binary()} | {error, beamai_error:t() | term()}.
run(#{<<"agent">> := Name} = Work, Kernel, Context, Run) ->
    case maps:get(agents, Kernel, #{}) of
        #{Name := Agent} ->
            summary(Name, beamai_call:run(Kernel, {?TOOL, Agent}, Work, Context, infinity, Run));
        Agents when map_size(Agents) =:= 0 ->
            {error, none_at_all(Name)};
        Agents ->
            {error, unknown(Name, maps:keys(Agents))}
    end.

summary(_Name, {error, _} = Error) ->
    Error;
summary(Name, {ok, Summary, _Context}) ->
    case is_binary(Summary) andalso unicode:characters_to_binary(Summary) of
        Summary -> {ok, Summary};
        _ -> {error, no_summary(Name, Summary)}
    end.

none_at_all(Name) ->
    Message = [
        "this kernel has no sub-agents, so ", beamai_error:show(Name, 80), " cannot be asked; the host names them ",
        "in the kernel's option agents, and the chat model that they use in the context's model; do the work yourself"
    ],
    beamai_error:new(?TOOL, execution_failed, no_agents, Message).

unknown(Name, Names) ->
    Nearest = beamai_nearest:names(Name, Names),
    Message = [
        "there is no sub-agent named ", beamai_error:show(Name, 80), "; there are ",
        lists:join(", ", lists:sublist(lists:sort(Names), 20))
    ],
    beamai_error:new(?TOOL, not_found, no_such_agent, Message, #{nearest => Nearest}).

no_summary(Name, Summary) ->
    Message = [
        "the sub-agent ", Name, " returned ", beamai_error:show(Summary, 80), "; its summary must be UTF-8 text"
    ],
    beamai_error:new(?TOOL, execution_failed, handler_error, Message).
