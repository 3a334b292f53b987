%% A kernel is small, because specs of built-in tools are looked up in the catalogue of the node.
-module(light_kernel_tests).

-include_lib("eunit/include/eunit.hrl").

%% Two modules took 99 KiB when each kernel carried descriptions and schemas.
a_kernel_with_two_modules_is_small_test() ->
    ?assert(byte_size(term_to_binary(kernel())) < 12000).

specs_are_those_of_the_modules_test() ->
    Specs = beamai_tool_file:tools() ++ beamai_tool_shell:tools(),
    Tagged = lists:sort(fun(#{name := A}, #{name := B}) -> A =< B end, Specs),
    ?assertEqual(Tagged, [maps:remove(tag, Spec) || Spec <- beamai_kernel:get_tool_specs(kernel())]),
    ?assertMatch([#{tag := [<<"shell">>]}, _, _], beamai_kernel:tools_by_tag(kernel(), <<"shell">>)).

a_kernel_is_equal_to_one_that_was_made_the_same_way_test() ->
    ?assertEqual(kernel(), kernel()),
    ?assertEqual(kernel(), binary_to_term(term_to_binary(kernel()))).

a_changed_spec_stays_as_it_is_test() ->
    [Read] = [Spec || #{name := <<"file_read">>} = Spec <- beamai_tool_file:tools()],
    Named = Read#{name := <<"read">>, description := <<"Reads.">>, timeout := 7000},
    Bare = maps:without([description, metadata], Read),
    K = beamai_kernel:add_tools(beamai_kernel:new(), [Named, Bare]),
    ?assertEqual({ok, Named}, beamai_kernel:find_tool(K, <<"read">>)),
    ?assertEqual({ok, Bare}, beamai_kernel:find_tool(K, <<"file_read">>)),
    ?assertMatch({ok, _, _}, beamai_kernel:invoke(K, <<"read">>, #{<<"path">> => <<"rebar.config">>})).

%% As after an upgrade that drops a tool, or on a node with an older release.
a_tool_that_this_node_does_not_have_is_an_error_test() ->
    [#{handler := {M, F, [Info]}} = Read] = [Spec || #{name := <<"file_read">>} = Spec <- beamai_tool_file:tools()],
    Describe = fun(Dialect, Name) ->
        case get(gone) of
            true -> error;
            _ -> beamai_catalogue:described(Dialect, Name)
        end
    end,
    #{services := Services} = Info,
    Spec = Read#{handler := {M, F, [Info#{services := Services#{describe := Describe}}]}},
    K = beamai_kernel:add_tool(beamai_kernel:new(), Spec),
    put(gone, true),
    ?assertError({unknown_tool, <<"file_read">>}, beamai_kernel:get_tool_specs(K)),
    erase(gone).

kernel() ->
    lists:foldl(fun(Module, K) -> beamai_kernel:add_tool_module(K, Module) end, beamai_kernel:new(), [beamai_tool_file, beamai_tool_shell]).
