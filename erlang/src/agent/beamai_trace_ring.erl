%% @doc The ring buffer that callers write trace entries to; new entries overwrite the oldest.
%%
%% A caller writes its entry itself and never waits. That of a successful tool call without contents is two or three
%% integers ({@link beamai_trace_rows}) where possible, which takes about half the time of an insertion into a table; all others are
%% rows of a table. Everything that can be computed later is computed when entries are read.
%% @hidden
-module(beamai_trace_ring).

-include("beamai_trace_ring.hrl").
-include("../kernel/beamai_span.hrl").

-export([new/1, record/4, starting/2, count/1, entries/1, entry/2, open/1, sweep/1]).
-compile({inline, [size_of/1]}).
-export_type([t/0]).

-type t() :: #ring{}.

%% Maximum number of tables.
-define(TABLES, 16).
%% Maximum number of calls that are recorded as under way.
-define(MOST_OPEN, 10000).
%% Maximum size of an input or output in an entry, in bytes.
-define(LONGEST_CONTENT, 100000).

%% @doc Creates a ring for `Max' entries. The calling process owns its tables.
-spec new(Max :: pos_integer()) -> t().
new(Max) ->
    Tables = min(?TABLES, erlang:system_info(schedulers_online)),
    Count = atomics:new(1, []),
    #ring{
        count = Count,
        tables = list_to_tuple([ets:new(beamai_trace, [set, public]) || _ <- lists:seq(1, Tables)]),
        slots = (Max + Tables - 1) div Tables,
        max = Max,
        rows = beamai_trace_rows:new(Max, Count),
        ids = beamai_trace_ids:new(Count),
        per_us = erlang:convert_time_unit(1, second, perf_counter) div 1000000,
        sums = beamai_trace_sums:new_table(),
        open = ets:new(beamai_trace_open, [set, public, {write_concurrency, true}]),
        process = self(),
        offset = os:system_time(microsecond) - os:perf_counter(microsecond)
    }.

%% @doc Records a completed span. The tables may be gone with their owner.
-spec record(#span{}, Duration :: integer(), Result :: term(), t()) -> ok.
record(#span{key = Key} = Span, Duration, Result, Ring) ->
    try
        ok = write(Span, Duration, Result, Ring),
        _ = Key =:= none orelse ets:delete(Ring#ring.open, Key),
        ok
    catch
        error:badarg -> ok
    end.

%% @doc Records a span that starts: a call under way.
-spec starting(#span{}, t()) -> ok.
starting(#span{key = Key, kind = Kind, clock = Clock, subject = Subject, metadata = Metadata}, #ring{open = Open}) ->
    try
        _ = ets:info(Open, size) < ?MOST_OPEN andalso
            ets:insert(Open, {Key, self(), {Clock, Kind, name(Kind, Metadata)}, ids(context(Kind, Subject)), details(Metadata)}),
        ok
    catch
        error:badarg -> ok
    end.

%% A successful call of a known tool, without contents.
write(#span{kind = tool, key = Key, clock = Clock, subject = {Name, Args, Context}, state = #telemetry{contents = false}} = Span, Duration, {ok, Value, _} = Result, Ring) when
    Key =:= none orelse not is_map_key(call_id, Context)
->
    #ring{rows = Rows, ids = Tables, tools = Tools, per_us = PerUs} = Ring,
    case Tools of
        #{Name := {Tool, Sums}} ->
            Us = Duration div PerUs,
            Ids = beamai_trace_ids:number(Context, Tables),
            case is_integer(Ids) andalso
                beamai_trace_rows:write(Clock div PerUs, Us, Tool, Ids, size_of(Args), size_of(Value), Rows) of
                true -> beamai_trace_sums:count(Sums, Us);
                false -> write_whole(Span, Duration, Result, Ring)
            end;
        #{} ->
            write_whole(Span, Duration, Result, Ring)
    end;
write(Span, Duration, Result, Ring) ->
    write_whole(Span, Duration, Result, Ring).

write_whole(#span{kind = Kind, clock = Clock, subject = Subject, state = #telemetry{contents = Contents}} = Span, Duration, Result, Ring) ->
    Metadata = beamai_telemetry:metadata(Span),
    {Suffix, Measurements, How} = beamai_span_attributes:ended(Kind, Result, Contents),
    {New, Name, Sums} = beamai_trace_sums:find({Kind, name(Kind, Metadata)}, Ring#ring.sums),
    Failure = failure(Suffix, How),
    Tokens = maps:with([input_tokens, output_tokens, cached_tokens], Measurements),
    ok = beamai_trace_sums:add(
        Sums, us(Duration), outcome(Failure), maps:get(input_tokens, Tokens, 0), maps:get(output_tokens, Tokens, 0)
    ),
    _ = New =:= new andalso (Ring#ring.process ! {new, Kind, Name, Sums}),
    More = maps:merge(maps:merge(Failure, Tokens), details(maps:merge(Metadata, How))),
    insert(Ring, {Clock, Duration, Kind, Name}, context(Kind, Subject), bytes(Kind, Subject, Result), More).

us(Duration) -> erlang:convert_time_unit(Duration, perf_counter, microsecond).

insert(#ring{count = Count, tables = Tables, slots = Slots}, What, Context, Bytes, More) ->
    Number = atomics:add_get(Count, 1, 1),
    N = tuple_size(Tables),
    Row = {(Number div N) rem Slots, Number, What, ids(Context), Bytes, More},
    true = ets:insert(element(1 + Number rem N, Tables), Row),
    ok.

%% Within an agent, a call id is a sub-binary of the model's whole answer, so copy it.
ids(#{call_id := Id} = Context) when is_binary(Id) -> ids(Context, binary:copy(Id));
ids(#{call_id := Id} = Context) -> ids(Context, Id);
ids(Context) -> ids(Context, undefined).

ids(Context, Call) -> {value(run_id, Context), value(agent_id, Context), value(session_id, Context), Call}.

value(Key, Context) ->
    case Context of
        #{Key := Value} -> Value;
        #{} -> undefined
    end.

context(tool, {_Name, _Args, Context}) -> Context;
context(model, {_Provider, _State, #{context := Context}}) -> Context;
context(agent, {Context, _Input}) -> Context.

%% The input of a model is the whole conversation.
bytes(tool, {_Name, Args, _Context}, Result) -> {size_of(Args), size_of(element(2, Result))};
bytes(_Kind, _Subject, _Result) -> none.

%% As erlang:external_size/1, sooner for no arguments and for a text.
size_of(Map) when Map =:= #{} -> 6;
size_of(Text) when is_binary(Text) -> 6 + byte_size(Text);
size_of(Term) -> erlang:external_size(Term).

name(tool, #{'gen_ai.tool.name' := Name}) -> text(Name);
name(model, #{'gen_ai.request.model' := Name}) -> text(Name);
name(model, #{'gen_ai.provider.name' := Name}) -> text(Name);
name(agent, #{'gen_ai.agent.id' := Id}) -> text(Id);
name(_Kind, _Metadata) -> <<"unknown">>.

text(Name) when is_binary(Name) -> Name;
text(Other) -> iolist_to_binary(beamai_error:show(Other, 200)).

failure(Suffix, #{'error.type' := Error} = How) ->
    Rule = [{rule, Rule} || #{'beamai.permission.rule' := Rule} <- [How]],
    maps:from_list([{outcome, outcome(Suffix, Error)}, {error, Error} | Rule]);
failure(_Suffix, _How) ->
    #{}.

outcome(stop, <<"permission_denied", _/binary>>) -> refused;
outcome(_Suffix, _Error) -> error.

outcome(#{outcome := Outcome}) -> Outcome;
outcome(#{}) -> ok.

details(Metadata) ->
    maps:merge(contents(Metadata), maps:from_list([
        {Key, maps:get(Name, Metadata)}
     || {Key, Name} <- [{provider, 'gen_ai.provider.name'}, {finish_reasons, 'gen_ai.response.finish_reasons'}, {parent_run_id, parent_run_id}],
        is_map_key(Name, Metadata)
    ])).

contents(Metadata) ->
    maps:from_list([
        {Key, short(maps:get(Name, Metadata))}
     || {Key, Name} <- [
            {input, 'gen_ai.tool.call.arguments'}, {input, 'gen_ai.input.messages'}, {output, 'gen_ai.tool.call.result'},
            {output, 'gen_ai.output.messages'}
        ],
        is_map_key(Name, Metadata)
    ]).

short(Content) ->
    case erlang:external_size(Content) of
        Size when Size > ?LONGEST_CONTENT ->
            iolist_to_binary([
                beamai_error:show(Content, ?LONGEST_CONTENT div 4), io_lib:format(" (cut: it has ~b bytes)", [Size])
            ]);
        _ ->
            Content
    end.

%% @doc Number of entries so far, including overwritten ones.
-spec count(t()) -> non_neg_integer().
count(#ring{count = Count}) ->
    atomics:get(Count, 1).

%% @doc All entries in the ring, ordered by number.
-spec entries(t()) -> [beamai_trace:entry()].
entries(#ring{tables = Tables, max = Max} = Ring) ->
    Whole = maps:from_list([{element(2, Row), Row} || Table <- tuple_to_list(Tables), Row <- ets:tab2list(Table)]),
    Count = count(Ring),
    Names = names(Ring),
    Row = fun(Number) -> case Whole of #{Number := Found} -> Found; #{} -> of_integers(Number, Names, Ring) end end,
    [shown(Found, Ring) || Number <- lists:seq(max(1, Count - Max + 1), Count), Found <- [Row(Number)], Found =/= none].

%% The name of each known tool, by its number.
names(#ring{tools = Tools}) -> maps:from_list([{Number, Name} || {Name, {Number, _}} <- maps:to_list(Tools)]).

%% An entry of a few integers, as a row of a table would be.
of_integers(Number, Names, #ring{rows = Rows, ids = Tables, per_us = PerUs}) ->
    case beamai_trace_rows:read(Number, Rows) of
        {At, {Us, Tool, Ids}, Bytes} ->
            {Run, Agent, Session} = beamai_trace_ids:ids(Ids, Tables),
            {none, Number, {At * PerUs, Us * PerUs, tool, maps:get(Tool, Names)}, {Run, Agent, Session, undefined}, Bytes, ok};
        none ->
            none
    end.

%% @doc The entry with a number: `none' if it has not been written yet, `gone' if it was overwritten.
-spec entry(pos_integer(), t()) -> {ok, beamai_trace:entry()} | none | gone.
entry(Number, #ring{max = Max} = Ring) ->
    case count(Ring) >= Number + Max of
        true -> gone;
        false -> written(row(Number, Ring), Ring)
    end.

written(none, _Ring) -> none;
written(Row, Ring) -> {ok, shown(Row, Ring)}.

row(Number, #ring{tables = Tables, slots = Slots} = Ring) ->
    N = tuple_size(Tables),
    case ets:lookup(element(1 + Number rem N, Tables), (Number div N) rem Slots) of
        [{_, Number, _, _, _, _} = Row] -> Row;
        _ -> of_integers(Number, names(Ring), Ring)
    end.

%% @doc The calls under way, ordered by start. Their durations are those up to now.
-spec open(t()) -> [beamai_trace:running()].
open(#ring{open = Open} = Ring) ->
    Now = os:perf_counter(),
    Rows = lists:keysort(3, [Row || {_Key, Pid, _, _, _} = Row <- ets:tab2list(Open), is_process_alive(Pid)]),
    [under_way(Row, Now, Ring) || Row <- Rows].

under_way({Key, _Pid, {Clock, Kind, Name}, Ids, More}, Now, #ring{offset = Offset}) ->
    At = us(Clock) + Offset,
    Own = #{id => Key, kind => Kind, name => Name, at => At, duration_us => us(Now - Clock), outcome => running},
    maps:merge(maps:merge(Own, named(Ids)), More).

%% @doc Removes what is left of dead processes: their calls under way, and the numbers of their ids.
-spec sweep(t()) -> ok.
sweep(#ring{open = Open, ids = Ids, rows = Rows}) ->
    ok = beamai_trace_ids:sweep(beamai_trace_rows:size(Rows), Ids),
    lists:foreach(
        fun({Key, Pid, _, _, _}) -> is_process_alive(Pid) orelse ets:delete(Open, Key) end,
        ets:tab2list(Open)
    ).

shown({_Slot, Number, {Clock, Duration, Kind, Name}, {Run, Agent, Session, Call}, Bytes, More}, #ring{offset = Offset}) ->
    At = erlang:convert_time_unit(Clock, perf_counter, microsecond) + Offset,
    Own = #{number => Number, kind => Kind, name => Name, at => At, duration_us => us(Duration), outcome => ok},
    maps:merge(maps:merge(maps:merge(Own, named({Run, Agent, Session, Call})), maps:from_list(sizes(Bytes))), more(More)).

named({Run, Agent, Session, Call}) ->
    maps:from_list([{Key, Id} || {Key, Id} <- [{run_id, Run}, {agent_id, Agent}, {session_id, Session}, {call_id, Call}], Id =/= undefined]).

sizes({In, Out}) -> [{input_bytes, In}, {output_bytes, Out}];
sizes(none) -> [].

more(ok) -> #{};
more(#{} = More) -> More.
