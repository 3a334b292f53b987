-module(beamai_args_tests).

-include_lib("eunit/include/eunit.hrl").

parameters() ->
    #{
        <<"path">> => #{type => string, required => true},
        limit => #{type => integer, minimum => 1, maximum => 10},
        <<"mode">> => #{type => string, enum => [<<"write">>, <<"append">>], default => <<"write">>},
        <<"edits">> => #{
            type => array,
            items => #{
                type => object,
                properties => #{
                    <<"old">> => #{type => string, required => true},
                    <<"all">> => #{type => boolean, default => false}
                }
            }
        },
        <<"ratio">> => #{type => float},
        <<"names">> => #{type => array, minItems => 1, maxItems => 2, items => #{type => string}},
        <<"options">> => #{type => object}
    }.

check(Args) ->
    beamai_args:check(beamai_args:compile(parameters()), Args, <<"t">>).

message(Args) ->
    {error, #{
        error_type := invalid_input,
        message := Message,
        details := #{reason := invalid_argument}
    }} = check(Args),
    Message.

good_arguments_pass_and_defaults_are_filled_in_test() ->
    ?assertEqual(
        {ok, #{<<"path">> => <<"a">>, <<"mode">> => <<"write">>}}, check(#{<<"path">> => <<"a">>})
    ).

null_for_an_optional_parameter_is_absent_test() ->
    ?assertEqual(
        {ok, #{<<"path">> => <<"a">>, <<"mode">> => <<"write">>}},
        check(#{<<"path">> => <<"a">>, <<"limit">> => null, <<"mode">> => null})
    ).

one_message_names_every_problem_and_what_is_accepted_test() ->
    ?assertEqual(
        <<"\"limit\" must be integer, not \"ten\"; "
            "\"mode\" must be one of \"write\", \"append\", not \"x\"; "
            "\"pth\" is not an argument (did you mean \"path\"?); \"path\" is missing (string). "
            "Accepted: path (string, required), edits (array of object), limit (integer), "
            "mode (string: \"write\", \"append\"), names (array of string), options (object), "
            "ratio (number)">>,
        message(#{<<"pth">> => <<"a">>, <<"limit">> => <<"ten">>, <<"mode">> => <<"x">>})
    ).

the_values_of_an_enumeration_are_listed_once_test() ->
    ?assertEqual(
        <<"\"mode\" must be one of \"write\", \"append\", not \"x\"">>,
        message(#{<<"path">> => <<"a">>, <<"mode">> => <<"x">>})
    ).

what_a_nested_object_accepts_is_listed_where_it_has_a_problem_test() ->
    Text = fun(Properties) -> #{type => object, properties => Properties} end,
    Params = beamai_args:compile(#{
        <<"auth">> => Text(#{<<"type">> => #{type => string, required => true, enum => [<<"a">>, <<"b">>]}}),
        <<"rows">> => #{type => array, items => Text(#{<<"cells">> =>
            #{type => array, items => Text(#{<<"text">> => #{type => string}})}})}
    }),
    Said = fun(Args) ->
        {error, #{message := Message}} = beamai_args:check(Params, Args, <<"t">>),
        Message
    end,
    Auth = <<"; auth: type (string, required: \"a\", \"b\")">>,
    [
        ?assertEqual(Auth, string:find(Said(#{<<"auth">> => Wrong}), <<"; auth: ">>))
     || Wrong <- [#{<<"kind">> => <<"a">>}, <<"x">>]
    ],
    ?assertEqual(nomatch, string:find(Said(#{<<"other">> => 1}), <<"auth: ">>)),
    ?assertEqual(
        <<"; each of rows: cells (array of object); each of rows.cells: text (string)">>,
        string:find(Said(#{<<"rows">> => [#{}, #{<<"cells">> => [#{<<"txt">> => <<"x">>}]}]}), <<"; each">>)
    ).

required_null_is_missing_test() ->
    ?assertMatch(<<"\"path\" is missing (string). ", _/binary>>, message(#{<<"path">> => null})),
    ?assertMatch(<<"\"path\" is missing (string). ", _/binary>>, message(#{<<"path">> => nil})).

nested_problems_carry_their_path_test() ->
    Args = #{<<"path">> => <<"a">>, <<"edits">> => [#{<<"old">> => 1}, #{}]},
    ?assertMatch(
        <<"\"edits[0].old\" must be string, not 1; \"edits[1].old\" is missing (string). ", _/binary>>,
        message(Args)
    ).

nested_defaults_and_atom_keys_are_taken_in_test() ->
    {ok, #{<<"path">> := <<"a">>, <<"edits">> := Edits}} =
        check(#{path => <<"a">>, edits => [#{old => <<"x">>}]}),
    ?assertEqual([#{<<"old">> => <<"x">>, <<"all">> => false}], Edits).

a_key_given_twice_is_refused_test() ->
    ?assertMatch(
        <<"\"path\" is given twice. ", _/binary>>, message(#{path => <<"a">>, <<"path">> => <<"b">>})
    ).

keys_of_untyped_objects_stay_as_they_are_test() ->
    {ok, #{<<"options">> := Options}} = check(#{path => <<"a">>, options => #{deep => #{a => 1}}}),
    ?assertEqual(#{deep => #{a => 1}}, Options).

an_object_or_array_written_as_json_text_is_taken_test() ->
    Text = #{<<"path">> => <<"a">>, <<"options">> => <<" {\"x\": [1]}">>, <<"names">> => <<"[\"a\"]">>, <<"edits">> => <<"[{\"old\": \"o\"}]">>},
    {ok, Taken} = check(Text),
    ?assertMatch(
        #{
            <<"options">> := #{<<"x">> := [1]},
            <<"names">> := [<<"a">>],
            <<"edits">> := [#{<<"old">> := <<"o">>, <<"all">> := false}]
        },
        Taken
    ),
    Other = message(#{<<"path">> => <<"a">>, <<"options">> => <<"[1]">>, <<"names">> => <<"[1]">>}),
    ?assertMatch(<<"\"names[0]\" must be string, not 1; \"options\" must be object, not \"[1]\".", _/binary>>, Other).

bounds_hold_test() ->
    Limit = fun(N) -> message(#{<<"path">> => <<"a">>, <<"limit">> => N}) end,
    ?assertMatch(<<"\"limit\" must be at least 1, not 0. ", _/binary>>, Limit(0)),
    ?assertMatch(<<"\"limit\" must be at most 10, not 11. ", _/binary>>, Limit(11)),
    ?assertMatch(
        <<"\"names\" must have 1 to 2 elements, not 0. ", _/binary>>,
        message(#{<<"path">> => <<"a">>, <<"names">> => []})
    ).

a_float_without_fraction_is_an_integer_test() ->
    {ok, #{<<"limit">> := Limit}} = check(#{<<"path">> => <<"a">>, <<"limit">> => 3.0}),
    ?assert(Limit =:= 3),
    ?assertMatch(<<"\"limit\" must be integer", _/binary>>, message(#{path => <<"a">>, limit => 3.5})).

an_integer_is_a_number_test() ->
    ?assertMatch({ok, #{<<"ratio">> := 2}}, check(#{<<"path">> => <<"a">>, <<"ratio">> => 2})).

arguments_must_be_a_map_test() ->
    ?assertEqual(<<"the arguments must be a map, not [1]">>, message([1])).

improper_lists_and_odd_keys_are_refused_not_crashed_on_test() ->
    ?assertMatch(<<"\"edits\" must be array", _/binary>>, message(#{path => <<"a">>, edits => [1 | 2]})),
    ?assertMatch(<<"\"{1,2}\" is not an argument", _/binary>>, message(#{path => <<"a">>, {1, 2} => 1})),
    ?assertMatch(<<"\"\xc3\xbf\" is not an argument", _/binary>>, message(#{path => <<"a">>, <<255>> => 1})),
    ?assertMatch(<<"\"limit\" must be integer", _/binary>>, message(#{path => <<"a">>, limit => <<254>>})),
    ?assertMatch(<<"\"no_such\" is not an argument", _/binary>>, message(#{path => <<"a">>, no_such => 1})).

%% What needs no conversion reaches the handler as it was given, whatever else is converted.
terms_that_json_lacks_stay_as_they_are_test() ->
    Params = beamai_args:compile(#{
        <<"text">> => #{type => string},
        <<"size">> => #{type => integer},
        <<"any">> => #{type => object},
        <<"all">> => #{type => array},
        <<"count">> => #{type => integer},
        <<"peer">> => #{type => object, default => #{pid => self()}}
    }),
    Own = #{
        <<"text">> => <<255>>,
        <<"size">> => 1 bsl 100,
        <<"any">> => #{{1, 2} => self()},
        <<"all">> => [make_ref(), fun lists:reverse/1, a],
        <<"peer">> => #{pid => self()}
    },
    Given = maps:remove(<<"peer">>, Own),
    ?assertEqual({ok, Own#{<<"count">> => 2}}, beamai_args:check(Params, Given#{<<"count">> => 2}, <<"t">>)),
    ?assertEqual({ok, Own#{<<"count">> => 2}}, beamai_args:check(Params, Given#{<<"count">> => 2.0}, <<"t">>)).

terms_that_json_lacks_are_named_with_what_is_accepted_test() ->
    Params = beamai_args:compile(#{
        <<"names">> => #{type => array, items => #{type => string}},
        <<"all">> => #{type => array},
        <<"size">> => #{type => float}
    }),
    Accepted = <<". Accepted: all (array), names (array of string), size (number)">>,
    [
        begin
            {error, #{message := Message, details := #{problems := [Problem]}}} = beamai_args:check(Params, Args, <<"t">>),
            ?assertEqual({Text, <<Text/binary, Accepted/binary>>}, {Problem, Message})
        end
     || {Args, Text} <- [
            {#{names => [<<"a">>, b]}, <<"\"names[1]\" must be string, not b">>},
            {#{all => [1 | 2]}, <<"\"all\" must be array, not [1|2]">>},
            {#{size => {}}, <<"\"size\" must be number, not {}">>},
            {#{size => 1, <<"size">> => 2}, <<"\"size\" is given twice">>}
        ]
    ].

what_is_accepted_is_listed_in_the_order_of_positions_test() ->
    Params = beamai_args:compile(#{b => #{type => string, position => 1}, a => #{type => string, position => 2}}),
    {error, #{message := Message}} = beamai_args:check(Params, #{x => 1}, <<"t">>),
    ?assertEqual(<<"\"x\" is not an argument. Accepted: b (string), a (string)">>, Message).

an_enumerated_number_may_be_written_without_fraction_test() ->
    Params = beamai_args:compile(#{scale => #{type => float, enum => [0.5, 1.0]}, count => #{type => integer}}),
    ?assertMatch({ok, #{<<"scale">> := 1}}, beamai_args:check(Params, #{<<"scale">> => 1}, <<"t">>)),
    ?assertMatch({ok, #{<<"count">> := 2}}, beamai_args:check(Params, #{<<"scale">> => 1, <<"count">> => 2.0}, <<"t">>)).

a_tool_without_parameters_takes_anything_untouched_test() ->
    ?assertEqual({ok, #{a => 1, <<"b">> => 2}}, beamai_args:check(any, #{a => 1, <<"b">> => 2}, <<"t">>)).

a_tool_with_empty_parameters_takes_none_test() ->
    Params = beamai_args:compile(#{}),
    ?assertEqual({ok, #{}}, beamai_args:check(Params, #{}, <<"t">>)),
    {error, #{message := Message}} = beamai_args:check(Params, #{<<"x">> => 1}, <<"t">>),
    ?assertEqual(<<"\"x\" is not an argument. Accepted: no arguments">>, Message).

atoms_may_be_enumerated_test() ->
    Params = beamai_args:compile(#{unit => #{type => string, enum => [celsius, kelvin]}}),
    Texts = beamai_args:compile(#{unit => #{type => string, enum => [<<"celsius">>, <<"kelvin">>]}}),
    Several = beamai_args:compile(#{units => #{type => array, items => #{type => string, enum => [celsius, kelvin]}}}),
    %% The handler gets the atom.
    ?assertEqual({ok, #{<<"unit">> => kelvin}}, beamai_args:check(Params, #{<<"unit">> => <<"kelvin">>}, <<"t">>)),
    ?assertEqual({ok, #{<<"unit">> => <<"kelvin">>}}, beamai_args:check(Texts, #{<<"unit">> => <<"kelvin">>}, <<"t">>)),
    ?assertEqual({ok, #{<<"units">> => [kelvin, celsius]}}, beamai_args:check(Several, #{<<"units">> => [<<"kelvin">>, <<"celsius">>]}, <<"t">>)),
    ?assertMatch({error, _}, beamai_args:check(Params, #{<<"unit">> => <<"feet">>}, <<"t">>)).

a_message_stays_short_however_much_is_wrong_test() ->
    Params = beamai_args:compile(#{<<"a">> => #{type => array, items => #{type => string}}}),
    {error, #{message := Many, details := #{problems := Problems}}} =
        beamai_args:check(Params, #{<<"a">> => lists:seq(1, 10000)}, <<"t">>),
    ?assert(byte_size(Many) < 4000),
    ?assertEqual({51, <<"and 9950 more">>}, {length(Problems), lists:last(Problems)}),
    {error, #{message := Long}} =
        beamai_args:check(Params, #{binary:copy(<<"é"/utf8>>, 10000) => 1}, <<"t">>),
    Start = unicode:characters_to_binary([$", lists:duplicate(80, 16#E9), <<"…\" is not an argument"/utf8>>]),
    ?assertMatch({0, _}, binary:match(Long, Start)).

%% The same parameters have the same problems, in the same order, for tools of either side.
both_sides_find_the_same_problems_test() ->
    Modules = [beamai_tool_file, beamai_tool_git, beamai_tool_todo],
    K = lists:foldl(
        fun(Module, Acc) -> beamai_kernel:add_tool_module(Acc, Module) end,
        beamai_kernel:new(#{workspace => "/var/tmp", permissions => #{default => allow}}),
        Modules
    ),
    Compared = [
        begin
            Params = beamai_args:compile(Parameters),
            {error, #{details := #{problems := Problems}, message := Here}} = beamai_args:check(Params, Args, Name),
            {error, #{error_type := invalid_input, message := There}} = beamai_kernel:invoke(K, Name, Args),
            ?assertEqual({Name, Args, There}, {Name, Args, Here}),
            length(Problems)
        end
     || #{name := Name, parameters := Parameters} <- beamai_kernel:get_tool_specs(K),
        Args <- wrong([text(Key) || Key <- maps:keys(Parameters)])
    ],
    ?assert(length(Compared) > 150 andalso lists:sum(Compared) > 150).

text(Key) when is_atom(Key) -> atom_to_binary(Key);
text(Key) -> Key.

wrong(Keys) ->
    [
        maps:from_list([{Key, Value} || Key <- Keys])
     || Value <- [#{<<"a">> => [1, <<"b">>]}, [#{}]]
    ] ++ [#{Name => 1} || Name <- [<<"nonsense">>, <<"">>, <<"Path_">>, <<"é"/utf8>>] ++ lists:append([misspelt(Key) ++ beginning(Key) || Key <- Keys])].

misspelt(<<First, Rest/binary>>) ->
    [<<Rest/binary, First>>, <<First, First, "x", Rest/binary>>, <<"z", (binary:part(Rest, 0, byte_size(Rest) div 2))/binary>>].

%% The first word of a name of several.
beginning(Key) -> [First || [First, _] <- [binary:split(Key, <<"_">>)]].

%% Of two keys that are the same text, one value would be lost.
a_key_that_is_given_twice_is_refused_by_tools_with_a_schema_test() ->
    Params = beamai_args:compile({schema, #{<<"type">> => <<"object">>}}),
    Check = fun(Args) -> beamai_args:check(Params, Args, <<"t">>) end,
    ?assertEqual({ok, #{<<"a">> => 1, <<"b">> => 2}}, Check(#{a => 1, <<"b">> => 2})),
    [
        ?assertMatch({error, #{error_type := invalid_input, message := Message}}, Check(Args))
     || {Args, Message} <- [
            {#{a => 1, <<"a">> => 2}, <<"\"a\" is given twice">>},
            {#{1 => a, <<"1">> => b}, <<"\"1\" is given twice">>}
        ]
    ].
