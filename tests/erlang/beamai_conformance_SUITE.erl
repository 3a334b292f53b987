%% The built-in tools through both doors: the same cases, the same answers, to the byte.
-module(beamai_conformance_SUITE).

-include_lib("stdlib/include/assert.hrl").

-compile([export_all, nowarn_export_all]).

all() ->
    [{group, nif}, {group, port}, both_doors_answered_alike].

groups() ->
    Cases = [
        a_file_is_read_with_its_lines_counted,
        a_range_of_lines_is_read,
        lines_are_read_from_the_end,
        line_endings_and_encodings_are_reported,
        a_missing_file_is_not_found,
        a_directory_is_not_a_file,
        paths_outside_the_workspace_are_refused,
        a_write_creates_directories_and_says_what_it_did,
        a_write_appends,
        a_write_over_a_changed_file_is_refused,
        an_edit_replaces_exactly,
        an_edit_of_crlf_text_keeps_it,
        an_ambiguous_edit_changes_nothing,
        an_edit_without_a_match_changes_nothing,
        text_that_stands_for_text_is_refused,
        a_patch_changes_several_files,
        a_dry_run_of_a_patch_changes_nothing,
        a_patch_that_does_not_fit_changes_nothing,
        a_patch_stays_inside_the_workspace,
        a_patch_is_judged_by_its_files,
        directories_are_listed,
        files_are_found_by_pattern,
        lines_are_found_with_their_context,
        matches_are_counted_by_file,
        bad_patterns_are_explained,
        wrong_arguments_are_explained,
        a_call_that_needs_approval_waits_for_it,
        a_denied_call_changes_nothing,
        rules_for_tools_hold
    ],
    [{nif, [], Cases}, {port, [], Cases}].

init_per_suite(Config) ->
    {ok, _} = application:ensure_all_started(beamai),
    Me = self(),
    Keeper = spawn(fun() ->
        Table = ets:new(answers, [bag, public]),
        Me ! {table, Table},
        receive
            stop -> ok
        end
    end),
    receive
        {table, Table} ->
            [{keeper, Keeper}, {answers, Table}, {root, beamai_test:workspace()} | Config]
    end.

end_per_suite(Config) ->
    beamai_test:remove(get(root, Config)),
    get(keeper, Config) ! stop.

init_per_group(Door, Config) -> [{door, Door} | Config].

end_per_group(_Group, _Config) -> ok.

init_per_testcase(both_doors_answered_alike, Config) ->
    Config;
init_per_testcase(Case, Config) ->
    %% The same path for both doors: messages name it.
    Workspace = filename:join(get(root, Config), atom_to_binary(Case)),
    ok = file:make_dir(Workspace),
    [{workspace, Workspace}, {'case', Case} | Config].

end_per_testcase(both_doors_answered_alike, _Config) ->
    ok;
end_per_testcase(_Case, Config) ->
    beamai_test:remove(get(workspace, Config)).

%%% Helpers

get(Key, Config) -> proplists:get_value(Key, Config).

kernel(Config) ->
    kernel(Config, #{permissions => #{default => allow}}).

kernel(Config, Options) ->
    Door = get(door, Config),
    Kernel = beamai_kernel:new(Options#{workspace => get(workspace, Config), door => Door}),
    beamai_kernel:add_tool_module(Kernel, beamai_tool_file).

%% Calls a tool; the answer is kept for the comparison of the doors.
call(Config, Tool, Args) ->
    call(Config, kernel(Config), Tool, Args).

call(Config, Kernel, Tool, Args) ->
    Answer =
        case beamai_kernel:invoke(Kernel, Tool, Args) of
            {ok, Result, #{}} -> {ok, Result};
            {error, Error} -> {error, Error}
        end,
    Key = {get('case', Config), Tool, Args},
    Row = {get(door, Config), erlang:unique_integer([monotonic]), Key, without_times(Answer)},
    ets:insert(get(answers, Config), Row),
    Answer.

without_times({ok, Result}) -> {ok, maps:without([<<"duration_ms">>], Result)};
without_times({error, #{details := Details} = Error}) -> {error, Error#{details := maps:without([duration_ms], Details)}}.

path(Config, Name) -> filename:join(get(workspace, Config), Name).

put_file(Config, Name, Content) ->
    Path = path(Config, Name),
    ok = filelib:ensure_dir(Path),
    ok = file:write_file(Path, Content).

content(Config, Name) ->
    {ok, Content} = file:read_file(path(Config, Name)),
    Content.

error_of({error, #{error_type := Type, details := #{reason := Reason}}}) -> {Type, Reason}.

both_doors_answered_alike(Config) ->
    Answers = fun(Door) ->
        Rows = lists:sort(ets:lookup(get(answers, Config), Door)),
        [{Key, Answer} || {_, _, Key, Answer} <- Rows]
    end,
    Nif = Answers(nif),
    ?assert(length(Nif) > 20),
    [
        ?assertEqual(A, B)
     || {A, B} <- lists:zip(Nif, Answers(port)), term_to_binary(A) =/= term_to_binary(B)
    ].

%%% Reading

a_file_is_read_with_its_lines_counted(Config) ->
    put_file(Config, "a.txt", <<"one\ntwo\nthree\n">>),
    {ok, Result} = call(Config, <<"file_read">>, #{<<"path">> => <<"a.txt">>}),
    ?assertMatch(
        #{
            <<"content">> := <<"one\ntwo\nthree\n">>,
            <<"start_line">> := 1,
            <<"end_line">> := 3,
            <<"total_lines">> := 3,
            <<"has_more">> := false,
            <<"encoding">> := <<_/binary>>,
            <<"line_ending">> := <<_/binary>>,
            <<"hash">> := <<_/binary>>
        },
        Result
    ).

a_range_of_lines_is_read(Config) ->
    put_file(Config, "a.txt", <<"one\ntwo\nthree\n">>),
    Args = #{<<"path">> => <<"a.txt">>, <<"offset">> => 2, <<"limit">> => 1},
    {ok, Result} = call(Config, <<"file_read">>, Args),
    ?assertMatch(
        #{<<"start_line">> := 2, <<"end_line">> := 2, <<"has_more">> := true}, Result
    ),
    ?assertMatch(<<"two", _/binary>>, maps:get(<<"content">>, Result)).

lines_are_read_from_the_end(Config) ->
    put_file(Config, "a.txt", <<"one\ntwo\nthree\n">>),
    {ok, Result} = call(Config, <<"file_read">>, #{<<"path">> => <<"a.txt">>, <<"offset">> => -1}),
    ?assertMatch(<<"three", _/binary>>, maps:get(<<"content">>, Result)),
    ?assertMatch(#{<<"start_line">> := 3, <<"end_line">> := 3}, Result).

line_endings_and_encodings_are_reported(Config) ->
    Files = [
        {<<"crlf">>, <<"a\r\nb\r\n">>},
        {<<"bom">>, <<16#EF, 16#BB, 16#BF, "a\n">>},
        {<<"latin1">>, <<"caf", 16#E9, " cr", 16#E8, "me br", 16#FB, "l", 16#E9, "e\n">>},
        {<<"utf16">>, unicode:encoding_to_bom({utf16, little})},
        {<<"empty">>, <<>>}
    ],
    [
        begin
            put_file(Config, Name, Content),
            {ok, #{<<"encoding">> := _, <<"line_ending">> := _, <<"content">> := Text}} =
                call(Config, <<"file_read">>, #{<<"path">> => Name}),
            ?assert(is_list(unicode:characters_to_list(Text)))
        end
     || {Name, Content} <- Files
    ].

a_missing_file_is_not_found(Config) ->
    put_file(Config, "readme.md", <<"x">>),
    Answer = call(Config, <<"file_read">>, #{<<"path">> => <<"raedme.md">>}),
    ?assertEqual({not_found, no_such_file}, error_of(Answer)).

a_directory_is_not_a_file(Config) ->
    put_file(Config, "dir/a", <<"x">>),
    Answer = call(Config, <<"file_read">>, #{<<"path">> => <<"dir">>}),
    ?assertEqual({invalid_input, is_a_directory}, error_of(Answer)).

paths_outside_the_workspace_are_refused(Config) ->
    put_file(Config, "a/file", <<>>),
    ok = file:make_symlink("/etc", path(Config, "link")),
    [
        ?assertEqual({permission_denied, outside_workspace}, error_of(Answer))
     || Path <- [<<"../x">>, <<"/etc/passwd">>, <<"a/../../x">>, <<"link/passwd">>],
        Answer <- [
            call(Config, <<"file_read">>, #{<<"path">> => Path}),
            call(Config, <<"file_write">>, #{<<"path">> => Path, <<"content">> => <<"x">>})
        ]
    ].

%%% Writing

a_write_creates_directories_and_says_what_it_did(Config) ->
    Write = fun(Text) ->
        call(Config, <<"file_write">>, #{<<"path">> => <<"a/b/c.txt">>, <<"content">> => Text})
    end,
    {ok, Created} = Write(<<"one\n">>),
    ?assertMatch(
        #{<<"operation">> := <<"created">>, <<"bytes_written">> := 4, <<"additions">> := 1}, Created
    ),
    ?assertEqual(<<"one\n">>, content(Config, "a/b/c.txt")),
    {ok, Updated} = Write(<<"two\n">>),
    ?assertMatch(
        #{<<"operation">> := <<"updated">>, <<"additions">> := 1, <<"deletions">> := 1}, Updated
    ),
    ?assertMatch({match, _}, re:run(maps:get(<<"diff">>, Updated), "-one\n\\+two")).

a_write_appends(Config) ->
    put_file(Config, "log", <<"one\n">>),
    Args = #{<<"path">> => <<"log">>, <<"content">> => <<"two\n">>, <<"mode">> => <<"append">>},
    {ok, _} = call(Config, <<"file_write">>, Args),
    ?assertEqual(<<"one\ntwo\n">>, content(Config, "log")).

a_write_over_a_changed_file_is_refused(Config) ->
    put_file(Config, "a", <<"one\n">>),
    {ok, #{<<"hash">> := Hash}} = call(Config, <<"file_read">>, #{<<"path">> => <<"a">>}),
    put_file(Config, "a", <<"two\n">>),
    Args = #{<<"path">> => <<"a">>, <<"content">> => <<"x">>, <<"expected_hash">> => Hash},
    ?assertEqual({execution_failed, stale}, error_of(call(Config, <<"file_write">>, Args))),
    ?assertEqual(<<"two\n">>, content(Config, "a")).

edit(Config, Old, New) -> edit(Config, Old, New, #{}).

edit(Config, Old, New, More) ->
    Args = #{<<"path">> => <<"a">>, <<"old_string">> => Old, <<"new_string">> => New},
    call(Config, <<"file_edit">>, maps:merge(Args, More)).

an_edit_replaces_exactly(Config) ->
    put_file(Config, "a", <<"x = 1\ny = 1\n">>),
    {ok, Result} = edit(Config, <<"x = 1">>, <<"x = 2">>),
    ?assertMatch(#{<<"replacements">> := 1, <<"diff">> := _, <<"hash">> := _}, Result),
    ?assertEqual(<<"x = 2\ny = 1\n">>, content(Config, "a")),
    put_file(Config, "a", <<"1 1 1">>),
    {ok, #{<<"replacements">> := 3}} = edit(Config, <<"1">>, <<"2">>, #{<<"replace_all">> => true}),
    ?assertEqual(<<"2 2 2">>, content(Config, "a")).

an_edit_of_crlf_text_keeps_it(Config) ->
    put_file(Config, "a", <<"one\r\ntwo\r\nthree\r\n">>),
    {ok, _} = edit(Config, <<"two">>, <<"2">>),
    ?assertEqual(<<"one\r\n2\r\nthree\r\n">>, content(Config, "a")).

an_ambiguous_edit_changes_nothing(Config) ->
    put_file(Config, "a", <<"1\n1\n">>),
    ?assertEqual({invalid_input, ambiguous}, error_of(edit(Config, <<"1">>, <<"2">>))),
    ?assertEqual(<<"1\n1\n">>, content(Config, "a")).

an_edit_without_a_match_changes_nothing(Config) ->
    put_file(Config, "a", <<"hello world\n">>),
    ?assertEqual({invalid_input, no_match}, error_of(edit(Config, <<"hello wrld">>, <<"x">>))),
    ?assertEqual(<<"hello world\n">>, content(Config, "a")).

text_that_stands_for_text_is_refused(Config) ->
    Text = iolist_to_binary([["line ", integer_to_binary(N), $\n] || N <- lists:seq(1, 20)]),
    put_file(Config, "a", Text),
    Lazy = <<"line 1\n# ... rest of the file unchanged ...\n">>,
    Patch = <<"--- a/a\n+++ b/a\n@@ -2,3 +2 @@\n-line 2\n-line 3\n-line 4\n+// ... existing code ...\n">>,
    [
        ?assertEqual({invalid_input, placeholder}, error_of(Answer))
     || Answer <- [
            call(Config, <<"file_write">>, #{<<"path">> => <<"a">>, <<"content">> => Lazy}),
            edit(Config, <<"line 2\nline 3\nline 4\nline 5\nline 6\n">>, <<"// ... existing code ...\n">>),
            patch(Config, Patch)
        ]
    ],
    ?assertEqual(Text, content(Config, "a")).

%%% Patching

patch(Config, Patch) -> call(Config, <<"file_patch">>, #{<<"patch">> => Patch}).

patched_files(Config) ->
    put_file(Config, "changed", <<"one\ntwo\nthree\n">>),
    put_file(Config, "gone", <<"x\n">>),
    put_file(Config, "old", <<"kept\n">>),
    <<"--- a/changed\n+++ b/changed\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
      "--- /dev/null\n+++ b/new/made\n@@ -0,0 +1 @@\n+m\n\\ No newline at end of file\n"
      "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
      "diff --git a/old b/moved\nsimilarity index 100%\nrename from old\nrename to moved\n">>.

a_patch_changes_several_files(Config) ->
    {ok, Result} = patch(Config, patched_files(Config)),
    ?assertMatch(
        #{
            <<"applied">> := true,
            <<"files">> := [
                #{
                    <<"path">> := <<"changed">>,
                    <<"operation">> := <<"updated">>,
                    <<"hunks">> := [#{<<"line">> := 1, <<"offset">> := 0, <<"additions">> := 1}]
                },
                #{<<"path">> := <<"new/made">>, <<"operation">> := <<"created">>},
                #{<<"path">> := <<"gone">>, <<"operation">> := <<"deleted">>},
                #{
                    <<"path">> := <<"moved">>,
                    <<"old_path">> := <<"old">>,
                    <<"operation">> := <<"renamed">>
                }
            ]
        },
        Result
    ),
    ?assertEqual(<<"one\n2\nthree\n">>, content(Config, "changed")),
    ?assertEqual(<<"m">>, content(Config, "new/made")),
    ?assertEqual(<<"kept\n">>, content(Config, "moved")),
    [?assertNot(filelib:is_file(path(Config, Name))) || Name <- ["gone", "old"]].

a_dry_run_of_a_patch_changes_nothing(Config) ->
    Args = #{<<"patch">> => patched_files(Config), <<"dry_run">> => true},
    {ok, #{<<"applied">> := false, <<"files">> := [_, _, _, _]}} = call(Config, <<"file_patch">>, Args),
    ?assertEqual(<<"one\ntwo\nthree\n">>, content(Config, "changed")),
    ?assertEqual({ok, ["changed", "gone", "old"]}, sorted_names(Config)).

sorted_names(Config) ->
    {ok, Names} = file:list_dir(get(workspace, Config)),
    {ok, lists:sort(Names)}.

a_patch_that_does_not_fit_changes_nothing(Config) ->
    Good = patched_files(Config),
    put_file(Config, "twice", <<"a\nx\na\nx\n">>),
    Hunk = fun(File, Lines) -> <<Good/binary, "--- a/", File/binary, "\n+++ b/", File/binary, Lines/binary>> end,
    [
        begin
            {error, #{details := Details}} = Answer = patch(Config, Hunk(File, Lines)),
            ?assertEqual({invalid_input, Reason}, error_of(Answer)),
            ?assertMatch(#{files := [#{<<"hunks">> := [#{<<"line">> := 1}]} | _]}, Details)
        end
     || {File, Lines, Reason} <- [
            {<<"twice">>, <<"\n@@ -9 +9 @@\n-x\n+y\n">>, ambiguous},
            {<<"twice">>, <<"\n@@ -1,2 +1,2 @@\n a\n-z\n+y\n">>, no_match}
        ]
    ],
    Missing = patch(Config, Hunk(<<"twcie">>, <<"\n@@ -1 +1 @@\n-a\n+b\n">>)),
    ?assertEqual({not_found, no_such_file}, error_of(Missing)),
    Binary = <<"diff --git a/b b/b\nindex 1..2 100644\nGIT binary patch\nliteral 1\n">>,
    ?assertEqual({invalid_input, binary_file}, error_of(patch(Config, Binary))),
    ?assertEqual({invalid_input, invalid_argument}, error_of(patch(Config, <<"no patch">>))),
    ?assertEqual({ok, ["changed", "gone", "old", "twice"]}, sorted_names(Config)),
    ?assertEqual(<<"one\ntwo\nthree\n">>, content(Config, "changed")).

a_patch_stays_inside_the_workspace(Config) ->
    ok = file:make_symlink("/etc", path(Config, "link")),
    [
        ?assertEqual({permission_denied, outside_workspace}, error_of(patch(Config, Patch)))
     || Path <- [<<"../x">>, <<"link/x">>, <<"/etc/x">>],
        Patch <- [<<"--- /dev/null\n+++ ", Path/binary, "\n@@ -0,0 +1 @@\n+x\n">>]
    ].

a_patch_is_judged_by_its_files(Config) ->
    Patch = patched_files(Config),
    Me = self(),
    Approve = fun(Request) -> Me ! {asked, Request}, deny end,
    Judged = fun(Permissions) ->
        Kernel = kernel(Config, #{permissions => Permissions, approve => Approve}),
        error_of(call(Config, Kernel, <<"file_patch">>, #{<<"patch">> => Patch}))
    end,
    ?assertEqual({permission_denied, denied}, Judged(#{allow => [<<"Edit">>]})),
    receive
        {asked, #{subject := Subject}} ->
            ?assertEqual(
                <<"Edit(changed), Write(new/made), Edit(gone), Edit(old), Write(moved)">>, Subject
            )
    after 0 -> error(not_asked)
    end,
    ?assertEqual(
        {permission_denied, denied},
        Judged(#{default => allow, deny => [<<"Write">>]})
    ),
    ?assertEqual({ok, ["changed", "gone", "old"]}, sorted_names(Config)).

%%% Searching

tree(Config) ->
    put_file(Config, "src/a.erl", <<"-module(a).\nfoo() -> bar.\n">>),
    put_file(Config, "src/b.erl", <<"-module(b).\nbaz() -> foo.\n">>),
    put_file(Config, "doc/c.md", <<"# foo\n">>),
    put_file(Config, ".hidden", <<"foo\n">>).

directories_are_listed(Config) ->
    tree(Config),
    {ok, #{<<"entries">> := Entries, <<"count">> := 2, <<"truncated">> := false}} =
        call(Config, <<"file_list">>, #{}),
    ?assertEqual([<<"doc">>, <<"src">>], lists:sort([N || #{<<"name">> := N} <- Entries])).

files_are_found_by_pattern(Config) ->
    tree(Config),
    {ok, #{<<"files">> := Files, <<"count">> := 2, <<"truncated">> := false, <<"coverage">> := _}} =
        call(Config, <<"file_glob">>, #{<<"pattern">> => <<"**/*.erl">>}),
    ?assertEqual([<<"src/a.erl">>, <<"src/b.erl">>], lists:sort(Files)),
    {ok, #{<<"count">> := 0}} = call(Config, <<"file_glob">>, #{<<"pattern">> => <<"*.py">>}).

lines_are_found_with_their_context(Config) ->
    tree(Config),
    Args = #{<<"pattern">> => <<"foo\\(\\)">>, <<"context">> => 1},
    {ok, #{<<"matches">> := [Match], <<"total_matches">> := 1}} =
        call(Config, <<"file_grep">>, Args),
    ?assertMatch(
        #{
            <<"file">> := <<"src/a.erl">>,
            <<"line_number">> := 2,
            <<"content">> := <<"foo() -> bar.", _/binary>>,
            <<"before">> := [_]
        },
        Match
    ).

matches_are_counted_by_file(Config) ->
    tree(Config),
    [
        {ok, _} = call(Config, <<"file_grep">>, #{<<"pattern">> => <<"foo">>, <<"output_mode">> => Mode})
     || Mode <- [<<"files_with_matches">>, <<"count">>, <<"content">>]
    ],
    {ok, #{<<"files">> := Files}} = call(Config, <<"file_grep">>, #{
        <<"pattern">> => <<"foo">>, <<"output_mode">> => <<"files_with_matches">>, <<"glob">> => <<"*.erl">>
    }),
    ?assertEqual(2, length(Files)).

bad_patterns_are_explained(Config) ->
    [
        ?assertEqual({invalid_input, invalid_pattern}, error_of(Answer))
     || Answer <- [
            call(Config, <<"file_grep">>, #{<<"pattern">> => <<"(">>}),
            call(Config, <<"file_glob">>, #{<<"pattern">> => <<"[">>})
        ]
    ].

wrong_arguments_are_explained(Config) ->
    [
        ?assertEqual({invalid_input, invalid_argument}, error_of(call(Config, Tool, Args)))
     || Tool <- [
            <<"file_read">>, <<"file_write">>, <<"file_edit">>, <<"file_list">>, <<"file_glob">>,
            <<"file_grep">>, <<"file_patch">>
        ],
        Args <- [#{<<"nonsense">> => 1}, #{<<"path">> => 1}, #{<<"pattern">> => [], <<"path">> => #{}}]
    ].

%%% Permissions

a_call_that_needs_approval_waits_for_it(Config) ->
    Me = self(),
    Approve = fun(Request) -> Me ! {asked, Request}, allow end,
    Kernel = kernel(Config, #{approve => Approve}),
    Args = #{<<"path">> => <<"a">>, <<"content">> => <<"x">>},
    {ok, _} = call(Config, Kernel, <<"file_write">>, Args),
    receive
        {asked, Request} ->
            ?assertMatch(
                #{tool := <<"file_write">>, rule := <<"Write">>, file := <<"a">>, args := Args}, Request
            )
    after 0 -> error(not_asked)
    end,
    ?assertEqual(<<"x">>, content(Config, "a")).

a_denied_call_changes_nothing(Config) ->
    Args = #{<<"path">> => <<"a">>, <<"content">> => <<"x">>},
    [
        begin
            Answer = call(Config, kernel(Config, Options), <<"file_write">>, Args),
            ?assertEqual({permission_denied, Reason}, error_of(Answer)),
            ?assertNot(filelib:is_file(path(Config, "a")))
        end
     || {Options, Reason} <- [
            {#{}, needs_approval},
            {#{approve => fun(_) -> deny end}, denied},
            {#{permissions => #{default => deny}}, denied}
        ]
    ].

rules_for_tools_hold(Config) ->
    put_file(Config, "a", <<"x">>),
    Read = fun(Policy) ->
        call(Config, kernel(Config, #{permissions => Policy}), <<"file_read">>, #{<<"path">> => <<"a">>})
    end,
    ?assertEqual({permission_denied, denied}, error_of(Read(#{deny => [<<"Read">>]}))),
    ?assertEqual({permission_denied, needs_approval}, error_of(Read(#{ask => [<<"Read">>]}))),
    ?assertMatch({ok, _}, Read(#{default => deny, allow => [<<"Read">>]})).
