%% @doc What a scripted model makes of the text of a result. It knows only what it reads: a text that lacks what is needed to go
%% on is one that it does not recover from.
-module(beamai_eval_reader).

-export([content/1, line_like/2, line_after/2, first_named/2, tells/2]).

%% @doc The text of a file: without the line numbers that some tools put before each line, and out of the JSON of a result.
-spec content(binary()) -> binary().
content(Text) ->
    Plain = case decoded(Text) of
        #{<<"content">> := Content} when is_binary(Content) -> Content;
        _ -> Text
    end,
    iolist_to_binary(lists:join("\n", [unnumbered(Line) || Line <- binary:split(Plain, <<"\n">>, [global])])).

decoded(<<"{", _/binary>> = Text) ->
    case beamai_json:decode(Text) of
        {ok, Value} -> Value;
        {error, _} -> Text
    end;
decoded(Text) ->
    Text.

%% The lines of a text or of an error; of a result as JSON, those of all texts in it.
lines(Text) ->
    [unnumbered(Line) || Part <- strings(decoded(Text)), Line <- binary:split(Part, <<"\n">>, [global])].

strings(Value) when is_binary(Value) -> [Value];
strings(Value) when is_list(Value) -> lists:flatmap(fun strings/1, Value);
strings(Value) when is_map(Value) -> lists:flatmap(fun strings/1, maps:values(Value));
strings(_Other) -> [].

%% As `cat -n', `grep -n' and errors write them: "  12\t", "12:". The rest of the line keeps its whitespace.
unnumbered(Line) ->
    re:replace(Line, <<"^ *[0-9]+(?:\\t|:|→)"/utf8>>, <<>>, [unicode, {return, binary}]).

%% @doc The line with these words, with its own whitespace; `none' where the text does not show it.
-spec line_like(Words :: binary(), Text :: binary()) -> binary() | none.
line_like(Words, Text) ->
    one([Line || Line <- lines(Text), bare(Line) =:= bare(Words)]).

bare(Line) -> re:replace(Line, <<"\\s+">>, <<>>, [global, {return, binary}]).

%% @doc The first line that begins with these words, whatever its indentation; `none' where there is none.
-spec line_after(Words :: binary(), Text :: binary()) -> binary() | none.
line_after(Words, Text) ->
    one([Line || Line <- lines(Text), string:prefix(string:trim(Line, leading), Words) =/= nomatch]).

one([Line | _]) -> Line;
one([]) -> none.

%% @doc Which of these names stands first in a text, as a whole word; `none' where none does.
-spec first_named([binary()], Text :: binary()) -> binary() | none.
first_named(Names, Text) ->
    Found = [{At, Name} || Name <- Names, {match, [{At, _} | _]} <- [re:run(Text, ["\\b", Name, "\\b"])]],
    case lists:sort(Found) of
        [{_, Name} | _] -> Name;
        [] -> none
    end.

%% @doc Whether a text has one of these words, whatever their case.
-spec tells([string()], Text :: binary()) -> boolean().
tells(Words, Text) ->
    Lower = string:lowercase(Text),
    lists:any(fun(Word) -> string:find(Lower, Word) =/= nomatch end, Words).
