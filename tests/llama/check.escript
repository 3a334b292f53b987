%% An agent with a real model: it must call a tool, its answers are streamed, and the run ends.
-mode(compile).

main([Ebin, Url]) ->
    true = code:add_patha(Ebin),
    {ok, _} = application:ensure_all_started(beamai),
    ok = logger:set_primary_config(level, error),
    Model = beamai_chat:new(openai, #{
        base_url => Url, model => <<"gemma-3-270m">>, max_tokens => 200, temperature => 0, timeout => 600000, idle_timeout => 600000
    }),
    plain(Model),
    called(Model),
    io:format("2 passed, 0 failed~n").

%% Text comes in pieces, and they are the answer.
plain(Model) ->
    {ok, Agent} = beamai_agent:new(#{llm => Model, system_prompt => <<"Answer in one short sentence.">>, stop_sequences => [<<"<|im_end|>">>]}),
    {ok, #{content := Text, usage := #{output_tokens := Tokens}, stop := Stop}, _} =
        beamai_agent:run(Agent, <<"What is the capital of France?">>, #{events => self(), tool_choice => none}),
    Pieces = [Piece || {text, Piece} <- events()],
    io:format("answer (~ts, ~b tokens, ~b pieces): ~ts~n", [Stop, Tokens, length(Pieces), Text]),
    true = length(Pieces) > 1,
    Text = iolist_to_binary(Pieces),
    true = Tokens > 0.

%% The server holds the model to the tool's schema; whatever the call says, the handler is reached with good arguments.
called(Model) ->
    Self = self(),
    Weather = #{
        name => <<"get_weather">>, description => <<"The weather of a city, now.">>,
        parameters => #{
            <<"city">> => #{type => string, required => true, position => 1},
            <<"unit">> => #{type => string, enum => [celsius, fahrenheit], required => true, position => 2}
        },
        handler => fun(Args) -> Self ! {called, Args}, {ok, #{temperature => 21}} end
    },
    Kernel = beamai_kernel:add_tool(beamai_kernel:new(#{workspace => "/var/tmp"}), Weather),
    {ok, Agent} = beamai_agent:new(#{llm => Model, kernel => Kernel, max_iterations => 4}),
    Outcome = beamai_agent:run(Agent, <<"How warm is it in Paris? Use celsius.">>, #{tool_choice => choice(), events => self()}),
    Args = receive {called, Given} -> Given after 0 -> error({not_called, Outcome, events()}) end,
    io:format("called with ~0tp~n", [Args]),
    #{<<"city">> := City, <<"unit">> := Unit} = Args,
    true = is_binary(City) andalso lists:member(Unit, [celsius, fahrenheit]),
    case Outcome of
        {ok, #{tool_calls := Calls, stop := Stop}, _} -> io:format("ended after ~b calls: ~ts~n", [Calls, Stop]);
        %% So small a model may call again and again.
        {error, {max_iterations, 4}, _} -> io:format("ended after 4 answers~n")
    end.

choice() ->
    case os:getenv("BEAMAI_LLAMA_CHOICE", "required") of
        "required" -> required;
        Name -> {tool, list_to_binary(Name)}
    end.

events() ->
    receive {beamai_event, _, Event} -> [Event | events()] after 0 -> [] end.
