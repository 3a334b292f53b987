%% @doc Chat models: one interface to OpenAI-compatible servers, Anthropic, functions from text to text, and scripts.
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

-type provider() :: openai | anthropic | text | scripted.
-opaque model() :: #{module := module(), state := beamai_chat_model:state()}.

%% @doc A model. The options are those of the provider: {@link beamai_chat_openai}, {@link beamai_chat_anthropic},
%% {@link beamai_chat_text}, {@link beamai_chat_scripted}; or of a module of your own with the behaviour {@link
%% beamai_chat_model}. Raises `{bad_option, Key}' and `{bad_provider, Provider}'.
-spec new(provider() | module(), Options :: map()) -> model().
new(Provider, Options) when is_map(Options) ->
    Module = module(Provider),
    #{module => Module, state => Module:new(Options)}.

module(openai) -> beamai_chat_openai;
module(anthropic) -> beamai_chat_anthropic;
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
complete(#{module := Module, state := State}, #{messages := [_ | _]} = Request) ->
    Whole = maps:merge(defaults(Request), Request),
    counted(Module:complete(State, Whole), Whole).

%% A budget has to hold also where nobody counts: about four bytes of text make a token.
counted({ok, #{usage := unknown, message := Message} = Reply}, #{system := System, messages := Messages}) ->
    Read = byte_size(System) + lists:sum([bytes(Said) || Said <- Messages]),
    {ok, Reply#{usage := #{input_tokens => tokens(Read), output_tokens => tokens(bytes(Message)), cached_tokens => 0}}};
counted(Result, _Request) ->
    Result.

bytes(#{content := Text, tool_calls := Calls}) ->
    byte_size(Text) + lists:sum([byte_size(Name) + byte_size(beamai_json:text(Args)) || #{name := Name, args := Args} <- Calls]);
bytes(#{content := Text}) ->
    byte_size(Text).

tokens(Bytes) -> (Bytes + 3) div 4.

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

%% @doc A reply, for modules that make some. Without a usage it is estimated.
-spec reply(beamai_chat_model:message(), #{stop => beamai_chat_model:stop(), usage => map()}) ->
    beamai_chat_model:reply().
reply(Message, Rest) ->
    #{message => Message, stop => maps:get(stop, Rest, stop(Message)), usage => usage(maps:get(usage, Rest, #{}))}.

usage(Nothing) when map_size(Nothing) =:= 0 -> unknown;
usage(Counts) -> maps:merge(#{input_tokens => 0, output_tokens => 0, cached_tokens => 0}, Counts).

stop(#{tool_calls := [_ | _]}) -> tool_calls;
stop(_Message) -> end_turn.
