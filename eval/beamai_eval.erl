%% @doc Does it help a model? Runs tasks with a model, or with scripts that make the mistakes that models make.
%%
%% Started by `make eval', with what is in the environment; see {@link settings/1}. `docs/evaluation.md' tells how to read what it
%% prints.
-module(beamai_eval).

-export([main/0, settings/1, recovered/3]).
-export_type([recovery/0]).

-define(TASKS, "eval/tasks").

%% How many turns more than without its mistake a script needed, or `not_recovered'.
-type recovery() :: {recovered, Turns :: integer()} | {not_recovered, Why :: binary()}.

%% @doc Runs and reports, then ends the VM: with 1 where a script did not recover by the text for models, and with 2 where the environment is wrong.
%% What a real model does is reported, and ends with 0.
-spec main() -> no_return().
main() ->
    ok = io:setopts([{encoding, unicode}]),
    _ = application:load(beamai),
    ok = application:set_env(beamai, announce, false),
    {ok, _} = application:ensure_all_started(beamai),
    case settings(fun os:getenv/1) of
        {ok, #{model := Model} = Settings} -> with_model(Model, Settings);
        {ok, Settings} -> with_scripts(Settings);
        {error, Why} -> complain(Why)
    end.

-spec complain(iodata()) -> no_return().
complain(Why) ->
    io:format(standard_error, "eval: ~ts~n", [Why]),
    halt(2).

%% @doc What the environment asks for. `MODEL' names a model; `PROVIDER' is `openai' (the default, for every server with that
%% interface) or `anthropic', `BASE_URL' and `API_KEY' are the server's. `DIALECT', `RENDERING' and `TASK' are lists with commas,
%% everything by default; `REPEAT' is how often each task is done, once by default.
-spec settings(fun((string()) -> string() | false)) -> {ok, map()} | {error, iodata()}.
settings(Env) ->
    try
        {ok, (models(Env))#{
            dialects => chosen(Env("DIALECT"), "DIALECT", beamai_eval_run:dialects()),
            renderings => chosen(Env("RENDERING"), "RENDERING", beamai_eval_run:renderings()),
            tasks => tasks(Env("TASK")),
            repeat => repeat(Env("REPEAT"))
        }}
    catch
        throw:{wrong, Why} -> {error, Why}
    end.

models(Env) ->
    case text(Env("MODEL")) of
        none ->
            [throw({wrong, [Name, " is set, but MODEL is not: name the model"]}) || Name <- ["BASE_URL", "PROVIDER"], text(Env(Name)) =/= none],
            #{};
        Name ->
            Given = [{base_url, text(Env("BASE_URL"))}, {api_key, text(Env("API_KEY"))}],
            Options = maps:from_list([Pair || {_, Value} = Pair <- Given, Value =/= none]),
            #{model => made(text(Env("PROVIDER")), Options#{model => Name}), name => Name}
    end.

made(Provider, Options) ->
    Known = #{none => openai, <<"openai">> => openai, <<"anthropic">> => anthropic},
    case Known of
        #{Provider := Found} -> chat(Found, Options);
        #{} -> throw({wrong, ["PROVIDER is \"", Provider, "\"; it can be openai or anthropic"]})
    end.

chat(Provider, Options) ->
    try
        beamai_chat:new(Provider, Options)
    catch
        error:{bad_option, Key} -> throw({wrong, [string:uppercase(atom_to_list(Key)), " cannot be used"]})
    end.

text(false) -> none;
text("") -> none;
text(Value) -> unicode:characters_to_binary(Value).

listed(Value) ->
    [string:trim(Part) || Part <- string:lexemes(Value, ",")].

chosen(Value, Name, All) ->
    case text(Value) of
        none -> All;
        Text -> [known(Part, Name, All) || Part <- listed(Text)]
    end.

known(Part, Name, All) ->
    case [Known || Known <- All, atom_to_binary(Known) =:= Part] of
        [Known] -> Known;
        [] -> throw({wrong, [Name, " has \"", Part, "\"; it can have ", lists:join(", ", [atom_to_list(One) || One <- All])]})
    end.

tasks(Value) ->
    case text(Value) of
        none -> beamai_eval_task:all(?TASKS);
        Text -> found(listed(Text))
    end.

found(Names) ->
    try
        beamai_eval_task:named(?TASKS, Names)
    catch
        error:{no_task, Name} -> throw({wrong, ["there is no task \"", Name, "\" in ", ?TASKS]})
    end.

repeat(Value) ->
    case text(Value) of
        none -> 1;
        Text ->
            case string:to_integer(Text) of
                {Times, <<>>} when is_integer(Times), Times > 0 -> Times;
                _ -> throw({wrong, ["REPEAT is \"", Text, "\"; it must be a number above 0"]})
            end
    end.

%%% With a model

-spec with_model(beamai_chat:model(), map()) -> no_return().
with_model(Model, #{name := Name, dialects := Dialects, renderings := Renderings, tasks := Tasks, repeat := Times}) ->
    io:format("~ts~n~n", [Name]),
    beamai_eval_report:header(),
    Outcomes = [
        beamai_eval_report:shown(beamai_eval_run:run(Task, #{model => Model, dialect => Dialect, rendering => Rendering}))
     || Dialect <- Dialects, Rendering <- Renderings, Task <- Tasks, _ <- lists:seq(1, Times)
    ],
    beamai_eval_report:summary(Outcomes),
    halt(0).

%%% With scripts

-spec with_scripts(map()) -> no_return().
with_scripts(#{dialects := Dialects, renderings := Renderings}) ->
    io:format("MODEL is not set: scripts make the mistakes that models make. How many turns more each needs to mend it~n"
        "(0: it was taken as it was meant; -: it cannot be made there). Nothing here is about a real model.~n", []),
    Results = [
        {Rendering, beamai_eval_report:recoveries(Rendering, Dialects, fun(Mistake, Dialect) -> recovered(Mistake, Dialect, Rendering) end)}
     || Rendering <- Renderings
    ],
    Lost = [ok || {text, Recoveries} <- Results, {not_recovered, _} <- Recoveries],
    halt(case Lost of [] -> 0; _ -> 1 end).

%% @doc Runs the script of a mistake.
-spec recovered(beamai_eval_mistakes:mistake(), beamai_eval_run:dialect(), beamai_eval_run:rendering()) -> recovery().
recovered(#{task := Name} = Mistake, Dialect, Rendering) ->
    [Task] = beamai_eval_task:named(?TASKS, [Name]),
    Make = fun(Workspace) -> beamai_eval_mistakes:model(Mistake, Dialect, Workspace) end,
    case beamai_eval_run:run(Task, #{model => Make, dialect => Dialect, rendering => Rendering}) of
        #{is_done := true, turns := Turns} -> {recovered, Turns - beamai_eval_mistakes:turns_without(Mistake)};
        #{is_done := false, why := Why} -> {not_recovered, Why}
    end.
