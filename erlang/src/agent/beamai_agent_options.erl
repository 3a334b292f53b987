%% @doc Options of agents and runs, each validated by its own clause.
%% @hidden
-module(beamai_agent_options).

-export([agent/1, run/1]).
-export_type([agent/0, run/0]).

-import(beamai_validate, [bad_option/2, one_of/3, unknown_option/2]).

-define(KEYS, [
    llm, plugins, kernel, system_prompt, tell, max_iterations, profile, agents, budget, context, agent_id, store, window, compaction,
    limits, model_filters, tool_listing, conversation
]).
-define(RUN_KEYS, [events, run_id, max_iterations, budget, pin, context]).

-type agent() :: #{
    llm := beamai_chat:model(),
    %% Tool modules, loaded on top of the kernel.
    plugins => [module()],
    %% Default: a new kernel in the current directory.
    kernel => beamai_kernel:kernel(),
    system_prompt => beamai_agent_input:prompt(),
    %% Facts about the environment in the system prompt; none by default.
    tell => beamai_agent_input:told(),
    %% Maximum number of model answers per run; 20 by default.
    max_iterations => pos_integer(),
    %% `plan': only reading tools, and the tool for questions.
    profile => default | plan,
    %% As the kernel's option; see {@link beamai_agents}.
    agents => beamai_agents:options(),
    %% Limits per run.
    budget => beamai_budget:limits(),
    %% The initial context of every run.
    context => beamai_context:t(),
    %% The agent's id in the contexts of its calls, and in its store. Default: a new id. Must be a binary if there is a
    %% store.
    agent_id => term(),
    %% Where each message is stored as it is created; see {@link beamai_agent:resume/2}.
    store => module() | beamai_store:t(),
    %% Size of the model's context window in tokens. Without it, the conversation is shortened only after the provider
    %% has rejected it as too long.
    window => pos_integer() | infinity,
    %% When the conversation is shortened, in percent of the window (default: `at' 80 `to' 50), or never.
    compaction => off | beamai_agent_window:options(),
    %% Overrides the kernel's option: maximum length of results for the model.
    limits => beamai_options:limits(),
    %% Filters around each model request; see {@link beamai_filter}.
    model_filters => [beamai_filter:filter()],
    %% With more than `max' tools, the model finds most of them with a search tool. By default all are listed.
    tool_listing => beamai_tool_search:options(),
    %% A conversation to continue, from {@link beamai_agent:conversation/1}.
    conversation => beamai_conversation:t(),
    %% Default for runs; see {@link beamai_agent_controls}.
    output => map(),
    tool_choice => beamai_chat_controls:tool_choice(),
    stop_sequences => [binary()],
    parallel => pos_integer()
}.
-type run() :: #{
    %% A pid receives `{beamai_event, RunId, Event}'; a fun is called in the running process.
    events => pid() | fun((beamai_agent:event()) -> term()),
    %% The id with which {@link beamai_kernel:cancel/1} cancels the run; a new one by default.
    run_id => term(),
    max_iterations => pos_integer(),
    budget => beamai_budget:limits(),
    %% Whether the input is kept verbatim when the conversation is shortened; false by default.
    pin => boolean(),
    context => beamai_context:t(),
    %% See {@link beamai_agent_controls}.
    output => map(),
    tool_choice => beamai_chat_controls:tool_choice(),
    stop_sequences => [binary()],
    parallel => pos_integer()
}.

%% @doc Validates the options of an agent. Raises `{bad_option, Key}'.
-spec agent(term()) -> #{atom() => term()}.
agent(#{llm := _} = Options) ->
    Given = maps:from_list([{Key, agent(Key, Value)} || {Key, Value} <- maps:to_list(Options)]),
    Defaults = #{
        plugins => [], system_prompt => <<>>, tell => [], max_iterations => 20, profile => default, budget => #{}, context => #{},
        conversation => beamai_conversation:new(), store => none, model_filters => [],
        window => infinity, tool_listing => none, compaction => #{at => 80, to => 50}
    },
    named(maps:merge(Defaults, Given));
agent(#{}) ->
    bad_option(llm, ["is missing: a model made with ", beamai_syntax:either("beamai_chat:new", "Beamai.Agent.model")]);
agent(_Other) ->
    bad_option(options, "must be a map").

%% A store finds an agent's data by its id.
named(#{store := {_, _}} = Settings) when not is_map_key(agent_id, Settings) ->
    bad_option(agent_id, "is missing: with a store, the name under which the agent's runs are stored");
named(#{store := {_, _}, agent_id := Id}) when not is_binary(Id); Id =:= <<>> ->
    bad_option(agent_id, ["must be a ", beamai_syntax:text(), " where there is a store, not ", show(Id)]);
named(#{context := Context} = Settings) ->
    maps:merge(#{agent_id => beamai_context:get(agent_id, Context, new_id())}, Settings).

new_id() ->
    <<"agent_", (binary:encode_hex(crypto:strong_rand_bytes(8)))/binary>>.

agent(llm, #{module := _, state := _} = Model) -> Model;
agent(llm, _Other) -> bad_option(llm, ["must be a model made with ", beamai_syntax:either("beamai_chat:new", "Beamai.Agent.model")]);
agent(plugins, Modules) when is_list(Modules) -> Modules;
agent(plugins, Other) -> bad_option(plugins, ["must be a list of tool modules, not ", show(Other)]);
agent(kernel, #{tools := _, env := _} = Kernel) -> Kernel;
agent(kernel, Other) -> bad_option(kernel, ["must be what ", beamai_syntax:either("beamai_kernel:new", "Beamai.new"), " gives, not ", show(Other)]);
agent(system_prompt, Prompt) -> beamai_agent_input:system_prompt(Prompt);
agent(tell, What) when is_list(What) ->
    What -- [workspace, date] =:= [] orelse bad_option(tell, ["must be a list of ", beamai_syntax:atoms([workspace, date]), ", each once, not ", show(What)]),
    What;
agent(tell, Other) -> bad_option(tell, ["must be a list of ", beamai_syntax:atoms([workspace, date]), ", not ", show(Other)]);
agent(profile, Profile) when Profile =:= default; Profile =:= plan -> Profile;
agent(profile, Other) -> one_of(profile, [default, plan], Other);
agent(agents, Agents) -> beamai_agents:load(Agents);
agent(limits, Limits) -> beamai_options:limits(Limits);
agent(model_filters, Filters) -> beamai_model_filters:check(Filters);
agent(tool_listing, Options) -> beamai_tool_search:check(Options);
agent(window, Tokens) when is_integer(Tokens), Tokens > 0; Tokens =:= infinity -> Tokens;
agent(window, Other) -> bad_option(window, ["must be a number of tokens or ", beamai_syntax:atom(infinity), ", not ", show(Other)]);
agent(compaction, off) -> off;
agent(compaction, Given) when is_map(Given) -> compaction(maps:merge(#{at => 80, to => 50}, Given));
agent(compaction, Other) -> bad_option(compaction, ["must be ", beamai_syntax:atom(off), ", or a map of at and to, not ", show(Other)]);
agent(agent_id, undefined) -> bad_option(agent_id, "cannot be undefined");
agent(agent_id, Id) -> Id;
agent(store, Store) ->
    case beamai_store:new(Store) of
        {ok, Checked} -> Checked;
        {error, Why} -> bad_option(store, Why)
    end;
agent(conversation, Stored) ->
    case beamai_conversation:load(Stored) of
        {ok, Conversation} -> Conversation;
        error -> bad_option(conversation, ["must be what ", beamai_syntax:either("beamai_agent:conversation", "Beamai.Agent.conversation"), " gave" | of_version(Stored)])
    end;
agent(Key, Value) when Key =:= max_iterations; Key =:= budget; Key =:= context ->
    run(Key, Value);
agent(Key, Value) ->
    case lists:member(Key, beamai_agent_controls:keys()) of
        true -> beamai_agent_controls:check(Key, Value);
        false -> unknown_option(Key, ?KEYS ++ beamai_agent_controls:keys())
    end.

of_version(#{version := Version}) when is_integer(Version), Version > 1 ->
    ["; this one has the version ", integer_to_binary(Version), ", of a later release of beamai"];
of_version(_Stored) ->
    "".

compaction(#{at := At, to := To} = Options) when
    map_size(Options) =:= 2, is_integer(At), is_integer(To), To > 0, To < At, At =< 100
->
    Options;
compaction(Other) ->
    bad_option(compaction, ["takes at and to, percents of the window, and to is less than at, not ", show(Other)]).

%% @doc Validates the options of a run. Raises `{bad_option, Key}'.
-spec run(term()) -> #{atom() => term()}.
run(Options) when is_map(Options) ->
    maps:from_list([{Key, run(Key, Value)} || {Key, Value} <- maps:to_list(Options)]);
run(_Other) ->
    bad_option(options, "must be a map").

run(events, Pid) when is_pid(Pid) -> Pid;
run(events, Fun) when is_function(Fun, 1) -> Fun;
run(events, Other) -> bad_option(events, ["must be a pid or a function of one argument, not ", show(Other)]);
run(run_id, Id) -> Id;
run(pin, Flag) when is_boolean(Flag) -> Flag;
run(pin, Other) -> bad_option(pin, ["must be true or false, not ", show(Other)]);
run(max_iterations, Count) when is_integer(Count), Count > 0 -> Count;
run(max_iterations, Other) -> bad_option(max_iterations, ["must be a count above 0, not ", show(Other)]);
run(context, Context) when is_map(Context) -> ok = beamai_validate:context(Context), Context;
run(context, Other) -> bad_option(context, ["must be a map, not ", show(Other)]);
run(budget, Limits) when is_map(Limits) -> maps:map(fun limit/2, Limits);
run(budget, Other) -> bad_option(budget, ["must be a map of max_tokens and max_time, not ", show(Other)]);
run(Key, Value) ->
    case lists:member(Key, beamai_agent_controls:keys()) of
        true -> beamai_agent_controls:check(Key, Value);
        false -> unknown_option(Key, ?RUN_KEYS ++ beamai_agent_controls:keys())
    end.

limit(Key, infinity) when Key =:= max_tokens; Key =:= max_time -> infinity;
limit(Key, Limit) when Key =:= max_tokens orelse Key =:= max_time, is_integer(Limit), Limit > 0 -> Limit;
limit(Key, Limit) when Key =:= max_tokens; Key =:= max_time ->
    bad_option(budget, [atom_to_binary(Key), " must be an integer above 0 or ", beamai_syntax:atom(infinity), ", not ", show(Limit)]);
limit(Key, _Limit) ->
    bad_option(budget, [show(Key), " is not an option", beamai_validate:unknown_key(Key, [max_tokens, max_time])]).

show(Term) ->
    beamai_validate:show(Term).
