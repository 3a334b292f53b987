%% @doc Chooses the node that a call runs on.
%% @hidden
-module(beamai_placement).

-include("beamai_plan.hrl").

-export([add/3, node/3]).
-export_type([t/0, what/0, where/0]).

-type t() :: #{what() => where()}.
-type what() :: {tool, Name :: binary()} | {tag, Tag :: binary()} | {session, Id :: term()} | all.
-type where() :: node() | fun((#{tool := binary(), tags := [binary()], context := beamai_context:t()}) -> node()).

%% @doc Adds or replaces a placement. Raises `{bad_placement, Term}'.
-spec add(what(), where(), t()) -> t().
add(What, Where, Placement) ->
    is_what(What) orelse beamai_validate:raise({bad_placement, What}, [
        "what is placed is ",
        beamai_syntax:either("{tool, Name}, {tag, Tag}, {session, Id} or all", "{:tool, name}, {:tag, tag}, {:session, id} or :all"),
        ", not ", beamai_validate:show(What)
    ]),
    beamai_spec:is_place(Where) orelse beamai_validate:raise({bad_placement, Where}, [
        "the place must be the name of a node, or a function of a call that gives one, not ", beamai_validate:show(Where)
    ]),
    Placement#{What => Where}.

is_what({tool, Name}) -> is_binary(Name);
is_what({tag, Tag}) -> is_binary(Tag);
is_what({session, _Id}) -> true;
is_what(What) -> What =:= all.

%% @doc The node of a call. Returns an error if the host's fun fails.
-spec node(beamai_kernel:kernel(), #plan{}, beamai_context:t()) -> {ok, node()} | {error, beamai_error:t()}.
node(Kernel, #plan{name = Name} = Plan, Context) ->
    Tags = beamai_spec:tags(beamai_plan:spec(Plan)),
    case found(Plan, Tags, Context, maps:get(placement, Kernel, #{})) of
        none -> {ok, node()};
        {_What, Node} when is_atom(Node) -> noted(Node, fixed, Context);
        {What, Choose} -> kept(What, Choose, #{tool => Name, tags => Tags, context => Context})
    end.

found(#plan{name = Name, node = none}, Tags, Context, Placement) ->
    Whats = [{tool, Name}] ++ [{tag, Tag} || Tag <- Tags] ++ [{session, Id} || #{session_id := Id} <- [Context]] ++ [all],
    hd([{What, maps:get(What, Placement)} || What <- Whats, is_map_key(What, Placement)] ++ [none]);
found(#plan{name = Name, node = Where}, _Tags, _Context, _Placement) ->
    {{tool, Name}, Where}.

%% A session keeps the node that was chosen for it.
kept(What, Choose, #{context := Context} = Call) ->
    case beamai_session_nodes:chosen(beamai_session:key(Context), What) of
        {ok, Node} -> {ok, Node};
        none -> chosen(What, Choose, Call)
    end.

chosen(What, Choose, #{tool := Tool, context := Context} = Call) ->
    try Choose(Call) of
        Node when is_atom(Node) -> noted(Node, What, Context);
        Other -> {error, bad(Tool, ["gave ", beamai_error:show(Other, 80), ", which is not the name of a node"])}
    catch
        Class:Reason:Stack -> {error, bad(Tool, ["raised ", beamai_exception:describe(Class, Reason, Stack, Choose)])}
    end.

bad(Tool, What) ->
    beamai_error:not_run(Tool, execution_failed, bad_placement, ["the function that chooses its node ", What]).

noted(Node, _What, _Context) when Node =:= node() -> {ok, Node};
noted(Node, What, Context) -> {ok, beamai_session_nodes:note(beamai_session:key(Context), What, Node)}.
