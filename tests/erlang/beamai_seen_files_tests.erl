%% A session does not change a file that somebody else has changed since it was read.
-module(beamai_seen_files_tests).

-include_lib("eunit/include/eunit.hrl").

all_test_() ->
    Tests = [
        fun a_changed_file_is_read_again_before_it_is_changed/2,
        fun without_a_session_id_nothing_is_remembered/2,
        fun sessions_remember_for_themselves/2,
        fun a_session_that_was_closed_has_seen_nothing/2,
        fun edits_that_run_side_by_side_all_happen/2,
        fun patches_are_refused_and_remembered_too/2
    ],
    [
        {atom_to_list(Door), fun() -> in_workspace(Door, Test) end}
     || Test <- Tests, Door <- [nif, port]
    ].

in_workspace(Door, Test) ->
    beamai_test:in_workspace(fun(Dir) ->
        Options = #{workspace => Dir, door => Door, permissions => #{default => allow}},
        Test(Dir, beamai_kernel:add_tool_module(beamai_kernel:new(Options), beamai_tool_file))
    end).

session() -> beamai_context:new(#{session_id => make_ref()}).

close(Context) -> ok = beamai_session:close(beamai_context:get(session_id, Context)).

put_file(Dir, Content) -> ok = file:write_file(filename:join(Dir, "f"), Content).

content(Dir) ->
    {ok, Content} = file:read_file(filename:join(Dir, "f")),
    Content.

call(K, Tool, Args, Context) ->
    case beamai_kernel:invoke(K, Tool, Args#{<<"path">> => <<"f">>}, Context) of
        {ok, Result, _} -> {ok, Result};
        {error, #{error_type := Type, details := #{reason := Reason}}} -> {error, {Type, Reason}}
    end.

read(K, Context) -> {ok, _} = call(K, <<"file_read">>, #{}, Context).

edit(K, Old, New, Context) ->
    call(K, <<"file_edit">>, #{<<"old_string">> => Old, <<"new_string">> => New}, Context).

write(K, Content, Context) ->
    call(K, <<"file_write">>, #{<<"content">> => Content}, Context).

a_changed_file_is_read_again_before_it_is_changed(Dir, K) ->
    S = session(),
    put_file(Dir, <<"one\n">>),
    read(K, S),
    {ok, _} = edit(K, <<"one">>, <<"two">>, S),
    put_file(Dir, <<"two\nmore\n">>),
    ?assertEqual({error, {execution_failed, stale}}, edit(K, <<"two">>, <<"three">>, S)),
    ?assertEqual({error, {execution_failed, stale}}, write(K, <<"three\n">>, S)),
    ?assertEqual(<<"two\nmore\n">>, content(Dir)),
    read(K, S),
    {ok, _} = edit(K, <<"two">>, <<"three">>, S),
    ?assertEqual(<<"three\nmore\n">>, content(Dir)),
    close(S).

without_a_session_id_nothing_is_remembered(Dir, K) ->
    put_file(Dir, <<"one\n">>),
    read(K, #{}),
    put_file(Dir, <<"one more\n">>),
    {ok, _} = edit(K, <<"one">>, <<"two">>, #{}).

sessions_remember_for_themselves(Dir, K) ->
    [One, Two] = [session(), session()],
    put_file(Dir, <<"one\n">>),
    read(K, One),
    {ok, _} = write(K, <<"of the other\n">>, Two),
    ?assertEqual({error, {execution_failed, stale}}, write(K, <<"x\n">>, One)),
    {ok, _} = write(K, <<"again\n">>, Two),
    [close(S) || S <- [One, Two]].

a_session_that_was_closed_has_seen_nothing(Dir, K) ->
    S = session(),
    put_file(Dir, <<"one\n">>),
    read(K, S),
    close(S),
    put_file(Dir, <<"one more\n">>),
    {ok, _} = edit(K, <<"one">>, <<"two">>, S),
    close(S).

edits_that_run_side_by_side_all_happen(Dir, K) ->
    S = session(),
    Line = fun(Word, N) -> <<Word/binary, " ", (integer_to_binary(N))/binary, ";">> end,
    Text = fun(Word) -> << <<(Line(Word, N))/binary, "\n">> || N <- lists:seq(1, 30)>> end,
    put_file(Dir, Text(<<"line">>)),
    read(K, S),
    Calls = [
        {<<"file_edit">>, #{
            <<"path">> => <<"f">>,
            <<"old_string">> => Line(<<"line">>, N),
            <<"new_string">> => Line(<<"LINE">>, N)
        }}
     || N <- lists:seq(1, 30)
    ],
    {Results, _} = beamai_kernel:invoke_all(K, Calls, S),
    ?assertEqual([], [Error || {error, Error} <- Results]),
    ?assertEqual(Text(<<"LINE">>), content(Dir)),
    close(S).

patches_are_refused_and_remembered_too(Dir, K) ->
    S = session(),
    Patch = fun(Old, New) ->
        Text = ["--- a/f\n+++ b/f\n@@ -1 +1 @@\n-", Old, "\n+", New, "\n"],
        Args = #{<<"patch">> => iolist_to_binary(Text)},
        case beamai_kernel:invoke(K, <<"file_patch">>, Args, S) of
            {ok, #{<<"applied">> := true}, _} -> ok;
            {error, #{details := #{reason := Reason}}} -> Reason
        end
    end,
    put_file(Dir, <<"one\n">>),
    read(K, S),
    ok = Patch("one", "two"),
    {ok, _} = edit(K, <<"two">>, <<"three">>, S),
    put_file(Dir, <<"three\nmore\n">>),
    ?assertEqual(stale, Patch("three", "four")),
    ?assertEqual(<<"three\nmore\n">>, content(Dir)),
    close(S).
