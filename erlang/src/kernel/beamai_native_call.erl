%% @doc Runs a built-in tool through a door: session, timeout, approval, attempts.
%%
%% A door returns a result, or a request to the host: for approval, answers of the user, the work of a sub-agent, or an
%% answer of the chat model. The call is then repeated with the host's response.
%% @hidden
-module(beamai_native_call).

-include("beamai_plan.hrl").

-export([run/5, timeout/2]).
-export_type([services/0]).

%% Larger than any tool accepts; the native side refuses larger values.
-define(LONGEST_MS, 16#FFFFFFFF).

%% Services of the layers above the kernel. `delegate' runs a sub-agent, `consult' asks the context's chat model,
%% `describe' finds the spec of a tool, so that kernels need not contain the specs. The tag is that of {@link
%% beamai_runs:enter/1}, or `none'.
-type services() :: #{
    delegate := fun((Work :: map(), beamai_kernel:kernel(), beamai_context:t(), Tag :: reference() | none) ->
        {ok, Report :: map()} | {error, term()}),
    consult := fun((Tool :: binary(), Question :: map(), beamai_kernel:kernel(), beamai_context:t(), Tag :: reference() | none) ->
        {ok, Outcome :: map()} | {error, term()}),
    describe := fun((Dialect :: binary(), Name :: binary()) -> {ok, beamai_tool:tool_spec()} | error)
}.

-record(call, {
    kernel :: beamai_kernel:kernel(),
    plan :: #plan{},
    context :: beamai_context:t(),
    door :: module(),
    env :: beamai_env:t(),
    request :: beamai_door:call(),
    options :: beamai_door:options()
}).

%% @doc Runs the tool of the plan; see {@link beamai_invocation:run/5}.
-spec run(beamai_kernel:kernel(), #plan{}, Args :: map(), beamai_context:t(), reference() | none) ->
    beamai_call:result().
run(Kernel, #plan{runs = Native} = Plan, Args, Context, Run) ->
    case door(maps:get(door, Kernel), Native) of
        {ok, Door} -> with_env(Kernel, Plan, Args, Context, Run, Door);
        {error, _} = Error -> Error
    end.

with_env(Kernel, #plan{runs = Native} = Plan, Args, Context, Run, Door) ->
    beamai_journal:watch(Door, Native#native.several_files),
    case beamai_env:of_call(Kernel, Context) of
        {ok, Env} ->
            Timeout = timeout(Plan, Args),
            Options = #{pace => Native#native.pace, timeout => Timeout, run => Run},
            Owned = with_owner(Native, Context, request(Native, Args, Timeout)),
            Request = with_model(Context, with_credentials(Native, Kernel, with_key(Door, Kernel, Owned))),
            in_session(listening(#call{
                kernel = Kernel, plan = Plan, context = Context, door = Door, env = Env, request = Request, options = Options
            }));
        {error, Error} ->
            {error, Error#{tool := Native#native.name}}
    end.

with_owner(#native{pace = long}, Context, Request) ->
    Request#{owner => beamai_session:number(Context)};
with_owner(_Native, _Context, Request) ->
    Request.

%% @doc The timeout of a call in milliseconds. The tool's own timeout argument takes precedence over the spec's.
-spec timeout(#plan{}, Args :: map()) -> timeout().
timeout(#plan{runs = #native{own_timeout = none}, timeout = Timeout}, _Args) ->
    Timeout;
timeout(#plan{runs = #native{own_timeout = milliseconds}, timeout = Timeout}, Args) ->
    given(Args, timeout, 1, Timeout);
timeout(#plan{runs = #native{own_timeout = seconds}, timeout = Timeout}, Args) ->
    given(Args, timeout_sec, 1000, Timeout).

given(Args, Name, Unit, Default) ->
    case maps:get(atom_to_binary(Name), Args, maps:get(Name, Args, none)) of
        Given when is_integer(Given), Given > 0 -> min(Given * Unit, ?LONGEST_MS);
        Text when is_binary(Text) -> given(#{atom_to_binary(Name) => number(Text)}, Name, Unit, Default);
        _ -> Default
    end.

%% Built-in tools also accept numbers written as text.
number(Text) ->
    case string:to_integer(string:trim(Text)) of
        {Number, <<>>} when is_integer(Number) -> Number;
        _ -> none
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

%% Tells the tool whether there is a chat model to consult.
with_model(#{model := #{module := _, state := _}}, Request) -> Request#{has_model => true};
with_model(_Context, Request) -> Request.

%% Adds the search engine's key, still in its fun: the door reads it when it encodes the call.
with_key(beamai_door_port, #{web := #{search := #{api_key := Key}}}, Request) -> Request#{search_key => Key};
with_key(_Door, _Kernel, Request) -> Request.

%% Adds the credentials for requests of commands, still in their funs.
with_credentials(Native, #{sandbox := #{credentials := Origins}}, Request) when map_size(Origins) > 0 ->
    case is_command(Native) of
        true -> Request#{credentials => Origins};
        false -> Request
    end;
with_credentials(_Native, _Kernel, Request) ->
    Request.

%% Lets a command ask for approval of program starts while it runs, if there is a callback.
listening(#call{kernel = Kernel, plan = #plan{runs = Native}, context = Context, request = Request, options = Options} = Call) ->
    #{tool := Tool, args := Args} = Request,
    case is_command(Native) andalso beamai_approval:can_ask(Kernel, Context) of
        true ->
            Hear = fun(Message) -> beamai_starts:heard(Message, Tool, Args, Kernel, Context) end,
            Call#call{request = Request#{asks_starts => true}, options = Options#{on_progress => Hear}};
        false when is_map_key(progress, Context) ->
            Hear = fun(Progress) -> beamai_callback:progress(Progress#{<<"tool">> => Tool}, Context) end,
            Call#call{options = Options#{on_progress => Hear}};
        false ->
            Call
    end.

is_command(#native{door = Door, pace = Pace}) -> Door =:= port andalso Pace =:= long.

%% Adds what the call needs of its session, and marks the session as in use.
in_session(#call{plan = #plan{runs = Native}, context = Context, request = Request, options = #{timeout := Timeout}} = Call) ->
    Found = session(Native, Context),
    beamai_session:touch(Context, Timeout),
    case Found of
        none -> tries(Call);
        {ok, Session} -> tries(Call#call{request = Request#{session => Session}});
        {error, Reason} -> {error, no_temp_dir(Native#native.name, Reason)}
    end.

%% The session for the native side; with its key if it remembers the files that this tool sees.
session(#native{session = Kind, sees_files = false}, Context) ->
    beamai_session:for_native(Kind, Context);
session(#native{session = Kind, sees_files = true}, Context) ->
    case {beamai_session:seen_as(Context), beamai_session:for_native(Kind, Context)} of
        {none, Session} -> Session;
        {_Name, {error, _} = Error} -> Error;
        {Name, none} -> {ok, #{seen_as => Name}};
        {Name, {ok, Session}} -> {ok, Session#{seen_as => Name}}
    end.

no_temp_dir(Name, Reason) ->
    Message = [
        Name, " needs a temporary directory and none could be made: ", file:format_error(Reason)
    ],
    beamai_error:new(Name, execution_failed, io, Message).

%% The usual case needs no more.
tries(#call{plan = #plan{retry = {0, _Delay}}} = Call) ->
    settle(send(Call), Call);
tries(#call{plan = #plan{retry = Retry}, context = Context, options = #{run := Run}} = Call) ->
    beamai_retry:run(Retry, #{tool => tool(Call), context => Context, run => Run}, fun() -> settle(send(Call), Call) end).

tool(#call{request = #{tool := Tool}}) -> Tool.

%% While a filter or callback ran, the call may have been cancelled, or its time budget used up; the budget may also
%% leave less time than the tool's timeout.
send(#call{context = Context, request = Request, options = #{run := Run, timeout := Own} = Options} = Call) ->
    case {beamai_runs:cancelled(Run), beamai_budget:is_time_over(Context), beamai_budget:in_time(Own, Context)} of
        {true, _, _} -> {error, beamai_error:cancelled(tool(Call))};
        {false, true, _} -> {error, beamai_error:out_of_time(tool(Call))};
        {false, false, Own} -> begins(Call);
        {false, false, Less} -> begins(Call#call{request = Request#{timeout => Less}, options = Options#{timeout := Less}})
    end.

begins(Call) ->
    case beamai_node_begin:ask(tool(Call)) of
        ok -> through_door(Call);
        {error, _} = Error -> Error
    end.

%% Calls that change the session's state go through the session process, which serializes them.
through_door(#call{plan = #plan{runs = #native{stateful = true}}, context = Context} = Call) ->
    #call{door = Door, env = Env, request = Request, options = Options} = Call,
    beamai_session:with_state(beamai_session:key(Context), Door, Env, Request, Options);
through_door(#call{door = Door, env = Env, request = Request, options = Options} = Call) ->
    case Door:call(Env, Request, Options) of
        {error, #{<<"details">> := #{<<"reason">> := <<"no_temp_dir">>}}} = Error -> with_new_temp_dir(Call, Error);
        Answer -> Answer
    end.

%% A command can delete its session's directory. The call has done nothing yet, so it is repeated with a new one.
with_new_temp_dir(#call{door = Door, env = Env, context = Context, request = Request, options = Options}, Error) ->
    #{session := Session} = Request,
    case beamai_session:temp_dir(beamai_session:key(Context)) of
        {ok, Path} -> Door:call(Env, Request#{session := Session#{temp_dir => Path}}, Options);
        {error, _} -> Error
    end.

%%% Responses

settle({ok, Value}, #call{context = Context}) ->
    {ok, Value, Context};
settle({error, #{<<"message">> := _} = Error}, Call) ->
    {error, beamai_error:from_native(tool(Call), Error)};
settle({error, Error}, _Call) ->
    {error, Error};
settle({delegate, Work}, #call{kernel = Kernel, context = Context, options = #{run := Run}} = Call) ->
    Delegate = service(delegate, Call),
    again(report, Delegate(Work, Kernel, Context, Run), Call);
settle({consult, Question}, #call{kernel = Kernel, context = Context, options = #{run := Run}} = Call) ->
    Consult = service(consult, Call),
    again(consulted, Consult(tool(Call), Question, Kernel, Context, Run), Call);
settle({question, Questions}, #call{kernel = Kernel, context = Context} = Call) ->
    again(answers, answers(tool(Call), beamai_callback:ask_user(Questions, {tool(Call), Kernel}, Context)), Call);
settle({ask, Needed}, #call{kernel = Kernel, context = Context, request = #{args := Args}} = Call) ->
    case beamai_approval:decide(Needed, Args, Kernel, Context) of
        allow -> approved(Needed, Call);
        {error, _} = Error -> Error
    end.

service(Name, #call{plan = #plan{runs = #native{services = Services}}}) ->
    maps:get(Name, Services).

%% The native side checks again: only the approved action runs.
approved(#{<<"fingerprint">> := Fingerprint}, #call{request = Request} = Call) ->
    Approved = Call#call{request = Request#{approved => Fingerprint}},
    case send(Approved) of
        {ask, #{<<"tool">> := Tool, <<"subject">> := Subject}} ->
            Message = [beamai_error:excerpt(Subject), " is not what was approved; call again to be asked again"],
            {error, beamai_error:new(Tool, permission_denied, needs_approval, Message)};
        Answer ->
            settle(Answer, Approved)
    end.

%% Repeats the call with the host's response. A tool that asks again for the same would loop.
again(Key, {ok, Made}, #call{request = Request} = Call) ->
    With = Call#call{request = Request#{Key => Made}},
    case send(With) of
        {error, #{details := #{has_run := false}} = Error} when Key =/= answers ->
            {error, beamai_error:part_not_run("the rest", Error, "what it had done before stays")};
        {Asked, _} when Asked =:= question; Asked =:= delegate; Asked =:= consult ->
            Message = [tool(Call), " asked again for what it had been given; this is a defect of the tool"],
            {error, beamai_error:new(tool(Call), execution_failed, crash, Message)};
        Answer ->
            settle(Answer, With)
    end;
again(_Key, {error, _} = Error, _Call) ->
    Error.

answers(Tool, {ok, Answers}) ->
    case is_answers(Answers) of
        true -> {ok, #{outcome => answered, answers => Answers}};
        false -> {error, no_answers(Tool, Answers)}
    end;
answers(_Tool, Outcome) when Outcome =:= cancelled; Outcome =:= no_frontend ->
    {ok, #{outcome => Outcome}}.

%% Answers by question, each a text or a list of texts.
is_answers(Answers) when is_map(Answers) ->
    lists:all(fun({Question, Answer}) -> is_binary(Question) andalso is_answer(Answer) end, maps:to_list(Answers));
is_answers(_Answers) ->
    false.

is_answer(Answer) when is_list(Answer) -> is_integer(catch length(Answer)) andalso lists:all(fun is_binary/1, Answer);
is_answer(Answer) -> is_binary(Answer).

no_answers(Tool, Answers) ->
    Message = [
        "the host's ask_user answered ", beamai_error:show({ok, Answers}, 80), "; it answers ",
        beamai_syntax:either("{ok, #{Question => Answer}}, binaries or lists of them, cancelled or no_frontend",
            "{:ok, %{question => answer}}, texts or lists of them, :cancelled or :no_frontend")
    ],
    beamai_error:new(Tool, execution_failed, crash, Message).
