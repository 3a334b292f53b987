%% How runs end: cancelled, or out of time, also while a person is asked.
-module(beamai_agent_end_tests).

-include_lib("eunit/include/eunit.hrl").

agent(Turns, Tools, Options) ->
    Kernel = beamai_kernel:add_tool_module(beamai_test:kernel(Tools), beamai_tool_human),
    {ok, Agent} = beamai_agent:new(
        maps:merge(#{llm => beamai_chat:new(scripted, #{turns => Turns}), kernel => Kernel}, Options)
    ),
    Agent.

calls(Names) -> #{tool_calls => [{Name, #{}} || Name <- Names]}.

%% A tool that has to be approved, and tells when it runs.
guarded(Name) ->
    Self = self(),
    Handler = fun(_) -> Self ! {ran, Name}, {ok, 1} end,
    beamai_test:tool(Name, Handler, #{metadata => #{requires_permission => true}}).

has_run(Name) ->
    receive
        {ran, Name} -> true
    after 0 -> false
    end.

%% A person who does not answer.
silent() ->
    Self = self(),
    fun(_) -> Self ! {asked, self()}, timer:sleep(60000) end.

asked() -> receive {asked, Pid} -> Pid end.

errors(Agent) ->
    [Text || #{role := tool, outcome := error, content := Text} <- beamai_conversation:messages(beamai_agent:conversation(Agent))].

cancelled(Agent) ->
    Self = self(),
    Id = make_ref(),
    spawn_link(fun() -> Self ! {ended, beamai_agent:run(Agent, <<"go">>, #{run_id => Id, context => context(Self)})} end),
    Person = asked(),
    ok = beamai_kernel:cancel(Id),
    {error, cancelled, After} = receive {ended, Result} -> Result end,
    beamai_test:eventually(fun() -> not is_process_alive(Person) end),
    After.

context(Self) ->
    Silent = fun(_) -> Self ! {asked, self()}, timer:sleep(60000) end,
    #{approve => Silent, ask_user => Silent}.

cancelling_ends_an_approval_that_waits_test() ->
    After = cancelled(agent([calls([<<"open">>])], [guarded(<<"open">>)], #{})),
    ?assertEqual([<<"open was cancelled">>], errors(After)),
    ?assertNot(has_run(<<"open">>)),
    ?assertEqual([], beamai_test:mailbox()).

cancelling_ends_a_question_that_waits_test() ->
    Questions = #{<<"questions">> => [#{<<"question">> => <<"Which?">>, <<"header">> => <<"W">>, <<"options">> => [
        #{<<"label">> => <<"a">>, <<"description">> => <<"a">>}, #{<<"label">> => <<"b">>, <<"description">> => <<"b">>}
    ]}]},
    After = cancelled(agent([#{tool_calls => [{<<"human_input">>, Questions}]}], [], #{})),
    ?assertEqual([<<"human_input was cancelled">>], errors(After)).

cancelling_ends_an_approval_of_a_sub_agent_test() ->
    Helper = #{prompt => <<"You help.">>, description => <<"Helps.">>, tools => [<<"open">>]},
    Turns = fun
        (#{system := <<"You help.">>}) -> calls([<<"open">>]);
        (_) -> #{tool_calls => [{<<"task">>, #{<<"agent">> => <<"helper">>, <<"objective">> => <<"x">>}}]}
    end,
    _ = cancelled(agent(Turns, [guarded(<<"open">>)], #{agents => #{<<"helper">> => Helper}})),
    ?assertNot(has_run(<<"open">>)).

cancelling_ends_an_approval_within_a_tool_test() ->
    Inner = beamai_test:kernel([guarded(<<"inner">>)]),
    Outer = beamai_test:tool(<<"outer">>, fun(_, Context) ->
        {error, Error} = beamai_kernel:invoke(Inner, <<"inner">>, #{}, Context),
        {error, Error}
    end),
    _ = cancelled(agent([calls([<<"outer">>])], [Outer], #{})),
    ?assertNot(has_run(<<"inner">>)).

the_end_of_the_time_ends_what_waits_for_a_person_test() ->
    Agent = agent([calls([<<"open">>]), <<"never">>], [guarded(<<"open">>)], #{budget => #{max_time => 2000}}),
    {Took, {error, {out_of_budget, time}, After}} =
        timer:tc(fun() -> beamai_agent:run(Agent, <<"go">>, #{context => #{approve => silent()}}) end),
    ?assert(Took >= 2000000 andalso Took < 30000000),
    ?assertNot(is_process_alive(asked())),
    ?assertNot(has_run(<<"open">>)),
    [Message] = errors(After),
    ?assertNotEqual(nomatch, string:find(Message, "not approved before the time")).

%% A handler that asks the user, ignores the answer, and continues.
the_end_of_the_time_ends_the_handler_that_asks_test() ->
    Self = self(),
    Nested = beamai_test:kernel([guarded(<<"inner">>)], #{approve => silent()}),
    Asking = [
        fun(Context) -> beamai_callback:ask_user([<<"Well?">>], Context) end,
        %% A call that is not of the run.
        fun(_) -> beamai_kernel:invoke(Nested, <<"inner">>, #{}) end
    ],
    [begin
        Handler = fun(_, Context) -> _ = Ask(Context), Self ! {ran, <<"asks">>}, {ok, 1} end,
        Asks = beamai_test:tool(<<"asks">>, Handler, #{timeout => 60000}),
        Agent = agent([calls([<<"asks">>]), <<"never">>], [Asks], #{budget => #{max_time => 1000}}),
        {Took, {error, {out_of_budget, time}, After}} =
            timer:tc(fun() -> beamai_agent:run(Agent, <<"go">>, #{context => #{ask_user => silent()}}) end),
        ?assert(Took >= 1000000 andalso Took < 30000000),
        ?assertEqual([<<"asks was ended: the time of the run's budget is over">>], errors(After)),
        Person = asked(),
        beamai_test:eventually(fun() -> not is_process_alive(Person) end),
        ?assertNot(has_run(<<"asks">>))
    end || Ask <- Asking].

%% The time in which a person answers does not count towards the timeout.
the_time_of_the_budget_ends_a_handler_after_its_question_test() ->
    Asks = beamai_test:tool(<<"asks">>, fun(_, Context) ->
        {ok, yes} = beamai_callback:ask_user([<<"Well?">>], Context),
        timer:sleep(60000)
    end, #{timeout => 60000}),
    Agent = agent([calls([<<"asks">>]), <<"never">>], [Asks], #{budget => #{max_time => 3000}}),
    Answering = #{ask_user => fun(_) -> timer:sleep(1500), {ok, yes} end},
    {Took, {error, {out_of_budget, time}, After}} = timer:tc(fun() -> beamai_agent:run(Agent, <<"go">>, #{context => Answering}) end),
    ?assert(Took >= 3000000 andalso Took < 30000000),
    ?assertEqual([<<"asks was ended: the time of the run's budget is over">>], errors(After)).

a_call_is_not_tried_again_after_the_time_of_the_budget_test() ->
    Count = counters:new(1, []),
    Fails = beamai_test:tool(<<"fails">>, fun(_) -> counters:add(Count, 1, 1), timer:sleep(40), {error, later} end, #{
        retry => #{max => 1000, delay => 0}
    }),
    Agent = agent([calls([<<"fails">>]), <<"never">>], [Fails], #{budget => #{max_time => 150}}),
    {Took, {error, {out_of_budget, time}, _}} = timer:tc(fun() -> beamai_agent:run(Agent, <<"go">>) end),
    ?assert(Took < 30000000),
    ?assert(counters:get(Count, 1) =< 5).

a_pause_between_tries_ends_with_the_time_of_the_budget_test() ->
    Fails = beamai_test:tool(<<"fails">>, fun(_) -> {error, later} end, #{retry => #{max => 1, delay => 60000}}),
    Agent = agent([calls([<<"fails">>]), <<"never">>], [Fails], #{budget => #{max_time => 100}}),
    {Took, {error, {out_of_budget, time}, _}} = timer:tc(fun() -> beamai_agent:run(Agent, <<"go">>) end),
    ?assert(Took < 30000000).

nothing_runs_after_the_time_of_the_budget_test() ->
    Self = self(),
    Slow = beamai_test:tool(<<"slow">>, fun(_) -> timer:sleep(60000) end),
    Note = fun(Name) -> beamai_test:tool(Name, fun(_) -> Self ! {ran, Name}, {ok, 1} end) end,
    Kernel = beamai_kernel:add_tool_module(
        beamai_test:kernel([Slow, Note(<<"a">>)], #{permissions => #{default => allow}}), beamai_tool_file
    ),
    Write = {<<"file_write">>, #{<<"path">> => <<"never-written">>, <<"content">> => <<"x">>}},
    Turn = #{tool_calls => [{<<"slow">>, #{}}, {<<"a">>, #{}}, Write]},
    {ok, Agent} = beamai_agent:new(#{
        llm => beamai_chat:new(scripted, #{turns => [Turn]}), kernel => Kernel, budget => #{max_time => 100}
    }),
    {error, {out_of_budget, time}, After} = beamai_agent:run(Agent, <<"go">>),
    ?assertNot(has_run(<<"a">>)),
    ?assertNot(filelib:is_file("never-written")),
    [_, A, W] = errors(After),
    [?assertNotEqual(nomatch, string:find(Message, "has not run")) || Message <- [A, W]].

an_approval_ends_with_the_process_that_waits_test() ->
    Agent = agent([calls([<<"open">>])], [guarded(<<"open">>)], #{}),
    Silent = silent(),
    Caller = spawn(fun() -> beamai_agent:run(Agent, <<"go">>, #{context => #{approve => Silent}}) end),
    Person = asked(),
    exit(Caller, kill),
    beamai_test:eventually(fun() -> not is_process_alive(Person) end).

an_approval_that_dies_is_a_refusal_test() ->
    Agent = agent([calls([<<"open">>]), <<"ok">>], [guarded(<<"open">>)], #{}),
    Dying = fun(_) -> exit(self(), kill), timer:sleep(1000) end,
    {ok, _, After} = beamai_agent:run(Agent, <<"go">>, #{context => #{approve => Dying}}),
    [Refusal] = errors(After),
    ?assertNotEqual(nomatch, string:find(Refusal, "approv")),
    ?assertNot(has_run(<<"open">>)).

a_person_who_answers_in_time_is_heard_test() ->
    Agent = agent([calls([<<"open">>]), <<"ok">>], [guarded(<<"open">>)], #{budget => #{max_time => 5000}}),
    {ok, _, _} = beamai_agent:run(Agent, <<"go">>, #{context => #{approve => fun(_) -> timer:sleep(50), allow end}}),
    ?assert(has_run(<<"open">>)).
