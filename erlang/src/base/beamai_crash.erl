%% @doc Logs exceptions of handlers and filters for their authors; the model gets only the error message.
%%
%% The report contains what the model gets, class and position, but neither arguments nor the fields of exceptions.
%% @hidden
-module(beamai_crash).

-export([log/2, log_callback/5, short_stack/1]).

%% Maximum length of the message, which may contain arbitrary data.
-define(MESSAGE_CHARS, 300).

%% @doc Logs the exception of a call whose handler raised; ignores all other outcomes. Returns the outcome.
-spec log(Outcome, beamai_context:t()) -> Outcome when Outcome :: beamai_call:result().
log({error, #{tool := Tool, message := Message, details := #{reason := crash, class := Class, stacktrace := Stack}}} = Outcome, Context) ->
    report(#{what => tool_crashed, tool => Tool, class => Class, reason => short(Message), at => Stack}, #{
        beamai => maps:with([run_id, agent_id, session_id, call_id], Context)
    }),
    Outcome;
log(Outcome, _Context) ->
    Outcome.

%% @doc Logs the exception of a callback of the host, which `Name' describes.
-spec log_callback(Name :: unicode:chardata(), error | exit | throw, Reason :: term(), erlang:stacktrace(), beamai_exception:code()) -> ok.
log_callback(Name, Class, Reason, Stack, Code) ->
    Message = beamai_error:text([Name, " raised ", beamai_exception:describe(Class, Reason, Stack, Code)]),
    report(#{what => callback_crashed, class => Class, reason => short(Message), at => short_stack(Stack)}, #{}).

report(Report, Metadata) ->
    logger:error(Report, Metadata#{domain => [beamai], report_cb => fun text/1}).

text(#{reason := Message, at := Stack}) ->
    {"beamai: ~ts~ts", [Message, [place(Frame) || Frame <- Stack]]}.

short(Message) -> unicode:characters_to_binary(string:slice(Message, 0, ?MESSAGE_CHARS)).

place({M, F, Arity, Location}) ->
    Line = [[" (", File, ":", integer_to_list(Line), ")"] || {file, File} <- Location, {line, Line} <- Location],
    ["\n  at ", beamai_syntax:function(M, F, Arity), Line].

%% @doc The top of a stack trace with files and lines, without arguments, which may be large or secret.
-spec short_stack([term()]) -> [{module(), atom(), arity(), [{file | line, term()}]}].
short_stack(Stack) ->
    lists:sublist([frame(Entry) || Entry <- Stack], 5).

%% A fun whose module is gone.
frame({Fun, Args, Location}) ->
    {module, M} = erlang:fun_info(Fun, module),
    frame({M, 'fun', Args, Location});
frame({M, F, Args, Location}) when is_list(Args) -> frame({M, F, length(Args), Location});
frame({M, F, Arity, Location}) -> {M, F, Arity, [Info || {Key, _} = Info <- Location, Key =:= file orelse Key =:= line]}.
