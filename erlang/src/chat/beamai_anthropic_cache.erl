%% @doc Marks in a request to Anthropic up to where the server keeps it in its cache: the tools, the system prompt, and
%% the conversation so far. The next request of the conversation begins with the same bytes and is read from there.
%% @hidden
-module(beamai_anthropic_cache).

-export([marked/2]).

-define(MARK, #{<<"type">> => <<"ephemeral">>}).

%% @doc The request with its marks. `auto' marks requests that have tools: writing to the cache costs more than not, and
%% only a conversation that goes on is read again.
-spec marked(auto | boolean(), Body) -> Body when Body :: #{binary() => term()}.
marked(false, Body) -> Body;
marked(auto, Body) when not is_map_key(<<"tools">>, Body) -> Body;
marked(_AutoOrTrue, Body) -> maps:map(fun part/2, Body).

part(<<"tools">>, Tools) -> last(Tools);
part(<<"system">>, Text) when is_binary(Text) -> last([#{<<"type">> => <<"text">>, <<"text">> => Text}]);
part(<<"system">>, Blocks) when is_list(Blocks) -> last(Blocks);
part(<<"messages">>, Messages) -> messages(Messages);
part(_Key, Value) -> Value.

%% What the model said itself, such as its thinking, takes no mark.
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
