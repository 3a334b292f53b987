%% Results and errors as people see them.
-module(display_tests).

-include_lib("eunit/include/eunit.hrl").

a_result_has_a_line_and_a_body_test() ->
    Result = #{<<"exit_code">> => 0, <<"stdout">> => <<"hi\e[2J\n">>, <<"stderr">> => <<>>, <<"duration_ms">> => 3},
    Display = beamai_display:of_result(<<"shell_exec">>, #{<<"command">> => <<"echo hi">>}, Result),
    ?assertMatch(#{summary := <<"shell_exec echo hi: exit code 0, 3 ms">>, body := <<"hi␛[2J\n"/utf8>>}, Display).

a_result_that_says_all_in_its_line_has_no_body_test() ->
    Display = beamai_display:of_result(<<"add">>, #{}, 3),
    ?assertEqual(<<"add: 3">>, maps:get(summary, Display)),
    ?assertNot(maps:is_key(body, Display)).

what_json_cannot_say_is_shown_as_erlang_writes_it_test() ->
    ?assertMatch(#{summary := <<"own: {a,#Ref<", _/binary>>}, beamai_display:of_result(<<"own">>, #{}, {a, make_ref()})).

errors_are_shown_with_their_kind_test() ->
    K = beamai_kernel:add_tool_module(beamai_kernel:new(), beamai_tool_file),
    Args = #{<<"path">> => <<"no/such">>},
    {error, Error} = beamai_kernel:invoke(K, <<"file_read">>, Args),
    #{summary := Line} = beamai_display:of_error(<<"file_read">>, Args, Error),
    ?assertMatch(<<"file_read no/such: not_found: ", _/binary>>, Line),
    ?assertMatch(#{summary := <<"own: execution_failed: oops">>}, beamai_display:of_error(<<"own">>, #{}, oops)).

%% One meaning of what a person must not be shown as it is, whoever prints it.
printable_hides_what_the_native_side_hides_test_() ->
    Ranges = [{16#20, 16#D7FF}, {16#E000, 16#FFFF}, {16#1B000, 16#1FFFF}, {16#DFFF0, 16#E1010}],
    Chars = [Char || {First, Last} <- Ranges, Char <- lists:seq(First, Last)],
    {timeout, 60, fun() -> [same(Chunk) || Chunk <- chunks(Chars)] end}.

same(Chunk) ->
    Text = unicode:characters_to_binary(["x\n", Chunk]),
    #{body := <<"x\n", Native/binary>>} = beamai_display:of_result(<<"t">>, #{}, Text),
    Hidden = fun(Shown) -> [From || {From, To} <- lists:zip(Chunk, Shown), From =/= To] end,
    ?assertEqual(
        Hidden(lists:droplast(unicode:characters_to_list(Native))), Hidden(beamai_display:printable(Chunk))
    ).

chunks(Chars) when length(Chars) =< 300 -> [Chars];
chunks(Chars) ->
    {Chunk, Rest} = lists:split(300, Chars),
    [Chunk | chunks(Rest)].

%% JSON keeps one of their values.
two_keys_that_are_the_same_text_are_no_result_for_a_model_test() ->
    [
        ?assertMatch({_, _}, binary:match(beamai_display:for_model(<<"own">>, #{}, Result),
            <<"own returned what a model cannot be given: a map in it has two keys that are \"1\" as text">>))
     || Result <- [#{1 => a, <<"1">> => b}, [#{deep => #{'1' => a, <<"1">> => b}}], #{1 => a, '1' => b}]
    ],
    ?assertEqual(<<"{\"1\":\"a\",\"2\":\"b\"}">>, beamai_display:for_model(<<"own">>, #{}, #{1 => a, <<"2">> => b})).

%% A model cannot configure anything.
what_the_host_can_configure_is_not_said_to_models_test() ->
    Kernel = beamai_kernel:add_tool_module(beamai_kernel:new(#{permissions => #{allow => [<<"WebFetch">>, <<"WebSearch">>]}}), beamai_tool_web),
    [
        begin
            {error, #{message := Message, details := #{configure := Hint}} = Error} = beamai_kernel:invoke(Kernel, Tool, Args),
            ?assertNotEqual(nomatch, string:find(Message, Hint)),
            ?assertNotEqual(nomatch, string:find(Hint, "web => #{")),
            ?assertEqual(nomatch, string:find(beamai_display:error_for_model(Error), Hint))
        end
     || {Tool, Args} <- [{<<"web_search">>, #{query => <<"x">>}}, {<<"web_fetch">>, #{url => <<"http://127.0.0.1:1/">>}}]
    ].

integers_of_more_than_64_bits_become_text_test() ->
    Own = fun(Result) -> beamai_display:for_model(<<"own">>, #{}, Result) end,
    [
        ?assertEqual({Text, <<"[", Text/binary, "]">>}, {Own(Integer), Own([Integer])})
     || {Integer, Text} <- [{1 bsl 64 - 1, <<"18446744073709551615">>}, {-(1 bsl 63), <<"-9223372036854775808">>}]
    ],
    ?assertEqual(<<"[\"18446744073709551616\"]">>, Own([1 bsl 64])),
    ?assertEqual(<<"{\"a\":\"-9223372036854775809\"}">>, Own(#{a => -(1 bsl 63) - 1})),
    ?assertEqual(<<"18446744073709551616">>, Own(1 bsl 64)).
