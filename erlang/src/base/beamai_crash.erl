%% @doc Logs exceptions of handlers and filters for their authors; the model gets only the error message.
%%
%% The report contains tool, class, reason and position, but no arguments.
%% @hidden
-module(beamai_crash).

-export([log/2, short_stack/1]).

%% Maximum length of the reason, which may contain arbitrary data.
-define(REASON_CHARS, 200).

%% @doc Logs the exception of a call whose handler raised; ignores all other outcomes. Returns the outcome.
-spec log(Outcome, beamai_context:t()) -> Outcome when Outcome :: beamai_call:result().
log({error, #{tool := Tool, details := #{reason := crash, class := Class, exception := Reason, stacktrace := Stack}}} = Outcome, Context) ->
    Shown = unicode:characters_to_binary(io_lib:format("~0tp", [Reason], [{chars_limit, ?REASON_CHARS}])),
    logger:error(#{what => tool_crashed, tool => Tool, class => Class, reason => Shown, at => Stack}, #{
        domain => [beamai],
        report_cb => fun report/1,
        beamai => maps:with([run_id, agent_id, session_id, call_id], Context)
    }),
    Outcome;
log(Outcome, _Context) ->
    Outcome.

report(#{tool := Tool, class := Class, reason := Reason, at := Stack}) ->
    {"beamai: the tool ~ts raised ~p:~ts~ts", [Tool, Class, Reason, [place(Frame) || Frame <- Stack]]}.

place({M, F, Arity, Location}) ->
    Line = [[" (", File, ":", integer_to_list(Line), ")"] || {file, File} <- Location, {line, Line} <- Location],
    io_lib:format("~n  at ~tp:~tp/~b~ts", [M, F, Arity, Line]).

%% @doc The top of a stack trace with files and lines, without arguments, which may be large or secret.
-spec short_stack([term()]) -> [{module(), atom(), arity(), [{file | line, term()}]}].
short_stack(Stack) ->
    lists:sublist([frame(Entry) || Entry <- Stack], 5).

frame({M, F, Args, Location}) when is_list(Args) -> frame({M, F, length(Args), Location});
frame({M, F, Arity, Location}) -> {M, F, Arity, [Info || {Key, _} = Info <- Location, Key =:= file orelse Key =:= line]}.
