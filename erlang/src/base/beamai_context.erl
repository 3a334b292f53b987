%% @doc The context of a run: what travels with its calls and what handlers hand on.
%%
%% A map. Keys that the runtime itself reads: `run_id' (what {@link beamai_kernel:cancel/1} takes),
%% `agent_id', `session_id', `workspace', `approve', `ask_user', `model', `progress' (a pid or a
%% fun of one argument) and, where a tool is invoked without a kernel, `permissions'.
%% Everything else is the host's.
-module(beamai_context).

-export([new/0, new/1, get/2, get/3, set/3, merge/2, changes/2, apply_changes/2]).
-export_type([t/0, key/0, changes/0]).

-type key() :: term().
-type t() :: #{key() => term()}.
-type changes() :: {Set :: #{key() => term()}, Removed :: [key()]}.

%% @doc An empty context.
-spec new() -> t().
new() ->
    #{}.

%% @doc A context with these keys and values.
-spec new(#{key() => term()}) -> t().
new(Values) ->
    beamai_validate:context(Values),
    Values.

%% @doc The value under a key, `undefined' without one. As the other functions here, raises `{bad_context, Term}' for what is
%% no context.
-spec get(key(), t()) -> term().
get(Key, Context) ->
    get(Key, Context, undefined).

%% @doc The value under a key, or the default.
-spec get(key(), t(), Default :: term()) -> term().
get(Key, Context, Default) when is_map(Context) ->
    maps:get(Key, Context, Default);
get(Key, Context, _Default) ->
    not_a_context(Key, Context, "get(Key, Context)").

%% @doc The context with the value under the key.
-spec set(key(), term(), t()) -> t().
set(Key, Value, Context) when is_map(Context) ->
    Context#{Key => Value};
set(Key, _Value, Context) ->
    not_a_context(Key, Context, "set(Key, Value, Context)").

%% Elsewhere the context comes first.
not_a_context(Swapped, Key, Order) when is_map(Swapped) ->
    beamai_validate:raise({bad_context, Key}, ["the context is the last argument: beamai_context:", Order]);
not_a_context(_Key, Context, _Order) ->
    beamai_validate:context(Context).

%% @doc Both contexts together; where both have a key, the second one's value holds.
-spec merge(t(), t()) -> t().
merge(Context, Over) ->
    maps:merge(Context, Over).

%% @doc What a call changed in the context it was given.
-spec changes(Before :: t(), After :: t()) -> changes().
changes(Same, Same) ->
    {#{}, []};
changes(Before, After) ->
    Set = maps:filter(
        fun(Key, Value) ->
            case Before of
                #{Key := Value} -> false;
                #{} -> true
            end
        end,
        After
    ),
    {Set, maps:keys(Before) -- maps:keys(After)}.

%% @doc The context with the changes of one call made to it.
-spec apply_changes(changes(), t()) -> t().
apply_changes({Set, Removed}, Context) ->
    maps:merge(maps:without(Removed, Context), Set).
