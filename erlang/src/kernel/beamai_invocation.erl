%% @doc One call from its plan to its result: filters, arguments, permission, tries.
-module(beamai_invocation).

-export([invoke/4, run_part/5, run/5, unknown_tool/2]).

-include("beamai_plan.hrl").

%% @doc Runs the tool `Name' of the kernel; see {@link beamai_kernel:invoke/4}.
-spec invoke(beamai_kernel:kernel(), Name :: term(), Args :: term(), beamai_context:t()) ->
    beamai_call:result().
invoke(#{tools := Tools} = Kernel, Name, Args, Context) ->
    case Tools of
        #{Name := #plan{} = Plan} -> enter(Kernel, Plan, Args, Context);
        #{} -> {error, unknown_tool(Tools, Name)}
    end.

enter(Kernel, Plan, Args, #{run_id := RunId} = Context) when RunId =/= undefined ->
    Run = beamai_runs:enter(RunId),
    try
        filtered(Kernel, Plan, Args, Context, Run)
    after
        beamai_runs:leave(RunId, Run)
    end;
enter(Kernel, Plan, Args, Context) ->
    filtered(Kernel, Plan, Args, Context, none).

filtered(Kernel, #plan{filters = []} = Plan, Args, Context, Run) ->
    run(Kernel, Plan, Args, Context, Run);
filtered(Kernel, #plan{filters = Filters, name = Name} = Plan, Args, Context, Run) ->
    Call = #{tool => Name, args => Args, context => Context},
    Core = fun(#{args := A, context := C}) -> run(Kernel, Plan, A, C, Run) end,
    beamai_filter:apply_all(Filters, Call, Core).

%% @doc The heart of the onion for a part of `invoke_all', whose run tag is `Whole': it enters under its
%% run id by itself.
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

%% @doc The heart of the onion: checks, judges and runs, with retries. `Run' is the tag of
%% {@link beamai_runs:enter/1} or `none'.
-spec run(beamai_kernel:kernel(), #plan{}, Args :: term(), beamai_context:t(), reference() | none) ->
    beamai_call:result().
run(Kernel, #plan{runs = #native{}} = Plan, Args, Context, Run) when is_map(Args) ->
    beamai_native:run(Kernel, Plan, Args, Context, Run);
run(Kernel, #plan{name = Name, params = Params} = Plan, Args, Context, Run) ->
    case beamai_args:check(Params, Args, Name) of
        {ok, Checked} -> judged(Kernel, Plan, Checked, Context, Run);
        {error, _} = Error -> Error
    end.

judged(Kernel, Plan, Args, Context, Run) ->
    case beamai_env:to_judge(Kernel, Context) of
        {ok, Env} -> judged(Env, Kernel, Plan, Args, Context, Run);
        {error, _} = Error -> Error
    end.

judged(Env, Kernel, #plan{name = Name} = Plan, Args, Context, Run) ->
    case beamai_env:judge(Env, Name, Plan#plan.requires_permission) of
        allow ->
            tries(Kernel, Plan, Args, Context, Run);
        {ask, Request} ->
            case beamai_approval:decide(Request, Args, Kernel, Context) of
                allow -> tries(Kernel, Plan, Args, Context, Run);
                {error, _} = Error -> Error
            end;
        {error, Error} ->
            {error, Error}
    end.

%% A cancellation may have come while a filter or `approve' ran.
tries(Kernel, Plan, Args, Context, Run) ->
    case beamai_runs:cancelled(Run) of
        true -> {error, beamai_error:cancelled(Plan#plan.name)};
        false -> try_it(Kernel, Plan, Args, Context, Run)
    end.

try_it(Kernel, #plan{name = Name, timeout = Timeout} = Plan, Args, Context, Run) ->
    beamai_session:touch(Context, Timeout),
    Tool = {Name, Plan#plan.runs},
    Try = fun() -> beamai_call:run(Kernel, Tool, Args, Context, beamai_budget:in_time(Timeout, Context), Run) end,
    case Try() of
        {error, Error} when Plan#plan.retry =/= {0, 0} ->
            beamai_retry:again(beamai_retry:policy(Name, Plan#plan.retry, Context, Run), Try, Error);
        Result ->
            Result
    end.

%% @doc The error for a name that no tool has, with the nearest names.
-spec unknown_tool(#{binary() => #plan{}}, Name :: term()) -> beamai_error:t().
unknown_tool(Tools, Name) when is_binary(Name) ->
    Nearest = beamai_nearest:names(Name, maps:keys(Tools)),
    Message = ["there is no tool named ", beamai_error:show(Name, 80), hint(Nearest, Tools)],
    beamai_error:new(Name, not_found, unknown_tool, Message, #{nearest => Nearest});
unknown_tool(Tools, Name) ->
    Shown = unicode:characters_to_binary(beamai_error:show(Name, 80)),
    Message = ["the name of a tool is a binary, not ", Shown, hint(nearest(Name, Tools), Tools)],
    beamai_error:new(Shown, not_found, unknown_tool, Message, #{nearest => nearest(Name, Tools)}).

nearest(Name, Tools) when is_atom(Name) -> beamai_nearest:names(atom_to_binary(Name), maps:keys(Tools));
nearest(Name, Tools) ->
    try unicode:characters_to_binary(Name) of
        Text when is_binary(Text) -> beamai_nearest:names(Text, maps:keys(Tools));
        _ -> []
    catch
        error:badarg -> []
    end.

hint([], Tools) when map_size(Tools) =:= 0 -> "; this kernel has none";
hint([], Tools) -> ["; the tools are ", names(lists:sort(maps:keys(Tools)))];
hint(Nearest, _Tools) -> ["; did you mean ", names(Nearest), "?"].

names(Names) ->
    lists:join(", ", lists:sublist(Names, 20)).
