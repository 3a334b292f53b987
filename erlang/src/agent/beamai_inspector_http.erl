%% @doc Serves the inspector's page, and new calls.
%%
%% Every request must have the token, and this server's name in `Host', so that other web pages cannot read anything.
%% @hidden
-module(beamai_inspector_http).
-behaviour(httpd_custom_api).

-include_lib("inets/include/httpd.hrl").

-export([serve/1, close/1, do/1]).
-export([request_header/1, response_header/1, response_default_headers/0]).
-export_type([source/0]).

%% Maximum number of entries per response.
-define(MOST, 5000).
%% Maximum number of calls under way per response; the response has the number of all.
-define(MOST_RUNNING, 500).

%% Maximum length of a request's address in bytes.
-define(LONGEST_URI, 4096).

-type source() :: #{
    %% The server answers nothing without this process.
    owner := pid(),
    token := binary(), trace := pid(), title := binary(), conversation := fun(() -> beamai_conversation:t()) | none
}.

%% @doc Starts a server on this port of the loopback interface.
-spec serve({inet:port_number(), source()}) -> {ok, pid(), inet:port_number()} | {error, term()}.
serve({Port, Source}) ->
    Root = filename:dirname(code:which(?MODULE)),
    Options = [
        {port, Port}, {bind_address, {127, 0, 0, 1}}, {server_name, "beamai"}, {server_root, Root}, {document_root, Root},
        {modules, [?MODULE]},
        %% Before the token is known, nothing larger is kept.
        {max_uri_size, ?LONGEST_URI}, {max_body_size, 1}, {customize, ?MODULE}
    ],
    case inets:start(httpd, Options) of
        {ok, Server} ->
            [{port, Actual}] = httpd:info(Server, [port]),
            persistent_term:put({?MODULE, Actual}, Source),
            {ok, Server, Actual};
        {error, Reason} ->
            {error, reason(Reason)}
    end.

%% The server's supervisors put the reason into their own.
reason({{shutdown, _} = Reason, _Child}) -> reason(Reason);
reason({shutdown, {failed_to_start_child, _Child, Reason}}) -> reason(Reason);
reason({listen, Reason}) -> Reason;
reason(Reason) -> Reason.

%% @doc Removes the data of the server on this port.
-spec close(inet:port_number()) -> ok.
close(Port) ->
    _ = persistent_term:erase({?MODULE, Port}),
    ok.

%% @private Refuses bodies, before any of them is read: no request has one. The server reads a body in chunks as a whole,
%% whatever `max_body_size' is, if it is a single chunk. It answers an unknown encoding with 501, and a length above that
%% size with 413.
-spec request_header({string(), string()}) -> {true, {string(), string()}}.
request_header({"transfer-encoding", _}) -> {true, {"transfer-encoding", "refused"}};
request_header({"content-length", Length}) when Length =/= "0" -> {true, {"content-length", "2"}};
request_header(Header) -> {true, Header}.

%% @private
-spec response_header({string(), string()}) -> {true, {string(), string()}}.
response_header(Header) -> {true, Header}.

%% @private
-spec response_default_headers() -> [].
response_default_headers() -> [].

%% @private Handles a request of `httpd'. One with several `Host' headers is refused, whichever is this server's.
-spec do(#mod{}) -> {proceed, list()}.
do(#mod{method = "GET", request_uri = Uri, parsed_header = Headers, init_data = #init_data{sockname = {Port, _}}}) ->
    case {persistent_term:get({?MODULE, Port}, none), [Host || {"host", Host} <- Headers]} of
        {#{owner := Owner} = Source, [Host]} ->
            case is_own(Host, Port) andalso is_process_alive(Owner) of
                true -> asked(uri_string:parse(Uri), Source);
                false -> answer(403, "text/plain", <<"wrong host">>)
            end;
        _ ->
            answer(403, "text/plain", <<"wrong host">>)
    end;
do(_Other) ->
    answer(405, "text/plain", <<"only GET">>).

is_own(Host, Port) -> lists:member(Host, [Name ++ ":" ++ integer_to_list(Port) || Name <- ["127.0.0.1", "localhost"]]).

asked(#{path := Path} = Uri, #{token := Token} = Source) ->
    Query = maps:from_list([Pair || {_, Value} = Pair <- uri_string:dissect_query(maps:get(query, Uri, "")), is_list(Value)]),
    case is_same(list_to_binary(maps:get("token", Query, "")), Token) of
        true -> found(Path, Query, Source);
        false -> answer(403, "text/plain", <<"the token is missing or wrong: open the address that beamai_inspector:url/1 gives">>)
    end;
asked(_Uri, _Source) ->
    answer(400, "text/plain", <<"bad address">>).

%% Constant-time comparison.
is_same(One, Other) -> crypto:hash(sha256, One) =:= crypto:hash(sha256, Other).

found("/", _Query, Source) ->
    answer(200, "text/html; charset=utf-8", page(true, [], Source));
found("/export", _Query, #{trace := Trace} = Source) ->
    answer(200, "text/html; charset=utf-8", page(false, exported(Trace), Source));
found("/calls", Query, #{trace := Trace} = Source) ->
    case string:to_integer(maps:get("after", Query, "0")) of
        {After, ""} when After >= 0 ->
            %% In this order, so that a call that ends meanwhile is in one of them.
            Running = beamai_trace:running(Trace),
            answer(200, "application/json", calls(beamai_trace:entries_after(Trace, After, ?MOST), Running, After, Source));
        _ -> answer(400, "text/plain", <<"after is the number of a call">>)
    end;
found(_Path, _Query, _Source) ->
    answer(404, "text/plain", <<"there is nothing here">>).

exported(Trace) ->
    Running = beamai_trace:running(Trace),
    beamai_trace:entries(Trace) ++ Running.

page(Live, Entries, #{title := Title} = Source) ->
    beamai_inspector_page:of_contents(#{title => Title, calls => Entries, conversation => conversation(Source), live => Live}).

conversation(#{conversation := none}) -> none;
conversation(#{conversation := Fun}) -> Fun().

calls(Entries, Running, After, Source) ->
    Last = lists:max([After | [Number || #{number := Number} <- Entries]]),
    Messages = [[",\"messages\":", beamai_inspector_page:messages(conversation(Source))] || maps:get(conversation, Source) =/= none],
    [
        "{\"last\":", integer_to_list(Last), ",\"rest\":", atom_to_list(length(Entries) =:= ?MOST), Messages,
        ",\"under_way\":", integer_to_list(length(Running)), ",\"running\":", json(lists:sublist(Running, ?MOST_RUNNING)), ",\"calls\":", json(Entries), "}"
    ].

json(Calls) -> ["[", lists:join(",", [beamai_trace:json(Call) || Call <- Calls]), "]"].

answer(Code, Type, Body) ->
    Bytes = iolist_to_binary(Body),
    Head = [
        {code, Code}, {content_type, Type}, {content_length, integer_to_list(byte_size(Bytes))}, {cache_control, "no-store"},
        {"x-content-type-options", "nosniff"}, {"x-frame-options", "DENY"}
    ],
    {proceed, [{response, {response, Head, binary_to_list(Bytes)}}]}.
