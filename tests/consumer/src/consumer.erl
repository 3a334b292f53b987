%% Uses beamai as a dependency: a tool through each door and one of its own.
-module(consumer).

-export([main/1]).

main(_) ->
    {ok, _} = application:ensure_all_started(beamai),
    K0 = beamai_kernel:new(#{permissions => #{allow => [<<"Bash">>]}}),
    K1 = beamai_kernel:add_tool_module(K0, beamai_tool_file),
    K2 = beamai_kernel:add_tool_module(K1, beamai_tool_shell),
    K = beamai_kernel:add_tool(K2, beamai_tool:new(<<"double">>, fun(#{<<"n">> := N}) -> {ok, N * 2} end)),
    {ok, #{<<"content">> := Text}, _} = beamai_kernel:invoke(K, <<"file_read">>, #{<<"path">> => <<"rebar.config">>}),
    true = byte_size(Text) > 0,
    {ok, #{<<"stdout">> := <<"hello\n">>}, _} =
        beamai_kernel:invoke(K, <<"shell_exec">>, #{<<"command">> => <<"echo hello">>}),
    {ok, 42, _} = beamai_kernel:invoke(K, <<"double">>, #{<<"n">> => 21}),
    %% What h/1,2 shows in a shell.
    {ok, {docs_v1, _, erlang, _, #{<<"en">> := _}, _, _}} = code:get_doc(beamai_kernel),
    io:format("4 passed, 0 failed~n").
