%% @doc Suggests names similar to a mistyped one.
%% @hidden
-module(beamai_nearest).

-export([names/2]).

-define(MOST, 3).
%% Longer names are not compared: the cost is the product of the lengths. In bytes.
-define(LONGEST, 256).
%% Minimum similarity of a suggestion.
-define(LEAST, 0.6).

%% @doc Up to three of `Candidates' that resemble `Name', most similar first: names of which most characters are the same in
%% the same order, regardless of case, and names of the same words in another order. The native side suggests names by the same rule.
-spec names(Name :: binary(), Candidates :: [binary()]) -> [binary()].
names(Name, _Candidates) when byte_size(Name) > ?LONGEST ->
    [];
names(Name, Candidates) ->
    Wanted = characters(Name),
    Ranked = [{-similarity(Wanted, characters(Each)), Each} || Each <- Candidates, byte_size(Each) =< ?LONGEST],
    lists:sublist([Each || {Rank, Each} <- lists:sort(Ranked), Rank =< -?LEAST], ?MOST).

characters(Name) ->
    case unicode:characters_to_list(Name) of
        Characters when is_list(Characters) -> string:lowercase(Characters);
        _ -> binary_to_list(Name)
    end.

%% Other programs put the verb of a tool name first, or last.
similarity(A, B) ->
    case words(A) =:= words(B) of
        true -> 1.0;
        false -> 2 * in_common(A, B) / (length(A) + length(B))
    end.

words(Name) -> lists:sort(string:lexemes(Name, "_-.")).

%% Length of the longest common subsequence, one row of the table at a time.
in_common(A, B) ->
    First = [0 || _ <- [none | B]],
    lists:last(lists:foldl(fun(Char, [Corner | Row]) -> [0 | cells(Char, B, Corner, Row, 0)] end, First, A)).

cells(_Char, [], _Diagonal, [], _Previous) ->
    [];
cells(Char, [Char | B], Diagonal, [Above | Row], _Previous) ->
    [Diagonal + 1 | cells(Char, B, Above, Row, Diagonal + 1)];
cells(Char, [_Other | B], _Diagonal, [Above | Row], Previous) ->
    Cell = max(Above, Previous),
    [Cell | cells(Char, B, Above, Row, Cell)].
