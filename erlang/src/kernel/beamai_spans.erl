%% @doc Starts and ends the spans of tool calls, model requests and agents' runs.
%% @hidden
-module(beamai_spans).

-export([start_tool/3, stop_tool/2, stop_tool/3, start_model/3, stop_model/2, start_agent/2, stop_agent/2]).

%%% Tools

%% @doc Starts the span of a tool call.
-spec start_tool(Name :: term(), Args :: term(), beamai_context:t()) -> beamai_telemetry:span().
start_tool(Name, Args, Context) ->
    beamai_telemetry:start(tool, {Name, Args, Context}).

%% @doc Ends the span of a tool call.
-spec stop_tool(beamai_telemetry:span(), Result) -> Result when Result :: beamai_call:result().
stop_tool(Span, Result) ->
    ok = beamai_telemetry:stop(Span, measured, Result),
    Result.

%% @doc As {@link stop_tool/2}, with the duration of the call in native units.
-spec stop_tool(beamai_telemetry:span(), Result, measured | integer()) -> Result when Result :: beamai_call:result().
stop_tool(Span, Result, Duration) ->
    ok = beamai_telemetry:stop(Span, Duration, Result),
    Result.

%%% Models

%% @doc Starts the span of a model request. `Provider' is the provider's name in OpenTelemetry's conventions.
-spec start_model(Provider :: binary(), State :: map(), beamai_chat_model:request()) -> beamai_telemetry:span().
start_model(Provider, State, Request) ->
    beamai_telemetry:start(model, {Provider, State, Request}).

%% @doc Ends the span of a model request.
-spec stop_model(beamai_telemetry:span(), Result) -> Result when
    Result :: {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
stop_model(Span, Result) ->
    ok = beamai_telemetry:stop(Span, measured, Result),
    Result.

%%% Agents

%% @doc Starts the span of a run.
-spec start_agent(beamai_context:t(), beamai_chat_model:message() | none) -> beamai_telemetry:span().
start_agent(Context, Input) ->
    beamai_telemetry:start(agent, {Context, Input}).

%% @doc Ends the span of a run.
-spec stop_agent(beamai_telemetry:span(), {ok | error, StopOrReason :: term(), Counts :: map()}) -> ok.
stop_agent(Span, Ended) ->
    beamai_telemetry:stop(Span, measured, Ended).
