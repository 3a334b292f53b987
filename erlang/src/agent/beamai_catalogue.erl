%% @doc The native catalogue as tool specs. Every built-in tool is described once, on the native side; this module
%% converts the descriptions, once per dialect.
%% @hidden
-module(beamai_catalogue).

-export([tools/1, family/2, named/2, described/2, parameters/1, forget/0]).

%% @doc The specs of all tools of a dialect, sorted by name. Raises `{bad_dialect, Message}' for an unknown dialect.
-spec tools(Dialect :: binary()) -> [beamai_tool:tool_spec()].
tools(Dialect) ->
    case persistent_term:get({?MODULE, Dialect}, none) of
        none ->
            Tools = read(Dialect),
            persistent_term:put({?MODULE, Dialect}, Tools),
            Tools;
        Tools ->
            Tools
    end.

%% @doc The tools of a dialect whose names begin with `Prefix'.
-spec family(Dialect :: binary(), Prefix :: binary()) -> [beamai_tool:tool_spec()].
family(Dialect, Prefix) ->
    [Tool || #{name := Name} = Tool <- tools(Dialect), string:prefix(Name, Prefix) =/= nomatch].

%% @doc The tool of a dialect with this name.
-spec named(Dialect :: binary(), Name :: binary()) -> [beamai_tool:tool_spec()].
named(Dialect, Name) ->
    [Tool || #{name := N} = Tool <- tools(Dialect), N =:= Name].

%% @doc The spec of a tool in a dialect; `error' if the dialect or the tool does not exist.
-spec described(Dialect :: binary(), Name :: binary()) -> {ok, beamai_tool:tool_spec()} | error.
described(Dialect, Name) ->
    try named(Dialect, Name) of
        [Spec] -> {ok, Spec};
        [] -> error
    catch
        error:{bad_dialect, _Message} -> error
    end.

%% @doc Clears the cache, for example after another native library was loaded.
-spec forget() -> ok.
forget() ->
    Keys = [Key || {{?MODULE, _} = Key, _} <- persistent_term:get()],
    lists:foreach(fun persistent_term:erase/1, Keys).

read(Dialect) ->
    case binary_to_term(beamai_nif:tools(Dialect), [safe]) of
        {ok, Listings} ->
            Specs = [spec(Dialect, Listing) || Listing <- Listings],
            lists:sort(fun(#{name := A}, #{name := B}) -> A =< B end, Specs);
        {error, #{<<"message">> := Message}} ->
            error({bad_dialect, Message})
    end.

spec(Dialect, #{<<"name">> := Name, <<"description">> := Description} = Listing) ->
    #{
        name => Name,
        description => Description,
        parameters => parameters(maps:get(<<"parameters">>, Listing)),
        timeout => timeout(maps:get(<<"timeout">>, Listing)),
        handler => {beamai_tool, call_native, [info(Dialect, Listing)]},
        metadata => metadata(Listing)
    }.

%% Tools that wait for a person or a sub-agent have no timeout.
timeout(null) -> infinity;
timeout(Ms) -> Ms.

info(Dialect, #{<<"name">> := Name, <<"door">> := Door, <<"pace">> := Pace} = Listing) ->
    #{
        name => Name,
        dialect => Dialect,
        door => door(Door),
        pace => pace(Pace),
        session => session(Door),
        stateful => maps:get(<<"session">>, Listing),
        sees_files => maps:get(<<"sees_files">>, Listing),
        several_files => maps:get(<<"several_files">>, Listing),
        own_timeout => own_timeout(maps:get(<<"parameters">>, Listing)),
        services => #{
            delegate => fun beamai_task:run/4, consult => fun beamai_consultation:run/5, describe => fun ?MODULE:described/2
        }
    }.

door(<<"nif">>) -> nif;
door(<<"port">>) -> port.

pace(<<"instant">>) -> instant;
pace(<<"cached">>) -> cached;
pace(<<"bounded">>) -> bounded;
pace(<<"long">>) -> long.

%% Tools that start processes use the session's directory as the temporary directory.
session(<<"port">>) -> required;
session(<<"nif">>) -> optional.

own_timeout(#{<<"timeout">> := #{<<"type">> := <<"integer">>}}) -> milliseconds;
own_timeout(#{<<"timeout_sec">> := #{<<"type">> := <<"integer">>}}) -> seconds;
own_timeout(_Parameters) -> none.

metadata(Listing) ->
    Known = [
        {read_only, <<"read_only">>},
        {destructive, <<"destructive">>},
        {idempotent, <<"idempotent">>},
        {open_world, <<"open_world">>},
        {asks_user, <<"asks_user">>},
        {requires_permission, <<"requires_permission">>},
        {rule, <<"rule">>},
        {output_schema, <<"output_schema">>}
    ],
    maps:from_list([{Key, V} || {Key, Name} <- Known, {ok, V} <- [maps:find(Name, Listing)]]).

%% @doc Converts native parameters to those of a tool spec.
-spec parameters(#{binary() => #{binary() => term()}}) -> beamai_tool:parameters_schema().
parameters(Parameters) ->
    maps:map(fun(_Name, Param) -> param(Param) end, Parameters).

param(Param) ->
    usable(maps:from_list([param_entry(Key, Value) || {Key, Value} <- maps:to_list(Param)])).

%% An MCP server may declare contradictory bounds, or a default outside of them. Drop these: the tool is usable without
%% them, and the server applies its default itself.
usable(#{minimum := Least, maximum := Most} = Param) when Least > Most ->
    usable(maps:without([minimum, maximum], Param));
usable(#{minItems := Fewest, maxItems := Most} = Param) when Fewest > Most ->
    usable(maps:without([minItems, maxItems], Param));
usable(#{default := Default} = Param) when Default =/= null ->
    case beamai_args:faults(Param, Default) of
        [] -> Param;
        [_ | _] -> maps:remove(default, Param)
    end;
usable(Param) ->
    Param.

param_entry(<<"type">>, Type) -> {type, type(Type)};
param_entry(<<"description">>, Text) -> {description, Text};
param_entry(<<"required">>, Required) -> {required, Required};
param_entry(<<"default">>, Value) -> {default, Value};
param_entry(<<"enum">>, Values) -> {enum, Values};
param_entry(<<"items">>, Items) -> {items, param(Items)};
param_entry(<<"properties">>, Properties) -> {properties, parameters(Properties)};
param_entry(<<"minimum">>, Number) -> {minimum, Number};
param_entry(<<"maximum">>, Number) -> {maximum, Number};
param_entry(<<"minItems">>, Count) -> {minItems, Count};
param_entry(<<"maxItems">>, Count) -> {maxItems, Count};
param_entry(<<"position">>, Place) -> {position, Place};
param_entry(<<"self_evident">>, Is) -> {self_evident, Is}.

type(<<"string">>) -> string;
type(<<"integer">>) -> integer;
type(<<"float">>) -> float;
type(<<"boolean">>) -> boolean;
type(<<"array">>) -> array;
type(<<"object">>) -> object.
