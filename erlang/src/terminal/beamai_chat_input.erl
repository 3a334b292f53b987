%% @doc The chat's terminal, with reads that Esc and interrupts can end, and with Esc recognized while nobody reads.
%%
%% A read from the terminal cannot be cancelled. Therefore this process acts as the chat's group leader: it forwards all
%% requests to the real one, except for reading lines, which it does itself, one at a time. A line that nobody waits for
%% goes to the next process that asks. An interrupt answers the waiting process with `{error, interrupted}'; the read
%% continues.
%%
%% `scripts/chat' configures the terminal so that Esc ends a line and therefore arrives at once. Text before it is
%% dropped. The waiting process gets a line with only Esc; if nobody waits, the function given to `start/1' is called.
%% @hidden
-module(beamai_chat_input).

-export([start/1, interrupt/1]).
%% Reads a line; called in the process with the terminal.
-export([collect/2]).

-record(input, {
    %% The real group leader.
    leader :: pid(),
    %% Called if Esc is pressed while nobody waits for a line.
    escaped :: fun(() -> term()),
    %% The current read; `ended' after the end of input.
    read = none :: reference() | none | ended,
    waits = none :: {From :: pid(), ReplyAs :: term()} | none,
    %% Lines that were read while nobody waited, oldest first.
    lines = [] :: [term()],
    %% Whether the last line ended with Esc: the rest of an escape sequence, as of a cursor key, arrives with the next
    %% line.
    is_escaped = false :: boolean()
}).

%% @doc Becomes the group leader of the calling process, and so of the processes that it starts later.
-spec start(Escaped :: fun(() -> term())) -> pid().
start(Escaped) ->
    Leader = group_leader(),
    Pid = spawn_link(fun() -> loop(reading(#input{leader = Leader, escaped = Escaped})) end),
    true = group_leader(Pid, self()),
    Pid.

%% @doc Interrupts a read, if there is one.
-spec interrupt(pid()) -> ok.
interrupt(Input) ->
    Input ! interrupt,
    ok.

loop(#input{leader = Leader, read = Read} = Input) ->
    receive
        {io_request, From, ReplyAs, {get_line, _Encoding, Prompt}} ->
            loop(asked({From, ReplyAs}, Prompt, Input));
        {io_request, _From, _ReplyAs, _Request} = Other ->
            Leader ! Other,
            loop(Input);
        {io_reply, Read, Line} ->
            loop(reading(came(Line, Input#input{read = none})));
        interrupt ->
            loop(interrupted(Input));
        %% Confirms that a prompt has been written.
        {io_reply, _Prompt, _Reply} ->
            loop(Input)
    end.

%% Reads the next line even if nobody waits for it: it may be Esc.
reading(#input{read = none} = Input) ->
    Input#input{read = request({get_until, unicode, "", ?MODULE, collect, []}, Input)};
reading(Input) ->
    Input.

%% @private A continuation function for the I/O protocol: its arguments are the state and new characters.
-spec collect([char()], [char()] | eof) -> {done, [char()] | eof, [char()] | eof} | {more, [char()]}.
collect([], eof) -> {done, eof, eof};
collect(Read, eof) -> {done, Read, eof};
collect(Read, Chars) ->
    case lists:splitwith(fun(Char) -> Char =/= $\n andalso Char =/= $\e end, Chars) of
        {All, []} -> {more, Read ++ All};
        {_Dropped, [$\e | Rest]} -> {done, "\e", Rest};
        {Line, [$\n | Rest]} -> {done, Read ++ Line ++ "\n", Rest}
    end.

asked(Who, _Prompt, #input{waits = Waits} = Input) when Waits =/= none ->
    reply(Who, {error, busy}),
    Input;
asked(Who, Prompt, Input) ->
    %% A prompt that is part of a read would be repeated after all other output.
    Text = unicode:characters_to_binary(io_lib:format("~ts", [Prompt])),
    _ = request({put_chars, unicode, Text}, Input),
    next(Who, Input).

next(Who, #input{lines = [Line | Rest]} = Input) ->
    reply(Who, Line),
    Input#input{lines = Rest};
next(Who, #input{read = ended} = Input) ->
    reply(Who, eof),
    Input;
next(Who, Input) ->
    Input#input{waits = Who}.

came("\e", #input{waits = none, escaped = Escaped} = Input) ->
    _ = Escaped(),
    Input#input{is_escaped = true};
came("\e" = Line, Input) ->
    given(Line, Input#input{is_escaped = true});
came(Line, #input{is_escaped = true} = Input) when is_list(Line) ->
    given(re:replace(Line, "^(\\[[0-9;]*[A-Za-z~]|O[A-Z])", "", [unicode, {return, list}]), Input#input{is_escaped = false});
came(Line, Input) when is_list(Line) ->
    given(Line, Input);
came(EofOrError, Input) ->
    given(EofOrError, Input#input{read = ended}).

given(Line, #input{waits = none, lines = Lines} = Input) ->
    Input#input{lines = Lines ++ [Line]};
given(Line, #input{waits = Who} = Input) ->
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
