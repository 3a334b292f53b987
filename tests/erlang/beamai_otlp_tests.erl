%% Ids of any form in OTLP. The tests in tests/telemetry send entries to real receivers.
-module(beamai_otlp_tests).

-include_lib("eunit/include/eunit.hrl").

entry(AgentId) -> #{kind => tool, name => <<"t">>, at => 1, duration_us => 1, outcome => ok, agent_id => AgentId, run_id => <<"r">>}.

an_id_of_another_form_is_sent_as_text_and_loses_no_other_entry_test() ->
    [
        begin
            Sent = beamai_otlp:encode([entry(<<"first">>), entry(Id), entry(<<"last">>)]),
            [?assertNotEqual(nomatch, binary:match(Sent, Part)) || Part <- [<<"first">>, Shown, <<"last">>]]
        end
     || {Id, Shown} <- [
            {[a | b], <<"[a|b]">>}, {[a, b], <<"[a,b]">>}, {[[1]], <<"[[1]]">>}, {#{a => 1}, <<"#{a => 1}">>}, {{a, 1.5}, <<"{a,1.5}">>},
            {<<255>>, <<"\x{ff}"/utf8>>}, {[<<"x">>, <<"yy">>], <<"yy">>}
        ]
    ].
