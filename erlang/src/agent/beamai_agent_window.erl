%% @doc Keeps the conversation of a run within the model's context window.
%%
%% Before a request that would come near the window, and once after the provider rejected a request as too long, old
%% results are removed. If that is not enough, the model summarises the beginning of the conversation.
%% @hidden
-module(beamai_agent_window).

-include("beamai_run.hrl").

-export([fit/2, shrink/2, counted/2]).
-export_type([options/0]).

%% In percent of the window: when compaction starts, and how much it leaves.
-type options() :: #{at => 1..100, to => 1..99}.
-type fitted() :: {ok, #state{}} | {error, beamai_chat_model:error(), #state{}}.

-define(SUMMARISE, <<
    "You summarise the beginning of a conversation between a user and an assistant with tools, so that the assistant can "
    "go on from your summary alone. Keep: what the user wants, decisions and their reasons, facts that were found (paths, "
    "names, numbers, errors) exactly, what was done and changed, and what is left to do. Leave out what no longer matters. "
    "Answer with the summary and nothing else."
>>).
%% Maximum number of tokens to summarise if the window is unknown.
-define(TRANSCRIPT, 50000).
-define(TRIES, 3).

%% @doc Shortens the conversation before a request if it does not fit.
-spec fit(#run{}, #state{}) -> fitted().
fit(#run{agent = #{window := infinity}}, State) ->
    {ok, State};
fit(#run{agent = #{compaction := off}}, State) ->
    {ok, State};
fit(#run{agent = #{window := Window, compaction := #{at := At, to := To}}} = Run, State) ->
    case tokens(Run, State) of
        Tokens when Tokens * 100 < Window * At -> {ok, State};
        Tokens -> compacted(Tokens, Window * To div 100, Run, State)
    end.

%% @doc Shortens the conversation after the provider has rejected it.
-spec shrink(#run{}, #state{}) -> fitted() | off.
shrink(#run{agent = #{compaction := off}}, _State) ->
    off;
shrink(#run{agent = #{window := Window, compaction := #{to := To}}} = Run, State) ->
    Tokens = tokens(Run, State),
    Goal = min(Tokens, known(Window, Tokens)) * To div 100,
    compacted(Tokens, Goal, Run, State).

known(infinity, Tokens) -> Tokens;
known(Window, _Tokens) -> Window.

%% @doc Records the provider's token counts after an answer, if it returned any.
-spec counted(beamai_chat_model:usage(), #state{}) -> #state{}.
counted(#{estimated_tokens := _}, State) ->
    State#state{counted = none};
counted(#{input_tokens := 0}, State) ->
    State#state{counted = none};
counted(#{input_tokens := Input, output_tokens := Output}, #state{conversation = Conversation} = State) ->
    State#state{counted = {Input + Output, length(beamai_conversation:messages(Conversation))}}.

%% Tokens of the next request: counted up to the last answer, estimated after it.
tokens(_Run, #state{counted = {Tokens, Count}, conversation = Conversation}) ->
    Tokens + beamai_tokens:of_messages(lists:nthtail(Count, beamai_conversation:messages(Conversation)));
tokens(Run, #state{counted = none, conversation = Conversation} = State) ->
    overhead(Run, State) + beamai_tokens:of_messages(beamai_conversation:messages(Conversation)).

overhead(#run{agent = Agent, system = System}, #state{conversation = Conversation}) ->
    {_Kernel, #{tokens := Tokens}} = beamai_tool_search:offered(Agent, beamai_conversation:messages(Conversation)),
    beamai_tokens:of_text(System) + Tokens.

compacted(Before, Goal, #run{emit = Emit, tag = Tag} = Run, #state{conversation = Conversation} = State) ->
    Started = erlang:monotonic_time(microsecond),
    Messages = beamai_conversation:messages(Conversation),
    Room = max(0, Goal - overhead(Run, State)),
    case shorter(Messages, Room, Run) of
        {ok, Shorter, Summarised} ->
            _ = beamai_agent_log:append(Tag, #{type => compacted, messages => Shorter}),
            After = State#state{conversation = beamai_conversation:replace(Shorter, Conversation), counted = none},
            Emit({compacted, #{
                tokens_before => Before, tokens_after => tokens(Run, After), summarised => Summarised,
                duration_us => erlang:monotonic_time(microsecond) - Started
            }}),
            {ok, After};
        {error, Error} ->
            {error, Error, State}
    end.

%% Each step is applied only if the previous one was not enough.
shorter(Messages, Room, Run) ->
    Emptied = beamai_compaction:without_old_results(Messages, Room),
    case beamai_tokens:of_messages(Emptied) =< Room of
        true -> {ok, Emptied, 0};
        false -> summarised(beamai_compaction:split(Emptied, Room div 2), Messages, Room, Run)
    end.

%% Results are included in the summary.
summarised({[], End}, _Messages, Room, _Run) ->
    {ok, beamai_compaction:cut_results(End, Room), 0};
summarised({Begin, End}, Messages, Room, Run) ->
    case summary(lists:sublist(Messages, length(Begin)), most(Run), Run, ?TRIES) of
        {ok, Text} -> {ok, beamai_compaction:cut_results(beamai_compaction:summarised(Begin, End, Text), Room), length(Begin)};
        {error, _} = Error -> Error
    end.

most(#run{agent = #{window := infinity}}) -> ?TRANSCRIPT;
most(#run{agent = #{window := Window}}) -> Window div 2.

summary(Messages, Most, #run{agent = #{llm := Model}, kernel = Kernel, tag = Tag, budget = Budget} = Run, Tries) ->
    Request = #{
        system => ?SUMMARISE,
        messages => [#{role => user, content => beamai_compaction:transcript(Messages, Most)}],
        kernel => beamai_kernel:select_tools(Kernel, []),
        run => Tag,
        until => beamai_budget:until(Budget)
    },
    case beamai_chat:complete(Model, Request) of
        {ok, #{message := #{content := Text}, usage := Usage}} ->
            ok = beamai_budget:spend(Usage, Budget),
            said(string:trim(Text));
        {error, #{reason := context_overflow}} when Tries > 1 ->
            summary(Messages, Most div 2, Run, Tries - 1);
        {error, _} = Error ->
            Error
    end.

said(<<>>) -> {error, #{reason => failed, message => <<"the model gave an empty summary of the conversation">>}};
said(Text) -> {ok, Text}.
