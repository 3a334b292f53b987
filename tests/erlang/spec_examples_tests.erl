%% The code examples of the tool definition guide, as they are written there.
-module(spec_examples_tests).

-include_lib("eunit/include/eunit.hrl").
-export([two/2, four/4]).

weather_tool() ->
    #{
        name => <<"get_weather">>,
        description =>
            <<"Get the current weather for a city. Returns temperature and conditions.">>,
        tag => <<"weather">>,
        parameters => #{
            <<"city">> => #{
                type => string,
                required => true,
                description => <<"City name, e.g. Beijing, Tokyo">>
            },
            <<"unit">> => #{
                type => string,
                enum => [<<"celsius">>, <<"fahrenheit">>],
                description => <<"Temperature unit">>
            }
        },
        handler => fun(Args, _Ctx) ->
            City = maps:get(<<"city">>, Args, <<"unknown">>),
            {ok, #{city => City, temp => 25, condition => <<"Sunny">>}}
        end
    }.

a_map_is_a_tool_test() ->
    K0 = beamai_kernel:new(),
    K1 = beamai_kernel:add_tool(K0, weather_tool()),
    Args = #{<<"city">> => <<"Beijing">>, <<"unit">> => <<"celsius">>},
    {ok, Result, #{}} = beamai_kernel:invoke(K1, <<"get_weather">>, Args, beamai_context:new()),
    ?assertEqual(#{city => <<"Beijing">>, temp => 25, condition => <<"Sunny">>}, Result).

handle(_Args) -> {ok, <<"one">>}.
handle(_Args, _Ctx) -> {ok, <<"two">>}.

new_makes_tools_test() ->
    Tool1 = beamai_tool:new(<<"my_tool">>, fun handle/1),
    Tool2 = beamai_tool:new(<<"my_tool">>, fun handle/2, #{
        description => <<"Tool description">>,
        tag => <<"category">>,
        parameters => #{
            <<"arg1">> => #{type => string, required => true}
        },
        timeout => 60000,
        retry => #{max => 3, delay => 1000}
    }),
    {ok, <<"one">>} = beamai_tool:invoke(Tool1, #{}),
    {ok, <<"two">>} = beamai_tool:invoke(Tool2, #{<<"arg1">> => <<"x">>}).

a_tool_module_is_loaded_with_its_default_tags_test() ->
    K0 = beamai_kernel:new(),
    K1 = beamai_kernel:add_tool_module(K0, my_tools),
    {ok, <<"result_a">>, _} = beamai_kernel:invoke(K1, <<"tool_a">>, #{}),
    {ok, <<"result_b">>, _} = beamai_kernel:invoke(K1, <<"tool_b">>, #{}),
    [#{name := <<"tool_a">>}] = beamai_kernel:tools_by_tag(K1, <<"custom">>),
    [#{name := <<"tool_a">>}] = beamai_kernel:tools_by_tag(K1, <<"utility">>),
    [#{name := <<"tool_b">>}] = beamai_kernel:tools_by_tag(K1, <<"special">>).

tools_are_added_one_by_one_in_lists_and_by_module_test() ->
    K0 = beamai_kernel:new(),
    [Tool1, Tool2, Tool3] = [
        beamai_tool:new(Name, fun handle/1)
     || Name <- [<<"t1">>, <<"t2">>, <<"t3">>]
    ],
    K1 = beamai_kernel:add_tool(K0, weather_tool()),
    K2 = beamai_kernel:add_tools(K1, [Tool1, Tool2, Tool3]),
    K3 = beamai_kernel:add_tool_module(K2, my_tools),
    ?assertEqual(
        [<<"get_weather">>, <<"t1">>, <<"t2">>, <<"t3">>, <<"tool_a">>, <<"tool_b">>],
        [Name || #{name := Name} <- beamai_kernel:list_tools(K3)]
    ).

tools_are_looked_up_test() ->
    Kernel = beamai_kernel:add_tool(beamai_kernel:new(), weather_tool()),
    ToolSpecs = beamai_kernel:get_tool_specs(Kernel),
    [#{name := <<"get_weather">>, parameters := _}] = ToolSpecs,
    {ok, Tool} = beamai_kernel:find_tool(Kernel, <<"get_weather">>),
    ?assertMatch(#{name := <<"get_weather">>}, Tool),
    WeatherTools = beamai_kernel:tools_by_tag(Kernel, <<"weather">>),
    ?assertEqual([Tool], WeatherTools).

tools_are_called_through_the_kernel_and_directly_test() ->
    ToolSpec = weather_tool(),
    Kernel = beamai_kernel:add_tool(beamai_kernel:new(), ToolSpec),
    Args = #{<<"city">> => <<"Tokyo">>},
    Ctx = beamai_context:new(),
    {ok, Result, _NewCtx} = beamai_kernel:invoke(Kernel, <<"get_weather">>, Args, Ctx),
    {ok, Result} = beamai_tool:invoke(ToolSpec, Args),
    {ok, Result, Ctx} = beamai_tool:invoke(ToolSpec, Args, Ctx).

a_handler_reads_and_updates_the_context_test() ->
    Handler = fun(_Args, Ctx) ->
        RunId = beamai_context:get(run_id, Ctx),
        AgentId = beamai_context:get(agent_id, Ctx),
        Custom = beamai_context:get(my_key, Ctx),
        NewCtx = beamai_context:set(my_key, my_value, Ctx),
        {ok, {RunId, AgentId, Custom}, NewCtx}
    end,
    Ctx = beamai_context:new(#{run_id => <<"r">>, agent_id => <<"a">>}),
    Tool = beamai_tool:new(<<"t">>, Handler),
    {ok, {<<"r">>, <<"a">>, undefined}, After} = beamai_tool:invoke(Tool, #{}, Ctx),
    ?assertEqual(my_value, beamai_context:get(my_key, After)).

the_openai_schema_has_the_documented_shape_test() ->
    OpenAISchema = beamai_tool:to_tool_schema(weather_tool(), openai),
    #{
        <<"type">> := <<"function">>,
        <<"function">> := #{
            <<"name">> := <<"get_weather">>,
            <<"description">> := <<"Get the current weather", _/binary>>,
            <<"parameters">> := #{
                type := object, properties := Properties, required := [<<"city">>]
            }
        }
    } = OpenAISchema,
    ?assertMatch(
        #{
            <<"city">> := #{type := string, description := <<"City name, e.g. Beijing, Tokyo">>},
            <<"unit">> := #{type := string, enum := [<<"celsius">>, <<"fahrenheit">>]}
        },
        Properties
    ).

the_anthropic_schema_has_the_documented_shape_test() ->
    #{
        <<"name">> := <<"get_weather">>,
        <<"description">> := _,
        <<"input_schema">> := #{
            type := object, properties := #{<<"city">> := _}, required := [<<"city">>]
        }
    } = beamai_tool:to_tool_schema(weather_tool(), anthropic).

the_good_tool_definition_works_test() ->
    Tool = #{
        name => <<"search_database">>,
        description =>
            <<"Search the product database by keyword. "
                "Returns matching products with name, price, and stock.">>,
        tag => [<<"database">>, <<"search">>],
        timeout => 10000,
        parameters => #{
            <<"keyword">> => #{
                type => string,
                required => true,
                description => <<"Search keyword (product name or category)">>
            },
            <<"limit">> => #{
                type => integer,
                description => <<"Maximum results to return (default: 10)">>
            }
        },
        handler => fun(Args, _Ctx) ->
            Keyword = maps:get(<<"keyword">>, Args),
            Limit = maps:get(<<"limit">>, Args, 10),
            case db:search(Keyword, Limit) of
                {ok, Results} -> {ok, Results};
                {error, Reason} -> {error, {db_error, Reason}}
            end
        end
    },
    {ok, Results} = beamai_tool:invoke(Tool, #{<<"keyword">> => <<"tea">>}),
    ?assertEqual(10, length(Results)),
    ?assertEqual({error, {db_error, down}}, beamai_tool:invoke(Tool, #{<<"keyword">> => <<"fail">>})).

every_handler_form_is_called_with_what_it_takes_test() ->
    Args = #{<<"a">> => 1},
    Ctx = beamai_context:new(#{key => value}),
    Forms = [
        {fun(A) -> {ok, {A}} end, {Args}},
        {fun(A, C) -> {ok, {A, C}} end, {Args, Ctx}},
        {{?MODULE, two}, {Args, Ctx}},
        {{?MODULE, four, [x, y]}, {Args, Ctx, x, y}}
    ],
    [
        ?assertEqual({ok, Seen, Ctx}, beamai_tool:invoke(beamai_tool:new(<<"t">>, Form), Args, Ctx))
     || {Form, Seen} <- Forms
    ].

two(Args, Ctx) -> {ok, {Args, Ctx}}.
four(Args, Ctx, X, Y) -> {ok, {Args, Ctx, X, Y}}.

every_result_form_passes_test() ->
    Ctx = beamai_context:new(),
    Result = fun(Value) ->
        beamai_tool:invoke(beamai_tool:new(<<"t">>, fun(_) -> Value end), #{}, Ctx)
    end,
    ?assertEqual({ok, 1, Ctx}, Result({ok, 1})),
    ?assertEqual({ok, 1, #{a => b}}, Result({ok, 1, #{a => b}})),
    ?assertEqual({error, whatever}, Result({error, whatever})).
