%% @doc Options of a kernel, each validated by its own clause.
%%
%% An invalid option raises `{bad_option, Key}'; shell and logger show the explanation with it.
%% @hidden
-module(beamai_options).

-export([kernel/1, limits/1]).
-export_type([t/0, sandbox/0, limits/0]).

-import(beamai_validate, [bad_option/2, one_of/3, unknown_option/2]).

-define(KEYS, [
    workspace, permissions, approve, ask_user, sandbox, door, default_timeout, skills, web, lsp, agents, limits
]).

-define(IS_ENGINE(Provider), (Provider =:= searxng orelse Provider =:= brave orelse Provider =:= tavily)).
-define(MODES, [required, best_effort, off]).
-define(SANDBOX_KEYS, [
    mode, tier, without, network, credentials, unix_sockets, readable, writable, env, memory, processes, cpu, file_size, report
]).
%% The names on the native side.
-define(DISPENSABLE, [private_proc, resource_limits, landlock, signal_scope]).

-type t() :: #{
    %% Default: the current directory, unless that is `/' or the home directory.
    workspace => file:filename_all(),
    %% Default: `#{default => auto}'.
    permissions => beamai_permission:t(),
    approve => beamai_approval:approve(),
    ask_user => fun(([term()]) -> {ok, term()} | cancelled | no_frontend),
    %% Default: `required', without the network.
    sandbox => sandbox(),
    %% `auto': the default door of each tool.
    door => auto | nif | port,
    %% Milliseconds, for tools without their own timeout.
    default_timeout => timeout(),
    %% Directories in which every `SKILL.md' is a skill, relative to the current directory.
    skills => #{paths => [file:filename_all()]},
    web => web(),
    lsp => lsp(),
    %% Sub-agents, for the tool `task'.
    agents => beamai_agents:options(),
    limits => limits()
}.

%% `result': maximum characters of a result for models; 30,000 by default, at least 1,000. Results for programs are not
%% cut.
-type limits() :: #{result => pos_integer()}.

%% The sandbox of commands and language servers: a mode, or a map with options.
-type sandbox() ::
    sandbox_mode()
    | #{
        %% Default: `required'.
        mode => sandbox_mode(),
        %% Default: `full'.
        tier => sandbox_tier(),
        %% Layers that the host gives up, while all others are required. Default: none.
        without => [sandbox_layer()],
        %% Network access of commands: all, none, or names (`<<"example.com">>', `<<"*.example.org:443">>', `<<"*">>').
        %% Default: only what permission rules `Network(domain:...)' allow.
        network => boolean() | [binary() | string()],
        %% Headers that are added to requests of commands, by where these go: `<<"example.com">>' or
        %% `<<"example.com:8443">>' for https, `<<"http://example.com:8080">>' for requests in clear text. Commands do
        %% not see the values, which are kept in funs as in {@link web()}. Default: none.
        credentials => #{binary() | string() => #{atom() | binary() | string() => binary() | string() | fun(() -> binary())}},
        %% Whether UNIX sockets may be opened. Default: `false'.
        unix_sockets => boolean(),
        %% Paths that are readable although they are hidden by default, relative to the workspace.
        readable => [file:filename_all()],
        %% Paths that are writable besides the workspace and the session's temporary directory.
        writable => [file:filename_all()],
        %% Environment variables of the host that commands see besides the default ones.
        env => [binary() | string()],
        %% Bytes of each process. Default: half of the machine's memory.
        memory => pos_integer(),
        %% Maximum number of processes and threads. Default: 2048.
        processes => pos_integer(),
        %% CPU seconds per process. Default: no limit.
        cpu => pos_integer(),
        %% Maximum size of a written file in bytes. Default: no limit.
        file_size => pos_integer(),
        %% Whether results describe the isolation of their commands: `when_off', if a layer was missing or only partly
        %% effective (the default), or `always'.
        report => when_off | always
    }.

%% The minimum for the mode `required': `full', all layers, or `landlock', those that need no namespaces. The best tier
%% that the machine supports is used.
-type sandbox_tier() :: full | landlock.

%% Layers that can be given up.
-type sandbox_layer() :: private_proc | resource_limits | landlock | signal_scope.

%% `required': all layers, or nothing runs; `best_effort': the available layers; `off': none.
-type sandbox_mode() :: required | best_effort | off.

%% Language server settings; see {@link beamai_tool_lsp}.
-type lsp() :: #{
    %% Milliseconds without a request after which a server is stopped.
    idle_timeout => pos_integer(),
    %% By language.
    servers => #{atom() | binary() => #{atom() => term()}}
}.

%% Settings of the web tools; see {@link beamai_tool_web}. The `api_key' is kept in a fun: it does not appear when a
%% kernel is printed or logged, nor in error messages, but `term_to_binary/1' includes it. A fun given by the host is
%% called for each call, so the key can change.
-type web() :: #{
    %% Sockets, `IP:PORT', that may be reached although their addresses are not public.
    allow_addresses => [binary()],
    allowed_domains => [binary()],
    blocked_domains => [binary()],
    search => #{provider := searxng | brave | tavily, base_url => binary(), api_key => binary() | string() | fun(() -> binary())},
    user_agent => binary()
}.

%% @doc The kernel's settings: workspace pinned, policy validated, environment encoded.
-spec kernel(term()) -> #{atom() => term()}.
kernel(Options) when is_map(Options) ->
    Given = maps:from_list([{Key, option(Key, V)} || {Key, V} <- maps:to_list(Options)]),
    Defaults = #{
        permissions => option(permissions, #{}),
        door => auto,
        default_timeout => default
    },
    in_workspace(maps:merge(Defaults, Given));
kernel(Other) ->
    beamai_validate:options(Other).

in_workspace(Settings) ->
    case workspace(Settings) of
        {ok, Workspace} -> prepared(Settings#{workspace => Workspace});
        {error, #{message := Message}} -> bad_option(workspace, Message)
    end.

workspace(#{workspace := Path}) -> beamai_env:workspace(Path);
workspace(#{}) -> beamai_env:default_workspace().

prepared(Settings) ->
    case beamai_env:new(maps:with(beamai_env:parts(), Settings)) of
        {ok, Env} -> Settings#{env => Env};
        {error, #{message := Message}} -> beamai_validate:raise({bad_option, settings}, [at_fault(Settings), ": ", Message])
    end.

%% The settings are checked together; the one without which they are good is at fault.
at_fault(Settings) ->
    IsGood = fun(Key) -> element(1, beamai_env:new(maps:with(beamai_env:parts(), without(Key, Settings)))) =:= ok end,
    Keys = [Key || Key <- [permissions, web, lsp, sandbox, skills], is_map_key(Key, Settings), IsGood(Key)],
    atom_to_binary(hd(Keys ++ [settings])).

without(permissions, Settings) -> Settings#{permissions := option(permissions, #{})};
without(Key, Settings) -> maps:remove(Key, Settings).

option(workspace, Path) when is_binary(Path), Path =/= <<>> -> Path;
option(workspace, [_ | _] = Path) -> Path;
option(workspace, Other) -> bad_option(workspace, ["must be a path, not ", show(Other)]);
option(permissions, Policy) -> permissions(beamai_permission:normalise(Policy));
option(approve, Fun) when is_function(Fun, 1) -> Fun;
option(approve, Other) -> bad_option(approve, ["must be a function of one argument, not ", show(Other)]);
option(ask_user, Fun) when is_function(Fun, 1) -> Fun;
option(ask_user, Other) -> bad_option(ask_user, ["must be a function of one argument, not ", show(Other)]);
option(sandbox, Mode) when Mode =:= required; Mode =:= best_effort; Mode =:= off -> Mode;
option(sandbox, Options) when is_map(Options) ->
    maps:from_list([{Key, sandbox(Key, Value)} || {Key, Value} <- maps:to_list(Options)]);
option(sandbox, Other) ->
    bad_option(sandbox, ["must be ", beamai_syntax:listed(?MODES), " or ", beamai_syntax:either("a map", "a keyword list"), " of options, not ", show(Other)]);
option(door, Door) when Door =:= auto; Door =:= nif; Door =:= port -> Door;
option(door, Other) -> one_of(door, [auto, nif, port], Other);
option(default_timeout, infinity) -> infinity;
option(default_timeout, Ms) when is_integer(Ms), Ms > 0, Ms =< 16#FFFFFFFF -> Ms;
option(default_timeout, Other) ->
    bad_option(default_timeout, ["must be 1 to 4294967295 milliseconds or ", beamai_syntax:atom(infinity), ", not ", show(Other)]);
option(skills, #{paths := Paths} = Skills) when length(Paths) >= 0, map_size(Skills) =:= 1 ->
    #{paths => [directory(Path) || Path <- Paths]};
option(skills, Other) ->
    bad_option(skills, ["must be ", beamai_syntax:either("#{paths => [Directory]}", "%{paths: [directory]}"), ", not ", show(Other)]);
option(web, #{search := Search} = Web) when not is_map(Search) ->
    #{search := Masked} = beamai_secret:mask(Web),
    bad_option(web, ["search must be ", search(), ", not ", show(Masked)]);
option(web, #{search := #{provider := Provider}}) when not ?IS_ENGINE(Provider) ->
    bad_option(web, ["the provider of search must be ", beamai_syntax:atoms([searxng, brave, tavily]), ", not ", show(Provider)]);
option(web, #{search := Search}) when not is_map_key(provider, Search) ->
    bad_option(web, ["search has no provider; it must be ", search()]);
option(web, #{search := #{api_key := Key} = Search} = Web) -> Web#{search := Search#{api_key := secret(Key)}};
option(web, Web) when is_map(Web) -> Web;
option(web, Other) -> bad_option(web, ["must be a map, not ", show(Other)]);
option(lsp, #{servers := Servers}) when not is_map(Servers) ->
    bad_option(lsp, ["servers must be a map of languages to settings, not ", show(Servers)]);
option(lsp, Lsp) when is_map(Lsp) -> Lsp;
option(lsp, Other) -> bad_option(lsp, ["must be a map, not ", show(Other)]);
option(agents, Agents) -> beamai_agents:load(Agents);
option(limits, Limits) -> limits(Limits);
option(Unknown, _Value) ->
    unknown_option(Unknown, ?KEYS).

search() ->
    beamai_syntax:either("#{provider => searxng, base_url => Url}", "%{provider: :searxng, base_url: url}").

%% @doc Validates the limits. Raises `{bad_option, limits}'.
-spec limits(term()) -> limits().
limits(#{result := Limit} = Limits) when map_size(Limits) =:= 1 ->
    Limits#{result := beamai_display:limit(Limit)};
limits(Limits) when Limits =:= #{} ->
    Limits;
limits(Other) ->
    bad_option(limits, ["must be ", beamai_syntax:either("#{result => Characters}", "%{result: characters}"), ", not ", show(Other)]).

sandbox(mode, Mode) when Mode =:= required; Mode =:= best_effort; Mode =:= off -> Mode;
sandbox(tier, Tier) when Tier =:= full; Tier =:= landlock -> Tier;
sandbox(without, Layers) when is_list(Layers) -> [sandbox_layer(Layer) || Layer <- Layers];
sandbox(report, Report) when Report =:= when_off; Report =:= always -> Report;
sandbox(Key, On) when (Key =:= network orelse Key =:= unix_sockets), is_boolean(On) -> On;
sandbox(Key, Texts) when
    (Key =:= network orelse Key =:= readable orelse Key =:= writable orelse Key =:= env), is_list(Texts)
->
    [sandbox_text(Key, Text) || Text <- Texts];
sandbox(credentials, Origins) when is_map(Origins) ->
    maps:from_list([{sandbox_text(credentials, Origin), added(Origin, Headers)} || {Origin, Headers} <- maps:to_list(Origins)]);
sandbox(credentials, _Secret) ->
    bad_credentials("must be a map");
sandbox(Key, Number) when
    (Key =:= memory orelse Key =:= processes orelse Key =:= cpu orelse Key =:= file_size),
    is_integer(Number),
    Number > 0
->
    Number;
sandbox(Key, Other) ->
    bad_option(sandbox, case lists:member(Key, ?SANDBOX_KEYS) of
        true -> [atom_to_binary(Key), " must be ", sandbox_values(Key), ", not ", show(Other)];
        false -> [show(Key), " is not an option", beamai_validate:unknown_key(Key, ?SANDBOX_KEYS)]
    end).

sandbox_values(mode) -> beamai_syntax:atoms(?MODES);
sandbox_values(tier) -> beamai_syntax:atoms([full, landlock]);
sandbox_values(without) -> ["a list of ", beamai_syntax:atoms(?DISPENSABLE)];
sandbox_values(report) -> beamai_syntax:atoms([when_off, always]);
sandbox_values(network) -> "true, false or a list of names";
sandbox_values(unix_sockets) -> "true or false";
sandbox_values(Key) when Key =:= readable; Key =:= writable -> "a list of paths";
sandbox_values(env) -> "a list of names of variables";
sandbox_values(_Number) -> "an integer above 0".

sandbox_layer(Layer) ->
    case lists:member(Layer, ?DISPENSABLE) of
        true ->
            Layer;
        false ->
            bad_option(sandbox, ["without must be ", sandbox_values(without), ", and has ", show(Layer)])
    end.

added(_Origin, Headers) when is_map(Headers), map_size(Headers) > 0 ->
    maps:from_list([added_header(Name, Value) || {Name, Value} <- maps:to_list(Headers)]);
added(Origin, _Secret) ->
    bad_credentials([show(Origin), " must have a map of headers"]).

%% The raised error does not contain the value.
added_header(Name, Value) ->
    case beamai_secret:new_value(Value) of
        {ok, Secret} when is_atom(Name) -> {atom_to_binary(Name), Secret};
        {ok, Secret} -> {sandbox_text(credentials, Name), Secret};
        error -> bad_credentials(["the value of ", show(Name), " must be printable ASCII, or a function of no argument that gives it"])
    end.

-spec bad_credentials(iodata()) -> no_return().
bad_credentials(What) ->
    bad_option(sandbox, ["credentials: ", What, "; write ", beamai_syntax:either(
        "#{<<\"example.com\">> => #{<<\"authorization\">> => <<\"Bearer ...\">>}}",
        "%{\"example.com\" => %{\"authorization\" => \"Bearer ...\"}}"
    )]).

sandbox_text(_Key, Text) when is_binary(Text) -> Text;
sandbox_text(_Key, [_ | _] = Text) -> unicode:characters_to_binary(Text, unicode, file:native_name_encoding());
sandbox_text(Key, Other) -> bad_option(sandbox, [atom_to_binary(Key), " must be texts, not ", show(Other)]).

%% The raised error does not contain the value.
secret(Key) ->
    case beamai_secret:new(Key) of
        {ok, Secret} -> Secret;
        error -> bad_option(web, "the api_key of search must be printable ASCII without spaces, or a function of no argument that gives it")
    end.

directory(Path) ->
    case beamai_env:absolute(Path) of
        {ok, Absolute} -> Absolute;
        error -> bad_option(skills, ["must be ", beamai_syntax:either("#{paths => [Directory]}", "%{paths: [directory]}"), ", and ", show(Path), " is no path"])
    end.

permissions({ok, Policy}) -> Policy;
permissions({error, Message}) -> bad_option(permissions, Message).

show(Term) ->
    beamai_validate:show(Term).
