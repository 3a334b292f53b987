%% @doc Filters around an agent's model requests, like a kernel's filters around calls.
%%
%% A filter gets the request and the rest of the chain. It can change `messages', `system', `controls' and `context' of
%% the request, change the reply, answer itself, or repeat the request. The changes only affect what is sent to the
%% model, not the conversation.
%% @hidden
-module(beamai_model_filters).

-export([check/1, complete/3]).

-type answer() :: {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.

%% @doc Validates the filters. Raises `{bad_option, model_filters}' and `{bad_filter, Term}'.
-spec check(term()) -> [beamai_filter:filter()].
check(Filters) when is_list(Filters) ->
    Names = [beamai_filter:name(Filter) || Filter <- Filters],
    length(Names) =:= length(lists:usort(Names)) orelse bad("has two filters of one name"),
    Filters;
check(Other) ->
    bad(["must be a list of filters, not ", beamai_validate:show(Other)]).

-spec bad(iodata()) -> no_return().
bad(Why) -> beamai_validate:bad_option(model_filters, Why).

%% @doc Sends the request through the filters, the first of which is outermost.
-spec complete([beamai_filter:filter()], beamai_chat:model(), beamai_chat_model:request()) -> answer().
complete([], Model, Request) ->
    beamai_chat:complete(Model, Request);
complete([#{name := Name, handler := Fun} | Rest], Model, Request) ->
    Next = fun
        (#{messages := [_ | _]} = Inner) -> complete(Rest, Model, Inner);
        (Other) -> {error, failed(Name, ["handed on ", beamai_error:show(Other, 200), ", which is not a request with messages"])}
    end,
    try Fun(Request, Next) of
        {ok, #{message := #{role := assistant}, usage := #{}, stop := _}} = Ok -> beamai_chat_reply:checked(Ok);
        {error, #{reason := _, message := _}} = Error -> Error;
        Other -> {error, failed(Name, ["returned ", beamai_error:show(Other, 200), beamai_syntax:either("; it returns what Next gives, {ok, Reply} or {error, Error}", "; it returns what next gives, {:ok, reply} or {:error, error}")])}
    catch
        Class:Reason:Stack ->
            beamai_crash:log_callback(["the model filter ", beamai_error:show(Name, 80)], Class, Reason, Stack, Fun),
            {error, failed(Name, ["raised ", beamai_exception:describe(Class, Reason, Stack, Fun)])}
    end.

failed(Name, Why) ->
    #{reason => failed, message => beamai_error:text(["the model filter ", beamai_error:show(Name, 80), " ", Why])}.
