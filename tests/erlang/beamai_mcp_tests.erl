%% The MCP client against real servers.
-module(beamai_mcp_tests).

-include_lib("eunit/include/eunit.hrl").

-import(mcp_servers, [connect/1, connect/2, kernel/1, call/3, call/4, processes/1, gone/1]).

real_servers_test_() ->
    {inorder, [
        slow(Name, Test)
     || {Name, Test} <- [
            {"a reference server", fun a_reference_server/0},
            {"the reference server for files", fun the_reference_server_for_files/0},
            {"our own server", fun our_own_server/0},
            {"what is structured", fun what_is_structured_comes_as_it_is/0},
            {"schemas", fun schemas_of_any_kind_reach_models_and_are_checked/0},
            {"plain parameters", fun plain_parameters_are_checked_as_those_of_any_tool/0},
            {"errors", fun a_tool_that_fails_says_why/0},
            {"images", fun images_come_as_the_protocol_has_them/0},
            {"names", fun names_that_providers_refuse_are_mapped/0},
            {"permissions", fun servers_are_asked_about_by_default/0},
            {"annotations", fun annotations_are_believed_only_on_request/0},
            {"filters", fun filters_timeouts_and_retries_hold/0},
            {"together", fun many_calls_run_at_once/0},
            {"long texts", fun long_texts_are_cut_and_say_so/0},
            {"progress", fun progress_reaches_the_context/0},
            {"cancel", fun a_cancelled_call_is_cancelled_in_the_server/0},
            {"timeout", fun a_call_that_takes_too_long_is_cancelled_in_the_server/0},
            {"caller", fun a_call_ends_with_its_caller/0},
            {"questions", fun questions_reach_the_user/0},
            {"no user", fun without_a_user_questions_are_declined/0},
            {"several calls", fun a_question_during_several_calls_is_declined/0},
            {"time", fun the_time_of_a_question_does_not_count/0},
            {"death", fun a_server_that_dies_is_started_again/0},
            {"port", fun a_port_that_dies_takes_its_servers_and_both_come_back/0},
            {"close", fun a_closed_server_is_gone/0},
            {"sharing", fun equal_settings_share_a_process/0},
            {"environment", fun a_server_sees_what_it_is_given/0},
            {"confinement", fun a_server_is_confined_as_commands_are/0},
            {"news", fun tools_that_change_are_seen_on_refresh/0},
            {"data", fun a_connection_is_plain_data/0},
            {"without a kernel", fun a_tool_runs_without_a_kernel/0},
            {"agent", fun an_agent_calls_tools_of_a_server/0}
        ]
    ]}.

slow(Name, Test) ->
    {Name, {timeout, 120, Test}}.

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
        ?assertMatch({ok, #{parameters := Parameters}}, beamai_kernel:find_tool(Kernel, <<"mcp__own__file_read">>)),
        Write = #{<<"path">> => <<"a">>, <<"content">> => <<"one\n">>},
        {ok, #{<<"structured">> := #{<<"operation">> := <<"created">>}}} = call(Kernel, <<"mcp__own__file_write">>, Write),
        ?assertEqual({ok, <<"one\n">>}, file:read_file(filename:join(Dir, "a"))),
        ?assertMatch(
            {error, #{error_type := execution_failed, details := #{reason := tool_failed}}},
            call(Kernel, <<"mcp__own__file_read">>, #{<<"path">> => <<"b">>})
        ),
        close(Options)
    end).

what_is_structured_comes_as_it_is() ->
    {Options, Kernel} = python(),
    ?assertEqual({ok, #{<<"structured">> => #{<<"sum">> => 3}}}, call(Kernel, <<"mcp__python__add">>, #{<<"a">> => 2})),
    {ok, #{metadata := #{output_schema := Schema}}} = beamai_kernel:find_tool(Kernel, <<"mcp__python__add">>),
    ?assertMatch(
        #{<<"properties">> := #{<<"structured">> := #{<<"properties">> := #{<<"sum">> := #{<<"type">> := <<"integer">>}}}}},
        Schema
    ),
    close(Options).

schemas_of_any_kind_reach_models_and_are_checked() ->
    {Options, Kernel} = python(),
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
    ],
    close(Options).

plain_parameters_are_checked_as_those_of_any_tool() ->
    {Options, Kernel} = python(),
    {ok, #{parameters := Parameters}} = beamai_kernel:find_tool(Kernel, <<"mcp__python__add">>),
    ?assertEqual(
        #{<<"a">> => #{type => integer, required => true}, <<"b">> => #{type => integer, required => false, default => 1}},
        Parameters
    ),
    ?assertMatch(
        {error, #{error_type := invalid_input, message := <<"\"c\" is not an argument; \"a\" is missing (integer)", _/binary>>}},
        call(Kernel, <<"mcp__python__add">>, #{<<"c">> => 1})
    ),
    close(Options).

a_tool_that_fails_says_why() ->
    {Options, Kernel} = python(),
    {error, Error} = call(Kernel, <<"mcp__python__fail">>, #{<<"text">> => <<"the disk is full">>}),
    ?assertMatch(
        #{tool := <<"mcp__python__fail">>, error_type := execution_failed, details := #{reason := tool_failed}}, Error
    ),
    ?assertNotEqual(nomatch, binary:match(maps:get(message, Error), <<"the disk is full">>)),
    close(Options).

images_come_as_the_protocol_has_them() ->
    {Options, Kernel} = python(),
    ?assertEqual(
        {ok, #{
            <<"text">> => <<"a dot">>,
            <<"content">> => [
                #{<<"type">> => <<"image">>, <<"data">> => base64:encode(<<137, "PNG">>), <<"mimeType">> => <<"image/png">>}
            ]
        }},
        call(Kernel, <<"mcp__python__picture">>, #{})
    ),
    close(Options).

names_that_providers_refuse_are_mapped() ->
    {Options, Kernel} = python(),
    Name = <<"mcp__python__admin_files_list">>,
    ?assertEqual({ok, #{<<"text">> => <<"listed">>}}, call(Kernel, Name, #{})),
    {ok, #{metadata := Metadata}} = beamai_kernel:find_tool(Kernel, Name),
    ?assertMatch(#{mcp_tool := <<"admin.files/list">>}, Metadata),
    ?assertEqual(
        [<<"mcp__python__", (Own)/binary>> || Own <- [<<"add">>, <<"admin_files_list">>]],
        [N || #{name := N} <- lists:sublist(beamai_kernel:tools_by_tag(Kernel, <<"mcp__python">>), 2)]
    ),
    close(Options).

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

many_calls_run_at_once() ->
    {Options, Kernel} = python(),
    Numbers = lists:seq(1, 50),
    Calls = [{<<"mcp__python__add">>, #{<<"a">> => N, <<"b">> => 0}} || N <- Numbers],
    {Outcomes, _} = beamai_kernel:invoke_all(Kernel, Calls, #{}),
    ?assertEqual([{ok, #{<<"structured">> => #{<<"sum">> => N}}} || N <- Numbers], Outcomes),
    close(Options).

long_texts_are_cut_and_say_so() ->
    {Options, Kernel} = python(),
    Text = binary:copy(<<"0123456789">>, 300000),
    {ok, #{<<"text">> := Cut, <<"truncated">> := true, <<"text_bytes">> := 3000000}} =
        call(Kernel, <<"mcp__python__remember">>, #{<<"text">> => Text}),
    ?assertEqual({1 bsl 20, 0}, {byte_size(Cut), element(1, binary:match(Text, Cut))}),
    close(Options).

progress_reaches_the_context() ->
    {Options, Kernel} = python(),
    beamai_test:in_workspace(fun(Dir) ->
        Args = work(Dir, 0.4),
        {ok, #{<<"text">> := <<"done">>}} =
            call(connect(Options, #{workspace => Dir}), <<"mcp__python__work">>, Args, #{progress => self(), run_id => r}),
        Told = [Progress || {beamai_progress, r, Progress} <- beamai_test:mailbox()],
        ?assertEqual([0.0, 1.0, 2.0, 3.0], [Part * 1.0 || #{<<"progress">> := Part} <- Told]),
        ?assertMatch(#{<<"tool">> := <<"mcp__python__work">>, <<"message">> := <<"part 0">>}, hd(Told)),
        flush()
    end),
    ?assert(is_map(Kernel)),
    close(Options).

a_cancelled_call_is_cancelled_in_the_server() ->
    cancelled(fun(Kernel, Args, Started) ->
        Self = self(),
        Call = spawn_link(fun() -> Self ! {self(), call(Kernel, <<"mcp__python__work">>, Args, #{run_id => mcp})} end),
        Started(),
        ok = beamai_kernel:cancel(mcp),
        receive
            {Call, Outcome} ->
                ?assertMatch({error, #{error_type := execution_failed, details := #{reason := cancelled}}}, Outcome)
        end
    end).

a_call_that_takes_too_long_is_cancelled_in_the_server() ->
    cancelled(fun(Kernel, Args, _Started) ->
        Short = beamai_kernel:replace_tool(
            Kernel, (element(2, beamai_kernel:find_tool(Kernel, <<"mcp__python__work">>)))#{timeout => 3000}
        ),
        ?assertMatch({error, #{error_type := timeout}}, call(Short, <<"mcp__python__work">>, Args))
    end).

a_call_ends_with_its_caller() ->
    cancelled(fun(Kernel, Args, Started) ->
        {Caller, Monitor} = spawn_monitor(fun() -> call(Kernel, <<"mcp__python__work">>, Args) end),
        Started(),
        exit(Caller, kill),
        receive {'DOWN', Monitor, process, Caller, _} -> ok end
    end).

%% The server notices, and goes on with its other work.
cancelled(Do) ->
    beamai_test:in_workspace(fun(Dir) ->
        Options = mcp_servers:python(),
        Kernel = connect(Options, #{workspace => Dir, default_timeout => infinity}),
        {ok, _} = call(Kernel, <<"mcp__python__remember">>, #{<<"text">> => <<"before">>}),
        #{<<"file">> := File} = Args = work(Dir, 60),
        Is = fun(Text) -> beamai_test:eventually(fun() -> file:read_file(File) =:= {ok, Text} end) end,
        Do(Kernel, Args, fun() -> Is(<<"working">>) end),
        Is(<<"cancelled">>),
        ?assertEqual(
            {ok, #{<<"text">> => <<"before after">>}}, call(Kernel, <<"mcp__python__remember">>, #{<<"text">> => <<"after">>})
        ),
        close(Options)
    end).

%%% Questions

questions_reach_the_user() ->
    {Options, Kernel} = python(),
    Self = self(),
    Ask = fun(Answer) ->
        fun(Questions) ->
            Self ! {asked, self(), Questions},
            Answer(Questions)
        end
    end,
    Answers = fun(Given) ->
        Ask(fun(Questions) -> {ok, maps:from_list(lists:zip([Q || #{<<"question">> := Q} <- Questions], Given))} end)
    end,
    Order = fun(AskUser) ->
        {ok, #{<<"text">> := Text}} = call(Kernel, <<"mcp__python__order">>, #{}, #{ask_user => AskUser}),
        Text
    end,
    ?assertEqual(<<"2 x soup">>, Order(Answers([<<"soup">>, <<"2">>]))),
    receive
        {asked, Self, [#{<<"question">> := Question}, _]} ->
            ?assertMatch(<<"What do you want to eat?\n", _/binary>>, Question)
    end,
    ?assertEqual(<<"1 x soup">>, Order(Answers([<<"soup">>, <<"-">>]))),
    ?assertEqual(<<"decline">>, Order(Answers([<<"soup">>, <<"many">>]))),
    ?assertEqual(<<"cancel">>, Order(Ask(fun(_) -> cancelled end))),
    ?assertEqual(<<"cancel">>, Order(Ask(fun(_) -> {ok, #{<<"other">> => {no, text}}} end))),
    ?assertEqual(<<"cancel">>, Order(Ask(fun(_) -> error(oops) end))),
    flush(),
    close(Options).

without_a_user_questions_are_declined() ->
    {Options, Kernel} = python(),
    ?assertEqual({ok, #{<<"text">> => <<"decline">>}}, call(Kernel, <<"mcp__python__order">>, #{})),
    close(Options).

%% Nobody can know whose question it is.
a_question_during_several_calls_is_declined() ->
    beamai_test:in_workspace(fun(Dir) ->
        Options = mcp_servers:python(),
        Kernel = connect(Options, #{workspace => Dir}),
        #{<<"file">> := File} = Args = work(Dir, 60),
        AskUser = fun(Questions) -> {ok, maps:from_list([{Q, <<"1">>} || #{<<"question">> := Q} <- Questions])} end,
        {Caller, Monitor} = spawn_monitor(fun() ->
            call(Kernel, <<"mcp__python__work">>, Args, #{ask_user => AskUser})
        end),
        beamai_test:eventually(fun() -> file:read_file(File) =:= {ok, <<"working">>} end),
        ?assertEqual({ok, #{<<"text">> => <<"decline">>}}, call(Kernel, <<"mcp__python__order">>, #{}, #{ask_user => AskUser})),
        exit(Caller, kill),
        receive {'DOWN', Monitor, process, Caller, _} -> ok end,
        close(Options)
    end).

the_time_of_a_question_does_not_count() ->
    Options = (mcp_servers:python())#{timeout => 1500},
    Kernel = connect(Options),
    {ok, _} = call(Kernel, <<"mcp__python__add">>, #{<<"a">> => 1}),
    Slow = fun(Questions) ->
        timer:sleep(2500),
        {ok, maps:from_list([{Q, <<"1">>} || #{<<"question">> := Q} <- Questions])}
    end,
    ?assertEqual({ok, #{<<"text">> => <<"1 x 1">>}}, call(Kernel, <<"mcp__python__order">>, #{}, #{ask_user => Slow})),
    close(Options).

%%% Processes

a_server_that_dies_is_started_again() ->
    {Options, Kernel} = python(),
    Remember = fun() -> call(Kernel, <<"mcp__python__remember">>, #{<<"text">> => <<"x">>}) end,
    {ok, #{<<"text">> := <<"x">>}} = Remember(),
    {ok, #{<<"text">> := <<"x x">>}} = Remember(),
    {error, #{error_type := execution_failed, message := Message, details := Details}} =
        call(Kernel, <<"mcp__python__die">>, #{}),
    ?assertMatch(#{reason := mcp_server, stderr := _}, Details),
    [
        ?assertNotEqual({Part, nomatch}, {Part, binary:match(Message, Part)})
     || Part <- [<<"MCP server python">>, <<"code 3">>, <<"my last words">>, <<"starts it again">>]
    ],
    ?assertEqual({ok, #{<<"text">> => <<"x">>}}, Remember()),
    close(Options).

a_port_that_dies_takes_its_servers_and_both_come_back() ->
    {Options, Kernel} = python(),
    ?assertMatch([_ | _], processes(Options)),
    {ok, Owner, Port} = beamai_port:connect(),
    Monitor = erlang:monitor(process, Owner),
    {os_pid, OsPid} = erlang:port_info(Port, os_pid),
    _ = os:cmd("kill -KILL " ++ integer_to_list(OsPid)),
    receive {'DOWN', Monitor, process, Owner, _} -> ok end,
    gone(Options),
    ?assertEqual({ok, #{<<"structured">> => #{<<"sum">> => 2}}}, call(Kernel, <<"mcp__python__add">>, #{<<"a">> => 1})),
    close(Options).

a_closed_server_is_gone() ->
    [
        begin
            {ok, Connection} = beamai_mcp:connect(Options#{sandbox => best_effort}),
            ?assertMatch([_ | _], processes(Options)),
            ?assertEqual(ok, beamai_mcp:close(Connection)),
            ?assertEqual([], processes(Options)),
            ?assertEqual(ok, beamai_mcp:close(Connection))
        end
     || Options <- [mcp_servers:python(), mcp_servers:hostile("stays")]
    ].

equal_settings_share_a_process() ->
    Options = mcp_servers:python(),
    [One, Two] = [connect(Options), connect(Options#{trust_annotations => true, timeout => 5000})],
    Remember = fun(Kernel, Text) -> call(Kernel, <<"mcp__python__remember">>, #{<<"text">> => Text}) end,
    {ok, #{<<"text">> := <<"a">>}} = Remember(One, <<"a">>),
    ?assertEqual({ok, #{<<"text">> => <<"a b">>}}, Remember(Two, <<"b">>)),
    beamai_test:in_workspace(fun(Dir) ->
        Three = connect(Options, #{workspace => Dir}),
        ?assertEqual({ok, #{<<"text">> => <<"c">>}}, Remember(Three, <<"c">>))
    end),
    close(Options).

a_server_sees_what_it_is_given() ->
    true = os:putenv("MCP_SECRET", "s3cret"),
    beamai_test:in_workspace(fun(Dir) ->
        ok = file:make_dir(filename:join(Dir, "below")),
        Options = (mcp_servers:python())#{env => #{'TOKEN' => <<"t">>}, cwd => "below"},
        {ok, #{<<"structured">> := Told}} = call(connect(Options, #{workspace => Dir}), <<"mcp__python__whoami">>, #{}),
        ?assertEqual(filename:join(Dir, "below"), maps:get(<<"cwd">>, Told)),
        ?assertMatch(#{<<"env TOKEN">> := <<"t">>, <<"env PATH">> := _}, Told),
        ?assertNot(is_map_key(<<"env MCP_SECRET">>, Told)),
        {error, #{details := #{reason := outside_workspace}}} =
            beamai_mcp:connect(Options#{cwd => "..", workspace => Dir, sandbox => best_effort}),
        close(Options)
    end),
    os:unsetenv("MCP_SECRET").

a_server_is_confined_as_commands_are() ->
    beamai_test:in_workspace(fun(Dir) ->
        Elsewhere = beamai_test:workspace(),
        ok = file:write_file(filename:join(Dir, "secret.txt"), "s3cret"),
        Options = mcp_servers:python(),
        Kernel = connect(Options, #{
            workspace => Dir, sandbox => required, permissions => #{default => allow, deny => [<<"Read(secret.txt)">>]}
        }),
        Write = fun(Place) ->
            Path = filename:join(Place, "new"),
            call(Kernel, <<"mcp__python__write">>, #{<<"file">> => Path, <<"text">> => <<"x">>}),
            filelib:is_regular(Path)
        end,
        ?assertEqual({true, false}, {Write(Dir), Write(Elsewhere)}),
        case call(Kernel, <<"mcp__python__read">>, #{<<"file">> => filename:join(Dir, "secret.txt")}) of
            {ok, #{<<"text">> := Text}} -> ?assertEqual(<<>>, Text);
            {error, #{details := #{reason := tool_failed}}} -> ok
        end,
        beamai_test:remove(Elsewhere),
        close(Options)
    end).

tools_that_change_are_seen_on_refresh() ->
    Options = (mcp_servers:python())#{sandbox => best_effort},
    {ok, Connection} = beamai_mcp:connect(Options),
    ?assertMatch(#{name := <<"python">>, version := <<"1.2.3">>, instructions := <<"Tools for tests.">>}, beamai_mcp:info(Connection)),
    Has = fun(C) -> lists:member(<<"mcp__python__add">>, [Name || #{name := Name} <- beamai_mcp:tools(C)]) end,
    ?assert(Has(Connection)),
    Kernel = beamai_mcp:add(kernel(#{default => allow}), Connection),
    {ok, #{<<"text">> := <<"swapped">>}} = call(Kernel, <<"mcp__python__swap">>, #{}),
    ?assertMatch(
        {error, #{error_type := not_found, details := #{reason := unknown_tool}}},
        call(Kernel, <<"mcp__python__add">>, #{<<"a">> => 1})
    ),
    {ok, After} = beamai_mcp:refresh(Connection),
    ?assertNot(Has(After)),
    ?assertEqual(length(beamai_mcp:tools(Connection)) - 1, length(beamai_mcp:tools(After))),
    close(Options).

a_connection_is_plain_data() ->
    Options = (mcp_servers:python())#{sandbox => best_effort},
    {ok, Connection} = beamai_mcp:connect(Options),
    Stored = binary_to_term(term_to_binary(Connection), [safe]),
    ?assertEqual(Connection, Stored),
    Kernel = binary_to_term(term_to_binary(beamai_mcp:add(kernel(#{default => allow}), Stored)), [safe]),
    ?assertMatch({ok, _}, call(Kernel, <<"mcp__python__add">>, #{<<"a">> => 1})),
    ?assertError({duplicate_tool, <<"mcp__python__add">>}, beamai_mcp:add(Kernel, Connection)),
    close(Options).

a_tool_runs_without_a_kernel() ->
    Options = (mcp_servers:python())#{sandbox => best_effort, trust_annotations => true},
    {ok, Connection} = beamai_mcp:connect(Options),
    [Add] = [Spec || #{name := <<"mcp__python__add">>} = Spec <- beamai_mcp:tools(Connection)],
    ?assertEqual({ok, #{<<"structured">> => #{<<"sum">> => 8}}}, beamai_tool:invoke(Add, #{<<"a">> => 7})),
    {ok, Nif} = beamai_mcp:connect(Options#{kernel => beamai_kernel:new(#{door => nif, sandbox => best_effort})}),
    ?assertMatch(
        {error, #{details := #{reason := door_lost}}}, call(Nif, <<"mcp__python__add">>, #{<<"a">> => 7})
    ),
    close(Options).

an_agent_calls_tools_of_a_server() ->
    {Options, Kernel} = python(),
    Turns = [
        #{tool_calls => [{<<"mcp__python__add">>, #{<<"a">> => 20, <<"b">> => 22}}, {<<"mcp__python__describe">>, #{<<"thing">> => []}}]},
        fun(#{messages := Messages}) -> lists:last([C || #{role := tool, content := C} <- lists:droplast(Messages)]) end
    ],
    {ok, Agent} = beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => Turns}), kernel => Kernel}),
    {ok, #{content := Content, tool_calls := 2}, _} = beamai_agent:run(Agent, <<"Add.">>),
    ?assertMatch({match, _}, re:run(Content, "42")),
    close(Options).

%%% Servers that misbehave

hostile_servers_test_() ->
    [
        {Mode, {timeout, 120, fun() -> misbehaves(Mode, Check) end}}
     || {Mode, Check} <- [
            {"garbage", {answers, <<"still here">>}},
            {"broken", {fails, mcp_server, <<"cannot be read">>}},
            {"noise", {fails, mcp_server, <<"10000 lines that are no messages">>}},
            {"long", {fails, mcp_server, <<"more than 33554432 bytes">>}},
            {"flood", {answers, <<"flooded">>}},
            {"asks", {fails, mcp_server, <<"messages unread">>}},
            {"unknown", {fails, invalid_argument, <<"Unknown tool">>}},
            {"refuses", {fails, mcp_server, <<"out of order (-32000)">>}},
            {"nonsense", {fails, mcp_server, <<"no result of a tool">>}},
            {"roots", {answers, <<"[-32601, -32601]">>}},
            {"leaves", {fails, mcp_server, <<"out of memory">>}}
        ]
    ].

misbehaves(Mode, Check) ->
    Options = mcp_servers:hostile(Mode),
    Kernel = connect(Options, #{default_timeout => 60000}),
    ?assertEqual(2, length(beamai_kernel:list_tools(Kernel))),
    Outcome = call(Kernel, <<"mcp__hostile__go">>, #{}, #{progress => self()}),
    case Check of
        {answers, Text} ->
            ?assertEqual({ok, #{<<"text">> => Text}}, Outcome);
        {fails, Reason, Part} ->
            {error, #{message := Message, details := #{reason := Reason}}} = Outcome,
            ?assertNotEqual({Message, nomatch}, {Message, binary:match(Message, Part)})
    end,
    %% A server that reports without end does not fill the caller's mailbox.
    ?assert(length(beamai_test:mailbox()) < 5000),
    flush(),
    close(Options).

servers_that_do_not_start_test_() ->
    [
        {Mode, {timeout, 60, fun() -> refused(Mode, More, Part) end}}
     || {Mode, More, Part} <- [
            {"mute", #{start_timeout => 1500}, <<"not answered the first question within 1500 ms; its last words were: I say nothing">>},
            {"babble", #{}, <<"exited with code 1; it wrote \"Welcome to the server!\" where a message should be">>},
            {"rejects", #{}, <<"answers the first question with an error: -32603: not today">>},
            {"other", #{}, <<"answers the first question with something else">>},
            {"twins", #{}, <<"two tools, \"a.b\" and \"a/b\", that would both be named mcp__hostile__a_b">>},
            {"deep", #{}, <<"64 levels">>},
            {"endless", #{}, <<"more than 200 pages">>},
            {"crowd", #{}, <<"more than 1000 tools">>},
            {"no_tools", #{}, <<"with something else">>}
        ]
    ].

refused(Mode, More, Part) ->
    Options = mcp_servers:hostile(Mode, More),
    {error, #{tool := <<"mcp__hostile">>, error_type := execution_failed, message := Message, details := Details}} =
        beamai_mcp:connect(Options#{sandbox => best_effort}),
    ?assertEqual(mcp_server, maps:get(reason, Details)),
    ?assertNotEqual({Message, nomatch}, {Message, binary:match(Message, Part)}),
    %% Nobody would ever end it.
    gone(Options).

pages_and_long_names_test_() ->
    {timeout, 60, fun() ->
        Options = mcp_servers:hostile("pages"),
        Names = [Name || #{name := Name} <- beamai_kernel:list_tools(connect(Options))],
        ?assertEqual([<<"mcp__hostile__tool", (N + $0)>> || N <- lists:seq(0, 4)], Names),
        close(Options),
        Long = mcp_servers:hostile("plain"),
        [_, Cut] = [Name || #{name := Name} <- beamai_kernel:list_tools(connect(Long))],
        ?assertMatch({64, {match, _}}, {byte_size(Cut), re:run(Cut, "^mcp__hostile__x+_[0-9a-f]{8}$")}),
        close(Long)
    end}.

%% Of the newest revision: no handshake, and questions come as results of the call.
a_server_without_handshake_test_() ->
    {timeout, 60, fun() ->
        Options = mcp_servers:hostile("modern"),
        Kernel = connect(Options),
        Go = fun(Context) -> call(Kernel, <<"mcp__hostile__go">>, #{}, Context) end,
        Answer = fun([#{<<"question">> := <<"Which word?\nword">> = Question}]) -> {ok, #{Question => <<"yes">>}} end,
        ?assertEqual(
            {ok, #{<<"text">> => <<"2026-07-28 s1 accept {'word': 'yes'}">>}}, Go(#{ask_user => Answer})
        ),
        ?assertEqual({ok, #{<<"text">> => <<"2026-07-28 s1 decline None">>}}, Go(#{})),
        close(Options)
    end}.

idle_servers_end_test_() ->
    {timeout, 60, fun() ->
        Options = (mcp_servers:hostile("plain"))#{idle_timeout => 200},
        Kernel = connect(Options),
        gone(Options),
        ?assertEqual({ok, #{<<"text">> => <<"plain">>}}, call(Kernel, <<"mcp__hostile__go">>, #{})),
        gone(Options)
    end}.

%%% Options

options_are_checked_test() ->
    Good = #{name => <<"x">>, command => <<"x">>},
    Bad = fun(Key, Options) -> ?assertError({bad_option, Key}, beamai_mcp:connect(Options)) end,
    Bad(name, #{}),
    Bad(command, #{name => <<"x">>}),
    [Bad(name, Good#{name => Name}) || Name <- ["", "a b", "a__b", "a_", "_a", "ä", lists:duplicate(33, $a), 7]],
    Bad(url, #{name => <<"x">>, url => <<"http://127.0.0.1/mcp">>}),
    Bad(args, Good#{args => <<"x">>}),
    Bad(args, Good#{args => [x]}),
    Bad(args, Good#{args => [<<"a", 0>>]}),
    Bad(env, Good#{env => #{"A=B" => "c"}}),
    Bad(env, Good#{env => #{"A" => 1}}),
    Bad(timeout, Good#{timeout => 0}),
    Bad(sandbox, Good#{sandbox => some}),
    Bad(trust_annotations, Good#{trust_annotations => yes}),
    Bad(kernel, Good#{kernel => k}),
    Bad(workspace, Good#{workspace => "/no/such/place"}),
    Bad(workspace, Good#{workspace => "/", kernel => beamai_kernel:new()}),
    Bad(colour, Good#{colour => red}),
    Bad(options, nothing).

a_program_that_is_not_there_is_told_test() ->
    {error, #{tool := <<"mcp__x">>, message := Message, details := #{reason := not_configured}}} =
        beamai_mcp:connect(#{name => "x", command => "no-such-server-program"}),
    ?assertNotEqual(nomatch, binary:match(Message, <<"no such program">>)).

%%% Helpers

python() ->
    Options = mcp_servers:python(),
    {Options, connect(Options)}.

work(Dir, Seconds) ->
    #{<<"file">> => filename:join(Dir, "state"), <<"seconds">> => Seconds}.

close(Options) ->
    ok = beamai_mcp:close(Options),
    ?assertEqual([], processes(Options)).

flush() ->
    receive _ -> flush() after 0 -> ok end.
