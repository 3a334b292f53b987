%% @doc Formats results: for people as a summary line and a body, for models as the shortest text that tells what to do
%% next.
%%
%% ```
%%     Args = #{<<"path">> => <<"a.txt">>},
%%     {ok, Result, _} = beamai_kernel:invoke(Kernel, <<"file_read">>, Args),
%%     #{summary := Line} = beamai_display:of_result(<<"file_read">>, Args, Result).
%% '''
%%
%% For a model, {@link for_model/3} gives the same result as text:
%%
%% ```
%%     <<"# beamai", _/binary>> = beamai_display:for_model(<<"file_read">>, Args, Result).
%% '''
%%
%% Control characters in results for people are made visible, so that a file or a program cannot control the terminal.
-module(beamai_display).

-export([of_result/3, of_error/3, printable/1]).
-export([for_model/3, for_model/4, error_for_model/1, error_for_model/2, rendered/4, limit/1]).
-export_type([t/0, for_model/0]).

%% Default and minimum length of a result for models, in characters.
-define(LIMIT, 30000).
-define(LEAST_LIMIT, 1000).
%% Details of an error that models see: what a command printed before it was stopped, and the end of the message for the
%% host.
-define(TOLD, [stdout, stderr, output_file, configure]).

%% Characters that reorder text or have no width.
-define(HIDDEN, [
    {16#AD, 16#AD}, {16#34F, 16#34F}, {16#61C, 16#61C}, {16#115F, 16#1160}, {16#17B4, 16#17B5}, {16#180B, 16#180F},
    {16#200B, 16#200F}, {16#2028, 16#202E}, {16#2060, 16#206F}, {16#3164, 16#3164}, {16#FEFF, 16#FEFF},
    {16#FFA0, 16#FFA0}, {16#FFF0, 16#FFFB}, {16#1BCA0, 16#1BCA3}, {16#1D173, 16#1D17A}, {16#E0000, 16#E0FFF}
]).

%% `summary' is one line without colour. Every line of `body' ends in a line feed; it is missing if the summary says
%% everything. `text' is both, coloured for a terminal (SGR sequences of ECMA-48).
-type t() :: #{summary := binary(), text := binary(), body => binary()}.

%% Options for results for models.
-type for_model() :: #{
    %% Maximum characters of the text; 30,000 by default, at least 1,000.
    limit => pos_integer(),
    %% The owner of the tool: a dialect, or `own' for a custom tool whatever its name. By default the tool's name
    %% decides.
    dialect => binary() | own
}.

%% @doc Formats the result of a call of a built-in or custom tool.
-spec of_result(Tool :: binary(), Args :: map(), Result :: term()) -> t().
of_result(Tool, Args, Result) ->
    case for_people(Tool, Args, beamai_json_term:of_result(Result)) of
        {ok, Display} -> Display;
        error -> as_terms(Tool, Result)
    end.

for_people(Tool, Args, {ok, Term}) -> shown(#{tool => Tool, args => Args, result => Term});
for_people(_Tool, _Args, {error, _Why}) -> error.

%% @doc Formats the error of a call, including a handler's own `{error, Term}'.
-spec of_error(Tool :: binary(), Args :: map(), Error :: term()) -> t().
of_error(Tool, Args, #{error_type := _, message := _} = Error) ->
    case shown(#{tool => Tool, args => Args, error => Error}) of
        {ok, Display} -> Display;
        error -> as_terms(Tool, Error)
    end;
of_error(Tool, Args, Error) ->
    Message = unicode:characters_to_binary(own(Error)),
    of_error(Tool, Args, #{error_type => execution_failed, message => Message}).

%% @doc The result of a call as text for a model, at most 30,000 characters. The text says what is left out, and which
%% call continues. An error of the kernel can be passed in place of a result. For a term that is neither text nor JSON,
%% the text says what a handler should return instead.
-spec for_model(Tool :: binary(), Args :: map(), Result :: term()) -> binary().
for_model(Tool, Args, Result) ->
    for_model(Tool, Args, Result, #{}).

%% @doc As {@link for_model/3}, with options. Raises `{bad_option, Key}'.
-spec for_model(Tool :: binary(), Args :: map(), Result :: term(), for_model()) -> binary().
for_model(_Tool, _Args, #{error_type := _, message := _} = Error, Options) ->
    error_for_model(Error, Options);
for_model(Tool, Args, Result, Options) ->
    case rendered(Tool, Args, Result, checked(Options)) of
        {ok, #{text := Text}} -> Text;
        {error, Hint} -> Hint
    end.

%% @doc The error of a call as text for a model: what was wrong, what to do next, and what a command printed before it
%% was stopped. Accepts a handler's own `{error, Term}' too.
-spec error_for_model(Error :: term()) -> binary().
error_for_model(Error) ->
    error_for_model(Error, #{}).

%% @doc As {@link error_for_model/1}, with the option `limit'. Raises `{bad_option, Key}'.
-spec error_for_model(Error :: term(), for_model()) -> binary().
error_for_model(#{error_type := _, message := Message} = Error, Options) when is_binary(Message) ->
    Details = case Error of
        #{details := #{} = Given} -> told(Given);
        #{} -> #{}
    end,
    Plain = #{message => beamai_error:readable(Message), details => Details},
    {ok, #{text := Text}} = native(#{tool => <<>>, error => Plain, limit => maps:get(limit, checked(Options))}),
    Text;
error_for_model(Error, Options) ->
    Message = case Error of
        Text when is_binary(Text) -> Text;
        Term -> unicode:characters_to_binary(["error: ", own(Term)])
    end,
    error_for_model(#{error_type => execution_failed, message => Message}, Options).

%% An error of a custom tool. As in results, structs show what they declare, exceptions their message, and maps and lists are
%% JSON.
own(Error) ->
    case beamai_json_term:of_result(Error) of
        {ok, Text} when is_binary(Text), is_map(Error) -> Text;
        {ok, Term} when is_map(Term); is_list(Term) -> as_json(Term);
        {ok, Term} -> beamai_error:show(Term, ?LIMIT);
        {error, Why} -> Why
    end.

as_json(Term) ->
    case not io_lib:printable_unicode_list(Term) andalso beamai_json:encode(Term) of
        {ok, Json} -> Json;
        _ -> beamai_error:show(Term, ?LIMIT)
    end.

told(Details) ->
    maps:from_list([{Key, beamai_error:readable(Text)} || {Key, Text} <- maps:to_list(maps:with(?TOLD, Details)), is_binary(Text)]).

%% @doc Validates the maximum length of results for models. Raises `{bad_option, limits}'.
-spec limit(term()) -> pos_integer().
limit(default) -> ?LIMIT;
limit(Limit) when is_integer(Limit), Limit >= ?LEAST_LIMIT -> Limit;
limit(Other) ->
    Least = integer_to_binary(?LEAST_LIMIT),
    beamai_validate:bad_option(limits, ["result must be a number of characters from ", Least, " on, not ", beamai_validate:show(Other)]).

%% @private The text, and, if `object' is set, the object that the text protocol specifies for the tool; or what is
%% wrong with a custom tool's result.
-spec rendered(Tool :: binary(), Args :: map(), Result :: term(), #{limit := pos_integer(), dialect => binary() | own, object => boolean()}) ->
    {ok, #{text := binary(), object => map()}} | {error, Hint :: binary()}.
rendered(Tool, Args, Result, Options) ->
    case beamai_json_term:of_result(Result) of
        {ok, Term} ->
            Request = maps:merge(#{tool => Tool, result => Term, args => Args}, maps:map(fun named/2, Options)),
            readable(native(Request), Tool, Term);
        {error, Why} ->
            {error, <<Tool/binary, " returned what a model cannot be given: ", Why/binary>>}
    end.

readable({error, not_json}, Tool, Result) -> {error, no_json(Tool, Result)};
readable(Rendered, _Tool, _Result) -> Rendered.

named(dialect, own) -> null;
named(_Key, Value) -> Value.

native(Request) ->
    case binary_to_term(beamai_nif:for_model(term_to_binary(Request)), [safe]) of
        {ok, #{<<"text">> := Text, <<"object">> := null}} -> {ok, #{text => Text}};
        {ok, #{<<"text">> := Text, <<"object">> := Object}} -> {ok, #{text => Text, object => Object}};
        {error, #{<<"details">> := #{<<"is_json">> := false}}} -> {error, not_json};
        {error, #{<<"message">> := Hint}} -> {error, Hint}
    end.

no_json(Tool, Result) ->
    %% Text that is not UTF-8 is shown as bytes.
    Shown = unicode:characters_to_binary(beamai_syntax:show(Result, 200)),
    <<Tool/binary, " returned a term that is neither text nor JSON: ", Shown/binary,
        "; a handler returns UTF-8 text, or maps, lists, numbers, atoms and text">>.

checked(#{} = Options) ->
    Known = maps:map(fun option/2, Options),
    maps:merge(#{limit => limit(default)}, Known).

option(limit, Limit) -> limit(Limit);
option(dialect, Dialect) when is_binary(Dialect); Dialect =:= own -> Dialect;
option(dialect, Other) -> beamai_validate:bad_option(dialect, ["must be the name of a dialect, or own, not ", beamai_validate:show(Other)]);
option(Key, _Value) -> beamai_validate:unknown_option(Key, [limit, dialect]).

%% @doc Makes text of a model, server or command safe for a terminal: control characters except line feeds and tabs, and
%% characters that reorder or hide text, become U+FFFD. Nothing is cut. `native/text/src/shown.rs' defines the same
%% characters; a test compares the two.
-spec printable(unicode:chardata()) -> [char()].
printable(Text) ->
    [visible(Char) || Char <- unicode:characters_to_list(Text)].

visible(Char) when Char =:= $\n; Char =:= $\t -> Char;
visible(Char) when Char < 32; Char >= 127, Char < 160 -> 16#FFFD;
visible(Char) when Char < 16#AD -> Char;
visible(Char) ->
    case [hidden || {First, Last} <- ?HIDDEN, Char >= First, Char =< Last] of
        [] -> Char;
        [hidden] -> 16#FFFD
    end.

shown(Request) ->
    case binary_to_term(beamai_nif:display(term_to_binary(Request)), [safe]) of
        {ok, #{<<"summary">> := Summary, <<"body">> := Body, <<"text">> := Text}} ->
            Display = #{summary => Summary, text => Text},
            {ok, if is_binary(Body) -> Display#{body => Body}; Body =:= null -> Display end};
        {error, _NotJson} ->
            error
    end.

%% Shows terms that JSON cannot represent in Erlang syntax.
as_terms(Tool, Term) ->
    Text = unicode:characters_to_binary(beamai_syntax:show(Term, ?LIMIT)),
    {ok, Display} = shown(#{tool => Tool, args => #{}, result => Text}),
    Display.
