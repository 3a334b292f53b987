%% @doc The native functions. ETF stands for the external term format.
%%
%% The library is loaded from the application's `priv' directory. Functions on a normal scheduler
%% take under a millisecond; the others run on dirty schedulers or start native threads.
%% @hidden
-module(beamai_nif).

-export([call_now/2, call/2, start/3, cancel/1, judge/3, pin/1, explain/2, explain_own/3]).
-export([workspace/1, too_wide/1, tools/1, schema/1, display/1, for_model/1, running/0, recover/1]).
-export([parse_text_now/3, parse_text/3, stream_new/1, stream_feed_now/3, stream_feed/3, stream_end/2]).
-export([system_prompt/1, format_result/1, format_error/1]).
-export([json_decode_now/1, json_decode/1, json_encode_now/1, json_encode/1, front_matter/1]).
-export([check_arguments/2, nearest/2, in_question/1, hide_secrets/3]).
-export([priv_file/1, loaded/0]).
-export_type([env/0, job/0, reply/0, stream/0]).

-on_load(load/0).
-nifs([call_now/2, call/2, start/3, cancel/1, judge/3, pin/1, explain/2, explain_own/3]).
-nifs([workspace/1, too_wide/1, tools/1, schema/1, display/1, for_model/1, running/0, recover/1]).
-nifs([parse_text_now/3, parse_text/3, stream_new/1, stream_feed_now/3, stream_feed/3, stream_end/2]).
-nifs([system_prompt/1, format_result/1, format_error/1]).
-nifs([json_decode_now/1, json_decode/1, json_encode_now/1, json_encode/1, front_matter/1]).
-nifs([check_arguments/2, nearest/2, in_question/1, hide_secrets/3]).

%% ETF, encoded by {@link beamai_env}.
-type env() :: binary().
-opaque job() :: reference().
-opaque stream() :: reference().
%% ETF of `{ok, Value} | {error, Error} | {ask, Request}'.
-type reply() :: binary().

-define(NOT_LOADED, not_loaded()).

%% The library refuses beams of another version. If loading fails, each call reports the reason, because that of a
%% failed `on_load' is only logged. Loading this module again would keep the old code.
load() ->
    Path = priv_file("beamai_nif.so"),
    case erlang:load_nif(filename:rootname(Path), beamai_version:of_beams()) of
        ok ->
            ok;
        {error, {Kind, Why}} when Kind =:= load; Kind =:= load_failed; Kind =:= bad_lib ->
            persistent_term:put(?MODULE, {Path, Why});
        {error, _} = Error ->
            Error
    end.

%% Declared as any term for code analysis: the library replaces the callers of this function.
-spec not_loaded() -> term().
not_loaded() ->
    {error, Why} = loaded(),
    erlang:nif_error({beamai_not_loaded, Why}).

%% @doc Whether the library is loaded; the error is the reason.
-spec loaded() -> ok | {error, Why :: binary()}.
loaded() ->
    case persistent_term:get(?MODULE, ok) of
        ok -> ok;
        Failure -> {error, beamai_version:other_library(Failure)}
    end.

%% @doc The path of a file in the application's `priv' directory. Works also if the application is only on the code
%% path, as in a plain shell.
-spec priv_file(Name :: string()) -> file:filename().
priv_file(Name) ->
    lists:append([priv_dir(), "/", Name]).

priv_dir() ->
    case code:priv_dir(beamai) of
        {error, bad_name} -> beside(code:which(?MODULE));
        Priv -> Priv
    end.

%% A module that was loaded from a binary has no file; use the working directory.
beside(Beam) when is_list(Beam) -> filename:dirname(filename:dirname(Beam)) ++ "/priv";
beside(_NoFile) -> "priv".

%% @doc Runs a tool whose pace is instant or cached, on the caller's scheduler. `defer' means that it needs preparation
%% or would block, so that {@link call/2} must be used. `Call' is ETF.
-spec call_now(env(), Call :: binary()) -> reply() | defer.
call_now(_Env, _Call) -> ?NOT_LOADED.

%% @doc Runs a tool whose pace is bounded, on a dirty scheduler. `defer' means that it must be started as a job. `Call'
%% is ETF.
-spec call(env(), Call :: binary()) -> reply() | defer.
call(_Env, _Call) -> ?NOT_LOADED.

%% @doc Starts a tool on a native thread. The calling process receives any number of `{Ref, progress, ETF}' and finally
%% `{Ref, reply()}'. If it dies, the job is cancelled. `busy' if too many jobs are queued.
-spec start(env(), Call :: binary(), Ref :: reference()) -> {ok, job()} | busy.
start(_Env, _Call, _Ref) -> ?NOT_LOADED.

%% @doc Cancels a job. It still answers: with the error `cancelled', or with its result.
-spec cancel(job()) -> ok.
cancel(_Job) -> ?NOT_LOADED.

%% @doc The number of running jobs.
-spec running() -> non_neg_integer().
running() -> ?NOT_LOADED.

%% @doc Undoes interrupted changes of killed processes to several files. For each of them, now and whenever a later call
%% finds one, the process receives `{beamai_journal, Line}'.
-spec recover(Listener :: pid()) -> ok.
recover(_Listener) -> ?NOT_LOADED.

%% @doc Checks the permission of a tool with an Erlang handler by its name. `unknown' means that {@link pin/1} has to be
%% called first.
-spec judge(env(), Tool :: binary(), RequiresPermission :: boolean()) -> allow | reply() | unknown.
judge(_Env, _Tool, _RequiresPermission) -> ?NOT_LOADED.

%% @doc Validates an environment, opens its workspace and caches both.
-spec pin(env()) -> ok | reply().
pin(_Env) -> ?NOT_LOADED.

%% @doc The verdict on a call of a built-in tool: `{ok, #{verdict, rule}}' with binary keys.
-spec explain(env(), Call :: binary()) -> reply().
explain(_Env, _Call) -> ?NOT_LOADED.

%% @doc The verdict on a tool with an Erlang handler: `{ok, #{verdict, rule}}' with binary keys.
-spec explain_own(env(), Tool :: binary(), RequiresPermission :: boolean()) -> reply().
explain_own(_Env, _Tool, _RequiresPermission) -> ?NOT_LOADED.

%% @doc Identifies a directory: `{ok, #{path, device, inode}}' with binary keys.
-spec workspace(Path :: binary()) -> reply().
workspace(_Path) -> ?NOT_LOADED.

%% @doc Whether a directory is a workspace only where the host names it: `{ok, <<"the home directory">>}', or `{ok, null}'.
-spec too_wide(Path :: binary()) -> reply().
too_wide(_Path) -> ?NOT_LOADED.

%% @doc The catalogue of a dialect: `{ok, [Tool]}'.
-spec tools(Dialect :: binary()) -> reply().
tools(_Dialect) -> ?NOT_LOADED.

%% @doc Formats a result or an error for people: `{ok, #{summary, body, text}}' with binary keys. `Request' is ETF.
-spec display(Request :: binary()) -> reply().
display(_Request) -> ?NOT_LOADED.

%% @doc Renders a result or an error for a model. `Request' is ETF of `#{tool, limit, args => map(), dialect => binary()
%% | null, result | error, object => boolean()}'.
-spec for_model(Request :: binary()) -> reply().
for_model(_Request) -> ?NOT_LOADED.

%% @doc A tool's schema in a provider's format: `{ok, #{schema, json, strict}}' with binary keys. `Request' is ETF.
-spec schema(Request :: binary()) -> reply().
schema(_Request) -> ?NOT_LOADED.

%% @doc Parses a model's response on the caller's scheduler. `text' means that it contains no calls; otherwise ETF of a
%% list of pieces, or of `{error, Error}' if the rules are invalid. `defer' means that the text is long, or the rules
%% are not cached. `Rules' is ETF.
-spec parse_text_now(Rules :: binary(), Text :: binary(), All :: boolean()) ->
    text | binary() | defer.
parse_text_now(_Rules, _Text, _All) -> ?NOT_LOADED.

%% @doc As {@link parse_text_now/3}, on a dirty scheduler.
-spec parse_text(Rules :: binary(), Text :: binary(), All :: boolean()) -> text | binary().
parse_text(_Rules, _Text, _All) -> ?NOT_LOADED.

%% @doc A parser for a streamed response. `Rules' is ETF.
-spec stream_new(Rules :: binary()) -> {ok, stream()} | reply().
stream_new(_Rules) -> ?NOT_LOADED.

%% @doc Feeds bytes on the caller's scheduler; returns ETF of a list of pieces. `Step' is the number of earlier calls;
%% `stale' means that it is not the current step, `defer' that there is much to parse.
-spec stream_feed_now(stream(), Step :: non_neg_integer(), binary()) -> binary() | stale | defer.
stream_feed_now(_Stream, _Step, _Bytes) -> ?NOT_LOADED.

%% @doc As {@link stream_feed_now/3}, on a dirty scheduler.
-spec stream_feed(stream(), Step :: non_neg_integer(), binary()) -> binary() | stale.
stream_feed(_Stream, _Step, _Bytes) -> ?NOT_LOADED.

%% @doc Ends a stream; returns ETF of the pieces that were buffered.
-spec stream_end(stream(), Step :: non_neg_integer()) -> binary() | stale.
stream_end(_Stream, _Step) -> ?NOT_LOADED.

%% @doc The system prompt for the tools of the rules: `{ok, Text}'. `Rules' is ETF.
-spec system_prompt(Rules :: binary()) -> reply().
system_prompt(_Rules) -> ?NOT_LOADED.

%% @doc The result of a call for a model: `{ok, Text}'. `Outcome' is ETF of `#{ok => Value}' or `#{error => Message}'.
-spec format_result(Outcome :: binary()) -> reply().
format_result(_Outcome) -> ?NOT_LOADED.

%% @doc The message to a model about an invalid call.
-spec format_error(Message :: binary()) -> binary().
format_error(_Message) -> ?NOT_LOADED.

%% @doc Decodes JSON text: `{ok, Value}'. On the caller's scheduler, for up to a few KiB.
-spec json_decode_now(Text :: binary()) -> reply().
json_decode_now(_Text) -> ?NOT_LOADED.

%% @doc As {@link json_decode_now/1}, on a dirty scheduler.
-spec json_decode(Text :: binary()) -> reply().
json_decode(_Text) -> ?NOT_LOADED.

%% @doc Encodes a term as JSON: `{ok, Text}'. `Term' is ETF. On the caller's scheduler, for up to a few KiB.
-spec json_encode_now(Term :: binary()) -> reply().
json_encode_now(_Term) -> ?NOT_LOADED.

%% @doc As {@link json_encode_now/1}, on a dirty scheduler.
-spec json_encode(Term :: binary()) -> reply().
json_encode(_Term) -> ?NOT_LOADED.

%% @doc Splits a Markdown text with YAML front matter between two lines of dashes: `{ok, #{head, body}}' with binary
%% keys; the head is null if there is none. The error states the problem and its line.
-spec front_matter(Text :: binary()) -> reply().
front_matter(_Text) -> ?NOT_LOADED.

%% @doc Checks arguments against parameters in ETF: `{ok, Args}', or an error that lists the problems. `Request' is ETF of
%% `#{args => map()}', or of `#{problems => [binary()]}' for an error about these.
-spec check_arguments(Parameters :: binary(), Request :: binary()) -> reply().
check_arguments(_Parameters, _Request) -> ?NOT_LOADED.

%% @doc A text of a server with `***' in place of the secrets, also where their characters are escaped as in URLs, JSON or
%% HTML. To be done before the text is cut; `IsCut' is for the beginning of a longer text, which may end within a secret. All
%% must be UTF-8.
-spec hide_secrets(Text :: binary(), Secrets :: [binary()], IsCut :: boolean()) -> binary().
hide_secrets(_Text, _Secrets, _IsCut) -> ?NOT_LOADED.

%% @doc Up to three of `Names' that resemble `Wrong', most similar first: names of which most characters are the same in the
%% same order, regardless of case, and names of the same words in another order. None for names of over 256 bytes.
-spec nearest(Wrong :: binary(), Names :: [binary()]) -> [binary()].
nearest(_Wrong, _Names) -> ?NOT_LOADED.

%% @doc Arguments, as UTF-8 text, on the line of an approval prompt: what a reader would not see is escaped, and a long text
%% is cut after 4,000 characters, with its size.
-spec in_question(binary()) -> binary().
in_question(_Text) -> ?NOT_LOADED.
