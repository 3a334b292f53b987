%% @doc Sets cache markers in a request to Anthropic: after the tools, the system prompt, and the conversation so far.
%% The next request of the conversation has the same prefix, which is then read from the cache.
%% @hidden
-module(beamai_anthropic_cache).

-export([marked/2]).

-define(MARK, #{<<"type">> => <<"ephemeral">>}).

%% @doc Adds cache markers. `auto' marks only requests with tools: writing to the cache costs extra, which pays off only
%% if the conversation continues.
-spec marked(auto | boolean(), Body) -> Body when Body :: #{binary() => term()}.
marked(false, Body) -> Body;
marked(auto, Body) when not is_map_key(<<"tools">>, Body) -> Body;
marked(_AutoOrTrue, Body) -> maps:map(fun part/2, Body).

part(<<"tools">>, Tools) -> last(Tools);
part(<<"system">>, Text) when is_binary(Text) -> last([#{<<"type">> => <<"text">>, <<"text">> => Text}]);
part(<<"system">>, Blocks) when is_list(Blocks) -> last(Blocks);
part(<<"messages">>, Messages) -> messages(Messages);
part(_Key, Value) -> Value.

%% Blocks that the model returned, such as thinking, cannot be marked.
messages(Messages) ->
    case lists:reverse(Messages) of
        [#{<<"role">> := <<"user">>, <<"content">> := Blocks} = Last | Before] ->
            lists:reverse([Last#{<<"content">> := last(Blocks)} | Before]);
        _ ->
            Messages
    end.

last(Parts) ->
    case lists:reverse(Parts) of
        [#{} = Last | Before] -> lists:reverse([Last#{<<"cache_control">> => ?MARK} | Before]);
        _ -> Parts
    end.
