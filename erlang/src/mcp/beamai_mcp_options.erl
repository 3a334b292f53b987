%% @doc Validates the options of an MCP server, and keeps its headers secret, and its address where that has a query.
%% @hidden
-module(beamai_mcp_options).

-export([checked/1, revealed/1]).

%% Maximum length of a server's name: tool names, which contain it, have at most 64 bytes.
-define(LONGEST_NAME, 32).
%% Options of local programs, and of remote servers.
-define(PROGRAM, [command, args, env, cwd, sandbox]).
-define(ADDRESS, [url, headers, allow_addresses, insecure]).
-define(KEYS, [name | ?PROGRAM] ++ ?ADDRESS ++ [
    workspace, timeout, retry, filters, start_timeout, idle_timeout, trust_annotations, kernel
]).
-define(DEFAULTS, #{start_timeout => 60000, idle_timeout => 3600000, trust_annotations => false}).

%% @doc The server's settings, with the current values of its headers, and its address.
-spec revealed(map()) -> {ok, map()} | {error, beamai_error:t()}.
revealed(#{way := #{http := #{url := Url} = Address}} = Server) when is_function(Url) ->
    revealed(Server#{way := #{http => Address#{url := Url()}}});
revealed(#{name := Name, way := #{http := #{headers := Headers} = Address}} = Server) ->
    Values = maps:map(fun(_Header, Secret) -> beamai_secret:reveal_value(Secret) end, Headers),
    case [Header || {Header, error} <- maps:to_list(Values)] of
        [] ->
            Given = maps:map(fun(_Header, {ok, Value}) -> Value end, Values),
            {ok, Server#{way := #{http => Address#{headers := Given}}}};
        [Header | _] ->
            Message = ["the fun for the header ", Header, " of the MCP server ", Name, " gives no printable ASCII"],
            {error, beamai_error:new(<<"mcp__", Name/binary>>, execution_failed, not_configured, Message)}
    end;
revealed(Server) ->
    {ok, Server}.

%% @doc Validates and completes the options: `way' is the transport, `native' are the settings under which calls of its
%% tools run. Raises `{bad_option, Key}'.
-spec checked(beamai_mcp:options()) -> map().
checked(#{name := _, command := _, url := _}) ->
    beamai_validate:bad_option(url, "cannot be given with command: a server is started here, or it is somewhere");
checked(#{name := _, command := _} = Options) ->
    settled(way(stdio, ?PROGRAM, ?ADDRESS, "is for servers that have a url", Options));
checked(#{name := _, url := _} = Options) ->
    settled(way(http, ?ADDRESS, ?PROGRAM, "is for servers that are started, by command", Options));
checked(#{name := _}) ->
    beamai_validate:bad_option(command, "is missing: the program of the server, or url, its address");
checked(#{}) ->
    beamai_validate:bad_option(name, "is missing: the host's name for the server");
checked(Other) ->
    beamai_validate:options(Other).

%% Collects the options of one transport; options of the other one are errors.
way(Way, Own, Other, Why, Options) ->
    Given = maps:from_list([{Key, option(Key, V)} || {Key, V} <- maps:to_list(Options)]),
    case [Key || Key <- Other, is_map_key(Key, Given)] of
        [] -> ok;
        [Key | _] -> beamai_validate:bad_option(Key, Why)
    end,
    Checked = maps:merge(?DEFAULTS, maps:without(Own, Given)),
    without_limit(Checked#{way => #{Way => maps:with(Own, Given)}}).

without_limit(#{idle_timeout := infinity} = Checked) -> maps:remove(idle_timeout, Checked);
without_limit(Checked) -> Checked.

settled(#{kernel := _, workspace := _}) ->
    beamai_validate:bad_option(workspace, "is that of the kernel, where a kernel is given");
settled(#{way := Way} = Checked) ->
    Sandbox = maps:with([sandbox], maps:get(stdio, Way, #{})),
    #{env := Own} = Settings = beamai_options:kernel(maps:merge(workspace(Checked), Sandbox)),
    #{env := Env} = maps:get(kernel, Checked, #{env => Own}),
    Checked#{native => Env, way => confined(Way, Settings)}.

workspace(#{kernel := #{workspace := #{<<"path">> := Path}}}) -> #{workspace => Path};
workspace(Checked) -> maps:with([workspace], Checked).

%% The sandbox has the same form as a kernel's.
confined(#{stdio := #{sandbox := _} = Program}, #{sandbox := Sandbox}) ->
    #{stdio => Program#{sandbox := Sandbox}};
confined(Way, _Settings) ->
    Way.

option(name, Name) -> name(text(name, Name));
option(command, Command) -> filled(command, text(command, Command));
option(args, Args) when is_list(Args) -> [text(args, Arg) || Arg <- Args];
option(env, Env) when is_map(Env) ->
    maps:from_list([{variable(Key), text(env, Value)} || {Key, Value} <- maps:to_list(Env)]);
option(url, Url) -> address(filled(url, text(url, Url)));
option(headers, Headers) when is_map(Headers) ->
    maps:from_list([header(text(headers, Key), Value) || {Key, Value} <- maps:to_list(Headers)]);
option(allow_addresses, All) when is_list(All) -> [text(allow_addresses, One) || One <- All];
option(insecure, Insecure) when is_boolean(Insecure) -> Insecure;
option(cwd, Path) -> filled(cwd, text(cwd, Path));
option(sandbox, #{credentials := _}) ->
    beamai_validate:bad_option(sandbox, "has credentials, which are added to requests of commands only; for a server, give env");
option(sandbox, Sandbox) -> Sandbox;
option(workspace, Path) -> Path;
option(retry, Retry) -> Retry;
option(filters, Filters) -> Filters;
option(timeout, Timeout) -> limit(timeout, Timeout);
option(idle_timeout, Timeout) -> limit(idle_timeout, Timeout);
option(start_timeout, Ms) when is_integer(Ms) -> limit(start_timeout, Ms);
option(trust_annotations, Trusts) when is_boolean(Trusts) -> Trusts;
option(kernel, #{env := _, tools := _} = Kernel) -> Kernel;
option(headers, Other) ->
    not_text(headers, Other);
option(Key, Value) ->
    case lists:member(Key, ?KEYS) of
        true -> beamai_validate:bad_option(Key, ["cannot be ", show(Value)]);
        false -> beamai_validate:unknown_option(Key, ?KEYS)
    end.

name(Name) ->
    Good =
        byte_size(Name) =< ?LONGEST_NAME andalso
            match =:= re:run(Name, "^[a-zA-Z0-9-]+(_[a-zA-Z0-9-]+)*$", [{capture, none}, dollar_endonly]),
    case Good of
        true ->
            Name;
        false ->
            beamai_validate:bad_option(name, [
                "must be up to 32 letters, digits, - and single _ between them, since the names of the tools ",
                "begin with it, not ", show(Name)
            ])
    end.

%% A query may have a key in it.
address(Url) ->
    case binary:match(Url, <<"?">>) of
        nomatch -> Url;
        _ -> fun() -> Url end
    end.

%% The raised error does not contain the value, which may be secret.
header(Name, Value) ->
    case beamai_secret:new_value(Value) of
        {ok, Secret} ->
            {Name, Secret};
        error ->
            beamai_validate:bad_option(headers, [
                show(Name), " must be printable ASCII, or a function of no argument that gives it"
            ])
    end.

variable(Key) ->
    Name = text(env, Key),
    case Name =:= <<>> orelse binary:match(Name, [<<"=">>, <<0>>]) =/= nomatch of
        true -> beamai_validate:bad_option(env, [show(Name), " is not the name of a variable"]);
        false -> Name
    end.

filled(Key, <<>>) -> beamai_validate:bad_option(Key, "must not be empty");
filled(_Key, Text) -> Text.

limit(_Key, infinity) -> infinity;
limit(_Key, Ms) when is_integer(Ms), Ms > 0, Ms =< 16#7FFFFFFF -> Ms;
limit(Key, Other) ->
    beamai_validate:bad_option(Key, ["must be 1 to 2147483647 milliseconds or ", beamai_syntax:atom(infinity), ", not ", show(Other)]).

text(Key, Text) when is_atom(Text), Key =:= env; is_atom(Text), Key =:= headers ->
    atom_to_binary(Text);
text(Key, Text) when is_binary(Text); is_list(Text) ->
    try unicode:characters_to_binary(Text) of
        Binary when is_binary(Binary) -> without_nul(Key, Binary);
        _ -> not_text(Key, Text)
    catch
        error:badarg -> not_text(Key, Text)
    end;
text(Key, Other) ->
    not_text(Key, Other).

without_nul(Key, Text) ->
    case binary:match(Text, <<0>>) of
        nomatch -> Text;
        _ -> not_text(Key, Text)
    end.

%% Values of variables, headers and URLs may contain secrets.
-spec not_text(atom(), term()) -> no_return().
not_text(env, _Secret) -> beamai_validate:bad_option(env, "must be a map of names to texts");
not_text(headers, _Secret) -> beamai_validate:bad_option(headers, "must be a map of names to texts, or to functions that give them");
not_text(url, _Secret) -> beamai_validate:bad_option(url, "must be text");
not_text(Key, Other) -> beamai_validate:bad_option(Key, ["must be text, not ", show(Other)]).

show(Term) ->
    beamai_validate:show(Term).
