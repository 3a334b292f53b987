%% @doc The calls of the soak test. A kind of call says how it may end besides well; whatever else it does is a fault, and so is a
%% second answer.
-module(beamai_soak_calls).

-export([workspace/0, work/3]).

-define(FILES, 300).

%% @doc A new workspace with some hundred files.
-spec workspace() -> binary().
workspace() ->
    %% Commands in the sandbox have a /tmp of their own.
    Path = iolist_to_binary(["/var/tmp/beamai-soak-", beamai_temp_dir:random_name()]),
    [write(Path, Number) || Number <- lists:seq(1, ?FILES)],
    Path.

write(Path, Number) ->
    File = filename:join([Path, "src", io_lib:format("d~b", [Number rem 10]), io_lib:format("f~b.txt", [Number])]),
    ok = filelib:ensure_dir(File),
    ok = file:write_file(File, [io_lib:format("line ~b of file ~b\n", [Line, Number]) || Line <- lists:seq(1, 200)]).

%% @doc Calls until the time has come; how often each kind of call ended how.
-spec work(pos_integer(), binary(), integer()) -> #{{atom(), atom() | {unexpected, term()}} => pos_integer()}.
work(Number, Workspace, Until) ->
    _ = rand:seed(exsss, {Number, 7, 11}),
    State = #{
        nif => kernel(Workspace, nif, [beamai_tool_file]),
        port => kernel(Workspace, port, [beamai_tool_file, beamai_tool_shell, beamai_tool_todo]),
        own => iolist_to_binary(io_lib:format("own~b", [Number])),
        context => #{session_id => {?MODULE, Number}}
    },
    Counts = repeated(Until, State, #{}),
    ok = beamai_session:close({?MODULE, Number}),
    Counts.

kernel(Workspace, Door, Modules) ->
    Kernel = beamai_kernel:new(#{workspace => Workspace, door => Door, permissions => #{default => allow}, sandbox => best_effort}),
    lists:foldl(fun(Module, K) -> beamai_kernel:add_tool_module(K, Module) end, Kernel, Modules).

repeated(Until, State, Counts) ->
    case erlang:monotonic_time(millisecond) < Until of
        false ->
            Counts;
        true ->
            {Kind, May, Call} = pick(kinds()),
            repeated(Until, State, counted(Kind, May, Call(State), Counts))
    end.

pick(Kinds) ->
    lists:nth(rand:uniform(length(Kinds)), Kinds).

counted(Kind, May, Answer, Counts) ->
    Outcome = case reason(Answer) of
        ok -> ok;
        Reason -> case lists:member(Reason, May) of true -> Reason; false -> {unexpected, {Answer, recent()}} end
    end,
    _ = put(recent, lists:sublist([{Kind, reason(Answer)} | recent()], 8)),
    Once = maps:update_with({Kind, Outcome}, fun(N) -> N + 1 end, 1, Counts),
    case process_info(self(), messages) of
        {messages, []} -> Once;
        {messages, Second} -> error({answered_twice, Kind, Second})
    end.

%% What came before a fault, the newest first.
recent() ->
    case get(recent) of
        undefined -> [];
        Recent -> Recent
    end.

reason({ok, _, _}) -> ok;
reason({error, #{details := #{reason := Reason}}}) -> Reason;
reason(ok) -> ok;
reason(Other) -> Other.

%% The kinds, with how each may end besides well. Any call through the port may lose it, and be refused where there are too many.
kinds() ->
    Lost = [door_lost, busy],
    [
        {read_nif, [busy], fun(S) -> call(nif, <<"file_read">>, #{<<"path">> => some_file()}, S) end},
        {read_port, Lost, fun(S) -> call(port, <<"file_read">>, #{<<"path">> => some_file()}, S) end},
        {grep_nif, [busy], fun(S) -> call(nif, <<"file_grep">>, #{<<"pattern">> => <<"line 1.7 of">>}, S) end},
        {grep_port, Lost, fun(S) -> call(port, <<"file_grep">>, #{<<"pattern">> => <<"line 1.7 of">>}, S) end},
        {glob_nif, [busy], fun(S) -> call(nif, <<"file_glob">>, #{<<"pattern">> => <<"**/f1*.txt">>}, S) end},
        {write_nif, [busy], fun(S) -> written(nif, S) end},
        {write_port, Lost, fun(S) -> written(port, S) end},
        {missing_file, [no_such_file, busy], fun(S) -> call(nif, <<"file_read">>, #{<<"path">> => <<"none">>}, S) end},
        {todo_port, Lost, fun(S) -> call(port, <<"todo_list">>, #{}, S) end},
        {shell, Lost, fun(S) -> command(<<"echo here; seq 1000 | tail -n 1">>, S) end},
        {shell_timeout, [timeout | Lost], fun(S) -> call(port, <<"shell_exec">>, #{<<"command">> => <<"sleep 60 & sleep 60">>, <<"timeout">> => 50}, S) end},
        {background, [no_such_command | Lost], fun background/1},
        {cancelled_shell, [cancelled | Lost], fun(S) -> cancelled(port, <<"shell_exec">>, #{<<"command">> => <<"sleep 60">>}, S) end},
        {cancelled_grep, [cancelled, busy], fun(S) -> cancelled(nif, <<"file_grep">>, #{<<"pattern">> => <<"(l|i|n|e)+ .*7">>}, S) end},
        {killed_caller, [], fun killed/1},
        {several, Lost, fun several/1}
    ].

some_file() ->
    Number = rand:uniform(?FILES),
    iolist_to_binary(io_lib:format("src/d~b/f~b.txt", [Number rem 10, Number])).

call(Door, Tool, Args, #{context := Context} = State) ->
    beamai_kernel:invoke(maps:get(Door, State), Tool, Args, Context).

command(Command, State) ->
    call(port, <<"shell_exec">>, #{<<"command">> => Command}, State).

%% What was written is read again. Each door has a file of its own: a session's memory of the files that it has seen is the door's.
written(Door, #{own := Own} = State) ->
    Args = #{<<"path">> => <<Own/binary, ".", (atom_to_binary(Door))/binary>>},
    Content = iolist_to_binary(["text ", integer_to_binary(rand:uniform(1000000)), "\n"]),
    case call(Door, <<"file_write">>, Args#{<<"content">> => Content}, State) of
        {ok, _, _} ->
            case call(Door, <<"file_read">>, Args, State) of
                {ok, #{<<"content">> := Content}, _} -> ok;
                Other -> Other
            end;
        Other ->
            Other
    end.

%% Started, asked, and killed, or left to the end of the session.
background(State) ->
    case call(port, <<"shell_exec">>, #{<<"command">> => <<"echo on; sleep 60">>, <<"run_in_background">> => true}, State) of
        {ok, #{<<"id">> := Id}, _} ->
            case call(port, <<"shell_output">>, #{<<"id">> => Id}, State) of
                {ok, _, _} -> call(port, <<"shell_kill">>, #{<<"id">> => Id}, State);
                Other -> Other
            end;
        Other ->
            Other
    end.

cancelled(Door, Tool, Args, #{context := Context} = State) ->
    Run = make_ref(),
    After = rand:uniform(40),
    {Canceller, Monitor} = spawn_monitor(fun() ->
        timer:sleep(After),
        ok = beamai_kernel:cancel(Run)
    end),
    %% One that comes before the call is under way does not reach it: its time runs out instead.
    Answer = call(Door, Tool, Args, State#{context := Context#{run_id => Run}}),
    receive
        {'DOWN', Monitor, process, Canceller, normal} -> Answer
    end.

%% Its process dies in the midst of the call, and takes the command with it.
killed(State) ->
    {Caller, Monitor} = spawn_monitor(fun() -> command(<<"sleep 60">>, State) end),
    timer:sleep(rand:uniform(60)),
    exit(Caller, kill),
    receive
        {'DOWN', Monitor, process, Caller, _} -> ok
    end.

several(#{port := Kernel, context := Context}) ->
    Calls = [{<<"file_read">>, #{<<"path">> => some_file()}} || _ <- lists:seq(1, 6)] ++ [{<<"shell_exec">>, #{<<"command">> => <<"echo one">>}}],
    {Answers, _} = beamai_kernel:invoke_all(Kernel, Calls, Context),
    case {length(Answers) =:= length(Calls), [Error || {error, _} = Error <- Answers]} of
        {true, []} -> ok;
        {true, [Error | _]} -> Error;
        {false, _} -> {answers, length(Answers), length(Calls)}
    end.
