%% @doc Computes the cost of a model's answers from the host's price table; this library contains no prices.
%%
%% A price is per million tokens, in a currency of the host's choice: `#{input => 3.0, cached => 0.3, output => 15.0}'.
%% Costs are integers in billionths of that currency (`cost_nano'), so that sums are exact.
%% @hidden
-module(beamai_cost).

-export([price/3, counted/2, is_cost/1, amount/1]).
-export_type([price/0, prices/0]).

%% `cached' is the price of input tokens read from the provider's cache; defaults to that of `input'.
-type price() :: #{input := number(), output := number(), cached => number()}.
%% By model name; `default' applies to all others, and to models without a name.
-type prices() :: #{(Model :: binary()) | default => price()}.

%% Costs must fit into the counters of a budget.
-define(MOST, 1000000000000000000).

%% @doc The price of a model. Raises `{bad_option, prices}' for a malformed table, or if the model is missing in it.
-spec price(prices(), Name :: binary() | none, beamai_chat:provider() | module()) -> price().
price(Prices, Name, Provider) when is_map(Prices) ->
    maps:foreach(fun check/2, Prices),
    case {Prices, Prices} of
        {#{Name := Price}, _} -> Price;
        {_, #{default := Price}} -> Price;
        _ -> beamai_validate:bad_option(prices, ["has no price for ", shown(Name, Provider), ", and no default"])
    end;
price(Other, _Name, _Provider) ->
    beamai_validate:bad_option(prices, ["must be a map of models' names to prices, not ", beamai_validate:show(Other)]).

shown(none, Provider) -> ["a model of ", atom_to_list(Provider)];
shown(Name, _Provider) -> Name.

check(Name, #{input := Input, output := Output} = Price) when
    is_binary(Name) orelse Name =:= default, is_number(Input), Input >= 0, is_number(Output), Output >= 0
->
    Cached = maps:get(cached, Price, 0),
    IsPrice = is_number(Cached) andalso Cached >= 0 andalso maps:keys(maps:without([input, output, cached], Price)) =:= [],
    IsPrice orelse bad(Name, Price);
check(Name, Price) ->
    bad(Name, Price).

-spec bad(term(), term()) -> no_return().
bad(Name, Price) ->
    beamai_validate:bad_option(prices, [
        beamai_validate:show(#{Name => Price}), " must be a name and ", beamai_syntax:either("#{input => N, output => N, cached => N}", "%{input: n, output: n, cached: n}"),
        ", each a price of a million tokens"
    ]).

%% @doc Adds the cost to a usage.
-spec counted(beamai_chat_model:usage(), none | price()) -> beamai_chat_model:usage().
counted(Usage, none) ->
    Usage;
counted(#{input_tokens := Input, output_tokens := Output, cached_tokens := Cached} = Usage, #{input := In, output := Out} = Price) ->
    Read = min(Cached, Input),
    Sum = (Input - Read) * In + Read * maps:get(cached, Price, In) + Output * Out,
    Usage#{cost_nano => min(?MOST, round(Sum * 1000))}.

%% @doc Whether this is a cost of an answer, in billionths.
-spec is_cost(term()) -> boolean().
is_cost(Cost) -> is_integer(Cost) andalso Cost >= 0 andalso Cost =< ?MOST.

%% @doc A cost in the currency of the table.
-spec amount(Nano :: non_neg_integer()) -> float().
amount(Nano) -> Nano / 1.0e9.
