%% @doc One run of the evaluation: a model does a task in a workspace of its own, and the workspace says whether it did.
-module(beamai_eval_run).

-export([run/2, dialects/0, renderings/0]).
-export_type([options/0, outcome/0, dialect/0, rendering/0]).

-define(MAX_TURNS, 30).
-define(SYSTEM, <<
    "You work in the user's working directory with the tools that you have. Do what is asked and nothing else, then answer "
    "in one sentence."
>>).

-type dialect() :: beamai | coder | ide | microai.
%% What a model reads of a result: the text that beamai renders for models, or the map for programs as JSON.
-type rendering() :: text | structured.
-type options() :: #{
    %% A model, or a fun that makes one for the workspace.
    model := beamai_chat:model() | fun((Workspace :: binary()) -> beamai_chat:model()),
    dialect := dialect(),
    rendering := rendering()
}.
%% `turns' are the model's answers, `characters' what it read of results. `errors' counts results that are errors, by their
%% reason; `unreadable' are calls that were not run because they could not be read. `why' is there where it was not done.
-type outcome() :: #{
    task := binary(),
    dialect := dialect(),
    rendering := rendering(),
    is_done := boolean(),
    turns := non_neg_integer(),
    calls := non_neg_integer(),
    tokens := #{input := non_neg_integer(), output := non_neg_integer()},
    characters := non_neg_integer(),
    errors := #{atom() => pos_integer()},
    why => binary()
}.

%% @doc The dialects that a task can be done in.
-spec dialects() -> [dialect()].
dialects() -> [beamai, microai, coder, ide].

%% @doc The renderings of results.
-spec renderings() -> [rendering()].
renderings() -> [text, structured].

%% @doc Has a model do a task in a new workspace, which is removed afterwards.
-spec run(beamai_eval_task:t(), options()) -> outcome().
run(Task, Options) ->
    %% Commands in the sandbox have a /tmp of their own.
    Name = ["/var/tmp/beamai-eval-", beamai_temp_dir:random_name()],
    Workspace = unicode:characters_to_binary(Name),
    ok = file:make_dir(Workspace),
    try
        ok = beamai_eval_task:prepare(Task, Workspace),
        judged(Task, Workspace, Options, ran(Task, Workspace, Options))
    after
        _ = beamai_session:close(Workspace),
        ok = file:del_dir_r(Workspace)
    end.

ran(Task, Workspace, #{dialect := Dialect, rendering := Rendering} = Options) ->
    Kernel = beamai_kernel:new(#{workspace => Workspace, sandbox => best_effort, permissions => #{default => allow}}),
    Counts = ets:new(counts, [private]),
    {ok, Agent} = beamai_agent:new(#{
        llm => model(Options, Workspace),
        kernel => rendered(Rendering, lists:foldl(fun(Module, K) -> beamai_kernel:add_tool_module(K, Module) end, Kernel, modules(Dialect))),
        system_prompt => ?SYSTEM,
        tell => [workspace],
        max_iterations => ?MAX_TURNS,
        context => #{session_id => Workspace}
    }),
    Listen = fun(Event) -> count(Event, Counts) end,
    Ended = beamai_agent:run(Agent, beamai_eval_task:prompt(Task), #{events => Listen}),
    Found = maps:from_list(ets:tab2list(Counts)),
    true = ets:delete(Counts),
    {Ended, Found}.

model(#{model := Make}, Workspace) when is_function(Make, 1) -> Make(Workspace);
model(#{model := Model}, _Workspace) -> Model.

modules(beamai) -> [beamai_tool_file, beamai_tool_shell, beamai_tool_git, beamai_tool_todo];
modules(coder) -> [beamai_dialect_coder];
modules(ide) -> [beamai_dialect_ide];
modules(microai) -> [beamai_dialect_microai].

%% A result that is a text goes to the model as it is.
rendered(text, Kernel) ->
    Kernel;
rendered(structured, Kernel) ->
    Filter = beamai_filter:new(<<"structured">>, fun(Call, Next) ->
        case Next(Call) of
            {ok, Result, Context} -> {ok, beamai_json:text(Result), Context};
            {error, _} = Error -> Error
        end
    end),
    beamai_kernel:add_filter(Kernel, Filter).

count({model_answer, _}, Counts) -> add(turns, 1, Counts);
count({tool_result, _Call, {error, #{details := #{reason := Reason}}}}, Counts) -> add({error, Reason}, 1, Counts);
count({tool_result, _Call, {error, _Other}}, Counts) -> add({error, other}, 1, Counts);
count({tool_result, _Call, {refused, _Why}}, Counts) -> add({error, unreadable}, 1, Counts);
count({message, #{role := tool, content := Text}}, Counts) -> add(characters, string:length(Text), Counts);
count(_Event, _Counts) -> ok.

add(Key, Number, Counts) ->
    _ = ets:update_counter(Counts, Key, Number, {Key, 0}),
    ok.

judged(Task, Workspace, Options, {Ended, Found}) ->
    {Answer, Failure} = case Ended of
        {ok, #{content := Content}, _Agent} -> {Content, <<>>};
        {error, Reason, _Agent} -> {<<>>, beamai_agent:explain(Reason)}
    end,
    {_, _, Agent} = Ended,
    #{usage := Usage} = beamai_agent:conversation(Agent),
    Outcome = (maps:with([dialect, rendering], Options))#{
        task => beamai_eval_task:name(Task),
        turns => maps:get(turns, Found, 0),
        calls => calls(Agent),
        tokens => #{input => maps:get(input_tokens, Usage, 0), output => maps:get(output_tokens, Usage, 0)},
        characters => maps:get(characters, Found, 0),
        errors => maps:from_list([{Reason, Number} || {{error, Reason}, Number} <- maps:to_list(Found)])
    },
    case beamai_eval_task:check(Task, Workspace, Answer) of
        done when Failure =:= <<>> -> Outcome#{is_done => true};
        done -> Outcome#{is_done => false, why => Failure};
        {not_done, Output} -> Outcome#{is_done => false, why => <<Failure/binary, Output/binary>>}
    end.

calls(Agent) ->
    #{messages := Messages} = beamai_agent:conversation(Agent),
    length([ok || #{role := tool} <- Messages]).
