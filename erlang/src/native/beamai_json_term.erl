%% @doc What a host's own tool returned, as a term that JSON can say.
%%
%% Models read JSON; tools return what their language has. Lists of pairs whose keys are different atoms become objects,
%% integers as keys become text, and Elixir's structs what they say of themselves. A struct that does not say which of its
%% fields may be seen is refused, since any of them may be a secret.
%% @hidden
-module(beamai_json_term).

-export([of_result/1]).

%% Encoders of structs in the order in which they are asked: a protocol, and how its answer becomes a term.
-define(ENCODERS, ['Elixir.Beamai.Result', 'Elixir.Jason.Encoder', 'Elixir.JSON.Encoder']).
-define(CALENDAR, ['Elixir.DateTime', 'Elixir.NaiveDateTime', 'Elixir.Date', 'Elixir.Time']).

%% @doc The term, or a sentence on the struct that cannot be shown. What JSON cannot say for other reasons stays as it is.
-spec of_result(term()) -> {ok, term()} | {error, Why :: binary()}.
of_result(Term) ->
    try
        {ok, plain(Term)}
    catch
        throw:{?MODULE, Why} -> {error, unicode:characters_to_binary(Why)}
    end.

plain(#{'__struct__' := Module} = Struct) when is_atom(Module) ->
    struct(Module, Struct);
plain(Map) when is_map(Map) ->
    maps:from_list([{key(Key), plain(Value)} || {Key, Value} <- maps:to_list(Map)]);
plain([{Key, _} | _] = Pairs) when is_atom(Key) ->
    case is_object(Pairs) of
        true -> plain(maps:from_list(Pairs));
        false -> Pairs
    end;
plain([Head | Tail]) ->
    [plain(Head) | plain(Tail)];
plain(Other) ->
    Other.

%% Keys that come twice would be lost.
is_object(Pairs) ->
    is_integer(catch length(Pairs)) andalso
        lists:all(fun(Pair) -> is_tuple(Pair) andalso tuple_size(Pair) =:= 2 andalso is_atom(element(1, Pair)) end, Pairs) andalso
        length(lists:ukeysort(1, Pairs)) =:= length(Pairs).

key(Key) when is_integer(Key) -> integer_to_binary(Key);
key(Key) -> Key.

%%% Structs

struct(Module, Struct) ->
    case beamai_syntax:message(Struct) of
        {ok, Message} -> Message;
        none -> value(Module, Struct)
    end.

value('Elixir.MapSet', Set) ->
    plain(call('Elixir.MapSet', to_list, [Set]));
value(Module, Struct) ->
    case lists:member(Module, ?CALENDAR) of
        true -> call(Module, to_iso8601, [Struct]);
        false -> encoded(?ENCODERS, Module, Struct)
    end.

encoded([Protocol | Others], Module, Struct) ->
    case implementation(Protocol, Struct) of
        none -> encoded(Others, Module, Struct);
        _ -> plain(through(Protocol, Struct))
    end;
encoded([], Module, Struct) ->
    case implementation('Elixir.String.Chars', Struct) of
        none -> throw({?MODULE, unsaid(Module)});
        _ -> call('Elixir.String.Chars', to_string, [Struct])
    end.

%% `Any' is what encoders have for structs that derive nothing: it raises, or shows every field.
implementation(Protocol, Struct) ->
    case code:ensure_loaded(Protocol) of
        {module, _} -> of_its_own(call(Protocol, impl_for, [Struct]), Protocol);
        {error, _} -> none
    end.

of_its_own(nil, _Protocol) ->
    none;
of_its_own(Implementation, Protocol) ->
    case atom_to_binary(Implementation) =:= <<(atom_to_binary(Protocol))/binary, ".Any">> of
        true -> none;
        false -> Implementation
    end.

through('Elixir.Beamai.Result', Struct) ->
    call('Elixir.Beamai.Result', to_result, [Struct]);
through('Elixir.Jason.Encoder', Struct) ->
    decoded(call('Elixir.Jason', 'encode!', [Struct]));
through('Elixir.JSON.Encoder', Struct) ->
    decoded(call('Elixir.JSON', 'encode!', [Struct])).

decoded(Text) ->
    {ok, Term} = beamai_json:decode(Text),
    Term.

unsaid(Module) ->
    Name = string:replace(atom_to_binary(Module), "Elixir.", "", leading),
    [
        "the struct %", Name, "{} does not say which of its fields a model may see; put @derive {Beamai.Result, only: [...]} ",
        "before its defstruct, or return a map"
    ].

%% Modules of libraries that need not be there.
call(Module, Function, Args) ->
    apply(Module, Function, Args).
