%% Stores of runs: both of them, and runs that go on from every entry of their log.
-module(beamai_store_tests).

-include_lib("eunit/include/eunit.hrl").

-export([check/1, open/2, append/2, close/1, read/2, delete/2]).
-export([new/1, instructions/1, complete/2]).

entry(N) -> #{type => message, message => #{role => user, content => integer_to_binary(N)}}.

in_stores_test_() ->
    [
        {lists:concat([Name, " ", Kind]), {timeout, 30, fun() -> with(Kind, Test) end}}
     || Kind <- [file, mnesia],
        {Name, Test} <- [
            {"entries come back in their order", fun entries_come_back/1},
            {"logs are apart", fun logs_are_apart/1},
            {"a log is open once", fun a_log_is_open_once/1},
            {"a run is there again after its VM", fun a_run_is_there_again/1}
        ]
    ].

with(file, Test) ->
    beamai_test:in_workspace(fun(Dir) -> Test({beamai_store_file, #{dir => filename:join(Dir, "a/b")}}) end);
with(mnesia, Test) ->
    beamai_test:in_workspace(fun(Dir) ->
        ok = application:set_env(mnesia, dir, binary_to_list(Dir)),
        ok = mnesia:start(),
        try
            ok = beamai_store_mnesia:create_table(runs, [{ram_copies, [node()]}]),
            ok = beamai_store_mnesia:create_table(runs, [{ram_copies, [node()]}]),
            Test({beamai_store_mnesia, #{table => runs}})
        after
            stopped = mnesia:stop()
        end
    end).

entries_come_back(Store) ->
    ?assertEqual({ok, []}, beamai_store:read(<<"a">>, Store)),
    write(<<"a">>, [entry(N) || N <- lists:seq(1, 20)], Store),
    write(<<"a">>, [entry(N) || N <- lists:seq(21, 30)], Store),
    ?assertEqual({ok, [entry(N) || N <- lists:seq(1, 30)]}, beamai_store:read(<<"a">>, Store)),
    ok = beamai_store:delete(<<"a">>, Store),
    ok = beamai_store:delete(<<"a">>, Store),
    ?assertEqual({ok, []}, beamai_store:read(<<"a">>, Store)).

logs_are_apart(Store) ->
    Ids = [<<"a">>, <<"A">>, <<"../a">>, <<"a/b">>, <<"ä"/utf8>>, <<0>>, binary:copy(<<"x">>, 5000), <<"=41">>],
    [write(Id, [entry(N)], Store) || {N, Id} <- lists:zip(lists:seq(1, length(Ids)), Ids)],
    [?assertEqual({ok, [entry(N)]}, beamai_store:read(Id, Store)) || {N, Id} <- lists:zip(lists:seq(1, length(Ids)), Ids)].

a_log_is_open_once(Store) ->
    {ok, Log} = beamai_store:open(<<"a">>, Store),
    ?assertEqual({error, {in_use, <<"a">>}}, beamai_store:open(<<"a">>, Store)),
    write(<<"b">>, [entry(1)], Store),
    ok = beamai_store:close(Log),
    Self = self(),
    Pid = spawn(fun() -> {ok, _} = beamai_store:open(<<"a">>, Store), Self ! open, receive never -> ok end end),
    receive open -> ok end,
    exit(Pid, kill),
    write(<<"a">>, [entry(2)], Store).

write(Id, Entries, Store) ->
    {ok, Log} = beamai_store:open(Id, Store),
    Last = lists:foldl(fun(Entry, L) -> {ok, Next} = beamai_store:append(Entry, L), Next end, Log, Entries),
    ok = beamai_store:close(Last).

%%% Entries

%% Each is whole, but not what a run writes.
entries_of_other_shapes_are_an_error_test_() ->
    [{atom_to_list(Kind), {timeout, 30, fun() -> with(Kind, fun are_an_error/1) end}} || Kind <- [file, mnesia]].

are_an_error(Store) ->
    Allow = fun(_) -> allow end,
    {ok, #{content := <<"done">>}, _} = beamai_agent:run(agent(Store, self(), Allow), <<"go">>),
    {ok, Good} = beamai_store:read(<<"a">>, Store),
    _ = ran(),
    Read = fun(Entries) ->
        ok = beamai_store:delete(<<"a">>, Store),
        write(<<"a">>, Entries, Store),
        agent(Store, self(), Allow)
    end,
    [
        ?assertError({bad_option, store}, Read(Before ++ [Bad] ++ After))
     || Bad <- odd_entries(), {Before, After} <- [{[], []}, {Good, []}, {[], Good}]
    ],
    %% Of a newer version.
    ?assertMatch({idle, _}, beamai_agent:resume(Read([#{type => weather, is => fine}, (entry(1))#{colour => red} | Good]), #{})),
    ?assertEqual([], ran()).

odd_entries() ->
    Said = fun(Message) -> #{type => message, message => Message} end,
    Calls = fun(Calls) -> Said(#{role => assistant, content => <<>>, tool_calls => Calls}) end,
    Call = #{id => <<"1">>, name => <<"free">>, args => #{}},
    Raw = fun(Raw) -> Said(#{role => assistant, content => <<>>, raw => Raw}) end,
    Result = #{role => tool, call => <<"1">>, name => <<"free">>, content => <<"x">>, outcome => ok},
    [
        [1, 2], none, #{}, #{type => 5}, Said([a | b]), Said(self()), Said(#{role => root, content => <<"x">>}), Said(#{role => user}),
        Said(#{role => system, content => <<"x">>}), Said(#{role => user, content => 5}), Said(#{role => user, content => <<"x">>, attachments => 5}),
        Said(#{role => user, content => <<"x">>, summary => #{pinned => [a | b]}}), Said(Result), (entry(1))#{usage => 5}, (entry(1))#{is_input => 5},
        (entry(1))#{usage => #{input_tokens => many}}, Calls(5), Calls([5]), Calls([Call | 5]), Calls([Call#{id => 5}]), Calls([maps:remove(args, Call)]),
        Calls([Call#{invalid => 5}]), Raw(5), Raw({text, 5}), Raw({anthropic, [a | b]}), Raw({gemini, [5]}),
        #{type => result, message => #{role => user, content => <<"x">>}}, #{type => result, message => Result#{content => 5}},
        #{type => result, message => Result#{images => [5]}}, #{type => result, message => Result, is_made => 5}, #{type => begun, calls => x},
        #{type => begun, calls => [x | y]}, #{type => begun}, #{type => waiting}, #{type => decided}, #{type => context, set => 5},
        #{type => compacted, messages => 5}, #{type => compacted, messages => [5]},
        #{type => ended, is_done => perhaps, tool_calls => 0, usage => #{}}, #{type => ended, is_done => true, tool_calls => -5, usage => #{}},
        #{type => ended, is_done => true, tool_calls => 0, usage => []}
    ].

%%% Runs

%% Three turns of calls, some of them to be approved; of a call nobody knows of, the model asks for the state.
agent(Store, Tester, Approve) ->
    Tool = fun(Name, Metadata) ->
        beamai_test:tool(Name, fun(#{<<"n">> := N}) -> Tester ! {ran, N}, {ok, N} end, #{metadata => Metadata})
    end,
    Context = beamai_test:tool(<<"context">>, fun(#{<<"n">> := N}, C) -> Tester ! {ran, N}, {ok, N, C#{n => N, pid => self()}} end),
    Kernel = beamai_test:kernel(
        [Tool(<<"free">>, #{read_only => true}), Tool(<<"guarded">>, #{requires_permission => true}), Context]
    ),
    {ok, Agent} = beamai_agent:new(#{
        llm => beamai_chat:new(scripted, #{turns => fun turn/1}), kernel => Kernel, store => Store, agent_id => <<"a">>,
        context => #{approve => Approve}
    }),
    Agent.

turn(#{messages := Messages}) ->
    Turn = fun(Calls) -> #{tool_calls => [{Name, #{<<"n">> => N}} || {Name, N} <- Calls], usage => #{input_tokens => 10}} end,
    case length([ok || #{role := assistant} <- Messages]) of
        0 -> Turn([{<<"free">>, 1}, {<<"free">>, 2}]);
        1 -> Turn([{<<"guarded">>, 3}, {<<"context">>, 4}]);
        2 -> Turn([{<<"guarded">>, 5}]);
        3 -> <<"done">>;
        _ -> <<"more">>
    end.

ran() ->
    receive
        {ran, N} -> [N | ran()]
    after 0 -> []
    end.

results(Agent) ->
    [Outcome || #{role := tool, outcome := Outcome} <- beamai_conversation:messages(beamai_agent:conversation(Agent))].

a_run_is_there_again(Store) ->
    Allow = fun(_) -> allow end,
    {idle, First} = beamai_agent:resume(agent(Store, self(), Allow), #{}),
    {ok, #{content := <<"done">>}, After} = beamai_agent:run(First, <<"go">>),
    ?assertEqual([1, 2, 3, 4, 5], lists:sort(ran())),
    {idle, Again} = beamai_agent:resume(agent(Store, self(), Allow), #{}),
    ?assertEqual(beamai_agent:conversation(After), beamai_agent:conversation(Again)),
    ?assertMatch(#{n := 4}, beamai_agent:context(Again)),
    ?assertNot(is_map_key(pid, beamai_agent:context(Again))),
    {ok, #{content := <<"more">>}, _} = beamai_agent:run(Again, <<"more">>),
    {idle, Last} = beamai_agent:resume(agent(Store, self(), Allow), #{}),
    ?assertMatch(#{role := assistant, content := <<"more">>}, lists:last(beamai_conversation:messages(beamai_agent:conversation(Last)))).

%% Whatever entry was the last one: no call that has a result or may have taken effect runs again, and all others run once.
a_run_goes_on_from_every_entry_of_its_log_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Store = {beamai_store_file, #{dir => Dir, sync => false}},
        Allow = fun(_) -> allow end,
        {ok, _, _} = beamai_agent:run(agent(Store, self(), Allow), <<"go">>),
        _ = ran(),
        {ok, Entries} = beamai_store:read(<<"a">>, Store),
        ?assert(length(Entries) >= 18),
        [goes_on(lists:sublist(Entries, Count), Store, Allow) || Count <- lists:seq(1, length(Entries))]
    end).

goes_on(Entries, Store, Allow) ->
    ok = beamai_store:delete(<<"a">>, Store),
    write(<<"a">>, Entries, Store),
    Has = [N || #{type := result, message := #{content := N}} <- Entries],
    Agent = agent(Store, self(), Allow),
    case lists:last(Entries) of
        Last when map_get(type, Last) =:= ended; map_get(content, map_get(message, Last)) =:= <<"done">> ->
            ?assertMatch({idle, _}, beamai_agent:resume(Agent, #{}));
        _ ->
            {ok, #{content := <<"done">>}, After} = beamai_agent:resume(Agent, #{}),
            Outcomes = results(After),
            ?assertEqual(5, length(Outcomes)),
            Again = ran(),
            ?assertEqual([], [N || N <- Again, lists:member(integer_to_binary(N), Has)]),
            ?assertEqual(length(Again), length(lists:usort(Again))),
            ?assertEqual(5 - length(Has) - length(Again), length([error || error <- Outcomes])),
            {idle, Stored} = beamai_agent:resume(agent(Store, self(), Allow), #{}),
            ?assertEqual(length(results(After)), length(results(Stored))),
            ?assertMatch(#{tool_calls := Calls} when Calls =< 5, beamai_agent:conversation(Stored))
    end.

an_approval_that_waited_is_asked_again_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Store = {beamai_store_file, #{dir => Dir}},
        Self = self(),
        Silent = fun(#{args := #{<<"n">> := N}}) -> Self ! {asked, N}, timer:sleep(60000) end,
        Pid = spawn(fun() -> beamai_agent:run(agent(Store, Self, Silent), <<"go">>) end),
        receive {asked, 3} -> ok end,
        exit(Pid, kill),
        _ = ran(),
        Allow = fun(#{args := #{<<"n">> := N}}) -> Self ! {asked, N}, allow end,
        {ok, _, After} = beamai_agent:resume(agent(Store, Self, Allow), #{}),
        ?assertEqual([3, 4, 5], ran()),
        receive {asked, 3} -> ok end,
        ?assertEqual([ok, ok, ok, ok, ok], results(After)),
        receive {asked, 5} -> ok end
    end).

a_call_that_was_under_way_is_not_made_again_and_the_model_is_told_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Store = {beamai_store_file, #{dir => Dir}},
        Self = self(),
        Hang = beamai_test:tool(<<"hang">>, fun(_) -> Self ! hangs, timer:sleep(60000) end),
        Turns = [#{tool_calls => [{<<"hang">>, #{}}]}, fun(#{messages := M}) -> maps:get(content, lists:last(M)) end],
        New = fun() ->
            {ok, Agent} = beamai_agent:new(#{
                llm => beamai_chat:new(scripted, #{turns => Turns}), kernel => beamai_test:kernel([Hang]), store => Store,
                agent_id => <<"a">>
            }),
            Agent
        end,
        Pid = spawn(fun() -> beamai_agent:run(New(), <<"go">>) end),
        receive hangs -> ok end,
        exit(Pid, kill),
        {ok, #{content := Told}, _} = beamai_agent:resume(New(), #{}),
        ?assertNotEqual(nomatch, binary:match(Told, <<"may or may not have taken effect">>)),
        receive hangs -> error(again) after 50 -> ok end
    end).

one_result_answers_one_of_several_calls_with_the_same_id_test() ->
    Call = fun(N) -> #{id => <<"same">>, name => <<"t">>, args => #{<<"n">> => N}} end,
    Result = #{role => tool, call => <<"same">>, name => <<"t">>, content => <<"did 1">>, outcome => ok},
    Asked = #{role => assistant, content => <<>>, tool_calls => [Call(1), Call(2), Call(3)]},
    Conversation = beamai_conversation:add([Asked, Result], beamai_conversation:new()),
    ?assertEqual({[Call(2), Call(3)], [Result]}, beamai_conversation:unanswered(Conversation)).

%% A log of an earlier version.
results_of_calls_with_the_same_id_are_kept_apart_test() ->
    Call = fun(N) -> #{id => <<"same">>, name => <<"t">>, args => #{<<"n">> => N}} end,
    Result = fun(Text) -> #{role => tool, call => <<"same">>, name => <<"t">>, content => Text, outcome => ok} end,
    Asked = #{role => assistant, content => <<>>, tool_calls => [Call(1), Call(2), Call(3)]},
    Messages = [Asked, Result(<<"did 1">>), Result(<<"did 2">>)],
    ?assertEqual(Messages, beamai_conversation:messages(beamai_conversation:restored(Messages))),
    {ok, #{messages := Loaded}} = beamai_conversation:load((beamai_conversation:new())#{messages := Messages}),
    ?assertEqual(Messages ++ [beamai_conversation:interrupted(Call(3))], Loaded).

%% A model whose calls have the same id, within an answer and in each answer.
new(_Options) -> #{}.
instructions(_Kernel) -> <<>>.
complete(_State, #{messages := Messages}) ->
    Calls = case length([ok || #{role := assistant} <- Messages]) of
        Answers when Answers < 2 -> [{<<"free">>, 2 * Answers + 1}, {<<"guarded">>, 2 * Answers + 2}];
        _ -> []
    end,
    Message = #{
        role => assistant, content => <<"done">>,
        tool_calls => [#{id => <<"same">>, name => Name, args => #{<<"n">> => N}} || {Name, N} <- Calls]
    },
    {ok, beamai_chat_model:reply(Message, #{})}.

calls_with_the_same_id_are_each_made_once_and_approved_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Self = self(),
        Tool = fun(Name, Metadata) ->
            beamai_test:tool(Name, fun(#{<<"n">> := N}) -> Self ! {ran, N}, {ok, N} end, #{metadata => Metadata})
        end,
        New = fun(Approve) ->
            {ok, Agent} = beamai_agent:new(#{
                llm => beamai_chat:new(?MODULE, #{}), store => {beamai_store_file, #{dir => Dir}}, agent_id => <<"a">>,
                kernel => beamai_test:kernel([Tool(<<"free">>, #{}), Tool(<<"guarded">>, #{requires_permission => true})]),
                context => #{approve => fun(#{args := #{<<"n">> := N}}) -> Self ! {asked, N}, Approve() end}
            }),
            Agent
        end,
        Pid = spawn(fun() -> beamai_agent:run(New(fun() -> timer:sleep(60000) end), <<"go">>) end),
        receive {asked, 2} -> ok end,
        exit(Pid, kill),
        ?assertEqual([1], ran()),
        {ok, #{content := <<"done">>}, After} = beamai_agent:resume(New(fun() -> allow end), #{}),
        ?assertEqual([2, 3, 4], ran()),
        [receive {asked, N} -> ok after 0 -> error({not_asked, N}) end || N <- [2, 4]],
        Contents = fun(Agent) -> [Text || #{role := tool, content := Text} <- beamai_conversation:messages(beamai_agent:conversation(Agent))] end,
        ?assertEqual([<<"1">>, <<"2">>, <<"3">>, <<"4">>], Contents(After)),
        ?assertEqual([<<"1">>, <<"2">>, <<"3">>, <<"4">>], Contents(New(fun() -> allow end)))
    end).

an_agent_from_before_another_run_does_not_go_on_test_() ->
    [{atom_to_list(Kind), {timeout, 30, fun() -> with(Kind, fun does_not_go_on/1) end}} || Kind <- [file, mnesia]].

does_not_go_on(Store) ->
    Self = self(),
    Silent = fun(#{args := #{<<"n">> := N}}) -> Self ! {asked, N}, timer:sleep(60000) end,
    Allow = fun(_) -> allow end,
    Old = agent(Store, Self, Allow),
    Pid = spawn(fun() -> beamai_agent:run(agent(Store, Self, Silent), <<"go">>) end),
    receive {asked, 3} -> ok end,
    exit(Pid, kill),
    _ = ran(),
    Interrupted = agent(Store, Self, Allow),
    {ok, Before} = beamai_store:read(<<"a">>, Store),
    {error, {store, {outdated, <<"a">>}} = Why, Same} = beamai_agent:run(Old, <<"something else">>),
    ?assertMatch({_, _}, binary:match(beamai_agent:explain(Why), <<"beamai_agent:new">>)),
    ?assertMatch({error, {store, {outdated, <<"a">>}}, _}, beamai_agent:run(Same, <<"something else">>)),
    %% It knows of no run that was interrupted.
    ?assertMatch({error, {store, {outdated, <<"a">>}}, _}, beamai_agent:resume(Old, #{})),
    ?assertEqual({ok, Before}, beamai_store:read(<<"a">>, Store)),
    {ok, #{content := <<"done">>}, After} = beamai_agent:resume(agent(Store, Self, Allow), #{}),
    ?assertEqual([3, 4, 5], ran()),
    %% Its calls would be made again.
    ?assertMatch({error, {store, {outdated, <<"a">>}}, _}, beamai_agent:resume(Interrupted, #{})),
    ?assertEqual([], ran()),
    {ok, #{content := <<"more">>}, Later} = beamai_agent:run(After, <<"more">>),
    {ok, #{content := <<"more">>}, Last} = beamai_agent:run(Later, <<"more">>),
    ?assertMatch({error, {store, {outdated, <<"a">>}}, _}, beamai_agent:run(After, <<"more">>)),
    [Known, Stored] = [beamai_conversation:messages(beamai_agent:conversation(Agent)) || Agent <- [Last, agent(Store, Self, Allow)]],
    ?assertEqual(Known, Stored).

a_log_that_was_begun_anew_is_another_one_test_() ->
    [{atom_to_list(Kind), {timeout, 30, fun() -> with(Kind, fun is_another_one/1) end}} || Kind <- [file, mnesia]].

is_another_one(Store) ->
    New = fun() -> agent(Store, self(), fun(_) -> allow end) end,
    {ok, #{content := <<"done">>}, Old} = beamai_agent:run(New(), <<"go">>),
    ok = beamai_store:delete(<<"a">>, Store),
    ?assertMatch({error, {store, {outdated, <<"a">>}}, _}, beamai_agent:run(Old, <<"more">>)),
    %% What is said and done in it is the same.
    {ok, #{content := <<"done">>}, Again} = beamai_agent:run(New(), <<"go">>),
    _ = ran(),
    ?assertEqual(beamai_agent:conversation(Old), beamai_agent:conversation(Again)),
    {ok, Before} = beamai_store:read(<<"a">>, Store),
    ?assertMatch({error, {store, {outdated, <<"a">>}}, _}, beamai_agent:run(Old, <<"more">>)),
    ?assertMatch({error, {store, {outdated, <<"a">>}}, _}, beamai_agent:resume(Old, #{})),
    ?assertEqual({ok, Before}, beamai_store:read(<<"a">>, Store)),
    %% The agent may have been stored itself.
    {ok, #{content := <<"more">>}, _} = beamai_agent:run(binary_to_term(term_to_binary(Again)), <<"more">>).

a_log_of_an_earlier_version_goes_on_test_() ->
    [{atom_to_list(Kind), {timeout, 30, fun() -> with(Kind, fun goes_on/1) end}} || Kind <- [file, mnesia]].

goes_on(Store) ->
    Said = #{type => message, message => #{role => assistant, content => <<"yes">>}, usage => #{}},
    write(<<"a">>, [entry(1), Said, #{type => ended, is_done => true, tool_calls => 0, usage => #{}}], Store),
    Agent = agent(Store, self(), fun(_) -> allow end),
    {ok, #{content := <<"done">>}, After} = beamai_agent:run(Agent, <<"go">>),
    {ok, #{content := <<"more">>}, _} = beamai_agent:run(After, <<"go">>),
    _ = ran(),
    ?assertMatch({error, {store, {outdated, <<"a">>}}, _}, beamai_agent:run(Agent, <<"go">>)).

a_directory_is_the_same_under_each_spelling_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        ok = file:make_symlink(Dir, filename:join(Dir, "link")),
        {ok, Log} = beamai_store:open(<<"a">>, {beamai_store_file, #{dir => Dir}}),
        [
            ?assertEqual({error, {in_use, <<"a">>}}, beamai_store:open(<<"a">>, {beamai_store_file, #{dir => Other}}))
         || Other <- [unicode:characters_to_list(Dir), <<Dir/binary, "/">>, <<Dir/binary, "/link">>]
        ],
        ok = beamai_store:close(Log)
    end).

a_second_run_of_an_agent_is_refused_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Self = self(),
        Wait = beamai_test:tool(<<"wait">>, fun(_) -> Self ! {waits, self()}, receive go_on -> ok end end),
        {ok, Agent} = beamai_agent:new(#{
            llm => beamai_chat:new(scripted, #{turns => [#{tool_calls => [{<<"wait">>, #{}}]}, <<"done">>]}),
            kernel => beamai_test:kernel([Wait]), store => {beamai_store_file, #{dir => Dir}}, agent_id => <<"a">>
        }),
        spawn_link(fun() -> Self ! {ran, beamai_agent:run(Agent, <<"go">>)} end),
        Waits = receive {waits, Pid} -> Pid end,
        ?assertMatch({error, {store, {in_use, <<"a">>}}, _}, beamai_agent:run(Agent, <<"go, too">>)),
        ?assertMatch({error, {store, {in_use, <<"a">>}}, _}, beamai_agent:resume(Agent, #{})),
        Waits ! go_on,
        receive {ran, Ran} -> ?assertMatch({ok, #{content := <<"done">>}, _}, Ran) end
    end).

%%% What ends without an answer

%% A model that says something and then waits to be cancelled.
speaking(Text) ->
    fun(#{emit := Emit, run := Run}) ->
        Text =/= <<>> andalso Emit({text, Text}),
        receive {Run, cancelled} -> beamai_runs:keep(Run) end,
        {error, #{reason => cancelled, message => <<"cancelled">>}}
    end.

cancelling_keeps_what_was_said_and_roles_alternate_test() ->
    Self = self(),
    Turns = [speaking(<<"Once upon">>), speaking(<<>>), <<"Yes.">>],
    {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => Turns})}),
    Run = fun(A, Text) ->
        spawn_link(fun() -> Self ! {ended, beamai_agent:run(A, Text, #{run_id => r, events => Self})} end),
        receive {beamai_event, r, {model_request, _}} -> timer:sleep(20) end,
        ok = beamai_kernel:cancel(r),
        {error, cancelled, After} = receive {ended, Result} -> Result end,
        After
    end,
    First = Run(Agent, <<"Tell me a story.">>),
    ?assertMatch(
        [#{role := user}, #{role := assistant, content := <<"Once upon">>}],
        beamai_conversation:messages(beamai_agent:conversation(First))
    ),
    Second = Run(First, <<"Another one.">>),
    {ok, #{content := <<"Yes.">>}, Last} = beamai_agent:run(Second, <<"And?">>),
    ?assertEqual(
        [user, assistant, user, assistant, user, assistant],
        [Role || #{role := Role} <- beamai_conversation:messages(beamai_agent:conversation(Last))]
    ),
    flush().

flush() ->
    receive
        _ -> flush()
    after 0 -> ok
    end.

a_failed_run_can_be_resumed_without_a_store_test() ->
    Turns = [#{tool_calls => [{<<"none">>, #{}}]}, {error, broken}],
    {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => Turns})}),
    {error, {model, _}, Failed} = beamai_agent:run(Agent, <<"go">>),
    ?assertMatch({error, {model, _}, _}, beamai_agent:resume(Failed, #{})),
    ?assertMatch({idle, _}, beamai_agent:resume(Agent, #{})),
    ?assertError({bad_option, nonsense}, beamai_agent:resume(Agent, #{nonsense => 1})).

%%% A store that fails

check(_Options) -> ok.
open(_Id, #{counter := Counter}) -> {ok, Counter}.
append(_Entry, Fails) when is_function(Fails) -> Fails();
append(Entry, Counter) ->
    case counters:get(Counter, 1) of
        0 -> {error, {full, maps:get(type, Entry)}};
        _ -> ok = counters:sub(Counter, 1, 1), {ok, Counter}
    end.
close(Fails) when is_function(Fails) -> Fails();
close(_Handle) -> ok.
read(_Id, _Options) -> {ok, []}.
delete(_Id, _Options) -> ok.

nothing_runs_that_cannot_be_stored_test() ->
    Run = fun(Entries) ->
        Counter = counters:new(1, []),
        ok = counters:put(Counter, 1, Entries),
        {error, {store, {full, What}} = Why, _} =
            beamai_agent:run(agent({?MODULE, #{counter => Counter}}, self(), fun(_) -> allow end), <<"go">>),
        ?assertMatch(<<"The store failed", _/binary>>, beamai_agent:explain(Why)),
        {What, ran()}
    end,
    ?assertEqual({message, []}, Run(0)),
    ?assertEqual({message, []}, Run(1)),
    ?assertEqual({begun, []}, Run(2)),
    ?assertMatch({result, [_, _]}, Run(3)),
    ?assertMatch({waiting, [1, 2]}, Run(7)),
    ?assertMatch({decided, [1, 2]}, Run(8)).

a_store_that_raises_ends_the_run_with_an_error_test_() ->
    [
        {lists:flatten(io_lib:format("~0p", [Reason])), fun() ->
            Agent = agent({?MODULE, #{counter => Fails}}, self(), fun(_) -> allow end),
            Failed = {store, {failed, {?MODULE, append}, Reason}},
            %% Its log is not in use afterwards.
            [?assertMatch({error, Failed, _}, beamai_agent:run(Agent, <<"go">>)) || _ <- [1, 2]],
            ?assertMatch(<<"The store failed", _/binary>>, beamai_agent:explain(Failed)),
            ?assertEqual([], ran())
        end}
     || {Fails, Reason} <- [
            {fun() -> error(full) end, {error, full}}, {fun() -> throw(full) end, {throw, full}}, {fun() -> exit(full) end, {exit, full}},
            {fun() -> ok end, {returned, ok}}
        ]
    ].

options_are_checked_test() ->
    Model = beamai_chat:new(scripted, #{turns => []}),
    Refused = fun(Key, Options) -> ?assertError({bad_option, Key}, beamai_agent:new(Options#{llm => Model})) end,
    Store = {beamai_store_file, #{dir => "/tmp"}},
    Refused(agent_id, #{store => Store}),
    Refused(agent_id, #{store => Store, agent_id => a}),
    [
        Refused(store, #{store => Bad, agent_id => <<"a">>})
     || Bad <- [
            beamai_store_mnesia, none_such, lists, {beamai_store_file, #{}}, {beamai_store_file, #{dir => "/tmp", sync => 1}}, beamai_store_file,
            {beamai_store_file, #{dir => "/tmp", other => 1}}, {beamai_store_mnesia, #{table => "a"}}, "dir"
        ]
    ].

a_conversation_that_is_given_begins_the_log_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        {ok, First} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => [<<"one">>]})}),
        {ok, _, After} = beamai_agent:run(First, <<"a">>),
        Options = #{
            llm => beamai_chat:new(scripted, #{turns => [<<"one">>, <<"two">>]}), agent_id => <<"a">>,
            store => {beamai_store_file, #{dir => Dir}}
        },
        {ok, Given} = beamai_agent:new(Options#{conversation => beamai_agent:conversation(After)}),
        {ok, #{content := <<"two">>}, _} = beamai_agent:run(Given, <<"b">>),
        {ok, Again} = beamai_agent:new(Options),
        ?assertEqual(4, length(beamai_conversation:messages(beamai_agent:conversation(Again))))
    end).
