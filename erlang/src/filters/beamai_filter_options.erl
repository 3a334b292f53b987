%% @doc Options shared by several filters of {@link beamai_filters}.
%% @hidden
-module(beamai_filter_options).

-export([is_for/2, name/2, check_keys/2]).

%% @doc Whether a filter applies to this call: the option `tools' lists its tool, or is `all'.
-spec is_for(beamai_filter:call(), #{tools => [binary()] | all, _ => _}) -> boolean().
is_for(#{tool := Tool}, #{tools := Tools}) when is_list(Tools) -> lists:member(Tool, Tools);
is_for(_Call, _Options) -> true.

%% @doc The filter's name, `Default' unless the options give one.
-spec name(#{name => beamai_filter:name(), _ => _}, atom()) -> beamai_filter:name().
name(Options, Default) -> maps:get(name, Options, Default).

%% @doc Raises `{bad_option, Key}' for a key that is neither `name' nor one of these.
-spec check_keys(Options :: term(), [atom()]) -> ok.
check_keys(Options, Keys) when is_map(Options) ->
    case maps:keys(maps:without([name | Keys], Options)) of
        [] -> ok;
        [Unknown | _] -> beamai_validate:unknown_option(Unknown, [name | Keys])
    end;
check_keys(_Other, _Keys) ->
    beamai_validate:bad_option(options, "must be a map").
