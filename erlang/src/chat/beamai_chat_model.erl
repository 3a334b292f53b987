%% @doc What a provider of chat models exports, and what a conversation with any of them is made of.
%%
%% A conversation is plain data: it can be stored, and taken up again by another provider.
-module(beamai_chat_model).

-export([reply/2]).
-export_type([
    message/0, call/0, request/0, tools/0, reply/0, usage/0, stop/0, event/0, emit/0, error/0, error_reason/0, state/0
]).

-type message() ::
    %% `pinned': stays word for word when the conversation is made shorter. `summary': stands for what was before.
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
        %% What the provider needs to see again as it was: `{anthropic, Blocks}', `{text, Answer}'.
        raw => {Provider :: atom(), term()},
        %% Where the answer broke off with its run.
        is_partial => true
    }
    %% `content' is the text for models; see {@link beamai_display:for_model/3}.
    %% `object' is the result as the text protocol's specification has it, where the model speaks that and the tool is
    %% one of it. `images' are those of the result, for models that can look at them.
    | #{
        role := tool,
        call := Id :: binary(),
        name := binary(),
        content := binary(),
        outcome := outcome(),
        object => map(),
        images => [beamai_images:image()]
    }.
%% `refused': the call could not be made as it was written.
-type outcome() :: ok | error | refused.
%% `invalid' says why the arguments, then empty, could not be read.
-type call() :: #{id := binary(), name := binary(), args := map(), invalid => Message :: binary()}.
-type request() :: #{
    messages := [message()],
    system := binary(),
    %% Whose tools the model may call.
    kernel := beamai_kernel:kernel(),
    %% They as {@link beamai_chat:tools/2} gave them, where that was called before.
    tools => tools(),
    context := beamai_context:t(),
    emit := emit(),
    %% Where `{Run, cancelled}' arrives.
    run := reference() | none,
    %% Monotonic milliseconds by which the answer must be there.
    until := integer() | infinity,
    %% See {@link beamai_chat_controls}.
    tool_choice => beamai_chat_controls:tool_choice(),
    stop_sequences => [binary()],
    output => #{binary() => term()}
}.
%% What a model's module has rendered, and an estimate of its tokens.
-type tools() :: #{rendered => term(), tokens := non_neg_integer()}.
%% `reasoning' is what the model thought, of an answer that came whole.
-type reply() :: #{message := message(), stop := stop(), usage := usage(), reasoning => binary()}.
%% Binaries are stop reasons of a provider that have no atom here, as it wrote them.
-type stop() :: end_turn | tool_calls | max_tokens | refusal | binary().
%% Tokens. `input_tokens' counts those that were read from a cache, too. A module gives the counts that it has; {@link
%% beamai_chat:complete/2} fills in the others with estimates, and says in `estimated_tokens' how many tokens those are.
-type usage() :: #{
    input_tokens => non_neg_integer(),
    output_tokens => non_neg_integer(),
    cached_tokens => non_neg_integer(),
    estimated_tokens => non_neg_integer(),
    %% See {@link beamai_cost}; only of models with the option `prices'.
    cost_nano => non_neg_integer()
}.
%% `text' and `reasoning' come as they are written. After `retry' the answer begins anew.
-type event() ::
    {text, binary()}
    | {reasoning, binary()}
    | {retry, #{attempt := pos_integer(), delay_ms := non_neg_integer(), message := binary()}}.
-type emit() :: fun((event()) -> term()).
-type error() :: #{
    reason := error_reason(),
    message := binary(),
    status => pos_integer(),
    %% What the server asked for, in milliseconds.
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
    %% The conversation does not fit the model's context window.
    | context_overflow
    | invalid_response
    | cancelled
    | no_more_turns
    | failed.
-type state() :: map().

%% Checks the options; raises `{bad_option, Key}'.
-callback new(Options :: map()) -> state().
%% Has the model answer. Runs in the caller's process.
-callback complete(state(), request()) -> {ok, reply()} | {error, error()}.
%% What is added to the system prompt, for a model that is not told of the tools otherwise.
-callback instructions(beamai_kernel:kernel()) -> binary().
%% The kernel's tools as the provider takes them, for a model that is told of them with each request, which may have the
%% outcome as `tools'. Raises `{invalid_tool, Name, Problems}' where a tool cannot be offered to the model.
-callback tools(state(), beamai_kernel:kernel()) -> term().
-optional_callbacks([tools/2]).

%% @doc A reply, for modules that make some. Counts that `usage' does not have are estimated.
-spec reply(message(), #{stop => stop(), usage => map(), reasoning => binary()}) ->
    reply().
reply(Message, Rest) ->
    (maps:with([reasoning], Rest))#{message => Message, stop => maps:get(stop, Rest, stop(Message)), usage => maps:get(usage, Rest, #{})}.

stop(#{tool_calls := [_ | _]}) -> tool_calls;
stop(_Message) -> end_turn.
