%% @doc A service that has one kernel, and says at its start whether commands run in this container.
-module(agent).
-behaviour(application).
-behaviour(supervisor).

-export([start/2, stop/1, init/1, kernel/0]).

-spec start(application:start_type(), term()) -> supervisor:startlink_ret().
start(_Type, _Args) ->
    Result = beamai_kernel:invoke(kernel(), <<"shell_exec">>, #{command => <<"echo ready">>}),
    logger:notice("agent: the first command gave ~tp", [Result]),
    supervisor:start_link({local, ?MODULE}, ?MODULE, []).

-spec stop(term()) -> ok.
stop(_State) -> ok.

-spec init([]) -> {ok, {supervisor:sup_flags(), [supervisor:child_spec()]}}.
init([]) -> {ok, {#{}, []}}.

%% @doc The kernel that agents of this service have.
-spec kernel() -> beamai_kernel:kernel().
kernel() ->
    Tier = tier(os:getenv("SANDBOX_TIER", "full")),
    Options = #{workspace => <<"/workspace">>, sandbox => #{tier => Tier, memory => 1 bsl 30},
                permissions => #{allow => [<<"Bash">>]}},
    lists:foldl(fun(Module, Kernel) -> beamai_kernel:add_tool_module(Kernel, Module) end,
                beamai_kernel:new(Options), [beamai_tool_file, beamai_tool_shell, beamai_tool_git]).

tier("full") -> full;
tier("landlock") -> landlock.
