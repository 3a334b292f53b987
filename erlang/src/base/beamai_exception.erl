%% @doc Describes exceptions of the host's code in words, for models and logs.
%%
%% Exceptions of Elixir code are described as Elixir does it, all others in plain English. Arguments of functions are not
%% shown: they may be secret.
%% @hidden
-module(beamai_exception).

-export([describe/4, ended/2]).
-export_type([code/0]).

%% Maximum length of a description that is made here. It may contain values, such as the right hand side of a failed match.
-define(CHARS, 240).
-define(VALUE_CHARS, 200).

%% The function that raised, or was running when its process ended, if it is known.
-type code() :: none | fun() | {module(), atom()} | {module(), atom(), [term()]}.

%% @doc What was raised: the name of the exception and its message.
-spec describe(error | exit | throw, Reason :: term(), erlang:stacktrace(), code()) -> unicode:chardata().
describe(exit, Reason, _Stack, Code) ->
    ["exit: ", ended(Reason, Code)];
describe(Class, Reason, Stack, Code) ->
    case {named(Reason), is_elixir(Code, Stack)} of
        {{ok, Said}, _} -> Said;
        {none, true} -> in_elixir(Class, Reason, without_values(Reason, Stack));
        {none, false} -> in_erlang(Class, Reason, without_values(Reason, Stack))
    end.

%% An exception of Elixir with its message.
named(Reason) ->
    case beamai_syntax:message(Reason) of
        {ok, Message} -> {ok, [beamai_syntax:module_name(maps:get('__struct__', Reason)), ": ", Message]};
        none -> none
    end.

%% @doc Why a process ended. An error of its code is described as such.
-spec ended(Reason :: term(), code()) -> unicode:chardata().
ended({Reason, [{_, _, _, _} | _] = Stack}, Code) ->
    describe(error, Reason, Stack, Code);
ended({{_, [{_, _, _, _} | _]} = Ended, {M, F, Args}}, Code) when is_list(Args) ->
    [call(M, F, Args, Code), " exited: ", ended(Ended, Code)];
ended({shutdown, Reason}, Code) ->
    ["shutdown: ", ended(Reason, Code)];
ended(Reason, Code) ->
    case {named(Reason), is_elixir(Code, [])} of
        {{ok, Said}, _} -> Said;
        %% The reason is on a line of its own there.
        {none, true} -> cut(string:replace(beamai_syntax:format_exit(Reason), "\n    ** (EXIT) ", ": "));
        {none, false} -> show(Reason)
    end.

%% A fun of beamai may have called the host's.
is_elixir(Code, Stack) ->
    Modules = [module(Code) | [M || {M, _F, _Args, _Info} <- Stack]],
    beamai_syntax:is_elixir() orelse lists:any(fun is_elixir_module/1, Modules) andalso beamai_syntax:has_elixir().

module(Fun) when is_function(Fun) -> element(2, erlang:fun_info(Fun, module));
module({M, _F}) -> M;
module({M, _F, _Extra}) -> M;
module(none) -> none.

is_elixir_module(Module) -> string:prefix(atom_to_list(Module), "Elixir.") =/= nomatch.

call(M, F, Args, Code) ->
    case is_elixir(Code, []) of
        true -> beamai_syntax:format_mfa(M, F, length(Args));
        false -> mfa(M, F, Args)
    end.

%% These values of a stack trace would be shown: the map that lacks the key, what a function was called on, and a part of a
%% binary, of which the type is left.
without_values({badkey, _Key}, _Stack) -> [];
without_values(badarg, [{erlang, apply, _Args, _Info} | Rest]) -> Rest;
without_values(badarg, [{M, F, Args, Info} | Rest]) -> [{M, F, Args, [typed(Entry) || Entry <- Info]} | Rest];
without_values(_Reason, Stack) -> Stack.

typed({error_info, #{cause := {Segment, Type, Error, Value}} = About}) ->
    {error_info, About#{cause := {Segment, Type, Error, type(Value)}}};
typed(Entry) ->
    Entry.

type(Value) when is_atom(Value) -> atom;
type(Value) when is_bitstring(Value) -> bitstring;
type(Value) when is_map(Value) -> map;
type(Value) when is_list(Value) -> list;
type(Value) when is_number(Value) -> number;
type(Value) when is_tuple(Value) -> tuple;
type(_Value) -> other.

%%% Elixir

in_elixir(error, Reason, Stack) ->
    {ok, Said} = named(beamai_syntax:normalized(Reason, Stack)),
    cut(string:trim(Said));
in_elixir(throw, Reason, _Stack) ->
    ["throw: ", show(Reason)].

%%% Erlang

in_erlang(error, undef, [{M, F, Args, _} | _]) -> ["undef: there is no function ", mfa(M, F, Args)];
in_erlang(error, function_clause, [{M, F, Args, _} | _]) -> ["function_clause: no clause of ", mfa(M, F, Args), " takes what it was given"];
in_erlang(error, {badkey, Key, _Map}, Stack) -> in_erlang(error, {badkey, Key}, Stack);
in_erlang(error, Reason, Stack) ->
    [known(Reason), details(Reason, Stack)];
in_erlang(throw, Reason, _Stack) ->
    plain(throw, Reason).

%% A reason that OTP does not know is only shown there.
known(Reason) ->
    Show = fun(Term, _Column) -> show(Term) end,
    Text = unicode:characters_to_binary(erl_error:format_exception(error, Reason, [], #{format_fun => Show})),
    case {string:prefix(Text, "exception error: "), unicode:characters_to_binary(show(Reason))} of
        {nomatch, _} -> plain(error, Reason);
        {Same, Same} -> plain(error, Reason);
        {Said, _} -> [name(Reason), ": ", Said]
    end.

name(Reason) when is_tuple(Reason) -> atom_to_binary(element(1, Reason));
name(Reason) -> atom_to_binary(Reason).

%% What a function says of its own error, as those of OTP do of their arguments.
details(Reason, [{M, F, Args, Info} | _] = Stack) ->
    case proplists:get_value(error_info, Info) of
        #{} = About -> said(mfa(M, F, Args), about(maps:get(module, About, M), maps:get(function, About, format_error), Reason, Stack));
        undefined -> ""
    end;
details(_Reason, _Stack) ->
    "".

about(M, F, Reason, Stack) ->
    try
        lists:sort([{Key, Text} || {Key, Text} <- maps:to_list(M:F(Reason, Stack)), is_integer(Key) orelse Key =:= general])
    catch
        _:_ -> []
    end.

said(_MFA, []) -> "";
said(MFA, Details) -> [" in ", MFA, ": ", lists:join("; ", [detail(Detail) || Detail <- Details])].

detail({general, Text}) -> Text;
detail({Number, Text}) -> ["argument ", integer_to_binary(Number), ": ", Text].

mfa(M, F, Args) when is_list(Args) -> mfa(M, F, length(Args));
mfa(M, F, Arity) -> io_lib:format("~tp:~tp/~b", [M, F, Arity]).

plain(Class, Reason) -> [atom_to_binary(Class), ":", show(Reason)].

show(Term) -> beamai_error:show(Term, ?VALUE_CHARS).

cut(Text) ->
    case string:length(Text) =< ?CHARS of
        true -> Text;
        false -> [string:slice(Text, 0, ?CHARS), "..."]
    end.
