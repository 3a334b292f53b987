%% @doc Truncated text.
%% @hidden
-module(beamai_text).

-export([whole_characters/1]).

%% @doc Drops a partial UTF-8 character at the end.
-spec whole_characters(binary()) -> binary().
whole_characters(Text) ->
    case unicode:characters_to_binary(Text) of
        {incomplete, Whole, _} -> Whole;
        {error, Whole, _} -> Whole;
        Whole -> Whole
    end.
