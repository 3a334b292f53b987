%% @doc Results for their two readers besides programs: for people a line that says what happened and what there is to
%% look at, for models the smallest text from which they know what to do next.
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
%% Text of results for people is shown with its control characters made visible, so that a file or a program cannot
%% steer the terminal that shows it.
-module(beamai_display).

-export([of_result/3, of_error/3, printable/1]).
-export([for_model/3, for_model/4, error_for_model/1, error_for_model/2, rendered/4, limit/1]).
-export_type([t/0, for_model/0]).

%% Characters of a result for models, and the least that can be set.
-define(LIMIT, 30000).
-define(LEAST_LIMIT, 1000).
%% Keys of an error's details that change what a model reads: what a command printed before it was stopped, and the end of
%% the message that is for the host.
-define(TOLD, [stdout, stderr, output_file, configure]).

%% What reorders text, or has no width.
-define(HIDDEN, [
    {16#AD, 16#AD}, {16#34F, 16#34F}, {16#61C, 16#61C}, {16#115F, 16#1160}, {16#17B4, 16#17B5}, {16#180B, 16#180F},
    {16#200B, 16#200F}, {16#2028, 16#202E}, {16#2060, 16#206F}, {16#3164, 16#3164}, {16#FEFF, 16#FEFF},
    {16#FFA0, 16#FFA0}, {16#FFF0, 16#FFFB}, {16#1BCA0, 16#1BCA3}, {16#1D173, 16#1D17A}, {16#E0000, 16#E0FFF}
]).

%% `summary' is one line without colour. `body' has lines that end in line feeds; it is missing where the
%% summary says all. `text' is both, with colour for a terminal (SGR sequences of ECMA-48).
-type t() :: #{summary := binary(), text := binary(), body => binary()}.

%% How a result is rendered for a model.
-type for_model() :: #{
    %% Most characters of the text; 30,000 by default, and at least 1,000.
    limit => pos_integer(),
    %% Whose tool it was: a dialect's, or the host's `own' whatever its name is. By default the tool's name decides.
    dialect => binary() | own
}.

%% @doc The result of a call, of a built-in tool or of one's own.
-spec of_result(Tool :: binary(), Args :: map(), Result :: term()) -> t().
of_result(Tool, Args, Result) ->
    case for_people(Tool, Args, beamai_json_term:of_result(Result)) of
        {ok, Display} -> Display;
        error -> as_terms(Tool, Result)
    end.

for_people(Tool, Args, {ok, Term}) -> shown(#{tool => Tool, args => Args, result => Term});
for_people(_Tool, _Args, {error, _Why}) -> error.

%% @doc The error of a call, also one that a handler gave as `{error, Term}'.
-spec of_error(Tool :: binary(), Args :: map(), Error :: term()) -> t().
of_error(Tool, Args, #{error_type := _, message := _} = Error) ->
    case shown(#{tool => Tool, args => Args, error => Error}) of
        {ok, Display} -> Display;
        error -> as_terms(Tool, Error)
    end;
of_error(Tool, Args, Error) ->
    Message = unicode:characters_to_binary(own(Error)),
    of_error(Tool, Args, #{error_type => execution_failed, message => Message}).

%% @doc The result of a call as text for a model, of at most 30,000 characters. It says what is left out, and with which
%% call to go on. An error of the kernel may be given in a result's place. What is neither text nor JSON gives the hint what
%% to return instead.
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

%% @doc The error of a call as text for a model: what was wrong, what to do next, and what a command had printed until
%% then. Also one that a handler gave as `{error, Term}'.
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

%% An error of the host's own: an exception says what it is.
own(Error) ->
    case beamai_syntax:message(Error) of
        {ok, Message} -> Message;
        none -> beamai_error:show(Error, ?LIMIT)
    end.

told(Details) ->
    maps:from_list([{Key, beamai_error:readable(Text)} || {Key, Text} <- maps:to_list(maps:with(?TOLD, Details)), is_binary(Text)]).

%% @doc The most characters of a result for models. Raises `{bad_option, limits}' where it is none.
-spec limit(term()) -> pos_integer().
limit(default) -> ?LIMIT;
limit(Limit) when is_integer(Limit), Limit >= ?LEAST_LIMIT -> Limit;
limit(Other) ->
    Least = integer_to_binary(?LEAST_LIMIT),
    beamai_validate:bad_option(limits, ["the result's must be a number of characters from ", Least, " on, not ", beamai_error:show(Other, 80)]).

%% @private The text, and where `object' asks for it the object that the text protocol has for a tool of its
%% specification; or what is wrong with the result of the host's own tool.
-spec rendered(Tool :: binary(), Args :: map(), Result :: term(), #{limit := pos_integer(), dialect => binary() | own, object => boolean()}) ->
    {ok, #{text := binary(), object => map()}} | {error, Hint :: binary()}.
rendered(Tool, Args, Result, Options) ->
    case beamai_json_term:of_result(Result) of
        {ok, Term} ->
            Request = maps:merge(#{tool => Tool, result => Term, args => Args}, maps:map(fun named/2, Options)),
            readable(native(Request), Tool, Result);
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
    Shown = unicode:characters_to_binary(beamai_error:show(Result, 200)),
    <<Tool/binary, " returned a term that is neither text nor JSON: ", Shown/binary,
        "; a handler returns UTF-8 text, or maps, lists, numbers and text">>.

checked(#{} = Options) ->
    Known = maps:map(fun option/2, Options),
    maps:merge(#{limit => limit(default)}, Known).

option(limit, Limit) -> limit(Limit);
option(dialect, Dialect) when is_binary(Dialect); Dialect =:= own -> Dialect;
option(dialect, Other) -> beamai_validate:bad_option(dialect, ["must be the name of a dialect, or own, not ", beamai_error:show(Other, 80)]);
option(Key, _Value) -> beamai_validate:bad_option(Key, "is not an option; the options are limit and dialect").

%% @doc Text of a model, a server or a command, unable to steer the terminal: control characters other than
%% line feeds and tabs, and those that reorder or hide text, become U+FFFD. Nothing is cut. Which characters
%% these are, `native/text/src/shown.rs' says; a test holds both to the same.
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

%% What JSON cannot say, as Erlang writes it.
as_terms(Tool, Term) ->
    Text = unicode:characters_to_binary(beamai_syntax:show(Term, ?LIMIT)),
    {ok, Display} = shown(#{tool => Tool, args => #{}, result => Text}),
    Display.
