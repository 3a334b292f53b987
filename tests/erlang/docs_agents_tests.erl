%% docs/agents.md says every option, key of a result, failure and event that the types have, and no other.
-module(docs_agents_tests).
-include_lib("eunit/include/eunit.hrl").

options_of_models_test() -> same("| option | default |", keys(beamai_chat_options, http)).

options_of_agents_test() -> same("| option of `new/1` |", keys(beamai_agent_options, agent)).

options_of_runs_test() -> same("| option of `run/3` |", keys(beamai_agent_options, run)).

budgets_test() -> same("| key of `budget` |", keys(beamai_budget, limits)).

results_test() -> same("| key of `Result` |", keys(beamai_agent, result)).

failures_test() -> same("| `Failure` |", alternatives(beamai_agent, failure)).

sub_agents_test() -> same("| key of a sub-agent |", keys(beamai_agents, definition)).

events_test() ->
    same("| event |", alternatives(beamai_agent, event) ++ alternatives(beamai_chat_model, event)).

keys_of_events_test() ->
    Rows = table("| event |"),
    Missing = [
        {Name, Key}
     || {Name, Keys} <- event_keys(beamai_agent) ++ event_keys(beamai_chat_model),
        Key <- Keys,
        not lists:member(Key, named(lists:append([Cells || [First | Cells] <- Rows, named([First]) =:= [Name]])))
    ],
    ?assertEqual([], Missing).

same(Head, Expected) ->
    Documented = lists:append([named([First]) || [First | _] <- table(Head)]),
    ?assertEqual(lists:sort(Expected), lists:sort(Documented)).

%% The cells of the rows of the table whose head begins so.
table(Head) ->
    {ok, Text} = file:read_file("docs/agents.md"),
    [_, After] = binary:split(Text, unicode:characters_to_binary(["\n", Head])),
    [_, _ | Lines] = binary:split(After, <<"\n">>, [global]),
    Rows = lists:takewhile(fun(Line) -> binary:first(<<Line/binary, " ">>) =:= $| end, Lines),
    [tl(binary:split(Row, <<"|">>, [global])) || Row <- Rows].

%% The first word of everything in backquotes.
named(Cells) ->
    case re:run(Cells, "`\\{?(\\w+)[^`]*`", [global, {capture, [1], list}]) of
        {match, Found} -> [Word || [Word] <- Found];
        nomatch -> []
    end.

keys(Module, Type) ->
    [atom_to_list(Key) || {type, _, _, [{atom, _, Key} | _]} <- fields(type(Module, Type))].

%% Of a union, the map in it.
fields({type, _, map, Fields}) when is_list(Fields) -> Fields;
fields({type, _, union, Types}) -> lists:append([fields(Type) || {type, _, map, _} = Type <- Types]);
fields(_) -> [].

alternatives(Module, Type) ->
    [atom_to_list(Name) || {Name, _} <- tagged(type(Module, Type))].

event_keys(Module) ->
    [
        {atom_to_list(Name), [atom_to_list(Key) || {type, _, _, [{atom, _, Key} | _]} <- fields(Value)]}
     || {Name, [Value]} <- tagged(type(Module, event))
    ].

tagged({type, _, union, Types}) -> lists:append([tagged(Type) || Type <- Types]);
tagged({type, _, tuple, [{atom, _, Name} | Values]}) -> [{Name, [plain(Value) || Value <- Values]}];
tagged({atom, _, Name}) -> [{Name, []}];
tagged({remote_type, _, _}) -> [].

plain({ann_type, _, [_Name, Type]}) -> Type;
plain(Type) -> Type.

type(Module, Name) ->
    {ok, {_, [{abstract_code, {_, Forms}}]}} = beam_lib:chunks(code:which(Module), [abstract_code]),
    [Type] = [Type || {attribute, _, Kind, {N, Type, []}} <- Forms, N =:= Name, Kind =:= type orelse Kind =:= opaque],
    Type.
