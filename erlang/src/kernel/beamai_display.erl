%% @doc Results for people: a line that says what happened, and what there is to look at.
%%
%% ```
%%     Args = #{<<"path">> => <<"a.txt">>},
%%     {ok, Result, _} = beamai_kernel:invoke(Kernel, <<"file_read">>, Args),
%%     #{summary := Line} = beamai_display:of_result(<<"file_read">>, Args, Result).
%% '''
%%
%% Text of results is shown with its control characters made visible, so that a file or a program cannot
%% steer the terminal that shows it.
-module(beamai_display).

-export([of_result/3, of_error/3, printable/1]).
-export_type([t/0]).

%% What reorders text, or has no width.
-define(HIDDEN, [
    {16#AD, 16#AD}, {16#34F, 16#34F}, {16#61C, 16#61C}, {16#115F, 16#1160}, {16#17B4, 16#17B5}, {16#180B, 16#180F},
    {16#200B, 16#200F}, {16#2028, 16#202E}, {16#2060, 16#206F}, {16#3164, 16#3164}, {16#FEFF, 16#FEFF},
    {16#FFA0, 16#FFA0}, {16#FFF0, 16#FFFB}, {16#1BCA0, 16#1BCA3}, {16#1D173, 16#1D17A}, {16#E0000, 16#E0FFF}
]).

%% `summary' is one line without colour. `body' has lines that end in line feeds; it is missing where the
%% summary says all. `text' is both, with colour for a terminal (SGR sequences of ECMA-48).
-type t() :: #{summary := binary(), text := binary(), body => binary()}.

%% @doc The result of a call, of a built-in tool or of one's own.
-spec of_result(Tool :: binary(), Args :: map(), Result :: term()) -> t().
of_result(Tool, Args, Result) ->
    case shown(#{tool => Tool, args => Args, result => Result}) of
        {ok, Display} -> Display;
        error -> as_terms(Tool, Result)
    end.

%% @doc The error of a call, also one that a handler gave as `{error, Term}'.
-spec of_error(Tool :: binary(), Args :: map(), Error :: term()) -> t().
of_error(Tool, Args, #{error_type := _, message := _} = Error) ->
    case shown(#{tool => Tool, args => Args, error => Error}) of
        {ok, Display} -> Display;
        error -> as_terms(Tool, Error)
    end;
of_error(Tool, Args, Error) ->
    Message = unicode:characters_to_binary(io_lib:format("~tp", [Error])),
    of_error(Tool, Args, #{error_type => execution_failed, message => Message}).

%% @doc Text of a model, a server or a command, unable to steer the terminal: control characters other than
%% line feeds and tabs, and those that reorder or hide text, become U+FFFD. Nothing is cut. Which characters
%% these are, `native/tools/src/text/shown.rs' says; a test holds both to the same.
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
    Text = unicode:characters_to_binary(io_lib:format("~tp", [Term])),
    {ok, Display} = shown(#{tool => Tool, args => #{}, result => Text}),
    Display.
