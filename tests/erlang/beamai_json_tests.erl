%% JSON text and terms.
-module(beamai_json_tests).

-include_lib("eunit/include/eunit.hrl").

terms_become_text_and_the_same_terms_again_test() ->
    Term = #{
        <<"a">> => [1, -2, 3.5, true, false, null, <<"é\n\"\\"/utf8>>, 18446744073709551615], <<"b">> => #{<<>> => []}
    },
    {ok, Text} = beamai_json:encode(Term),
    ?assertEqual({ok, Term}, beamai_json:decode(Text)).

atoms_are_text_and_what_is_not_there_is_null_test() ->
    ?assertEqual({ok, <<"{\"key\":\"word\"}">>}, beamai_json:encode(#{key => word})),
    ?assertEqual({ok, <<"[null,null,null]">>}, beamai_json:encode([null, undefined, nil])).

large_texts_go_the_same_way_test() ->
    Large = binary:copy(<<"0123456789é"/utf8>>, 100000),
    {ok, Text} = beamai_json:encode([Large]),
    ?assertEqual({ok, [Large]}, beamai_json:decode(Text)).

what_is_no_json_is_an_error_with_its_place_test() ->
    {error, Why} = beamai_json:decode(<<"{\"a\": }">>),
    ?assertNotEqual(nomatch, string:find(Why, "line 1 column 7")),
    {error, Deep} = beamai_json:decode(binary:copy(<<"[">>, 100000)),
    ?assertNotEqual(nomatch, string:find(Deep, "recursion")).

what_json_cannot_say_is_an_error_and_still_has_a_text_test() ->
    {error, Why} = beamai_json:encode(#{<<"a">> => {1, 2}}),
    ?assertNotEqual(nomatch, string:find(Why, "\"a\"")),
    ?assertEqual(<<"\"{1,2}\"">>, beamai_json:text({1, 2})).
