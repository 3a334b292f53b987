%% @doc The serving side of a call from another node.
%%
%% One process supervises another one, which runs the call like any other call of this node. The supervising process
%% kills it when the caller dies, when the connection to its node is lost, and when told to; that also ends the call's
%% handler and all its native work.
%% @hidden
-module(beamai_node_serve).

-include("beamai_plan.hrl").

-export([start/3]).

-define(PINS, {?MODULE, pins}).

%% @private The main function of the process started by {@link beamai_node_call}.
-spec start(Caller :: pid(), Tag :: reference(), beamai_node_call:request()) -> ok.
start(Caller, Tag, Request) ->
    %% With the group leader of the calling node, output would appear there, and the process would end with that node's
    %% application.
    true = erlang:group_leader(whereis(init), self()),
    OfCaller = erlang:monitor(process, Caller),
    {Pid, Monitor} = spawn_monitor(fun() -> Tag ! {Tag, {answer, served(Tag, Request)}} end),
    watch(#{tag => Tag, caller => OfCaller, pid => Pid, monitor => Monitor}).

watch(#{tag := Tag, caller := OfCaller, pid := Pid, monitor := Monitor} = Watch) ->
    receive
        {Tag, cancel} ->
            %% The process of the call may not have registered yet.
            Pid ! {Tag, cancel},
            beamai_runs:cancel({?MODULE, Tag}),
            watch(Watch);
        {Tag, leave} ->
            ended(Pid);
        {'DOWN', OfCaller, process, _Caller, _Reason} ->
            ended(Pid);
        {'DOWN', Monitor, process, Pid, Reason} ->
            exit(Reason)
    end.

ended(Pid) ->
    exit(Pid, kill),
    ok.

%%% The process of the call

served(Tag, #{version := Version, plan := #plan{name = Name}} = Request) ->
    ok = beamai_runtime:ensure_started(),
    case beamai_version:of_beams() of
        Version -> pinned(Tag, Request);
        Own -> {error, other_version(Name, Version, Own)}
    end.

other_version(Name, Version, Own) ->
    Why = [
        "the node ", beamai_error:show(node(), 80), " has beamai ", beamai_error:show(Own, 40), ", and the call comes from ",
        beamai_error:show(Version, 40), "; nodes that call one another have the same version"
    ],
    beamai_error:not_run(Name, execution_failed, node_lost, Why, #{node => node()}).

pinned(Tag, #{kernel := Kernel, plan := #plan{name = Name}, context := Context, caller := Caller} = Request) ->
    case in_own_workspace(Kernel, host(node(Caller)) =:= host(node())) of
        {ok, Own} -> run(Tag, Request#{kernel := Own, context := with_host(Tag, Request, Context)});
        {error, Error} -> {error, Error#{tool := Name}}
    end.

host(Node) -> lists:last(string:split(atom_to_list(Node), "@")).

%% On another machine the same path names a different directory. The one that is found first is pinned.
in_own_workspace(Kernel, true) ->
    {ok, Kernel};
in_own_workspace(#{workspace := #{<<"path">> := Path}, env := Env} = Kernel, false) ->
    kept(persistent_term:get(?PINS, #{}), crypto:hash(sha256, Env), Path, Kernel).

kept(Pins, Hash, _Path, Kernel) when is_map_key(Hash, Pins) ->
    {Workspace, Env} = maps:get(Hash, Pins),
    {ok, Kernel#{workspace := Workspace, env := Env}};
kept(_Pins, Hash, Path, Kernel) ->
    case beamai_env:workspace(Path) of
        {ok, Workspace} -> pin(Hash, Kernel#{workspace := Workspace});
        {error, _} = Error -> Error
    end.

pin(Hash, #{workspace := Workspace} = Kernel) ->
    case beamai_env:new(maps:with(beamai_env:parts(), Kernel)) of
        {ok, Env} ->
            global:trans({?MODULE, self()}, fun() -> keep(Hash, {Workspace, Env}) end, [node()]),
            {ok, Kernel#{env := Env}};
        {error, _} = Error ->
            Error
    end.

keep(Hash, Pin) -> persistent_term:put(?PINS, (persistent_term:get(?PINS, #{}))#{Hash => Pin}).

run(Tag, #{kernel := Kernel, plan := Plan, args := Args, context := Context}) ->
    RunId = {?MODULE, Tag},
    Run = beamai_runs:enter(RunId),
    _ = is_cancelled(Tag) andalso beamai_runs:keep(Run),
    try beamai_node_begin:within(Tag, fun() -> beamai_invocation:run_here(Kernel, with_services(Tag, Plan), Args, Context, Run) end) of
        {ok, Value, After} -> {ok, Value, beamai_context:changes(Context, After)};
        {error, _} = Error -> Error
    after
        beamai_runs:leave(RunId, Run)
    end.

is_cancelled(Tag) ->
    receive
        {Tag, cancel} -> true
    after 0 -> false
    end.

%% Requests to the host are sent to the calling node. They end with the call, which has another run id here.
with_host(Tag, #{can_ask := CanAsk, has_progress := HasProgress, has_model := HasModel, left := Left, caller := Caller}, Context) ->
    Server = self(),
    Host = maps:merge(
        maps:from_list(
            [{ask_user, fun(Questions) -> ask(Tag, Server, {ask_user, Questions}) end}] ++
                [{approve, fun(Request) -> ask(Tag, Server, {approve, Request}) end} || CanAsk] ++
                [{progress, fun(Progress) -> Tag ! {Tag, {progress, Progress}} end} || HasProgress] ++
                [{model, #{module => ?MODULE, state => #{}}} || HasModel] ++
                [{agent_budget, beamai_budget:new(#{max_time => max(1, Left)}, none)} || is_integer(Left)] ++
                [{session_process, Caller}]
        ),
        Context
    ),
    Host#{node_run => {?MODULE, Tag}}.

with_services(Tag, #plan{runs = #native{services = Services} = Native} = Plan) ->
    Plan#plan{
        runs = Native#native{
            services = Services#{
                delegate := fun(Work, _Kernel, _Context, _Run) -> ask(Tag, self(), {delegate, Work}) end,
                consult := fun(_Tool, Question, _Kernel, _Context, _Run) -> ask(Tag, self(), {consult, Question}) end
            }
        }
    };
with_services(_Tag, Plan) ->
    Plan.

%% Asks the host. `Server' is the process of the call, which ends its handler when the call is cancelled.
-spec ask(reference(), Server :: pid(), beamai_node_call:asked()) -> term().
ask(Tag, Server, What) ->
    Reply = make_ref(),
    Tag ! {Tag, {ask, {self(), Reply}, What}},
    receive
        {Reply, {answered, Answer}} ->
            Answer;
        {Reply, ended} ->
            beamai_runs:cancel({?MODULE, Tag}),
            _ = Server =:= self() orelse gone(Server),
            unanswered(What)
    end.

%% A handler would continue with any answer.
gone(Server) ->
    Monitor = erlang:monitor(process, Server),
    receive
        {'DOWN', Monitor, process, Server, _Reason} -> ok
    end.

unanswered({Asked, _}) when Asked =:= approve; Asked =:= ask_user -> cancelled;
unanswered({Work, _}) when Work =:= delegate; Work =:= consult -> {error, beamai_error:cancelled(atom_to_binary(Work))}.
