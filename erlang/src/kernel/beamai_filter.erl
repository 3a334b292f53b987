%% @doc Filters wrap calls, as middleware does.
%%
%% A filter's fun gets the call and the rest of the chain: `fun(Call, Next) -> Result'. It can change the arguments or
%% the context before `Next(Call)', change the result afterwards, return a result without calling `Next', or call it
%% again to retry. It runs in the caller's process.
%%
%% With `invoke_all', calls run in parallel although their filters share the caller's process: while one filter waits in
%% `Next', the filters of further calls start. Therefore `Next' may return some time after the tool has finished.
-module(beamai_filter).

-export([new/2, name/1, apply_all/3]).
-export_type([filter/0, name/0, call/0, result/0, next/0, handler/0]).

-type name() :: binary() | atom().
%% `join' is set by a filter whose calls may share a run; see {@link beamai_filters:batch/1}. `reuse' says whether the call
%% may have the result of an earlier one; see {@link beamai_filters:cache/1}.
-type call() :: #{tool := binary(), args := map(), context := beamai_context:t(), join => beamai_join:join(), reuse => beamai_reuse:scope()}.
-type result() :: {ok, term(), beamai_context:t()} | {error, term()}.
-type next() :: fun((call()) -> result()).
-type handler() :: fun((call(), next()) -> result()).
-type filter() :: #{name := name(), handler := handler()}.

%% @doc Creates a filter. The `filters' of a tool refer to its name. Raises `{bad_filter, Term}'.
-spec new(name(), handler()) -> filter().
new(Name, Fun) ->
    Filter = #{name => Name, handler => Fun},
    _ = name(Filter),
    Filter.

%% @doc The name of a filter. Raises `{bad_filter, Term}' if the term is not a filter.
-spec name(term()) -> name().
name(#{name := Name, handler := Fun}) when is_function(Fun, 2), is_binary(Name) orelse is_atom(Name) ->
    Name;
name(Other) ->
    beamai_validate:raise({bad_filter, beamai_secret:mask(Other)}, [
        beamai_syntax:either(
            "a filter is a map of a name, a binary or an atom, and a handler, a fun of two arguments, as beamai_filter:new(Name, Fun)",
            "a filter is a map of a name, a string or an atom, and a handler, a function of two arguments, as :beamai_filter.new(name, fun)"
        ),
        " gives it, not ",
        beamai_validate:show(Other)
    ]).

%% @private Runs the call through the filters, outermost first, down to `Core'. A filter that raises, returns something
%% else, or is missing causes an `execution_failed' error.
-spec apply_all([filter() | {missing, term()}], call(), next()) -> result().
apply_all([], Call, Core) ->
    Core(Call);
apply_all([{missing, Name} | _], #{tool := Tool}, _Core) ->
    Message = [
        Tool, " lists the filter ", show(Name),
        ", which this kernel does not have; add it with ", beamai_syntax:either("beamai_kernel:add_filter", "Beamai.add_filter")
    ],
    {error, beamai_error:new(Tool, execution_failed, missing_filter, Message)};
apply_all([#{name := Name, handler := Fun} | Rest], #{tool := Tool} = Call, Core) ->
    Begun = atomics:new(1, []),
    Next = fun(Inner) -> noted(apply_rest(Rest, Name, Tool, Inner, Core), Begun) end,
    try Fun(Call, Next) of
        {ok, _Result, Context} = Ok when is_map(Context) -> Ok;
        {error, Reason} -> {error, of_all(Reason, atomics:get(Begun, 1))};
        Other -> {error, bad_result(Tool, Name, Other)}
    catch
        Class:Reason:Stack -> {error, raised(Tool, Name, beamai_exception:describe(Class, Reason, Stack, Fun), #{
            class => Class, exception => Reason, stacktrace => beamai_crash:short_stack(Stack)
        })}
    end.

%% Counts the attempts that may have had an effect.
noted({error, Error} = Result, Begun) ->
    case beamai_error:has_not_run(Error) of
        true -> Result;
        false -> counted(Result, Begun)
    end;
noted(Result, Begun) ->
    counted(Result, Begun).

counted(Result, Begun) ->
    ok = atomics:add(Begun, 1, 1),
    Result.

%% An attempt that has not run says nothing about an earlier one of the same filter.
of_all(Error, Begun) ->
    case Begun > 0 andalso beamai_error:has_not_run(Error) of
        true -> beamai_error:part_not_run("a later attempt", Error, "an earlier one may have had an effect");
        false -> Error
    end.

%% A filter may change the arguments and the context, but not which tool is called: its own
%% filters and permissions are those of the tool that was asked for.
apply_rest(Rest, _Name, Tool, #{tool := Tool, args := _, context := C} = Call, Core) when is_map(C) ->
    apply_all(Rest, Call, Core);
apply_rest(_Rest, Name, Tool, Call, _Core) ->
    Message = [
        "filter ", show(Name), " handed on ", show(Call), "; it must hand on the call of ", Tool,
        " with `tool', `args' and `context'"
    ],
    {error, beamai_error:new(Tool, execution_failed, bad_filter, Message)}.

bad_result(Tool, Name, Other) ->
    Message = [
        "filter ", show(Name), " returned ", show(Other),
        beamai_syntax:either("; a filter returns {ok, Result, Context} or {error, Reason}", "; a filter returns {:ok, result, context} or {:error, reason}")
    ],
    beamai_error:new(Tool, execution_failed, bad_filter, Message).

raised(Tool, Name, Said, Details) ->
    beamai_error:new(Tool, execution_failed, crash, ["filter ", show(Name), " raised ", Said], Details).

show(Term) ->
    beamai_error:show(Term, 200).
