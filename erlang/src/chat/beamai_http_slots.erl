%% @doc Slots for kept connections: profiles of OTP's HTTP client, each used by one exchange at a time.
%%
%% The client would pipeline requests on a connection that is still streaming a response, and has one proxy and one set
%% of trusted certificates per profile. Therefore an exchange reserves a profile, with the connection that an earlier
%% exchange with the same server, proxy and certificates has left in it. The exchange's process holds the reservation as
%% a registered name, which is released when it exits. The client closes idle connections after two minutes.
%% @hidden
-module(beamai_http_slots).

-export([take/1, renew/2, plain/0]).
-export_type([profile/0, for/0]).

-define(PLAIN, beamai).
%% Maximum number of concurrent exchanges with kept connections; further ones close theirs. Atoms are created from these
%% numbers only.
-define(SLOTS, 64).
-define(WAIT_MS, 20).

-type profile() :: atom().
%% The properties by which a connection can be reused.
-type for() :: #{
    server := {Scheme :: binary(), Host :: binary(), Port :: non_neg_integer()},
    proxy := none | {Host :: string(), Port :: pos_integer()},
    cacertfile := none | file:filename_all()
}.

%% @doc Reserves a profile for the calling process, and tells whether it may have a kept connection. Returns `none' if
%% all are in use; with a proxy it waits for one until `Until', in monotonic milliseconds.
-spec take({for(), Until :: integer()}) -> {ok, profile(), IsUsed :: boolean()} | none.
take({For, Until}) ->
    case free(sorted(For), For) of
        none -> none(For, Until);
        Taken -> Taken
    end.

none(#{proxy := none}, _Until) ->
    none;
none(For, Until) ->
    case erlang:monotonic_time(millisecond) < Until of
        true ->
            timer:sleep(?WAIT_MS),
            take({For, Until});
        false ->
            none
    end.

%% Profiles with such a connection first, then unused ones.
sorted(For) ->
    Keys = [{rank(persistent_term:get({?MODULE, Slot}, unused), For), Slot} || Slot <- lists:seq(1, ?SLOTS)],
    [Slot || {_Rank, Slot} <- lists:sort(Keys)].

rank(For, For) -> 1;
rank(unused, _For) -> 2;
rank(_Other, _For) -> 3.

free([Slot | Rest], For) ->
    try register(holder(Slot), self()) of
        true -> held(Slot, persistent_term:get({?MODULE, Slot}, unused), For)
    catch
        error:badarg -> free(Rest, For)
    end;
free([], _For) ->
    none.

held(Slot, For, For) ->
    {ok, profile(Slot), true};
held(Slot, _Other, For) ->
    ok = renew(profile(Slot), For),
    persistent_term:put({?MODULE, Slot}, For),
    {ok, profile(Slot), false}.

%% @doc Closes a profile's kept connections.
-spec renew(profile(), for()) -> ok.
renew(Profile, #{proxy := Proxy}) ->
    _ = inets:stop(httpc, Profile),
    ok = started(Profile),
    ok = httpc:set_options(proxy(Proxy), Profile).

proxy(none) -> [{cookies, disabled}];
proxy(Address) -> [{cookies, disabled}, {proxy, {Address, []}}, {https_proxy, {Address, []}}].

%% @doc The profile that keeps no connections.
-spec plain() -> profile().
plain() ->
    case inets:start(httpc, [{profile, ?PLAIN}]) of
        {ok, _Pid} -> ok = httpc:set_options([{cookies, disabled}], ?PLAIN);
        {error, {already_started, _Pid}} -> ok
    end,
    ?PLAIN.

started(Profile) ->
    case inets:start(httpc, [{profile, Profile}]) of
        {ok, _Pid} -> ok;
        {error, {already_started, _Pid}} -> ok
    end.

profile(Slot) -> list_to_atom("beamai_slot_" ++ integer_to_list(Slot)).

holder(Slot) -> list_to_atom("beamai_slot_holder_" ++ integer_to_list(Slot)).
