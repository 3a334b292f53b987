%% What is not stored as it should be: a custom store that fails when it is checked, and a run within a transaction.
-module(beamai_store_own_tests).
-behaviour(beamai_store).

-include_lib("eunit/include/eunit.hrl").

-export([check/1, open/2, append/2, close/1, read/2, delete/2]).

%%% A store that only checks its options, by a fun

check(#{check := Check}) -> Check().
open(_Id, _Options) -> {error, none}.
append(_Entry, _Log) -> {error, none}.
close(_Log) -> ok.
read(_Id, _Options) -> {ok, []}.
delete(_Id, _Options) -> ok.

%%% Tests

a_store_that_fails_when_it_is_checked_is_a_bad_option_test_() ->
    [
        {lists:flatten(io_lib:format("~0p", [Shown])), fun() ->
            Options = #{llm => beamai_chat:new(scripted, #{turns => []}), agent_id => <<"a">>, store => {?MODULE, #{check => Check}}},
            {'EXIT', {{bad_option, store}, [{_, _, _, Info} | _]}} = (catch beamai_agent:new(Options)),
            #{cause := #{general := Message}} = proplists:get_value(error_info, Info),
            ?assertNotEqual(nomatch, string:find(Message, Shown))
        end}
     || {Check, Shown} <- [
            {fun() -> error(boom) end, "check/1 failed: {error,boom}"}, {fun() -> throw(boom) end, "{throw,boom}"},
            {fun() -> exit(boom) end, "{exit,boom}"}, {fun() -> nonsense end, "{returned,nonsense}"},
            {fun() -> {error, enoent} end, "enoent"}, {fun() -> {error, ["no ", <<"table">>]} end, "no table"}
        ]
    ].

a_run_within_a_transaction_does_nothing_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        ok = application:set_env(mnesia, dir, binary_to_list(Dir)),
        ok = mnesia:start(),
        try
            ok = beamai_store_mnesia:create_table(runs, [{ram_copies, [node()]}]),
            Self = self(),
            Tool = beamai_test:tool(<<"put">>, fun(_) -> Self ! ran, {ok, 1} end),
            {ok, Agent} = beamai_agent:new(#{
                llm => beamai_chat:new(scripted, #{turns => [#{tool_calls => [{<<"put">>, #{}}]}, <<"Done.">>]}),
                kernel => beamai_test:kernel([Tool]), agent_id => <<"a">>, store => {beamai_store_mnesia, #{table => runs}}
            }),
            {atomic, {error, Failed, _}} = mnesia:transaction(fun() -> beamai_agent:run(Agent, <<"go">>) end),
            ?assertEqual({store, in_transaction}, Failed),
            ?assertNotEqual(nomatch, string:find(beamai_agent:explain(Failed), "transaction")),
            ?assertEqual([], beamai_test:mailbox())
        after
            stopped = mnesia:stop()
        end
    end).
