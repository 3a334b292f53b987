%% @doc Options of models with an HTTP API.
%% @hidden
-module(beamai_chat_options).

-export([http/2, headers/1]).
-export_type([http/0, checked/0]).

-import(beamai_validate, [bad_option/2]).

-define(KEYS, [
    model, api_key, base_url, max_tokens, temperature, stream, strict, images, cache, params, headers, connect_timeout, idle_timeout,
    timeout, max_retries, retry_delay, max_retry_delay, reuse, proxy, cacertfile
]).

-type http() :: #{
    model := binary(),
    api_key => binary() | string() | fun(() -> binary()),
    %% The common prefix of the provider's URLs.
    base_url => binary() | string(),
    %% Maximum number of tokens in an answer.
    max_tokens => pos_integer(),
    temperature => number(),
    %% Whether answers are streamed; true by default.
    stream => boolean(),
    %% Whether the provider enforces the tools' schemas; false by default.
    strict => boolean(),
    %% Whether the model accepts images in results; true by default.
    images => boolean(),
    %% Whether Anthropic caches the beginning of the conversation; by default `auto': for requests with tools. Other
    %% providers cache automatically.
    cache => auto | boolean(),
    %% Further keys of the request body.
    params => #{binary() => term()},
    %% Further headers. Their values are treated as secrets.
    headers => [{binary() | string(), binary() | string() | fun(() -> binary())}],
    %% Timeouts in milliseconds: to connect (default 10000), without receiving data (120000), for the whole answer
    %% (600000).
    connect_timeout => pos_integer(),
    idle_timeout => pos_integer(),
    timeout => timeout(),
    %% Number of retries after the first attempt; 4 by default.
    max_retries => non_neg_integer(),
    %% Delay before the first retry in milliseconds (default 500), doubled for each further one, and its maximum
    %% (60000).
    retry_delay => non_neg_integer(),
    max_retry_delay => non_neg_integer(),
    %% Whether connections are reused for later requests; true by default.
    reuse => boolean(),
    %% `http://[User:Password@]Host:Port', or `system' for the environment variables (`https_proxy', `no_proxy'); none
    %% by default.
    proxy => binary() | string() | system,
    %% PEM file of trusted certificates, in place of the system's.
    cacertfile => file:filename_all()
}.
-type checked() :: #{atom() => term()}.

%% @doc Validates the options and adds defaults. Raises `{bad_option, Key}'.
-spec http(http(), Defaults :: #{base_url := binary(), max_tokens => pos_integer(), cache => auto}) -> checked().
http(Options, Defaults) ->
    Given = maps:from_list([{Key, option(Key, Value)} || {Key, Value} <- maps:to_list(Options)]),
    is_map_key(model, Given) orelse bad_option(model, "is missing: the name of the model, as the server knows it"),
    proxied(maps:merge(maps:merge(defaults(), Defaults), Given)).

%% The proxy depends on the server's URL.
proxied(#{proxy := {given, Proxy}, base_url := Url} = Options) ->
    case beamai_proxy:new(Proxy, Url) of
        {ok, Checked} -> Options#{proxy := Checked};
        error -> bad_option(proxy, ["must be ", beamai_syntax:atom(system), ", or a URL of the form http://Host:Port, with User:Password@ before the host where it asks for them"])
    end;
proxied(Options) ->
    Options.

defaults() ->
    #{
        stream => true, strict => false, images => true, params => #{}, headers => [], connect_timeout => 10000,
        idle_timeout => 120000, timeout => 600000, max_retries => 4, retry_delay => 500,
        max_retry_delay => 60000, reuse => true
    }.

option(model, Model) when is_binary(Model), Model =/= <<>> -> Model;
option(model, Other) -> bad_option(model, ["must be a ", beamai_syntax:text(), ", not ", show(Other)]);
option(api_key, Key) ->
    case beamai_secret:new(Key) of
        {ok, Secret} -> Secret;
        error -> bad_option(api_key, "must be printable text without spaces, or a function of no arguments that returns it")
    end;
option(base_url, Url) -> base_url(Url);
option(stream, Flag) when is_boolean(Flag) -> Flag;
option(strict, Flag) when is_boolean(Flag) -> Flag;
option(reuse, Flag) when is_boolean(Flag) -> Flag;
option(proxy, Proxy) -> {given, Proxy};
option(images, Flag) when is_boolean(Flag) -> Flag;
option(cache, Cache) when is_boolean(Cache); Cache =:= auto -> Cache;
option(params, Params) when is_map(Params) -> Params;
option(headers, Headers) when is_list(Headers) -> [header(Header) || Header <- Headers];
option(headers, _Secret) -> bad_option(headers, "must be a list of pairs of a name and a value");
option(cacertfile, File) when is_binary(File); is_list(File) ->
    filelib:is_regular(File) orelse bad_option(cacertfile, ["there is no file ", show(File)]),
    File;
option(temperature, Number) when is_number(Number) -> Number;
option(timeout, infinity) -> infinity;
option(Key, Number) when Key =:= max_retries; Key =:= retry_delay; Key =:= max_retry_delay ->
    number(Key, Number, 0);
option(Key, Number) when
    Key =:= max_tokens; Key =:= connect_timeout; Key =:= idle_timeout; Key =:= timeout
->
    number(Key, Number, 1);
option(Key, Value) ->
    case lists:member(Key, ?KEYS) of
        true -> bad_option(Key, ["must be ", wanted(Key), ", not ", show(Value)]);
        false -> beamai_validate:unknown_option(Key, ?KEYS)
    end.

wanted(cache) -> ["true, false or ", beamai_syntax:atom(auto)];
wanted(params) -> "a map";
wanted(cacertfile) -> "a path";
wanted(temperature) -> "a number";
wanted(_Flag) -> "true or false".

number(_Key, Number, Least) when is_integer(Number), Number >= Least -> Number;
number(Key, Other, Least) ->
    bad_option(Key, ["must be an integer of at least ", integer_to_list(Least), ", not ", show(Other)]).

base_url(Url) ->
    Text = try unicode:characters_to_binary(Url) catch error:badarg -> <<>> end,
    case uri_string:parse(Text) of
        #{scheme := Scheme, host := Host} = Parts when
            Host =/= <<>>, Scheme =:= <<"https">> orelse Scheme =:= <<"http">>
        ->
            is_map_key(userinfo, Parts) andalso bad_option(base_url, "must not hold a user or password"),
            string:trim(Text, trailing, "/");
        _ ->
            bad_option(base_url, "must be a URL that begins with https:// or http://")
    end.

%% Values may be secrets, so they are not shown.
header({Name, Value}) ->
    try
        Lower = string:lowercase(to_list(Name)),
        true = is_name(Lower),
        {Lower, secret(Value)}
    catch
        error:_ -> bad_option(headers, "must be pairs of a name and a value without line breaks")
    end;
header(_Other) ->
    bad_option(headers, "must be pairs of a name and a value").

to_list(Text) when is_binary(Text) -> binary_to_list(Text);
to_list(Text) when is_list(Text) -> binary_to_list(list_to_binary(Text)).

is_name(Name) ->
    Name =/= "" andalso lists:all(fun(C) -> C > 32 andalso C < 127 andalso C =/= $: end, Name).

secret(Fun) when is_function(Fun, 0) ->
    Fun;
secret(Value) ->
    Text = to_list(Value),
    true = is_value(Text),
    fun() -> list_to_binary(Text) end.

%% @doc The headers to send; `error' if a function of the host returns an invalid value.
-spec headers(checked()) -> {ok, [{string(), string()}]} | error.
headers(#{headers := Headers}) ->
    try
        {ok, [{Name, revealed(Secret())} || {Name, Secret} <- Headers]}
    catch
        _:_ -> error
    end.

revealed(Value) ->
    Text = to_list(Value),
    true = is_value(Text),
    Text.

is_value(Text) ->
    lists:all(fun(C) -> C >= 32 andalso C =/= 127 end, Text).

show(Term) ->
    beamai_validate:show(Term).
