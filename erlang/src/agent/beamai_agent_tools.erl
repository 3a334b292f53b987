%% @doc Selects the tools of a kernel that a model is offered.
%%
%% A tool that cannot work would only cost calls: a search without a search engine, a language server tool without any
%% server, a question that nobody can answer. The first two are determined when an agent is created, the third when a
%% run starts, because the run's context may have an `ask_user'. The agent's kernel has all tools, and a call of an
%% unusable one returns what is missing.
%% @hidden
-module(beamai_agent_tools).

-export([able/1, attended/2]).

%% The dialect of the host's own requests to the port.
-define(ACTS, <<"mcp">>).
%% Timeout for starting the port program and searching the directories for programs, in milliseconds.
-define(PATIENCE_MS, 10000).

-type need() :: user | search_engine | language_server | nothing.

%% @doc The kernel with the tools that can work with its settings on this machine.
-spec able(beamai_kernel:kernel()) -> beamai_kernel:kernel().
able(Kernel) ->
    without([search_engine, language_server], Kernel, fun(Need) -> has(Need, Kernel) end).

%% @doc The kernel with the tools that can work in a run: question tools only if somebody can be asked.
-spec attended(beamai_kernel:kernel(), beamai_context:t()) -> beamai_kernel:kernel().
attended(Kernel, Context) ->
    without([user], Kernel, fun(user) -> is_set(ask_user, Kernel) orelse is_set(ask_user, Context) end).

%% Returns the same kernel if nothing is missing.
-spec without([need()], beamai_kernel:kernel(), fun((need()) -> boolean())) -> beamai_kernel:kernel().
without(Asked, Kernel, Has) ->
    Needs = [{Name, need(Spec)} || #{name := Name} = Spec <- beamai_kernel:get_tool_specs(Kernel)],
    case [Need || Need <- Asked, lists:keymember(Need, 2, Needs), not Has(Need)] of
        [] -> Kernel;
        Missing -> beamai_kernel:select_tools(Kernel, [Name || {Name, Need} <- Needs, not lists:member(Need, Missing)])
    end.

-spec need(beamai_tool:tool_spec()) -> need().
need(#{handler := {beamai_tool, call_native, _}, metadata := #{asks_user := true}}) -> user;
need(#{handler := {beamai_tool, call_native, _}, metadata := #{rule := <<"WebSearch">>}}) -> search_engine;
need(#{handler := {beamai_tool, call_native, _}, metadata := #{rule := <<"LSP">>}}) -> language_server;
need(_Spec) -> nothing.

has(search_engine, #{web := #{search := _}}) -> true;
has(search_engine, _Kernel) -> false;
has(language_server, #{env := Env}) -> has_servers(Env).

is_set(Key, Map) ->
    case Map of
        #{Key := Value} -> Value =/= undefined;
        #{} -> false
    end.

%% The port program searches for servers without starting any. If it cannot be asked, calls report the reason.
has_servers(Env) ->
    Call = #{tool => <<"lsp_available">>, dialect => ?ACTS, args => #{}, timeout => ?PATIENCE_MS},
    case beamai_door_port:call(Env, Call, #{pace => long, timeout => ?PATIENCE_MS, run => none}) of
        {ok, #{<<"available">> := IsThere}} -> IsThere;
        {error, _} -> true
    end.
