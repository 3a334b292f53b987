%% @doc Several calls at once: `invoke_all'.
%%
%% Each call's tool runs in a worker process. Filters run in the caller's process, and so does what
%% workers want asked. While a filter waits in its `Next', this process starts further calls and
%% serves the workers; a call with filters thus nests inside the `Next' of the one before, and the
%% state of the batch is kept in the process dictionary, for the filters' funs lie between.
-module(beamai_batch).

-include("beamai_plan.hrl").

-export([run/3, run/4, work/7]).
-export_type([options/0]).

%% Workers at most, for each scheduler.
-define(PER_SCHEDULER, 8).

-type options() :: #{
    %% How many calls run at the same time, at most; 8 for each scheduler by default.
    parallel => pos_integer(),
    %% The calls' ids, which their contexts carry as `call_id'.
    ids => [term()],
    %% Hears in the calling process of each call's start and end, as they happen. The duration is the call's own, in
    %% microseconds: what runs beside it is not in it.
    report => fun(({started, Index :: pos_integer()} | {done, Index :: pos_integer(), beamai_call:result(), Duration :: non_neg_integer()}) -> term())
}.

-record(batch, {
    tag :: reference(),
    kernel :: beamai_kernel:kernel(),
    context :: beamai_context:t(),
    options :: options(),
    limit :: pos_integer(),
    %% Where a cancellation arrives for the calls that have not started.
    run :: reference() | none,
    waiting = [] :: [{Index :: pos_integer(), Name :: term(), Args :: term()}],
    %% Whose call a worker works on, and whether its answer is the call's or a filter waits for it.
    workers = #{} :: #{pid() => {Tool :: binary(), pos_integer(), done | next}},
    spans = #{} :: #{pos_integer() => beamai_telemetry:span()},
    %% Native time units that workers have spent on a call.
    spent = #{} :: #{pos_integer() => non_neg_integer()},
    %% Answers of workers whose end has not been seen, or that a filter waits for.
    answers = #{} :: #{pid() => beamai_call:result()},
    done = #{} :: #{pos_integer() => beamai_call:result()}
}).

%% @doc Runs the calls; see {@link beamai_kernel:invoke_all/3}.
-spec run(beamai_kernel:kernel(), [{term(), term()}], beamai_context:t()) ->
    {[{ok, term()} | {error, term()}], beamai_context:t()}.
run(Kernel, Calls, Context) ->
    run(Kernel, Calls, Context, #{}).

%% @doc As {@link run/3}, with options.
-spec run(beamai_kernel:kernel(), [{term(), term()}], beamai_context:t(), options()) ->
    {[{ok, term()} | {error, term()}], beamai_context:t()}.
run(Kernel, Calls, Context, Options) ->
    lists:foreach(fun well_formed/1, Calls),
    _ = beamai_guard:ready(),
    Tag = make_ref(),
    Run = enter(Context),
    Indexes = lists:seq(1, length(Calls)),
    put_batch(#batch{
        tag = Tag,
        kernel = Kernel,
        context = Context,
        options = Options,
        run = Run,
        limit = maps:get(parallel, Options, ?PER_SCHEDULER * erlang:system_info(schedulers_online)),
        waiting = [{Index, Name, Args} || {Index, {Name, Args}} <- lists:zip(Indexes, Calls)]
    }),
    try
        until_done(Tag),
        #batch{done = Done} = get_batch(Tag),
        merge([{maps:get(Index, Done), context(Index, Options, Context)} || Index <- Indexes], Context)
    after
        stop_workers(Tag),
        erase({?MODULE, Tag}),
        leave(Context, Run)
    end.

%% Before any of the calls runs.
well_formed({_Name, _Args}) -> ok;
well_formed(Other) -> beamai_misuse:raise({bad_call, Other}, ["a call is {Name, Args}, not ", beamai_error:show(Other, 80)]).

enter(#{run_id := RunId}) when RunId =/= undefined -> beamai_runs:enter(RunId);
enter(_Context) -> none.

leave(_Context, none) -> ok;
leave(#{run_id := RunId}, Run) -> beamai_runs:leave(RunId, Run).

merge(Results, Context) ->
    lists:mapfoldl(
        fun
            ({{ok, Result, After}, Before}, Acc) ->
                Changes = beamai_context:changes(Before, After),
                {{ok, Result}, beamai_context:apply_changes(Changes, Acc)};
            ({{error, _} = Error, _Before}, Acc) ->
                {Error, Acc}
        end,
        Context,
        Results
    ).

%% What a call is given.
context(Index, #{ids := Ids}, Context) -> Context#{call_id => lists:nth(Index, Ids)};
context(_Index, _Options, Context) -> Context.

report(Event, #batch{options = #{report := Report}}) -> Report(Event);
report(_Event, _Batch) -> ok.

put_batch(#batch{tag = Tag} = Batch) ->
    put({?MODULE, Tag}, Batch).

get_batch(Tag) ->
    get({?MODULE, Tag}).

%%% Starting

until_done(Tag) ->
    case get_batch(Tag) of
        #batch{waiting = [], workers = Workers} when map_size(Workers) =:= 0 -> ok;
        Batch ->
            start_or_serve(Batch),
            until_done(Tag)
    end.

start_or_serve(#batch{waiting = [Call | Rest], workers = Workers, limit = Limit} = Batch) when
    map_size(Workers) < Limit
->
    put_batch(Batch#batch{waiting = Rest}),
    case {beamai_runs:cancelled(Batch#batch.run), beamai_budget:is_time_over(Batch#batch.context)} of
        {true, _} -> not_run(Call, fun beamai_error:cancelled/1, Batch);
        {false, true} -> not_run(Call, fun beamai_error:out_of_time/1, Batch);
        {false, false} -> start(Call, Batch)
    end;
start_or_serve(#batch{tag = Tag}) ->
    serve(Tag).

start({Index, Name, Args}, #batch{tag = Tag, kernel = #{tools := Tools}, options = Options} = Batch) ->
    Context = context(Index, Options, Batch#batch.context),
    _ = report({started, Index}, Batch),
    put_batch(with_span(Index, beamai_spans:start_tool(Name, Args, Context), get_batch(Tag))),
    case Tools of
        #{Name := #plan{filters = []} = Plan} ->
            _ = start_worker(Tag, {Index, done}, Plan, Args, Context),
            ok;
        #{Name := #plan{filters = Filters} = Plan} ->
            Call = #{tool => Name, args => Args, context => Context},
            done(Tag, Index, beamai_filter:apply_all(Filters, Call, core(Tag, Index, Plan)));
        #{} ->
            done(Tag, Index, {error, beamai_invocation:unknown_tool(Tools, Name)})
    end.

not_run({Index, Name, _Args}, Why, #batch{tag = Tag}) when is_binary(Name) ->
    done(Tag, Index, {error, Why(Name)});
not_run(Call, _Why, Batch) ->
    start(Call, Batch).

done(Tag, Index, Result) ->
    #batch{done = Done, spans = Spans, spent = Spent, context = Context, options = Options} = Batch = get_batch(Tag),
    _ = beamai_crash:log(Result, context(Index, Options, Context)),
    Duration = maps:get(Index, Spent, 0),
    _ = is_map_key(Index, Spans) andalso beamai_spans:stop_tool(maps:get(Index, Spans), Result, Duration),
    put_batch(Batch#batch{done = Done#{Index => Result}}),
    _ = report({done, Index, Result, erlang:convert_time_unit(Duration, native, microsecond)}, Batch),
    ok.

with_span(_Index, off, Batch) -> Batch;
with_span(Index, Span, #batch{spans = Spans} = Batch) -> Batch#batch{spans = Spans#{Index => Span}}.

%% What the innermost filter calls. A filter may call it in a process of its own: no batch there.
core(Tag, Index, Plan) ->
    Caller = self(),
    #batch{kernel = Kernel, run = Run} = get_batch(Tag),
    fun
        (#{args := Args, context := Context}) when self() =:= Caller ->
            await(Tag, start_worker(Tag, {Index, next}, Plan, Args, Context));
        (#{args := Args, context := Context}) ->
            beamai_invocation:run_part(Kernel, Plan, Args, Context, Run)
    end.

await(Tag, Worker) ->
    case get_batch(Tag) of
        #batch{workers = Workers} = Batch when is_map_key(Worker, Workers) ->
            start_or_serve(Batch),
            await(Tag, Worker);
        #batch{answers = Answers} = Batch ->
            {Answer, Left} = maps:take(Worker, Answers),
            put_batch(Batch#batch{answers = Left}),
            Answer
    end.

start_worker(Tag, {Index, For}, Plan, Args, Context) ->
    #batch{kernel = Kernel, run = Run, workers = Workers} = Batch = get_batch(Tag),
    Work = [self(), Tag, Run, Kernel, Plan, Args, Context],
    {Pid, _Monitor} = spawn_opt(?MODULE, work, Work, [{monitor, [{tag, Tag}]}]),
    put_batch(Batch#batch{workers = Workers#{Pid => {Plan#plan.name, Index, For}}}),
    Pid.

%% @private What a worker does; known to {@link beamai_guard} by its name.
-spec work(
    Caller :: pid(), Tag :: reference(), Run :: reference() | none, beamai_kernel:kernel(), #plan{}, term(), beamai_context:t()
) -> term().
work(Caller, Tag, Run, Kernel, Plan, Args, Context) ->
    case beamai_guard:enter_worker(Caller, Tag) of
        true ->
            Started = erlang:monotonic_time(),
            Result = beamai_invocation:run_part(Kernel, Plan, Args, Context, Run),
            Caller ! {Tag, {answer, self(), Result, erlang:monotonic_time() - Started}};
        false ->
            ok
    end.

%%% Serving

serve(Tag) ->
    receive
        {Tag, {answer, Worker, Result, Duration}} ->
            answered(Worker, Result, Duration, get_batch(Tag));
        {Tag, _Monitor, process, Worker, Reason} ->
            beamai_guard:unwatch(Worker),
            ended(Worker, Reason, get_batch(Tag));
        {Tag, {callback, From, What}} ->
            #batch{kernel = Kernel, context = Context} = get_batch(Tag),
            beamai_callback:serve(From, What, Kernel, Context);
        {Tag, {clock, StopOrGo}} ->
            beamai_callback:clock(StopOrGo)
    end.

%% A filter may run its call several times.
answered(Worker, Result, Duration, #batch{answers = Answers, workers = Workers, spent = Spent} = Batch) ->
    #{Worker := {_Tool, Index, _For}} = Workers,
    Sum = Duration + maps:get(Index, Spent, 0),
    put_batch(Batch#batch{answers = Answers#{Worker => Result}, spent = Spent#{Index => Sum}}).

ended(Worker, Reason, #batch{tag = Tag, workers = Workers, answers = Answers} = Batch) ->
    {{Tool, Index, For}, Rest} = maps:take(Worker, Workers),
    Result = maps:get(Worker, Answers, {error, lost(Tool, Reason)}),
    Ended = Batch#batch{workers = Rest},
    case For of
        next ->
            put_batch(Ended#batch{answers = Answers#{Worker => Result}});
        done ->
            put_batch(Ended#batch{answers = maps:remove(Worker, Answers)}),
            done(Tag, Index, Result)
    end.

lost(Tool, Reason) ->
    Message = ["the worker of ", Tool, " was ended: ", beamai_error:show(Reason, 200)],
    beamai_error:new(Tool, execution_failed, crash, Message, #{class => exit, exception => Reason}).

%% Only where something has gone wrong are there any.
stop_workers(Tag) ->
    #batch{workers = Workers} = get_batch(Tag),
    lists:foreach(fun(Worker) -> exit(Worker, kill) end, maps:keys(Workers)),
    lists:foreach(fun(Worker) -> await_end(Tag, Worker) end, maps:keys(Workers)).

await_end(Tag, Worker) ->
    receive
        {Tag, _Monitor, process, Worker, _Reason} -> beamai_guard:unwatch(Worker)
    end,
    flush(Tag).

flush(Tag) ->
    receive
        {Tag, _Body} -> flush(Tag)
    after 0 -> ok
    end.
