%% @doc The settings of a kernel for the native side: workspace, policy and sandbox mode.
%%
%% They are encoded once, when the kernel is created; the same binary is sent with every call, and the native side
%% caches the parsed form by content. If a kernel is sent to another node, or the native side is restarted, they are
%% parsed again on first use.
%% @hidden
-module(beamai_env).

-export([new/1, parts/0, absolute/1, judge/3, in_workspace/2, of_call/2, to_judge/2, with_rules/3]).
-export([workspace/1, default_workspace/0]).
-export_type([t/0, workspace/0]).

-type t() :: binary().
-type workspace() :: #{binary() => binary() | integer()}.

%% @doc The keys of a kernel that the native side needs.
-spec parts() -> [atom()].
parts() ->
    [workspace, permissions, sandbox, skills, web, lsp].

%% @doc Encodes the settings; the native side checks and prepares them.
-spec new(#{
    workspace := workspace(),
    permissions := beamai_permission:normalised(),
    sandbox => beamai_options:sandbox(),
    skills => #{paths := [binary()]},
    web => map(),
    lsp => map()
}) -> {ok, t()} | {error, beamai_error:t()}.
new(Parts) ->
    Env = encode(Parts),
    case pin(Env) of
        ok -> {ok, Env};
        {error, Error} -> {error, Error}
    end.

encode(Parts) ->
    term_to_binary(maps:map(fun part/2, maps:with(parts(), Parts))).

%% Keys and credentials are left out, since settings are printed, cached and compared; they are sent with the calls that
%% need them.
part(web, #{search := #{api_key := _} = Search} = Web) ->
    Web#{search := (maps:remove(api_key, Search))#{has_key => true}};
part(sandbox, #{credentials := Origins} = Sandbox) ->
    Sandbox#{credentials := maps:map(fun(_Origin, Headers) -> maps:map(fun(_Name, _Secret) -> true end, Headers) end, Origins)};
part(_Key, Part) ->
    Part.

pin(Env) ->
    case beamai_nif:pin(Env) of
        ok ->
            ok;
        Reply ->
            {error, Error} = binary_to_term(Reply, [safe]),
            {error, beamai_error:from_native(Error)}
    end.

%% @doc Identifies a directory by path, device and inode, so that a replaced directory is noticed.
-spec workspace(file:filename_all()) -> {ok, workspace()} | {error, beamai_error:t()}.
workspace(Path) ->
    case absolute(Path) of
        {ok, Absolute} -> opened(binary_to_term(beamai_nif:workspace(Absolute), [safe]));
        error -> {error, no_path(Path)}
    end.

%% @doc The current directory. `/' and the home directory must be named explicitly: otherwise a release that was started
%% there would give tools access to the whole disk, or to all files of its user.
-spec default_workspace() -> {ok, workspace()} | {error, beamai_error:t()}.
default_workspace() ->
    {ok, Path} = absolute("."),
    case binary_to_term(beamai_nif:too_wide(Path), [safe]) of
        {ok, null} -> workspace(Path);
        {ok, What} -> {error, unnamed(What)};
        Failed -> opened(Failed)
    end.

unnamed(What) ->
    Message = [
        "the current directory is ", What, ", which is a workspace only where it is named: pass ",
        beamai_syntax:either("workspace => Directory", "workspace: directory"), " with the directory that the tools may work in"
    ],
    beamai_error:new(<<>>, invalid_input, invalid_argument, Message).

opened({ok, Workspace}) -> {ok, Workspace};
opened({error, Error}) -> {error, beamai_error:from_native(Error)}.

no_path(Path) ->
    Message = ["the workspace must be the path of a directory, not ", beamai_error:show(Path, 80)],
    beamai_error:new(<<>>, invalid_input, invalid_argument, Message).

%% @doc An absolute path, in the encoding of the file system. An empty path is an error: it would silently mean the
%% current directory.
-spec absolute(file:filename_all()) -> {ok, binary()} | error.
absolute(Path) ->
    try
        from_root(filename:flatten(Path))
    catch
        error:_ -> error
    end.

from_root(Empty) when Empty =:= <<>>; Empty =:= [] -> error;
from_root(Path) -> encoded(filename:absname(Path)).

%% Fails for characters that cannot be represented if file names have a single-byte encoding.
encoded(Path) when is_binary(Path) -> {ok, Path};
encoded(Path) ->
    case unicode:characters_to_binary(Path, unicode, file:native_name_encoding()) of
        Encoded when is_binary(Encoded) -> {ok, Encoded};
        _ -> error
    end.

%% @doc The kernel's environment, in the workspace that the context names, if it names one.
-spec in_workspace(beamai_kernel:kernel(), beamai_context:t()) ->
    {ok, t()} | {error, beamai_error:t()}.
in_workspace(Kernel, #{workspace := Path} = Context) when Path =/= undefined ->
    case placed(Kernel, Context) of
        {ok, Parts} -> new(Parts);
        {error, _} = Error -> Error
    end;
in_workspace(#{env := Env}, _Context) ->
    {ok, Env}.

placed(Kernel, #{workspace := Path}) when Path =/= undefined ->
    case workspace(Path) of
        {ok, Workspace} -> {ok, (maps:with(parts(), Kernel))#{workspace => Workspace}};
        {error, _} = Error -> Error
    end;
placed(Kernel, _Context) ->
    {ok, maps:with(parts(), Kernel)}.

%% @doc As {@link in_workspace/2}, with the rules that approvals added to the context's session.
-spec of_call(beamai_kernel:kernel(), beamai_context:t()) -> {ok, t()} | {error, beamai_error:t()}.
of_call(Kernel, Context) ->
    case in_workspace(Kernel, Context) of
        {ok, Env} ->
            case beamai_session:rules(Context, Env) of
                [] -> {ok, Env};
                Rules -> with_rules(Rules, Kernel, Context)
            end;
        {error, _} = Error ->
            Error
    end.

%% @doc As {@link of_call/2}, for checking the name of an Erlang tool, for which the workspace does not matter.
-spec to_judge(beamai_kernel:kernel(), beamai_context:t()) -> {ok, t()} | {error, beamai_error:t()}.
to_judge(#{env := Env} = Kernel, Context) ->
    case beamai_session:has_rules(Context) of
        true -> of_call(Kernel, Context);
        false -> {ok, Env}
    end.

%% @doc The environment of a call with these additional rules. The error for a malformed rule is a sentence.
-spec with_rules([beamai_permission:normalised_rule()], beamai_kernel:kernel(), beamai_context:t()) ->
    {ok, t()} | {error, beamai_error:t()}.
with_rules(Rules, Kernel, Context) ->
    case placed(Kernel, Context) of
        {ok, #{permissions := Policy} = Parts} ->
            new(Parts#{permissions := Policy#{allow => maps:get(allow, Policy, []) ++ Rules}});
        {error, _} = Error ->
            Error
    end.

%% @doc Checks by rules alone whether an Erlang tool may run. Takes about a microsecond.
-spec judge(t(), Tool :: binary(), RequiresPermission :: boolean()) ->
    allow | {ask, beamai_approval:request()} | {error, beamai_error:t()}.
judge(Env, Tool, RequiresPermission) ->
    case beamai_nif:judge(Env, Tool, RequiresPermission) of
        allow ->
            allow;
        unknown ->
            case pin(Env) of
                ok -> judge(Env, Tool, RequiresPermission);
                {error, _} = Error -> Error
            end;
        Reply ->
            verdict(binary_to_term(Reply, [safe]))
    end.

verdict({ask, Request}) -> {ask, Request};
verdict({error, Error}) -> {error, beamai_error:from_native(Error)}.
