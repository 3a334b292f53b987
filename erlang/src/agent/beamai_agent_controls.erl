%% @doc Options for each model request that agents and runs share: `output', `tool_choice', `stop_sequences',
%% `parallel'.
%% @hidden
-module(beamai_agent_controls).

-export([keys/0, check/2, of_run/3, request/2, answer/3]).
-export_type([options/0]).

-import(beamai_validate, [bad_option/2]).

-type options() :: #{
    %% A JSON Schema for the last answer. The model gets one chance to correct an answer that does not match. The result
    %% has the decoded value as `output'.
    output => map(),
    %% `required' and `{tool, Name}' apply until the run has made a call that they allow; otherwise it would never end.
    tool_choice => beamai_chat_controls:tool_choice(),
    %% Texts at which the provider ends an answer. Maximum number: OpenAI 4, Gemini 5.
    stop_sequences => [binary()],
    %% Maximum number of calls of an answer that run at the same time.
    parallel => pos_integer()
}.

-define(KEYS, [output, tool_choice, stop_sequences, parallel]).

%% @doc The names of the options.
-spec keys() -> [atom()].
keys() -> ?KEYS.

%% @doc Validates and normalizes an option. Raises `{bad_option, Key}'.
-spec check(Key :: atom(), Value :: term()) -> term().
check(output, Schema) when is_map(Schema) ->
    case beamai_json:encode(Schema) of
        {ok, Text} -> schema(element(2, beamai_json:decode(Text)));
        {error, Why} -> bad_option(output, ["is no JSON Schema: ", Why])
    end;
check(output, Other) ->
    bad_option(output, ["must be a JSON Schema as a map, not ", show(Other)]);
check(tool_choice, Choice) when Choice =:= auto; Choice =:= none; Choice =:= required -> Choice;
check(tool_choice, {tool, Name}) when is_binary(Name) -> {tool, Name};
check(tool_choice, Other) ->
    bad_option(tool_choice, ["must be ", beamai_syntax:listed([auto, none, required]), " or ", beamai_syntax:either("{tool, Name}", "{:tool, name}"), ", not ", show(Other)]);
check(stop_sequences, Sequences) when is_list(Sequences) ->
    lists:all(fun(Text) -> beamai_conversation:is_text(Text) andalso Text =/= <<>> end, Sequences) orelse
        bad_option(stop_sequences, ["must be a list of texts, not ", show(Sequences)]),
    Sequences;
check(stop_sequences, Other) ->
    bad_option(stop_sequences, ["must be a list of texts, not ", show(Other)]);
check(parallel, Count) when is_integer(Count), Count > 0 -> Count;
check(parallel, Other) -> bad_option(parallel, ["must be a count above 0, not ", show(Other)]).

schema(Schema) ->
    case beamai_json_schema:mistakes(Schema) of
        [] -> Schema;
        Mistakes -> bad_option(output, ["is no JSON Schema: ", lists:join("; ", Mistakes)])
    end.

show(Term) ->
    beamai_validate:show(Term).

%% @doc The options of a run, merged over the agent's. Raises `{bad_option, tool_choice}' for a tool that the kernel
%% does not have.
-spec of_run(Agent :: map(), Settings :: map(), beamai_kernel:kernel()) -> options().
of_run(Agent, Settings, #{tools := Tools}) ->
    Options = maps:merge(maps:with(?KEYS, Agent), maps:with(?KEYS, Settings)),
    case Options of
        #{tool_choice := {tool, Name}} when not is_map_key(Name, Tools) ->
            {error, #{message := Message}} = beamai_plan:find(Name, Tools),
            bad_option(tool_choice, Message);
        #{tool_choice := required} when map_size(Tools) =:= 0 ->
            bad_option(tool_choice, "is required, but the agent has no tools");
        #{} ->
            Options
    end.

%% @doc The request options, before or after the run has made a call ({@link beamai_agent_calls:is_made/1}).
-spec request(options(), HasCalled :: boolean()) -> beamai_chat_controls:controls().
request(#{tool_choice := Choice} = Options, true) when Choice =/= none ->
    request(maps:remove(tool_choice, Options), true);
request(Options, _HasCalled) ->
    maps:remove(parallel, Options).

%% @doc The answer to that request. Models and servers may ignore `tool_choice', so calls that it does not allow are marked
%% as invalid, and are not run.
-spec answer(beamai_chat_model:message(), options(), HasCalled :: boolean()) -> beamai_chat_model:message().
answer(#{tool_calls := Calls} = Message, Options, HasCalled) ->
    Choice = maps:get(tool_choice, request(Options, HasCalled), auto),
    Message#{tool_calls := [allowed(Choice, Call) || Call <- Calls]};
answer(Message, _Options, _HasCalled) ->
    Message.

allowed(none, Call) ->
    Call#{invalid => <<"no tool may be called in this run: answer without calling one">>};
%% A call that could not be read may have been meant for this tool. It says what is wrong with it.
allowed({tool, Name}, #{name := Other} = Call) when Other =/= Name, not is_map_key(invalid, Call) ->
    Call#{invalid => <<"this answer may call the tool ", Name/binary, " only">>};
allowed(_Choice, Call) ->
    Call.
