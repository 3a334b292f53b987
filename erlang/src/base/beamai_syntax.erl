%% @doc Formats terms for messages in the syntax of the host's language.
%%
%% The application environment's `syntax' selects it: `erlang', or `elixir' if mix has built the application.
%% @hidden
-module(beamai_syntax).

-export([show/2, options/1, function/3, either/2, atom/1, atoms/1, listed/1, text/0, message/1, option_error/2]).
-export([is_elixir/0, has_elixir/0, module_name/1, normalized/2, format_exit/1, format_mfa/3]).

%% @doc Formats a term in at most about `Limit' characters.
-spec show(term(), Limit :: pos_integer()) -> unicode:chardata().
show(Term, Limit) ->
    case is_elixir() of
        true -> inspected(Term, Limit);
        false -> io_lib:format("~0tp", [Term], [{chars_limit, Limit}])
    end.

inspected(Term, Limit) ->
    Text = call('Elixir.Kernel', inspect, [Term, [{limit, Limit div 4}, {printable_limit, Limit}, {width, infinity}]]),
    case string:length(Text) =< Limit of
        true -> Text;
        false -> [string:slice(Text, 0, Limit), "..."]
    end.

%% @doc A sentence with options as Erlang terms, in the host's syntax.
-spec options(binary()) -> binary().
options(Text) ->
    case is_elixir() of
        true -> lists:foldl(fun({Erlang, Elixir}, Before) -> re:replace(Before, Erlang, Elixir, [global, {return, binary}]) end, Text, elixir());
        false -> Text
    end.

elixir() ->
    [
        {<<"<<(\"(?:[^\"\\\\]|\\\\.)*\")(?:/utf8)?>>">>, <<"\\1">>},
        {<<"#\\{">>, <<"%{">>},
        {<<"\\[([a-z]\\w*)\\]">>, <<"[:\\1]">>},
        {<<"\\b([a-z]\\w*) => (true|false)\\b">>, <<"\\1: \\2">>},
        {<<"\\b([a-z]\\w*) => ([a-z]\\w*)\\b">>, <<"\\1: :\\2">>},
        {<<"\\b([a-z]\\w*) => ">>, <<"\\1: ">>}
    ].

%% @doc Selects the text in the host's language.
-spec either(Erlang :: Text, Elixir :: Text) -> Text.
either(Erlang, Elixir) ->
    case is_elixir() of
        true -> Elixir;
        false -> Erlang
    end.

%% @doc An atom as the host writes it.
-spec atom(atom()) -> unicode:chardata().
atom(Atom) -> show(Atom, 255).

%% @doc The atoms from which one is chosen: `a, b or c'.
-spec atoms([atom(), ...]) -> unicode:chardata().
atoms([Atom]) -> atom(Atom);
atoms(Atoms) -> [listed(lists:droplast(Atoms)), " or ", atom(lists:last(Atoms))].

%% @doc Atoms with commas between them.
-spec listed([atom()]) -> unicode:chardata().
listed(Atoms) -> lists:join(", ", [atom(Atom) || Atom <- Atoms]).

%% @doc What the host's language calls a text.
-spec text() -> string().
text() -> either("binary", "string").

%% @doc The message of an Elixir exception; `none' for other terms.
-spec message(term()) -> {ok, binary()} | none.
message(#{'__struct__' := Module, '__exception__' := true} = Exception) when is_atom(Module) ->
    try call('Elixir.Exception', message, [Exception]) of
        Text -> {ok, valid(Text)}
    catch
        error:undef -> none
    end;
message(_Term) ->
    none.

%% @doc The reason with which an invalid option is raised: for an Elixir host the exception `Beamai.OptionError', if its
%% module is there.
-spec option_error(Reason :: term(), Message :: binary()) -> term().
option_error(Reason, Message) ->
    case is_elixir() andalso code:ensure_loaded('Elixir.Beamai.OptionError') of
        {module, Module} -> call(Module, exception, [[{reason, Reason}, {message, Message}]]);
        _ -> Reason
    end.

%% Bytes that are not UTF-8 are taken for Latin-1 characters.
valid(Text) ->
    case unicode:characters_to_binary(Text) of
        Text -> Text;
        _ -> unicode:characters_to_binary(Text, latin1)
    end.

%% @doc Whether the host is written in Elixir.
-spec is_elixir() -> boolean().
is_elixir() ->
    application:get_env(beamai, syntax, erlang) =:= elixir andalso has_elixir().

%% @doc Whether Elixir is there.
-spec has_elixir() -> boolean().
has_elixir() ->
    code:ensure_loaded('Elixir.Exception') =/= {error, nofile}.

%% @doc The name of an Elixir module as its source has it.
-spec module_name(module()) -> unicode:chardata().
module_name(Module) ->
    string:replace(atom_to_binary(Module), "Elixir.", "", leading).

%% @doc The Elixir exception for the reason of an error. Needs Elixir.
-spec normalized(Reason :: term(), erlang:stacktrace()) -> map().
normalized(Reason, Stack) ->
    call('Elixir.Exception', normalize, [error, Reason, Stack]).

%% @doc The reason of an exit in words. Needs Elixir.
-spec format_exit(Reason :: term()) -> binary().
format_exit(Reason) ->
    call('Elixir.Exception', format_exit, [Reason]).

%% @doc A function in the host's syntax.
-spec function(module(), atom(), arity()) -> unicode:chardata().
function(Module, Function, Arity) ->
    case is_elixir() of
        true -> format_mfa(Module, Function, Arity);
        false -> io_lib:format("~tp:~tp/~b", [Module, Function, Arity])
    end.

%% @doc A function in Elixir's syntax. Needs Elixir.
-spec format_mfa(module(), atom(), arity()) -> binary().
format_mfa(Module, Function, Arity) ->
    call('Elixir.Exception', format_mfa, [Module, Function, Arity]).

%% Calls a module that may not be loaded, since Elixir is optional.
call(Module, Function, Args) ->
    apply(Module, Function, Args).
