%% @doc Calls a function when the terminal sends an interrupt.
%%
%% The VM cannot handle SIGINT itself, so `scripts/chat' forwards it as SIGUSR1.
%% @hidden
-module(beamai_chat_interrupt).
-behaviour(gen_event).

-export([install/1]).
-export([init/1, handle_event/2, handle_call/2]).

%% @doc Installs a function to be called at every interrupt, in the process that handles signals.
-spec install(fun(() -> term())) -> ok.
install(Fun) ->
    ok = os:set_signal(sigusr1, handle),
    ok = gen_event:add_sup_handler(erl_signal_server, ?MODULE, Fun),
    _ = gen_event:delete_handler(erl_signal_server, erl_signal_handler, []),
    ok.

%% @private
-spec init(fun(() -> term())) -> {ok, fun(() -> term())}.
init(Fun) ->
    {ok, Fun}.

%% @private Other signals stop the VM, which is the default behaviour.
-spec handle_event(atom(), fun(() -> term())) -> {ok, fun(() -> term())}.
handle_event(sigusr1, Fun) ->
    _ = Fun(),
    {ok, Fun};
handle_event(sigterm, Fun) ->
    ok = init:stop(),
    {ok, Fun};
handle_event(_Other, Fun) ->
    {ok, Fun}.

%% @private
-spec handle_call(term(), fun(() -> term())) -> {ok, ok, fun(() -> term())}.
handle_call(_Request, Fun) ->
    {ok, ok, Fun}.
