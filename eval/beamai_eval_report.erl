%% @doc What the evaluation prints.
-module(beamai_eval_report).

-export([header/0, shown/1, summary/1, recoveries/3]).

-define(ROW, "~-9ts ~-11ts ~-14ts ~-5ts ~6ts ~6ts ~9ts ~8ts ~10ts  ~ts~n").

%% @doc The names of the columns of {@link shown/1}.
-spec header() -> ok.
header() ->
    io:format(?ROW, ["dialect", "rendering", "task", "done", "turns", "calls", "input", "output", "characters", "errors"]).

%% @doc Prints an outcome as a line, and returns it.
-spec shown(beamai_eval_run:outcome()) -> beamai_eval_run:outcome().
shown(#{dialect := Dialect, rendering := Rendering, task := Task} = Outcome) ->
    line([atom_to_binary(Dialect), atom_to_binary(Rendering), Task, done(Outcome)], [Outcome]),
    [io:format("    ~ts~n", [beamai_display:printable(Why)]) || #{why := Why} <- [Outcome]],
    Outcome.

done(#{is_done := true}) -> "yes";
done(#{is_done := false}) -> "no".

line(Names, Outcomes) ->
    Sum = fun(Number) -> integer_to_list(lists:sum([Number(Outcome) || Outcome <- Outcomes])) end,
    Numbers = [
        Sum(fun(#{turns := Turns}) -> Turns end),
        Sum(fun(#{calls := Calls}) -> Calls end),
        Sum(fun(#{tokens := #{input := Input}}) -> Input end),
        Sum(fun(#{tokens := #{output := Output}}) -> Output end),
        Sum(fun(#{characters := Characters}) -> Characters end)
    ],
    io:format(?ROW, Names ++ Numbers ++ [errors(Outcomes)]).

errors(Outcomes) ->
    All = [Error || #{errors := Errors} <- Outcomes, Error <- maps:to_list(Errors)],
    Kinds = lists:usort([Kind || {Kind, _} <- All]),
    lists:join(", ", [io_lib:format("~ts ~b", [Kind, lists:sum([Number || {Of, Number} <- All, Of =:= Kind])]) || Kind <- Kinds]).

%% @doc Prints the sums by dialect and rendering.
-spec summary([beamai_eval_run:outcome()]) -> ok.
summary(Outcomes) ->
    io:format("~nin sum~n"),
    Groups = lists:usort([{Dialect, Rendering} || #{dialect := Dialect, rendering := Rendering} <- Outcomes]),
    lists:foreach(fun({Dialect, Rendering}) -> sums(Dialect, Rendering, Outcomes) end, Groups).

sums(Dialect, Rendering, Outcomes) ->
    Own = [Outcome || #{dialect := D, rendering := R} = Outcome <- Outcomes, D =:= Dialect, R =:= Rendering],
    Done = length([ok || #{is_done := true} <- Own]),
    Share = io_lib:format("~b/~b", [Done, length(Own)]),
    line([atom_to_binary(Dialect), atom_to_binary(Rendering), "", Share], Own).

%% @doc Prints a table of mistakes and dialects, and returns what was measured.
-spec recoveries(
    beamai_eval_run:rendering(),
    [beamai_eval_run:dialect()],
    fun((beamai_eval_mistakes:mistake(), beamai_eval_run:dialect()) -> beamai_eval:recovery())
) -> [beamai_eval:recovery()].
recoveries(Rendering, Dialects, Measure) ->
    io:format("~n~-24ts~ts~n", [["results as ", atom_to_list(Rendering)], [io_lib:format("~10ts", [atom_to_list(D)]) || D <- Dialects]]),
    lists:flatmap(fun(Mistake) -> mistake(Mistake, Dialects, Measure) end, beamai_eval_mistakes:all()).

mistake(#{name := Name, dialects := Possible} = Mistake, Dialects, Measure) ->
    Found = [{Dialect, measured(lists:member(Dialect, Possible), Mistake, Dialect, Measure)} || Dialect <- Dialects],
    io:format("~-24ts~ts~n", [atom_to_list(Name), [io_lib:format("~10ts", [cell(Recovery)]) || {_, Recovery} <- Found]]),
    [io:format("    ~ts: ~ts~n", [Dialect, beamai_display:printable(Why)]) || {Dialect, {not_recovered, Why}} <- Found],
    [Recovery || {_, Recovery} <- Found, Recovery =/= impossible].

measured(false, _Mistake, _Dialect, _Measure) -> impossible;
measured(true, Mistake, Dialect, Measure) -> Measure(Mistake, Dialect).

cell(impossible) -> "-";
cell({recovered, Turns}) -> integer_to_list(Turns);
cell({not_recovered, _Why}) -> "no".
