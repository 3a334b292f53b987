%% The plain values: contexts, errors, nearest names, tool specs.
-module(beamai_values_tests).

-include_lib("eunit/include/eunit.hrl").

%%% Contexts

a_context_holds_values_test() ->
    Context = beamai_context:set(b, 2, beamai_context:new(#{a => 1})),
    ?assertEqual({1, 2}, {beamai_context:get(a, Context), beamai_context:get(b, Context)}),
    ?assertEqual(undefined, beamai_context:get(c, Context)),
    ?assertEqual(none, beamai_context:get(c, Context, none)),
    ?assertEqual(
        #{a => 1, b => 3, c => 4}, beamai_context:merge(Context, beamai_context:new(#{b => 3, c => 4}))
    ).

changes_are_what_was_set_and_what_was_removed_test() ->
    Before = #{a => 1, b => 2, c => 3},
    Changes = beamai_context:changes(Before, #{a => 1, b => 20, d => 4}),
    ?assertEqual({#{b => 20, d => 4}, [c]}, Changes),
    ?assertEqual(#{a => 9, b => 20, d => 4}, beamai_context:apply_changes(Changes, Before#{a => 9})).

%%% Errors

native(Details) ->
    #{
        <<"tool">> => <<"file_read">>,
        <<"error_type">> => <<"not_found">>,
        <<"message">> => <<"no">>,
        <<"details">> => Details
    }.

a_native_error_gets_the_known_words_as_atoms_test() ->
    ?assertEqual(
        #{
            tool => <<"file_read">>,
            error_type => not_found,
            message => <<"no">>,
            details => #{reason => no_such_file, file => <<"a">>}
        },
        beamai_error:from_native(
            native(#{<<"reason">> => <<"no_such_file">>, <<"file">> => <<"a">>})
        )
    ).

an_error_of_a_call_that_could_not_be_decoded_names_its_tool_test() ->
    Kernel = beamai_kernel:add_tool_module(beamai_kernel:new(), beamai_tool_file),
    [
        ?assertMatch(
            {error, #{tool := <<"file_read">>, error_type := invalid_input}},
            Call(Kernel, <<"file_read">>, #{<<"path">> => self()})
        )
     || Call <- [fun beamai_kernel:invoke/3, fun beamai_permission:explain/3]
    ].

no_atoms_are_made_from_native_words_test() ->
    Word = <<"word_", (beamai_temp_dir:random_name())/binary>>,
    #{details := Details} = beamai_error:from_native(native(#{<<"reason">> => Word, Word => 1})),
    ?assertEqual(#{reason => Word, Word => 1}, Details),
    ?assertError(badarg, binary_to_existing_atom(Word)).

%% Read from where they are defined, so that a new one is not forgotten here.
every_reason_of_the_native_side_is_known_test_() ->
    Source = filename:join([beamai_nif:priv_file(".."), "native", "base", "src", "error.rs"]),
    {ok, Text} = file:read_file(Source),
    {match, Found} = re:run(Text, "= \"([a-z_]+)\": [A-Z]", [global, {capture, [1], binary}]),
    ?assert(length(Found) > 20),
    [
        {binary_to_list(Word), fun() ->
            #{details := #{reason := Reason}} =
                beamai_error:from_native(native(#{<<"reason">> => Word})),
            ?assertEqual(Word, atom_to_binary(Reason))
        end}
     || [Word] <- Found
    ].

values_are_shown_short_test() ->
    Shown = fun(Value) -> unicode:characters_to_binary(beamai_error:show(Value, 5)) end,
    ?assertEqual(<<"\"abc\"">>, Shown(<<"abc">>)),
    ?assertEqual(<<"\"abcde...\"">>, Shown(<<"abcdef">>)),
    ?assertEqual(<<"\"äöüßé\""/utf8>>, Shown(<<"äöüßé"/utf8>>)),
    ?assertEqual(<<"\"äöüßé...\""/utf8>>, Shown(binary:copy(<<"äöüßé"/utf8>>, 100))),
    ?assertEqual(<<"\"ÿ\""/utf8>>, Shown(<<255>>)),
    ?assert(byte_size(Shown(lists:seq(1, 1000))) < 50).

%%% Nearest names

nearest_names_are_found_in_order_test() ->
    Names = [<<"file_read">>, <<"file_write">>, <<"shell_exec">>],
    ?assertEqual(<<"file_read">>, hd(beamai_nif:nearest(<<"file_raed">>, Names))),
    ?assertEqual([<<"file_read">>], beamai_nif:nearest(<<"FILE_READ">>, [<<"file_read">>])),
    ?assertEqual([<<"shell_exec">>], beamai_nif:nearest(<<"shell">>, Names)),
    ?assertEqual([], beamai_nif:nearest(<<"zzz">>, Names)).

odd_names_do_no_harm_test() ->
    ?assertEqual([], beamai_nif:nearest(binary:copy(<<"x">>, 10000), [<<"file">>])),
    ?assertEqual([], beamai_nif:nearest(<<255, 254>>, [<<"file">>])),
    ?assertEqual([], beamai_nif:nearest(<<>>, [<<"file">>])).

%%% Specs

good_specs_have_no_problems_test() ->
    ?assertEqual(ok, beamai_tool:validate(#{name => <<"t">>, handler => {m, f}})),
    ?assertEqual(
        ok,
        beamai_tool:validate(#{
            name => <<"t">>,
            handler => {m, f, [a]},
            description => <<"d">>,
            parameters => #{a => #{type => array, items => #{type => string}, maxItems => 3}},
            tag => [<<"x">>],
            timeout => infinity,
            retry => #{max => 1},
            filters => [log, <<"audit">>],
            metadata => #{anything => goes}
        })
    ).

every_mistake_in_a_spec_is_named_test_() ->
    Base = #{name => <<"t">>, handler => fun(_) -> {ok, 1} end},
    Table = [
        {maps:remove(name, Base), "is missing name"},
        {maps:remove(handler, Base), "is missing handler"},
        {Base#{name := t}, "name must be a non-empty binary, not t"},
        {Base#{name := <<>>}, "name must be a non-empty binary"},
        {Base#{handler := fun() -> ok end}, "handler must be a fun of one or two arguments"},
        {Base#{description => "text"}, "description must be a binary"},
        {Base#{parameters => []}, "parameters must be a map"},
        {Base#{parameters => #{<<"a">> => #{}}}, "\"a\" is missing type"},
        {Base#{parameters => #{<<"a">> => #{type => text}}}, "type must be string, integer"},
        {Base#{parameters => #{a => #{type => string, max => 1}}}, "unknown key max"},
        {Base#{parameters => #{a => #{type => array, items => #{type => x}}}}, "items type must be"},
        {Base#{parameters => #{a => #{type => string, enum => []}}}, "enum must be a list of values"},
        {Base#{tag => weather}, "tag must be a binary"},
        {Base#{timeout => 0}, "timeout must be 1 to 4294967295 milliseconds"},
        {Base#{retry => #{max => -1}}, "retry must be"},
        {Base#{retry => #{times => 1}}, "retry must be"},
        {Base#{filters => log}, "filters must be a list"},
        {Base#{metadata => #{requires_permission => yes}}, "requires_permission must be true or false"},
        {Base#{tag => [<<"a">> | b]}, "tag must be a binary"},
        {Base#{filters => [a | b]}, "filters must be a list"},
        {Base#{handler := {m, f, [a | b]}}, "handler must be"},
        {Base#{description => <<255>>}, "description must be a binary of UTF-8"},
        {Base#{parameters => #{<<255>> => #{type => string}}}, "must be UTF-8"},
        {Base#{parameters => #{a => #{type => string}, <<"a">> => #{type => string}}}, "has a twice"},
        {Base#{parameters => #{a => #{type => string, description => <<255>>}}}, "binary of UTF-8"},
        {Base#{parameters => #{a => #{type => string, enum => [a | b]}}}, "enum must be a list"},
        {Base#{parameters => #{a => #{type => string, default => "text"}}}, "default must be of its type"},
        {Base#{parameters => #{a => #{type => array, default => [a | b]}}}, "default must be of its type"},
        {Base#{colour => red}, "unknown key colour"},
        {not_a_map, "must be a map, not not_a_map"}
    ],
    [
        {Text, fun() ->
            {error, {invalid_tool, _, Problems}} = beamai_tool:validate(Spec),
            ?assert(lists:any(fun(P) -> string:find(P, Text) =/= nomatch end, Problems))
        end}
     || {Spec, Text} <- Table
    ].
