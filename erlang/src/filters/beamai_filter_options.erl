%% @doc Options shared by several filters of {@link beamai_filters}.
%% @hidden
-module(beamai_filter_options).

-export([is_for/2, name/2, check/2, required_tools/1]).

%% @doc Whether a filter applies to this call: the option `tools' lists its tool, or is `all'.
-spec is_for(beamai_filter:call(), #{tools => [binary()] | all, _ => _}) -> boolean().
is_for(#{tool := Tool}, #{tools := Tools}) when is_list(Tools) -> lists:member(Tool, Tools);
is_for(_Call, _Options) -> true.

%% @doc The filter's name, `Default' unless the options give one.
-spec name(#{name => beamai_filter:name(), _ => _}, atom()) -> beamai_filter:name().
name(Options, Default) -> maps:get(name, Options, Default).

%% @doc Validates the options of a filter. Raises `{bad_option, Key}' for a key that is neither `name' nor one of these, and
%% for an invalid value of one that several filters have.
-spec check(Options :: term(), [atom()]) -> ok.
check(Options, Keys) when is_map(Options) ->
    case maps:keys(maps:without([name | Keys], Options)) of
        [] -> maps:foreach(fun value/2, Options);
        [Unknown | _] -> beamai_validate:unknown_option(Unknown, [name | Keys])
    end;
check(Other, _Keys) ->
    beamai_validate:options(Other).

%% @doc Raises `{bad_option, tools}' if the option is missing.
-spec required_tools(map()) -> ok.
required_tools(#{tools := Tools}) when is_list(Tools) -> ok;
required_tools(#{tools := Other}) -> bad_tools(Other);
required_tools(#{}) -> beamai_validate:bad_option(tools, "is missing: a list of names of tools that only read").

value(tools, all) -> ok;
value(tools, Tools) when length(Tools) >= 0 -> lists:all(fun is_binary/1, Tools) orelse bad_tools(Tools), ok;
value(tools, Other) -> bad_tools(Other);
value(Key, Number) when (Key =:= calls orelse Key =:= window orelse Key =:= bytes), is_integer(Number), Number > 0 -> ok;
value(Key, Other) when Key =:= calls; Key =:= window; Key =:= bytes -> bad_number(Key, Other);
value(ttl, Ms) when is_integer(Ms), Ms > 0; Ms =:= infinity -> ok;
value(ttl, Other) -> bad_number(ttl, Other);
value(patterns, Patterns) when length(Patterns) >= 0 -> ok;
value(patterns, Other) -> beamai_validate:bad_option(patterns, ["must be a list of regular expressions, not ", show(Other)]);
value(to, Fun) when is_function(Fun, 1) -> ok;
value(to, Other) -> beamai_validate:bad_option(to, ["must be a function of one argument, not ", show(Other)]);
value(contents, Flag) when is_boolean(Flag) -> ok;
value(contents, Other) -> beamai_validate:bad_option(contents, ["must be true or false, not ", show(Other)]);
value(_Key, _Value) -> ok.

-spec bad_tools(term()) -> no_return().
bad_tools(Other) ->
    beamai_validate:bad_option(tools, ["must be a list of names of tools, each a ", beamai_syntax:text(), ", not ", show(Other)]).

-spec bad_number(atom(), term()) -> no_return().
bad_number(Key, Other) ->
    beamai_validate:bad_option(Key, ["must be ", unit(Key), ", not ", show(Other)]).

unit(Key) when Key =:= window; Key =:= ttl -> "a number of milliseconds above 0";
unit(_Key) -> "an integer above 0".

show(Term) ->
    beamai_validate:show(Term).
