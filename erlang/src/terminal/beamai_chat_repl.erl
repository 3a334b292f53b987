%% @doc A chat at the terminal: an agent with the built-in tools, in the current directory.
%%
%% The environment determines the model; see {@link model/1}. Approvals and questions are asked at the prompt. Results
%% are shown as a summary and a body. An interrupt cancels the run, not the chat.
%% @hidden
-module(beamai_chat_repl).

-export([main/0, model/1]).

%% The run id that an interrupt cancels.
-define(RUN, beamai_chat_run).
-define(PLUGINS, [
    beamai_tool_file, beamai_tool_shell, beamai_tool_git, beamai_tool_web, beamai_tool_todo, beamai_tool_human
]).
-define(PROMPT, <<
    "You are an assistant for software in the user's working directory. Use the tools to find out rather than "
    "guess, change only what you were asked to, and check what you changed."
>>).

%% @doc Runs the chat until the end of input, then stops the VM. Used by `make chat'.
-spec main() -> no_return().
main() ->
    ok = io:setopts([{encoding, unicode}]),
    _ = application:load(beamai),
    %% The chat prints this at the prompt instead.
    ok = application:set_env(beamai, announce, false),
    {ok, _} = application:ensure_all_started(beamai),
    case model(fun os:getenv/1) of
        {ok, Name, Model} ->
            Input = beamai_chat_input:start(),
            ok = beamai_chat_interrupt:install(fun() -> interrupted(Input) end),
            say("~ts~n/plan and /work switch between planning and working, Ctrl-C ends an answer, Ctrl-D the chat.~n", [Name]),
            lists:foreach(fun lacking/1, beamai_diagnostics:missing(".")),
            chat(agent(Model, default, beamai_conversation:new())),
            halt(0);
        {error, Message} ->
            io:format(standard_error, "beamai: ~ts~n", [Message]),
            halt(2)
    end.

%% Also ends a pending prompt or approval.
interrupted(Input) ->
    ok = beamai_kernel:cancel(?RUN),
    beamai_chat_input:interrupt(Input).

%% @doc The model that the environment configures: `OPENAI_API_KEY' or `OPENAI_BASE_URL' with `OPENAI_MODEL', or
%% `ANTHROPIC_API_KEY' or `ANTHROPIC_BASE_URL' with `ANTHROPIC_MODEL'. Without these, a scripted tour.
-spec model(fun((string()) -> string() | false)) -> {ok, Name :: iodata(), beamai_chat:model()} | {error, iodata()}.
model(Env) ->
    Named = named("OPENAI", openai, Env) ++ named("ANTHROPIC", anthropic, Env),
    case {lists:append([whole(Found) || Found <- Named]), Named} of
        {[Found | _], _} -> Found;
        {[], [{incomplete, Why} | _]} -> {error, Why};
        {[], []} -> {ok, "No model is configured, so this is a tour.", beamai_chat:new(scripted, #{turns => fun beamai_chat_tour:turn/1})}
    end.

%% A key without a model may be intended for other programs.
whole({incomplete, _Why}) -> [];
whole({ok, _Name, _Model} = Found) -> [Found];
whole({error, _Why} = Found) -> [Found].

named(Prefix, Provider, Env) ->
    [Key, Url, Model] = [Env(Prefix ++ Suffix) || Suffix <- ["_API_KEY", "_BASE_URL", "_MODEL"]],
    case {is_set(Key) orelse is_set(Url), is_set(Model)} of
        {false, _} -> [];
        {true, false} -> [{incomplete, ["set ", Prefix, "_MODEL to the name of a model"]}];
        {true, true} -> [made(Prefix, Provider, [{api_key, Key}, {base_url, Url}], Model)]
    end.

is_set(Value) -> Value =/= false andalso Value =/= "".

made(Prefix, Provider, Given, Model) ->
    Options = maps:from_list([{Key, Value} || {Key, Value} <- Given, is_set(Value)]),
    Name = unicode:characters_to_binary(Model),
    try
        {ok, Model, beamai_chat:new(Provider, Options#{model => Name})}
    catch
        error:{bad_option, Key} -> {error, [Prefix, "_", string:uppercase(atom_to_list(Key)), " cannot be used"]}
    end.

lacking(Line) ->
    say("(~ts)~n", [beamai_display:printable(Line)]).

agent(Model, Profile, Conversation) ->
    Kernel = beamai_kernel:new(#{
        sandbox => best_effort,
        approve => fun beamai_terminal:approve/1,
        ask_user => fun beamai_terminal:ask_user/1
    }),
    {ok, Agent} = beamai_agent:new(#{
        llm => Model,
        kernel => Kernel,
        plugins => ?PLUGINS,
        system_prompt => ?PROMPT,
        max_iterations => 50,
        context => #{session_id => ?RUN},
        profile => Profile,
        conversation => Conversation
    }),
    {Model, Agent}.

chat(State) ->
    case io:get_line("\n> ") of
        Line when is_list(Line); is_binary(Line) ->
            chat(said(string:trim(unicode:characters_to_binary(Line)), State));
        {error, interrupted} ->
            chat(State);
        _EndOrError ->
            say("~n", [])
    end.

said(<<>>, State) -> State;
said(<<"/plan">>, State) -> switched(plan, "Planning: nothing is changed.", State);
said(<<"/work">>, State) -> switched(default, "Working.", State);
said(Text, {Model, Agent}) ->
    {Model, answered(beamai_agent:run(Agent, Text, #{run_id => ?RUN, events => shown(is_coloured())}))}.

switched(Profile, Text, {Model, Agent}) ->
    say("~ts~n", [Text]),
    agent(Model, Profile, beamai_agent:conversation(Agent)).

answered({ok, _Result, Agent}) ->
    cost(Agent),
    Agent;
answered({error, Reason, Agent}) ->
    say("~n~ts~n", [beamai_display:printable(beamai_agent:explain(Reason))]),
    cost(Agent),
    Agent.

cost(Agent) ->
    #{usage := Usage, tool_calls := Calls} = beamai_agent:conversation(Agent),
    say("~n[~b tokens in, ~b out, ~b calls]~n", [
        maps:get(input_tokens, Usage, 0), maps:get(output_tokens, Usage, 0), Calls
    ]).

shown(IsColoured) ->
    fun(Event) -> io:put_chars(beamai_chat_show:event(Event, IsColoured)) end.

%% Only a terminal reports its width.
is_coloured() ->
    element(1, io:columns()) =:= ok andalso not is_set(os:getenv("NO_COLOR")) andalso os:getenv("TERM") =/= "dumb".

say(Format, Args) ->
    io:format(Format, Args).
