%% @doc Recognises errors of providers that mean that a request exceeds the model's context window.
%%
%% There is no common error code: OpenAI and llama.cpp have one each, all others only have a message.
%% @hidden
-module(beamai_chat_overflow).

-export([is_overflow/1]).

-define(CODES, [<<"context_length_exceeded">>, <<"exceed_context_size_error">>, <<"context_exceeded">>, <<"request_too_large">>]).

-define(WORDS, [
    %% Anthropic, Bedrock
    "prompt (is )?too long", "exceeds? context limit", "input is too long for",
    %% OpenAI, vLLM, SGLang, DeepSeek, Mistral, OpenRouter
    "maximum context length", "exceeds? (the|your|this model's) context window", "maximum allowed input length",
    %% Gemini
    "input token count.*exceeds the maximum",
    %% llama.cpp, LM Studio, Ollama
    "exceeds? (the )?(available )?context (size|length|window)", "greater than the context length",
    %% xAI, Groq, Together
    "maximum prompt length", "reduce the length of (the|your) (messages|prompt|input)",
    "inputs tokens \\+ max_new_tokens must be"
]).

%% @doc Whether an error's code, type or message means an overflow. Not to be used for rate limit errors.
-spec is_overflow(Said :: [term()]) -> boolean().
is_overflow(Said) ->
    Texts = [Text || Text <- Said, is_binary(Text)],
    lists:any(fun(Text) -> lists:member(Text, ?CODES) orelse in_words(Text) end, Texts).

in_words(Text) ->
    Plain = binary:replace(Text, <<"`">>, <<>>, [global]),
    lists:any(fun(Words) -> re:run(Plain, Words, [caseless, dotall, {capture, none}]) =:= match end, ?WORDS).
