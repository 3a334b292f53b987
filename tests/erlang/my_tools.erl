%% The tool module of the specification's example.
-module(my_tools).
-behaviour(beamai_tool_behaviour).

-export([tool_info/0, tools/0]).
-export([handle_a/2, handle_b/2]).

tool_info() ->
    #{
        description => <<"My custom tool collection">>,
        tags => [<<"custom">>, <<"utility">>]
    }.

tools() ->
    [
        #{
            name => <<"tool_a">>,
            description => <<"First tool">>,
            handler => fun ?MODULE:handle_a/2,
            parameters => #{}
        },
        #{
            name => <<"tool_b">>,
            description => <<"Second tool">>,
            tag => <<"special">>,
            handler => fun ?MODULE:handle_b/2
        }
    ].

handle_a(_Args, _Ctx) -> {ok, <<"result_a">>}.
handle_b(_Args, _Ctx) -> {ok, <<"result_b">>}.
