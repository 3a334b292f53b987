%% @doc Asks the calling node, immediately before a call from there begins, whether its caller still waits.
%%
%% The request of a call may arrive late, when a node or its connection was held up. Its caller may then have had a timeout, a
%% cancellation or another attempt, and been told that nothing was done. So a call begins only with the answer of {@link
%% beamai_node_call}, which arrives nowhere and comes from nobody once the caller has left.
%% @hidden
-module(beamai_node_begin).

-export([within/2, ask/1]).

%% Time for the answer, in milliseconds. Only a caller that has left, or whose node is held up, takes longer.
-define(PATIENCE_MS, 15000).

%% @doc Runs the fun, which serves the call with this tag in the calling process.
-spec within(Tag :: reference(), fun(() -> Result)) -> Result.
within(Tag, Fun) ->
    _ = put(?MODULE, Tag),
    try Fun() after erase(?MODULE) end.

%% @doc Whether the call of this tool may begin, or begin again after the host's answer. `ok' in a process that serves no
%% call from another node, also in those of handlers.
-spec ask(Tool :: binary()) -> ok | {error, beamai_error:t()}.
ask(Tool) ->
    case get(?MODULE) of
        undefined -> ok;
        Tag -> ask(Tag, make_ref(), Tool)
    end.

ask(Tag, Reply, Tool) ->
    Tag ! {Tag, {begins, {self(), Reply}}},
    receive
        {Reply, begins} -> ok;
        {Reply, ended} -> {error, beamai_error:cancelled(Tool)}
    after ?PATIENCE_MS ->
        {error, beamai_error:not_run(Tool, execution_failed, node_lost, "its caller did not answer in time", #{node => node()})}
    end.
