%% @doc Changes of several files whose process was killed in the middle.
%%
%% Native code keeps a journal of each such change and undoes it when it comes upon one without an owner: before any
%% call of a tool that works on files, and when this process starts, which logs what was undone.
%%
%% A change that runs in this VM dies with it. The port program notices that the VM has gone, and undoes the change at
%% once; so it is started before the first one.
%% @hidden
-module(beamai_journal).
-behaviour(gen_server).

-export([start_link/0, watch/2]).
-export([init/1, handle_continue/2, handle_call/3, handle_cast/2, handle_info/2]).

%% @doc Starts the process under its own name.
-spec start_link() -> gen_server:start_ret().
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @doc Sees to it that somebody survives a call of this VM's that changes several files. Where the port program
%% cannot be started, the change is undone when tools are used next.
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
    %% Without the native library nothing can be undone, and the first call that needs it says why.
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
