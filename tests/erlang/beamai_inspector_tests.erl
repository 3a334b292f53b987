%% The inspector's page: whole, self-contained, and safe whatever it shows.
-module(beamai_inspector_tests).

-include_lib("eunit/include/eunit.hrl").

entry(Number) ->
    #{number => Number, kind => tool, name => <<"look">>, at => Number * 1000, duration_us => 500, outcome => ok, run_id => make_ref()}.

data(Id, Page) ->
    {match, [Json]} = re:run(Page, ["<script type='application/json' id='", Id, "'>(.*?)</script>"], [dotall, {capture, all_but_first, binary}]),
    {ok, Value} = beamai_json:decode(Json),
    Value.

the_page_has_what_it_was_given_test() ->
    Evil = <<"</script><script>alert(1)</script><!-- \\">>,
    Messages = [#{role => user, content => Evil}, #{role => assistant, content => <<>>, tool_calls => [#{id => <<"1">>, name => <<"look">>, args => #{<<"x">> => Evil}}]}],
    Conversation = beamai_conversation:add(Messages, beamai_conversation:new()),
    Calls = [(entry(1))#{input => #{<<"x">> => Evil}, rule => Evil}, (entry(2))#{input => {not_json, self()}}],
    Page = iolist_to_binary(beamai_inspector:page(#{title => Evil, calls => Calls, conversation => Conversation})),
    ?assertMatch([#{<<"input">> := #{<<"x">> := Evil}, <<"rule">> := Evil}, #{<<"input">> := <<"{not_json,", _/binary>>}], data("calls", Page)),
    ?assertMatch([#{<<"text">> := Evil}, #{<<"calls">> := [#{<<"name">> := <<"look">>}]}], data("messages", Page)),
    ?assertEqual(3, length(binary:matches(Page, <<"</script>">>))),
    %% Nothing is loaded from anywhere.
    ?assertEqual([], binary:matches(Page, [<<"http://">>, <<"https://">>, <<"src=">>, <<"href=">>, <<"@import">>])),
    ?assertError({bad_option, colour}, beamai_inspector:page(#{colour => red})).

many_calls_are_written_quickly_test_() ->
    {timeout, 60, fun() ->
        beamai_test:in_workspace(fun(Dir) ->
            File = filename:join(Dir, "page.html"),
            ok = beamai_inspector:write(File, #{calls => [entry(N) || N <- lists:seq(1, 20000)]}),
            ?assert(filelib:file_size(File) > 2000000)
        end)
    end}.
