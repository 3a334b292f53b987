%% @doc The behaviour of providers with an HTTP API: how a request is built and an answer is parsed.
%%
%% It is a module of its own, because mix may compile a module that implements one behaviour and defines another before the
%% first one.
%% @hidden
-module(beamai_chat_wire).

-export_type([event/0, said/0]).

%% A JSON object of the answer: the data of one event, or the whole answer.
-type event() :: #{binary() => term()}.
%% Checked to be text before it is shown.
-type said() :: {text | reasoning, term()}.

%% The defaults of the options in {@link beamai_chat_options:http/2}.
-callback defaults() -> map().
-callback url(Options :: map()) -> binary().
-callback headers(Options :: map(), Key :: binary() | none) -> [{string(), string()}].
%% The part of the body that declares the tools; empty without tools.
-callback tools(Options :: map(), beamai_kernel:kernel()) -> #{binary() => term()}.
-callback body(Options :: map(), beamai_chat_model:request(), Tools :: #{binary() => term()}) -> #{binary() => term()}.
%% Parses a whole answer.
-callback whole(event()) -> {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
%% Parses a streamed answer: the initial state, the state after each event with what the model has said in it, and the
%% result at the end. An exception means that the answer has an unknown shape, so these functions do not call the host.
-callback begin_stream() -> State :: term().
-callback event(event(), State :: term()) ->
    {ok, State :: term(), Said :: [said()]} | {error, beamai_chat_model:error()}.
-callback end_stream(State :: term()) ->
    {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
