%% @doc A chat at the terminal: an agent with the built-in tools, in the current directory.
%%
%% The environment determines the model; see {@link model/1}. Approvals and questions are asked at the prompt. Results
%% are shown as a summary and a body, long ones in pages. Esc or an interrupt cancels the run, not the chat.
%% @hidden
-module(beamai_chat_repl).

-export([main/0, model/1]).

%% The run id that an interrupt cancels.
-define(RUN, beamai_chat_run).
-define(PLUGINS, [
    beamai_tool_file, beamai_tool_shell, beamai_tool_git, beamai_tool_lsp, beamai_tool_web, beamai_tool_todo, beamai_tool_human,
    beamai_tool_skill, beamai_tool_task
]).
%% The sub-agent: it explores and changes nothing.
-define(AGENTS, #{<<"scout">> => #{
    description => <<"Finds out something in the working directory and reports it; changes nothing.">>,
    prompt => <<"Find out what you are asked for. Answer with what was found, and where.">>,
    profile => plan
}}).
%% Number of terminal lines that a page leaves free.
-define(MARGIN, 6).
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
            Input = beamai_chat_input:start(fun() -> beamai_kernel:cancel(?RUN) end),
            ok = beamai_chat_interrupt:install(fun() -> interrupted(Input) end),
            say("~ts~n/plan and /work switch between planning and working, /more shows the rest of a long result; ~ts or Ctrl-C "
                "ends an answer, Ctrl-D the chat.~n", [Name, escape_key()]),
            lists:foreach(fun lacking/1, beamai_diagnostics:missing(".")),
            chat(agent(Model, default, beamai_conversation:new())),
            halt(0);
        {error, Message} ->
            io:format(standard_error, "beamai: ~ts~n", [Message]),
            halt(2)
    end.

%% The key that ends an answer; see {@link beamai_chat_input}.
escape_key() ->
    case list_to_integer(erlang:system_info(otp_release)) of
        Release when Release >= 26 -> "Esc and Enter";
        _ -> "Esc"
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
        error:{bad_option, Key} = Reason:Stack ->
            #{general := Why} = beamai_validate:format_error(Reason, Stack),
            {error, [Prefix, "_", string:uppercase(atom_to_list(Key)), " cannot be used: ", Why]}
    end.

lacking(Line) ->
    say("(~ts)~n", [beamai_display:printable(Line)]).

agent(Model, Profile, Conversation) ->
    Kernel = beamai_kernel:new(#{
        sandbox => best_effort,
        approve => fun beamai_terminal:approve/1,
        ask_user => fun beamai_terminal:ask_user/1,
        agents => ?AGENTS
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
    #{model => Model, agent => Agent, rest => []}.

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
said(<<"\e">>, State) -> State;
said(<<"/plan">>, State) -> switched(plan, "Planning: nothing is changed.", State);
said(<<"/work">>, State) -> switched(default, "Working.", State);
said(<<"/more">>, #{rest := []} = State) -> say("There is no more.~n", []), State;
said(<<"/more">>, #{rest := Rest} = State) -> State#{rest := page(Rest, page_lines())};
said(Text, #{agent := Agent} = State) ->
    Answer = beamai_agent:run(Agent, Text, #{run_id => ?RUN, events => shown(is_coloured())}),
    State#{agent := answered(Answer), rest := rest([])}.

switched(Profile, Text, #{model := Model, agent := Agent}) ->
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

%% The rest of a long result arrives as a message, because events are shown in the chat's process.
shown(IsColoured) ->
    Lines = page_lines(),
    fun
        ({tool_result, _, _} = Event) -> self() ! {?MODULE, rest, page(lines(beamai_chat_show:event(Event, IsColoured)), Lines)};
        (Event) -> io:put_chars(beamai_chat_show:event(Event, IsColoured))
    end.

rest(Before) ->
    receive
        {?MODULE, rest, Lines} -> rest(Before ++ Lines)
    after 0 -> Before
    end.

lines(Text) ->
    string:split(unicode:characters_to_binary(Text), "\n", all).

%% Shows the first lines and the number of remaining ones; returns those.
page(Lines, Most) when length(Lines) =< Most ->
    io:put_chars(lists:join("\n", Lines)),
    [];
page(Lines, Most) ->
    {Page, Rest} = lists:split(Most, Lines),
    io:put_chars([lists:join("\n", Page), io_lib:format("~n(~b more lines: /more)~n", [length(Rest)])]),
    Rest.

%% Lines per page; without a terminal there are no pages.
page_lines() ->
    case io:rows() of
        {ok, Rows} -> max(Rows - ?MARGIN, ?MARGIN);
        {error, enotsup} -> infinity
    end.

%% Only a terminal reports its width.
is_coloured() ->
    element(1, io:columns()) =:= ok andalso not is_set(os:getenv("NO_COLOR")) andalso os:getenv("TERM") =/= "dumb".

say(Format, Args) ->
    io:format(Format, Args).
