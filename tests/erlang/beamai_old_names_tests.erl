%% The names of upstream's module `beamai'.
-module(beamai_old_names_tests).

-include_lib("eunit/include/eunit.hrl").

old_code_runs_test() ->
    Weather = beamai:function(<<"weather">>, fun(#{<<"unit">> := Unit}, _Context) -> {ok, Unit} end, #{
        description => <<"The weather.">>, tag => <<"out">>,
        parameters => #{unit => #{type => string, enum => [celsius, kelvin], required => true}}
    }),
    Plain = beamai:tool(<<"plain">>, fun(_) -> {ok, 1} end),
    K = beamai:add_plugin(beamai:add_tool(beamai:kernel(#{workspace => "/var/tmp"}), Plain), <<"sky">>, [Weather]),
    ?assertMatch({ok, kelvin, #{user := 7}}, beamai:invoke_tool(K, <<"weather">>, #{<<"unit">> => <<"kelvin">>}, beamai:context(#{user => 7}))),
    ?assertEqual([<<"plain">>, <<"weather">>], [Name || #{name := Name} <- beamai:functions(K)]),
    ?assertEqual([<<"weather">>], [Name || #{name := Name} <- beamai_kernel:tools_by_tag(K, <<"sky">>)]),
    ?assertEqual([<<"weather">>], [Name || #{name := Name} <- beamai_kernel:tools_by_tag(K, <<"out">>)]),
    ?assertEqual(beamai_kernel:get_tool_schemas(K), beamai:tools(K)),
    ?assertEqual(beamai_kernel:get_tool_schemas(K, anthropic), beamai:tools(K, anthropic)),
    Filtered = beamai:add_filter(K, beamai_filter:new(<<"f">>, fun(Call, Next) -> Next(Call) end)),
    ?assertMatch({ok, 1, _}, beamai:invoke_tool(Filtered, <<"plain">>, #{}, beamai:context())),
    ?assertEqual([], beamai:functions(beamai:add_tools(beamai:kernel(), []))),
    ?assertMatch([_ | _], beamai:functions(beamai:add_tool_module(beamai:kernel(), beamai_tool_file))).

swapped_arguments_are_explained_test() ->
    Context = beamai:context(#{a => 1}),
    Explained = fun(Call) ->
        try Call() catch
            error:{bad_context, _}:Stack -> iolist_to_binary(io_lib:format("~p", [Stack]))
        end
    end,
    ?assertMatch({_, _}, binary:match(Explained(fun() -> beamai_context:get(Context, a) end), <<"the context is the last argument">>)),
    ?assertMatch({_, _}, binary:match(Explained(fun() -> beamai_context:set(Context, a, 2) end), <<"set(Key, Value, Context)">>)).

a_retry_with_a_delay_alone_is_one_further_try_test() ->
    Self = self(),
    Tool = #{name => <<"t">>, retry => #{delay => 1}, handler => fun(_) -> Self ! tried, {error, no} end},
    {error, no} = beamai_kernel:invoke(beamai_kernel:add_tool(beamai:kernel(), Tool), <<"t">>, #{}),
    ?assertEqual(2, length([T || {messages, All} <- [process_info(self(), messages)], T <- All, T =:= tried])),
    receive tried -> ok end,
    receive tried -> ok end.
