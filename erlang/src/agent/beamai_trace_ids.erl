%% @doc Small numbers for the ids of a context: run, agent and session.
%%
%% A process whose traced calls have the same ids one after the other gets a number for them, which it keeps in its
%% process dictionary, so that its entries need not repeat them. A number is used again only when no entry that is kept
%% can have it any more.
%% @hidden
-module(beamai_trace_ids).

-export([new/1, number/2, ids/2, sweep/2]).
-export_type([t/0, ids/0]).

%% Maximum number of ids at a time. Further ones are written with each entry.
-define(NUMBERS, 4096).
%% The key under which a process remembers, by trace, its number and its ids.
-define(KEY, '$beamai_trace').

%% Rows of `used' are {Number, Pid, Ids, Released}: how many entries there were when the process had other ids, or `none'.
-record(ids, {count :: atomics:atomics_ref(), free :: ets:table(), used :: ets:table()}).

-opaque t() :: #ids{}.
-type ids() :: {RunId :: term(), AgentId :: term(), SessionId :: term()}.

%% @doc Creates the tables of a trace with this counter of entries. The calling process owns them.
-spec new(atomics:atomics_ref()) -> t().
new(Count) ->
    Free = ets:new(?MODULE, [ordered_set, public]),
    true = ets:insert(Free, [{Number} || Number <- lists:seq(0, ?NUMBERS - 1)]),
    #ids{count = Count, free = Free, used = ets:new(?MODULE, [set, public])}.

%% @doc The number for the ids of a context; `none' if they differ from those of the process's previous call, or if there is
%% no free number.
-spec number(beamai_context:t(), t()) -> 0..4095 | none.
number(Context, #ids{count = Count} = Tables) ->
    case {get(?KEY), Context} of
        {#{Count := {Number, Run, Agent, Session, _}}, #{run_id := Run, agent_id := Agent, session_id := Session}} when is_integer(Number) -> Number;
        {#{Count := Kept}, _} -> compared(Kept, ids(Context), Tables);
        {_, _} -> remember(none, ids(Context), Tables)
    end.

ids(Context) -> {value(run_id, Context), value(agent_id, Context), value(session_id, Context)}.

value(Key, Context) ->
    case Context of
        #{Key := Value} -> Value;
        #{} -> undefined
    end.

compared({none, Run, Agent, Session, _}, {Run, Agent, Session} = Ids, Tables) -> taken(Ids, Tables);
compared({Number, Run, Agent, Session, _}, {Run, Agent, Session}, _Tables) -> Number;
compared({Number, _, _, _, _}, Ids, Tables) ->
    ok = released(Number, Tables),
    remember(none, Ids, Tables).

taken(Ids, #ids{free = Free, used = Used} = Tables) ->
    case ets:first(Free) of
        '$end_of_table' ->
            none;
        Number ->
            case ets:take(Free, Number) of
                [_] ->
                    true = ets:insert(Used, {Number, self(), Ids, none}),
                    remember(Number, Ids, Tables);
                [] ->
                    taken(Ids, Tables)
            end
    end.

%% What belongs to traces that have ended is dropped: every call looks into this map.
remember(Number, {Run, Agent, Session}, #ids{count = Count, used = Used}) ->
    Kept = case get(?KEY) of undefined -> #{}; Map -> Map end,
    Others = maps:filter(fun(_, {_, _, _, _, Table}) -> ets:info(Table, id) =/= undefined end, Kept),
    _ = put(?KEY, Others#{Count => {Number, Run, Agent, Session, Used}}),
    Number.

released(none, _Tables) ->
    ok;
released(Number, #ids{count = Count, used = Used}) ->
    true = ets:update_element(Used, Number, {4, atomics:get(Count, 1)}),
    ok.

%% @doc The ids of a number.
-spec ids(0..4095, t()) -> ids().
ids(Number, #ids{used = Used}) -> ets:lookup_element(Used, Number, 3).

%% @doc Frees the numbers of processes that have died or have other ids, once `Kept' more entries have been written.
-spec sweep(Kept :: pos_integer(), t()) -> ok.
sweep(Kept, #ids{count = Counter, free = Free, used = Used}) ->
    Count = atomics:get(Counter, 1),
    lists:foreach(
        fun
            ({Number, Pid, _Ids, none}) ->
                is_process_alive(Pid) orelse ets:update_element(Used, Number, {4, Count});
            ({Number, _Pid, _Ids, Released}) when Released + Kept < Count ->
                true = ets:delete(Used, Number),
                true = ets:insert(Free, {Number});
            (_Waiting) ->
                ok
        end,
        ets:tab2list(Used)
    ).
