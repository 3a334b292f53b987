%% A real HTTP server on 127.0.0.1 that speaks the wire formats of OpenAI and Anthropic, whole and in pieces, and
%% can be slow, break off, refuse, or stop answering.
-module(chat_server).

-export([start/1, start/2, stop/1, url/1, requests/1, open/1, connections/1]).
-export([openai/1, openai_stream/1, anthropic/1, anthropic_stream/1, says/2]).

%% What a request is answered with: {Status, Headers, Body}; {stream, Pieces}, with the end of a chunked body;
%% {broken, Pieces}, without it; {endless, Piece}, until the client closes; {slow, Ms, Answer}; `close'; `silent'. Answers come from a list, one after the other,
%% or from a fun of the request. With the option `keep', a connection serves further requests after a whole answer.
start(Answers) ->
    start(Answers, #{}).

start(Answers, Options) ->
    Owner = self(),
    Pid = spawn_link(fun() -> listen(Owner, Answers, Options) end),
    receive
        {Pid, listening, Port} -> #{pid => Pid, port => Port, tls => is_map_key(tls, Options)}
    end.

stop(#{pid := Pid}) ->
    unlink(Pid),
    exit(Pid, kill),
    ok.

url(#{port := Port, tls := true}) -> iolist_to_binary(["https://localhost:", integer_to_list(Port)]);
url(#{port := Port}) -> iolist_to_binary(["http://127.0.0.1:", integer_to_list(Port)]).

%% The requests so far: #{path, headers, body}, the body decoded.
requests(#{pid := Pid}) ->
    call(Pid, requests).

%% How many connections are open.
open(#{pid := Pid}) ->
    call(Pid, open).

%% How many connections there have been.
connections(#{pid := Pid}) ->
    call(Pid, connections).

call(Pid, What) ->
    Pid ! {What, self()},
    receive
        {Pid, What, Answer} -> Answer
    end.

listen(Owner, Answers, Options) ->
    process_flag(trap_exit, true),
    Base = [binary, {active, false}, {reuseaddr, true}, {backlog, 128}, {ip, {127, 0, 0, 1}}],
    Self = self(),
    {Transport, Socket, Port} =
        case Options of
            #{tls := Tls} ->
                {ok, S} = ssl:listen(0, Base ++ Tls),
                {ok, {_, P}} = ssl:sockname(S),
                {ssl, S, P};
            #{} ->
                {ok, S} = gen_tcp:listen(0, Base),
                {ok, P} = inet:port(S),
                {gen_tcp, S, P}
        end,
    spawn_link(fun() -> accept(Self, {Transport, is_map_key(keep, Options)}, Socket) end),
    Owner ! {self(), listening, Port},
    loop(Answers, [], []).

loop(Answers, Requests, Open) ->
    receive
        {answer_to, From, Request} ->
            {Answer, Rest} = next(Answers, Request),
            From ! {answer, Answer},
            loop(Rest, [Request | Requests], Open);
        {connected, Pid} ->
            put(connections, 1 + connections()),
            loop(Answers, Requests, [Pid | Open]);
        {connections, From} ->
            From ! {self(), connections, connections()},
            loop(Answers, Requests, Open);
        {closed, Pid} ->
            loop(Answers, Requests, lists:delete(Pid, Open));
        {requests, From} ->
            From ! {self(), requests, lists:reverse(Requests)},
            loop(Answers, Requests, Open);
        {open, From} ->
            From ! {self(), open, length(Open)},
            loop(Answers, Requests, Open);
        {'EXIT', _, _} ->
            loop(Answers, Requests, Open)
    end.

connections() ->
    case get(connections) of
        undefined -> 0;
        Count -> Count
    end.

next(Fun, Request) when is_function(Fun) -> {Fun(Request), Fun};
next([Answer | Rest], Request) when is_function(Answer) -> {Answer(Request), Rest};
next([Answer | Rest], _Request) -> {Answer, Rest};
next([], _Request) -> {{500, [], <<"the test has no further answer">>}, []}.

accept(Server, {Transport, _} = How, Listening) ->
    case accepted(Transport, Listening) of
        {ok, Socket} -> hand_over(Server, How, Listening, Socket);
        {error, closed} -> ok
    end.

hand_over(Server, {Transport, _} = How, Listening, Socket) ->
    Pid = spawn(fun() -> receive go -> serve(Server, How, Socket) end end),
    Server ! {connected, Pid},
    ok = Transport:controlling_process(Socket, Pid),
    Pid ! go,
    accept(Server, How, Listening).

accepted(gen_tcp, Listening) -> gen_tcp:accept(Listening);
accepted(ssl, Listening) -> ssl:transport_accept(Listening).

serve(Server, {Transport, Keep}, Socket) ->
    try handshaken(Transport, Socket) of
        {ok, Ready} -> talk(Server, Transport, Ready, Keep);
        _ -> ok
    catch
        _:_ -> ok
    end,
    Server ! {closed, self()}.

handshaken(gen_tcp, Socket) -> {ok, Socket};
handshaken(ssl, Socket) -> ssl:handshake(Socket, 5000).

talk(Server, Transport, Socket, Keep) ->
    case read(Transport, Socket, <<>>) of
        {ok, Request} -> talk(Server, Transport, Socket, Keep, Request);
        closed -> ok
    end.

talk(Server, Transport, Socket, Keep, Request) ->
    Server ! {answer_to, self(), Request},
    receive
        {answer, Answer} -> answer(Transport, Socket, Answer)
    end,
    case Keep of
        true -> talk(Server, Transport, Socket, Keep);
        false -> Transport:close(Socket)
    end.

read(Transport, Socket, Buffer) ->
    case binary:split(Buffer, <<"\r\n\r\n">>) of
        [Head, Body] ->
            [Line | Lines] = binary:split(Head, <<"\r\n">>, [global]),
            [_Method, Path | _] = binary:split(Line, <<" ">>, [global]),
            Headers = maps:from_list([header(L) || L <- Lines]),
            Length = binary_to_integer(maps:get(<<"content-length">>, Headers, <<"0">>)),
            {ok, #{path => Path, headers => Headers, body => decoded(rest(Transport, Socket, Body, Length))}};
        [<<>>] ->
            case Transport:recv(Socket, 0, 5000) of
                {ok, First} -> read(Transport, Socket, First);
                {error, _} -> closed
            end;
        [_] ->
            {ok, More} = Transport:recv(Socket, 0, 5000),
            read(Transport, Socket, <<Buffer/binary, More/binary>>)
    end.

decoded(<<>>) ->
    none;
decoded(Text) ->
    {ok, Json} = beamai_json:decode(Text),
    Json.

header(Line) ->
    [Name, Value] = binary:split(Line, <<":">>),
    {string:lowercase(Name), string:trim(Value)}.

rest(_Transport, _Socket, Body, Length) when byte_size(Body) >= Length ->
    Body;
rest(Transport, Socket, Body, Length) ->
    {ok, More} = Transport:recv(Socket, 0, 5000),
    rest(Transport, Socket, <<Body/binary, More/binary>>, Length).

answer(_Transport, _Socket, close) ->
    ok;
answer(Transport, Socket, silent) ->
    {error, _} = Transport:recv(Socket, 0);
answer(Transport, Socket, {slow, Ms, Answer}) ->
    timer:sleep(Ms),
    answer(Transport, Socket, Answer);
answer(Transport, Socket, {hanging, Pieces}) ->
    pieces(Transport, Socket, Pieces),
    {error, _} = Transport:recv(Socket, 0);
answer(Transport, Socket, {broken, Pieces}) ->
    pieces(Transport, Socket, Pieces);
answer(Transport, Socket, {endless, Piece}) ->
    pieces(Transport, Socket, []),
    endless(Transport, Socket, [integer_to_list(iolist_size(Piece), 16), "\r\n", Piece, "\r\n"]);
answer(Transport, Socket, {stream, Pieces}) ->
    pieces(Transport, Socket, Pieces),
    ok = Transport:send(Socket, "0\r\n\r\n");
answer(Transport, Socket, {Status, Headers, Body}) ->
    Text = iolist_to_binary(Body),
    Lines = [[Name, ": ", Value, "\r\n"] || {Name, Value} <- Headers],
    ok = Transport:send(Socket, [
        "HTTP/1.1 ", integer_to_list(Status), " Said\r\n", Lines,
        "content-length: ", integer_to_list(byte_size(Text)), "\r\n\r\n", Text
    ]).

endless(Transport, Socket, Chunk) ->
    case Transport:send(Socket, Chunk) of
        ok -> endless(Transport, Socket, Chunk);
        {error, _} -> ok
    end.

pieces(Transport, Socket, Pieces) ->
    ok = Transport:send(Socket, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"),
    [
        ok = Transport:send(Socket, [integer_to_list(iolist_size(P), 16), "\r\n", P, "\r\n"])
     || P <- Pieces, iolist_size(P) > 0
    ].

%%% Turns, #{content, tool_calls => [{Name, Args}]} or a text, in the wire formats

says(openai, Turn) -> {200, [{"content-type", "application/json"}], openai(Turn)};
says(openai_stream, Turn) -> {stream, openai_stream(Turn)};
says(anthropic, Turn) -> {200, [{"content-type", "application/json"}], anthropic(Turn)};
says(anthropic_stream, Turn) -> {stream, anthropic_stream(Turn)}.

turn(Text) when is_binary(Text) -> turn(#{content => Text});
turn(Turn) -> {maps:get(content, Turn, <<>>), numbered(maps:get(tool_calls, Turn, []))}.

numbered(Calls) ->
    Ids = [iolist_to_binary(["id_", integer_to_list(erlang:unique_integer([positive]))]) || _ <- Calls],
    [{Index, Id, Name, Args} || {Index, {Id, {Name, Args}}} <-
        lists:zip(lists:seq(0, length(Calls) - 1), lists:zip(Ids, Calls))].

json(Term) ->
    {ok, Json} = beamai_json:encode(Term),
    Json.

openai(Turn) ->
    {Content, Calls} = turn(Turn),
    Message = #{
        role => assistant,
        content => case Content of <<>> -> null; _ -> Content end,
        tool_calls => [
            #{id => Id, type => function, function => #{name => Name, arguments => json(Args)}}
         || {_, Id, Name, Args} <- Calls
        ]
    },
    json(#{
        choices => [#{index => 0, message => Message, finish_reason => finish(Calls)}],
        usage => #{prompt_tokens => 10, completion_tokens => 5, prompt_tokens_details => #{cached_tokens => 4}}
    }).

finish([]) -> <<"stop">>;
finish(_) -> <<"tool_calls">>.

openai_stream(Turn) ->
    {Content, Calls} = turn(Turn),
    Delta = fun(D) -> #{choices => [#{index => 0, delta => D, finish_reason => null}]} end,
    Events =
        [Delta(#{role => assistant, content => <<>>})] ++
            [Delta(#{content => Piece}) || Piece <- characters(Content)] ++
            [
                Delta(#{tool_calls => [Piece]})
             || {Index, Id, Name, Args} <- Calls,
                Piece <-
                    [#{index => Index, id => Id, type => function, function => #{name => Name, arguments => <<>>}}] ++
                        [#{index => Index, function => #{arguments => A}} || A <- cut(json(Args))]
            ] ++
            [
                #{choices => [#{index => 0, delta => #{}, finish_reason => finish(Calls)}]},
                #{choices => [], usage => #{prompt_tokens => 10, completion_tokens => 5}}
            ],
    cut(iolist_to_binary([[["data: ", json(E), "\n\n"] || E <- Events], "data: [DONE]\n\n"])).

anthropic(Turn) ->
    {Content, Calls} = turn(Turn),
    json(#{
        type => message,
        role => assistant,
        content => [#{type => text, text => Content} || Content =/= <<>>] ++
            [#{type => tool_use, id => Id, name => Name, input => Args} || {_, Id, Name, Args} <- Calls],
        stop_reason => stop_reason(Calls),
        usage => #{input_tokens => 6, cache_read_input_tokens => 4, output_tokens => 5}
    }).

stop_reason([]) -> end_turn;
stop_reason(_) -> tool_use.

anthropic_stream(Turn) ->
    {Content, Calls} = turn(Turn),
    Text = [{#{type => text, text => <<>>}, [#{type => text_delta, text => P} || P <- characters(Content)]} || Content =/= <<>>],
    Uses = [
        {#{type => tool_use, id => Id, name => Name, input => #{}}, [
            #{type => input_json_delta, partial_json => P}
         || P <- cut(json(Args))
        ]}
     || {_, Id, Name, Args} <- Calls
    ],
    Blocks = Text ++ Uses,
    Events =
        [#{type => message_start, message => #{usage => #{input_tokens => 10, output_tokens => 1}}}, #{type => ping}] ++
            lists:append([
                [#{type => content_block_start, index => I, content_block => Start}] ++
                    [#{type => content_block_delta, index => I, delta => D} || D <- Deltas] ++
                    [#{type => content_block_stop, index => I}]
             || {I, {Start, Deltas}} <- lists:zip(lists:seq(0, length(Blocks) - 1), Blocks)
            ]) ++
            [
                #{type => message_delta, delta => #{stop_reason => stop_reason(Calls)}, usage => #{output_tokens => 5}},
                #{type => message_stop}
            ],
    cut(iolist_to_binary([["event: ", atom_to_list(maps:get(type, E)), "\r\ndata: ", json(E), "\r\n\r\n"] || E <- Events])).

characters(Text) ->
    [unicode:characters_to_binary([C]) || C <- string:to_graphemes(Text)].

%% In pieces of every small size, through the middle of lines and characters.
cut(Text) -> cut(Text, 1).

cut(<<>>, _Size) -> [];
cut(Text, Size) when byte_size(Text) =< Size -> [Text];
cut(Text, Size) ->
    <<Piece:Size/binary, Rest/binary>> = Text,
    [Piece | cut(Rest, Size rem 13 + 1)].
