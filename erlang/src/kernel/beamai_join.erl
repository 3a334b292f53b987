%% @doc Calls of one `invoke_all' that are answered by one run of their tool.
%%
%% A filter requests this: it passes the call on with the key `join', a fun that decides which calls share a run. The
%% calls are held back until no further call can start, and then run in groups. A run whose result cannot be divided is
%% followed by a run for each call, so that a call gets the result that it would have had by itself.
%% @hidden
-module(beamai_join).

-export([held/4, jobs/1, divided/2, indexes/1]).
-export_type([held/0, job/0, join/0, part/0, member/0]).

%% Divides calls of one tool, given by number and arguments, into groups, each with the arguments of its run. `Native' is
%% the name of a built-in tool of the dialect `beamai'.
-type join() :: fun((Native :: binary() | none, [{pos_integer(), Args :: map()}]) -> [{Args :: map(), [{pos_integer(), part()}]}]).
%% How a call's result follows from that of the run: the same one, or what the fun makes of it; `none' if it cannot.
-type part() :: same | fun((Result :: term()) -> {ok, term()} | none).

-record(held, {
    index :: pos_integer(),
    tool :: binary(),
    native :: binary() | none,
    join :: join(),
    call :: beamai_filter:call()
}).
-record(member, {
    index :: pos_integer(),
    call :: beamai_filter:call(),
    part :: part()
}).

-type held() :: #held{}.
-type member() :: #member{}.
%% A run with its calls, or a single call.
-type job() :: {joined, beamai_filter:call(), [member()]} | {alone, Index :: pos_integer(), beamai_filter:call()}.

%% @doc A call that is held back.
-spec held(Index :: pos_integer(), Native :: binary() | none, join(), beamai_filter:call()) -> held().
held(Index, Native, Join, #{tool := Tool} = Call) ->
    #held{index = Index, tool = Tool, native = Native, join = Join, call = Call}.

%% @doc The runs for the calls that were held back. Only calls of the same tool with the same context, apart from their
%% ids, share a run.
-spec jobs([held()]) -> [job()].
jobs(Helds) ->
    Alike = maps:groups_from_list(fun alike/1, Helds),
    lists:append([jobs_of(Group) || {_Key, Group} <- lists:sort(maps:to_list(Alike))]).

alike(#held{tool = Tool, join = Join, call = #{context := Context}}) -> {Tool, Join, maps:remove(call_id, Context)}.

jobs_of([#held{native = Native, join = Join} | _] = Helds) ->
    Calls = maps:from_list([{Index, Call} || #held{index = Index, call = Call} <- Helds]),
    [job(Args, Parts, Calls) || {Args, Parts} <- Join(Native, [{Index, Args} || #held{index = Index, call = #{args := Args}} <- Helds])].

job(_Args, [{Index, _Part}], Calls) ->
    {alone, Index, maps:get(Index, Calls)};
job(Args, [{First, _} | _] = Parts, Calls) ->
    Call = maps:get(First, Calls),
    {joined, Call#{args := Args}, [#member{index = Index, call = maps:get(Index, Calls), part = Part} || {Index, Part} <- Parts]}.

%% @doc The indexes of calls that share a run.
-spec indexes([member()]) -> [pos_integer()].
indexes(Members) -> [Index || #member{index = Index} <- Members].

%% @doc The results of calls that shared a run, and the calls that need a run of their own.
-spec divided([member()], {Run :: beamai_filter:call(), beamai_filter:result()}) -> {#{pos_integer() => beamai_filter:result()}, [job()]}.
divided(Members, {Run, Result}) ->
    lists:foldl(
        fun(#member{index = Index, call = Call} = Member, {Results, Alone}) ->
            case part(Member, Run, Result) of
                none -> {Results, Alone ++ [{alone, Index, Call}]};
                Own -> {Results#{Index => Own}, Alone}
            end
        end,
        {#{}, []},
        Members
    ).

part(#member{part = same, call = Call}, Run, {ok, Value, After}) -> {ok, Value, context(Call, Run, After)};
part(#member{part = same}, _Run, {error, _} = Error) -> Error;
%% Nobody is asked again about each part of what was refused.
part(_Member, _Run, {error, #{error_type := permission_denied}} = Error) -> Error;
part(_Member, _Run, {error, _}) -> none;
part(#member{part = Part, call = Call}, Run, {ok, Value, After}) ->
    case Part(Value) of
        {ok, Own} -> {ok, Own, context(Call, Run, After)};
        none -> none
    end.

%% The call's own context with what the run changed.
context(#{context := Own}, #{context := Before}, After) ->
    beamai_context:apply_changes(beamai_context:changes(Before, After), Own).
