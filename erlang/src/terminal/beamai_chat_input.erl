%% @doc The chat's terminal, with reads that can be interrupted.
%%
%% A read from the terminal cannot be cancelled. Therefore this process acts as the chat's group leader: it forwards all
%% requests to the real one, except for reading lines, which it does itself, one at a time. An interrupt answers the
%% waiting process with `{error, interrupted}'; the read continues, and its line goes to the next process that asks.
%% @hidden
-module(beamai_chat_input).

-export([start/0, interrupt/1]).

-record(input, {
    %% The real group leader.
    leader :: pid(),
    %% The current read, and the process that waits for its line.
    read = none :: reference() | none,
    waits = none :: {From :: pid(), ReplyAs :: term()} | none,
    %% Lines that were read while nobody waited, oldest first.
    lines = [] :: [term()]
}).

%% @doc Becomes the group leader of the calling process, and so of the processes that it starts later.
-spec start() -> pid().
start() ->
    Leader = group_leader(),
    Pid = spawn_link(fun() -> loop(#input{leader = Leader}) end),
    true = group_leader(Pid, self()),
    Pid.

%% @doc Interrupts a read, if there is one.
-spec interrupt(pid()) -> ok.
interrupt(Input) ->
    Input ! interrupt,
    ok.

loop(#input{leader = Leader, read = Read} = Input) ->
    receive
        {io_request, From, ReplyAs, {get_line, Encoding, Prompt}} ->
            loop(asked({From, ReplyAs}, Encoding, Prompt, Input));
        {io_request, _From, _ReplyAs, _Request} = Other ->
            Leader ! Other,
            loop(Input);
        {io_reply, Read, Line} ->
            loop(came(Line, Input#input{read = none}));
        interrupt ->
            loop(interrupted(Input));
        %% Confirms that a prompt has been written.
        {io_reply, _Prompt, _Reply} ->
            loop(Input)
    end.

asked(Who, _Encoding, _Prompt, #input{waits = Waits} = Input) when Waits =/= none ->
    reply(Who, {error, busy}),
    Input;
asked(Who, Encoding, Prompt, Input) ->
    %% A prompt that is part of a read would be repeated after all other output.
    Text = unicode:characters_to_binary(io_lib:format("~ts", [Prompt])),
    _ = request({put_chars, unicode, Text}, Input),
    next(Who, Encoding, Input).

next(Who, _Encoding, #input{lines = [Line | Rest]} = Input) ->
    reply(Who, Line),
    Input#input{lines = Rest};
next(Who, Encoding, #input{read = none} = Input) ->
    Input#input{read = request({get_line, Encoding, ""}, Input), waits = Who};
next(Who, _Encoding, Input) ->
    Input#input{waits = Who}.

came(Line, #input{waits = none, lines = Lines} = Input) ->
    Input#input{lines = Lines ++ [Line]};
came(Line, #input{waits = Who} = Input) ->
    reply(Who, Line),
    Input#input{waits = none}.

interrupted(#input{waits = none} = Input) ->
    Input;
interrupted(#input{waits = Who} = Input) ->
    reply(Who, {error, interrupted}),
    Input#input{waits = none}.

request(Request, #input{leader = Leader}) ->
    Ref = make_ref(),
    Leader ! {io_request, self(), Ref, Request},
    Ref.

reply({From, ReplyAs}, Reply) ->
    From ! {io_reply, ReplyAs, Reply},
    ok.
