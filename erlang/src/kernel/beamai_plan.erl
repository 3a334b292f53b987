%% @doc What a kernel stores of a tool: created when the tool is added, and looked up by calls.
%% @hidden
-module(beamai_plan).

-include("beamai_plan.hrl").

-export([new/2, find/2, spec/1, only_reads/1, native_name/1]).
-export_type([t/0, plans/0]).

-define(DEFAULT_TIMEOUT_MS, 30000).

-type t() :: #plan{}.
%% By tool name.
-type plans() :: #{binary() => t()}.

%% @doc Creates the plan of a tool. `Default' is the timeout in milliseconds for tools without their own; `default'
%% means 30000. Raises `{invalid_tool, Name, Problems}'.
-spec new(beamai_tool:tool_spec(), Default :: timeout() | default) -> #plan{}.
new(Spec, Default) ->
    #{name := Name} = beamai_spec:valid(Spec),
    with_params(#plan{
        name = Name,
        spec = kept(Spec),
        runs = runs(Spec),
        timeout = timeout(Spec, Default),
        retry = retry(Spec),
        requires_permission = maps:get(requires_permission, maps:get(metadata, Spec, #{}), false),
        node = maps:get(node, Spec, none)
    }, Spec).

with_params(#plan{runs = #native{}} = Plan, _Spec) -> Plan;
with_params(Plan, Spec) -> Plan#plan{params = params(Spec)}.

%% A kernel is copied to every process that calls its tools, so descriptions and schemas of built-in tools are left out:
%% every node has the catalogue. A spec from which keys were removed is stored whole.
kept(#{handler := {beamai_tool, call_native, [#{name := Name, dialect := Dialect, services := #{describe := Describe}}]}} = Spec) ->
    case Describe(Dialect, Name) of
        {ok, Described} ->
            case maps:keys(Described) -- maps:keys(Spec) of
                [] -> {catalogue, maps:filter(fun(Key, Value) -> maps:find(Key, Described) =/= {ok, Value} end, Spec)};
                [_ | _] -> Spec
            end;
        error ->
            Spec
    end;
kept(Spec) ->
    Spec.

params(#{input_schema := Schema}) -> beamai_args:compile({schema, Schema});
params(Spec) -> beamai_args:compile(maps:get(parameters, Spec, undefined)).

runs(#{handler := {beamai_tool, call_native, [#{} = Info]}}) ->
    #{name := Name, dialect := Dialect, door := Door, pace := Pace} = Info,
    #native{
        name = Name,
        dialect = Dialect,
        door = Door,
        pace = Pace,
        session = maps:get(session, Info),
        stateful = maps:get(stateful, Info),
        sees_files = maps:get(sees_files, Info),
        several_files = maps:get(several_files, Info),
        own_timeout = maps:get(own_timeout, Info),
        services = maps:get(services, Info)
    };
runs(#{handler := Handler}) ->
    Handler.

timeout(#{timeout := Timeout}, _Default) -> Timeout;
timeout(_Spec, default) -> ?DEFAULT_TIMEOUT_MS;
timeout(_Spec, Default) -> Default.

retry(#{retry := Retry}) -> {maps:get(max, Retry, 1), maps:get(delay, Retry, 0)};
retry(_Spec) -> {0, 0}.

%%% Lookup

%% @doc The spec that a plan was created from. For a built-in tool it is taken from this node's catalogue. Raises
%% `{unknown_tool, Name}' if the kernel comes from a node with another version, whose tool does not exist here.
-spec spec(t()) -> beamai_tool:tool_spec().
spec(#plan{spec = {catalogue, Changes}, name = Own, runs = #native{name = Name, dialect = Dialect, services = #{describe := Describe}}}) ->
    case Describe(Dialect, Name) of
        {ok, Spec} -> maps:merge(Spec, Changes);
        error -> beamai_validate:raise({unknown_tool, Own}, ["the catalogue of this node has no tool ", Name, " in the dialect ", Dialect])
    end;
spec(#plan{spec = #{} = Spec}) ->
    Spec.

%% @doc Whether the tool is read-only according to its spec.
-spec only_reads(t()) -> boolean().
only_reads(Plan) ->
    case spec(Plan) of
        #{metadata := #{read_only := true}} -> true;
        #{} -> false
    end.

%% @doc The native name of a built-in tool; `none' for a tool with an Erlang handler.
-spec native_name(t()) -> binary() | none.
native_name(#plan{runs = #native{name = Name}}) -> Name;
native_name(#plan{}) -> none.

%% @doc The plan of the tool with this name. The error for an unknown name suggests similar ones.
-spec find(Name :: term(), plans()) -> {ok, t()} | {error, beamai_error:t()}.
find(Name, Plans) ->
    case Plans of
        #{Name := Plan} -> {ok, Plan};
        #{} -> {error, unknown_tool(Plans, Name)}
    end.

unknown_tool(Tools, Name) when is_binary(Name) ->
    Nearest = beamai_nif:nearest(Name, maps:keys(Tools)),
    Message = ["there is no tool named ", beamai_error:show(Name, 80), hint(Nearest, Tools)],
    beamai_error:new(Name, not_found, unknown_tool, Message, #{nearest => Nearest});
unknown_tool(Tools, Name) ->
    Shown = unicode:characters_to_binary(beamai_error:show(Name, 80)),
    Message = ["the name of a tool is a ", beamai_syntax:text(), ", not ", Shown, hint(nearest(Name, Tools), Tools)],
    beamai_error:new(Shown, not_found, unknown_tool, Message, #{nearest => nearest(Name, Tools)}).

nearest(Name, Tools) when is_atom(Name) -> beamai_nif:nearest(atom_to_binary(Name), maps:keys(Tools));
nearest(Name, Tools) ->
    try unicode:characters_to_binary(Name) of
        Text when is_binary(Text) -> beamai_nif:nearest(Text, maps:keys(Tools));
        _ -> []
    catch
        error:badarg -> []
    end.

hint([], Tools) when map_size(Tools) =:= 0 -> "; this kernel has none";
hint([], Tools) -> ["; the tools are ", names(lists:sort(maps:keys(Tools)))];
hint(Nearest, _Tools) -> ["; did you mean ", names(Nearest), "?"].

names(Names) ->
    lists:join(", ", lists:sublist(Names, 20)).
