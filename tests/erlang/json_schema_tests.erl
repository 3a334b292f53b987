-module(json_schema_tests).

-include_lib("eunit/include/eunit.hrl").

problems(Json, Value) ->
    {ok, Schema} = beamai_json:decode(iolist_to_binary(Json)),
    beamai_json_schema:problems(Schema, Value).

types_are_checked_test() ->
    Good = [
        {"string", <<"a">>}, {"string", a}, {"integer", 1}, {"integer", 1.0}, {"number", 1.5}, {"boolean", true},
        {"null", null}, {"array", []}, {"object", #{}}, {"unheard-of", 1}
    ],
    [?assertEqual({Type, []}, {Type, problems(["{\"type\":\"", Type, "\"}"], V)}) || {Type, V} <- Good],
    Bad = [
        {"string", 1}, {"string", null}, {"integer", 1.5}, {"number", <<"1">>}, {"boolean", <<"true">>}, {"null", 0},
        {"array", #{}}, {"object", []}
    ],
    [?assertMatch({Type, [_]}, {Type, problems(["{\"type\":\"", Type, "\"}"], V)}) || {Type, V} <- Bad],
    ?assertEqual(
        [<<"the arguments: this must be string or null, not 1">>], problems("{\"type\":[\"string\",\"null\"]}", 1)
    ).

problems_carry_their_path_test() ->
    Schema = "{\"type\":\"object\",\"required\":[\"a\",\"z\"],\"additionalProperties\":false,\"properties\":"
        "{\"a\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"b\":{\"enum\":[\"x\",2]}}}}}}",
    Value = #{<<"a">> => [#{<<"b">> => x}, #{<<"b">> => <<"y">>}], <<"c">> => 1},
    ?assertEqual(
        [
            <<"\"c\" is not an argument">>,
            <<"\"a[1].b\" must be one of \"x\", 2, not \"y\"">>,
            <<"\"z\" is missing">>
        ],
        problems(Schema, Value)
    ).

bounds_are_checked_test() ->
    [
        ?assertMatch({Schema, [_]}, {Schema, problems(Schema, Value)})
     || {Schema, Value} <- [
            {"{\"minimum\":2}", 1}, {"{\"exclusiveMaximum\":2}", 2}, {"{\"minLength\":2}", <<"é"/utf8>>},
            {"{\"maxItems\":1}", [1, 2]}, {"{\"minProperties\":1}", #{}}, {"{\"const\":1}", 2}
        ]
    ],
    ?assertEqual([], problems("{\"minimum\":2,\"maxLength\":1,\"minItems\":3}", <<"é"/utf8>>)).

unions_and_references_are_followed_test() ->
    Schema = "{\"$defs\":{\"a/b\":{\"anyOf\":[{\"type\":\"string\"},{\"$ref\":\"#/$defs/list\"}]},"
        "\"list\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/a~1b\"}}},\"$ref\":\"#/$defs/a~1b\"}",
    ?assertEqual([], problems(Schema, [<<"a">>, [<<"b">>, []]])),
    ?assertMatch([_], problems(Schema, [<<"a">>, [1]])),
    ?assertEqual([], problems("{\"$ref\":\"https://example.com/x\"}", 1)),
    ?assertMatch([_], problems("{\"allOf\":[{\"type\":\"string\"},{\"minimum\":1}]}", 1)).

a_schema_that_never_ends_finds_nothing_wrong_test_() ->
    Wide = ["{\"anyOf\":[", lists:join(",", lists:duplicate(50, "{\"$ref\":\"#\"}")), "]}"],
    {timeout, 10, fun() ->
        ?assertEqual([], problems("{\"$ref\":\"#\"}", 1)),
        ?assertEqual([], problems(Wide, 1)),
        ?assertEqual([], problems("{\"properties\":7,\"required\":{},\"items\":true,\"anyOf\":1,\"enum\":2,\"type\":3}", #{}))
    end}.

mistakes_of_a_schema_are_found_test_() ->
    [
        ?_assertEqual(Mistakes, beamai_json_schema:mistakes(Schema))
     || {Schema, Mistakes} <- [
            {#{}, []},
            {#{<<"type">> => [<<"object">>, <<"null">>], <<"properties">> => #{<<"type">> => #{<<"type">> => <<"string">>}}}, []},
            {#{<<"items">> => true, <<"required">> => [<<"a">>], <<"anyOf">> => [#{}], <<"x-own">> => 5}, []},
            {#{<<"type">> => <<"float">>}, [<<"\"type\" must be string, integer, number, boolean, null, array, object, not \"float\"">>]},
            {#{<<"properties">> => #{<<"a">> => #{<<"items">> => #{<<"type">> => <<"text">>}}}},
                [<<"\"properties.a.items.type\" must be string, integer, number, boolean, null, array, object, not \"text\"">>]},
            {#{<<"properties">> => [<<"a">>]}, [<<"\"properties\" must be an object of schemas, not [<<\"a\">>]">>]},
            {#{<<"required">> => <<"a">>}, [<<"\"required\" must be a list of names, not \"a\"">>]},
            {#{<<"oneOf">> => [5]}, [<<"\"oneOf\" must be a schema, not 5">>]}
        ]
    ].
