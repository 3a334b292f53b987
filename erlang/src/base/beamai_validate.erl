%% @doc Validates values from the host, and raises errors that say what is wrong and what is accepted.
%%
%% The error reason is short; shell and logger show the explanation with it.
%% @hidden
-module(beamai_validate).

-export([raise/2, bad_option/2, unknown_option/2, unknown_key/2, one_of/3, is_one_of/2, show/1, wrong/3, kernel/1, context/1, options/1, tool_name/1, tool_names/1, list/3, format_error/2]).

%% @doc Raises `Reason' with an explanation. For an Elixir host the reason is a `Beamai.OptionError' of both, because
%% Elixir does not show the explanation of an Erlang error.
-spec raise(Reason :: term(), Explanation :: iodata()) -> no_return().
raise(Reason, Explanation) ->
    Text = unicode:characters_to_binary(Explanation),
    Raised = beamai_syntax:option_error(Reason, Text),
    erlang:error(Raised, none, [{error_info, #{module => ?MODULE, cause => #{general => Text}}}]).

%% @doc Raises `{bad_option, Key}'. The explanation says what is wrong with the value.
-spec bad_option(Key :: term(), Explanation :: iodata()) -> no_return().
bad_option(Key, Explanation) ->
    raise({bad_option, Key}, [named(Key), ": ", Explanation]).

%% @doc Raises `{bad_option, Key}' for an option that is not one of `Known'.
-spec unknown_option(Key :: term(), Known :: [atom()]) -> no_return().
unknown_option(Key, Known) ->
    bad_option(Key, ["is not an option", unknown_key(Key, Known)]).

%% @doc What follows on the words that a key of a map is not known: the keys that are.
-spec unknown_key(Key :: term(), Known :: [atom()]) -> iolist().
unknown_key(Key, Known) ->
    Names = lists:join(", ", [atom_to_binary(Each) || Each <- Known]),
    Number = case Known of [_] -> "; the option is "; _ -> "; the options are " end,
    case [Each || Each <- Known, atom_to_binary(Each) =:= Key] of
        [Meant] -> [", because it is a ", beamai_syntax:text(), "; write the atom ", beamai_syntax:atom(Meant)];
        [] -> [Number, Names]
    end.

%% @doc Raises `{bad_option, Key}' for a value that is none of the atoms.
-spec one_of(Key :: atom(), [atom(), ...], Value :: term()) -> no_return().
one_of(Key, Atoms, Value) ->
    bad_option(Key, is_one_of(Atoms, Value)).

%% @doc Says that the value must be one of the atoms.
-spec is_one_of([atom(), ...], Value :: term()) -> iolist().
is_one_of(Atoms, Value) ->
    ["must be ", beamai_syntax:atoms(Atoms), ", not ", show(Value)].

named(Key) when is_atom(Key) -> atom_to_binary(Key);
named(Key) -> show(Key).

%% @doc Raises `{Kind, Term}' for a term of the host that is not what `Wanted' says. The host may have passed options with
%% keys in them, so the term is masked as by {@link show/1}.
-spec wrong(Kind :: atom(), term(), Wanted :: iodata()) -> no_return().
wrong(Kind, Term, Wanted) ->
    raise({Kind, beamai_secret:mask(Term)}, [Wanted, ", not ", show(Term)]).

%% @doc Raises `{bad_kernel, Term}' if the term is not a kernel.
-spec kernel(term()) -> ok.
kernel(#{tools := _, filters := _, env := _}) -> ok;
kernel(Other) -> wrong(bad_kernel, Other, ["a kernel is what ", beamai_syntax:either("beamai_kernel:new", "Beamai.new"), " gives"]).

%% @doc Raises `{bad_context, Term}' if the term is not a context or has a callback that is not a function of one argument.
-spec context(term()) -> ok.
context(#{approve := Fun}) when Fun =/= undefined, not is_function(Fun, 1) -> bad_callback(approve, Fun);
context(#{ask_user := Fun}) when Fun =/= undefined, not is_function(Fun, 1) -> bad_callback(ask_user, Fun);
context(Context) when is_map(Context) -> ok;
context(Other) -> wrong(bad_context, Other, ["a context is a map, as ", beamai_syntax:either("beamai_context:new", ":beamai_context.new"), " gives it"]).

-spec bad_callback(atom(), term()) -> no_return().
bad_callback(Key, Other) ->
    raise({bad_context, #{Key => beamai_secret:mask(Other)}}, [atom_to_binary(Key), " in a context must be a function of one argument, not ", show(Other)]).

%% @doc Raises `{bad_option, options}' if the options are not a map.
-spec options(term()) -> ok.
options(Options) when is_map(Options) -> ok;
options(Other) -> raise({bad_option, options}, ["the options must be a map, not ", show(Other)]).

%% @doc Raises `{bad_tool_name, Term}' if the term is not a binary.
-spec tool_name(term()) -> ok.
tool_name(Name) when is_binary(Name) -> ok;
tool_name(Other) -> raise({bad_tool_name, Other}, ["the name of a tool is a ", beamai_syntax:text(), ", not ", show(Other)]).

%% @doc As {@link tool_name/1}, for a list of names.
-spec tool_names(term()) -> ok.
tool_names(Names) ->
    list(Names, bad_tool_name, ["names of tools, each a ", beamai_syntax:text(), ","]),
    lists:foreach(fun tool_name/1, Names).

%% @doc Raises `{Reason, Term}' if the term is not a proper list of `What'.
-spec list(term(), Reason :: atom(), What :: iodata()) -> ok.
list(Term, _Reason, _What) when length(Term) >= 0 -> ok;
list(Other, Reason, What) -> raise({Reason, Other}, ["a list of ", What, " is wanted, not ", show(Other)]).

%% @private Formats the error for shell and logger.
-spec format_error(term(), erlang:stacktrace()) -> map().
format_error(_Reason, [{_M, _F, _Args, Info} | _]) ->
    maps:get(cause, proplists:get_value(error_info, Info, #{}), #{});
format_error(_Reason, _Stack) ->
    #{}.

%% @doc A wrong value of the host as an explanation shows it: without the values in a container, see
%% {@link beamai_secret:mask/1}.
-spec show(term()) -> unicode:chardata().
show(Term) ->
    beamai_error:show(beamai_secret:mask(Term), 80).
