%% @doc Tools of external servers that speak the Model Context Protocol.
%%
%% ```
%% {ok, K1} = beamai_mcp:connect(#{name => <<"files">>, command => <<"mcp-server-filesystem">>,
%%                                 args => [<<".">>], kernel => K0}).
%% {ok, K2} = beamai_mcp:connect(#{name => <<"docs">>, url => <<"https://docs.example/mcp">>,
%%                                 headers => #{<<"authorization">> => <<"Bearer …">>}, kernel => K1}).
%% '''
%%
%% A server is a program that is started locally (`command') and connected by its standard input and output, or a URL
%% (`url') that is accessed with Streamable HTTP, revisions 2025-03-26 to 2026-07-28. Without `kernel', a connection is
%% returned, which {@link add/2} adds to any kernel. Every tool of the server becomes a tool of the kernel, named
%% `mcp__files__' followed by the server's name for it, with the kernel's permissions, filters, timeouts, retries and
%% cancellation. Permission rules use that name; `mcp__files__*', or `mcp__files', covers all tools of the server.
%%
%% A connection is plain data: the server's settings, and its tools. The process, or the HTTP session, belongs to the
%% port program, which looks it up by those settings or starts it: after a crash of the server or a restart of the port
%% program, the next call starts it again. Two kernels with the same workspace, sandbox and deny rules therefore share a
%% process and its state.
%%
%% The values of `headers' are kept in funs: they do not appear when a connection or kernel is printed or logged, nor in
%% error messages, but `term_to_binary/1' includes them. A fun given by the host is called for each call, so that a
%% token can be renewed; a new value starts a new session. Headers are sent only to the server of the `url', and
%% unencrypted only to this machine.
%%
%% A result is a map: `<<"structured">>' if the server returns structured content, `<<"text">>' unless it is the same,
%% and images, sounds and resources in `<<"content">>', in the protocol's format.
-module(beamai_mcp).

-export([connect/1, refresh/1, tools/1, info/1, add/2, close/1, call/3]).
-export_type([options/0, connection/0, info/0]).

-define(DIALECT, <<"mcp">>).
-define(CLOSE_MS, 15000).
%% Timeout for the list of tools, after the server's initialization, in milliseconds.
-define(LIST_MS, 30000).
%% Timeout for delivering an answer, in milliseconds.
-define(ANSWER_MS, 10000).

-type options() :: #{
    %% The host's name for the server: letters, digits, `-' and single `_'.
    name := binary() | string(),
    %% Absolute path of the program, or its name on the `PATH' outside the workspace. Exactly one of this and `url' is
    %% required.
    command => binary() | string(),
    args => [binary() | string()],
    %% Additional environment variables. No others of the host are passed on, except for the usual ones.
    env => #{atom() | binary() | string() => binary() | string()},
    %% The directory in the workspace that it starts in. Default: the workspace.
    cwd => file:filename_all(),
    %% Default: the kernel's.
    sandbox => beamai_options:sandbox(),
    %% The server's URL for Streamable HTTP, such as `https://example.com/mcp'. Query parameters are never shown. A host
    %% name must resolve to a public address, except for `localhost'; an IP address is used as it is.
    url => binary() | string(),
    %% Headers for every request to the `url', such as `authorization'. Kept secret, see above.
    headers => #{atom() | binary() | string() => binary() | string() | fun(() -> binary())},
    %% `IP:PORT' that the host name in `url' may resolve to although they are not public.
    allow_addresses => [binary() | string()],
    %% Whether `headers' may be sent to another machine unencrypted. Default: `false'.
    insecure => boolean(),
    %% For a connection without a kernel. Default: the current directory.
    workspace => file:filename_all(),
    %% Milliseconds per attempt of a call. Default: the kernel's.
    timeout => timeout(),
    retry => #{max => non_neg_integer(), delay => non_neg_integer()},
    filters => [beamai_tool:filter_ref()],
    %% Timeout for starting and initializing the server, in milliseconds. Default: 60000.
    start_timeout => pos_integer(),
    %% Milliseconds without a call after which the server is stopped. Default: one hour.
    idle_timeout => timeout(),
    %% Whether tools that the server declares read-only run without approval. Default: `false'.
    trust_annotations => boolean(),
    %% The kernel that provides workspace, sandbox and permissions.
    kernel => beamai_kernel:kernel()
}.
%% The server's self-description; `null' for missing values.
-type info() :: #{
    name := binary() | null, version := binary() | null, protocol := binary(), instructions := binary() | null
}.
-type connection() :: #{
    name := binary(),
    %% The server's settings for the port program. They contain the values of `env'; those of `headers' are in funs, and
    %% so is a `url' with a query.
    server := map(),
    %% Settings for all tools, besides what the server declares.
    options := map(),
    env := beamai_env:t(),
    info := info(),
    tools := [map()]
}.

%% @doc Connects to a server, starting it if necessary, and lists its tools. With `kernel', returns that kernel with the
%% tools added as by {@link add/2}. Raises `{bad_option, Key}', and the errors of {@link beamai_kernel:add_tool/2}.
-spec connect(options()) -> {ok, connection() | beamai_kernel:kernel()} | {error, beamai_error:t()}.
connect(#{kernel := Kernel} = Options) ->
    case connected(Options) of
        {ok, Connection} -> {ok, add(Kernel, Connection)};
        {error, _} = Error -> Error
    end;
connect(Options) ->
    connected(Options).

connected(Options) ->
    listed(unlisted(Options)).

%% A connection without a list of tools.
unlisted(Options) ->
    Checked = #{name := Name, native := Env} = beamai_mcp_options:checked(Options),
    #{
        name => Name,
        server => maps:with([name, way, start_timeout, idle_timeout], Checked),
        options => maps:with([timeout, retry, filters, trust_annotations], Checked),
        env => Env
    }.

%% @doc Returns the connection with the server's current tools. This does not happen automatically when a server
%% announces a change: the host decides which tools a kernel has.
-spec refresh(connection()) -> {ok, connection()} | {error, beamai_error:t()}.
refresh(#{name := _, server := _, options := _, env := _} = Connection) ->
    listed(Connection);
refresh(Other) ->
    bad_connection(Other).

listed(#{name := Name, server := #{start_timeout := Start} = Server, env := Env} = Connection) ->
    case native(Env, <<"mcp_tools">>, #{server => Server}, #{timeout => Start + ?LIST_MS}) of
        {ok, #{<<"server">> := Info, <<"tools">> := Tools}} ->
            {ok, Connection#{info => described(Info), tools => Tools}};
        {error, Error} ->
            {error, Error#{tool := <<"mcp__", Name/binary>>}}
    end.

described(#{<<"name">> := Name, <<"version">> := Version} = Info) ->
    #{
        name => Name,
        version => Version,
        protocol => maps:get(<<"protocol">>, Info),
        instructions => maps:get(<<"instructions">>, Info)
    }.

%% @doc The server's self-description. Like the other functions of a connection, raises `{bad_connection, Term}' for another
%% term.
-spec info(connection()) -> info().
info(#{info := Info}) -> Info;
info(Other) -> bad_connection(Other).

%% @doc The server's tools, as tool specs.
-spec tools(connection()) -> [beamai_tool:tool_spec()].
tools(#{tools := Tools, name := _, server := _, options := _} = Connection) -> [spec(Tool, Connection) || Tool <- Tools];
tools(Other) -> bad_connection(Other).

%% A host may pass the options, with headers in them.
-spec bad_connection(term()) -> no_return().
bad_connection(Other) ->
    beamai_validate:wrong(bad_connection, Other, [
        "a connection is what ", beamai_syntax:either("beamai_mcp:connect gives as {ok, Connection}", ":beamai_mcp.connect gives as {:ok, connection}")
    ]).

%% @doc Adds the server's tools to a kernel. Raises `{duplicate_tool, Name}' if a name is taken.
-spec add(beamai_kernel:kernel(), connection()) -> beamai_kernel:kernel().
add(Kernel, Connection) ->
    beamai_kernel:add_tools(Kernel, tools(Connection)).

%% @doc Ends the server's processes or sessions in all workspaces, and waits for that: those of a connection, or of the
%% options that it was created with (with the current values of its headers). Tools stay in their kernels; the next call
%% of one starts the server again.
-spec close(connection() | options()) -> ok | {error, beamai_error:t()}.
close(#{command := _} = Options) ->
    close(unlisted(Options));
close(#{url := _} = Options) ->
    close(unlisted(Options));
close(#{name := Name, server := Server, env := Env}) ->
    case native(Env, <<"mcp_close">>, #{server => Server}, #{timeout => ?CLOSE_MS}) of
        {ok, _Closed} -> ok;
        {error, Error} -> {error, Error#{tool := <<"mcp__", Name/binary>>}}
    end;
close(Other) ->
    bad_connection(Other).

%%% Specs

spec(#{<<"name">> := Name, <<"tool">> := Tool} = Listing, #{name := Own, server := Server, options := Options}) ->
    Spec = #{
        name => Name,
        description => maps:get(<<"description">>, Listing),
        handler => {?MODULE, call, [#{server => Server, tool => Tool, name => Name}]},
        tag => [<<"mcp">>, <<"mcp__", Own/binary>>],
        metadata => metadata(Listing, Options)
    },
    maps:merge(maps:merge(Spec, arguments(Listing)), maps:without([trust_annotations], Options)).

arguments(#{<<"parameters">> := Parameters}) -> #{parameters => beamai_catalogue:parameters(Parameters)};
arguments(#{<<"input_schema">> := Schema}) -> #{input_schema => Schema}.

%% Declarations of a server about its tools are not trusted.
metadata(#{<<"name">> := Name, <<"tool">> := Tool, <<"hints">> := Hints} = Listing, Options) ->
    #{
        <<"read_only">> := ReadOnly,
        <<"destructive">> := Destructive,
        <<"idempotent">> := Idempotent,
        <<"open_world">> := OpenWorld
    } = Hints,
    Trusts = maps:get(trust_annotations, Options),
    #{
        requires_permission => not (Trusts andalso ReadOnly),
        read_only => Trusts andalso ReadOnly,
        destructive => not Trusts orelse Destructive andalso not ReadOnly,
        idempotent => Trusts andalso Idempotent,
        open_world => not Trusts orelse OpenWorld,
        rule => Name,
        output_schema => maps:get(<<"output_schema">>, Listing),
        mcp_tool => Tool
    }.

%%% Calls

%% @private The handler of a server's tool. It has no timeout of its own: the kernel kills its process, the guard then
%% cancels the call in the port program, which notifies the server.
-spec call(Args :: map(), beamai_context:t(), #{server := map(), tool := binary(), name := binary()}) ->
    beamai_tool:tool_result().
call(Args, Context, #{server := Server, tool := Tool, name := Name}) ->
    case settings(Context) of
        {{ok, _Env}, nif} ->
            Message = [Name, " runs only in the port program, and this kernel was made with door => nif"],
            {error, beamai_error:new(Name, execution_failed, door_lost, Message)};
        {{ok, Env}, _Door} ->
            Act = #{server => Server, tool => Tool, arguments => Args},
            Heard = fun(Message) -> heard(Message, Name, Env, Context) end,
            Options = #{timeout => infinity, on_progress => Heard, owner => beamai_session:number(Context)},
            named(Name, native(Env, <<"mcp_call">>, Act, Options));
        {{error, Error}, _Door} ->
            {error, Error#{tool := Name}}
    end.

%% The handler can also be called as an ordinary function.
settings(Context) ->
    case beamai_callback:settings() of
        none -> beamai_callback:settings(beamai_kernel:new(), Context);
        Settings -> Settings
    end.

named(_Name, {ok, Value}) -> {ok, Value};
named(Name, {error, Error}) -> {error, Error#{tool := Name}}.

%% An elicitation of the server, or progress.
heard(#{<<"elicitation">> := Id, <<"questions">> := Questions}, _Name, Env, Context) ->
    Answers = answers(beamai_callback:ask_user(Questions, Context)),
    case answer(Env, Id, Answers) of
        {ok, _Taken} -> ok;
        %% Answers that cannot be represented in the server's form are sent as cancelled.
        {error, _} -> _ = answer(Env, Id, #{outcome => cancelled}), ok
    end;
heard(Progress, Name, _Env, Context) ->
    beamai_callback:progress(Progress#{<<"tool">> => Name}, Context).

answer(Env, Id, Answers) ->
    native(Env, <<"mcp_answer">>, #{elicitation => Id, answers => Answers}, #{timeout => ?ANSWER_MS}).

answers({ok, Answers}) when is_map(Answers) -> #{outcome => answered, answers => Answers};
answers({ok, _NoMap}) -> #{outcome => cancelled};
answers(cancelled) -> #{outcome => cancelled};
answers(no_frontend) -> #{outcome => no_frontend}.

native(Env, Act, #{server := Server} = Args, Options) ->
    case beamai_mcp_options:revealed(Server) of
        {ok, Revealed} -> asked(Env, Act, Args#{server := Revealed}, Options);
        {error, _} = Error -> Error
    end;
native(Env, Act, Args, Options) ->
    asked(Env, Act, Args, Options).

asked(Env, Act, Args, #{timeout := Timeout} = Options) ->
    Limit = maps:from_list([{timeout, Timeout} || Timeout =/= infinity]),
    Call = maps:merge(#{tool => Act, dialect => ?DIALECT, args => Args}, maps:merge(Limit, maps:with([owner], Options))),
    case beamai_door_port:call(Env, Call, (maps:without([owner], Options))#{pace => long, run => none}) of
        {ok, Value} -> {ok, Value};
        {error, #{<<"message">> := _} = Error} -> {error, beamai_error:from_native(Act, Error)};
        {error, Error} -> {error, Error}
    end.
