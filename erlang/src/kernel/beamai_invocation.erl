%% @doc Runs one call from its plan to its result: filters, arguments, permission, attempts.
%% @hidden
-module(beamai_invocation).

-export([invoke/4, run_part/5, run/5, run_here/5]).

-include("beamai_plan.hrl").

%% @doc Runs the tool `Name' of the kernel; see {@link beamai_kernel:invoke/4}.
-spec invoke(beamai_kernel:kernel(), Name :: term(), Args :: term(), beamai_context:t()) ->
    beamai_call:result().
invoke(Kernel, Name, Args, #{run_id := RunId} = Context) when RunId =/= undefined ->
    %% Before anything of the host runs, such as a handler of events, so that no cancellation is missed.
    Run = beamai_runs:enter(RunId),
    try
        traced(Kernel, Name, Args, Context, Run)
    after
        beamai_runs:leave(RunId, Run)
    end;
invoke(Kernel, Name, Args, Context) ->
    traced(Kernel, Name, Args, Context, none).

traced(Kernel, Name, Args, Context, Run) ->
    Span = beamai_spans:start_tool(Name, Args, Context),
    beamai_spans:stop_tool(Span, beamai_crash:log(found(Kernel, Name, Args, Context, Run), Context)).

found(#{tools := Tools} = Kernel, Name, Args, Context, Run) ->
    case beamai_plan:find(Name, Tools) of
        {ok, Plan} -> filtered(Kernel, Plan, Args, Context, Run);
        {error, _} = Error -> Error
    end.

filtered(Kernel, #plan{filters = []} = Plan, Args, Context, Run) ->
    run(Kernel, Plan, Args, Context, Run);
filtered(Kernel, #plan{filters = Filters, name = Name} = Plan, Args, Context, Run) ->
    Call = #{tool => Name, args => Args, context => Context, reuse => beamai_reuse:scope(Kernel, Plan)},
    Core = fun(#{args := A, context := C}) -> run(Kernel, Plan, A, C, Run) end,
    beamai_filter:apply_all(Filters, Call, Core).

%% @doc The innermost part of the filter chain for a call of `invoke_all', whose run tag is `Whole'. It registers under
%% its run id itself.
-spec run_part(
    beamai_kernel:kernel(), #plan{}, Args :: term(), beamai_context:t(), Whole :: reference() | none
) -> beamai_call:result().
run_part(Kernel, Plan, Args, #{run_id := RunId} = Context, Whole) when RunId =/= undefined ->
    Run = beamai_runs:enter(RunId, Whole),
    try
        run(Kernel, Plan, Args, Context, Run)
    after
        beamai_runs:leave(RunId, Run)
    end;
run_part(Kernel, Plan, Args, Context, _Whole) ->
    run(Kernel, Plan, Args, Context, none).

%% @doc The innermost part of the filter chain: checks arguments and permission, and runs the handler, with retries.
%% `Run' is the tag from {@link beamai_runs:enter/1} or `none'.
-spec run(beamai_kernel:kernel(), #plan{}, Args :: term(), beamai_context:t(), reference() | none) ->
    beamai_call:result().
run(Kernel, #plan{node = none} = Plan, Args, Context, Run) when not is_map_key(placement, Kernel) ->
    run_here(Kernel, Plan, Args, Context, Run);
run(Kernel, #plan{name = Name, retry = Retry} = Plan, Args, Context, Run) ->
    case beamai_placement:node(Kernel, Plan, Context) of
        {ok, Node} when Node =:= node() -> run_here(Kernel, Plan, Args, Context, Run);
        _ -> beamai_retry:run(Retry, #{tool => Name, context => Context, run => Run}, fun() -> placed(Kernel, Plan, Args, Context, Run) end)
    end.

%% Each attempt chooses the node again, in case the previous one was lost.
placed(Kernel, Plan, Args, Context, Run) ->
    Once = Plan#plan{retry = {0, 0}},
    case beamai_placement:node(Kernel, Plan, Context) of
        {ok, Node} when Node =:= node() -> run_here(Kernel, Once, Args, Context, Run);
        {ok, Node} -> beamai_node_call:run(Node, Kernel, Once, Args, Context, Run);
        {error, _} = Error -> Error
    end.

%% @doc As {@link run/5}, on this node, whatever placement the kernel has.
-spec run_here(beamai_kernel:kernel(), #plan{}, Args :: term(), beamai_context:t(), reference() | none) ->
    beamai_call:result().
run_here(Kernel, #plan{runs = #native{}} = Plan, Args, Context, Run) when is_map(Args) ->
    beamai_native_call:run(Kernel, Plan, Args, Context, Run);
run_here(Kernel, #plan{name = Name, params = Params} = Plan, Args, Context, Run) ->
    case beamai_args:check(Params, Args, Name) of
        {ok, Checked} ->
            case judge(Kernel, Plan, Checked, Context) of
                allow -> handle(Kernel, Plan, Checked, Context, Run);
                {error, _} = Error -> Error
            end;
        {error, _} = Error ->
            Error
    end.

judge(Kernel, #plan{name = Name, requires_permission = Requires} = Plan, Args, Context) ->
    case beamai_env:to_judge(Kernel, Context) of
        {ok, Env} ->
            case beamai_env:judge(Env, Name, Requires) of
                {ask, Request} -> beamai_approval:decide(Request#{definition => definition(Plan)}, Args, Kernel, Context);
                Verdict -> Verdict
            end;
        {error, _} = Error ->
            Error
    end.

%% The same here and on another node; the spec still has the tool's own node and retries.
definition(Plan) ->
    Plan#plan{filters = [], node = none, retry = {0, 0}}.

%% While a filter or `approve' ran, the call may have been cancelled, or its time budget used up.
handle(Kernel, #plan{name = Name, runs = Handler, timeout = Timeout, retry = Retry}, Args, Context, Run) ->
    case {beamai_runs:cancelled(Run), beamai_budget:is_time_over(Context)} of
        {true, _} ->
            {error, beamai_error:cancelled(Name)};
        {false, true} ->
            {error, beamai_error:out_of_time(Name)};
        {false, false} ->
            beamai_session:touch(Context, Timeout),
            beamai_retry:run(Retry, #{tool => Name, context => Context, run => Run}, fun() ->
                begins(Kernel, {Name, Handler}, Args, Context, Timeout, Run)
            end)
    end.

begins(Kernel, {Name, _} = Tool, Args, Context, Timeout, Run) ->
    case beamai_node_begin:ask(Name) of
        ok -> beamai_call:run(Kernel, Tool, Args, Context, beamai_budget:in_time(Timeout, Context), Run);
        {error, _} = Error -> Error
    end.
