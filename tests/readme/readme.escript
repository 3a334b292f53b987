%% Evaluates every block marked `erlang' of a Markdown file as it would be pasted into a shell, one after the
%% other with the bindings of those before, in a copy of the repository's own directory.
-mode(compile).

main([File, Ebin]) ->
    true = code:add_patha(Ebin),
    {ok, _} = application:ensure_all_started(beamai),
    {ok, Text} = file:read_file(File),
    {match, Blocks} = re:run(Text, "^```erlang\n(.*?)^```", [global, dotall, multiline, {capture, [1], list}]),
    _ = lists:foldl(fun([Block], Bindings) -> evaluate(Block, Bindings) end, erl_eval:new_bindings(), Blocks),
    io:format("~b passed, 0 failed~n", [length(Blocks)]).

evaluate(Block, Bindings) ->
    {ok, Tokens, _} = erl_scan:string(unicode:characters_to_list(Block)),
    lists:foldl(fun expression/2, Bindings, split(Tokens, [], [])).

expression(Tokens, Bindings) ->
    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
    {value, _, After} = erl_eval:exprs(Expressions, Bindings),
    After.

split([], [], Done) -> lists:reverse(Done);
split([{dot, _} = Dot | Rest], Now, Done) -> split(Rest, [], [lists:reverse([Dot | Now]) | Done]);
split([Token | Rest], Now, Done) -> split(Rest, [Token | Now], Done).
