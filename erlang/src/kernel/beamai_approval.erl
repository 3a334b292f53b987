%% @doc Asks for approval: requests that the policy does not decide go to the host's `approve' callback.
%% @hidden
-module(beamai_approval).

-export([decide/4, can_ask/2, ask_host/3, once/1, next_attempt/0]).
-export_type([request/0, approve/0, answer/0]).

%% The approval of the call whose attempts this process makes, with the session that it was given in, and whether the current
%% attempt has asked yet.
-define(GIVEN, {?MODULE, given}).
%% Maximum number of characters of a rule in an error.
-define(LONGEST_RULE, 4000).

%% The argument of `approve'. `rule' is the canonical tool name, `subject' the action to be allowed, such as
%% `<<"Bash(git status)">>'.
-type request() :: #{
    tool := binary(),
    rule := binary(),
    subject := binary(),
    message := binary(),
    args := map(),
    matched_rule := binary() | null,
    %% Rules that would allow the action, if they differ from the subject.
    wanted => [binary()],
    %% Rules that would allow such calls permanently, such as `<<"Bash(npm test:*)">>', for an answer `{allow, {rules,
    %% Always}}'.
    always => [binary()],
    %% The diff of a file change, cut to a limit. Only if the files may be read.
    diff => binary(),
    command => binary(),
    file => binary(),
    %% A program that a running command is about to start: `program', `arguments', `started_by', `directory', `has_all_arguments'
    %% and `fingerprint', which identifies this start, with binary keys. The program waits for the answer.
    start => #{binary() => term()},
    run_id => term(),
    agent_id => term(),
    session_id => term()
}.
%% A rule as in `permissions'.
-type answer() ::
    allow
    | {allow, session}
    | {allow, {rule, beamai_permission:rule()}}
    | {allow, {rules, [beamai_permission:rule()]}}
    | deny
    | {deny, Reason :: binary()}
    %% The request was closed without an answer.
    | cancelled.
-type approve() :: fun((request()) -> answer()).

%% @doc Decides a request of the native side: by the session's earlier approvals, or else by the `approve' callback of
%% the context, or else by the kernel's. Without a callback, or after an invalid answer, the call is refused. There is
%% no timeout for `approve'.
%%
%% `{allow, session}' applies to the same subject, compared as text, in the same session and with the same kernel
%% settings: another workspace, other rules or another sandbox requires a new approval. For a tool or sub-agent that the subject
%% only names, it applies to the same arguments and the same definition: `Native' has that of a tool under `definition'. `{allow, {rule, Rule}}' applies
%% to everything that the rule allows: it is added to the kernel's rules for later calls of the session. If one of the rules
%% is malformed, none is added, and the call is refused.
%%
%% An answer adds to the session that was open when `approve' was called. If that has ended, or the call was cancelled, it
%% counts for this call at most.
-spec decide(Native :: map(), Args :: map(), beamai_kernel:kernel(), beamai_context:t()) ->
    allow | {error, beamai_error:t()}.
decide(Native, Args, Kernel, Context) ->
    Request = request(Native, Args, Context),
    case beamai_env:in_workspace(Kernel, Context) of
        {ok, Env} ->
            Behind = behind(Native, Kernel),
            Memory = memory(Env, Request, Behind, Context),
            Approve = approve(Kernel, Context),
            case is_remembered(Memory) of
                true -> allow;
                false when Approve =:= none -> refused(Request);
                false -> ask(Approve, shown(Request, Behind), Memory, {Kernel, Env, Context})
            end;
        {error, _} = Error ->
            Error
    end.

%% @doc Whether there is an `approve' callback.
-spec can_ask(beamai_kernel:kernel(), beamai_context:t()) -> boolean().
can_ask(Kernel, Context) ->
    approve(Kernel, Context) =/= none.

%% What is behind a subject that only names a custom tool, one of an MCP server, or a sub-agent. Its definition and the arguments
%% say what the call does. `said' if the subject does.
behind(#{<<"rule">> := <<"Task">>}, Kernel) -> {named, beamai_agents:digest(Kernel)};
behind(#{definition := Definition}, _Kernel) -> {named, Definition};
behind(#{}, _Kernel) -> said.

%% A person sees what they decide about.
shown(#{message := Message, args := Args} = Request, {named, _}) when map_size(Args) > 0 ->
    Request#{message => <<Message/binary, " with ", (beamai_nif:in_question(beamai_json:text(Args)))/binary>>};
shown(Request, _Behind) ->
    Request.

%% The key under which an approval is remembered: session and subject.
memory(Env, Request, Behind, Context) ->
    {beamai_session:key(Context), <<(crypto:hash(sha256, Env))/binary, (remembered(Request, Behind))/binary>>}.

%% An approval of a program start does not cover calls. Its fingerprint is used as the key, because the shown command may be
%% shortened.
remembered(#{start := #{<<"fingerprint">> := Start}}, _Behind) ->
    <<"start ", Start/binary>>;
remembered(#{subject := Subject, args := Args}, {named, Definition}) ->
    <<Subject/binary, 0, (crypto:hash(sha256, term_to_binary({Args, Definition}, [deterministic])))/binary>>;
remembered(#{subject := Subject}, said) ->
    Subject.

is_remembered({Session, What}) -> beamai_session:approved(Session, What).

request(Native, Args, Context) ->
    #{
        <<"tool">> := Tool,
        <<"rule">> := Rule,
        <<"subject">> := Subject,
        <<"message">> := Message
    } = Native,
    Keys = [{command, <<"command">>}, {file, <<"file">>}, {wanted, <<"wanted">>}, {always, <<"always">>}, {diff, <<"diff">>}, {start, <<"start">>}],
    Named = [{Key, V} || {Key, N} <- Keys,
        {ok, V} <- [maps:find(N, Native)]],
    Ids = maps:with([run_id, agent_id, session_id], Context),
    maps:merge(
        maps:merge(Ids, maps:from_list(Named)),
        #{
            tool => Tool,
            rule => Rule,
            %% The rule that requires approval; null if the policy mode does.
            matched_rule => maps:get(<<"matched_rule">>, Native, null),
            subject => Subject,
            message => Message,
            args => Args
        }
    ).

approve(_Kernel, #{approve := Approve}) when Approve =/= undefined -> Approve;
approve(Kernel, _Context) -> maps:get(approve, Kernel, none).

refused(#{message := Message} = Request) ->
    Configure = unicode:characters_to_binary([remedy(Request), ", or give the kernel or the context an approve callback"]),
    #{details := Details} = Refusal = refusal(Request, needs_approval, [beamai_error:excerpt(Message), ". Nobody can be asked: ", Configure]),
    %% A model cannot configure the kernel; see beamai_display:error_for_model/1.
    {error, Refusal#{details := Details#{configure => Configure, answer => nobody}}}.

ask(Approve, Request, {Key, _} = Memory, {_Kernel, _Env, Context} = Scope) ->
    Session = beamai_session:opened(Key),
    Decide = fun(Answer) -> added(answered(Answer, Request, Scope), Session, Memory, Scope) end,
    case given(Request, Session) of
        {ok, Answer} -> Decide(Answer);
        Turn -> keep(Turn, {Request, Session}, ask_now(fun() -> Decide(call(Approve, Request)) end, Request, Memory, Context))
    end.

ask_now(Decide, Request, Memory, Context) ->
    %% Two calls of one invoke_all may have the same request: the second one uses the answer to the first.
    Ask = fun() ->
        case is_remembered(Memory) of
            true -> allow;
            false -> Decide()
        end
    end,
    About = #{for => approval, tool => maps:get(tool, Request), request => Request},
    Wait = fun() -> beamai_callback:run(Ask, ends(Request, Context)) end,
    waited(beamai_callback:waiting(About, Context, {Wait, fun answer_name/1}), Request).

%%% Attempts

%% @doc Runs the attempts of a call with retries. Approval is asked once for a call: a later attempt that has the same
%% request, diff included, gets the same answer while the session is open. What a handler or a running command asks for
%% itself is asked each time.
-spec once(fun(() -> Result)) -> Result.
once(Attempts) ->
    Outer = put(?GIVEN, {waits, none}),
    try
        Attempts()
    after
        case Outer of
            undefined -> erase(?GIVEN);
            _ -> put(?GIVEN, Outer)
        end
    end.

%% @doc Begins another attempt.
-spec next_attempt() -> ok.
next_attempt() ->
    {_, Given} = get(?GIVEN),
    _ = put(?GIVEN, {waits, Given}),
    ok.

%% The first request of an attempt is that of the call, unless a running command makes it.
given(Request, Session) ->
    case get(?GIVEN) of
        {waits, Given} when not is_map_key(start, Request), map_get(rule, Request) =/= <<"Network">> ->
            _ = put(?GIVEN, {has_asked, Given}),
            case Given of
                {{Request, Session}, Answer} -> {ok, Answer};
                _ -> first
            end;
        _ ->
            later
    end.

keep(first, Asked, allow) -> kept(Asked, allow, allow);
keep(first, Asked, {answered, Answer} = Outcome) when Answer =:= allow; element(1, Answer) =:= allow -> kept(Asked, Answer, Outcome);
keep(_Turn, _Asked, Outcome) -> Outcome.

kept(Asked, Answer, Outcome) ->
    _ = put(?GIVEN, {has_asked, {Asked, Answer}}),
    Outcome.

%%% Asking

%% What the host changes in the permissions so that the call needs no approval. No allow rule overrides one that asks.
remedy(#{matched_rule := Rule}) when is_binary(Rule) ->
    ["remove the rule ", Rule];
remedy(Request) ->
    Rules = lists:join(", ", [beamai_syntax:show(Rule, ?LONGEST_RULE) || Rule <- rules(Request)]),
    beamai_syntax:either(
        ["allow it with a rule, permissions => #{allow => [", Rules, "]}"],
        ["allow it with a rule, permissions: %{allow: [", Rules, "]}"]
    ).

%% The rules that would allow the call; all of them are needed.
rules(#{wanted := Wanted}) -> Wanted;
rules(#{always := Always}) -> Always;
rules(#{subject := Subject}) -> [Subject].

%% Cancelling the call of a running command ends it even while an approval is pending.
ends(Request, Context) ->
    case is_of_running(Request) of
        true -> beamai_host_call:ends_of_running(Context);
        false -> beamai_host_call:ends(Context)
    end.

%% Whether it is a request of a running command: about a program that it starts, or a host that it connects to.
is_of_running(#{start := _}) -> true;
is_of_running(#{rule := Rule}) -> Rule =:= <<"Network">>.

%% @doc Asks the host's `approve' callback on behalf of another node, which interprets the answer.
-spec ask_host(request(), beamai_kernel:kernel(), beamai_context:t()) -> {answered, term()} | {ended, beamai_error:t()}.
ask_host(Request, Kernel, Context) ->
    Session = beamai_session:opened(beamai_session:key(Context)),
    case given(Request, Session) of
        {ok, Answer} -> {answered, Answer};
        Turn -> keep(Turn, {Request, Session}, ask_host_now(Request, Kernel, Context))
    end.

ask_host_now(Request, Kernel, Context) ->
    Approve = approve(Kernel, Context),
    About = #{for => approval, tool => maps:get(tool, Request), request => Request},
    Wait = fun() -> beamai_callback:run(fun() -> {raw, call(Approve, Request)} end, ends(Request, Context)) end,
    case beamai_callback:waiting(About, Context, {Wait, fun raw_name/1}) of
        {value, {raw, Answer}} ->
            {answered, Answer};
        Ended ->
            {error, Error} = waited(Ended, Request),
            {ended, Error}
    end.

raw_name({value, {raw, Answer}}) when Answer =:= allow; element(1, Answer) =:= allow -> allow;
raw_name({value, {raw, _}}) -> deny;
raw_name(Other) -> answer_name(Other).

answer_name({value, allow}) -> allow;
answer_name({value, {error, _}}) -> deny;
answer_name({died, _Reason}) -> deny;
answer_name(Ended) -> Ended.

waited({value, Answer}, _Request) ->
    Answer;
waited(cancelled, #{tool := Tool}) ->
    {error, beamai_error:cancelled(Tool)};
waited(out_of_time, #{subject := Subject} = Request) ->
    Why = [beamai_error:excerpt(Subject), " was not approved before the time of the run's budget was over"],
    {error, unanswered(timeout, timeout, Why, "; the command was ended", Request)};
waited({unrecorded, Reason}, Request) ->
    {error, unanswered(execution_failed, io, ["the run's store failed: ", show(Reason)], "", Request)};
waited({died, Reason}, Request) ->
    denied(Request, ["the process of the approve callback ended: ", beamai_exception:ended(Reason, none)]).

%% `OfRunning' is what became of a command that was running.
unanswered(Type, Reason, Why, OfRunning, #{tool := Tool} = Request) ->
    case is_of_running(Request) of
        true -> beamai_error:new(Tool, Type, Reason, [Why, OfRunning]);
        false -> beamai_error:not_run(Tool, Type, Reason, Why)
    end.

call(Approve, Request) ->
    try
        Approve(Request)
    catch
        Class:Reason:Stack -> {raised, beamai_exception:describe(Class, Reason, Stack, Approve)}
    end.

%% Who answers about a cancelled call does not know that the answer would outlive it.
added({allow, Addition}, Session, Memory, {_Kernel, Env, Context}) ->
    Runs = [RunId || Key <- [run_id, node_run], {ok, RunId} <- [maps:find(Key, Context)]],
    _ = beamai_runs:is_cancelled(Runs) orelse add(Addition, Session, Memory, Env),
    allow;
added(Decision, _Session, _Memory, _Scope) ->
    Decision.

add(session, Session, {_Key, What}, _Env) -> beamai_session:approve(Session, What);
add({rules, Rules}, Session, _Memory, Env) -> beamai_session:add_rules(Session, Env, Rules).

%% What an answer decides, and what it adds to the session.
answered(allow, _Request, _Scope) ->
    allow;
answered({allow, session}, _Request, _Scope) ->
    {allow, session};
answered({allow, {rule, Rule}} = Answer, Request, Scope) ->
    with_rules(Answer, [Rule], Request, Scope);
answered({allow, {rules, []}}, _Request, _Scope) ->
    allow;
answered({allow, {rules, Rules}} = Answer, Request, Scope) ->
    with_rules(Answer, Rules, Request, Scope);
answered(deny, Request, _Scope) ->
    answer(declined, denied(Request, "approval was denied"));
answered({deny, Reason}, Request, _Scope) when is_binary(Reason) ->
    answer(declined, denied(Request, ["approval was denied: ", Reason]));
answered(cancelled, Request, _Scope) ->
    answer(cancelled, denied(Request, "the question was closed without an answer; do not ask again unchanged"));
answered({raised, Said}, Request, _Scope) ->
    denied(Request, ["the approve callback raised ", Said]);
answered(Other, Request, _Scope) ->
    denied(Request, [
        "the approve callback answered ", show(Other),
        beamai_syntax:either(
            "; it answers allow, {allow, session}, {allow, {rule, Rule}}, {allow, {rules, Rules}}, deny, {deny, Reason} or cancelled",
            "; it answers :allow, {:allow, :session}, {:allow, {:rule, rule}}, {:allow, {:rules, rules}}, :deny, {:deny, reason} or :cancelled"
        )
    ]).

%% The kind of answer, for programs: declined, cancelled, or nobody to ask.
answer(What, {error, #{details := Details} = Error}) ->
    {error, Error#{details := Details#{answer => What}}}.

with_rules(Answer, Rules, Request, {Kernel, _Env, Context}) ->
    case checked(Rules, Kernel, Context) of
        {ok, Checked} -> {allow, {rules, Checked}};
        {error, Why} -> denied(Request, ["the approve callback answered ", show(Answer), ": ", Why])
    end.

%% The rules are validated together with the kernel's own, as they will be used.
checked(Rules, Kernel, Context) ->
    case beamai_permission:normalise(#{allow => Rules}) of
        {ok, #{allow := Checked}} ->
            case beamai_env:with_rules(Checked, Kernel, Context) of
                {ok, _} -> {ok, Checked};
                {error, #{message := Message}} -> {error, Message}
            end;
        {error, _} = Error ->
            Error
    end.

denied(#{subject := Subject} = Request, Text) ->
    {error, refusal(Request, denied, [beamai_error:excerpt(Subject), ": ", Text])}.

refusal(#{tool := Tool, rule := Rule, subject := Subject} = Request, Reason, Text) ->
    Details = maps:with([command, file], Request),
    beamai_error:new(Tool, permission_denied, Reason, Text, Details#{
        matched_rule => maps:get(matched_rule, Request),
        rule => Rule,
        subject => Subject
    }).

show(Term) ->
    beamai_error:show(Term, 120).
