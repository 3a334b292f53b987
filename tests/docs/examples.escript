%% Evaluates every block marked `erlang' of Markdown pages as it would be pasted into a shell: within a page one after the
%% other, with the bindings of those before. Runs in the repository's own directory.
-mode(compile).

main([Ebin | Pages]) ->
    true = code:add_patha(Ebin),
    {ok, _} = application:ensure_all_started(beamai),
    {ok, {docs_v1, _, erlang, _, #{<<"en">> := _}, _, Documented}} = code:get_doc(beamai_kernel),
    [_ | _] = [Text || {{function, invoke, 4}, _, _, #{<<"en">> := Text}, _} <- Documented],
    Counts = [page(Page) || Page <- Pages],
    io:format("~b passed, 0 failed~n", [lists:sum(Counts)]).

page(Page) ->
    {ok, Text} = file:read_file(Page),
    Blocks =
        case re:run(Text, "^```erlang\n(.*?)^```", [global, dotall, multiline, {capture, [1], list}]) of
            {match, Found} -> [Block || [Block] <- Found];
            nomatch -> []
        end,
    Evaluate = fun(Block, Bindings) -> evaluate(Page, Block, Bindings) end,
    _ = lists:foldl(Evaluate, erl_eval:new_bindings(), Blocks),
    length(Blocks).

evaluate(Page, Block, Bindings) ->
    {ok, Tokens, _} = erl_scan:string(unicode:characters_to_list(Block)),
    Run = fun(Expression, Before) -> expression(Page, Expression, Before) end,
    lists:foldl(Run, Bindings, split(Tokens, [], [])).

expression(Page, Tokens, Bindings) ->
    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
    try
        {value, _, After} = erl_eval:exprs(Expressions, Bindings),
        After
    catch
        Class:Reason ->
            Shown = [erl_pp:exprs(Expressions), "\n"],
            io:format(standard_error, "~ts: ~ts~p:~p~n", [Page, Shown, Class, Reason]),
            halt(1)
    end.

split([], [], Done) -> lists:reverse(Done);
split([{dot, _} = Dot | Rest], Now, Done) -> split(Rest, [], [lists:reverse([Dot | Now]) | Done]);
split([Token | Rest], Now, Done) -> split(Rest, [Token | Now], Done).
