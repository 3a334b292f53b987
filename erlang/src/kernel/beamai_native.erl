%% @doc Runs a built-in tool through a door: session, timeout, approval, tries.
-module(beamai_native).

-include("beamai_plan.hrl").

-export([call/3, run/5]).

%% Above what any tool accepts; an argument beyond it is refused on the native side.
-define(LONGEST_MS, 16#FFFFFFFF).

%% @doc The handler of a built-in tool's spec, `{beamai_native, call, [Info]}'. The kernel knows it
%% and goes to the door without a handler process. Called as a plain function, it runs the tool
%% under the context's policy, as {@link beamai_tool:invoke/3} does.
-spec call(Args :: map(), beamai_context:t(), Info :: beamai_tool:native_info()) ->
    beamai_call:try_result().
call(Args, Context, #{name := Name} = Info) ->
    beamai_tool:invoke(#{name => Name, handler => {?MODULE, call, [Info]}}, Args, Context).

%% @doc Runs the tool of the plan; see {@link beamai_invocation:run/5}.
-spec run(beamai_kernel:kernel(), #plan{}, Args :: map(), beamai_context:t(), reference() | none) ->
    beamai_call:result().
run(Kernel, #plan{runs = Native} = Plan, Args, Context, Run) ->
    Timeout = timeout(Plan, Args),
    case door(maps:get(door, Kernel), Native) of
        {ok, Door} ->
            Options = listening(Kernel, Native, Args, #{
                pace => Native#native.pace, timeout => Timeout, run => Run, context => Context
            }),
            beamai_journal:watch(Door, Native#native.several_files),
            Request = with_key(Door, Kernel, request(Native, Args, Timeout)),
            prepared(Kernel, Plan, Door, asking(Options, with_model(Context, Request)), Options);
        {error, _} = Error ->
            Error
    end.

%% A tool's own argument governs over the spec's timeout.
timeout(#plan{runs = #native{own_timeout = none}, timeout = Timeout}, _Args) ->
    Timeout;
timeout(#plan{runs = #native{own_timeout = milliseconds}, timeout = Timeout}, Args) ->
    given(Args, timeout, 1, Timeout);
timeout(#plan{runs = #native{own_timeout = seconds}, timeout = Timeout}, Args) ->
    given(Args, timeout_sec, 1000, Timeout).

given(Args, Name, Unit, Default) ->
    case maps:get(atom_to_binary(Name), Args, maps:get(Name, Args, none)) of
        Given when is_integer(Given), Given > 0 -> min(Given * Unit, ?LONGEST_MS);
        _ -> Default
    end.

door(auto, #native{door = nif}) -> {ok, beamai_door_nif};
door(auto, #native{door = port}) -> {ok, beamai_door_port};
door(port, _Native) -> {ok, beamai_door_port};
door(nif, #native{door = nif}) -> {ok, beamai_door_nif};
door(nif, #native{door = port, name = Name}) -> {error, no_nif(Name)}.

no_nif(Name) ->
    Message = [Name, " runs only in the port program, and this kernel was made with door => nif"],
    beamai_error:new(Name, execution_failed, door_lost, Message).

request(#native{name = Name, dialect = Dialect}, Args, infinity) ->
    #{tool => Name, dialect => Dialect, args => Args};
request(#native{name = Name, dialect = Dialect}, Args, Timeout) ->
    #{tool => Name, dialect => Dialect, args => Args, timeout => Timeout}.

%% A tool that has something to ask of a model must know that there is one.
with_model(Context, Call) ->
    case beamai_consultation:has_model(Context) of
        true -> Call#{has_model => true};
        false -> Call
    end.

%% The key of the search engine, still in its fun: the door reveals it where it encodes the call.
with_key(beamai_door_port, #{web := #{search := #{api_key := Key}}}, Call) -> Call#{search_key => Key};
with_key(_Door, _Kernel, Call) -> Call.

%% A command can ask about the programs that it starts, while it runs, if there is somebody to ask.
listening(Kernel, #native{door = port, pace = long, name = Name}, Args, #{context := Context} = Options) ->
    case beamai_approval:can_ask(Kernel, Context) of
        true -> Options#{on_progress => fun(Message) -> beamai_starts:heard(Message, Name, Args, Kernel, Context) end};
        false -> Options
    end;
listening(_Kernel, _Native, _Args, Options) ->
    Options.

asking(#{on_progress := _}, Call) -> Call#{asks_starts => true};
asking(_Options, Call) -> Call.

prepared(Kernel, #plan{runs = Native} = Plan, Door, Call, #{context := Context} = Options) ->
    case beamai_env:of_call(Kernel, Context) of
        {ok, Env} ->
            case in_session(Native, Call, Options) of
                {ok, Made} -> tries(Kernel, Plan, {way(Native, Door, Context), Env, Made, Options});
                {error, Reason} -> {error, no_temp_dir(Native#native.name, Reason)}
            end;
        {error, Error} ->
            {error, Error#{tool := Native#native.name}}
    end.

%% The call with what it needs of its session, which is not idle from here on.
in_session(Native, Call, #{context := Context, timeout := Timeout}) ->
    Found = session(Native, Context),
    beamai_session:touch(Context, Timeout),
    case Found of
        none -> {ok, Call};
        {ok, Session} -> {ok, Call#{session => Session}};
        {error, _} = Error -> Error
    end.

%% The session as the native side takes it; with its name, where it remembers the files of this tool.
session(#native{session = Kind, sees_files = false}, Context) ->
    beamai_session:for_native(Kind, Context);
session(#native{session = Kind, sees_files = true}, Context) ->
    case {beamai_session:seen_as(Context), beamai_session:for_native(Kind, Context)} of
        {none, Session} -> Session;
        {_Name, {error, _} = Error} -> Error;
        {Name, none} -> {ok, #{seen_as => Name}};
        {Name, {ok, Session}} -> {ok, Session#{seen_as => Name}}
    end.

%% A call that works on the session's state goes through the session, which keeps such calls apart.
way(#native{stateful = false}, Door, _Context) -> Door;
way(#native{stateful = true}, Door, Context) -> {in_session, beamai_session:key(Context), Door}.

no_temp_dir(Name, Reason) ->
    Message = [
        Name, " needs a temporary directory and none could be made: ", file:format_error(Reason)
    ],
    beamai_error:new(Name, execution_failed, io, Message).

tries(Kernel, #plan{runs = #native{name = Name}, retry = Retry}, {Door, Env, Call, Options} = Try) ->
    case answer(through(Door, Env, Call, Options), Kernel, Try) of
        {error, Error} when Retry =/= {0, 0} ->
            Again = fun() -> answer(through(Door, Env, Call, Options), Kernel, Try) end,
            #{run := Run, context := Context} = Options,
            beamai_retry:again(beamai_retry:policy(Name, Retry, Context, Run), Again, Error);
        Result ->
            Result
    end.

%% A cancellation may have come while a filter or `approve' ran.
through(Door, Env, #{tool := Tool} = Call, #{run := Run} = Options) ->
    case beamai_runs:cancelled(Run) of
        true -> {error, beamai_error:cancelled(Tool)};
        false -> timed(Door, Env, Call, Options)
    end.

%% A budget may leave less time than the tool has by itself.
timed(Door, Env, #{tool := Tool} = Call, #{context := Context} = Options) ->
    case beamai_budget:is_time_over(Context) of
        true -> {error, beamai_error:out_of_time(Tool)};
        false -> in_time(Door, Env, Call, Options)
    end.

in_time(Door, Env, Call, #{timeout := Own, context := Context} = Options) ->
    case beamai_budget:in_time(Own, Context) of
        Own -> pass(Door, Env, Call, Options);
        Less -> pass(Door, Env, Call#{timeout => Less}, Options#{timeout := Less})
    end.

pass({in_session, Key, Door}, Env, Call, Options) ->
    beamai_session:with_state(Key, Door, Env, Call, Options);
pass(Door, Env, Call, Options) ->
    case Door:call(Env, Call, Options) of
        {error, #{<<"details">> := #{<<"reason">> := <<"no_temp_dir">>}}} = Error ->
            with_new_temp_dir(Door, Env, Call, Options, Error);
        Answer ->
            Answer
    end.

%% A command can remove its session's directory. The call has done nothing yet.
with_new_temp_dir(Door, Env, #{session := Session} = Call, #{context := Context} = Options, Error) ->
    case beamai_session:temp_dir(beamai_session:key(Context)) of
        {ok, Path} -> Door:call(Env, Call#{session := Session#{temp_dir => Path}}, Options);
        {error, _} -> Error
    end.

answer({ok, Value}, _Kernel, {_, _, _, #{context := Context}}) ->
    {ok, Value, Context};
answer({error, #{<<"message">> := _} = Error}, _Kernel, {_, _, #{tool := Tool}, _}) ->
    {error, beamai_error:from_native(Tool, Error)};
answer({error, Error}, _Kernel, _Try) ->
    {error, Error};
answer({delegate, Work}, Kernel, {_, _, _, #{context := Context, run := Run}} = Try) ->
    case beamai_task:run(Work, Kernel, Context, Run) of
        {ok, Report} -> again(report, Report, Kernel, Try);
        {error, _} = Error -> Error
    end;
answer({consult, Question}, Kernel, {_, _, #{tool := Tool}, #{context := Context, run := Run}} = Try) ->
    case beamai_consultation:run(Tool, Question, Kernel, Context, Run) of
        {ok, Consulted} -> again(consulted, Consulted, Kernel, Try);
        {error, _} = Error -> Error
    end;
answer({question, Questions}, Kernel, {_, _, #{tool := Tool}, #{context := Context}} = Try) ->
    case beamai_callback:ask_user(Questions, {Tool, Kernel}, Context) of
        {ok, Answers} ->
            case is_answers(Answers) of
                true -> again(answers, answers({ok, Answers}), Kernel, Try);
                false -> {error, no_answers(Tool, Answers)}
            end;
        Outcome ->
            again(answers, answers(Outcome), Kernel, Try)
    end;
answer({ask, Request}, Kernel, {_, _, #{args := Args}, #{context := Context}} = Try) ->
    case beamai_approval:decide(Request, Args, Kernel, Context) of
        allow -> approved(Request, Kernel, Try);
        {error, _} = Error -> Error
    end.

%% The native side judges again: what was approved runs, and nothing else.
approved(#{<<"fingerprint">> := Fingerprint}, Kernel, {Door, Env, Call, Options}) ->
    Approved = Call#{approved => Fingerprint},
    case through(Door, Env, Approved, Options) of
        {ask, #{<<"tool">> := Tool, <<"subject">> := Subject}} ->
            Message = [Subject, " is not what was approved; call again to be asked again"],
            {error, beamai_error:new(Tool, permission_denied, needs_approval, Message)};
        Answer ->
            answer(Answer, Kernel, {Door, Env, Approved, Options})
    end.

%% The same call again, with what the host made of what it asked for. One that asks anew would do so for ever.
again(Key, Made, Kernel, {Door, Env, #{tool := Tool} = Call, Options}) ->
    With = Call#{Key => Made},
    case through(Door, Env, With, Options) of
        {Asked, _} when Asked =:= question; Asked =:= delegate; Asked =:= consult ->
            Message = [Tool, " asked again for what it had been given; this is a defect of the tool"],
            {error, beamai_error:new(Tool, execution_failed, crash, Message)};
        Answer ->
            answer(Answer, Kernel, {Door, Env, With, Options})
    end.

%% Questions to answers, each a text or several.
is_answers(Answers) when is_map(Answers) ->
    lists:all(fun({Question, Answer}) -> is_binary(Question) andalso is_answer(Answer) end, maps:to_list(Answers));
is_answers(_Answers) ->
    false.

is_answer(Answer) when is_list(Answer) -> is_integer(catch length(Answer)) andalso lists:all(fun is_binary/1, Answer);
is_answer(Answer) -> is_binary(Answer).

no_answers(Tool, Answers) ->
    Message = [
        "the host's ask_user answered {ok, ", beamai_error:show(Answers, 80),
        "}; it answers {ok, #{Question => Answer}}, binaries or lists of them, cancelled or no_frontend"
    ],
    beamai_error:new(Tool, execution_failed, crash, Message).

answers({ok, Answers}) -> #{outcome => answered, answers => Answers};
answers(cancelled) -> #{outcome => cancelled};
answers(no_frontend) -> #{outcome => no_frontend}.
