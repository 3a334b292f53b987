%% @doc Errors of the kernel: constructs them, and converts those of the native side.
%%
%% An error is a map with `tool', one of five `error_type's, a `message' for a model or a person,
%% and `details', which always has a `reason'.
-module(beamai_error).

-export([new/4, new/5, not_run/4, not_run/5, part_not_run/3, of_handler/2, has_not_run/1, cancelled/1, out_of_time/1, ended_by_time/1, from_native/1, from_native/2, retryable/1, show/2, excerpt/1, text/1, readable/1]).
-export_type([t/0, error_type/0, reason/0]).

%% Maximum number of characters of a text that a message repeats, and how many of them are its end.
-define(MOST_REPEATED, 200).
-define(END_REPEATED, 60).

-type error_type() ::
    permission_denied | not_found | timeout | invalid_input | execution_failed.
%% An atom; a binary if a newer native side returns a reason that this module does not know.
-type reason() :: atom() | binary().
-type t() :: #{
    tool := binary(),
    error_type := error_type(),
    message := binary(),
    details := #{reason := reason(), atom() | binary() => term()}
}.

%% @doc An error without further details.
-spec new(Tool :: binary(), error_type(), reason(), Message :: iodata()) -> t().
new(Tool, Type, Reason, Message) ->
    new(Tool, Type, Reason, Message, #{}).

%% @doc An error. `Details' are added to the reason.
-spec new(Tool :: binary(), error_type(), reason(), Message :: iodata(), Details :: map()) -> t().
new(Tool, Type, Reason, Message, Details) ->
    #{
        tool => Tool,
        error_type => Type,
        message => text(Message),
        details => Details#{reason => Reason}
    }.

%% @private The error of a call, or of one attempt, of which nothing has run: `has_run' is false in its details.
-spec not_run(Tool :: binary(), error_type(), reason(), Why :: iodata()) -> t().
not_run(Tool, Type, Reason, Why) ->
    not_run(Tool, Type, Reason, Why, #{}).

%% @private As {@link not_run/4}, with details.
-spec not_run(Tool :: binary(), error_type(), reason(), Why :: iodata(), Details :: map()) -> t().
not_run(Tool, Type, Reason, Why, Details) ->
    new(Tool, Type, Reason, [Tool, " has not run: ", Why], Details#{has_run => false}).

%% @private Restricts an error of {@link not_run/4} to a part of the call. `What' says what may have run.
-spec part_not_run(Part :: iodata(), t(), What :: iodata()) -> t().
part_not_run(Part, #{message := Message, details := Details} = Error, What) ->
    Error#{message := text([Part, " of ", Message, "; ", What]), details := maps:remove(has_run, Details)}.

%% @private The error that the handler of a tool returned. The handler has run, even if the error is that of another call,
%% which has not.
-spec of_handler(Tool :: binary(), term()) -> term().
of_handler(Tool, #{details := Details} = Error) when is_map(Details) ->
    case maps:filter(fun(Key, Value) -> not says_not_run(Key, Value) end, Details) of
        Details -> Error;
        Left -> of_inner(Tool, Error#{details := Left})
    end;
of_handler(_Tool, Error) ->
    Error.

%% The key is text in an error that has been JSON.
says_not_run(Key, false) -> Key =:= has_run orelse Key =:= <<"has_run">>;
says_not_run(_Key, _Value) -> false.

of_inner(Tool, #{message := Message} = Error) when is_binary(Message) ->
    Error#{message := text(["a call that ", Tool, " made failed: ", Message])};
of_inner(_Tool, Error) ->
    Error.

%% @private Whether the error says that nothing has run; accepts a handler's own terms.
-spec has_not_run(term()) -> boolean().
has_not_run(#{error_type := _, details := #{has_run := false}}) -> true;
has_not_run(_) -> false.

%% @private Converts a message to UTF-8. If it is not valid Unicode, as with some file names, each byte is taken for a
%% Latin-1 character.
-spec text(unicode:chardata()) -> binary().
text(Message) ->
    case unicode:characters_to_binary(Message) of
        Text when is_binary(Text) -> Text;
        _ -> readable(iolist_to_binary(Message))
    end.

%% @private The error of a call that its run id cancelled.
-spec cancelled(Tool :: binary()) -> t().
cancelled(Tool) ->
    new(Tool, execution_failed, cancelled, [Tool, " was cancelled"]).

%% @private The error of a call that was not made because the time budget of its run was used up.
-spec out_of_time(Tool :: binary()) -> t().
out_of_time(Tool) ->
    not_run(Tool, timeout, timeout, "the time of the run's budget is over").

%% @private The error of a call that was ended because the time budget of its run was used up.
-spec ended_by_time(Tool :: binary()) -> t().
ended_by_time(Tool) ->
    new(Tool, timeout, timeout, [Tool, " was ended: the time of the run's budget is over"]).

%% @private Converts an error map of the native side, whose keys and values are binaries. Creates no atoms: unknown
%% reasons stay binaries.
-spec from_native(map()) -> t().
from_native(#{<<"tool">> := Tool, <<"error_type">> := Type, <<"message">> := Native} = Error) ->
    {Message, Details} = in_syntax(Native, maps:get(<<"details">>, Error, #{})),
    Reason = reason(maps:get(<<"reason">>, Details, <<"handler_error">>)),
    Known = maps:from_list([{detail_key(K), V} || {K, V} <- maps:to_list(Details)]),
    new(Tool, error_type(Type), Reason, Message, Known).

%% The native side writes what the host can configure as Erlang terms.
in_syntax(Message, #{<<"configure">> := Hint} = Details) when is_binary(Hint), Hint =/= <<>> ->
    Own = beamai_syntax:options(Hint),
    {binary:replace(Message, Hint, Own), Details#{<<"configure">> := Own}};
in_syntax(Message, Details) ->
    {Message, Details}.

%% @doc As {@link from_native/1}, for a call of `Tool': an error of a call that could not be decoded does not contain
%% the tool's name.
-spec from_native(Tool :: binary(), map()) -> t().
from_native(Tool, #{<<"tool">> := <<>>} = Error) -> from_native(Error#{<<"tool">> := Tool});
from_native(_Tool, Error) -> from_native(Error).

error_type(<<"permission_denied">>) -> permission_denied;
error_type(<<"not_found">>) -> not_found;
error_type(<<"timeout">>) -> timeout;
error_type(<<"invalid_input">>) -> invalid_input;
error_type(_) -> execution_failed.

reason(<<"unknown_tool">>) -> unknown_tool;
reason(<<"no_such_file">>) -> no_such_file;
reason(<<"no_such_skill">>) -> no_such_skill;
reason(<<"no_temp_dir">>) -> no_temp_dir;
reason(<<"no_such_command">>) -> no_such_command;
reason(<<"no_such_agent">>) -> no_such_agent;
reason(<<"invalid_argument">>) -> invalid_argument;
reason(<<"invalid_pattern">>) -> invalid_pattern;
reason(<<"no_match">>) -> no_match;
reason(<<"ambiguous">>) -> ambiguous;
reason(<<"not_a_file">>) -> not_a_file;
reason(<<"is_a_directory">>) -> is_a_directory;
reason(<<"not_a_directory">>) -> not_a_directory;
reason(<<"binary_file">>) -> binary_file;
reason(<<"invalid_encoding">>) -> invalid_encoding;
reason(<<"too_large">>) -> too_large;
reason(<<"placeholder">>) -> placeholder;
reason(<<"already_exists">>) -> already_exists;
reason(<<"access_denied">>) -> access_denied;
reason(<<"outside_workspace">>) -> outside_workspace;
reason(<<"denied">>) -> denied;
reason(<<"changed">>) -> changed;
reason(<<"workspace_gone">>) -> workspace_gone;
reason(<<"needs_approval">>) -> needs_approval;
reason(<<"stale">>) -> stale;
reason(<<"busy">>) -> busy;
reason(<<"cancelled">>) -> cancelled;
reason(<<"door_lost">>) -> door_lost;
reason(<<"crash">>) -> crash;
reason(<<"timeout">>) -> timeout;
reason(<<"io">>) -> io;
reason(<<"bad_state">>) -> bad_state;
reason(<<"needs_shell">>) -> needs_shell;
reason(<<"network">>) -> network;
reason(<<"mcp_server">>) -> mcp_server;
reason(<<"tool_failed">>) -> tool_failed;
reason(<<"language_server">>) -> language_server;
reason(<<"not_configured">>) -> not_configured;
reason(<<"no_agents">>) -> no_agents;
reason(<<"isolation_unavailable">>) -> isolation_unavailable;
reason(<<"out_of_memory">>) -> out_of_memory;
reason(<<"too_many_processes">>) -> too_many_processes;
reason(<<"handler_error">>) -> handler_error;
reason(Unknown) -> Unknown.

detail_key(<<"reason">>) -> reason;
detail_key(<<"matched_rule">>) -> matched_rule;
detail_key(<<"rule">>) -> rule;
detail_key(<<"subject">>) -> subject;
detail_key(<<"file">>) -> file;
detail_key(<<"command">>) -> command;
detail_key(<<"pattern">>) -> pattern;
detail_key(<<"argument">>) -> argument;
detail_key(<<"arguments">>) -> arguments;
detail_key(<<"problems">>) -> problems;
detail_key(<<"nearest">>) -> nearest;
detail_key(<<"missing">>) -> missing;
detail_key(<<"position">>) -> position;
detail_key(<<"line">>) -> line;
detail_key(<<"lines">>) -> lines;
detail_key(<<"files">>) -> files;
detail_key(<<"applied">>) -> applied;
detail_key(<<"not_put_back">>) -> not_put_back;
detail_key(<<"placeholder">>) -> placeholder;
detail_key(<<"occurrences">>) -> occurrences;
detail_key(<<"hash">>) -> hash;
detail_key(<<"size">>) -> size;
detail_key(<<"searched">>) -> searched;
detail_key(<<"total_files">>) -> total_files;
detail_key(<<"total_matches">>) -> total_matches;
detail_key(<<"content_kind">>) -> content_kind;
detail_key(<<"stdout">>) -> stdout;
detail_key(<<"stderr">>) -> stderr;
detail_key(<<"output_file">>) -> output_file;
detail_key(<<"exit_code">>) -> exit_code;
detail_key(<<"truncated">>) -> truncated;
detail_key(<<"killed">>) -> killed;
detail_key(<<"planted">>) -> planted;
detail_key(<<"configure">>) -> configure;
detail_key(<<"isolation">>) -> isolation;
detail_key(<<"duration_ms">>) -> duration_ms;
detail_key(<<"errno">>) -> errno;
detail_key(Unknown) -> Unknown.

%% @private Whether a retry may help; accepts the kernel's errors and a handler's own terms.
-spec retryable(term()) -> boolean().
retryable(#{error_type := invalid_input}) -> false;
retryable(#{error_type := permission_denied}) -> false;
retryable(#{error_type := not_found}) -> false;
retryable(#{error_type := execution_failed, details := #{reason := cancelled}}) -> false;
retryable(_) -> true.

%% @doc Formats a term for messages in the host's syntax, in at most about `Limit' characters.
-spec show(term(), Limit :: pos_integer()) -> unicode:chardata().
show(Text, Limit) when is_binary(Text) ->
    Start = start(Text, 4 * (Limit + 1)),
    case string:length(Start) =< Limit of
        true -> [$", Start, $"];
        false -> [$", string:slice(Start, 0, Limit), "...\""]
    end;
show(Term, Limit) ->
    beamai_syntax:show(Term, Limit).

%% @doc A text that the caller has written, as a message repeats it: its beginning and end, with its length, if it is long.
-spec excerpt(binary()) -> iodata().
excerpt(Text) ->
    case string:length(Text) of
        Size when Size =< ?MOST_REPEATED ->
            Text;
        Size ->
            Begin = string:slice(Text, 0, ?MOST_REPEATED - ?END_REPEATED),
            [Begin, <<"[… "/utf8>>, integer_to_binary(Size), <<" characters …]"/utf8>>, string:slice(Text, Size - ?END_REPEATED)]
    end.

%% The first bytes of a text, without a partial character at the end.
start(Text, Bytes) when byte_size(Text) =< Bytes ->
    readable(Text);
start(Text, Bytes) ->
    case unicode:characters_to_binary(binary:part(Text, 0, Bytes)) of
        {incomplete, Whole, _Rest} -> Whole;
        _ -> readable(binary:part(Text, 0, Bytes))
    end.

%% @doc Converts text to UTF-8: if it is not UTF-8, each byte is taken for a Latin-1 character.
-spec readable(binary()) -> binary().
readable(Text) ->
    case unicode:characters_to_binary(Text) of
        Text -> Text;
        _ -> <<<<Byte/utf8>> || <<Byte>> <= Text>>
    end.
