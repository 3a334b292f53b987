%% @doc Formats terms for messages in the syntax of the host's language.
%%
%% The application environment's `syntax' selects it: `erlang', or `elixir' if mix has built the application.
%% @hidden
-module(beamai_syntax).

-export([show/2, either/2, message/1]).

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

%% @doc Selects the text in the host's language.
-spec either(Erlang :: Text, Elixir :: Text) -> Text.
either(Erlang, Elixir) ->
    case is_elixir() of
        true -> Elixir;
        false -> Erlang
    end.

%% @doc The message of an Elixir exception; `none' for other terms.
-spec message(term()) -> {ok, binary()} | none.
message(#{'__struct__' := Module, '__exception__' := true} = Exception) when is_atom(Module) ->
    try call('Elixir.Exception', message, [Exception]) of
        Text -> text(unicode:characters_to_binary(Text))
    catch
        error:undef -> none
    end;
message(_Term) ->
    none.

text(Text) when is_binary(Text) -> {ok, Text};
text(_NotUtf8) -> none.

is_elixir() ->
    application:get_env(beamai, syntax, erlang) =:= elixir andalso code:ensure_loaded('Elixir.Kernel') =/= {error, nofile}.

%% Calls a module that may not be loaded, since Elixir is optional.
call(Module, Function, Args) ->
    apply(Module, Function, Args).
