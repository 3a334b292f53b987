%% The MCP client against real servers: tools, results, permissions, time.
-module(beamai_mcp_tests).

-include_lib("eunit/include/eunit.hrl").

-import(mcp_servers, [in_order/1, connect/1, connect/2, kernel/1, call/3, call/4, close/1, work/2, flush/0]).

real_servers_test_() ->
    in_order([
        {"a reference server", fun a_reference_server/0},
        {"the reference server for files", fun the_reference_server_for_files/0},
        {"our own server", fun our_own_server/0},
        {"permissions", fun servers_are_asked_about_by_default/0},
        {"annotations", fun annotations_are_believed_only_on_request/0},
        {"filters", fun filters_timeouts_and_retries_hold/0},
        {"progress", fun progress_reaches_the_context/0}
    ]).

%% Starting the server takes more than a second, so tests that only call its tools share one.
one_server_test_() ->
    Tests = [
        {"what is structured", fun what_is_structured_comes_as_it_is/1},
        {"schemas", fun schemas_of_any_kind_reach_models_and_are_checked/1},
        {"plain parameters", fun plain_parameters_are_checked_as_those_of_any_tool/1},
        {"errors", fun a_tool_that_fails_says_why/1},
        {"images", fun images_come_as_the_protocol_has_them/1},
        {"names", fun names_that_providers_refuse_are_mapped/1},
        {"together", fun many_calls_run_at_once/1},
        {"long texts", fun long_texts_are_cut_and_say_so/1}
    ],
    Shared = fun({_, Kernel}) -> in_order([{Name, fun() -> Test(Kernel) end} || {Name, Test} <- Tests]) end,
    {setup, fun python/0, fun({Options, _}) -> close(Options) end, Shared}.

%%% Tools and results

a_reference_server() ->
    Options = mcp_servers:everything(),
    Kernel = connect(Options),
    Names = [Name || #{name := Name} <- beamai_kernel:list_tools(Kernel)],
    ?assert(lists:member(<<"mcp__everything__echo">>, Names)),
    ?assert(length(Names) >= 10),
    ?assertEqual({ok, #{<<"text">> => <<"Echo: hé"/utf8>>}}, call(Kernel, <<"mcp__everything__echo">>, #{message => <<"hé"/utf8>>})),
    ?assertMatch(
        {ok, #{<<"text">> := <<"The sum of 2 and 40 is 42.">>}},
        call(Kernel, <<"mcp__everything__get-sum">>, #{<<"a">> => 2, <<"b">> => 40})
    ),
    ?assertMatch(
        {ok, #{<<"structured">> := #{<<"temperature">> := _}}},
        call(Kernel, <<"mcp__everything__get-structured-content">>, #{<<"location">> => <<"Chicago">>})
    ),
    ?assertMatch(
        {ok, #{<<"content">> := [#{<<"type">> := <<"resource">>, <<"resource">> := #{<<"uri">> := _}} | _]}},
        call(Kernel, <<"mcp__everything__get-resource-reference">>, #{})
    ),
    [
        ?assert(is_binary(beamai_tool:encode_schema(Spec, Provider, #{strict => true})))
     || Spec <- beamai_kernel:get_tool_specs(Kernel), Provider <- [openai, openai_responses, anthropic, gemini, mcp]
    ],
    close(Options).

the_reference_server_for_files() ->
    beamai_test:in_workspace(fun(Dir) ->
        ok = file:write_file(filename:join(Dir, "a.txt"), "one\ntwo\n"),
        Options = mcp_servers:filesystem(Dir),
        Kernel = connect(Options, #{workspace => Dir}),
        Path = fun(Name) -> #{<<"path">> => filename:join(Dir, Name)} end,
        {ok, #{<<"structured">> := #{<<"content">> := <<"one\ntwo\n">>}}} =
            call(Kernel, <<"mcp__files__read_text_file">>, Path("a.txt")),
        Write = (Path("b.txt"))#{<<"content">> => <<"three">>},
        {ok, _} = call(Kernel, <<"mcp__files__write_file">>, Write),
        ?assertEqual({ok, <<"three">>}, file:read_file(filename:join(Dir, "b.txt"))),
        {error, #{error_type := execution_failed, details := #{reason := tool_failed}, message := Message}} =
            call(Kernel, <<"mcp__files__read_text_file">>, #{<<"path">> => <<"/etc/hostname">>}),
        ?assertMatch({match, _}, re:run(Message, "outside allowed", [caseless])),
        close(Options)
    end).

our_own_server() ->
    beamai_test:in_workspace(fun(Dir) ->
        Options = mcp_servers:own(Dir),
        Kernel = connect(Options, #{workspace => Dir}),
        Native = beamai_kernel:add_tool_module(beamai_kernel:new(#{workspace => Dir}), beamai_tool_file),
        {ok, #{parameters := Parameters}} = beamai_kernel:find_tool(Native, <<"file_read">>),
        {ok, #{parameters := Served}} = beamai_kernel:find_tool(Kernel, <<"mcp__own__file_read">>),
        %% Clients are told less: what names say is not described, and lower bounds of one are left out. JSON has the order
        %% that positions stand for.
        Less = [description, position, self_evident, minimum],
        Told = fun(All) -> maps:map(fun(_Name, Param) -> maps:without(Less, Param) end, All) end,
        ?assertEqual(Told(Parameters), Told(Served)),
        Write = #{<<"path">> => <<"a">>, <<"content">> => <<"one\n">>},
        {ok, #{<<"structured">> := #{<<"operation">> := <<"created">>}}} = call(Kernel, <<"mcp__own__file_write">>, Write),
        ?assertEqual({ok, <<"one\n">>}, file:read_file(filename:join(Dir, "a"))),
        ?assertMatch(
            {error, #{error_type := execution_failed, details := #{reason := tool_failed}}},
            call(Kernel, <<"mcp__own__file_read">>, #{<<"path">> => <<"b">>})
        ),
        close(Options)
    end).

what_is_structured_comes_as_it_is(Kernel) ->
    ?assertEqual({ok, #{<<"structured">> => #{<<"sum">> => 3}}}, call(Kernel, <<"mcp__python__add">>, #{<<"a">> => 2})),
    {ok, #{metadata := #{output_schema := Schema}}} = beamai_kernel:find_tool(Kernel, <<"mcp__python__add">>),
    ?assertMatch(
        #{<<"properties">> := #{<<"structured">> := #{<<"properties">> := #{<<"sum">> := #{<<"type">> := <<"integer">>}}}}},
        Schema
    ).

schemas_of_any_kind_reach_models_and_are_checked(Kernel) ->
    Name = <<"mcp__python__describe">>,
    {ok, #{input_schema := Schema} = Spec} = beamai_kernel:find_tool(Kernel, Name),
    ?assertNot(is_map_key(parameters, Spec)),
    {ok, OpenAi} = beamai_json:decode(beamai_tool:encode_schema(Spec, openai, #{strict => true})),
    #{<<"function">> := #{<<"parameters">> := Sent} = Function} = OpenAi,
    ?assertEqual(Schema, Sent),
    ?assertNot(is_map_key(<<"strict">>, Function)),
    ?assertMatch(
        #{<<"input_schema">> := #{'$defs' := #{<<"Point">> := #{type := object}}, properties := #{<<"thing">> := #{anyOf := [_, _]}}}},
        beamai_tool:to_tool_schema(Spec, anthropic)
    ),
    {ok, #{<<"parametersJsonSchema">> := Schema}} = beamai_json:decode(beamai_tool:encode_schema(Spec, gemini, #{})),
    Prompt = beamai_protocol:system_prompt(Kernel),
    {ok, Json} = beamai_json:encode(maps:get(<<"$defs">>, Schema)),
    ?assertNotEqual(nomatch, binary:match(Prompt, Json)),
    Place = #{<<"x">> => 1, <<"y">> => 2.5},
    ?assertEqual(
        {ok, #{<<"text">> => <<"int 7 at 1.0, 2.5">>}}, call(Kernel, Name, #{<<"thing">> => 7, <<"place">> => Place})
    ),
    ?assertMatch({ok, #{<<"text">> := <<"str seven", _/binary>>}}, call(Kernel, Name, #{thing => <<"seven">>, place => Place})),
    {error, #{error_type := invalid_input, message := Message}} =
        call(Kernel, Name, #{<<"thing">> => [], <<"place">> => #{<<"x">> => <<"far">>}}),
    [
        ?assertNotEqual({Part, nomatch}, {Part, binary:match(Message, Part)})
     || Part <- [<<"\"thing\" must be">>, <<"\"place.x\" must be number, not \"far\"">>, <<"\"place.y\" is missing">>]
    ].

plain_parameters_are_checked_as_those_of_any_tool(Kernel) ->
    {ok, #{parameters := Parameters}} = beamai_kernel:find_tool(Kernel, <<"mcp__python__add">>),
    ?assertEqual(
        #{<<"a">> => #{type => integer, required => true}, <<"b">> => #{type => integer, required => false, default => 1}},
        Parameters
    ),
    ?assertMatch(
        {error, #{error_type := invalid_input, message := <<"\"c\" is not an argument; \"a\" is missing (integer)", _/binary>>}},
        call(Kernel, <<"mcp__python__add">>, #{<<"c">> => 1})
    ).

a_tool_that_fails_says_why(Kernel) ->
    {error, Error} = call(Kernel, <<"mcp__python__fail">>, #{<<"text">> => <<"the disk is full">>}),
    ?assertMatch(
        #{tool := <<"mcp__python__fail">>, error_type := execution_failed, details := #{reason := tool_failed}}, Error
    ),
    ?assertNotEqual(nomatch, binary:match(maps:get(message, Error), <<"the disk is full">>)).

images_come_as_the_protocol_has_them(Kernel) ->
    ?assertEqual(
        {ok, #{
            <<"text">> => <<"a dot">>,
            <<"content">> => [
                #{<<"type">> => <<"image">>, <<"data">> => base64:encode(<<137, "PNG">>), <<"mimeType">> => <<"image/png">>}
            ]
        }},
        call(Kernel, <<"mcp__python__picture">>, #{})
    ).

names_that_providers_refuse_are_mapped(Kernel) ->
    Name = <<"mcp__python__admin_files_list">>,
    ?assertEqual({ok, #{<<"text">> => <<"listed">>}}, call(Kernel, Name, #{})),
    {ok, #{metadata := Metadata}} = beamai_kernel:find_tool(Kernel, Name),
    ?assertMatch(#{mcp_tool := <<"admin.files/list">>}, Metadata),
    ?assertEqual(
        [<<"mcp__python__", (Own)/binary>> || Own <- [<<"add">>, <<"admin_files_list">>]],
        [N || #{name := N} <- lists:sublist(beamai_kernel:tools_by_tag(Kernel, <<"mcp__python">>), 2)]
    ).

%%% Permissions, filters, time

servers_are_asked_about_by_default() ->
    Options = (mcp_servers:python())#{sandbox => best_effort},
    {ok, Connection} = beamai_mcp:connect(Options),
    Name = <<"mcp__python__add">>,
    With = fun(Permissions) -> beamai_mcp:add(kernel(Permissions), Connection) end,
    Outcome = fun(Permissions) ->
        case call(With(Permissions), Name, #{<<"a">> => 1}) of
            {ok, _} -> ok;
            {error, #{details := #{reason := Reason, matched_rule := Rule}}} -> {Reason, Rule}
        end
    end,
    ?assertEqual({needs_approval, null}, Outcome(#{})),
    ?assertEqual(ok, Outcome(#{allow => [Name]})),
    ?assertEqual(ok, Outcome(#{allow => [<<"mcp__python__*">>], default => deny})),
    ?assertEqual(ok, Outcome(#{allow => [<<"mcp__python">>]})),
    ?assertEqual({denied, <<"mcp__python">>}, Outcome(#{allow => [Name], deny => [<<"mcp__python">>]})),
    ?assertEqual({needs_approval, null}, Outcome(#{allow => [<<"mcp__pyth">>, <<"mcp__python__ad">>]})),
    ?assertMatch(
        #{verdict := ask, matched_rule := <<"mcp__python__*">>},
        beamai_permission:explain(With(#{default => allow, ask => [<<"mcp__python__*">>]}), Name, #{<<"a">> => 1})
    ),
    Self = self(),
    Approve = fun(Request) ->
        Self ! Request,
        allow
    end,
    {ok, _} = call(With(#{}), Name, #{<<"a">> => 1}, #{approve => Approve}),
    receive
        #{tool := Name, subject := Name, args := #{<<"a">> := 1}} -> ok
    end,
    close(Options).

annotations_are_believed_only_on_request() ->
    Options = mcp_servers:hostile("liar"),
    Verdict = fun(Trusts, Name) ->
        {ok, Kernel} = beamai_mcp:connect(Options#{kernel => kernel(#{}), trust_annotations => Trusts}),
        {ok, #{metadata := #{read_only := ReadOnly}}} = beamai_kernel:find_tool(Kernel, Name),
        #{verdict := Verdict} = beamai_permission:explain(Kernel, Name, #{}),
        {Verdict, ReadOnly}
    end,
    ?assertEqual({ask, false}, Verdict(false, <<"mcp__hostile__wipe">>)),
    ?assertEqual({allow, true}, Verdict(true, <<"mcp__hostile__wipe">>)),
    ?assertEqual({ask, false}, Verdict(true, <<"mcp__hostile__plain">>)),
    close(Options).

filters_timeouts_and_retries_hold() ->
    Options = (mcp_servers:hostile("silent"))#{timeout => 300, retry => #{max => 1, delay => 1}, filters => [count]},
    Self = self(),
    Filter = beamai_filter:new(count, fun(Call, Next) ->
        Self ! filtered,
        Next(Call)
    end),
    Kernel = beamai_kernel:add_filter(connect(Options), Filter, #{scope => by_name}),
    Started = erlang:monotonic_time(millisecond),
    ?assertMatch({error, #{error_type := timeout}}, call(Kernel, <<"mcp__hostile__go">>, #{})),
    ?assert(erlang:monotonic_time(millisecond) - Started >= 600),
    ?assertEqual([filtered], beamai_test:mailbox()),
    receive filtered -> ok end,
    close(Options).

many_calls_run_at_once(Kernel) ->
    Numbers = lists:seq(1, 50),
    Calls = [{<<"mcp__python__add">>, #{<<"a">> => N, <<"b">> => 0}} || N <- Numbers],
    {Outcomes, _} = beamai_kernel:invoke_all(Kernel, Calls, #{}),
    ?assertEqual([{ok, #{<<"structured">> => #{<<"sum">> => N}}} || N <- Numbers], Outcomes).

long_texts_are_cut_and_say_so(Kernel) ->
    Text = binary:copy(<<"0123456789">>, 300000),
    {ok, #{<<"text">> := Cut, <<"truncated">> := true, <<"text_bytes">> := 3000000}} =
        call(Kernel, <<"mcp__python__remember">>, #{<<"text">> => Text}),
    ?assertEqual({1 bsl 20, 0}, {byte_size(Cut), element(1, binary:match(Text, Cut))}).

progress_reaches_the_context() ->
    Options = mcp_servers:python(),
    beamai_test:in_workspace(fun(Dir) ->
        Args = work(Dir, 0.4),
        {ok, #{<<"text">> := <<"done">>}} =
            call(connect(Options, #{workspace => Dir}), <<"mcp__python__work">>, Args, #{progress => self(), run_id => r}),
        Told = [Progress || {beamai_progress, r, Progress} <- beamai_test:mailbox()],
        ?assertEqual([0.0, 1.0, 2.0, 3.0], [Part * 1.0 || #{<<"progress">> := Part} <- Told]),
        ?assertMatch(#{<<"tool">> := <<"mcp__python__work">>, <<"message">> := <<"part 0">>}, hd(Told)),
        flush(),
        close(Options)
    end).

python() ->
    mcp_servers:connected(mcp_servers:python()).
