%% @doc The web server of the examples: a page, a redirect to it, and the answer of a search engine.
-module(reference_web).

-export([start/0]).

%% @doc Starts the server, which ends with the calling process; answers its address as `IP:PORT'.
start() ->
    {ok, Socket} = gen_tcp:listen(0, [binary, {ip, {127, 0, 0, 1}}, {packet, http_bin}, {active, false}]),
    {ok, Port} = inet:port(Socket),
    _ = spawn_link(fun() -> serve(Socket) end),
    <<"127.0.0.1:", (integer_to_binary(Port))/binary>>.

serve(Listening) ->
    case gen_tcp:accept(Listening) of
        {ok, Socket} ->
            {ok, {http_request, _, {abs_path, Path}, _}} = gen_tcp:recv(Socket, 0, 5000),
            ok = skip_headers(Socket),
            ok = gen_tcp:send(Socket, answer(Path)),
            ok = gen_tcp:close(Socket),
            serve(Listening);
        {error, closed} ->
            ok
    end.

skip_headers(Socket) ->
    case gen_tcp:recv(Socket, 0, 5000) of
        {ok, http_eoh} -> ok;
        {ok, _} -> skip_headers(Socket)
    end.

answer(<<"/page">>) ->
    Html = <<"<html><head><title>Greeter</title></head><body><h1>Greeter</h1><p>It <b>greets</b> people.</p></body></html>">>,
    response("200 OK", "text/html; charset=utf-8", Html);
answer(<<"/old">>) ->
    ["HTTP/1.1 302 Found\r\nlocation: /page\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"];
answer(<<"/search", _/binary>>) ->
    Results = <<"{\"results\": [{\"title\": \"Greeter\", \"url\": \"https://example.org/greeter\", \"content\": \"It greets people.\"}]}">>,
    response("200 OK", "application/json", Results);
answer(_Path) ->
    response("404 Not Found", "text/plain", <<"There is no such page.\n">>).

response(Status, Type, Body) ->
    Length = integer_to_list(byte_size(Body)),
    ["HTTP/1.1 ", Status, "\r\ncontent-type: ", Type, "\r\ncontent-length: ", Length, "\r\nconnection: close\r\n\r\n", Body].
