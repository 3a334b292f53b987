%% @doc The levels at which the calls of an answer run: each above all earlier calls that it conflicts with.
%%
%% Two calls conflict if one of them writes, and one touches what the other does: the same path, or one above or beneath it. The time
%% to add a call depends on the depth of its path, and not on the number of calls.
%% @hidden
-module(beamai_call_levels).

-export([new/0, add/2]).
-export_type([t/0, touches/0]).

-type path() :: [binary()].
-type touches() :: {read | write, anything | path()}.
%% The highest levels of calls that read, and of those that write.
-type highest() :: {Read :: non_neg_integer(), Write :: non_neg_integer()}.

-record(levels, {
    all = {0, 0} :: highest(),
    %% Of calls that touch anything.
    anything = {0, 0} :: highest(),
    %% Of calls that touch exactly this path, and of those that touch it or a path beneath it.
    at = #{} :: #{path() => highest()},
    within = #{} :: #{path() => highest()}
}).
-opaque t() :: #levels{}.

%% @doc Without calls.
-spec new() -> t().
new() -> #levels{}.

%% @doc Adds a call, and tells its level, from 1.
-spec add(touches(), t()) -> {pos_integer(), t()}.
add({Access, Place}, Levels) ->
    Level = 1 + lists:max([conflicting(Access, Highest) || Highest <- overlapping(Place, Levels)]),
    {Level, noted(Place, Access, Level, Levels)}.

conflicting(read, {_Read, Write}) -> Write;
conflicting(write, {Read, Write}) -> max(Read, Write).

overlapping(anything, #levels{all = All}) ->
    [All];
overlapping(Path, #levels{anything = Anything, at = At, within = Within}) ->
    Above = [maps:get(Prefix, At, {0, 0}) || Prefix <- prefixes(Path)],
    [Anything, maps:get(Path, Within, {0, 0}) | Above].

noted(Place, Access, Level, #levels{all = All} = Levels) ->
    noted_at(Place, Access, Level, Levels#levels{all = raised(Access, Level, All)}).

noted_at(anything, Access, Level, #levels{anything = Anything} = Levels) ->
    Levels#levels{anything = raised(Access, Level, Anything)};
noted_at(Path, Access, Level, #levels{at = At, within = Within} = Levels) ->
    Raise = fun(Prefix, Highest) -> Highest#{Prefix => raised(Access, Level, maps:get(Prefix, Highest, {0, 0}))} end,
    Levels#levels{at = Raise(Path, At), within = lists:foldl(Raise, Within, prefixes(Path))}.

raised(read, Level, {Read, Write}) -> {max(Level, Read), Write};
raised(write, Level, {Read, Write}) -> {Read, max(Level, Write)}.

%% A path and all paths above it.
prefixes(Path) -> [lists:sublist(Path, Length) || Length <- lists:seq(0, length(Path))].
