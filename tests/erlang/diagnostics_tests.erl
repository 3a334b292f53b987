%% What is said of programs that are missing.
-module(diagnostics_tests).

-include_lib("eunit/include/eunit.hrl").

-export([log/2]).

%% A logger handler: every event goes to the test.
log(Event, #{config := Test}) -> Test ! {logged, Event}.

what_is_missing_is_a_line_each_test() ->
    in_path("/nowhere", fun() ->
        Lines = beamai_diagnostics:missing(),
        [?assertMatch([_], [Line || Line <- Lines, string:find(Line, Part) =/= nomatch])
         || Part <- ["git is not on the PATH", "pip install"]],
        {ok, Here} = file:get_cwd(),
        ?assert(is_list(beamai_diagnostics:missing(Here)))
    end).

the_application_says_it_once_at_its_start_test() ->
    Starting = fun(Announce) ->
        ok = application:set_env(beamai, announce, Announce),
        in_path("/nowhere", fun() -> {ok, _} = application:ensure_all_started(beamai), notices(case Announce of true -> 20000; false -> 2000 end) end)
    end,
    _ = application:load(beamai),
    ok = logger:add_handler(?MODULE, ?MODULE, #{config => self()}),
    try
        _ = application:stop(beamai),
        [Notice] = Starting(true),
        ?assertNotEqual(nomatch, string:find(Notice, "no language server for sh (npm install")),
        ok = application:stop(beamai),
        ?assertEqual([], Starting(false))
    after
        ok = logger:remove_handler(?MODULE),
        ok = application:set_env(beamai, announce, true)
    end.

notices(Ms) ->
    receive
        {logged, #{level := notice, msg := {"beamai: ~ts", [Text]}}} -> [unicode:characters_to_list(Text) | notices(500)];
        {logged, _} -> notices(Ms)
    after Ms -> []
    end.

in_path(Path, Fun) ->
    Before = os:getenv("PATH"),
    true = os:putenv("PATH", Path),
    try Fun() after os:putenv("PATH", Before) end.
