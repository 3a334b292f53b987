%% Filters around the answers of an agent's model.
-module(beamai_model_filters_tests).

-include_lib("eunit/include/eunit.hrl").

agent(Turns, Filters) ->
    {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => Turns}), model_filters => Filters}),
    Agent.

filter(Name, Fun) -> beamai_filter:new(Name, Fun).

they_are_an_onion_test() ->
    Self = self(),
    Note = fun(Name) -> filter(Name, fun(Request, Next) -> Self ! {before, Name}, Reply = Next(Request), Self ! {afterwards, Name}, Reply end) end,
    {ok, #{content := <<"hi">>}, _} = beamai_agent:run(agent([<<"hi">>], [Note(outer), Note(inner)]), <<"Hello.">>),
    ?assertEqual([{before, outer}, {before, inner}, {afterwards, inner}, {afterwards, outer}], beamai_test:mailbox()),
    [receive _ -> ok end || _ <- lists:seq(1, 4)].

what_a_filter_hands_on_goes_to_the_model_alone_test() ->
    Seen = fun(#{messages := Messages, system := System}) -> <<System/binary, "|", (maps:get(content, lists:last(Messages)))/binary>> end,
    Hide = filter(hide, fun(#{messages := Messages} = Request, Next) ->
        Next(Request#{system := <<"S">>, messages := [maps:map(fun(content, T) -> iolist_to_binary(string:replace(T, "secret", "***", all)); (_, V) -> V end, M) || M <- Messages]})
    end),
    {ok, #{content := <<"S|a ***">>}, After} = beamai_agent:run(agent([Seen], [Hide]), <<"a secret">>),
    [#{content := <<"a secret">>} | _] = beamai_conversation:messages(beamai_agent:conversation(After)).

a_filter_may_answer_itself_or_ask_again_test() ->
    Reply = {ok, #{message => #{role => assistant, content => <<"own">>}, stop => end_turn, usage => #{input_tokens => 0, output_tokens => 0, cached_tokens => 0}}},
    {ok, #{content := <<"own">>}, _} = beamai_agent:run(agent([], [filter(own, fun(_, _) -> Reply end)]), <<"Hello.">>),
    Twice = filter(twice, fun(Request, Next) -> _ = Next(Request), Next(Request) end),
    Count = counters:new(1, []),
    Counting = fun(_) -> counters:add(Count, 1, 1), integer_to_binary(counters:get(Count, 1)) end,
    {ok, #{content := <<"2">>}, _} = beamai_agent:run(agent([Counting], [Twice]), <<"Hello.">>).

faults_are_errors_of_the_model_test() ->
    ok = logger:set_primary_config(level, none),
    [
        ?assertMatch({error, {model, #{reason := failed, message := <<"the model filter ", _/binary>>}}, _}, beamai_agent:run(agent([<<"hi">>], [filter(<<"bad">>, Fun)]), <<"Hello.">>))
     || Fun <- [fun(_, _) -> error(oops) end, fun(_, _) -> ok end, fun(_, Next) -> Next(#{}) end]
    ],
    ok = logger:set_primary_config(level, notice),
    One = filter(one, fun(R, N) -> N(R) end),
    [?assertError({bad_option, model_filters}, agent([], Bad)) || Bad <- [none, [One, One]]],
    ?assertError({bad_filter, _}, agent([], [1])).
