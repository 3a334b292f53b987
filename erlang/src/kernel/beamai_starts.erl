%% @doc Programs that a running command is about to start, and names that it connects to, about which somebody has to decide.
%%
%% The question comes with the call's progress, and the program waits. The answer is a call of its own, made while the
%% first one goes on, so that no effect happens twice.
%% @hidden
-module(beamai_starts).

-export([heard/5]).

-define(DIALECT, <<"mcp">>).
%% For an answer to be handed over.
-define(ANSWER_MS, 10000).

%% @doc Takes a message of a running call: a question about a start or a connection, or its progress.
-spec heard(Message :: map(), Tool :: binary(), Args :: map(), beamai_kernel:kernel(), beamai_context:t()) -> ok.
heard(#{<<"start">> := Id, <<"request">> := Request}, Tool, Args, Kernel, Context) ->
    case beamai_approval:decide(Request#{<<"tool">> => Tool}, Args, Kernel, Context) of
        %% The call ends, and the command with it: the program still waits then. An answer would let the command go on.
        {error, #{details := #{reason := cancelled}}} -> ok;
        Decided -> answer(Id, decision(Decided), Context, beamai_env:in_workspace(Kernel, Context))
    end;
heard(Progress, Tool, _Args, _Kernel, Context) ->
    beamai_callback:progress(Progress#{<<"tool">> => Tool}, Context).

decision(allow) -> #{decision => allow};
decision({error, #{message := Reason}}) -> #{decision => deny, reason => Reason}.

%% A command that has ended meanwhile waits for nothing any more.
answer(Id, Decision, Context, {ok, Env}) ->
    %% The running command has the session's rules from its beginning; the answer may have added one.
    Args = Decision#{start => Id, rules => command_rules(beamai_session:rules(Context, Env))},
    Call = #{tool => <<"start_answer">>, dialect => ?DIALECT, args => Args, timeout => ?ANSWER_MS},
    Options = #{pace => long, timeout => ?ANSWER_MS, run => none},
    _ = beamai_door_port:call(Env, Call, Options),
    ok;
answer(_Id, _Decision, _Context, {error, _Gone}) ->
    ok.

command_rules(Rules) ->
    [Text || Rule <- Rules, Text <- [text(Rule)], is_of_commands(Text)].

is_of_commands(<<"Bash", _/binary>>) -> true;
is_of_commands(<<"Network", _/binary>>) -> true;
is_of_commands(_Rule) -> false.

text(#{rule := Text}) -> Text;
text(Text) -> Text.
