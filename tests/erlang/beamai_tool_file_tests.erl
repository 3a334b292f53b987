-module(beamai_tool_file_tests).

-include_lib("eunit/include/eunit.hrl").

needs(Paths) -> beamai_tool_file:needs_verification(Paths).

documentation_needs_no_verification_test() ->
    Documents = [
        <<"README.md">>, <<"a/b/page.mdx">>, <<"notes.txt">>, <<"guide.rst">>, <<"manual.adoc">>,
        <<"docs/index.html">>, <<"docs/a/b/conf.py">>, <<"docs">>, <<"docs/">>, <<"/abs/README.md">>
    ],
    [?assertNot(needs([Path])) || Path <- Documents],
    ?assertNot(needs(Documents)).

anything_else_needs_it_test() ->
    Others = [
        <<"src/a.erl">>, <<"Makefile">>, <<"md">>, <<"a.md.erl">>, <<"a.markdown">>, <<"a.html">>,
        <<"docs.erl">>, <<"docsy/a.js">>, <<"a.md/b.c">>, <<>>, <<"/">>, <<".">>
    ],
    [?assert(needs([Path])) || Path <- Others].

one_other_file_among_documents_is_enough_test() ->
    ?assert(needs([<<"README.md">>, <<"src/a.erl">>, <<"docs/x">>])).

no_files_need_none_test() ->
    ?assertNot(needs([])).

the_case_of_a_suffix_does_not_matter_that_of_docs_does_test() ->
    ?assertNot(needs([<<"README.MD">>, <<"a.TxT">>])),
    ?assert(needs([<<"Docs/a.html">>])).

docs_further_down_may_be_a_program_test() ->
    ?assert(needs([<<"src/docs/render.rs">>])),
    ?assertNot(needs([<<"src/docs/render.md">>])),
    ?assert(needs([<<"/home/me/docs/a.py">>])).

paths_are_worked_out_first_test() ->
    ?assertNot(needs([<<"./docs/a.html">>, <<"src/../docs/./b.css">>])),
    ?assert(needs([<<"docs/../a.erl">>])),
    ?assert(needs([<<"docs/x/../../a.erl">>])),
    ?assert(needs([<<"../docs/a.html">>])).

a_name_that_is_only_a_suffix_has_none_test() ->
    ?assert(needs([<<".md">>])),
    ?assertNot(needs([<<".notes.md">>])).

paths_may_be_strings_and_need_not_be_unicode_test() ->
    ?assertNot(needs(["README.md", "docs/\x{6587}.html"])),
    ?assertNot(needs([<<255, ".MD">>])),
    ?assert(needs([<<255, ".c">>])),
    ?assertError(_, needs([1])).
