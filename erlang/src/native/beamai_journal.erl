%% @doc Recovery of changes to several files whose process was killed before they were complete.
%%
%% Native code writes a journal of each such change, and undoes the change when it finds a journal without an owner:
%% before any call of a tool that works on files, and when this process starts. This process logs what was undone.
%%
%% A change in this VM is interrupted if the VM dies. The port program notices that and undoes the change at once;
%% therefore it is started before the first such change.
%% @hidden
-module(beamai_journal).
-behaviour(gen_server).

-export([start_link/0, watch/2]).
-export([init/1, handle_continue/2, handle_call/3, handle_cast/2, handle_info/2]).

%% @doc Starts the process under its own name.
-spec start_link() -> gen_server:start_ret().
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc Starts the port program before a call that changes several files in this VM. If it cannot be started, an
%% interrupted change is undone when tools are used the next time.
-spec watch(Door :: module(), SeveralFiles :: boolean()) -> ok.
watch(beamai_door_nif, true) ->
    _ = beamai_port:connect(),
    ok;
watch(_Door, _SeveralFiles) ->
    ok.

%% @private
-spec init([]) -> {ok, none, {continue, recover}}.
init([]) ->
    {ok, none, {continue, recover}}.

%% @private
-spec handle_continue(recover, none) -> {noreply, none}.
handle_continue(recover, State) ->
    %% Without the native library nothing can be undone; the first call that needs it reports the reason.
    _ = catch beamai_nif:recover(self()),
    {noreply, State}.

%% @private
-spec handle_call(term(), gen_server:from(), none) -> {reply, ok, none}.
handle_call(_Request, _From, State) ->
    {reply, ok, State}.

%% @private
-spec handle_cast(term(), none) -> {noreply, none}.
handle_cast(_Request, State) ->
    {noreply, State}.

%% @private
-spec handle_info(term(), none) -> {noreply, none}.
handle_info({beamai_journal, Line}, State) ->
    logger:warning("beamai: ~ts", [Line]),
    {noreply, State};
handle_info(_Message, State) ->
    {noreply, State}.
