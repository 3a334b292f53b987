%% Sub-agents: what they see, how they end, and what of it comes back.
-module(beamai_task_tests).

-export([log/2]).

-include_lib("eunit/include/eunit.hrl").

-define(ALLOW, #{allow => [<<"Task">>]}).

tool(Name) ->
    beamai_test:tool(Name, fun(Args) -> {ok, #{<<"did">> => Name, <<"args">> => Args}} end).

kernel(Agents) ->
    kernel(Agents, [tool(<<"open">>), tool(<<"hidden">>)]).

kernel(Agents, Tools) ->
    Kernel = beamai_kernel:new(#{permissions => ?ALLOW, agents => Agents}),
    beamai_kernel:add_tool_module(beamai_kernel:add_tools(Kernel, Tools), beamai_tool_task).

scripted(Turns) -> beamai_chat:new(scripted, #{turns => Turns}).

calls(Calls) -> #{tool_calls => Calls}.

task(Agents, Turns) ->
    task(Agents, Turns, #{}).

task(Agents, Turns, Context) ->
    invoke(kernel(Agents), Context#{model => scripted(Turns)}).

invoke(Kernel, Context) ->
    Work = #{<<"agent">> => <<"helper">>, <<"objective">> => <<"Help.">>},
    case beamai_kernel:invoke(Kernel, <<"task">>, Work, Context) of
        {ok, Result, _} -> {ok, Result};
        Error -> Error
    end.

helper() -> helper(#{}).

helper(Definition) ->
    #{<<"helper">> => maps:merge(#{description => <<"Helps.">>, prompt => <<"You help.">>}, Definition)}.

a_report_tells_how_it_ended_and_what_it_cost_test() ->
    Turns = [
        (calls([{<<"open">>, #{}}]))#{usage => #{input_tokens => 5, output_tokens => 1}},
        #{content => <<"Helped.">>, usage => #{input_tokens => 6, output_tokens => 1}}
    ],
    ?assertMatch(
        {ok, #{
            <<"state">> := <<"completed">>, <<"summary">> := <<"Helped.">>, <<"error">> := null,
            <<"tool_calls">> := 1, <<"usage">> := #{<<"total_tokens">> := 13}
        }},
        task(helper(), Turns)
    ).

it_has_a_conversation_and_a_prompt_of_its_own_test() ->
    Turn = fun(#{system := System, messages := Messages}) ->
        ?assertEqual([#{role => user, content => <<"Help.">>}], Messages),
        System
    end,
    {ok, #{<<"summary">> := <<"You help.">>}} = task(helper(), Turn).

%% It is not listed, not offered in the nearest names, and naming it runs nothing.
a_hidden_tool_is_not_seen_also_when_it_is_named_test() ->
    Self = self(),
    Hidden = beamai_test:tool(<<"hidden">>, fun(_) -> Self ! it_ran, {ok, 1} end),
    Turns = fun
        (#{messages := [_], kernel := Kernel}) ->
            ?assertEqual([<<"open">>], [Name || #{name := Name} <- beamai_kernel:list_tools(Kernel)]),
            calls([{<<"hidden">>, #{}}, {<<"hiden">>, #{}}, {<<"open">>, #{}}]);
        (#{messages := Messages}) ->
            beamai_json:text([Content || #{role := tool, content := Content} <- Messages])
    end,
    Kernel = kernel(helper(#{tools => [<<"open">>, <<"nobody">>]}), [tool(<<"open">>), Hidden]),
    {ok, #{<<"summary">> := Summary, <<"state">> := <<"completed">>}} = invoke(Kernel, #{model => scripted(Turns)}),
    {ok, [Named, Nearly, Open]} = beamai_json:decode(Summary),
    [
        ?assertMatch(<<"there is no tool named ", _/binary>>, Error)
     || Error <- [Named, Nearly]
    ],
    ?assertEqual(nomatch, string:find(Nearly, <<"\"hidden\"">>)),
    ?assertMatch({ok, #{<<"did">> := <<"open">>}}, beamai_json:decode(Open)),
    ?assertEqual(nothing, receive it_ran -> ran after 0 -> nothing end).

%% Through the wire as well: what is sent to the server does not name it.
a_hidden_tool_is_not_in_what_is_sent_test_() ->
    [
        {atom_to_list(Form), fun() ->
            Server = chat_server:start([chat_server:says(Form, calls([{<<"hidden">>, #{}}])), chat_server:says(Form, <<"ok">>)]),
            Provider = case Form of openai_stream -> openai; anthropic_stream -> anthropic end,
            Model = beamai_chat:new(Provider, #{base_url => chat_server:url(Server), model => <<"m">>}),
            Kernel = kernel(helper(#{tools => [<<"open">>], llm => Model})),
            {ok, #{<<"state">> := <<"completed">>}} = invoke(Kernel, #{}),
            [#{body := First}, #{body := Second}] = chat_server:requests(Server),
            chat_server:stop(Server),
            ?assertEqual(nomatch, string:find(beamai_json:text(First), <<"hidden">>)),
            ?assertNotEqual(nomatch, string:find(beamai_json:text(Second), <<"there is no tool named">>))
        end}
     || Form <- [openai_stream, anthropic_stream]
    ].

%%% How it can end

a_failed_model_is_an_end_with_a_hand_over_test() ->
    {ok, Result} = task(helper(), [(calls([{<<"open">>, #{<<"a">> => 1}}]))#{content => <<"I look.">>}, {error, broken}]),
    ?assertMatch(#{<<"state">> := <<"failed">>, <<"tool_calls">> := 1, <<"error">> := <<"its model failed: broken">>}, Result),
    #{<<"summary">> := Summary} = Result,
    [?assertNotEqual(nomatch, string:find(Summary, Part)) || Part <- ["not done", "I look.", "open {\"a\":1} (ok)"]].

a_limit_that_is_reached_is_an_end_with_a_hand_over_test() ->
    Again = fun(_) -> (calls([{<<"open">>, #{}}]))#{usage => #{input_tokens => 60, output_tokens => 0}} end,
    [
        begin
            {ok, Result} = task(helper(Limit), Again),
            ?assertMatch(#{<<"state">> := <<"out_of_budget">>, <<"tool_calls">> := 2}, Result)
        end
     || Limit <- [#{max_tokens => 100}, #{max_iterations => 2}]
    ],
    Slow = beamai_test:tool(<<"open">>, fun(_) -> timer:sleep(80), {ok, 1} end),
    {ok, #{<<"state">> := <<"out_of_budget">>, <<"error">> := <<"its time was over">>}} =
        invoke(kernel(helper(#{max_time => 50}), [Slow]), #{model => scripted(Again)}).

it_spends_from_the_budget_of_its_caller_test() ->
    Turn = fun
        (#{system := <<"You help.">>}) -> (calls([{<<"open">>, #{}}]))#{usage => #{input_tokens => 60, output_tokens => 0}};
        (#{messages := [_]}) -> calls([{<<"task">>, #{<<"agent">> => <<"helper">>, <<"objective">> => <<"x">>}}]);
        (_) -> <<"never asked">>
    end,
    {ok, Agent} = beamai_agent:new(#{llm => scripted(Turn), kernel => kernel(helper()), budget => #{max_tokens => 100}}),
    {error, {out_of_budget, tokens}, After} = beamai_agent:run(Agent, <<"go">>),
    ?assertMatch(#{usage := #{total_tokens := 120}}, beamai_agent:conversation(After)),
    [#{content := Text}] = [M || #{role := tool} = M <- beamai_conversation:messages(beamai_agent:conversation(After))],
    ?assertNotEqual(nomatch, string:find(Text, "\n[out of budget")).

%% Its own run id comes with its first event.
it_can_be_cancelled_by_itself_and_its_caller_goes_on_test() ->
    Self = self(),
    Wait = beamai_test:tool(<<"open">>, fun(_) -> timer:sleep(60000), {ok, 1} end),
    Turn = fun
        (#{system := <<"You help.">>}) -> calls([{<<"open">>, #{}}]);
        (#{messages := [_]}) -> calls([{<<"task">>, #{<<"agent">> => <<"helper">>, <<"objective">> => <<"x">>}}]);
        (#{messages := Messages}) -> maps:get(content, lists:last(Messages))
    end,
    {ok, Agent} = beamai_agent:new(#{llm => scripted(Turn), kernel => kernel(helper(), [Wait])}),
    spawn_link(fun() -> Self ! {ended, beamai_agent:run(Agent, <<"go">>, #{events => Self})} end),
    Id = receive {beamai_event, _, {agent, <<"helper">>, {started, I}}} -> I end,
    receive {beamai_event, _, {agent, <<"helper">>, {tool_call, _}}} -> ok end,
    timer:sleep(50),
    ok = beamai_kernel:cancel(Id),
    {ok, #{content := Report}, _} = receive {ended, Result} -> Result end,
    ?assertNotEqual(nomatch, string:find(Report, "\n[cancelled")),
    flush().

flush() ->
    receive
        _ -> flush()
    after 0 -> ok
    end.

it_ends_with_the_run_that_it_works_for_test() ->
    {Self, Wait} = {self(), beamai_test:tool(<<"open">>, waiting(self()))},
    Kernel = kernel(helper(), [Wait]),
    Context = #{model => scripted([calls([{<<"open">>, #{}}])]), run_id => whole},
    spawn_link(fun() -> Self ! {ended, invoke(Kernel, Context)} end),
    Handler = receive {waiting, Pid} -> Pid end,
    ok = beamai_kernel:cancel(whole),
    ?assertMatch({error, #{details := #{reason := cancelled}}}, receive {ended, Result} -> Result end),
    beamai_test:eventually(fun() -> not is_process_alive(Handler) end).

it_is_killed_with_its_caller_test() ->
    Kernel = kernel(helper(), [beamai_test:tool(<<"open">>, waiting(self()))]),
    Caller = spawn(fun() -> invoke(Kernel, #{model => scripted([calls([{<<"open">>, #{}}])])}) end),
    Handler = receive {waiting, Pid} -> Pid end,
    exit(Caller, kill),
    beamai_test:eventually(fun() -> not is_process_alive(Handler) end).

waiting(Pid) ->
    fun(_) -> Pid ! {waiting, self()}, timer:sleep(60000), {ok, 1} end.

%%% Depth

agents_work_for_one_another_only_to_a_depth_test() ->
    Work = #{<<"agent">> => <<"helper">>, <<"objective">> => <<"deeper">>},
    Self = self(),
    Turn = fun
        (#{messages := [_], kernel := Kernel}) ->
            Self ! {tools, [Name || #{name := Name} <- beamai_kernel:list_tools(Kernel)]},
            calls([{<<"task">>, Work}]);
        (_) -> <<"up">>
    end,
    Agents = (helper(#{tools => [<<"task">>]}))#{max_depth => 2},
    {ok, #{<<"state">> := <<"completed">>}} = task(Agents, Turn),
    ?assertEqual([[<<"task">>], []], [receive {tools, Names} -> Names end || _ <- [1, 2]]),
    ?assertEqual([], beamai_test:mailbox()).

without_being_given_it_an_agent_has_no_task_test() ->
    Turn = fun(#{kernel := Kernel}) -> beamai_json:text([Name || #{name := Name} <- beamai_kernel:list_tools(Kernel)]) end,
    {ok, #{<<"summary">> := Names}} = task(helper(), Turn),
    ?assertEqual({ok, [<<"hidden">>, <<"open">>]}, beamai_json:decode(Names)).

%%% Definitions

they_come_from_files_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        File = filename:join([Dir, "reviewer", "AGENT.md"]),
        ok = filelib:ensure_dir(File),
        ok = file:write_file(File, [
            "---\nname: helper\ndescription: \"Looks: closely\"\ntools:\n  - open\n  - 'hidden'\nmax_iterations: 4\n",
            "model: sonnet\ncolor: red\nversion: 1\nlicense: MIT\n---\n\nYou review.\n"
        ]),
        Agents = beamai_agents:load(#{paths => [Dir]}),
        ?assertEqual(
            {ok, #{
                description => <<"Looks: closely">>, tools => [<<"open">>, <<"hidden">>], max_iterations => 4,
                prompt => <<"You review.">>
            }},
            beamai_agents:find(<<"helper">>, Agents)
        ),
        Turn = fun(#{system := System}) -> System end,
        {ok, #{<<"summary">> := <<"You review.">>}} = task(#{paths => [Dir]}, Turn),
        {ok, #{<<"summary">> := <<"You help.">>}} = task((helper())#{paths => [Dir]}, Turn)
    end).

a_file_that_is_wrong_is_refused_with_its_name_and_line_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        File = filename:join(Dir, "AGENT.md"),
        [
            begin
                ok = file:write_file(File, Text),
                {'EXIT', {{bad_option, agents}, [{_, _, _, Info} | _]}} = (catch beamai_agents:load(#{paths => [Dir]})),
                #{cause := #{general := Message}} = proplists:get_value(error_info, Info),
                [?assertNotEqual(nomatch, string:find(Message, Shown)) || Shown <- ["AGENT.md", Part]]
            end
         || {Text, Part} <- [
                {<<"---\nname: a\nnonsense\n---\n">>, "line 3"},
                {<<"---\nname: a\nname: b\n---\n">>, "line 3"},
                {<<"---\nname: a\ntools: [open\n---\n">>, "not valid"},
                {<<"---\nname: a\ntools: {open: true}\n---\n">>, "tools"},
                {<<"---\nname: a\ntools: [1]\n---\n">>, "tools"},
                {<<"---\nname: 1\n---\n">>, "AGENT.md"},
                {<<"---\nname: a b\n---\n">>, "is no name"},
                {<<"---\n- a\n---\n">>, "no keys"},
                {<<"---\nname: ", 255, "\n---\n">>, "UTF-8"},
                {<<"---\nname: a\n">>, "no end"},
                {<<"---\nname: a\nmax_tokens: many\n---\n">>, "many"},
                {<<"---\nname: a\nprofile: [x]\n---\n">>, "profile"},
                %% What would be no limit.
                {<<"---\nname: a\ntool: [open]\n---\n">>, "\"tool\" is not a key"},
                {<<"---\nname: a\nTools: [open]\n---\n">>, "the keys are name, description, tools"},
                {<<"---\nname: a\ntolos: [open]\n---\n">>, "tolos"},
                {<<"---\nname: a\nallowed-tools: open\n---\n">>, "allowed-tools"},
                {<<"---\nname: a\nmaxTokens: 1\n---\n">>, "maxTokens"},
                {<<"---\nname: a\nmax-time: 1\n---\n">>, "max-time"}
            ] ++ [
                {["---\nname: a\n", Key, ": x\n---\n"], ["\"", Key, "\" is not a key"]}
             || Key <- [
                    "permission", "permissions", "permissionMode", "deny", "allow", "exclude", "only", "functions", "read_only",
                    "mode", "hooks", "maxTurns", "metadata"
                ]
            ]
        ],
        ?assertError({bad_option, agents}, beamai_agents:load(#{paths => ["/nowhere"]}))
    end).

a_file_must_begin_with_front_matter_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        File = filename:join(Dir, "AGENT.md"),
        Load = fun(Text) ->
            ok = file:write_file(File, unicode:characters_to_binary(Text)),
            beamai_agents:load(#{paths => [Dir]})
        end,
        Limited = "name: a\ntools: [open]\n---\nbody\n",
        [
            ?assertMatch({ok, #{tools := [<<"open">>]}}, beamai_agents:find(<<"a">>, Load(Text)))
         || Text <- [["---\n", Limited], ["\x{feff}---\n", Limited], ["---\r\n", string:replace(Limited, "\n", "\r\n", all)]]
        ],
        [
            begin
                {'EXIT', {{bad_option, agents}, [{_, _, _, Info} | _]}} = (catch Load(Text)),
                #{cause := #{general := Message}} = proplists:get_value(error_info, Info),
                [?assertNotEqual(nomatch, string:find(Message, Shown)) || Shown <- ["AGENT.md", "must begin with a line ---", First]]
            end
         || {Text, First} <- [
                {["\n---\n", Limited], "is \"\""},
                {[" ---\n", Limited], "\" ---\""},
                {["<!-- c -->\n---\n", Limited], "<!-- c -->"},
                {["----\n", Limited], "\"----\""},
                {["---yaml\n", Limited], "---yaml"},
                {["+++\n", Limited], "+++"},
                {["```yaml\n", Limited], "```yaml"},
                {["---\r", string:replace(Limited, "\n", "\r", all)], "\"---\\rname: a"},
                {"You review.\n", "You review."},
                {"", "is \"\""}
            ]
        ]
    end).

heads_are_read_as_yaml_has_them_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Loaded = fun(Text) ->
            ok = file:write_file(filename:join(Dir, "AGENT.md"), Text),
            {ok, Definition} = beamai_agents:find(<<"a">>, beamai_agents:load(#{paths => [Dir]})),
            Definition
        end,
        Tools = [<<"open">>, <<"file_read">>],
        Said = <<"He said \"hi\": it's one.\n  Two.\n">>,
        [
            ?assertMatch(#{tools := Tools, prompt := <<"body">>}, Loaded(["---\nname: a\n", Head, "\n---\nbody\n"]))
         || Head <- [
                "tools: open, file_read # the others may change something", "tools: [open, \"file_read\"]",
                "tools:\n- open # it\n- 'file_read'", "tools: >-\n  open,\n  file_read"
            ]
        ],
        ?assertMatch(#{tools := Tools}, Loaded("--- \r\nname: a\r\ntools: open, file_read\r\n---\r\nbody")),
        ?assertMatch(#{tools := []}, Loaded("---\nname: a\ntools:\n---\n")),
        ?assertMatch(
            #{description := Said, max_tokens := 5},
            Loaded("---\nname: a\nmax_tokens: 5\ndescription: |\n  He said \"hi\": it's one.\n    Two.\n---\n")
        )
    end).

tools_that_are_not_there_are_told_of_test() ->
    ok = logger:add_handler(?MODULE, ?MODULE, #{config => self(), level => warning}),
    {ok, #{level := Level}} = logger:get_handler_config(default),
    ok = logger:set_handler_config(default, level, none),
    try
        {ok, _} = task(#{<<"helper">> => #{tools => [<<"open">>, <<"opne">>]}}, [<<"ok">>]),
        {ok, _} = task(#{<<"helper">> => #{tools => [<<"open">>]}}, [<<"ok">>])
    after
        ok = logger:set_handler_config(default, level, Level),
        ok = logger:remove_handler(?MODULE)
    end,
    ?assertEqual([<<"beamai: the sub-agent helper names tools that are not there: opne">>], logged()).

%% A logger handler: every event goes to the test.
log(#{msg := {Format, Args}}, #{config := Pid}) ->
    Pid ! {logged, unicode:characters_to_binary(io_lib:format(Format, Args))}.

logged() ->
    receive
        {logged, Text} -> [Text | logged()]
    after 0 -> []
    end.

a_bad_definition_is_refused_test() ->
    [
        ?assertError({bad_option, agents}, beamai_kernel:new(#{agents => Bad}))
     || Bad <- [
            [], #{a => #{}}, #{<<"a b">> => #{}}, #{<<"a">> => 1}, #{<<"a">> => #{tools => <<"x">>}},
            #{<<"a">> => #{nonsense => 1}}, #{max_depth => 0}, #{<<"a">> => fun(_) -> ok end}
        ]
    ].

%%% Errors

an_unknown_agent_is_answered_with_those_there_are_test() ->
    Kernel = kernel(#{<<"helpers">> => #{}}),
    ?assertMatch(
        {error, #{error_type := not_found, details := #{reason := no_such_agent, nearest := [<<"helpers">>]}}},
        invoke(Kernel, #{})
    ),
    ?assertMatch({error, #{details := #{reason := no_agents}}}, invoke(kernel(#{}), #{})).

without_a_model_the_error_says_how_to_have_one_test() ->
    {error, #{details := #{reason := not_configured}, message := Message}} = invoke(kernel(helper()), #{}),
    ?assertNotEqual(nomatch, string:find(Message, "llm")).

a_fun_may_do_the_work_test() ->
    Fun = fun(#{<<"objective">> := Objective}, #{mine := Mine}) -> {ok, <<Objective/binary, Mine/binary>>} end,
    ?assertMatch(
        {ok, #{<<"state">> := <<"completed">>, <<"summary">> := <<"Help. x">>}},
        invoke(kernel(#{<<"helper">> => Fun}), #{mine => <<" x">>})
    ),
    Invoke = fun(F) -> invoke(kernel(#{<<"helper">> => F}), #{}) end,
    ?assertEqual({error, tired}, Invoke(fun(_, _) -> {error, tired} end)),
    ?assertMatch({error, #{details := #{reason := crash}}}, Invoke(fun(_, _) -> error(boom) end)),
    ?assertMatch({error, #{details := #{reason := handler_error}}}, Invoke(fun(_, _) -> {ok, 1} end)).

an_agent_with_agents_has_the_tool_and_tells_the_model_of_them_test() ->
    Turn = fun(#{system := System, kernel := Kernel}) ->
        {ok, _} = beamai_kernel:find_tool(Kernel, <<"task">>),
        System
    end,
    {ok, Agent} = beamai_agent:new(#{llm => scripted(Turn), agents => helper()}),
    {ok, #{content := Prompt}, _} = beamai_agent:run(Agent, <<"go">>),
    ?assertEqual(<<"Sub-agents for the tool task:\n- helper: Helps.">>, Prompt).

%% Each helper waits for the other one to have begun: one after the other, neither would end.
agents_that_only_read_work_side_by_side_test_() ->
    {timeout, 60, fun() ->
        Begun = counters:new(1, []),
        Meet = fun(_Args) ->
            ok = counters:add(Begun, 1, 1),
            ok = beamai_test:eventually(fun() -> counters:get(Begun, 1) =:= 2 end),
            {ok, #{}}
        end,
        Reads = beamai_test:tool(<<"meet">>, Meet, #{metadata => #{read_only => true}}),
        Model = scripted(fun
            (#{messages := [#{content := <<"Both">>}]}) -> calls([task_for(<<"reader">>), task_for(<<"reader">>)]);
            (#{messages := [#{content := <<"Help.">>}]}) -> calls([{<<"meet">>, #{}}]);
            (_) -> <<"done">>
        end),
        Kernel = kernel(#{<<"reader">> => #{tools => [<<"meet">>]}}, [Reads]),
        {ok, Agent} = beamai_agent:new(#{llm => Model, kernel => Kernel}),
        {ok, #{tool_calls := 2}, After} = beamai_agent:run(Agent, <<"Both">>),
        Messages = beamai_conversation:messages(beamai_agent:conversation(After)),
        Reports = [Content || #{role := tool, outcome := ok, content := Content} <- Messages],
        ?assertEqual([<<"done">>, <<"done">>], Reports)
    end}.

agents_that_may_write_work_one_after_the_other_test() ->
    Agents = #{<<"reader">> => #{tools => [<<"open">>]}, <<"any">> => #{}, <<"fun">> => fun(_, _) -> {ok, <<>>} end},
    Reads = beamai_test:tool(<<"open">>, fun(_) -> {ok, 1} end, #{metadata => #{read_only => true}}),
    Kernel = kernel(Agents, [Reads, tool(<<"hidden">>)]),
    OnlyReads = fun(Name) -> beamai_agents:only_reads(Kernel, #{<<"agent">> => Name}) end,
    ?assertEqual([true, false, false, false], [OnlyReads(N) || N <- [<<"reader">>, <<"any">>, <<"fun">>, <<"nobody">>]]).

task_for(Agent) -> {<<"task">>, #{<<"agent">> => Agent, <<"objective">> => <<"Help.">>}}.

a_pipe_is_no_agent_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        File = filename:join([Dir, "reviewer", "AGENT.md"]),
        ok = filelib:ensure_dir(File),
        [] = os:cmd("mkfifo '" ++ unicode:characters_to_list(File) ++ "'"),
        {'EXIT', {{bad_option, agents}, [{_, _, _, Info} | _]}} = (catch beamai_agents:load(#{paths => [Dir]})),
        #{cause := #{general := Message}} = proplists:get_value(error_info, Info),
        ?assertNotEqual(nomatch, string:find(Message, "is no file"))
    end).
