%% @doc Which tools of a kernel a model is offered.
%%
%% A tool that cannot do its work here would only cost calls: a search without a search engine, a language server where there
%% is none, a question that nobody can be asked. The first two are decided when an agent is made, the third when a run starts,
%% because its context may say who is asked. The kernel that an agent is made from has all of them, and says of a call what is
%% missing.
%% @hidden
-module(beamai_agent_tools).

-export([able/1, attended/2]).

%% Dialect of what the host itself asks of the port.
-define(ACTS, <<"mcp">>).
%% As long as a program takes to start, and to look through the directories of programs.
-define(PATIENCE_MS, 10000).

-type need() :: user | search_engine | language_server | nothing.

%% @doc The kernel with the tools that can work with its settings on this machine.
-spec able(beamai_kernel:kernel()) -> beamai_kernel:kernel().
able(Kernel) ->
    without([search_engine, language_server], Kernel, fun(Need) -> has(Need, Kernel) end).

%% @doc The kernel with the tools that can work in a run: those for questions only where somebody can be asked.
-spec attended(beamai_kernel:kernel(), beamai_context:t()) -> beamai_kernel:kernel().
attended(Kernel, Context) ->
    without([user], Kernel, fun(user) -> is_set(ask_user, Kernel) orelse is_set(ask_user, Context) end).

%% The same kernel where nothing is missing.
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

%% The port looks for them and starts none. Where it cannot be asked, the call says why.
has_servers(Env) ->
    Call = #{tool => <<"lsp_available">>, dialect => ?ACTS, args => #{}, timeout => ?PATIENCE_MS},
    case beamai_door_port:call(Env, Call, #{pace => long, timeout => ?PATIENCE_MS, run => none}) of
        {ok, #{<<"available">> := IsThere}} -> IsThere;
        {error, _} -> true
    end.
