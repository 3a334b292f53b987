%% @doc Tool specs: creating and validating them, calling them without a kernel, and converting them to provider
%% schemas.
-module(beamai_tool).

-export([new/2, new/3, validate/1, tags/1]).
-export([invoke/2, invoke/3, call_native/3, to_tool_schema/2, to_tool_schema/3, encode_schema/3]).
-export_type([
    tool_spec/0, handler/0, args/0, tool_result/0, parameters_schema/0, param_spec/0, filter_ref/0
]).
-export_type([native_info/0]).

-type tool_spec() :: #{
    name := binary(),
    handler := handler(),
    description => binary(),
    parameters => parameters_schema(),
    %% A JSON Schema with binary keys, in place of parameters that cannot express it. Providers get it unchanged;
    %% supported keywords are checked here.
    input_schema => #{binary() => term()},
    tag => binary() | [binary()],
    %% Milliseconds per attempt; 30000 by default.
    timeout => timeout(),
    %% At most `max' retries (1 by default), `delay' milliseconds apart (0 by default).
    retry => #{max => non_neg_integer(), delay => non_neg_integer()},
    filters => [filter_ref()],
    %% The node that it runs on, or a fun that gets `#{tool, tags, context}' and returns one; see {@link
    %% beamai_kernel:place/3}.
    node => node() | fun((map()) -> node()),
    %% `requires_permission => true' makes the default policy ask for approval.
    metadata => map()
}.
-type handler() ::
    fun((args()) -> tool_result())
    | fun((args(), beamai_context:t()) -> tool_result())
    | {module(), atom()}
    | {module(), atom(), [term()]}.
-type args() :: map().
%% The context in a result is merged over that of the call.
-type tool_result() :: {ok, term()} | {ok, term(), beamai_context:t()} | {error, term()}.
-type parameters_schema() :: #{atom() | binary() => param_spec()}.
-type param_spec() :: #{
    type := string | integer | float | boolean | array | object,
    description => binary(),
    required => boolean(),
    default => term(),
    enum => [term()],
    items => param_spec(),
    properties => parameters_schema(),
    minimum => number(),
    maximum => number(),
    minItems => non_neg_integer(),
    maxItems => non_neg_integer(),
    %% 1-based position in the parameter list, which is the order in which a model writes arguments. Parameters without
    %% it come last.
    position => pos_integer(),
    %% For built-in tools: the description is left out for models, because the name explains the parameter.
    self_evident => boolean()
}.
-type filter_ref() :: beamai_filter:name().
%% Data of a built-in tool's handler; see {@link call_native/3}.
-type native_info() :: #{
    name := binary(),
    dialect := binary(),
    door := nif | port,
    pace := beamai_door:pace(),
    session := required | optional,
    stateful := boolean(),
    sees_files := boolean(),
    several_files := boolean(),
    own_timeout := none | milliseconds | seconds,
    services := beamai_native_call:services()
}.

%% @doc Creates a tool with a name and a handler, which accepts any arguments.
-spec new(Name :: binary(), handler()) -> tool_spec().
new(Name, Handler) ->
    new(Name, Handler, #{}).

%% @doc Creates a tool with further keys of the spec. Raises `{invalid_tool, Name, Problems}'.
-spec new(Name :: binary(), handler(), Options :: map()) -> tool_spec().
new(Name, Handler, Options) ->
    beamai_validate:options(Options),
    beamai_spec:valid(Options#{name => Name, handler => Handler}).

%% @doc Validates a spec; the problems are sentences.
-spec validate(term()) -> ok | {error, {invalid_tool, Name :: term(), Problems :: [binary()]}}.
validate(Spec) ->
    beamai_spec:validate(Spec).

%% @doc The tags of a spec, as a list.
-spec tags(tool_spec()) -> [binary()].
tags(Spec) ->
    beamai_spec:tags(Spec).

%% @private The handler of a built-in tool. A kernel recognizes it and uses the door without a handler process. Called
%% as an ordinary function, it runs the tool under the context's policy, as {@link invoke/3} does.
-spec call_native(args(), beamai_context:t(), native_info()) -> beamai_call:try_result().
call_native(Args, Context, #{name := Name} = Info) ->
    invoke(#{name => Name, handler => {?MODULE, call_native, [Info]}}, Args, Context).

%% @doc Calls a tool without a kernel and without a context.
-spec invoke(tool_spec(), args()) -> {ok, term()} | {error, term()}.
invoke(Spec, Args) ->
    case invoke(Spec, Args, beamai_context:new()) of
        {ok, Result, _Context} -> {ok, Result};
        {error, _} = Error -> Error
    end.

%% @doc Calls a tool without a kernel: with the context's `permissions', `workspace' and `approve', or with the default
%% policy in the current directory. Filters that the tool lists do not run, since they belong to kernels. Raises
%% `{invalid_tool, Name, Problems}', `{bad_context, Term}', and the errors of {@link beamai_kernel:new/1} for invalid
%% values of those keys.
-spec invoke(tool_spec(), args(), beamai_context:t()) -> beamai_call:try_result().
invoke(Spec, Args, Context) ->
    #{name := Name} = beamai_spec:valid(Spec),
    beamai_validate:context(Context),
    Kernel = beamai_kernel:new(maps:with([permissions, workspace, approve, ask_user], Context)),
    Bare = beamai_kernel:add_tool(Kernel, maps:remove(filters, Spec)),
    beamai_kernel:invoke(Bare, Name, Args, Context).

%% @doc The spec in a provider's format: binary keys in the provider's envelope, atoms for JSON Schema keywords and type
%% names, binaries for property names.
-spec to_tool_schema(tool_spec(), beamai_tool_schema:provider()) -> #{binary() => term()}.
to_tool_schema(Spec, Provider) ->
    to_tool_schema(Spec, Provider, #{}).

%% @doc As {@link to_tool_schema/2}, with options.
-spec to_tool_schema(tool_spec(), beamai_tool_schema:provider(), beamai_tool_schema:options()) ->
    #{binary() => term()}.
to_tool_schema(Spec, Provider, Options) ->
    beamai_tool_schema:term(beamai_spec:valid(Spec), Provider, Options).

%% @doc As {@link to_tool_schema/3}, as JSON text with the properties in the order of `position', which maps do not
%% keep.
-spec encode_schema(tool_spec(), beamai_tool_schema:provider(), beamai_tool_schema:options()) ->
    binary().
encode_schema(Spec, Provider, Options) ->
    beamai_tool_schema:json(beamai_spec:valid(Spec), Provider, Options).
