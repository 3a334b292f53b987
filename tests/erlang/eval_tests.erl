%% The scripted runs of the evaluation: whoever makes a mistake that models make is told how to go on.
-module(eval_tests).

-include_lib("eunit/include/eunit.hrl").

a_mistake_costs_a_turn_at_most_test_() ->
    [
        {lists:concat([Name, ", ", Dialect]), {timeout, 60, fun() -> recovers(Mistake, Dialect) end}}
     || #{name := Name, dialects := Dialects} = Mistake <- beamai_eval_mistakes:all(), Dialect <- Dialects
    ].

recovers(#{name := Name} = Mistake, Dialect) ->
    {recovered, Turns} = beamai_eval:recovered(Mistake, Dialect, text),
    ?assert(Turns =< allowed(Name)).

%% What can mean one thing only is taken as it was meant.
allowed(Name) when Name =:= relative_path; Name =:= number_as_text; Name =:= prose_around -> 0;
%% A file that somebody else changed is read again, and then edited.
allowed(stale_file) -> 2;
allowed(_Name) -> 1.

structured_results_serve_as_well_test_() ->
    {timeout, 60, fun() ->
        [Mistake] = [M || #{name := wrong_whitespace} = M <- beamai_eval_mistakes:all()],
        ?assertEqual({recovered, 1}, beamai_eval:recovered(Mistake, beamai, structured))
    end}.

every_task_fails_where_nothing_was_done_test_() ->
    Idle = beamai_chat:new(scripted, #{turns => [<<"I did nothing.">>]}),
    [
        {binary_to_list(beamai_eval_task:name(Task)), fun() ->
            Outcome = beamai_eval_run:run(Task, #{model => Idle, dialect => coder, rendering => text}),
            ?assertMatch(#{is_done := false, turns := 1, calls := 0}, Outcome)
        end}
     || Task <- beamai_eval_task:all("eval/tasks")
    ].

%% The environment names a model of a server.
a_server_is_asked_test() ->
    Server = chat_server:start([chat_server:says(openai_stream, <<"lib/rules/loyalty.py:9">>)]),
    Env = #{"MODEL" => "m", "BASE_URL" => binary_to_list(chat_server:url(Server)), "TASK" => "question", "DIALECT" => "ide"},
    {ok, #{model := Model, tasks := [Task], dialects := [ide]}} = beamai_eval:settings(fun(Key) -> maps:get(Key, Env, false) end),
    Outcome = beamai_eval_run:run(Task, #{model => Model, dialect => ide, rendering => text}),
    chat_server:stop(Server),
    ?assertMatch(#{is_done := true, turns := 1}, Outcome).

a_wrong_environment_is_explained_test_() ->
    Why = fun(Env) ->
        {error, Text} = beamai_eval:settings(fun(Key) -> maps:get(Key, Env, false) end),
        iolist_to_binary(Text)
    end,
    [
        ?_assertEqual(<<"BASE_URL is set, but MODEL is not: name the model">>, Why(#{"BASE_URL" => "http://127.0.0.1:1"})),
        ?_assertEqual(<<"DIALECT has \"emacs\"; it can have beamai, microai, coder, ide">>, Why(#{"DIALECT" => "emacs"})),
        ?_assertEqual(<<"there is no task \"none\" in eval/tasks">>, Why(#{"TASK" => "none"})),
        ?_assertEqual(<<"PROVIDER is \"x\"; it can be openai or anthropic">>, Why(#{"MODEL" => "m", "PROVIDER" => "x"}))
    ].
