%% @doc Suggests names similar to a mistyped one.
%% @hidden
-module(beamai_nearest).

-export([names/2]).

-define(MOST, 3).
%% Longer names are not compared: the cost is the product of the lengths.
-define(LONGEST, 100).

%% @doc Up to three of `Candidates' that resemble `Name', most similar first. Names that differ only in case or word
%% order, or contain each other, count as similar.
-spec names(Name :: binary(), Candidates :: [binary()]) -> [binary()].
names(Name, _Candidates) when byte_size(Name) > ?LONGEST ->
    [];
names(Name, Candidates) ->
    Wanted = characters(Name),
    Ranked = [{rank(Wanted, characters(C)), C} || C <- Candidates, byte_size(C) =< ?LONGEST],
    Near = [C || {Rank, C} <- lists:sort(Ranked), Rank =/= far],
    lists:sublist(Near, ?MOST).

characters(Name) ->
    case unicode:characters_to_list(Name) of
        Characters when is_list(Characters) -> string:lowercase(Characters);
        _ -> binary_to_list(Name)
    end.

%% In Erlang's term order, numbers sort before atoms.
rank(Wanted, Candidate) ->
    Distance = distance(Wanted, Candidate),
    IsClose = Distance * 5 =< max(length(Wanted), length(Candidate)) * 2,
    case IsClose orelse words(Wanted) =:= words(Candidate) of
        true -> Distance;
        false -> part(Wanted, Candidate, Distance)
    end.

%% Other programs put the verb of a tool name first, or last.
words(Name) -> lists:sort(string:lexemes(Name, "_-.")).

part(Wanted, Candidate, Distance) ->
    Inside = string:find(Candidate, Wanted) =/= nomatch orelse
        string:find(Wanted, Candidate) =/= nomatch,
    case Inside andalso min(length(Wanted), length(Candidate)) >= 3 of
        true -> Distance;
        false -> far
    end.

%% Levenshtein distance, one row at a time.
distance(A, B) ->
    First = lists:seq(0, length(B)),
    lists:last(lists:foldl(fun(Char, Row) -> next_row(Char, B, Row) end, First, A)).

next_row(Char, B, [Left | Row]) ->
    next_cells(Char, B, Left, Row, Left + 1, [Left + 1]).

next_cells(_Char, [], _Diagonal, [], _Previous, Acc) ->
    lists:reverse(Acc);
next_cells(Char, [Other | B], Diagonal, [Above | Row], Previous, Acc) ->
    Substituted =
        case Char =:= Other of
            true -> Diagonal;
            false -> Diagonal + 1
        end,
    Cell = min(Substituted, min(Above, Previous) + 1),
    next_cells(Char, B, Above, Row, Cell, [Cell | Acc]).
