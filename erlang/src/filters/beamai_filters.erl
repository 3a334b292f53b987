%% @doc Ready-made filters, for {@link beamai_kernel:add_filter/2}:
%%
%% ```
%% K1 = beamai_kernel:add_filter(K0, beamai_filters:redact(#{})),
%% K2 = beamai_kernel:add_filter(K1, beamai_filters:call_limit(#{calls => 200})),
%% K3 = beamai_kernel:add_filter(K2, beamai_filters:cache(#{tools => [<<"file_read">>], workspace => Dir})).
%% '''
%%
%% Filters keep their state on this node, in bounded memory, separately for each filter: the same filter in two kernels
%% counts the calls of both. The option `tools' restricts a filter to these tools; `name' replaces its default name.
-module(beamai_filters).

-export([cache/1, debounce/1, batch/1, rate_limit/1, call_limit/1, audit/1, redact/1, result_budget/1]).

%% How long the call counts of a run or session are kept after its first call, in milliseconds: a day.
-define(DAY_MS, 86400000).

%% @doc A filter that returns the result of an earlier call again, if tool, arguments and session are the same and the
%% file in the argument `path' or `file_path' has not changed. Calls without such an argument are cached only with a
%% `ttl'. `workspace' is that of the kernel, in which relative paths are found; by default the current directory. Calls are
%% answered only from those of a kernel with the same settings and the same tool, in the same workspace, and only if they
%% are allowed without asking; all others run.
-spec cache(beamai_filter_cache:options()) -> beamai_filter:filter().
cache(Options) ->
    beamai_filter_options:check(Options, [tools, workspace, ttl]),
    beamai_filter_options:required_tools(Options),
    beamai_filter_cache:cache(Options).

%% @doc A filter that answers a repeated call with the result of the previous one, even if that failed: a model in a
%% loop repeats itself. `window' is in milliseconds, 1000 by default. As with {@link cache/1}, a call that needs approval, is
%% denied, or comes from a kernel with other settings or from another workspace or session is not answered from earlier ones.
-spec debounce(#{name => beamai_filter:name(), window => pos_integer(), tools => [binary()] | all}) -> beamai_filter:filter().
debounce(Options) ->
    beamai_filter_options:check(Options, [window, tools]),
    beamai_filter_cache:debounce(Options).

%% @doc A filter that lets calls of one `invoke_all', such as those of one answer of a model, share runs of `tools', which
%% must only read. Calls with the same arguments have one run. Calls of `file_read' for ranges of one file have one read
%% of up to 5000 lines, of which each gets its part; a call whose result could differ then has a read of its own.
%% Results are as without the filter. Approval is asked once for a run. In `beamai_kernel:invoke/4' this filter does nothing.
-spec batch(#{name => beamai_filter:name(), tools := [binary()]}) -> beamai_filter:filter().
batch(Options) ->
    beamai_filter_options:check(Options, [tools]),
    beamai_filter_options:required_tools(Options),
    beamai_filter_batch:batch(Options).

%% @doc A filter that permits `calls' calls per `per' milliseconds. Further calls fail with `busy' and the time to wait.
-spec rate_limit(#{name => beamai_filter:name(), calls := pos_integer(), per := pos_integer(), tools => [binary()] | all}) -> beamai_filter:filter().
rate_limit(#{calls := Most, per := Ms} = Options) when is_integer(Most), Most > 0, is_integer(Ms), Ms > 0 ->
    beamai_filter_options:check(Options, [calls, per, tools]),
    Ref = make_ref(),
    beamai_filter:new(beamai_filter_options:name(Options, rate_limit), fun(Call, Next) ->
        case beamai_filter_options:is_for(Call, Options) andalso window(Ref, Ms) of
            {Count, Left} when Count > Most -> {error, too_fast(Call, Most, Ms, Left)};
            _ -> Next(Call)
        end
    end);
rate_limit(Options) ->
    beamai_filter_options:check(Options, [calls, per, tools]),
    is_map_key(calls, Options) orelse beamai_validate:bad_option(calls, "is missing: how many calls may run in per milliseconds"),
    beamai_validate:bad_option(per, ["must be a number of milliseconds above 0", given(per, Options)]).

given(Key, Options) ->
    case Options of
        #{Key := Value} -> [", not ", beamai_validate:show(Value)];
        #{} -> ""
    end.

window(Ref, Ms) ->
    Now = erlang:monotonic_time(millisecond),
    %% Monotonic time may be negative.
    Number = floor(Now / Ms),
    {beamai_filter_state:count({Ref, Number}, 1, 2 * Ms), (Number + 1) * Ms - Now}.

too_fast(#{tool := Tool}, Most, Ms, Left) ->
    Message = io_lib:format("~ts is limited to ~b calls in ~b ms; call again in ~b ms", [Tool, Most, Ms, Left]),
    beamai_error:new(Tool, execution_failed, busy, Message, #{retry_after_ms => Left}).

%% @doc A filter that permits `calls' calls per run, or per session with `per => session', and refuses further ones.
-spec call_limit(#{name => beamai_filter:name(), calls := pos_integer(), per => run | session, tools => [binary()] | all}) -> beamai_filter:filter().
call_limit(#{calls := Most} = Options) when is_integer(Most), Most > 0 ->
    beamai_filter_options:check(Options, [calls, per, tools]),
    Per = maps:get(per, Options, run),
    lists:member(Per, [run, session]) orelse beamai_validate:one_of(per, [run, session], Per),
    Ref = make_ref(),
    beamai_filter:new(beamai_filter_options:name(Options, call_limit), fun(Call, Next) ->
        case beamai_filter_options:is_for(Call, Options) andalso beamai_filter_state:count({Ref, whose(Per, Call)}, 1, ?DAY_MS) of
            Count when is_integer(Count), Count > Most -> {error, too_many(Call, Most, Per)};
            _ -> Next(Call)
        end
    end);
call_limit(Options) ->
    beamai_filter_options:check(Options, [calls, per, tools]),
    beamai_validate:bad_option(calls, "is missing: how many calls may run in a run or session").

whose(run, #{context := #{run_id := RunId}}) -> {run, RunId};
whose(_Per, #{context := Context}) -> {session, beamai_session:key(Context)}.

too_many(#{tool := Tool}, Most, Per) ->
    Why = io_lib:format("this ~ts has made all of its ~b calls; finish without it", [Per, Most]),
    beamai_error:not_run(Tool, permission_denied, call_limit, Why).

%% @doc A filter that passes a description of each completed call to a fun: `tool', `outcome' (`ok' or the error's
%% type), `duration_us', `at' (system time in milliseconds), and `run_id', `agent_id', `session_id' and `call_id' if the
%% context has them; with `contents' also `args' and `result'. An exception in the fun does not affect the call.
-spec audit(#{name => beamai_filter:name(), to := fun((map()) -> term()), contents => boolean(), tools => [binary()] | all}) -> beamai_filter:filter().
audit(#{to := Fun} = Options) when is_function(Fun, 1) ->
    beamai_filter_options:check(Options, [to, contents, tools]),
    beamai_filter:new(beamai_filter_options:name(Options, audit), fun(Call, Next) ->
        case beamai_filter_options:is_for(Call, Options) of
            true -> audited(Fun, maps:get(contents, Options, false), Call, Next);
            false -> Next(Call)
        end
    end);
audit(Options) ->
    beamai_filter_options:check(Options, [to, contents, tools]),
    beamai_validate:bad_option(to, "is missing: a function that gets the description of each call").

audited(Fun, Contents, #{tool := Tool, args := Args, context := Context} = Call, Next) ->
    {At, Started} = {erlang:system_time(millisecond), erlang:monotonic_time(microsecond)},
    Result = Next(Call),
    Ids = maps:with([run_id, agent_id, session_id, call_id], Context),
    Entry = Ids#{tool => Tool, outcome => outcome(Result), at => At, duration_us => erlang:monotonic_time(microsecond) - Started},
    told(Fun, case Contents of true -> Entry#{args => Args, result => element(2, Result)}; false -> Entry end),
    Result.

outcome({ok, _Value, _Context}) -> ok;
outcome({error, #{error_type := Type}}) -> Type;
outcome({error, _Own}) -> error.

told(Fun, Entry) ->
    try
        Fun(Entry)
    catch
        Class:Reason:Stack ->
            beamai_crash:log_callback("the fun of an audit filter", Class, Reason, Stack, Fun)
    end.

%% @doc A filter that replaces secrets in results and errors by `***'. Option `patterns': regular expressions; by
%% default those of well-known keys and tokens. Texts are binaries; those in map keys are changed, too. Encoded secrets are not found, nor
%% those in atoms and in lists of characters. Progress reports stay as they are: a secret may be split between two of them.
-spec redact(#{name => beamai_filter:name(), patterns => [iodata()]}) -> beamai_filter:filter().
redact(Options) ->
    beamai_filter_options:check(Options, [patterns]),
    beamai_filter_text:redact(Options).

%% @doc A filter that cuts the longest texts of a result until all texts together have at most `bytes' bytes, or each is
%% short.
-spec result_budget(#{name => beamai_filter:name(), bytes := pos_integer()}) -> beamai_filter:filter().
result_budget(Options) ->
    beamai_filter_options:check(Options, [bytes]),
    beamai_filter_text:result_budget(Options).
