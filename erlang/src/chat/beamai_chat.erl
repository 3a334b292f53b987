%% @doc Chat models: one interface for OpenAI-compatible servers, Anthropic, Gemini, custom functions, and scripted
%% answers for tests.
%%
%% ```
%% Model = beamai_chat:new(openai, #{base_url => <<"http://localhost:8080/v1">>, model => <<"some-model">>}),
%% {ok, #{message := #{content := Text}}} = beamai_chat:complete(Model, <<"Hello!">>).
%% '''
%%
%% A model keeps its API key in a fun, so that neither printing it nor any error or log of this library reveals the key.
-module(beamai_chat).

-export([new/2, complete/2, instructions/2, tools/2, speaks_text_protocol/1]).
-export_type([model/0, provider/0]).

-type provider() :: openai | anthropic | gemini | text | scripted.
-opaque model() :: #{module := module(), state := beamai_chat_model:state(), price := none | beamai_cost:price()}.

%% @doc Creates a model. `docs/agents.md' lists the options of each provider. All accept `prices', a map from model
%% names to prices, which adds the cost to the usage of answers. `Provider' may also be a custom module with the
%% behaviour {@link beamai_chat_model}. Raises `{bad_option, Key}' and `{bad_provider, Provider}'.
-spec new(provider() | module(), Options :: map()) -> model().
new(Provider, Options) when is_map(Options) ->
    {Module, State} = made(Provider, maps:remove(prices, Options)),
    #{module => Module, state => State, price => price(Provider, Options)};
new(_Provider, Other) ->
    beamai_validate:options(Other).

made(Provider, Options) ->
    case wire(Provider) of
        none ->
            Module = module(Provider),
            {Module, Module:new(Options)};
        Wire ->
            {beamai_chat_http, beamai_chat_http:new(Options#{wire => Wire})}
    end.

price(Provider, #{prices := Prices} = Options) -> beamai_cost:price(Prices, maps:get(model, Options, none), Provider);
price(_Provider, _Options) -> none.

%% Providers with an HTTP API.
wire(openai) -> beamai_chat_openai;
wire(anthropic) -> beamai_chat_anthropic;
wire(gemini) -> beamai_chat_gemini;
wire(_Other) -> none.

module(text) -> beamai_chat_text;
module(scripted) -> beamai_chat_scripted;
module(Module) when is_atom(Module) ->
    case code:ensure_loaded(Module) of
        {module, Module} -> own(Module);
        {error, _} -> bad_provider(Module)
    end;
module(Other) -> bad_provider(Other).

-spec bad_provider(term()) -> no_return().
bad_provider(Other) ->
    Known = [openai, anthropic, gemini, text, scripted],
    beamai_validate:wrong(bad_provider, Other, [
        "the provider must be ", beamai_syntax:listed(Known), " or a module that exports complete/2"
    ]).

own(Module) ->
    case erlang:function_exported(Module, complete, 2) of
        true -> Module;
        false -> bad_provider(Module)
    end.

%% @doc Sends a text or a conversation to the model and waits for the answer. In a request map only `messages' is
%% required. If the calling process dies, the connection is closed. If the provider returns no token counts, they are
%% estimated.
-spec complete(model(), binary() | map()) ->
    {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
complete(Model, Text) when is_binary(Text) ->
    complete(Model, #{messages => [#{role => user, content => Text}]});
complete(#{module := Module, state := State} = Model, #{messages := [_ | _]} = Request) ->
    Whole = maps:merge(defaults(Request), Request),
    Span = beamai_spans:start_model(provider(Module, State), State, Whole),
    Result = beamai_chat_reply:checked(Module:complete(State, Whole)),
    beamai_spans:stop_model(Span, counted(Result, Whole, maps:get(price, Model, none)));
complete(#{module := _, state := _}, Request) ->
    beamai_validate:wrong(bad_request, Request, ["a request is a ", beamai_syntax:text(), " or a map with a list of messages"]);
complete(Other, _Request) ->
    bad_model(Other).

-spec bad_model(term()) -> no_return().
bad_model(Other) ->
    beamai_validate:wrong(bad_model, Other, ["a model is what ", beamai_syntax:either("beamai_chat:new", "Beamai.Agent.model"), " gives"]).

%% @doc Whether the model calls tools in text, so that results are sent in the format of the text protocol.
-spec speaks_text_protocol(model()) -> boolean().
speaks_text_protocol(#{module := Module}) -> Module =:= beamai_chat_text;
speaks_text_protocol(Other) -> bad_model(Other).

%% Names from the OpenTelemetry conventions for generative AI.
provider(_Module, #{wire := beamai_chat_openai}) -> <<"openai">>;
provider(_Module, #{wire := beamai_chat_anthropic}) -> <<"anthropic">>;
provider(_Module, #{wire := beamai_chat_gemini}) -> <<"gcp.gemini">>;
provider(Module, _State) -> atom_to_binary(Module).

%% Budgets must also work for providers without token counts.
counted({ok, #{usage := Said, message := Message} = Reply}, Request, Price) ->
    Usage = maps:filter(fun is_count/2, Said),
    Estimates = #{
        input_tokens => fun() -> beamai_tokens:of_request(Request) end,
        output_tokens => fun() -> beamai_tokens:of_message(Message) end
    },
    Missing = maps:map(fun(_Key, Estimate) -> Estimate() end, maps:without(maps:keys(Usage), Estimates)),
    Whole = bounded(maps:merge(maps:merge(#{cached_tokens => 0}, Usage), marked(Missing))),
    {ok, Reply#{usage := beamai_cost:counted(Whole, Price)}};
counted(Result, _Request, _Price) ->
    Result.

bounded(#{input_tokens := Input, cached_tokens := Cached} = Usage) -> Usage#{cached_tokens := min(Cached, Input)}.

%% A custom module may return the counts of its server unchecked.
is_count(cost_nano, Cost) -> beamai_cost:is_cost(Cost);
is_count(_Key, Count) -> beamai_tokens:count(Count, unknown) =/= unknown.

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

%% @doc The section of the system prompt about the kernel's tools; empty if the provider has another way to declare
%% tools.
-spec instructions(model(), beamai_kernel:kernel()) -> binary().
instructions(#{module := Module}, Kernel) -> Module:instructions(Kernel);
instructions(Other, _Kernel) -> bad_model(Other).

%% @doc The kernel's tools in the provider's format. Requests with the same tools can pass it as `tools', so that the
%% schemas are rendered only once. Raises `{invalid_tool, Name, Problems}' for a tool that the provider does not accept,
%% for example because of its name.
-spec tools(model(), beamai_kernel:kernel()) -> beamai_chat_model:tools().
tools(#{module := Module, state := State}, Kernel) ->
    case erlang:function_exported(Module, tools, 2) of
        true ->
            Rendered = Module:tools(State, Kernel),
            #{rendered => Rendered, tokens => beamai_tokens:of_text(beamai_json:text(Rendered))};
        false ->
            #{tokens => beamai_tokens:of_tools(Kernel)}
    end;
tools(Other, _Kernel) ->
    bad_model(Other).
