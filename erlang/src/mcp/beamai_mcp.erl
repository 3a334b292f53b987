%% @doc Tools of external servers that speak the Model Context Protocol.
%%
%% ```
%% {ok, K1} = beamai_mcp:connect(#{name => <<"files">>, command => <<"mcp-server-filesystem">>,
%%                                 args => [<<".">>], kernel => K0}).
%% {ok, K2} = beamai_mcp:connect(#{name => <<"docs">>, url => <<"https://docs.example/mcp">>,
%%                                 headers => #{<<"authorization">> => <<"Bearer …">>}, kernel => K1}).
%% '''
%%
%% A server is a program that is started here (`command') and spoken to over its standard input and
%% output, or an address (`url') that is spoken to over Streamable HTTP, revisions 2025-03-26 to
%% 2026-07-28. Without `kernel' there is a connection instead, which {@link add/2} adds to any kernel.
%% Every tool of the server is a tool of the kernel, named `mcp__files__' and the server's own name
%% for it, with the kernel's permissions, filters, timeouts, retries and cancellation. Permission
%% rules are about that name; `mcp__files__*', or `mcp__files', is about all tools of the server.
%%
%% A connection is plain data: what the server is, and the tools that it had. The process, or the
%% session over HTTP, belongs to the port program, which finds it by those settings, or starts it: a
%% server that crashed, and a port program that was restarted, are there again with the next call. So
%% calls in two kernels with the same workspace, sandbox and deny rules share a process, and its state.
%%
%% The values of `headers' are kept in funs: they are not in what is printed or logged of a connection
%% or of a kernel, nor in messages of errors. `term_to_binary/1' stores them. A fun of the host's is
%% asked for its value at each call, so that a token may be renewed; with another value, it is another
%% session. Headers go to the server of the `url' alone, and in clear text only to this machine.
%%
%% A result is a map: `<<"structured">>' where the server gives structured content, `<<"text">>' unless
%% it says the same, and images, sounds and resources in `<<"content">>', as the protocol has them.
-module(beamai_mcp).

-export([connect/1, refresh/1, tools/1, info/1, add/2, close/1, call/3]).
-export_type([options/0, connection/0, info/0]).

-define(DIALECT, <<"mcp">>).
-define(CLOSE_MS, 15000).
%% For a list of tools, once the server is ready.
-define(LIST_MS, 30000).
%% For an answer to be handed over.
-define(ANSWER_MS, 10000).

-type options() :: #{
    %% The host's name for the server: letters, digits, `-' and single `_'.
    name := binary() | string(),
    %% Absolute path of the program, or its name on the `PATH' outside the workspace. Either this or `url'.
    command => binary() | string(),
    args => [binary() | string()],
    %% Variables besides the usual ones; of the host's own environment nothing else is passed on.
    env => #{atom() | binary() | string() => binary() | string()},
    %% The directory that it starts in, of the workspace. Default: its top.
    cwd => file:filename_all(),
    %% Default: the kernel's.
    sandbox => beamai_options:sandbox(),
    %% The server's address for Streamable HTTP, such as `https://example.com/mcp'. It is not shown beyond
    %% its path. A name has to lead to a public address, except `localhost'; an address is taken as it is.
    url => binary() | string(),
    %% With every request to the `url', such as `authorization'. See above on how they are kept.
    headers => #{atom() | binary() | string() => binary() | string() | fun(() -> binary())},
    %% `IP:PORT' that the name in `url' may lead to though they are not public.
    allow_addresses => [binary() | string()],
    %% Whether `headers' may go to another machine in clear text. Default: `false'.
    insecure => boolean(),
    %% Of a connection that is made without a kernel. Default: the current directory.
    workspace => file:filename_all(),
    %% Milliseconds for each try of a call. Default: the kernel's.
    timeout => timeout(),
    retry => #{max => non_neg_integer(), delay => non_neg_integer()},
    filters => [beamai_tool:filter_ref()],
    %% Milliseconds until the server is ready. Default: 60000.
    start_timeout => pos_integer(),
    %% Milliseconds without a call after which the server is ended. Default: an hour.
    idle_timeout => timeout(),
    %% Whether tools run without being asked about that the server says only read. Default: `false'.
    trust_annotations => boolean(),
    %% Whose workspace, sandbox and permissions hold.
    kernel => beamai_kernel:kernel()
}.
%% Who the server says it is; `null' for what it does not say.
-type info() :: #{
    name := binary() | null, version := binary() | null, protocol := binary(), instructions := binary() | null
}.
-type connection() :: #{
    name := binary(),
    %% What the server is, as the port program takes it. Values of `env' are in it; those of `headers' in funs.
    server := map(),
    %% What every tool gets besides what the server says of it.
    options := map(),
    env := beamai_env:t(),
    info := info(),
    tools := [map()]
}.

%% @doc Starts a server or connects to it, unless that is done, and asks for its tools. With `kernel', the answer is that
%% kernel with the tools added, which {@link add/2} would do. Raises `{bad_option, Key}', and what
%% {@link beamai_kernel:add_tool/2} raises.
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

%% The connection without what the server says.
unlisted(Options) ->
    Checked = #{name := Name, native := Env} = beamai_mcp_options:checked(Options),
    #{
        name => Name,
        server => maps:with([name, way, start_timeout, idle_timeout], Checked),
        options => maps:with([timeout, retry, filters, trust_annotations], Checked),
        env => Env
    }.

%% @doc The connection with the tools that the server has now. A server that says that its tools have
%% changed is not asked by itself: a kernel's tools are the host's to change.
-spec refresh(connection()) -> {ok, connection()} | {error, beamai_error:t()}.
refresh(#{name := _, server := _, options := _, env := _} = Connection) ->
    listed(Connection).

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

%% @doc Who the server says it is.
-spec info(connection()) -> info().
info(#{info := Info}) ->
    Info.

%% @doc The server's tools as tool specs.
-spec tools(connection()) -> [beamai_tool:tool_spec()].
tools(#{tools := Tools} = Connection) ->
    [spec(Tool, Connection) || Tool <- Tools].

%% @doc Adds the server's tools to a kernel; a name that is taken raises `{duplicate_tool, Name}'.
-spec add(beamai_kernel:kernel(), connection()) -> beamai_kernel:kernel().
add(Kernel, Connection) ->
    beamai_kernel:add_tools(Kernel, tools(Connection)).

%% @doc Ends the server's processes or sessions, in whatever workspace, and waits for that: those of a
%% connection, or of the options that one was made with (with the values that its headers have now). Tools that a kernel has stay there, and the next call of one
%% starts the server again.
-spec close(connection() | options()) -> ok | {error, beamai_error:t()}.
close(#{command := _} = Options) ->
    close(unlisted(Options));
close(#{url := _} = Options) ->
    close(unlisted(Options));
close(#{name := Name, server := Server, env := Env}) ->
    case native(Env, <<"mcp_close">>, #{server => Server}, #{timeout => ?CLOSE_MS}) of
        {ok, _Closed} -> ok;
        {error, Error} -> {error, Error#{tool := <<"mcp__", Name/binary>>}}
    end.

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

%% What a server says of its tools is its own claim.
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

%% @private The handler of a server's tool. It has no clock of its own: the kernel ends the process,
%% the guard then cancels the call in the port program, and the server is told.
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
            named(Name, native(Env, <<"mcp_call">>, Act, #{timeout => infinity, on_progress => Heard}));
        {{error, Error}, _Door} ->
            {error, Error#{tool := Name}}
    end.

%% A spec's handler can also be called as a plain function.
settings(Context) ->
    case beamai_callback:settings() of
        none -> beamai_callback:settings(beamai_kernel:new(), Context);
        Settings -> Settings
    end.

named(_Name, {ok, Value}) -> {ok, Value};
named(Name, {error, Error}) -> {error, Error#{tool := Name}}.

%% A question of the server, or its progress.
heard(#{<<"elicitation">> := Id, <<"questions">> := Questions}, _Name, Env, Context) ->
    Answers = answers(beamai_callback:ask_user(Questions, Context)),
    case answer(Env, Id, Answers) of
        {ok, _Taken} -> ok;
        %% What the host has answered cannot be said to the server.
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
    Call = maps:merge(
        #{tool => Act, dialect => ?DIALECT, args => Args},
        maps:from_list([{timeout, Timeout} || Timeout =/= infinity])
    ),
    case beamai_door_port:call(Env, Call, Options#{pace => long, run => none}) of
        {ok, Value} -> {ok, Value};
        {error, #{<<"message">> := _} = Error} -> {error, beamai_error:from_native(Act, Error)};
        {error, Error} -> {error, Error}
    end.
