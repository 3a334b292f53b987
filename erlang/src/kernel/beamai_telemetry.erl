%% @doc Spans of tool calls, model requests and agents' runs, as telemetry events.
%%
%% The events are `[beamai, tool | model | agent, start | stop | exception]', with the measurements of
%% `telemetry:span/3': `system_time' and `monotonic_time', then `duration', in native units, and token counts for
%% models. The metadata contain `run_id', `telemetry_span_context', which is the same for all events of a span, and
%% attributes named after OpenTelemetry's conventions for generative AI, as atoms. Texts, arguments and results are
%% included only if the application environment has `{telemetry_contents, true}'.
%%
%% If the library `telemetry' is available, its handlers receive the events; otherwise those of {@link attach/4}. With
%% neither, the cost per call is one term lookup. Whether the library is available is determined when the application starts; call
%% {@link refresh/0} after loading it later, or after changing the environment.
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
%% <li>agents: the usage of the run, `parent_run_id' of a sub-agent, and `iterations' and `tool_calls' among the measurements.</li>
%% </ul>
-module(beamai_telemetry).

-export([attach/4, detach/1, refresh/0]).
-export([record/3, start/2, stop/3, metadata/1]).
-export_type([event/0, handler/0, span/0, subject/0, recorder/0, record/0, starting/0, state/0]).

-include("beamai_span.hrl").

-type event() :: [atom()].
%% As handlers of `telemetry'. A handler that raises is logged and detached.
-type handler() :: fun((event(), Measurements :: map(), Metadata :: map(), Config :: term()) -> term()).
-type span() :: off | #span{}.
%% What is traced, before its metadata are computed: for example a tool's name, arguments and context.
-type subject() :: tuple().
%% Receives completed spans in their own process, before metadata are computed. The duration is in units of
%% `os:perf_counter/0'. Must not raise.
-type record() :: fun((#span{}, Duration :: integer(), Result :: term(), Config :: term()) -> ok).
%% Receives spans when they start, with a `key' that the completed span has too. Must not raise.
-type starting() :: fun((#span{}, Config :: term()) -> term()).
%% Starts are recorded of `all' spans, or only of those of `agents': runs, model requests and the calls that they lead to.
%% Any other tool call may be so short that recording its start would show.
-type recorder() :: #{record := record(), starting := starting(), starts := agents | all}.
-type state() :: #telemetry{}.

%%% For hosts

%% @doc Attaches a fun to events; it runs in the process that emits them. Only used without the library `telemetry'.
-spec attach(Id :: term(), [event()], handler(), Config :: term()) -> ok | {error, already_exists}.
attach(Id, Events, Fun, Config) when is_list(Events), is_function(Fun, 4) ->
    changed(fun(#telemetry{handlers = Handlers} = State) ->
        case lists:keymember(Id, 1, Handlers) of
            true -> {{error, already_exists}, State};
            false -> {ok, State#telemetry{handlers = Handlers ++ [{Id, Events, Fun, Config}]}}
        end
    end);
attach(_Id, Events, Fun, _Config) when is_list(Events) ->
    beamai_validate:raise({bad_handler, Fun}, [
        "a handler is a function of four arguments, the event, its measurements, its metadata and the configuration, not ", beamai_validate:show(Fun)
    ]);
attach(_Id, Events, _Fun, _Config) ->
    beamai_validate:raise({bad_events, Events}, [
        "a list of events, such as ", beamai_syntax:show([[beamai, tool, stop]], 80), ", is wanted, not ", beamai_validate:show(Events)
    ]).

%% @doc Removes a handler that {@link attach/4} added.
-spec detach(Id :: term()) -> ok | {error, not_found}.
detach(Id) ->
    changed(fun(#telemetry{handlers = Handlers} = State) ->
        case lists:keytake(Id, 1, Handlers) of
            {value, _, Others} -> {ok, State#telemetry{handlers = Others}};
            false -> {{error, not_found}, State}
        end
    end).

%% @doc Checks again whether `telemetry' is available, and reads the environment.
-spec refresh() -> ok.
refresh() ->
    changed(fun(#telemetry{handlers = Handlers, recorders = Recorders}) ->
        {ok, (found())#telemetry{handlers = Handlers, recorders = Recorders}}
    end).

%% @private Adds or updates a recorder; the configuration `none' removes it.
-spec record(Id :: term(), recorder() | #{}, Config :: term() | none) -> ok.
record(Id, _Recorder, none) ->
    changed(fun(#telemetry{recorders = Recorders} = State) ->
        {ok, State#telemetry{recorders = lists:keydelete(Id, 1, Recorders)}}
    end);
record(Id, Recorder, Config) ->
    changed(fun(#telemetry{recorders = Recorders} = State) ->
        {ok, State#telemetry{recorders = lists:keystore(Id, 1, Recorders, {Id, Recorder, Config})}}
    end).

changed(Change) ->
    global:trans({?MODULE, self()}, fun() ->
        {Answer, State} = Change(whole(persistent_term:get(?MODULE, undefined))),
        persistent_term:put(?MODULE, kept(State)),
        Answer
    end, [node()]).

whole(#telemetry{} = State) -> State;
whole(_OffOrUndefined) -> found().

kept(#telemetry{library = none, handlers = [], recorders = []}) -> off;
kept(#telemetry{library = Library, handlers = Handlers, recorders = Recorders} = State) ->
    Events = lists:usort(lists:append([Wanted || {_, Wanted, _, _} <- Handlers])),
    Of = fun(Event) -> [{Id, Fun, Config} || {Id, Wanted, Fun, Config} <- Handlers, lists:member(Event, Wanted)] end,
    AllStarts = lists:any(fun({_, #{starts := Which}, _}) -> Which =:= all end, Recorders),
    State#telemetry{
        listening = maps:from_list([{Event, Of(Event)} || Event <- Events]),
        records = [{Record, Config} || {_, #{record := Record}, Config} <- Recorders],
        all_starts = AllStarts,
        only_records = Library =:= none andalso Handlers =:= [] andalso not AllStarts
    }.

found() ->
    #telemetry{library = library(), contents = application:get_env(beamai, telemetry_contents, false) =:= true}.

%% Not a dependency, so the module must not be called statically.
library() ->
    case code:ensure_loaded(telemetry) of
        {module, Module} -> hd([Module || erlang:function_exported(Module, execute, 3)] ++ [none]);
        {error, _} -> none
    end.

%%% Used by the traced modules

%% @private Starts a span.
-spec start(beamai_span_attributes:kind(), subject()) -> span().
start(Kind, Subject) ->
    case persistent_term:get(?MODULE, undefined) of
        %% The application has not started. A lock would make the first calls wait for each other.
        undefined -> start(Kind, Subject, kept(found()));
        State -> start(Kind, Subject, State)
    end.

start(_Kind, _Subject, off) ->
    off;
start(Kind, Subject, #telemetry{only_records = true} = State) ->
    recorded_from(#span{kind = Kind, clock = os:perf_counter(), subject = Subject, state = State});
start(Kind, Subject, #telemetry{} = State) ->
    Span = #span{kind = Kind, clock = os:perf_counter(), subject = Subject, state = State},
    begun(recorded_from(Span#span{started = erlang:monotonic_time()}), heard_by([beamai, Kind, start], State)).

%% Within an agent, calls have an id.
recorded_from(#span{kind = tool, subject = {_Name, _Args, Context}, state = #telemetry{all_starts = false}} = Span) when not is_map_key(call_id, Context) ->
    Span;
recorded_from(#span{state = #telemetry{recorders = []}} = Span) ->
    Span;
recorded_from(#span{state = #telemetry{recorders = Recorders}} = Span) ->
    Keyed = Span#span{key = erlang:unique_integer([positive]), metadata = metadata(Span)},
    _ = [Starting(Keyed, Config) || {_Id, #{starting := Starting, starts := Which}, Config} <- Recorders, Which =:= all orelse is_of_agent(Span)],
    Keyed.

is_of_agent(#span{kind = tool, subject = {_Name, _Args, Context}}) -> is_map_key(call_id, Context);
is_of_agent(#span{}) -> true.

%% If nobody handles start events, the metadata are computed only at the end.
begun(Span, {none, []}) ->
    Span;
begun(#span{kind = Kind, started = Started} = Span, Listeners) ->
    Metadata = (metadata(Span))#{telemetry_span_context => make_ref()},
    execute([beamai, Kind, start], #{system_time => erlang:system_time(), monotonic_time => Started}, Metadata, Listeners),
    Span#span{metadata = Metadata}.

%% @private The metadata of a span's subject.
-spec metadata(#span{}) -> map().
metadata(#span{metadata = none, kind = Kind, subject = Subject, state = #telemetry{contents = Contents}}) ->
    beamai_span_attributes:metadata(Kind, Subject, Contents);
metadata(#span{metadata = Metadata}) -> Metadata.

heard_by(Event, #telemetry{library = Library, listening = Listening}) -> {Library, maps:get(Event, Listening, [])}.

%% @private Ends a span. `Duration' is in native units, or `measured' from its start.
-spec stop(span(), Duration :: measured | integer(), Result :: term()) -> ok.
stop(off, _Duration, _Result) ->
    ok;
%% The short way for a trace alone.
stop(#span{clock = Clock, state = #telemetry{only_records = true, records = [{Record, Config}]}} = Span, measured, Result) ->
    Record(Span, os:perf_counter() - Clock, Result, Config);
stop(#span{state = #telemetry{only_records = true, records = Records}} = Span, Duration, Result) ->
    recorded(Records, Span, Duration, Result);
stop(#span{kind = Kind, state = #telemetry{contents = Contents, records = Records} = State} = Span, Duration, Result) ->
    Now = erlang:monotonic_time(),
    recorded(Records, Span, Duration, Result),
    {Suffix, Measurements, More} = beamai_span_attributes:ended(Kind, Result, Contents),
    Event = [beamai, Kind, Suffix],
    case heard_by(Event, State) of
        {none, []} ->
            ok;
        Listeners ->
            Times = Measurements#{monotonic_time => Now, duration => duration(Duration, Now - Span#span.started)},
            Metadata = maps:merge(#{telemetry_span_context => make_ref()}, maps:merge(metadata(Span), More)),
            execute(Event, Times, Metadata, Listeners)
    end.

duration(measured, Measured) -> Measured;
duration(Duration, _Measured) -> Duration.

recorded([], _Span, _Duration, _Result) ->
    ok;
recorded(Records, #span{clock = Clock} = Span, measured, Result) ->
    each(Records, Span, os:perf_counter() - Clock, Result);
recorded(Records, Span, Duration, Result) ->
    each(Records, Span, erlang:convert_time_unit(Duration, native, perf_counter), Result).

each([], _Span, _Duration, _Result) ->
    ok;
each([{Record, Config} | Others], Span, Duration, Result) ->
    ok = Record(Span, Duration, Result, Config),
    each(Others, Span, Duration, Result).

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
            Name = ["the telemetry handler ", beamai_error:show(Id, 80), ", which is detached,"],
            beamai_crash:log_callback(Name, Class, Reason, Stack, Fun),
            detach(Id)
    end.
