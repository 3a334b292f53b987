%% @doc Records all tool calls, model requests and runs of this node, in bounded memory and optionally in a file, and
%% keeps totals.
%%
%% ```
%% {ok, Trace} = beamai_trace:start_link(#{max => 10000, file => "calls.jsonl"}),
%% ...
%% [#{name := <<"file_read">>, outcome := ok, duration_us := _} | _] = beamai_trace:entries(Trace),
%% #{tools := #{<<"file_read">> := #{count := 12, errors := 0, p95_us := _}}} = beamai_trace:totals(Trace).
%% '''
%%
%% Receives events from {@link beamai_telemetry}. Arguments, results and texts are recorded only if the application
%% environment has `{telemetry_contents, true}'. Callers never wait for it: under overload, entries are dropped, and
%% `dropped' of {@link totals/1} counts them.
-module(beamai_trace).
-behaviour(gen_server).

-export([start_link/0, start_link/1, stop/1, entries/1, entries/2, totals/1, json/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).
-export_type([options/0, entry/0, filter/0, totals/0, total/0]).

-define(MAX_ENTRIES, 10000).
%% Maximum number of entries queued for the process.
-define(MAX_WAITING, 10000).
%% Durations are counted in buckets of about 3.5 percent.
-define(STEPS, 20).

-type options() :: #{
    %% Maximum number of entries kept; 10000 by default. The oldest are dropped first.
    max => pos_integer(),
    %% A file that entries are appended to, as lines of JSON.
    file => file:filename_all()
}.
%% Sorted by end time. `at' is the start, in microseconds of system time. `refused': not permitted, by the rule `rule'
%% if a rule decided.
-type entry() :: #{
    number := pos_integer(),
    kind := tool | model | agent,
    name := binary(),
    at := integer(),
    duration_us := non_neg_integer(),
    outcome := ok | error | refused,
    error => binary(),
    rule => binary(),
    run_id => term(),
    agent_id => term(),
    session_id => term(),
    call_id => term(),
    input_tokens => non_neg_integer(),
    output_tokens => non_neg_integer(),
    cached_tokens => non_neg_integer(),
    input => term(),
    output => term()
}.
-type filter() :: #{kind => tool | model | agent, name => binary(), outcome => ok | error | refused, agent_id => term(), run_id => term()}.
%% Percentiles have an error of about 3.5 percent.
-type total() :: #{
    count := non_neg_integer(), errors := non_neg_integer(), p50_us := non_neg_integer(), p95_us := non_neg_integer(),
    p99_us := non_neg_integer(), max_us := non_neg_integer(), input_tokens := non_neg_integer(), output_tokens := non_neg_integer()
}.
-type totals() :: #{
    tools := #{binary() => total()}, models := #{binary() => total()}, agents := #{term() => total()}, dropped := non_neg_integer()
}.
-type sums() :: #{count := integer(), errors := integer(), steps := #{integer() => integer()}, max_us := integer(), input_tokens := integer(), output_tokens := integer()}.

-record(trace, {
    table :: ets:table(),
    max :: pos_integer(),
    next = 1 :: pos_integer(),
    file :: none | file:io_device(),
    waiting :: atomics:atomics_ref(),
    %% By kind and name.
    sums = #{} :: #{{tool | model | agent, term()} => sums()}
}).

%% @doc As {@link start_link/1}, with the default options.
-spec start_link() -> {ok, pid()} | ignore | {error, term()}.
start_link() ->
    start_link(#{}).

%% @doc Starts a trace. Raises `{bad_option, Key}'; returns an error if the file cannot be opened.
-spec start_link(options()) -> {ok, pid()} | ignore | {error, term()}.
start_link(Options) ->
    maps:foreach(fun option/2, Options),
    gen_server:start_link(?MODULE, Options, []).

option(max, Max) when is_integer(Max), Max > 0 -> ok;
option(file, File) when is_binary(File); is_list(File) -> ok;
option(Key, Value) -> beamai_validate:bad_option(Key, ["cannot be ", beamai_error:show(Value, 80), "; the options are max and file"]).

%% @doc Stops a trace after writing queued entries.
-spec stop(pid()) -> ok.
stop(Trace) ->
    gen_server:stop(Trace).

%% @doc All entries in memory, oldest first.
-spec entries(pid()) -> [entry()].
entries(Trace) ->
    entries(Trace, #{}).

%% @doc The entries with all of these values.
-spec entries(pid(), filter()) -> [entry()].
entries(Trace, Filter) ->
    Keys = maps:keys(Filter),
    [Entry || {_Number, Entry} <- ets:tab2list(gen_server:call(Trace, table)), maps:with(Keys, Entry) =:= Filter].

%% @doc Number, errors, durations and tokens per tool, model and agent since the start, including entries that are no
%% longer kept.
-spec totals(pid()) -> totals().
totals(Trace) ->
    gen_server:call(Trace, totals).

%% @doc An entry as a JSON line.
-spec json(entry()) -> binary().
json(Entry) ->
    beamai_json:text(maps:map(fun plain/2, Entry)).

plain(_Key, Value) when is_number(Value); is_binary(Value); is_atom(Value) -> Value;
plain(Key, Value) when Key =:= input; Key =:= output ->
    case beamai_json:encode(Value) of
        {ok, _} -> Value;
        {error, _} -> shown(Value)
    end;
plain(_Key, Value) ->
    shown(Value).

shown(Value) -> unicode:characters_to_binary(io_lib:format("~0tp", [Value])).

%%% In the process of each call

heard([beamai, Kind, Suffix], Measurements, Metadata, {Pid, Waiting}) ->
    case atomics:add_get(Waiting, 1, 1) of
        Count when Count =< ?MAX_WAITING ->
            Pid ! {heard, Kind, Suffix, erlang:system_time(microsecond), Measurements, Metadata};
        _ ->
            atomics:sub(Waiting, 1, 1),
            atomics:add(Waiting, 2, 1)
    end.

%%% The process

%% @private
-spec init(options()) -> {ok, #trace{}} | {stop, term()}.
init(Options) ->
    process_flag(trap_exit, true),
    case opened(Options) of
        {ok, File} ->
            Waiting = atomics:new(2, []),
            Events = [[beamai, Kind, Suffix] || Kind <- [tool, model, agent], Suffix <- [stop, exception]],
            ok = beamai_telemetry:attach({?MODULE, self()}, Events, fun heard/4, {self(), Waiting}),
            Table = ets:new(?MODULE, [ordered_set, protected]),
            {ok, #trace{table = Table, max = maps:get(max, Options, ?MAX_ENTRIES), file = File, waiting = Waiting}};
        {error, Reason} ->
            {stop, Reason}
    end.

opened(#{file := Path}) -> file:open(Path, [append, raw, binary, {delayed_write, 65536, 1000}]);
opened(_Options) -> {ok, none}.

%% @private
-spec handle_call(table | totals, {pid(), term()}, #trace{}) -> {reply, term(), #trace{}}.
handle_call(table, _From, #trace{table = Table} = Trace) ->
    {reply, Table, Trace};
handle_call(totals, _From, #trace{sums = Sums, waiting = Waiting} = Trace) ->
    Of = fun(Kind) -> maps:from_list([{Name, total(Sum)} || {{K, Name}, Sum} <- maps:to_list(Sums), K =:= Kind]) end,
    {reply, #{tools => Of(tool), models => Of(model), agents => Of(agent), dropped => atomics:get(Waiting, 2)}, Trace}.

%% @private
-spec handle_cast(term(), #trace{}) -> {noreply, #trace{}}.
handle_cast(_Other, Trace) ->
    {noreply, Trace}.

%% @private
-spec handle_info(term(), #trace{}) -> {noreply, #trace{}}.
handle_info({heard, Kind, Suffix, Now, Measurements, Metadata}, #trace{waiting = Waiting} = Trace) ->
    atomics:sub(Waiting, 1, 1),
    {noreply, kept(entry(Kind, Suffix, Now, Measurements, Metadata, Trace), Trace)};
handle_info(_Other, Trace) ->
    {noreply, Trace}.

%% @private
-spec terminate(term(), #trace{}) -> ok.
terminate(_Reason, #trace{file = File} = Trace) ->
    _ = beamai_telemetry:detach({?MODULE, self()}),
    rest(Trace),
    _ = File =/= none andalso file:close(File),
    ok.

%% Processes the entries that are already queued.
rest(Trace) ->
    receive
        {heard, _, _, _, _, _} = Heard ->
            {noreply, After} = handle_info(Heard, Trace),
            rest(After)
    after 0 -> ok
    end.

entry(Kind, Suffix, Now, #{duration := Duration} = Measurements, Metadata, #trace{next = Number}) ->
    Us = erlang:convert_time_unit(Duration, native, microsecond),
    Error = maps:get('error.type', Metadata, none),
    Own = #{
        number => Number, kind => Kind, name => name(Kind, Metadata), at => Now - Us, duration_us => Us, outcome => outcome(Suffix, Error)
    },
    Renamed = [
        {Key, maps:get(Name, Metadata)}
     || {Key, Name} <- [
            {error, 'error.type'}, {rule, 'beamai.permission.rule'}, {run_id, run_id}, {agent_id, 'gen_ai.agent.id'},
            {session_id, 'gen_ai.conversation.id'}, {call_id, 'gen_ai.tool.call.id'}, {input, 'gen_ai.tool.call.arguments'},
            {input, 'gen_ai.input.messages'}, {output, 'gen_ai.tool.call.result'}, {output, 'gen_ai.output.messages'}
        ],
        is_map_key(Name, Metadata)
    ],
    maps:merge(maps:merge(Own, maps:from_list(Renamed)), maps:with([input_tokens, output_tokens, cached_tokens], Measurements)).

outcome(stop, none) -> ok;
outcome(stop, <<"permission_denied", _/binary>>) -> refused;
outcome(_Suffix, _Error) -> error.

name(tool, #{'gen_ai.tool.name' := Name}) -> text(Name);
name(model, #{'gen_ai.request.model' := Name}) -> text(Name);
name(model, #{'gen_ai.provider.name' := Name}) -> text(Name);
name(agent, #{'gen_ai.agent.id' := Id}) -> text(Id);
name(_Kind, _Metadata) -> <<"unknown">>.

text(Name) when is_binary(Name) -> Name;
text(Other) -> shown(Other).

kept(#{number := Number} = Entry, #trace{table = Table, max = Max, file = File, sums = Sums} = Trace) ->
    true = ets:insert(Table, {Number, Entry}),
    _ = ets:delete(Table, Number - Max),
    _ = File =/= none andalso file:write(File, [json(Entry), $\n]),
    Trace#trace{next = Number + 1, sums = summed({maps:get(kind, Entry), maps:get(name, Entry)}, Entry, Sums)}.

summed(Key, #{duration_us := Us, outcome := Outcome} = Entry, All) ->
    Empty = #{count => 0, errors => 0, steps => #{}, max_us => 0, input_tokens => 0, output_tokens => 0},
    #{count := Count, errors := Errors, steps := Steps, max_us := Longest, input_tokens := In, output_tokens := Out} = maps:get(Key, All, Empty),
    Step = round(?STEPS * math:log2(Us + 1)),
    All#{Key => #{
        count => Count + 1,
        errors => Errors + case Outcome of ok -> 0; _ -> 1 end,
        steps => Steps#{Step => 1 + maps:get(Step, Steps, 0)},
        max_us => max(Longest, Us),
        input_tokens => In + maps:get(input_tokens, Entry, 0),
        output_tokens => Out + maps:get(output_tokens, Entry, 0)
    }}.

total(#{count := Count, steps := Steps} = Sum) ->
    Sorted = lists:sort(maps:to_list(Steps)),
    At = fun(Percent) -> percentile(Sorted, ceil(Count * Percent / 100)) end,
    (maps:remove(steps, Sum))#{p50_us => At(50), p95_us => At(95), p99_us => At(99)}.

percentile([{Step, _Count}], _Left) -> us(Step);
percentile([{Step, Count} | _], Left) when Left =< Count -> us(Step);
percentile([{_Step, Count} | Rest], Left) -> percentile(Rest, Left - Count).

us(Step) -> round(math:pow(2, Step / ?STEPS) - 1).
