%% @doc The context of a run: data that is passed to its calls, and that handlers can change.
%%
%% A map. The runtime itself uses these keys: `run_id' (for {@link beamai_kernel:cancel/1}), `agent_id', `session_id',
%% `workspace', `approve', `ask_user', `model', `progress' (a pid or a fun of one argument) and, if a tool is invoked
%% without a kernel, `permissions'. All other keys belong to the host.
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

%% @doc The value of a key, or `undefined'. Like the other functions here, raises `{bad_context, Term}' if the context
%% is not a map.
-spec get(key(), t()) -> term().
get(Key, Context) ->
    get(Key, Context, undefined).

%% @doc The value of a key, or the default.
-spec get(key(), t(), Default :: term()) -> term().
get(Key, Context, Default) when is_map(Context) ->
    maps:get(Key, Context, Default);
get(Key, Context, _Default) ->
    not_a_context(Key, Context, beamai_syntax:either("beamai_context:get(Key, Context)", ":beamai_context.get(key, context)")).

%% @doc Sets a key.
-spec set(key(), term(), t()) -> t().
set(Key, Value, Context) when is_map(Context) ->
    Context#{Key => Value};
set(Key, _Value, Context) ->
    not_a_context(Key, Context, beamai_syntax:either("beamai_context:set(Key, Value, Context)", ":beamai_context.set(key, value, context)")).

%% Reports swapped arguments: in other libraries the context is the first argument.
not_a_context(Swapped, Key, Order) when is_map(Swapped) ->
    beamai_validate:raise({bad_context, Key}, ["the context is the last argument: ", Order]);
not_a_context(_Key, Context, _Order) ->
    beamai_validate:context(Context).

%% @doc Merges two contexts; the second takes precedence.
-spec merge(t(), t()) -> t().
merge(Context, Over) ->
    maps:merge(Context, Over).

%% @doc The changes that a call made to its context.
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

%% @doc Applies the changes of one call to a context.
-spec apply_changes(changes(), t()) -> t().
apply_changes({Set, Removed}, Context) ->
    maps:merge(maps:without(Removed, Context), Set).
