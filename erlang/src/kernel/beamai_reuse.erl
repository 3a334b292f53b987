%% @doc Which later call may have the result of an earlier one.
%%
%% A filter can be part of several kernels, and what a call may see can change from one call to the next: with the rules
%% of its session, or with where a link leads. A filter that answers calls from earlier results therefore asks for a key,
%% which judges the call anew.
%% @hidden
-module(beamai_reuse).

-include("beamai_plan.hrl").

-export([scope/2, key/1]).
-export_type([scope/0, key/0]).

%% Passed to filters under the key `reuse' of their call. A fun, so that a call that is shown or logged does not contain
%% the kernel.
-type scope() :: fun((Args :: term(), beamai_context:t()) -> {ok, key()} | none).
-type key() :: binary().

%% @doc The scope of calls of this tool in this kernel.
-spec scope(beamai_kernel:kernel(), #plan{}) -> scope().
scope(Kernel, Plan) ->
    fun(Args, Context) -> key(Kernel, Plan, Args, Context) end.

%% @doc Equal for calls with the same tool, arguments, session, workspace, rules and other settings. `none' if the call is
%% not allowed as it is: it must be passed on, to be refused or approved. Also `none' if a filter has dropped the scope.
-spec key(beamai_filter:call()) -> {ok, key()} | none.
key(#{reuse := Scope, args := Args, context := Context}) -> Scope(Args, Context);
key(#{}) -> none.

key(Kernel, Plan, Args, Context) ->
    case is_judged_here(Kernel, Plan) andalso beamai_env:of_call(Kernel, Context) of
        {ok, Env} -> allowed(beamai_permission:is_allowed(Env, Plan, Args), {settings(Kernel), tool(Plan), Env, Args, beamai_session:key(Context)});
        _ -> none
    end.

allowed(true, Same) -> {ok, crypto:hash(sha256, term_to_binary(Same, [deterministic]))};
allowed(false, _Same) -> none.

%% On another node, a path can lead elsewhere. Rules for Erlang tools do not depend on files.
is_judged_here(Kernel, #plan{runs = #native{}, node = Node}) -> Node =:= none andalso not is_map_key(placement, Kernel);
is_judged_here(_Kernel, #plan{}) -> true.

%% Without other tools: adding one changes nothing for this one.
settings(Kernel) -> maps:without([tools, filters], Kernel).

tool(Plan) -> Plan#plan{filters = []}.
