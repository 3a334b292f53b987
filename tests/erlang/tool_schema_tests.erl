%% Schemas of tools as providers get them: in the order of use, in short, within the limits of strict modes.
-module(tool_schema_tests).

-include_lib("eunit/include/eunit.hrl").

spec(Module, Name) ->
    Kernel = beamai_kernel:add_tool_module(beamai_kernel:new(), Module),
    {ok, Spec} = beamai_kernel:find_tool(Kernel, Name),
    Spec.

position(Part, Text) ->
    {At, _} = binary:match(Text, Part),
    At.

is_ordered(Parts, Text) ->
    At = [position(Part, Text) || Part <- Parts],
    ?assertEqual(lists:sort(At), At).

properties_stand_in_the_order_of_use_test() ->
    Write = spec(beamai_tool_file, <<"file_write">>),
    Edit = spec(beamai_tool_file, <<"file_edit">>),
    [
        begin
            is_ordered([<<"\"path\":{">>, <<"\"content\":{">>], beamai_tool:encode_schema(Write, Provider, #{})),
            is_ordered(
                [<<"\"path\":{">>, <<"\"old_string\":{">>, <<"\"new_string\":{">>], beamai_tool:encode_schema(Edit, Provider, #{strict => true})
            )
        end
     || Provider <- [openai, openai_responses, anthropic, gemini, mcp]
    ].

a_request_to_a_model_has_that_order_too_test() ->
    Kernel = beamai_kernel:add_tool_module(beamai_kernel:new(), beamai_tool_file),
    [
        begin
            {ok, Json} = beamai_json:encode(#{<<"tools">> => beamai_tool_schema:requests(beamai_kernel:get_tool_specs(Kernel), Provider, #{})}),
            is_ordered([<<"\"old_string\":{">>, <<"\"new_string\":{">>], Json),
            %% The same values, but for their order.
            {ok, #{<<"tools">> := Decoded}} = beamai_json:decode(Json),
            {ok, Plain} = beamai_json:encode(beamai_kernel:get_tool_schemas(Kernel, Provider)),
            ?assertEqual({ok, Decoded}, beamai_json:decode(Plain))
        end
     || Provider <- [openai, anthropic, gemini]
    ].

an_own_tool_can_have_an_order_test() ->
    Tool = #{
        name => <<"t">>,
        handler => fun(_) -> {ok, 1} end,
        parameters => #{
            <<"a">> => #{type => string}, <<"z">> => #{type => string, position => 1}, <<"m">> => #{type => string, position => 2}
        }
    },
    is_ordered([<<"\"z\":{">>, <<"\"m\":{">>, <<"\"a\":{">>], beamai_tool:encode_schema(Tool, openai, #{})),
    ?assertMatch(
        {error, {invalid_tool, <<"t">>, [_]}},
        beamai_tool:validate(Tool#{parameters => #{<<"a">> => #{type => string, position => 0}}})
    ).

what_own_tools_say_of_themselves_stays_test() ->
    Tool = #{
        name => <<"t">>,
        handler => fun(_) -> {ok, 1} end,
        parameters => #{<<"n">> => #{type => integer, minimum => 1, default => 5}, <<"b">> => #{type => boolean, default => false}}
    },
    #{<<"input_schema">> := #{properties := #{<<"n">> := N, <<"b">> := B}}} = beamai_tool:to_tool_schema(Tool, anthropic),
    ?assertEqual(#{type => integer, minimum => 1, default => 5}, N),
    ?assertEqual(#{type => boolean, default => false}, B).

a_request_to_anthropic_has_no_more_strict_tools_than_it_takes_test() ->
    Own = [
        #{name => <<"t", (integer_to_binary(N))/binary>>, handler => fun(_) -> {ok, 1} end, parameters => #{
            <<"a">> => #{type => string, required => true}, <<"n">> => #{type => integer, minimum => 1}
        }}
     || N <- lists:seq(1, 30)
    ],
    Kernel = beamai_kernel:add_tools(beamai_kernel:new(), Own),
    Schemas = beamai_kernel:get_tool_schemas(Kernel, anthropic, #{strict => true}),
    Strict = [Schema || #{<<"strict">> := true} = Schema <- Schemas],
    ?assertEqual(20, length(Strict)),
    [
        ?assertMatch(#{additionalProperties := false, required := [<<"a">>], properties := #{<<"n">> := #{type := integer}}}, Schema)
     || #{<<"input_schema">> := Schema} <- Strict
    ],
    ?assertEqual([], [1 || #{<<"input_schema">> := #{properties := #{<<"n">> := #{minimum := _}}}} <- Strict]).

an_agent_is_offered_a_search_of_the_web_only_where_there_is_a_provider_test() ->
    Model = beamai_chat:new(scripted, #{turns => []}),
    Offered = fun(Options) ->
        Kernel = beamai_kernel:add_tool_module(beamai_kernel:new(Options), beamai_tool_web),
        {ok, Agent} = beamai_agent:new(#{llm => Model, kernel => Kernel}),
        [Name || #{name := Name} <- beamai_kernel:list_tools(beamai_agent:kernel(Agent))]
    end,
    ?assertEqual([<<"web_fetch">>], Offered(#{})),
    Search = #{provider => searxng, base_url => <<"http://127.0.0.1:8888">>},
    ?assertEqual([<<"web_fetch">>, <<"web_search">>], Offered(#{web => #{search => Search}})).
