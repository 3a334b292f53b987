%% A real HTTP proxy on 127.0.0.1: tunnels for CONNECT, requests with whole addresses passed on. Its owner gets
%% `{proxied, Target, Authorization}' for each.
-module(http_proxy).

-export([start/1, stop/1]).

%% `Auth' is `none', or `{User, Password}' that it asks for.
start(Auth) ->
    Owner = self(),
    Pid = spawn_link(fun() ->
        {ok, Listening} = gen_tcp:listen(0, [binary, {active, false}, {reuseaddr, true}, {ip, {127, 0, 0, 1}}]),
        {ok, Port} = inet:port(Listening),
        Owner ! {self(), Port},
        accept(Listening, Owner, Auth)
    end),
    receive
        {Pid, Port} -> #{pid => Pid, port => Port}
    end.

stop(#{pid := Pid}) ->
    unlink(Pid),
    exit(Pid, kill).

accept(Listening, Owner, Auth) ->
    {ok, Socket} = gen_tcp:accept(Listening),
    Pid = spawn(fun() -> receive go -> serve(Socket, Owner, Auth) end end),
    ok = gen_tcp:controlling_process(Socket, Pid),
    Pid ! go,
    accept(Listening, Owner, Auth).

serve(Socket, Owner, Auth) ->
    {Head, Rest} = head(Socket, <<>>),
    [Line | Lines] = binary:split(Head, <<"\r\n">>, [global]),
    [Method, Target, Version] = binary:split(Line, <<" ">>, [global]),
    Given = hd([string:trim(Value) || L <- Lines, [Name, Value] <- [binary:split(L, <<":">>)], string:lowercase(Name) =:= <<"proxy-authorization">>] ++ [none]),
    Owner ! {proxied, Target, Given},
    case Auth of
        {User, Password} ->
            Wanted = <<"Basic ", (base64:encode(iolist_to_binary([User, ":", Password])))/binary>>,
            case Given of
                Wanted -> passed(Method, Target, Version, Lines, Rest, Socket);
                _ -> ok = gen_tcp:send(Socket, "HTTP/1.1 407 No\r\ncontent-length: 0\r\nproxy-authenticate: Basic\r\n\r\n")
            end;
        none ->
            passed(Method, Target, Version, Lines, Rest, Socket)
    end.

passed(<<"CONNECT">>, Target, _Version, _Lines, Rest, Socket) ->
    [_Host, Port] = binary:split(Target, <<":">>),
    {ok, Server} = gen_tcp:connect({127, 0, 0, 1}, binary_to_integer(Port), [binary, {active, false}]),
    ok = gen_tcp:send(Socket, "HTTP/1.1 200 OK\r\n\r\n"),
    both(Socket, Server, Rest);
passed(Method, Target, Version, Lines, Rest, Socket) ->
    #{port := Port, path := Path} = uri_string:parse(Target),
    {ok, Server} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}]),
    both(Socket, Server, [lists:join("\r\n", [[Method, " ", Path, " ", Version] | Lines]), "\r\n\r\n", Rest]).

both(Socket, Server, First) ->
    ok = gen_tcp:send(Server, First),
    Self = self(),
    spawn_link(fun() -> pump(Server, Socket), Self ! done end),
    spawn_link(fun() -> pump(Socket, Server), Self ! done end),
    %% Closing with unread bytes would take back what has been sent.
    [receive done -> ok after 2000 -> ok end || _ <- [one, other]].

pump(From, To) ->
    case gen_tcp:recv(From, 0) of
        {ok, Data} ->
            _ = gen_tcp:send(To, Data),
            pump(From, To);
        {error, _} ->
            _ = gen_tcp:shutdown(To, write)
    end.

head(Socket, Buffer) ->
    case binary:split(Buffer, <<"\r\n\r\n">>) of
        [Head, Rest] ->
            {Head, Rest};
        [_] ->
            {ok, More} = gen_tcp:recv(Socket, 0, 5000),
            head(Socket, <<Buffer/binary, More/binary>>)
    end.
