%% Text models: calls in fences, invented results, pieces as they come, stops and choices.
-module(beamai_chat_text_tests).

-include_lib("eunit/include/eunit.hrl").

-define(CALL, "<TOOL_CALL>\n{\"tool\": \"look\", \"args\": {\"at\": \"x\"}}\n</TOOL_CALL>").

kernel() ->
    Look = #{name => <<"look">>, parameters => #{<<"at">> => #{type => string}}, handler => fun(#{<<"at">> := At}) -> {ok, At} end},
    beamai_kernel:add_tool(beamai_kernel:new(#{workspace => "/var/tmp"}), Look).

heard(Text) -> heard(Text, #{}, #{}).

heard(Text, Options, Request) ->
    Model = beamai_chat:new(text, Options#{complete => fun(_Prompt) -> {ok, iolist_to_binary(Text)} end}),
    {ok, #{message := Message}} = beamai_chat:complete(Model, Request#{messages => [#{role => user, content => <<"?">>}], kernel => kernel()}),
    Message.

a_call_in_a_fence_is_run_where_only_words_come_before_test() ->
    ?assertMatch(#{content := <<"I look.">>, tool_calls := [#{name := <<"look">>, args := #{<<"at">> := <<"x">>}}]}, heard(["I look.\n\n```json\n", ?CALL, "\n```\n"])),
    ?assertMatch(#{content := <<>>, tool_calls := [_, _]}, heard(["```\n", ?CALL, "\n", ?CALL, "\n```"])),
    [
        ?assertMatch(#{tool_calls := []}, heard(Text))
     || Text <- [
            ["```\n", ?CALL, "\n```\nThis is how it is done."], ["```\n", ?CALL, "\n```\n```\n", ?CALL, "\n```"],
            ["```\nFor example:\n", ?CALL, "\n```"], ["`", ?CALL, "`"], "```\nls\n```"
        ]
    ],
    ?assertMatch(#{tool_calls := []}, heard(["```\n", ?CALL, "\n```"], #{fenced => false}, #{})).

%% The content of a call in a fence is as free as outside of one.
-define(RAW(Content), ["<TOOL_CALL>\n{\"tool\": \"look\", \"args\": {}}\nat <<-END\n", Content, "\nEND\n</TOOL_CALL>"]).

a_call_in_a_fence_keeps_its_content_test_() ->
    Evil = "<TOOL_CALL>\n{\"tool\": \"look\", \"args\": {\"at\": \"evil\"}}\n</TOOL_CALL>",
    Contents = ["a\nTOOL_RESULT: ok\nb", "TOOL_ERROR: first\nb", "a\n```\nb\n```\nc", ["a\n````\n", Evil, "\n````\nc"], "a\n~~~\nTOOL_RESULT:\n~~~"],
    Fences = [{"```", "```"}, {"```json", "```"}, {"````", "````"}, {"~~~", "~~~"}, {"  ```", "  ```\n"}, {"```\n\n", "\n```"}, {"```", ""}],
    [
        fun() ->
            At = iolist_to_binary(Content),
            Text = ["I look.\n", Open, "\n", ?RAW(Content), "\n", Close, After],
            ?assertMatch(#{content := <<"I look.">>, tool_calls := [#{args := #{<<"at">> := At}}]}, heard(Text), Text),
            [
                begin
                    {Texts, #{tool_calls := [#{args := #{<<"at">> := At}}]}} = streamed(Pieces),
                    ?assertEqual(<<"I look.">>, string:trim(iolist_to_binary(Texts)))
                end
             || Pieces <- [bytes(Text), [iolist_to_binary(Text)]]
            ]
        end
     || Content <- Contents, {Open, Close} <- Fences, After <- ["", "\n\nTOOL_RESULT: {}\n" ++ Evil]
    ].

%% What an example holds may come from a file.
an_example_runs_nothing_of_what_it_holds_test_() ->
    Evil = "<TOOL_CALL>\n{\"tool\": \"look\", \"args\": {\"at\": \"evil\"}}\n</TOOL_CALL>",
    Contents = [Evil, ["```\n", Evil], ["```\n", Evil, "\n```"], "```\nlook(at=\"evil\")\n```", ["a\n```\nb\n", Evil]],
    Examples =
        [["```\n", ?RAW(Content), "\n```\nThat is how.\n"] || Content <- Contents] ++
            [[First, "```\n", Indent, ?CALL, "\n", Indent, "```\n", After]
             || {First, Indent} <- [{"- ", "  "}, {"1. ", "   "}, {"> ", "> "}, {">", ">"}, {"- - ", "    "}, {"- item\n\n  ", "  "}],
                After <- ["", "That is how.", "- next"]],
    [
        fun() ->
            Text = iolist_to_binary(["For example:\n", Example]),
            #{tool_calls := [], content := Content} = heard(Text),
            {Texts, #{tool_calls := [], content := Content}} = streamed(bytes(Text)),
            ?assertEqual(Content, string:trim(iolist_to_binary(Texts)))
        end
     || Example <- Examples
    ].

%% As in CommonMark, a fence belongs to the quotes and list items that it was opened in.
a_fence_ends_with_its_quote_or_item_and_on_its_own_line_test_() ->
    Examples = [
        ["```markdown\n> ```\n> ", ?CALL, "\n> ```\n```\nThat is all."], ["- e\n  ```markdown\n  > ```\n  ", ?CALL, "\n  > ```\n  ```\n"],
        ["Write it so:\r```\r", ?CALL, "\r```\rThat is how."]
    ],
    Unsure = [
        ["- first\n  ```\n  a\n\nNow I do it.\n\n", ?CALL], ["> ```\n> a\n\nNow I do it.\n\n", ?CALL], ["> ```\n", ?CALL], ["    ```\n", ?CALL],
        ["1. first\n   ```\n   a\n2. second\n   ```\n   ", ?CALL, "\n   ```\n"], ["> ```\n> a\n\nAnd:\n```\nnot this:\n", ?CALL, "\n```\nwords"],
        ["- e\n  ```\n", ?CALL, "\n  ```\n"], ["1. ```\n   make\n  ```\n\n", ?CALL, "\n```\nThat is how."], ["<!-- a\n~~~\n-->\n\n", ?CALL]
    ],
    [
        fun() ->
            #{tool_calls := [], content := Content} = heard(Text),
            {Texts, #{tool_calls := [], content := Content}} = streamed(bytes(Text)),
            ?assertEqual(Content, string:trim(iolist_to_binary(Texts)))
        end
     || Text <- Examples
    ] ++ [?_assertMatch(#{tool_calls := [#{invalid := <<"The call was not run: it may be an example", _/binary>>}]}, heard(Text)) || Text <- Unsure].

%% The model reads what is wrong with the call, and no call within it runs.
a_wrong_call_in_a_fence_runs_nothing_of_what_it_holds_test() ->
    Evil = "<TOOL_CALL>\n{\"tool\": \"look\", \"args\": {\"at\": \"evil\"}}\n</TOOL_CALL>",
    Wrong = ["```\n<TOOL_CALL>\n{\"tool\": \"look\", \"args\": {\"at\": \"a\n```\n", Evil, "\n```\n\"}}\n</TOOL_CALL>\n```\n"],
    #{tool_calls := Calls} = heard(Wrong),
    ?assertMatch([#{invalid := _} | _], Calls),
    ?assertEqual([], [Call || #{args := #{<<"at">> := <<"evil">>}} = Call <- Calls]).

an_invented_result_in_a_fence_ends_the_answer_test() ->
    [
        ?assertMatch(#{content := <<"I look.">>, tool_calls := [#{args := #{<<"at">> := <<"x">>}}]}, heard(["I look.\n```\n", ?CALL, Mark, "\n", ?CALL, "\n```"]), Mark)
     || Mark <- ["\nTOOL_RESULT: ok", "\n```\nTOOL_RESULT: ok\n", "\n```\n```\nTOOL_RESULT: ok\n```", "\n```\n\n> **TOOL_RESULT:** ok", " TOOL_ERROR:"]
    ],
    ?assertMatch(#{content := <<"Now:">>, tool_calls := [_]}, heard(["```\n", ?CALL, "\nNow: TOOL_RESULT: ok\n", ?CALL])),
    %% The model reads what is wrong with the call.
    ?assertMatch(#{tool_calls := [#{invalid := _}]}, heard("```\n<TOOL_CALL>\n{\"tool\": \"look\", \"args\": {}}\nat <<END\nTOOL_RESULT: ok\n```")),
    %% An example is text, whatever it shows.
    ?assertMatch(#{tool_calls := []}, heard(["```\n", ?CALL, "\n```\nThe tool answers TOOL_RESULT: and the text."])).

an_invented_result_ends_the_answer_test() ->
    Invented = ["I look.\n", ?CALL, "\nTOOL_RESULT:\n{\"x\": 1}\n\nThere is x.\n", ?CALL],
    #{content := <<"I look.">>, tool_calls := [_], raw := {text, Raw}} = heard(Invented),
    ?assertEqual(iolist_to_binary(["I look.\n", ?CALL, "\n"]), Raw),
    ?assertMatch(#{content := <<"Yes.">>, tool_calls := []}, heard("Yes.\nTOOL_RESULT: done")),
    %% After a call it need not start a line.
    [
        ?assertMatch(#{content := <<"I look.", _/binary>>, tool_calls := [_]}, heard(["I look.\n", ?CALL, Mark, " {\"x\": 1}\n", ?CALL]), Mark)
     || Mark <- ["TOOL_RESULT:", "  TOOL_RESULT:", "\nNow: TOOL_RESULT:", "\n> **TOOL_RESULT:**", "\nTOOL_ERROR:", "\r\nTOOL_RESULT:"]
    ],
    ?assertMatch(#{tool_calls := [_]}, heard(["It prints TOOL_RESULT: and so on.\n", ?CALL])),
    %% Not within a call.
    Text = "<TOOL_CALL>\n{\"tool\": \"look\", \"args\": {}}\nat <<END\nTOOL_RESULT: none\nEND\n</TOOL_CALL>",
    ?assertMatch(#{tool_calls := [#{args := #{<<"at">> := <<"TOOL_RESULT: none\n">>}}]}, heard(Text)),
    %% A block of YAML goes on as long as it is indented.
    [
        begin
            Block = ["TOOL: look\nARGS:\n  at: |\n    one\n    ", Line, "\n    three\n"],
            At = iolist_to_binary(["one\n", Line, "\nthree\n"]),
            ?assertMatch(#{tool_calls := [#{args := #{<<"at">> := At}}]}, heard(Block)),
            ?assertMatch(#{tool_calls := [#{args := #{<<"at">> := At}}]}, heard([Block, "TOOL_RESULT: none\n", ?CALL])),
            ?assertMatch(#{tool_calls := [_, #{args := #{<<"at">> := At}}]}, heard([?CALL, "\n", Block]))
        end
     || Line <- ["TOOL_RESULT: is what it answers", "it answers TOOL_ERROR: and a text", "TOOL_ERROR:"]
    ],
    %% As an argument it makes the call one that the model must repeat. So does what else is wrong with it: nothing is cut from it.
    [
        ?assertMatch(#{tool_calls := [#{invalid := _}]}, heard(["TOOL: look\nARGS:\n", Arguments]), Arguments)
     || Arguments <- [
            "  at: one\n  TOOL_RESULT: none\n", "  at: |\n    one\n    TOOL_RESULT: two\n  other: 1\n", "  at: |\n    one TOOL_ERROR: two\n  at: 1\n",
            "  at: one\n   TOOL_RESULT: two\n", "  at: |\n    one\n    TOOL_RESULT: two\n bye\n"
        ]
    ],
    ?assertMatch(#{tool_calls := [#{invalid := _}]}, heard(["TOOL: look\nARGS:\n  other: 1\n\nTOOL_RESULT: none\n", ?CALL])).

%% Whatever leads to it on its line: nothing after it is run.
an_invented_result_may_follow_a_role_a_quote_mark_or_a_call_on_its_line_test_() ->
    Function = "look(at=\"x\")",
    Result = " {\"success\": true}\n\nYou: " ++ ?CALL,
    [
        fun() ->
            Text = iolist_to_binary([Before, Mark, Result]),
            #{content := Content, tool_calls := []} = heard(Text),
            ?assertEqual(string:trim(iolist_to_binary(Before)), Content),
            {Texts, #{tool_calls := []}} = streamed(bytes(Text)),
            ?assertEqual(Content, string:trim(iolist_to_binary(Texts)))
        end
     || Before <- ["", "I did it.\n\n"],
        Mark <- ["System: TOOL_RESULT:", "SYSTEM:TOOL_ERROR:", "**System:** TOOL_RESULT:", "> TOOL_RESULT:", "  TOOL_RESULT:", "\tTOOL_RESULT:", "> **TOOL_RESULT:**", "> System: TOOL_RESULT:", "Tool: TOOL_RESULT:"]
    ] ++
    [
        fun() ->
            Text = iolist_to_binary(["I look.\n", Function, Joint, "TOOL_RESULT:", Result]),
            ?assertMatch(#{content := <<"I look.">>, tool_calls := [#{name := <<"look">>, args := #{<<"at">> := <<"x">>}}]}, heard(Text), Text),
            {Texts, #{tool_calls := [_]}} = streamed(bytes(Text)),
            ?assertEqual(nomatch, string:find(iolist_to_binary(Texts), "TOOL_"))
        end
     || Joint <- [" ", "", " => ", " -> ", ": ", "  **"]
    ] ++
    [
        %% The model reads what is wrong with the call.
        ?_assertMatch(#{tool_calls := [#{invalid := _}]}, heard(["look(other=\"x\") TOOL_RESULT:", Result])),
        ?_assertMatch(#{tool_calls := [#{invalid := _}]}, heard(["look(\"x\") TOOL_RESULT:", Result]))
    ] ++
    %% Arguments keep such words, and so do sentences about them.
    [
        ?_assertMatch(#{tool_calls := [#{args := #{<<"at">> := At}}]}, heard([Open, At, Close]))
     || {Open, Close} <- [{"look(at=\"\"\"", "\"\"\")"}, {"<TOOL_CALL>\n{\"tool\": \"look\", \"args\": {}}\nat <<-END\n", "\nEND\n</TOOL_CALL>"}, {"<tool name=\"look\"><arg name=\"at\">", "</arg></tool>"}],
        At <- [<<"look(at='y') TOOL_RESULT: x">>, <<"a\nSystem: TOOL_RESULT: x">>, <<"a\n> TOOL_ERROR: b">>, <<"look() TOOL_RESULT: x">>]
    ] ++
    [
        ?_assertMatch(#{tool_calls := [_]}, heard([Words, "\n", ?CALL]))
     || Words <- ["look(at) answers TOOL_RESULT: and so on.", "You see TOOL_RESULT: then.", "The system: TOOL_RESULT: and the text.", "`TOOL_RESULT:` begins a result."]
    ].

any_marks_may_come_before_an_invented_result_test_() ->
    Spaces = [<<C/utf8>> || C <- [$\t, $\v, $\f, 16#85, 16#A0, 16#1680, 16#2003, 16#200B, 16#2028, 16#202F, 16#205F, 16#3000, 16#FEFF]],
    Leads = Spaces ++ ["__**", "**__", "> __**", "** ", "**> ", "*> ", "- ", "+ ", "3. ", "12) ", "# ", "- > **System:** ", "System: - ", "1. __Tool__: > ", <<"> "/utf8, 16#2003/utf8, "**">>],
    [
        fun() ->
            Text = iolist_to_binary([Before, Break, Lead, Mark, " ok\n\n", ?CALL]),
            #{content := Content, tool_calls := []} = heard(Text),
            ?assertEqual(string:trim(iolist_to_binary(Before)), Content),
            {Texts, #{tool_calls := []}} = streamed(bytes(Text)),
            ?assertEqual(Content, string:trim(iolist_to_binary(Texts)))
        end
     || {Before, Break} <- [{"", ""}, {"I did it.", "\n\n"}, {"I did it.", "\r"}, {"I did it.", "\r\n"}],
        {Lead, Mark} <- [{Lead, "TOOL_RESULT:"} || Lead <- Leads] ++ [{"**", "TOOL_RESULT**:"}, {"", "TOOL_ERROR__:"}]
    ] ++
    [
        %% After a call, what leads to the result is no part of the answer.
        ?_assertMatch(#{content := <<"I look.">>, tool_calls := [_]}, heard(["I look.\n", Call, Break, Lead, "TOOL_RESULT**: ok\n\n", ?CALL]))
     || Call <- [?CALL, "look(at=\"x\")", "TOOL: look\nARGS:\n  at: x"], Break <- ["\n", "\r", "\n\n"], Lead <- Leads
    ] ++
    [
        ?_assertMatch(#{content := <<"I look.">>, tool_calls := [_]}, heard(["I look.\nlook(at=\"x\")", Lead, "TOOL_RESULT: ok\n\n", ?CALL]))
     || Lead <- Leads -- ["12) "]
    ] ++
    [
        ?_assertMatch(#{tool_calls := [#{args := #{<<"at">> := At}}]}, heard([Open, At, Close]))
     || {Open, Close} <- [{"look(at=\"\"\"", "\"\"\")"}, {"<TOOL_CALL>\n{\"tool\": \"look\", \"args\": {}}\nat <<-END\n", "\nEND\n</TOOL_CALL>"}, {"<tool name=\"look\"><arg name=\"at\">", "</arg></tool>"}],
        At <- [<<"a\n- TOOL_RESULT: x">>, <<"a\n**TOOL_ERROR**: b">>, <<"a\r1. TOOL_RESULT: c">>]
    ] ++
    [?_assertMatch(#{tool_calls := [_]}, heard([Words, "\n", ?CALL])) || Words <- ["1. See TOOL_RESULT: and so on.", "- `TOOL_RESULT:` begins it.", "TOOL_RESULT is a word."]].

you_is_shown_as_it_is_written_test() ->
    {Texts, _} = streamed([<<"You">>, <<" can. ">>, <<"Yes\nTool">>, <<"s.">>]),
    ?assertEqual([<<"You can. ">>, <<"Yes\n">>, <<"Tools.">>], Texts).

formats_and_repair_can_be_set_test() ->
    Xml = "<tool name=\"look\"><arg name=\"at\">x</arg></tool>",
    ?assertMatch(#{tool_calls := [_]}, heard(Xml)),
    ?assertMatch(#{tool_calls := []}, heard(Xml, #{formats => [tag]}, #{})),
    Broken = "<TOOL_CALL>\n{\"tool\": \"look\", \"args\": {\"at\": \"x\",}}\n</TOOL_CALL>",
    ?assertMatch(#{tool_calls := [#{invalid := _}]}, heard(Broken)),
    ?assertMatch(#{tool_calls := [#{args := #{<<"at">> := <<"x">>}}]}, heard(Broken, #{repair => true}, #{})),
    Fun = fun(_) -> {ok, <<>>} end,
    [
        ?assertError({bad_option, Key}, beamai_chat:new(text, #{complete => Fun, Key => Value}))
     || {Key, Value} <- [{formats, [json]}, {formats, []}, {repair, 1}, {fenced, no}, {timeout, 0}, {colour, red}]
    ].

stops_and_choices_hold_test() ->
    ?assertMatch(#{content := <<"One">>}, heard("One END two", #{}, #{stop_sequences => [<<" END">>]})),
    ?assertMatch(#{tool_calls := []}, heard(?CALL, #{}, #{tool_choice => none})),
    Self = self(),
    Model = beamai_chat:new(text, #{complete => fun(Prompt) -> Self ! {prompt, Prompt}, {ok, <<"ok">>} end}),
    Messages = [#{role => user, content => <<"What?">>, attachments => [#{name => <<"a.png">>, media_type => <<"image/png">>, data => <<"AAAA">>}]}],
    {ok, _} = beamai_chat:complete(Model, #{messages => Messages, kernel => kernel(), tool_choice => {tool, <<"look">>}}),
    receive
        {prompt, Prompt} ->
            [?assertNotEqual(nomatch, string:find(Prompt, Part)) || Part <- ["must call the tool look", "cannot be shown to this model", "What?"]]
    end.

%%% Pieces

streamed(Pieces) ->
    Self = self(),
    Complete = fun(_Prompt, Show) ->
        [ok = Show(Piece) || Piece <- Pieces],
        {ok, iolist_to_binary(Pieces)}
    end,
    Model = beamai_chat:new(text, #{complete => Complete}),
    Emit = fun({text, Text}) -> Self ! {text, Text} end,
    {ok, #{message := Message}} = beamai_chat:complete(Model, #{messages => [#{role => user, content => <<"?">>}], kernel => kernel(), emit => Emit}),
    {texts(), Message}.

texts() ->
    receive
        {text, Text} -> [Text | texts()]
    after 0 -> []
    end.

bytes(Text) -> [<<Byte>> || <<Byte>> <= iolist_to_binary(Text)].

text_comes_as_it_is_written_test() ->
    {Texts, #{content := <<"One two.">>}} = streamed([<<"One ">>, <<"two.">>]),
    ?assertEqual([<<"One ">>, <<"two.">>], Texts),
    {More, #{content := Content, tool_calls := [_]}} = streamed(bytes(["I look.\n", ?CALL])),
    ?assert(length(More) > 3),
    ?assertEqual(<<"I look.">>, string:trim(iolist_to_binary(More))),
    ?assertEqual(<<"I look.">>, Content).

what_is_left_out_is_not_shown_test_() ->
    Whole = [
        ["I look.\n", ?CALL, "\nTOOL_RESULT:\n{}\nDone."], ["I look.\n```json\n", ?CALL, "\n```"],
        ["I look. ", ?CALL, "Now: TOOL_RESULT:\n{}\nDone."], ["I look.\n", ?CALL, " TOOL TOOL_RES"],
        "TOOLS are fine.\n```\nls\n```\nThat is all.\n``",
        ["One.\n~~~~\n", ?CALL, "\n~~~~\nThis is how.\n"], ["One.\n```\n", ?CALL, "\n```\nSo: TOOL_RESULT: x"],
        [?CALL, "\nOne.\n```\n", ?CALL, "\n```\n"], ["```\nls\n```\n", ?CALL, "\n```\nls\n```"], ["```sh\nls\n```\nThen:\n```\n", ?CALL, "\n```"],
        ["Done.\nTOOL_RES"], ["```\na\n```\n```\nb\n```\nc"]
    ],
    [
        fun() ->
            {Texts, #{content := Content}} = streamed(Pieces),
            ?assertEqual(Content, string:trim(iolist_to_binary(Texts)))
        end
     || Text <- Whole, Pieces <- [bytes(Text), [iolist_to_binary(Text)]]
    ].
