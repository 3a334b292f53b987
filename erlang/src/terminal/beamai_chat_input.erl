%% @doc The chat's terminal: the real one, but that Esc and an interrupt end a read, and that Esc is heard while nobody reads.
%%
%% A read of the terminal cannot be called off. So this process stands between the chat and its group leader, as the
%% group leader of the chat: everything goes through but reads of lines, which it makes itself, one after the other. A line that
%% nobody waits for is for who asks next. An interrupt answers whoever waits with `{error, interrupted}'; the read goes on.
%%
%% `scripts/chat' has the terminal take Esc for the end of a line, so that it arrives at once. What was typed before it is dropped.
%% Whoever waits gets a line with Esc alone; while nobody waits, the function that `start/1' was given is called.
%% From OTP 26 on, the VM itself passes on whole lines only, so that Enter has to follow.
%% @hidden
-module(beamai_chat_input).

-export([start/1, interrupt/1]).
%% How a line is read; called where the terminal is.
-export([collect/2]).

-record(input, {
    %% The real terminal.
    leader :: pid(),
    %% Called where Esc was pressed and nobody waits for a line.
    escaped :: fun(() -> term()),
    %% The read that is under way; `ended' after the end of input.
    read = none :: reference() | none | ended,
    waits = none :: {From :: pid(), ReplyAs :: term()} | none,
    %% Lines that nobody was waiting for, first things first.
    lines = [] :: [term()],
    %% Whether the last line ended with Esc: the rest of a key that begins with it, such as a cursor key, comes with the next.
    is_escaped = false :: boolean()
}).

%% @doc Makes itself the group leader of the calling process, and of those that it starts from now on.
-spec start(Escaped :: fun(() -> term())) -> pid().
start(Escaped) ->
    Leader = group_leader(),
    Pid = spawn_link(fun() -> loop(reading(#input{leader = Leader, escaped = Escaped})) end),
    true = group_leader(Pid, self()),
    Pid.

%% @doc Ends a read, if there is one.
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
        %% That a prompt has been written.
        {io_reply, _Prompt, _Reply} ->
            loop(Input)
    end.

%% Reads the next line, also where nobody waits for it: it may be Esc.
reading(#input{read = none} = Input) ->
    Input#input{read = request({get_until, unicode, "", ?MODULE, collect, []}, Input)};
reading(Input) ->
    Input.

%% @private As a read of the I/O protocol asks: what was read so far, and what has come.
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
    %% With the prompt of a read, the terminal would repeat it after all that is written meanwhile.
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
