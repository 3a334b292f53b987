%% @doc The HTTP proxy of a chat model: a URL, or the environment's setting.
%% @hidden
-module(beamai_proxy).

-export([new/2]).
-export_type([proxy/0]).

%% User and password are kept in a fun, like keys.
-type proxy() :: #{address := {Host :: string(), Port :: pos_integer()}, auth => fun(() -> {User :: string(), Password :: string()})}.

%% @doc Parses a proxy `http://[User:Password@]Host:Port' for a server at `Url'. With `system', the environment
%% variables `https_proxy' or `http_proxy' and `no_proxy' are used, in lower or upper case; `none' if they name no
%% proxy.
-spec new(binary() | string() | system, Url :: binary()) -> {ok, proxy() | none} | error.
new(system, Url) ->
    #{scheme := Scheme, host := Host} = uri_string:parse(Url),
    case {variable(binary_to_list(Scheme) ++ "_proxy"), is_exempt(Host, variable("no_proxy"))} of
        {Proxy, false} when Proxy =/= "" -> new(Proxy, Url);
        _ -> {ok, none}
    end;
new(Proxy, _Url) when is_binary(Proxy); is_list(Proxy) ->
    try uri_string:parse(Proxy) of
        #{scheme := Scheme, host := Host, port := Port} = Parts when is_integer(Port), Port > 0 ->
            plain(text(Scheme), text(Host), Port, text(maps:get(userinfo, Parts, "")));
        _ ->
            error
    catch
        error:_NoText -> error
    end;
new(_Other, _Url) ->
    error.

%% The client supports no TLS to proxies; requests to https servers are encrypted end to end.
plain("http", [_ | _] = Host, Port, "") ->
    {ok, #{address => {Host, Port}}};
plain("http", [_ | _] = Host, Port, Info) ->
    [User | Password] = string:split(Info, ":"),
    Auth = {decoded(User), decoded(lists:append(Password))},
    {ok, #{address => {Host, Port}, auth => fun() -> Auth end}};
plain(_Scheme, _Host, _Port, _Info) ->
    error.

decoded(Text) -> text(uri_string:percent_decode(Text)).

text(Text) -> unicode:characters_to_list(Text).

variable(Name) ->
    case os:getenv(Name, "") of
        "" -> os:getenv(string:uppercase(Name), "");
        Value -> Value
    end.

is_exempt(Host, List) ->
    Given = [string:trim(Part, both, " .") || Part <- string:split(List, ",", all)],
    lists:any(fun(Part) -> exempts(Part, unicode:characters_to_list(Host)) end, [Part || Part <- Given, Part =/= ""]).

exempts("*", _Host) -> true;
exempts(Part, Host) -> Part =:= Host orelse lists:suffix("." ++ Part, Host).
