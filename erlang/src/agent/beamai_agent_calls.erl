%% @doc Runs the calls of one answer: which of them run in parallel, and what the model is told of each.
%%
%% Calls that only read run in parallel. A call that changes something runs after all earlier calls, and before all
%% later calls, that touch the same path; if it is unknown what a call touches, it counts as everything. The outcome is
%% the same as if the calls ran one after the other. A sub-agent with only reading tools counts as a reading call. A
%% failing call does not affect the others.
%% @hidden
-module(beamai_agent_calls).

-export([run/4, is_made/1, waves/2]).
-export_type([outcome/0]).

%% Bytes of a path that Linux opens (PATH_MAX).
-define(LONGEST_PATH, 4096).

-type call() :: beamai_chat_model:call().
-type outcome() :: {call(), {ok, term()} | {error, term()} | {refused, binary()}}.

%% Called before the first call of a group that runs in parallel starts, and at each call's start and end. The duration
%% is the call's own, in microseconds. If a group cannot be stored, it does not run.
-type report() :: fun(
    ({wave, [call()]} | {started, call()} | {done, outcome(), Duration :: non_neg_integer()}) -> ok | {error, term()}
).

%% `parallel': maximum number of calls that run at the same time; `whole': the run's tag, with which its calls are cancelled.
-type options() :: #{report := report(), whole := reference(), parallel => pos_integer()}.

%% @doc Runs the calls and returns their outcomes, in the same order.
-spec run(beamai_kernel:kernel(), [call()], beamai_context:t(), options()) -> {[outcome()], beamai_context:t()}.
run(Kernel, Calls, Context, Options) ->
    Numbered = lists:zip(lists:seq(1, length(Calls)), Calls),
    Waves = waves(Kernel, Numbered),
    {Done, After} = lists:foldl(fun(Wave, Acc) -> wave(Kernel, Wave, Options, Acc) end, {[], Context}, Waves),
    {[Outcome || {_Number, Outcome} <- lists:keysort(1, Done)], After}.

wave(Kernel, Wave, #{report := Report} = Options, {Done, Context}) ->
    case Report({wave, [Call || {_, Call} <- Wave]}) of
        ok -> noted(Kernel, Wave, Options, {Done, Context});
        {error, Reason} -> {[{Number, {Call, {error, not_noted(Call, Reason)}}} || {Number, Call} <- Wave] ++ Done, Context}
    end.

noted(Kernel, Wave, #{report := Report} = Given, {Done, Context}) ->
    {Refused, Sound} = lists:partition(fun({_, Call}) -> is_map_key(invalid, Call) end, Wave),
    Without = [{Number, {Call, {refused, Why}}} || {Number, #{invalid := Why} = Call} <- Refused],
    lists:foreach(fun({_, Outcome}) -> Report({done, Outcome, 0}) end, Without),
    {Results, After} = invoked(Kernel, [Call || {_, Call} <- Sound], Context, Given),
    With = [{Number, {Call, Result}} || {{Number, Call}, Result} <- lists:zip(Sound, Results)],
    {Without ++ With ++ Done, After}.

invoked(Kernel, Calls, Context, #{report := Report} = Given) ->
    Numbered = list_to_tuple(Calls),
    Told = fun
        ({started, Index}) -> Report({started, element(Index, Numbered)});
        ({done, Index, Result, Duration}) -> Report({done, {element(Index, Numbered), outcome(Result)}, Duration})
    end,
    Options = (maps:with([parallel, whole], Given))#{ids => list_to_tuple([Id || #{id := Id} <- Calls]), report => Told},
    beamai_batch:run(Kernel, [{Name, Args} || #{name := Name, args := Args} <- Calls], Context, Options).

outcome({ok, Result, _Context}) -> {ok, Result};
outcome({error, _} = Error) -> Error.

%% @doc Whether the call was made: its tool exists and accepted the arguments, whatever came of it. A call that permissions
%% deny is made, because the model can do no more; one that is refused as invalid is not.
-spec is_made(outcome()) -> boolean().
is_made({_Call, {refused, _}}) -> false;
is_made({#{name := Name}, {error, #{tool := Name, details := #{reason := Reason}}}}) ->
    not lists:member(Reason, [unknown_tool, invalid_argument]);
is_made(_Outcome) -> true.

not_noted(#{name := Name}, Reason) ->
    beamai_error:not_run(Name, execution_failed, io, ["the run's store failed: ", beamai_error:show(Reason, 200)]).

%% @doc Groups the calls. Groups run one after the other, the calls of a group in parallel.
-spec waves(beamai_kernel:kernel(), [{pos_integer(), call()}]) -> [[{pos_integer(), call()}]].
waves(Kernel, Numbered) ->
    {Placed, _Levels} = lists:mapfoldl(
        fun({Number, Call}, Levels) ->
            {Level, Next} = beamai_call_levels:add(touches(Kernel, Call), Levels),
            {{Level, {Number, Call}}, Next}
        end,
        beamai_call_levels:new(),
        Numbered
    ),
    grouped(lists:keysort(1, Placed)).

grouped([]) ->
    [];
grouped([{Level, _} | _] = Placed) ->
    {Wave, Later} = lists:splitwith(fun({L, _}) -> L =:= Level end, Placed),
    [[Item || {_, Item} <- Wave] | grouped(Later)].

%% An invalid call runs no tool and touches nothing.
touches(_Kernel, #{invalid := _}) ->
    {read, anything};
touches(#{tools := Tools} = Kernel, #{name := Name, args := Args}) when is_map(Args) ->
    case Tools of
        #{Name := Plan} ->
            Access = access(Plan, Kernel, Args),
            {Access, place(Access, Plan, Kernel, Args)};
        #{} ->
            {read, anything}
    end;
touches(_Kernel, _Call) ->
    {read, anything}.

access(Plan, Kernel, Args) ->
    IsTask = beamai_plan:native_name(Plan) =:= <<"task">>,
    case beamai_plan:only_reads(Plan) orelse IsTask andalso beamai_agents:only_reads(Kernel, Args) of
        true -> read;
        false -> write
    end.

%% Built-in tools touch only the path that they are given. One that changes something may change more than that path, as
%% staging a file does, unless its arguments are the file's new text.
place(Access, Plan, #{workspace := #{<<"path">> := Root}}, Args) ->
    case beamai_plan:native_name(Plan) of
        none -> anything;
        _Native -> place_of_native(Access, beamai_plan:spec(Plan), Root, Args)
    end.

place_of_native(Access, Spec, Root, Args) ->
    Takes = fun(Keys) -> [Key || Key <- Keys, is_map_key(Key, maps:get(parameters, Spec, #{}))] end,
    IsKnown = Access =:= read orelse Takes([<<"content">>, <<"new_string">>]) =/= [],
    case [maps:get(Key, Args, none) || IsKnown, Key <- Takes([<<"path">>, <<"file_path">>])] of
        [Path] when is_binary(Path) -> path(Path, Root);
        _ -> anything
    end.

%% Normalizes a path, so that two spellings are not taken for two files.
path(Path, _Root) when byte_size(Path) > ?LONGEST_PATH ->
    anything;
path(Path, Root) ->
    Top = filename:split(Root),
    Parts = [Part || Part <- filename:split(filename:absname(Path, Root)), Part =/= <<".">>],
    IsIn = lists:prefix(Top, Parts) andalso not lists:member(<<"..">>, Parts),
    case IsIn andalso not has_link(Root, lists:nthtail(length(Top), Parts)) of
        true -> Parts;
        false -> anything
    end.

%% Whether a link is on the path, so that another path can be the same file's.
has_link(_Directory, []) ->
    false;
has_link(Directory, [Name | Rest]) ->
    Path = filename:join(Directory, Name),
    element(1, file:read_link(Path)) =:= ok orelse has_link(Path, Rest).
