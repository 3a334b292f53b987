%% @doc Text that has been cut.
%% @hidden
-module(beamai_text).

-export([whole_characters/1]).

%% @doc UTF-8 text without what is no whole character at its end.
-spec whole_characters(binary()) -> binary().
whole_characters(Text) ->
    case unicode:characters_to_binary(Text) of
        {incomplete, Whole, _} -> Whole;
        {error, Whole, _} -> Whole;
        Whole -> Whole
    end.
