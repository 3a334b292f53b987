%% @doc The behaviour of chat model providers, and the types of conversations.
%%
%% A conversation is plain data: it can be stored, and continued with another provider.
-module(beamai_chat_model).

-export([reply/2]).
-export_type([
    message/0, call/0, request/0, tools/0, reply/0, usage/0, stop/0, event/0, emit/0, error/0, error_reason/0, state/0
]).

-type message() ::
    %% `pinned': kept verbatim when the conversation is shortened. `summary': replaces earlier messages.
    #{
        role := user,
        content := binary(),
        attachments => [beamai_attachments:attachment()],
        pinned => true,
        summary => #{pinned := [binary()]}
    }
    | #{
        role := assistant,
        content := binary(),
        tool_calls => [call()],
        %% Data that the provider must get back unchanged: `{anthropic, Blocks}', `{text, Answer}'.
        raw => {Provider :: atom(), term()},
        %% Whether the answer is incomplete because its run ended.
        is_partial => true
    }
    %% `content' is the text for models; see {@link beamai_display:for_model/3}. `object' is the result in the text
    %% protocol's format, if the model uses that protocol and the tool is part of it. `images' are the images in the
    %% result, for models that accept them.
    | #{
        role := tool,
        call := Id :: binary(),
        name := binary(),
        content := binary(),
        outcome := outcome(),
        object => map(),
        images => [beamai_images:image()]
    }.
%% `refused': the call was invalid or not permitted.
-type outcome() :: ok | error | refused.
%% `invalid' is the reason why the arguments could not be parsed; `args' is then empty.
-type call() :: #{id := binary(), name := binary(), args := map(), invalid => Message :: binary()}.
-type request() :: #{
    messages := [message()],
    system := binary(),
    %% The tools that the model may call.
    kernel := beamai_kernel:kernel(),
    %% The result of {@link beamai_chat:tools/2}, if it is already known.
    tools => tools(),
    context := beamai_context:t(),
    emit := emit(),
    %% Tag with which a cancellation arrives, as `{Run, cancelled}'.
    run := reference() | none,
    %% Deadline for the answer, in monotonic milliseconds.
    until := integer() | infinity,
    %% See {@link beamai_chat_controls}.
    tool_choice => beamai_chat_controls:tool_choice(),
    stop_sequences => [binary()],
    output => #{binary() => term()}
}.
%% The tools in the provider's format, and their estimated number of tokens.
-type tools() :: #{rendered => term(), tokens := non_neg_integer()}.
%% `reasoning' is the model's reasoning, for answers that were not streamed.
-type reply() :: #{message := message(), stop := stop(), usage := usage(), reasoning => binary()}.
%% A binary is the provider's own name for a stop reason that has no atom here.
-type stop() :: end_turn | tool_calls | max_tokens | refusal | binary().
%% Token counts. `input_tokens' includes tokens read from a cache. A module returns the counts that it knows; {@link
%% beamai_chat:complete/2} estimates the others, and sets `estimated_tokens' to the number of estimated tokens.
-type usage() :: #{
    input_tokens => non_neg_integer(),
    output_tokens => non_neg_integer(),
    cached_tokens => non_neg_integer(),
    estimated_tokens => non_neg_integer(),
    %% See {@link beamai_cost}; only of models with the option `prices'.
    cost_nano => non_neg_integer()
}.
%% `text' and `reasoning' arrive while they are generated. After `retry' the answer starts again.
-type event() ::
    {text, binary()}
    | {reasoning, binary()}
    | {retry, #{attempt := pos_integer(), delay_ms := non_neg_integer(), message := binary()}}.
-type emit() :: fun((event()) -> term()).
-type error() :: #{
    reason := error_reason(),
    message := binary(),
    status => pos_integer(),
    %% The delay that the server asked for, in milliseconds.
    retry_after => non_neg_integer()
}.
-type error_reason() ::
    rate_limited
    | overloaded
    | authentication
    | invalid_request
    | connection
    | tls
    | timeout
    | too_large
    %% The conversation does not fit into the model's context window.
    | context_overflow
    | invalid_response
    | cancelled
    | no_more_turns
    | failed.
-type state() :: map().

%% Validates the options; raises `{bad_option, Key}'.
-callback new(Options :: map()) -> state().
%% Sends a request to the model. Runs in the caller's process.
-callback complete(state(), request()) -> {ok, reply()} | {error, error()}.
%% The section of the system prompt about the tools, for models without another way to declare tools.
-callback instructions(beamai_kernel:kernel()) -> binary().
%% The kernel's tools in the provider's format, for models whose requests declare tools; passed as `tools' in the
%% request. Raises `{invalid_tool, Name, Problems}' for a tool that the provider does not accept.
-callback tools(state(), beamai_kernel:kernel()) -> term().
-optional_callbacks([tools/2]).

%% @doc Builds a reply, for custom modules. Missing counts in `usage' are estimated.
-spec reply(message(), #{stop => stop(), usage => map(), reasoning => binary()}) ->
    reply().
reply(Message, Rest) ->
    (maps:with([reasoning], Rest))#{message => Message, stop => maps:get(stop, Rest, stop(Message)), usage => maps:get(usage, Rest, #{})}.

stop(#{tool_calls := [_ | _]}) -> tool_calls;
stop(_Message) -> end_turn.
