%% @doc The context of an agent's run: how it starts, and which changes are kept.
%% @hidden
-module(beamai_agent_context).

-export([for_run/2, after_calls/2, kept/3, stored/2]).

%% Keys that belong to one run, or to one call of it.
-define(OF_RUN, [run_id, agent_id, model, agent_budget, agent_events, progress, call_id]).

%% @doc The context for the run's calls: the given context with the keys of the run.
-spec for_run(Keys :: #{atom() => term()}, Given :: beamai_context:t()) -> beamai_context:t().
for_run(Keys, Given) ->
    maps:merge(Given, Keys).

%% @doc The context after calls that changed it. Missing keys keep their values, and calls cannot change the keys of the
%% run.
-spec after_calls(Before :: beamai_context:t(), After :: beamai_context:t()) -> beamai_context:t().
after_calls(Before, After) ->
    maps:merge(maps:merge(Before, After), maps:with(?OF_RUN, Before)).

%% @doc The agent's own context with the changes that tools made during the run.
-spec kept(Own :: beamai_context:t(), Given :: beamai_context:t(), After :: beamai_context:t()) -> beamai_context:t().
kept(Own, Given, After) ->
    {Set, _Removed} = beamai_context:changes(Given, maps:without(?OF_RUN, After)),
    maps:merge(Own, Set).

%% @doc The changes of calls that can be stored: no pids, funs or other terms that are only valid in this VM.
-spec stored(Before :: beamai_context:t(), After :: beamai_context:t()) -> beamai_context:t().
stored(Before, After) ->
    {Set, _Removed} = beamai_context:changes(Before, maps:without(?OF_RUN, After)),
    maps:filter(fun(Key, Value) -> is_plain(Key) andalso is_plain(Value) end, Set).

is_plain(Term) when is_number(Term); is_atom(Term); is_bitstring(Term) -> true;
is_plain([Head | Tail]) -> is_plain(Head) andalso is_plain(Tail);
is_plain([]) -> true;
is_plain(Term) when is_tuple(Term) -> is_plain(tuple_to_list(Term));
is_plain(Term) when is_map(Term) -> is_plain(maps:to_list(Term));
is_plain(_Other) -> false.
