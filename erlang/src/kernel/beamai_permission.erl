%% @doc The form of a policy, and its verdict on a call.
%%
%% Rules are evaluated on the native side; this module only validates the form of a policy.
-module(beamai_permission).

-include("beamai_plan.hrl").

-export([normalise/1, explain/3, explain/4, is_allowed/3]).
-export_type([t/0, rule/0, mode/0, normalised/0, normalised_rule/0, verdict/0]).

-type mode() :: auto | allow | ask | deny.
-type text() :: binary() | string().

%% `Tool' or `Tool(pattern)', optionally with examples, which are checked when the kernel is created.
-type rule() :: text() | #{rule := text(), match => [text()], no_match => [text()]}.
-type t() ::
    #{allow => [rule()], ask => [rule()], deny => [rule()], default => mode()}
    %% A JSON settings file that contains the policy under `"permissions"'.
    | {file, file:filename_all()}.
-type normalised() ::
    #{allow := [normalised_rule()], ask := [normalised_rule()], deny := [normalised_rule()], default := binary()}
    | #{settings := binary()}.
-type normalised_rule() :: binary() | #{rule := binary(), match := [binary()], no_match := [binary()]}.
-type verdict() :: #{
    verdict := allow | ask | deny,
    matched_rule := binary() | undefined,
    message := binary(),
    %% How programs that the command starts are checked; absent if they are not.
    enforced => binary()
}.

%% @doc Validates a policy and adds defaults: no rules, and the mode `auto'. Settings files are read. The error is a
%% sentence.
-spec normalise(term()) -> {ok, normalised()} | {error, binary()}.
normalise({file, Path}) when is_binary(Path); is_list(Path) ->
    case file:read_file(Path) of
        {ok, Text} -> {ok, #{settings => Text}};
        {error, Reason} -> wrong([" file ", show(Path), " cannot be read: ", file:format_error(Reason)])
    end;
normalise(Policy) when is_map(Policy) ->
    case maps:keys(maps:without([allow, ask, deny, default], Policy)) of
        [] -> lists_and_mode(Policy);
        [Unknown | _] -> wrong([" has the unknown key ", show(Unknown), beamai_validate:unknown_key(Unknown, [allow, ask, deny, default])])
    end;
normalise(Other) ->
    wrong([" must be ", beamai_syntax:either("a map of allow, ask, deny and default, or {file, Path}", "a keyword list or map of allow, ask, deny and default, or {:file, path}"), ", not ", show(Other)]).

lists_and_mode(Policy) ->
    Lists = [{Key, rules(maps:get(Key, Policy, []))} || Key <- [allow, ask, deny]],
    Mode = maps:get(default, Policy, auto),
    case [Fault || {Key, {error, Text}} <- Lists, Fault <- [[atom_to_binary(Key), Text]]] of
        [Fault | _] ->
            wrong([": ", Fault]);
        [] when Mode =:= auto; Mode =:= allow; Mode =:= ask; Mode =:= deny ->
            Rules = maps:from_list([{Key, Good} || {Key, {ok, Good}} <- Lists]),
            {ok, Rules#{default => atom_to_binary(Mode)}};
        [] ->
            wrong([": default ", beamai_validate:is_one_of([auto, allow, ask, deny], Mode)])
    end.

rules(Rules) when length(Rules) >= 0 ->
    Texts = [rule(Rule) || Rule <- Rules],
    case [Rule || {Rule, error} <- lists:zip(Rules, Texts)] of
        [] -> {ok, Texts};
        [Bad | _] -> {error, [" has ", show(Bad), "; a rule is a text such as ",
            beamai_syntax:either("<<\"Bash(git:*)\">>, or #{rule => Text, match => [Text], no_match => [Text]}",
                "\"Bash(git:*)\", or %{rule: text, match: [text], no_match: [text]}")]}
    end;
rules(Other) ->
    {error, [" must be a list of rules, not ", show(Other)]}.

rule(#{rule := Rule} = Checked) ->
    Examples = [texts(maps:get(Key, Checked, [])) || Key <- [match, no_match]],
    case {maps:keys(maps:without([rule, match, no_match], Checked)), text(Rule), Examples} of
        {[], Text, [Match, NoMatch]} when is_binary(Text), is_list(Match), is_list(NoMatch) ->
            #{rule => Text, match => Match, no_match => NoMatch};
        _ ->
            error
    end;
rule(Rule) ->
    text(Rule).

texts(Texts) when is_list(Texts) ->
    Checked = [text(Text) || Text <- Texts],
    case lists:member(error, Checked) of
        true -> error;
        false -> Checked
    end;
texts(_Other) ->
    error.

text(Text) when is_binary(Text) ->
    Text;
text([_ | _] = Text) ->
    try unicode:characters_to_binary(Text) of
        Binary when is_binary(Binary) -> Binary;
        _ -> error
    catch
        error:badarg -> error
    end;
text(_Other) ->
    error.

wrong(Text) ->
    {error, unicode:characters_to_binary(["the policy", Text])}.

show(Term) ->
    beamai_validate:show(Term).

%% @doc The verdict of the kernel's policy on a call of the tool, and the rule that decided, `undefined' if the mode
%% did. Nothing is run and nobody is asked. Invalid arguments return the tool's error.
-spec explain(beamai_kernel:kernel(), Name :: binary(), Args :: map()) ->
    verdict() | {error, beamai_error:t()}.
explain(Kernel, Name, Args) ->
    explain(Kernel, Name, Args, #{}).

%% @doc As {@link explain/3}, for a call with this context: in its workspace, and with the rules that approvals added to
%% its session.
-spec explain(beamai_kernel:kernel(), Name :: binary(), Args :: map(), beamai_context:t()) ->
    verdict() | {error, beamai_error:t()}.
explain(Kernel, Name, Args, Context) ->
    beamai_validate:kernel(Kernel),
    beamai_validate:context(Context),
    #{tools := Tools} = Kernel,
    case {beamai_plan:find(Name, Tools), beamai_env:of_call(Kernel, Context)} of
        {{ok, Plan}, {ok, Env}} -> explained(Name, reply(Env, Plan, Args));
        {{ok, _Plan}, {error, _} = Error} -> Error;
        {{error, _} = Error, _} -> Error
    end.

%% @private Whether a call with these settings may run without asking. Not so if its arguments are invalid.
-spec is_allowed(beamai_env:t(), #plan{}, Args :: term()) -> boolean().
is_allowed(Env, #plan{name = Name} = Plan, Args) when is_map(Args) ->
    case explained(Name, reply(Env, Plan, Args)) of
        #{verdict := allow} -> true;
        _ -> false
    end;
is_allowed(_Env, _Plan, _Args) ->
    false.

reply(Env, #plan{runs = #native{name = Name, dialect = Dialect}}, Args) ->
    Call = #{tool => Name, dialect => Dialect, args => Args},
    binary_to_term(beamai_nif:explain(Env, term_to_binary(Call)), [safe]);
reply(Env, #plan{name = Name, params = Params} = Plan, Args) ->
    case beamai_args:check(Params, Args, Name) of
        {ok, _Checked} ->
            Requires = Plan#plan.requires_permission,
            binary_to_term(beamai_nif:explain_own(Env, Name, Requires), [safe]);
        {error, _} = Error ->
            Error
    end.

explained(Name, {ok, #{<<"enforced">> := Enforced} = Explained}) ->
    (explained(Name, {ok, maps:remove(<<"enforced">>, Explained)}))#{enforced => Enforced};
explained(Name, {ok, #{<<"verdict">> := Verdict, <<"rule">> := Rule, <<"because">> := Because}}) ->
    #{
        verdict => verdict(Verdict),
        matched_rule => matched_rule(Rule),
        message => unicode:characters_to_binary([Name, said(Verdict), because(Rule), Because])
    };
explained(Name, {error, #{<<"message">> := _} = Error}) ->
    {error, beamai_error:from_native(Name, Error)};
explained(_Name, {error, _} = Error) ->
    Error.

verdict(<<"allow">>) -> allow;
verdict(<<"ask">>) -> ask;
verdict(<<"deny">>) -> deny.

matched_rule(null) -> undefined;
matched_rule(Rule) -> Rule.

said(<<"allow">>) -> " is allowed";
said(<<"ask">>) -> " needs approval";
said(<<"deny">>) -> " is denied".

because(null) -> " by the default mode";
because(Rule) -> [" by the rule ", Rule].
