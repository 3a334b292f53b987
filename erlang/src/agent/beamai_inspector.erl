%% @doc Shows calls on an HTML page: live from a server, or as a single file that needs no network.
%%
%% ```
%% {ok, Inspector} = beamai_inspector:start_link(#{trace => Trace}),
%% io:format("~ts~n", [beamai_inspector:url(Inspector)]),
%% ...
%% ok = beamai_inspector:write("run.html", #{calls => beamai_trace:entries(Trace), conversation => beamai_agent:conversation(Agent)}).
%% '''
%%
%% The page has a timeline with nesting and parallel calls, calls under way with their elapsed time, details of each call
%% (for a refusal, the deciding rule), filters by name, agent, kind and outcome, totals, and the conversation. Only visible
%% rows are drawn, so it can handle 100,000 calls. It supports dark mode and keyboard navigation: arrows, Page Up and Down, Home, End, Enter for details,
%% `/' for the filter, `t' for totals, `c' for the conversation, `+' and `-' to zoom, Escape to go back.
%%
%% The server is OTP's, on the loopback interface. Anybody with the URL from {@link url/1}, which contains a token, can
%% see everything in the trace.
-module(beamai_inspector).
-behaviour(gen_server).

-export([start_link/1, url/1, stop/1, page/1, write/2]).
-export([init/1, handle_call/3, handle_cast/2, terminate/2]).
-export_type([contents/0, options/0]).

-type options() :: #{
    trace := pid(),
    title => binary(),
    %% Called whenever the page asks for updates.
    conversation => fun(() -> beamai_conversation:t()),
    %% 0, the default, selects a free port.
    port => inet:port_number()
}.

-type contents() :: #{
    title => binary(),
    calls => [beamai_trace:entry() | beamai_trace:running()],
    conversation => beamai_conversation:t()
}.

%% @doc Serves the page on the loopback interface, until {@link stop/1} or the exit of the calling process. Raises
%% `{bad_option, Key}'; returns errors of the server, such as `eaddrinuse'.
-spec start_link(options()) -> {ok, pid()} | ignore | {error, term()}.
start_link(Options) ->
    ok = beamai_validate:options(Options),
    is_map_key(trace, Options) orelse beamai_validate:bad_option(trace, ["is missing: the process that ", beamai_syntax:function(beamai_trace, start_link, 1), " gave"]),
    maps:foreach(fun option/2, Options),
    gen_server:start_link(?MODULE, Options, []).

option(trace, Trace) when is_pid(Trace) -> ok;
option(title, Title) when is_binary(Title) -> ok;
option(conversation, Fun) when is_function(Fun, 0) -> ok;
option(port, Port) when is_integer(Port), Port >= 0, Port < 65536 -> ok;
option(Key, Value) ->
    Keys = [trace, title, conversation, port],
    case lists:member(Key, Keys) of
        true -> beamai_validate:bad_option(Key, ["must be ", wanted(Key), ", not ", beamai_validate:show(Value)]);
        false -> beamai_validate:unknown_option(Key, Keys)
    end.

wanted(trace) -> ["the process that ", beamai_syntax:function(beamai_trace, start_link, 1), " gave"];
wanted(title) -> ["a ", beamai_syntax:text()];
wanted(conversation) -> "a function of no arguments";
wanted(port) -> "an integer from 0 to 65535".

%% @doc The URL of the page, including the token.
-spec url(pid()) -> binary().
url(Inspector) ->
    gen_server:call(Inspector, url).

%% @doc Stops the server.
-spec stop(pid()) -> ok.
stop(Inspector) ->
    gen_server:stop(Inspector).

%% @private
-spec init(options()) -> {ok, map()} | {stop, term()}.
init(#{trace := Trace} = Options) ->
    process_flag(trap_exit, true),
    {ok, _} = application:ensure_all_started(inets),
    ok = beamai_trace:watch(Trace),
    Token = binary:encode_hex(crypto:strong_rand_bytes(16)),
    Source = #{
        owner => self(), token => Token, trace => Trace, title => maps:get(title, Options, <<"beamai">>), conversation => maps:get(conversation, Options, none)
    },
    case beamai_inspector_http:serve({maps:get(port, Options, 0), Source}) of
        {ok, Server, Port} ->
            Url = <<"http://127.0.0.1:", (integer_to_binary(Port))/binary, "/?token=", Token/binary>>,
            {ok, #{server => Server, port => Port, url => Url}};
        {error, Reason} ->
            {stop, Reason}
    end.

%% @private
-spec handle_call(url, {pid(), term()}, map()) -> {reply, binary(), map()}.
handle_call(url, _From, #{url := Url} = State) ->
    {reply, Url, State}.

%% @private
-spec handle_cast(term(), map()) -> {noreply, map()}.
handle_cast(_Request, State) ->
    {noreply, State}.

%% @private
-spec terminate(term(), map()) -> ok.
terminate(_Reason, #{server := Server, port := Port}) ->
    beamai_inspector_http:close(Port),
    _ = inets:stop(httpd, Server),
    ok.

%% @doc The page as HTML. Raises `{bad_option, Key}' for an unknown key.
-spec page(contents()) -> iolist().
page(Contents) ->
    [
        beamai_validate:bad_option(Key, "is not shown by the inspector; it takes title, calls and conversation")
     || Key <- maps:keys(maps:without([title, calls, conversation], Contents))
    ],
    beamai_inspector_page:of_contents(Contents).

%% @doc Writes the page to a file.
-spec write(file:name_all(), contents()) -> ok | {error, file:posix() | badarg | terminated | system_limit}.
write(File, Contents) ->
    file:write_file(File, page(Contents)).
