%% What models and logs are told about exceptions of the host's code.
-module(beamai_exception_tests).

-include_lib("eunit/include/eunit.hrl").

%% Of the handler of the logger.
-export([log/2]).

described(Fun) ->
    try Fun() of
        Value -> error({not_raised, Value})
    catch
        Class:Reason:Stack -> unicode:characters_to_binary(beamai_exception:describe(Class, Reason, Stack, Fun))
    end.

%% What the compiler cannot see through.
value(Value) -> binary_to_term(term_to_binary(Value)).

errors_of_erlang_are_sentences_test_() ->
    [
        begin
            Text = described(Fun),
            [?_assertMatch({0, _}, binary:match(Text, Said)), ?_assertEqual(nomatch, binary:match(Text, <<"hunter2">>))]
        end
     || {Fun, Said} <- [
            {fun() -> {ok, _} = value({error, no}) end, <<"badmatch: no match of right hand side value {error,no}">>},
            {fun() -> case value(7) of 8 -> ok end end, <<"case_clause: no case clause matching 7">>},
            {fun() -> try value(7) of 8 -> ok after ok end end, <<"try_clause: no try clause matching 7">>},
            {fun() -> 1 + value(a) end, <<"badarith: an error occurred when evaluating an arithmetic expression">>},
            {fun() -> (value(7))() end, <<"badfun: bad function 7">>},
            {fun() -> maps:get(k, value(#{secret => <<"hunter2">>})) end, <<"badkey: bad key: k">>},
            {fun() -> list_to_integer(value("hunter2")) end,
                <<"badarg: bad argument in erlang:list_to_integer/1: argument 1: not a textual representation of an integer">>},
            {fun() -> ets:insert(value(no_such_table), {1, <<"hunter2">>}) end,
                <<"badarg: bad argument in ets:insert/2: argument 1: the table identifier does not refer to an existing ETS table">>},
            {fun() -> <<(value("hunter2"))/binary>> end, <<"badarg: bad argument in ">>},
            {fun() -> (value(no_such_module)):f(<<"hunter2">>) end, <<"undef: there is no function no_such_module:f/1">>},
            {fun() -> lists:sum(value(<<"hunter2">>)) end, <<"function_clause: no clause of lists:sum/2 takes what it was given">>},
            {fun() -> error(value(boom)) end, <<"error:boom">>},
            {fun() -> error(value({own, [1, 2]})) end, <<"error:{own,[1,2]}">>},
            {fun() -> throw(value(x)) end, <<"throw:x">>}
        ]
    ].

a_long_value_is_cut_test() ->
    Long = binary:copy(<<"0123456789">>, 100),
    ?assert(byte_size(described(fun() -> ok = value({Long, Long}) end)) < 300).

an_option_that_is_wrong_is_explained_test() ->
    Said = described(fun() -> beamai_kernel:new(#{workspac => 1}) end),
    ?assertMatch(<<"error:{bad_option,workspac} in beamai_", _/binary>>, Said),
    ?assertMatch({_, _}, binary:match(Said, <<"workspac: is not an option; the options are workspace">>)).

a_process_that_ended_by_an_error_is_described_as_the_error_test() ->
    {Pid, Monitor} = spawn_monitor(fun() -> exit(catch error({badmatch, 7})) end),
    receive
        {'DOWN', Monitor, process, Pid, {'EXIT', Reason}} ->
            Ended = fun(Why) -> unicode:characters_to_binary(beamai_exception:ended(Why, none)) end,
            ?assertEqual(<<"badmatch: no match of right hand side value 7">>, Ended(Reason)),
            ?assertEqual(<<"m:call/1 exited: badmatch: no match of right hand side value 7">>, Ended({Reason, {m, call, [<<"hunter2">>]}})),
            ?assertEqual(<<"killed">>, Ended(killed))
    end.

%% The handler's code may have been replaced twice while it was kept.
a_fun_whose_module_is_gone_is_described_test() ->
    {ok, Module, Code} = compile:forms([
        {attribute, 1, module, beamai_gone}, {attribute, 1, export, [{f, 0}]},
        {function, 1, f, 0, [{clause, 1, [], [], [{'fun', 1, {clauses, [{clause, 1, [{var, 1, '_'}], [], [{tuple, 1, [{atom, 1, ok}, {integer, 1, 1}]}]}]}}]}]}
    ]),
    {module, Module} = code:load_binary(Module, "beamai_gone.erl", Code),
    Handler = Module:f(),
    true = code:delete(Module),
    false = code:purge(Module),
    {error, #{message := Message}} = beamai_kernel:invoke(beamai_test:kernel([beamai_test:tool(<<"t">>, Handler)]), <<"t">>, #{}),
    ?assertEqual(<<"the handler of t raised error:undef">>, Message).

log(Event, #{config := Pid}) -> Pid ! {logged, Event}.

a_callback_that_raises_is_logged_without_the_fields_of_its_exception_test() ->
    ok = logger:add_handler(?MODULE, ?MODULE, #{config => self(), level => error}),
    Exception = #{'__struct__' => 'Elixir.Own', '__exception__' => true, password => <<"hunter2">>},
    try
        Emit = beamai_agent_events:to(fun(_) -> lists:sum(value(Exception)) end, run),
        _ = Emit(event),
        receive {logged, #{msg := {report, Report}, meta := #{report_cb := Show}}} ->
            {Format, Parts} = Show(Report),
            Text = unicode:characters_to_binary(io_lib:format(Format, Parts)),
            ?assertMatch(<<"beamai: the events callback raised function_clause: no clause of lists:sum/", _/binary>>, Text),
            ?assertEqual(nomatch, binary:match(Text, <<"hunter2">>))
        end
    after
        logger:remove_handler(?MODULE)
    end.
