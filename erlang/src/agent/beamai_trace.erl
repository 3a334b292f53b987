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
%% Arguments, results and texts are recorded only if the application environment has `{telemetry_contents, true}'.
%% Callers write their entries themselves and never wait. A process writes the file; entries that are overwritten before
%% it has written them are missing there, and `dropped' of {@link totals/1} counts them.
-module(beamai_trace).
-behaviour(gen_server).

-export([start_link/0, start_link/1, stop/1, entries/1, entries/2, entries_after/3, running/1, watch/1, totals/1, json/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).
-export_type([options/0, entry/0, running/0, filter/0, totals/0, total/0]).

-include("beamai_trace_ring.hrl").

-define(MAX_ENTRIES, 10000).
%% Interval at which entries are written to the file, and how long to wait for an entry whose caller was killed after it
%% had reserved the number, in milliseconds.
-define(WRITE_MS, 50).
-define(PATIENCE_MS, 2000).
%% Maximum number of tool names that callers find without a table lookup. Changing them makes the VM scan all heaps.
-define(QUICK_NAMES, 256).
-define(SHARE_MS, 20).
%% Interval at which calls of dead processes are removed from those under way, in milliseconds.
-define(SWEEP_MS, 10000).

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
    %% For sub-agents: the caller's run.
    parent_run_id => term(),
    %% For models.
    provider => binary(),
    finish_reasons => [binary()],
    input_tokens => non_neg_integer(),
    output_tokens => non_neg_integer(),
    cached_tokens => non_neg_integer(),
    %% For tools: size of the arguments and of the result or error, in the external term format.
    input_bytes => non_neg_integer(),
    output_bytes => non_neg_integer(),
    %% Cut at 100,000 bytes.
    input => term(),
    output => term()
}.
%% A call under way; `duration_us' is the time since its start.
-type running() :: #{
    id := pos_integer(),
    kind := tool | model | agent,
    name := binary(),
    at := integer(),
    duration_us := non_neg_integer(),
    outcome := running,
    run_id => term(),
    agent_id => term(),
    session_id => term(),
    call_id => term(),
    parent_run_id => term(),
    provider => binary(),
    input => term()
}.
-type filter() :: #{kind => tool | model | agent, name => binary(), outcome => ok | error | refused, agent_id => term(), run_id => term()}.
-type total() :: beamai_trace_sums:total().
%% After the first 1,000 names, all others are summed up as `(others)'.
-type totals() :: #{
    tools := #{binary() => total()}, models := #{binary() => total()}, agents := #{binary() => total()}, dropped := non_neg_integer()
}.

-record(trace, {
    ring :: beamai_trace_ring:t(),
    file :: none | file:io_device(),
    %% The last entry written, and since when the next one has been missing, in monotonic milliseconds.
    written = 0 :: non_neg_integer(),
    waits = none :: none | integer(),
    dropped = 0 :: non_neg_integer(),
    %% Whether the names known to callers will be updated.
    shares = false :: boolean(),
    %% Processes for which the starts of all calls are recorded.
    watching = #{} :: #{reference() => pid()}
}).

-type state() :: #trace{}.

%% @doc As {@link start_link/1}, with the default options.
-spec start_link() -> {ok, pid()} | ignore | {error, term()}.
start_link() ->
    start_link(#{}).

%% @doc Starts a trace. Raises `{bad_option, Key}'; returns an error if the file cannot be opened.
-spec start_link(options()) -> {ok, pid()} | ignore | {error, term()}.
start_link(Options) ->
    ok = beamai_validate:options(Options),
    maps:foreach(fun option/2, Options),
    gen_server:start_link(?MODULE, Options, []).

option(max, Max) when is_integer(Max), Max > 0 -> ok;
option(file, File) when is_binary(File); is_list(File) -> ok;
option(max, Other) -> beamai_validate:bad_option(max, ["must be an integer above 0, not ", beamai_validate:show(Other)]);
option(file, Other) -> beamai_validate:bad_option(file, ["must be a path, not ", beamai_validate:show(Other)]);
option(Key, _Value) -> beamai_validate:unknown_option(Key, [max, file]).

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
    [Entry || Entry <- beamai_trace_ring:entries(gen_server:call(Trace, ring)), maps:with(Keys, Entry) =:= Filter].

%% @doc The entries after the one with this number, oldest first, at most `Most'.
-spec entries_after(pid(), Number :: non_neg_integer(), Most :: pos_integer()) -> [entry()].
entries_after(Trace, Number, Most) ->
    Ring = gen_server:call(Trace, ring),
    Count = beamai_trace_ring:count(Ring),
    From = max(Number, Count - Ring#ring.max) + 1,
    [Entry || N <- lists:seq(From, min(Count, From + Most - 1)), {ok, Entry} <- [beamai_trace_ring:entry(N, Ring)]].

%% @doc The calls, model requests and runs under way, ordered by start: those of agents, and all others that started while
%% an inspector, or another process that called {@link watch/1}, was there. At most 10,000.
-spec running(pid()) -> [running()].
running(Trace) ->
    beamai_trace_ring:open(gen_server:call(Trace, ring)).

%% @doc Records the starts of all calls as long as the calling process lives. Without it, only those of agents are
%% recorded, because recording a start takes a large part of the time of a call that does nothing.
-spec watch(pid()) -> ok.
watch(Trace) ->
    gen_server:call(Trace, watch).

%% @doc Number, errors, durations and tokens per tool, model and agent since the start, including entries that are no
%% longer kept.
-spec totals(pid()) -> totals().
totals(Trace) ->
    gen_server:call(Trace, totals).

%% @doc An entry as a JSON line.
-spec json(entry() | running()) -> binary().
json(Entry) ->
    beamai_json:text(maps:map(fun plain/2, Entry)).

plain(_Key, Value) when is_number(Value); is_binary(Value); is_atom(Value) -> Value;
plain(finish_reasons, Reasons) -> Reasons;
plain(Key, Value) when Key =:= input; Key =:= output ->
    case beamai_json:encode(Value) of
        {ok, _} -> Value;
        {error, _} -> shown(Value)
    end;
plain(_Key, Value) ->
    shown(Value).

shown(Value) -> unicode:characters_to_binary(io_lib:format("~0tp", [Value])).

%%% The process

%% @private
-spec init(options()) -> {ok, #trace{}} | {stop, term()}.
init(Options) ->
    process_flag(trap_exit, true),
    case opened(Options) of
        {ok, File} ->
            Ring = beamai_trace_ring:new(maps:get(max, Options, ?MAX_ENTRIES)),
            File =:= none orelse erlang:send_after(?WRITE_MS, self(), write),
            _ = erlang:send_after(?SWEEP_MS, self(), sweep),
            {ok, recording(#trace{ring = Ring, file = File})};
        {error, Reason} ->
            {stop, Reason}
    end.

%% Tells callers what to record.
recording(#trace{ring = Ring, watching = Watching} = Trace) ->
    Which = case map_size(Watching) of 0 -> agents; _ -> all end,
    Recorder = #{record => fun beamai_trace_ring:record/4, starting => fun beamai_trace_ring:starting/2, starts => Which},
    ok = beamai_telemetry:record({?MODULE, self()}, Recorder, Ring),
    Trace.

opened(#{file := Path}) -> file:open(Path, [append, raw, binary, {delayed_write, 65536, 1000}]);
opened(_Options) -> {ok, none}.

%% @private
-spec handle_call(ring | totals | watch, {pid(), term()}, state()) -> {reply, term(), state()}.
handle_call(ring, _From, #trace{ring = Ring} = Trace) ->
    {reply, Ring, Trace};
handle_call(watch, {Pid, _}, #trace{watching = Watching} = Trace) ->
    {reply, ok, recording(Trace#trace{watching = Watching#{erlang:monitor(process, Pid) => Pid}})};
handle_call(totals, _From, #trace{ring = #ring{sums = Sums}} = Trace) ->
    Of = fun(Kind) -> beamai_trace_sums:all(Kind, Sums) end,
    {reply, #{tools => Of(tool), models => Of(model), agents => Of(agent), dropped => Trace#trace.dropped}, Trace}.

%% @private
-spec handle_cast(term(), #trace{}) -> {noreply, #trace{}}.
handle_cast(_Other, Trace) ->
    {noreply, Trace}.

%% @private
-spec handle_info(term(), #trace{}) -> {noreply, #trace{}}.
handle_info({new, tool, Name, Sums}, #trace{ring = #ring{tools = Tools} = Ring} = Trace) when map_size(Tools) < ?QUICK_NAMES ->
    {noreply, sharing(Trace#trace{ring = Ring#ring{tools = Tools#{Name => {map_size(Tools), Sums}}}})};
handle_info(share, Trace) ->
    {noreply, recording(Trace#trace{shares = false})};
handle_info({'DOWN', Monitor, process, _Pid, _Reason}, #trace{watching = Watching} = Trace) ->
    {noreply, recording(Trace#trace{watching = maps:remove(Monitor, Watching)})};
handle_info(sweep, #trace{ring = Ring} = Trace) ->
    ok = beamai_trace_ring:sweep(Ring),
    _ = erlang:send_after(?SWEEP_MS, self(), sweep),
    {noreply, Trace};
handle_info(write, Trace) ->
    _ = erlang:send_after(?WRITE_MS, self(), write),
    {noreply, write(Trace)};
handle_info(_Other, Trace) ->
    {noreply, Trace}.

%% Several new names are published as one change.
sharing(#trace{shares = true} = Trace) ->
    Trace;
sharing(Trace) ->
    _ = erlang:send_after(?SHARE_MS, self(), share),
    Trace#trace{shares = true}.

%% @private
-spec terminate(term(), #trace{}) -> ok.
terminate(_Reason, #trace{file = File} = Trace) ->
    ok = beamai_telemetry:record({?MODULE, self()}, #{}, none),
    case File of
        none ->
            ok;
        _ ->
            _ = write(Trace),
            _ = file:close(File),
            ok
    end.

%%% The file

write(#trace{file = none} = Trace) ->
    Trace;
write(#trace{ring = Ring, file = File} = Trace) ->
    {Lines, After} = lines(beamai_trace_ring:count(Ring), Trace, []),
    _ = Lines =/= [] andalso file:write(File, lists:reverse(Lines)),
    After.

lines(Count, #trace{written = Count} = Trace, Lines) ->
    {Lines, Trace};
lines(Count, #trace{ring = Ring, written = Written, dropped = Dropped} = Trace, Lines) ->
    case beamai_trace_ring:entry(Written + 1, Ring) of
        {ok, Entry} ->
            lines(Count, Trace#trace{written = Written + 1, waits = none}, [[json(Entry), $\n] | Lines]);
        gone ->
            lines(Count, Trace#trace{written = Written + 1, waits = none, dropped = Dropped + 1}, Lines);
        none ->
            wait(Count, Trace, Lines)
    end.

%% The caller that reserved the number is about to write the entry, or was killed.
wait(Count, #trace{written = Written, waits = Since, dropped = Dropped} = Trace, Lines) ->
    Now = erlang:monotonic_time(millisecond),
    case Since of
        none -> {Lines, Trace#trace{waits = Now}};
        _ when Now - Since < ?PATIENCE_MS -> {Lines, Trace};
        _ -> lines(Count, Trace#trace{written = Written + 1, waits = none, dropped = Dropped + 1}, Lines)
    end.
