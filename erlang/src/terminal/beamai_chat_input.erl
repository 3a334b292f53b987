%% @doc The chat's terminal: the real one, but that an interrupt ends a read.
%%
%% A read of the terminal cannot be called off. So this process stands between the chat and its group leader, as the
%% group leader of the chat: everything goes through but reads of lines, which it makes itself, one at a time. An
%% interrupt answers whoever waits with `{error, interrupted}'; the read goes on, and its line is for who asks next.
%% @hidden
-module(beamai_chat_input).

-export([start/0, interrupt/1]).

-record(input, {
    %% The real terminal.
    leader :: pid(),
    %% A read that is under way, and who waits for its line.
    read = none :: reference() | none,
    waits = none :: {From :: pid(), ReplyAs :: term()} | none,
    %% Lines that nobody was waiting for, first things first.
    lines = [] :: [term()]
}).

%% @doc Makes itself the group leader of the calling process, and of those that it starts from now on.
-spec start() -> pid().
start() ->
    Leader = group_leader(),
    Pid = spawn_link(fun() -> loop(#input{leader = Leader}) end),
    true = group_leader(Pid, self()),
    Pid.

%% @doc Ends a read, if there is one.
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
        %% That a prompt has been written.
        {io_reply, _Prompt, _Reply} ->
            loop(Input)
    end.

asked(Who, _Encoding, _Prompt, #input{waits = Waits} = Input) when Waits =/= none ->
    reply(Who, {error, busy}),
    Input;
asked(Who, Encoding, Prompt, Input) ->
    %% With the prompt of a read, the terminal would repeat it after all that is written meanwhile.
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
