%% @doc State of filters between calls: values with an expiry time, in one table of bounded size.
%% @hidden
-module(beamai_filter_state).

-export([new_table/0, get/1, put/3, count/3]).

-define(TABLE, beamai_filters).
%% Maximum number of rows. Beyond it, expired rows are removed first, then arbitrary ones.
-define(MAX_ROWS, 20000).

%% @doc Creates the table. Called by the supervisor, which owns it.
-spec new_table() -> ok.
new_table() ->
    ?TABLE = ets:new(?TABLE, [set, named_table, public, {write_concurrency, true}]),
    ok.

%% @doc The value of a key, unless it has expired.
-spec get(term()) -> {ok, term()} | none.
get(Key) ->
    _ = beamai_guard:ready(),
    case ets:lookup(?TABLE, Key) of
        [{Key, Value, Until}] -> held(Value, Until, now_ms());
        [] -> none
    end.

held(Value, Until, Now) when Until > Now -> {ok, Value};
held(_Value, _Until, _Now) -> none.

%% @doc Stores a value for this number of milliseconds.
-spec put(term(), term(), timeout()) -> ok.
put(Key, Value, Ms) ->
    ok = make_room(),
    true = ets:insert(?TABLE, {Key, Value, until(Ms)}),
    ok.

%% @doc Increments a counter that expires after this number of milliseconds, and returns its value.
-spec count(term(), pos_integer(), timeout()) -> pos_integer().
count(Key, By, Ms) ->
    ok = make_room(),
    ets:update_counter(?TABLE, Key, {2, By}, {Key, 0, until(Ms)}).

until(infinity) -> infinity;
until(Ms) -> now_ms() + Ms.

now_ms() -> erlang:monotonic_time(millisecond).

make_room() ->
    _ = beamai_guard:ready(),
    case ets:info(?TABLE, size) of
        Size when Size < ?MAX_ROWS -> ok;
        _ -> swept(ets:select_delete(?TABLE, [{{'_', '_', '$1'}, [{'=<', '$1', now_ms()}], [true]}]))
    end.

swept(Deleted) when Deleted > 0 ->
    ok;
swept(0) ->
    %% Another process may have deleted it.
    case ets:first(?TABLE) of
        '$end_of_table' -> ok;
        Key -> true = ets:delete(?TABLE, Key), ok
    end.
