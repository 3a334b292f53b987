%% The chat model of a call's context answers what a fetch is to find out, through the port and a real server.
-module(beamai_consultation_tests).

-include_lib("eunit/include/eunit.hrl").

-define(PAGE, <<"<title>Fruit</title><p>There are 7 apples and 3 pears.</p>">>).

page() ->
    chat_server:start(fun(_Request) -> {200, [{"Content-Type", "text/html"}], ?PAGE} end).

kernel(#{port := Port}) ->
    Address = iolist_to_binary(["127.0.0.1:", integer_to_list(Port)]),
    Kernel = beamai_kernel:new(#{permissions => #{default => allow}, web => #{allow_addresses => [Address]}}),
    beamai_kernel:add_tool_module(Kernel, beamai_tool_web).

fetch(Server, Model) ->
    Context = beamai_context:new(#{model => Model}),
    Args = #{url => chat_server:url(Server), prompt => <<"How many apples?">>},
    {ok, Fetched, Context} = beamai_kernel:invoke(kernel(Server), <<"web_fetch">>, Args, Context),
    ?assertEqual([], beamai_test:mailbox()),
    Fetched.

text(Fun) -> beamai_chat:new(text, #{complete => Fun}).

a_prompt_is_answered_by_the_model_of_the_context_test() ->
    Server = page(),
    Asked = ets:new(asked, [public]),
    Fetched = fetch(Server, text(fun(Prompt) -> ets:insert(Asked, {prompt, Prompt}), {ok, <<"7">>} end)),
    ?assertMatch(#{<<"content">> := <<"7">>, <<"title">> := <<"Fruit">>, <<"status_code">> := 200}, Fetched),
    ?assertMatch({_, _}, binary:match(maps:get(<<"note">>, Fetched), <<"a chat model wrote this content">>)),
    ?assertEqual(1, length(chat_server:requests(Server))),
    chat_server:stop(Server),
    [{prompt, Prompt}] = ets:lookup(Asked, prompt),
    ?assertMatch({_, _}, binary:match(Prompt, <<"There are 7 apples and 3 pears.">>)),
    ?assertMatch({_, _}, binary:match(Prompt, <<"How many apples?">>)).

a_model_that_fails_leaves_the_text_and_the_reason_test_() ->
    {timeout, 60, fun() ->
        Server = page(),
        Failing = [
            {text(fun(_) -> {error, <<"the browser is closed">>} end), <<"the browser is closed">>},
            {text(fun(_) -> error(boom) end), <<"boom">>},
            {text(fun(_) -> {ok, <<" \n">>} end), <<"an empty answer">>},
            {text(fun(_) -> exit(kill) end), <<"not answered">>}
        ],
        [
            begin
                Fetched = #{<<"note">> := Note} = fetch(Server, Model),
                ?assertMatch(#{<<"content">> := <<"There are 7 apples and 3 pears.">>}, Fetched),
                ?assertNotEqual(nomatch, binary:match(Note, Why))
            end
         || {Model, Why} <- Failing
        ],
        chat_server:stop(Server)
    end}.

what_the_model_uses_is_counted_and_an_empty_budget_asks_nobody_test_() ->
    {timeout, 60, fun() ->
        Server = page(),
        Args = #{<<"url">> => chat_server:url(Server), <<"prompt">> => <<"How many apples?">>},
        Usage = fun(In, Out) -> #{input_tokens => In, output_tokens => Out} end,
        Turn = fun
            (#{messages := [#{content := <<"How many?">>}]}) ->
                #{tool_calls => [{<<"web_fetch">>, Args}], usage => Usage(5, 1)};
            (#{messages := [#{content := <<"The question: ", _/binary>>}]}) ->
                #{content => <<"7 apples">>, usage => Usage(100, 10)};
            (#{messages := [_, _, #{content := Fetched}]}) ->
                ?assertNotEqual(nomatch, binary:match(Fetched, <<"7 apples">>)),
                #{content => <<"Seven.">>, usage => Usage(1, 1)}
        end,
        Model = beamai_chat:new(scripted, #{turns => Turn}),
        {ok, Agent} = beamai_agent:new(#{llm => Model, kernel => kernel(Server)}),
        {ok, Result, _} = beamai_agent:run(Agent, <<"How many?">>),
        ?assertMatch(#{content := <<"Seven.">>, usage := #{total_tokens := 118}}, Result),
        {error, {out_of_budget, tokens}, After} = beamai_agent:run(Agent, <<"How many?">>, #{budget => #{max_tokens => 6}}),
        [Note] = [
            Content
         || #{role := tool, content := Content} <- beamai_conversation:messages(beamai_agent:conversation(After))
        ],
        ?assertNotEqual(nomatch, binary:match(Note, <<"tokens are used up">>)),
        chat_server:stop(Server)
    end}.
