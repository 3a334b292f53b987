%% @doc Spans of tool calls, model requests and agents' runs, as telemetry events.
%%
%% The events are `[beamai, tool | model | agent, start | stop | exception]', with the measurements of
%% `telemetry:span/3': `system_time' and `monotonic_time', then `duration', in native units, and token counts for
%% models. The metadata contain `run_id', `telemetry_span_context', which is the same for all events of a span, and
%% attributes named after OpenTelemetry's conventions for generative AI, as atoms. Texts, arguments and results are
%% included only if the application environment has `{telemetry_contents, true}'.
%%
%% If the library `telemetry' is available, its handlers receive the events; otherwise those of {@link attach/4}. With
%% neither, the cost per call is one term lookup. Whether the library is available is determined once; call {@link
%% refresh/0} after loading it later, or after changing the environment.
%%
%% All events have `gen_ai.operation.name', and `gen_ai.agent.id', `gen_ai.conversation.id' (the session) and `run_id'
%% if the context has them; failures have `error.type'. Further attributes:
%%
%% <ul>
%% <li>tools: `gen_ai.tool.name', `gen_ai.tool.type', `gen_ai.tool.call.id' within agents; with contents
%% `gen_ai.tool.call.arguments' and `gen_ai.tool.call.result'; an exception has `kind', `reason' and `stacktrace'; a
%% refusal has `beamai.permission.rule' if a rule decided;</li>
%% <li>models: `gen_ai.provider.name', `gen_ai.request.model', `gen_ai.response.finish_reasons',
%%   `gen_ai.usage.input_tokens', `gen_ai.usage.output_tokens', `gen_ai.usage.cache_read.input_tokens'; with contents
%%   `gen_ai.system_instructions', `gen_ai.input.messages' and `gen_ai.output.messages', as this library has messages;</li>
%% <li>agents: the usage of the run, and `iterations' and `tool_calls' among the measurements.</li>
%% </ul>
-module(beamai_telemetry).

-export([attach/4, detach/1, refresh/0]).
-export([start/2, stop/3]).
-export_type([event/0, handler/0, span/0]).

-type event() :: [atom()].
%% As handlers of `telemetry'. A handler that raises is logged and detached.
-type handler() :: fun((event(), Measurements :: map(), Metadata :: map(), Config :: term()) -> term()).
-type span() :: off | {Kind :: atom(), Started :: integer(), Metadata :: map() | fun((boolean()) -> map()), state()}.
%% `listening': the handlers of each event.
-type state() :: #{
    library := none | module(),
    contents := boolean(),
    handlers := [{term(), [event()], handler(), term()}],
    listening := #{event() => [{term(), handler(), term()}]}
}.

%%% For hosts

%% @doc Attaches a fun to events; it runs in the process that emits them. Only used without the library `telemetry'.
-spec attach(Id :: term(), [event()], handler(), Config :: term()) -> ok | {error, already_exists}.
attach(Id, Events, Fun, Config) when is_list(Events), is_function(Fun, 4) ->
    changed(fun(#{handlers := Handlers} = State) ->
        case lists:keymember(Id, 1, Handlers) of
            true -> {{error, already_exists}, State};
            false -> {ok, State#{handlers := Handlers ++ [{Id, Events, Fun, Config}]}}
        end
    end).

%% @doc Removes a handler that {@link attach/4} added.
-spec detach(Id :: term()) -> ok | {error, not_found}.
detach(Id) ->
    changed(fun(#{handlers := Handlers} = State) ->
        case lists:keytake(Id, 1, Handlers) of
            {value, _, Others} -> {ok, State#{handlers := Others}};
            false -> {{error, not_found}, State}
        end
    end).

%% @doc Checks again whether `telemetry' is available, and reads the environment.
-spec refresh() -> ok.
refresh() ->
    changed(fun(State) -> {ok, (found())#{handlers := maps:get(handlers, State)}} end).

changed(Change) ->
    global:trans({?MODULE, self()}, fun() ->
        {Answer, State} = Change(whole(persistent_term:get(?MODULE, undefined))),
        persistent_term:put(?MODULE, kept(State)),
        Answer
    end, [node()]).

whole(#{} = State) -> State;
whole(_OffOrUndefined) -> found().

kept(#{library := none, handlers := []}) -> off;
kept(#{handlers := Handlers} = State) ->
    Events = lists:usort(lists:append([Wanted || {_, Wanted, _, _} <- Handlers])),
    Of = fun(Event) -> [{Id, Fun, Config} || {Id, Wanted, Fun, Config} <- Handlers, lists:member(Event, Wanted)] end,
    State#{listening := maps:from_list([{Event, Of(Event)} || Event <- Events])}.

found() ->
    #{
        library => library(),
        contents => application:get_env(beamai, telemetry_contents, false) =:= true,
        handlers => [],
        listening => #{}
    }.

%% Not a dependency, so the module must not be called statically.
library() ->
    case code:ensure_loaded(telemetry) of
        {module, Module} -> hd([Module || erlang:function_exported(Module, execute, 3)] ++ [none]);
        {error, _} -> none
    end.

%%% Used by the traced modules

%% @private Starts a span. The fun returns its metadata; its argument says whether to include contents. It is called
%% only if there is a handler.
-spec start(Kind :: atom(), fun((Contents :: boolean()) -> map())) -> span().
start(Kind, Describe) ->
    case persistent_term:get(?MODULE, undefined) of
        off ->
            off;
        undefined ->
            ok = refresh(),
            start(Kind, Describe);
        #{} = State ->
            begun(Kind, erlang:monotonic_time(), Describe, heard_by([beamai, Kind, start], State), State)
    end.

%% If nobody handles start events, the metadata are computed only at the end.
begun(Kind, Started, Describe, {none, []}, State) ->
    {Kind, Started, Describe, State};
begun(Kind, Started, Describe, Listeners, State) ->
    Metadata = metadata(Describe, State),
    Measurements = #{system_time => erlang:system_time(), monotonic_time => Started},
    execute([beamai, Kind, start], Measurements, Metadata, Listeners),
    {Kind, Started, Metadata, State}.

metadata(#{} = Metadata, _State) -> Metadata;
metadata(Describe, #{contents := Contents}) -> (Describe(Contents))#{telemetry_span_context => make_ref()}.

heard_by(Event, #{library := Library, listening := Listening}) -> {Library, maps:get(Event, Listening, [])}.

%% @private Ends a span. `Duration' is in native units, or `measured' from its start. The fun returns how it ended:
%% whether there was an exception, and further measurements and metadata.
-spec stop(span(), Duration :: measured | integer(), fun((Contents :: boolean()) -> {stop | exception, map(), map()})) -> ok.
stop(off, _Duration, _Describe) ->
    ok;
stop({Kind, Started, Metadata, #{contents := Contents} = State}, Duration, Describe) ->
    Now = erlang:monotonic_time(),
    {Suffix, Measurements, More} = Describe(Contents),
    Event = [beamai, Kind, Suffix],
    case heard_by(Event, State) of
        {none, []} ->
            ok;
        Listeners ->
            Times = Measurements#{monotonic_time => Now, duration => duration(Duration, Now - Started)},
            execute(Event, Times, maps:merge(metadata(Metadata, State), More), Listeners)
    end.

duration(measured, Measured) -> Measured;
duration(Duration, _Measured) -> Duration.

execute(Event, Measurements, Metadata, {Library, Listening}) ->
    _ = Library =/= none andalso Library:execute(Event, Measurements, Metadata),
    lists:foreach(
        fun({Id, Fun, Config}) -> handled(Id, Fun, Event, Measurements, Metadata, Config) end,
        Listening
    ).

handled(Id, Fun, Event, Measurements, Metadata, Config) ->
    try
        Fun(Event, Measurements, Metadata, Config)
    catch
        Class:Reason:Stack ->
            logger:error("beamai: the telemetry handler ~0tp raised ~p:~0tp at ~0tp, and is detached", [
                Id, Class, Reason, beamai_crash:short_stack(Stack)
            ]),
            detach(Id)
    end.
