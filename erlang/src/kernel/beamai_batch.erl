%% @doc Runs several calls in parallel: `invoke_all'.
%%
%% Tools run in worker processes, each of which runs calls one after the other. Filters and callbacks such as `approve'
%% run in the caller's process. While a filter waits in its `Next', this process starts further calls and serves the
%% workers, so a call with filters is nested in the `Next' of the previous one. The state of the batch is kept in the
%% process dictionary, because the host's filter funs are in between on the stack. Calls that a filter wants joined are held
%% back until all calls have started, and then share runs ({@link beamai_join}).
%% @hidden
-module(beamai_batch).

-include("beamai_plan.hrl").

-export([run/3, run/4, work/4]).
-export_type([options/0]).

%% Maximum number of workers per scheduler.
-define(PER_SCHEDULER, 8).
%% Initial heap of a worker, enough for about ten calls between garbage collections; with the minimum, every call would
%% cause one.
-define(HEAP_WORDS, 4096).

-type options() :: #{
    %% Maximum number of calls that run at the same time; 8 per scheduler by default.
    parallel => pos_integer(),
    %% The ids of the calls, in their order, which their contexts contain as `call_id'.
    ids => tuple(),
    %% The tag of a run that the calls belong to: if it has been cancelled, none of them starts.
    whole => reference(),
    %% Called in the calling process at each call's start and end. The duration is the call's own, in microseconds,
    %% without calls that ran in parallel.
    report => fun(({started, Index :: pos_integer()} | {done, Index :: pos_integer(), beamai_call:result(), Duration :: non_neg_integer()}) -> term())
}.

%% A result is a call's own, or passed to the filters of one call or of several ones.
-type purpose() :: {done | next, Index :: pos_integer()} | {joined, beamai_filter:call(), [beamai_join:member()]}.

-record(batch, {
    tag :: reference(),
    kernel :: beamai_kernel:kernel(),
    context :: beamai_context:t(),
    options :: options(),
    limit :: pos_integer(),
    %% Tag with which a cancellation of calls that have not started arrives.
    run :: reference() | none,
    waiting = [] :: [{Index :: pos_integer(), Name :: term(), Args :: term()}],
    %% Calls to be joined, and what is to run of them as soon as a worker is free.
    held = [] :: [beamai_join:held()],
    jobs = [] :: [beamai_join:job()],
    %% Busy workers, and what their result is for.
    workers = #{} :: #{pid() => {Tool :: binary(), purpose()}},
    spans = #{} :: #{pos_integer() => beamai_telemetry:span()},
    %% Time that workers have spent on unfinished calls, in native units.
    spent = #{} :: #{pos_integer() => non_neg_integer()},
    %% Workers without a call.
    idle = [] :: [pid()],
    %% Results that filters wait for.
    answers = #{} :: #{pos_integer() => beamai_call:result()},
    done = [] :: [{pos_integer(), beamai_call:result()}]
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
    Run = enter(Context, maps:get(whole, Options, none)),
    put_batch(#batch{
        tag = Tag,
        kernel = Kernel,
        context = Context,
        options = Options,
        run = Run,
        limit = maps:get(parallel, Options, ?PER_SCHEDULER * erlang:system_info(schedulers_online)),
        waiting = [{Index, Name, Args} || {Index, {Name, Args}} <- lists:zip(lists:seq(1, length(Calls)), Calls)]
    }),
    try
        until_done(Tag),
        #batch{done = Done} = get_batch(Tag),
        merge([{Result, context(Index, Options, Context)} || {Index, Result} <- lists:keysort(1, Done)], Context)
    after
        stop_workers(Tag),
        erase({?MODULE, Tag}),
        leave(Context, Run)
    end.

%% Checked before any call runs.
well_formed({_Name, _Args}) -> ok;
well_formed(Other) -> beamai_validate:raise({bad_call, Other}, ["a call is ", beamai_syntax:either("{Name, Args}", "{name, args}"), ", not ", beamai_validate:show(Other)]).

enter(#{run_id := RunId}, Whole) when RunId =/= undefined -> beamai_runs:enter(RunId, Whole);
enter(_Context, _Whole) -> none.

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

%% The context of a call.
context(Index, #{ids := Ids}, Context) -> Context#{call_id => element(Index, Ids)};
context(_Index, _Options, Context) -> Context.

report(Event, #batch{options = #{report := Report}}) -> Report(Event);
report(_Event, _Batch) -> ok.

put_batch(#batch{tag = Tag} = Batch) ->
    _ = put({?MODULE, Tag}, Batch),
    ok.

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
    Left = Batch#batch{waiting = Rest},
    case {beamai_runs:cancelled(Batch#batch.run), beamai_budget:is_time_over(Batch#batch.context)} of
        {true, _} -> not_run(Call, fun beamai_error:cancelled/1, Left);
        {false, true} -> not_run(Call, fun beamai_error:out_of_time/1, Left);
        {false, false} -> start(Call, Left)
    end;
start_or_serve(#batch{jobs = [Job | Rest], workers = Workers, limit = Limit} = Batch) when map_size(Workers) < Limit ->
    start_job(Job, Batch#batch{jobs = Rest});
start_or_serve(#batch{waiting = [], held = [_ | _] = Held, jobs = Jobs} = Batch) ->
    put_batch(Batch#batch{held = [], jobs = Jobs ++ beamai_join:jobs(lists:reverse(Held))});
start_or_serve(#batch{tag = Tag}) ->
    serve(Tag).

start_job({alone, Index, Call}, Batch) -> start_worker({next, Index}, Call, Batch);
start_job({joined, Call, Members}, Batch) -> start_worker({joined, Call, Members}, Call, Batch).

start({Index, Name, Args}, #batch{tag = Tag, kernel = #{tools := Tools} = Kernel, options = Options} = Batch) ->
    Context = context(Index, Options, Batch#batch.context),
    _ = report({started, Index}, Batch),
    Spanned = with_span(Index, beamai_spans:start_tool(Name, Args, Context), Batch),
    case beamai_plan:find(Name, Tools) of
        {ok, #plan{filters = []}} ->
            start_worker({done, Index}, #{tool => Name, args => Args, context => Context}, Spanned);
        {ok, #plan{filters = Filters} = Plan} ->
            put_batch(Spanned),
            Call = #{tool => Name, args => Args, context => Context, reuse => beamai_reuse:scope(Kernel, Plan)},
            Result = beamai_filter:apply_all(Filters, Call, core(Tag, Index, Plan)),
            done(Index, Result, get_batch(Tag));
        {error, _} = Error ->
            done(Index, Error, Spanned)
    end.

not_run({Index, Name, _Args}, Why, Batch) when is_binary(Name) ->
    done(Index, {error, Why(Name)}, Batch);
not_run(Call, _Why, Batch) ->
    start(Call, Batch).

done(Index, Result, #batch{done = Done, spans = Spans, spent = Spent, context = Context, options = Options} = Batch) ->
    put_batch(Batch#batch{done = [{Index, Result} | Done], spent = maps:remove(Index, Spent)}),
    _ = beamai_crash:log(Result, context(Index, Options, Context)),
    Duration = maps:get(Index, Spent, 0),
    _ = is_map_key(Index, Spans) andalso beamai_spans:stop_tool(maps:get(Index, Spans), Result, Duration),
    _ = is_map_key(report, Options) andalso
        report({done, Index, Result, erlang:convert_time_unit(Duration, native, microsecond)}, Batch),
    ok.

with_span(_Index, off, Batch) -> Batch;
with_span(Index, Span, #batch{spans = Spans} = Batch) -> Batch#batch{spans = Spans#{Index => Span}}.

%% The innermost function of the filter chain. A filter may call it in another process, where there is no batch.
core(Tag, Index, Plan) ->
    Caller = self(),
    #batch{kernel = Kernel, run = Run} = get_batch(Tag),
    fun
        (#{join := Join} = Call) when self() =:= Caller ->
            #batch{held = Held} = Batch = get_batch(Tag),
            put_batch(Batch#batch{held = [beamai_join:held(Index, native_name(Plan), Join, maps:remove(join, Call)) | Held]}),
            await(Tag, Index);
        (Call) when self() =:= Caller ->
            start_worker({next, Index}, Call, get_batch(Tag)),
            await(Tag, Index);
        (#{args := Args, context := Context}) ->
            beamai_invocation:run_part(Kernel, Plan, Args, Context, Run)
    end.

native_name(#plan{runs = #native{name = Name, dialect = <<"beamai">>}}) -> Name;
native_name(#plan{}) -> none.

await(Tag, Index) ->
    case get_batch(Tag) of
        #batch{answers = #{Index := Answer} = Answers} = Batch ->
            put_batch(Batch#batch{answers = maps:remove(Index, Answers)}),
            Answer;
        Batch ->
            start_or_serve(Batch),
            await(Tag, Index)
    end.

%% Workers are reused, so most calls need no process besides the one of their handler.
start_worker(For, #{tool := Name, args := Args, context := Context}, #batch{tag = Tag, workers = Workers} = Batch) ->
    {Worker, Free} = free_worker(Batch),
    Worker ! {Tag, {work, Name, Args, Context}},
    put_batch(Free#batch{workers = Workers#{Worker => {Name, For}}}).

free_worker(#batch{idle = [Worker | Idle]} = Batch) ->
    {Worker, Batch#batch{idle = Idle}};
free_worker(#batch{tag = Tag, kernel = Kernel, run = Run} = Batch) ->
    Options = [{monitor, [{tag, Tag}]}, {min_heap_size, ?HEAP_WORDS}],
    {Worker, _Monitor} = spawn_opt(?MODULE, work, [self(), Tag, Run, Kernel], Options),
    {Worker, Batch}.

%% @private The main function of a worker.
-spec work(Caller :: pid(), Tag :: reference(), Run :: reference() | none, beamai_kernel:kernel()) -> term().
work(Caller, Tag, Run, Kernel) ->
    %% While it is idle, no call's guard would end it together with the caller.
    Monitor = erlang:monitor(process, Caller),
    beamai_guard:enter_worker(Caller, Tag) andalso work_on(Caller, Monitor, Tag, Run, Kernel).

work_on(Caller, Monitor, Tag, Run, Kernel) ->
    receive
        {Tag, {work, Name, Args, Context}} ->
            Started = erlang:monotonic_time(),
            #{tools := #{Name := Plan}} = Kernel,
            Result = beamai_invocation:run_part(Kernel, Plan, Args, Context, Run),
            Caller ! {Tag, {answer, self(), Result, erlang:monotonic_time() - Started}},
            work_on(Caller, Monitor, Tag, Run, Kernel);
        {Tag, stop} ->
            ok;
        {'DOWN', Monitor, process, Caller, _Reason} ->
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
            #batch{kernel = Kernel, context = Context, run = Run} = get_batch(Tag),
            beamai_callback:serve(From, What, {Kernel, Context, beamai_runs:cancelled(Run)});
        {Tag, {clock, StopOrGo}} ->
            beamai_callback:clock(StopOrGo)
    end.

answered(Worker, Result, Duration, #batch{spent = Spent, workers = Workers, idle = Idle} = Batch) ->
    #{Worker := {_Tool, For}} = Workers,
    finished(Worker, Result, Batch#batch{spent = spend(Duration, For, Spent), idle = [Worker | Idle]}).

%% A filter may run its call several times. Calls that share a run have its duration each.
spend(Duration, {joined, _Call, Members}, Spent) ->
    lists:foldl(fun(Index, Sums) -> spend(Duration, {next, Index}, Sums) end, Spent, beamai_join:indexes(Members));
spend(Duration, {_For, Index}, Spent) ->
    Spent#{Index => Duration + maps:get(Index, Spent, 0)}.

%% Workers exit on their own only if they are killed.
ended(Worker, Reason, #batch{workers = Workers, idle = Idle} = Batch) ->
    case Workers of
        #{Worker := {Tool, _For}} -> finished(Worker, {error, lost(Tool, Reason)}, Batch);
        #{} -> put_batch(Batch#batch{idle = lists:delete(Worker, Idle)})
    end.

finished(Worker, Result, #batch{workers = Workers, answers = Answers, jobs = Jobs} = Batch) ->
    {{_Tool, For}, Busy} = maps:take(Worker, Workers),
    case For of
        {next, Index} ->
            put_batch(Batch#batch{workers = Busy, answers = Answers#{Index => Result}});
        {done, Index} ->
            done(Index, Result, Batch#batch{workers = Busy});
        {joined, Call, Members} ->
            {Results, Alone} = beamai_join:divided(Members, {Call, Result}),
            put_batch(Batch#batch{workers = Busy, answers = maps:merge(Answers, Results), jobs = Jobs ++ Alone})
    end.

lost(Tool, Reason) ->
    Message = ["the worker of ", Tool, " was ended: ", beamai_exception:ended(Reason, none)],
    beamai_error:new(Tool, execution_failed, crash, Message, #{class => exit, exception => Reason}).

%% After an exception, some workers are still busy.
stop_workers(Tag) ->
    #batch{workers = Workers, idle = Idle} = get_batch(Tag),
    Busy = maps:keys(Workers),
    lists:foreach(fun(Worker) -> exit(Worker, kill) end, Busy),
    lists:foreach(fun(Worker) -> Worker ! {Tag, stop} end, Idle),
    lists:foreach(fun(Worker) -> await_end(Tag, Worker) end, Idle ++ Busy),
    Busy =:= [] orelse flush(Tag).

await_end(Tag, Worker) ->
    receive
        {Tag, _Monitor, process, Worker, _Reason} -> beamai_guard:unwatch(Worker)
    end.

flush(Tag) ->
    receive
        {Tag, _Body} -> flush(Tag)
    after 0 -> ok
    end.
