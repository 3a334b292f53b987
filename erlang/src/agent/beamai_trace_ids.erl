%% @doc Small numbers for the ids of a context: run, agent and session.
%%
%% A process whose traced calls have the same ids one after the other gets a number for them, which it keeps in its
%% process dictionary, so that its entries need not repeat them. A number is used again only when no entry that is kept
%% can have it any more.
%% @hidden
-module(beamai_trace_ids).

-export([new/0, number/3, ids/2, sweep/3]).
-export_type([t/0, ids/0]).

%% Maximum number of ids at a time. Further ones are written with each entry.
-define(NUMBERS, 4096).

%% Rows of `used' are {Number, Pid, Ids, Released}: how many entries there were when the process had other ids, or `none'.
-type t() :: {Free :: ets:table(), Used :: ets:table()}.
-type ids() :: {RunId :: term(), AgentId :: term(), SessionId :: term()}.

%% @doc Creates the tables. The calling process owns them.
-spec new() -> t().
new() ->
    Free = ets:new(?MODULE, [ordered_set, public]),
    true = ets:insert(Free, [{Number} || Number <- lists:seq(0, ?NUMBERS - 1)]),
    {Free, ets:new(?MODULE, [set, public])}.

%% @doc The number for the ids of a context; `none' if they differ from those of the process's previous call, or if there is
%% no free number. `Count' is the trace's counter of entries, under which the process remembers its number.
-spec number(beamai_context:t(), atomics:atomics_ref(), t()) -> 0..4095 | none.
number(Context, Count, Tables) ->
    case {get(Count), Context} of
        {{Number, Run, Agent, Session}, #{run_id := Run, agent_id := Agent, session_id := Session}} when is_integer(Number) -> Number;
        {Kept, _} -> compared(Kept, ids(Context), Count, Tables)
    end.

ids(Context) -> {value(run_id, Context), value(agent_id, Context), value(session_id, Context)}.

value(Key, Context) ->
    case Context of
        #{Key := Value} -> Value;
        #{} -> undefined
    end.

compared({none, Run, Agent, Session}, {Run, Agent, Session} = Ids, Count, Tables) -> taken(Ids, Count, Tables);
compared({Number, Run, Agent, Session}, {Run, Agent, Session}, _Count, _Tables) -> Number;
compared(Kept, Ids, Count, Tables) ->
    ok = released(Kept, Count, Tables),
    remember(none, Ids, Count).

taken(Ids, Count, {Free, Used} = Tables) ->
    case ets:first(Free) of
        '$end_of_table' ->
            none;
        Number ->
            case ets:take(Free, Number) of
                [_] ->
                    true = ets:insert(Used, {Number, self(), Ids, none}),
                    remember(Number, Ids, Count);
                [] ->
                    taken(Ids, Count, Tables)
            end
    end.

remember(Number, {Run, Agent, Session}, Count) ->
    _ = put(Count, {Number, Run, Agent, Session}),
    Number.

released({Number, _, _, _}, Count, {_Free, Used}) when is_integer(Number) ->
    true = ets:update_element(Used, Number, {4, atomics:get(Count, 1)}),
    ok;
released(_NoneOrUndefined, _Count, _Tables) ->
    ok.

%% @doc The ids of a number.
-spec ids(0..4095, t()) -> ids().
ids(Number, {_Free, Used}) -> ets:lookup_element(Used, Number, 3).

%% @doc Frees the numbers of processes that have died or have other ids, once `Kept' more entries have been written.
-spec sweep(Count :: non_neg_integer(), Kept :: pos_integer(), t()) -> ok.
sweep(Count, Kept, {Free, Used}) ->
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
