%% @doc Approval requests of a running command, for programs that it starts and hosts that it connects to.
%%
%% A request arrives with the call's progress, and the program waits. The answer is sent as a separate call while the
%% command's call continues, so nothing is run twice.
%% @hidden
-module(beamai_starts).

-export([heard/5]).

-define(DIALECT, <<"mcp">>).
%% Timeout for delivering an answer, in milliseconds.
-define(ANSWER_MS, 10000).

%% @doc Handles a message of a running call: an approval request or progress. If the run's time budget is used up before
%% the request is answered, the call must stop.
-spec heard(Message :: map(), Tool :: binary(), Args :: map(), beamai_kernel:kernel(), beamai_context:t()) ->
    beamai_door:heard().
heard(#{<<"start">> := Id, <<"request">> := Request}, Tool, Args, Kernel, Context) ->
    case beamai_approval:decide(Request#{<<"tool">> => Tool}, Args, Kernel, Context) of
        %% The call was cancelled, so the command ends while its program still waits. An answer would let the command
        %% continue.
        {error, #{details := #{reason := cancelled}}} -> ok;
        {error, #{details := #{reason := timeout}} = OutOfTime} -> {stop, OutOfTime};
        Decided -> answer(Id, decision(Decided), Context, beamai_env:in_workspace(Kernel, Context))
    end;
heard(Progress, Tool, _Args, _Kernel, Context) ->
    beamai_callback:progress(Progress#{<<"tool">> => Tool}, Context).

decision(allow) -> #{decision => allow};
decision({error, #{message := Reason}}) -> #{decision => deny, reason => Reason}.

%% If the command has ended, the answer has no effect.
answer(Id, Decision, Context, {ok, Env}) ->
    %% The running command has the session's rules from its start; the answer may have added one.
    Args = Decision#{start => Id, rules => command_rules(beamai_session:rules(Context, Env))},
    Call = #{tool => <<"start_answer">>, dialect => ?DIALECT, args => Args, timeout => ?ANSWER_MS},
    Options = #{pace => long, timeout => ?ANSWER_MS, run => none},
    _ = beamai_door_port:call(Env, Call, Options),
    answered;
answer(_Id, _Decision, _Context, {error, _Gone}) ->
    answered.

command_rules(Rules) ->
    [Text || Rule <- Rules, Text <- [text(Rule)], is_of_commands(Text)].

is_of_commands(<<"Bash", _/binary>>) -> true;
is_of_commands(<<"Network", _/binary>>) -> true;
is_of_commands(_Rule) -> false.

text(#{rule := Text}) -> Text;
text(Text) -> Text.
