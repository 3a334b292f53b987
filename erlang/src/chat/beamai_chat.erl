%% @doc Chat models: one interface to OpenAI-compatible servers, Anthropic, Gemini, functions from text to text, and scripts.
%%
%% ```
%% Model = beamai_chat:new(openai, #{base_url => <<"http://localhost:8080/v1">>, model => <<"some-model">>}),
%% {ok, #{message := #{content := Text}}} = beamai_chat:complete(Model, <<"Hello!">>).
%% '''
%%
%% A model keeps its key in a fun: printing a model does not show it, nor does any error or log of this library.
-module(beamai_chat).

-export([new/2, complete/2, instructions/2, check_tools/2, reply/2]).
-export_type([model/0, provider/0]).

-type provider() :: openai | anthropic | gemini | text | scripted.
-opaque model() :: #{module := module(), state := beamai_chat_model:state(), price := none | beamai_cost:price()}.

%% @doc A model. The options are those of the provider: {@link beamai_chat_openai}, {@link beamai_chat_anthropic},
%% {@link beamai_chat_gemini}, {@link beamai_chat_text}, {@link beamai_chat_scripted}; or of a module of your own with the behaviour {@link
%% beamai_chat_model}. With `prices', a {@link beamai_cost:prices()}, which every provider takes, the usage of answers has
%% their cost. Raises `{bad_option, Key}' and `{bad_provider, Provider}'.
-spec new(provider() | module(), Options :: map()) -> model().
new(Provider, Options) when is_map(Options) ->
    Module = module(Provider),
    #{module => Module, state => Module:new(maps:remove(prices, Options)), price => price(Provider, Options)}.

price(Provider, #{prices := Prices} = Options) -> beamai_cost:price(Prices, maps:get(model, Options, none), Provider);
price(_Provider, _Options) -> none.

module(openai) -> beamai_chat_openai;
module(anthropic) -> beamai_chat_anthropic;
module(gemini) -> beamai_chat_gemini;
module(text) -> beamai_chat_text;
module(scripted) -> beamai_chat_scripted;
module(Module) when is_atom(Module) ->
    case code:ensure_loaded(Module) of
        {module, Module} -> own(Module);
        {error, _} -> error({bad_provider, Module})
    end;
module(Other) -> error({bad_provider, Other}).

own(Module) ->
    case erlang:function_exported(Module, complete, 2) of
        true -> Module;
        false -> error({bad_provider, Module})
    end.

%% @doc Has the model answer a text, or a conversation. Of a request only `messages' must be given. Waits for the
%% answer; if the calling process dies, the connection ends. Where a model does not say how many tokens it used, they are
%% estimated from the texts.
-spec complete(model(), binary() | map()) ->
    {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
complete(Model, Text) when is_binary(Text) ->
    complete(Model, #{messages => [#{role => user, content => Text}]});
complete(#{module := Module, state := State} = Model, #{messages := [_ | _]} = Request) ->
    Whole = maps:merge(defaults(Request), Request),
    Span = beamai_spans:start_model(Module, State, Whole),
    beamai_spans:stop_model(Span, counted(Module:complete(State, Whole), Whole, maps:get(price, Model, none))).

%% A budget has to hold also where nobody counts.
counted({ok, #{usage := Usage, message := Message} = Reply}, Request, Price) ->
    Estimates = #{
        input_tokens => fun() -> beamai_tokens:of_request(Request) end,
        output_tokens => fun() -> beamai_tokens:of_message(Message) end
    },
    Missing = maps:map(fun(_Key, Estimate) -> Estimate() end, maps:without(maps:keys(Usage), Estimates)),
    Whole = maps:merge(maps:merge(#{cached_tokens => 0}, Usage), marked(Missing)),
    {ok, Reply#{usage := beamai_cost:counted(Whole, Price)}};
counted(Result, _Request, _Price) ->
    Result.

marked(None) when map_size(None) =:= 0 -> None;
marked(Missing) -> Missing#{estimated_tokens => lists:sum(maps:values(Missing))}.

defaults(Request) ->
    Kernel = case Request of
        #{kernel := Given} -> Given;
        #{} -> beamai_kernel:new()
    end,
    #{
        system => <<>>,
        kernel => Kernel,
        context => #{},
        emit => fun(_Event) -> ok end,
        run => none,
        until => infinity
    }.

%% @doc What the model has to be told of the kernel's tools in the system prompt: nothing, where it is told of them
%% in another way.
-spec instructions(model(), beamai_kernel:kernel()) -> binary().
instructions(#{module := Module}, Kernel) ->
    Module:instructions(Kernel).

%% @doc Whether the model can be offered the kernel's tools. Raises `{invalid_tool, Name, Problems}' where not, such as for
%% a name that the provider refuses.
-spec check_tools(model(), beamai_kernel:kernel()) -> ok.
check_tools(#{module := Module, state := State}, Kernel) ->
    case erlang:function_exported(Module, check_tools, 2) of
        true -> Module:check_tools(State, Kernel);
        false -> ok
    end.

%% @doc A reply, for modules that make some. Counts that `usage' does not have are estimated.
-spec reply(beamai_chat_model:message(), #{stop => beamai_chat_model:stop(), usage => map(), reasoning => binary()}) ->
    beamai_chat_model:reply().
reply(Message, Rest) ->
    (maps:with([reasoning], Rest))#{message => Message, stop => maps:get(stop, Rest, stop(Message)), usage => maps:get(usage, Rest, #{})}.

stop(#{tool_calls := [_ | _]}) -> tool_calls;
stop(_Message) -> end_turn.
