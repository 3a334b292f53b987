%% Stands in for the database of the specification's last example.
-module(db).

-export([search/2]).

search(<<"fail">>, _Limit) -> {error, down};
search(Keyword, Limit) -> {ok, [{Keyword, N} || N <- lists:seq(1, Limit)]}.
