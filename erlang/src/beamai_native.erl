%% @doc Runs a built-in tool through a door: session, timeout, approval, tries.
-module(beamai_native).

-include("beamai_plan.hrl").

-export([call/3, run/5]).

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
    beamai_session:touch(Context, Timeout),
    case door(maps:get(door, Kernel), Native) of
        {ok, Door} ->
            Options = #{
                pace => Native#native.pace, timeout => Timeout, run => Run, context => Context
            },
            prepared(Kernel, Plan, Door, request(Native, Args, Timeout), Options);
        {error, _} = Error ->
            Error
    end.

%% A tool's own argument governs over the spec's timeout.
timeout(#plan{runs = #native{own_timeout = true}}, #{<<"timeout">> := Ms}) when
    is_integer(Ms), Ms > 0
->
    Ms;
timeout(#plan{runs = #native{own_timeout = true}}, #{timeout := Ms}) when is_integer(Ms), Ms > 0 ->
    Ms;
timeout(#plan{timeout = Timeout}, _Args) ->
    Timeout.

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

prepared(Kernel, #plan{runs = Native} = Plan, Door, Call, #{context := Context} = Options) ->
    case beamai_env:in_workspace(Kernel, Context) of
        {ok, Env} ->
            case beamai_session:for_native(Native#native.session, Context) of
                none -> tries(Kernel, Plan, {Door, Env, Call, Options});
                {ok, Session} -> tries(Kernel, Plan, {Door, Env, Call#{session => Session}, Options});
                {error, Reason} -> {error, no_temp_dir(Native#native.name, Reason)}
            end;
        {error, Error} ->
            {error, Error#{tool := Native#native.name}}
    end.

no_temp_dir(Name, Reason) ->
    Message = [
        Name, " needs a temporary directory and none could be made: ", file:format_error(Reason)
    ],
    beamai_error:new(Name, execution_failed, io, Message).

tries(Kernel, #plan{runs = #native{name = Name}, retry = Retry}, {Door, Env, Call, Options} = Try) ->
    case answer(through(Door, Env, Call, Options), Kernel, Try) of
        {error, Error} when Retry =/= {0, 0} ->
            Again = fun() -> answer(through(Door, Env, Call, Options), Kernel, Try) end,
            beamai_retry:again(Retry, Name, Again, Error, maps:get(run, Options));
        Result ->
            Result
    end.

%% A cancellation may have come while a filter or `approve' ran.
through(Door, Env, #{tool := Tool} = Call, #{run := Run} = Options) ->
    case beamai_runs:cancelled(Run) of
        true -> {error, beamai_error:cancelled(Tool)};
        false -> Door:call(Env, Call, Options)
    end.

answer({ok, Value}, _Kernel, {_, _, _, #{context := Context}}) ->
    {ok, Value, Context};
answer({error, #{<<"message">> := _} = Error}, _Kernel, _Try) ->
    {error, beamai_error:from_native(Error)};
answer({error, Error}, _Kernel, _Try) ->
    {error, Error};
answer({ask, Request}, Kernel, {_, _, #{args := Args}, #{context := Context}} = Try) ->
    case beamai_approval:decide(Request, Args, Kernel, Context) of
        allow -> approved(Request, Kernel, Try);
        {error, _} = Error -> Error
    end.

%% The native side judges again: what was approved runs, and nothing else.
approved(#{<<"fingerprint">> := Fingerprint}, Kernel, {Door, Env, Call, Options} = Try) ->
    case through(Door, Env, Call#{approved => Fingerprint}, Options) of
        {ask, #{<<"tool">> := Tool, <<"subject">> := Subject}} ->
            Message = [Subject, " is not what was approved; call again to be asked again"],
            {error, beamai_error:new(Tool, permission_denied, needs_approval, Message)};
        Answer ->
            answer(Answer, Kernel, Try)
    end.
