%% @doc The ring buffer that callers write trace entries to; new entries overwrite the oldest.
%%
%% A caller writes its entry itself, with one insertion and one atomic addition, and never waits. Everything that can be
%% computed later is computed when entries are read.
%% @hidden
-module(beamai_trace_ring).

-include("beamai_trace_ring.hrl").
-include("../kernel/beamai_span.hrl").

-export([new/1, record/5, count/1, entries/1, entry/2]).
-export_type([t/0]).

-type t() :: #ring{}.

%% Maximum number of tables.
-define(TABLES, 16).
%% Maximum size of an input or output in an entry, in bytes.
-define(LONGEST_CONTENT, 100000).

%% @doc Creates a ring for `Max' entries. The calling process owns its tables.
-spec new(Max :: pos_integer()) -> t().
new(Max) ->
    Tables = min(?TABLES, erlang:system_info(schedulers_online)),
    #ring{
        count = atomics:new(1, []),
        tables = list_to_tuple([ets:new(beamai_trace, [set, public]) || _ <- lists:seq(1, Tables)]),
        slots = (Max + Tables - 1) div Tables,
        max = Max,
        sums = beamai_trace_sums:new_table(),
        process = self(),
        offset = os:system_time(microsecond) - os:perf_counter(microsecond)
    }.

%% @doc Records a completed span. The tables may be gone with their owner.
-spec record(#span{}, Duration :: integer(), Result :: term(), beamai_telemetry:ended(), t()) -> ok.
record(Span, Duration, Result, Ended, Ring) ->
    try
        write(Span, Duration, Result, Ended, Ring)
    catch
        error:badarg -> ok
    end.

%% Fast path: a successful call of a known tool, without contents.
write(#span{kind = tool, clock = Clock, subject = {Name, Args, Context}, state = #{contents := false}}, Duration, {ok, Value, _}, _Ended, Ring) when
    is_map_key(Name, Ring#ring.tools)
->
    #ring{tools = #{Name := {Kept, Sums}}} = Ring,
    ok = beamai_trace_sums:add(Sums, us(Duration), ok),
    Bytes = {erlang:external_size(Args), erlang:external_size(Value)},
    insert(Ring, {Clock, Duration, tool, Kept}, Context, Bytes, ok);
write(#span{kind = Kind, clock = Clock, subject = Subject, state = #{contents := Contents}} = Span, Duration, Result, Ended, Ring) ->
    Metadata = beamai_telemetry:metadata(Span),
    {Suffix, Measurements, How} = Ended(Result, Contents),
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
bytes(tool, {_Name, Args, _Context}, Result) -> {erlang:external_size(Args), erlang:external_size(element(2, Result))};
bytes(_Kind, _Subject, _Result) -> none.

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
    Rows = lists:keysort(2, lists:append([ets:tab2list(Table) || Table <- tuple_to_list(Tables)])),
    After = count(Ring) - Max,
    [shown(Row, Ring) || Row <- Rows, element(2, Row) > After].

%% @doc The entry with a number: `none' if it has not been written yet, `gone' if it was overwritten.
-spec entry(pos_integer(), t()) -> {ok, beamai_trace:entry()} | none | gone.
entry(Number, #ring{tables = Tables, slots = Slots} = Ring) ->
    N = tuple_size(Tables),
    case ets:lookup(element(1 + Number rem N, Tables), (Number div N) rem Slots) of
        [{_, Number, _, _, _, _} = Row] -> {ok, shown(Row, Ring)};
        [Row] when element(2, Row) > Number -> gone;
        _ -> none
    end.

shown({_Slot, Number, {Clock, Duration, Kind, Name}, {Run, Agent, Session, Call}, Bytes, More}, #ring{offset = Offset}) ->
    At = erlang:convert_time_unit(Clock, perf_counter, microsecond) + Offset,
    Own = #{number => Number, kind => Kind, name => Name, at => At, duration_us => us(Duration), outcome => ok},
    Ids = [{Key, Id} || {Key, Id} <- [{run_id, Run}, {agent_id, Agent}, {session_id, Session}, {call_id, Call}], Id =/= undefined],
    maps:merge(maps:merge(Own, maps:from_list(Ids ++ sizes(Bytes))), more(More)).

sizes({In, Out}) -> [{input_bytes, In}, {output_bytes, Out}];
sizes(none) -> [].

more(ok) -> #{};
more(#{} = More) -> More.
