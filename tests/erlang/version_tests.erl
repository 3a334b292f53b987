%% Beams and native parts of different releases do not work together, and say so.
-module(version_tests).

-include_lib("eunit/include/eunit.hrl").

all_parts_are_of_one_release_test() ->
    Beams = beamai_version:of_beams(),
    Library = beamai_nif:priv_file("beamai_nif.so"),
    Program = os:cmd(beamai_nif:priv_file("beamai-port") ++ " --version"),
    ?assertEqual(Beams, beamai_version:of_library(Library)),
    ?assertEqual("beamai-port " ++ binary_to_list(Beams) ++ "\n", Program).

%% A node of its own, whose beams say that they are of another version.
beams_of_another_version_are_refused_test_() ->
    {timeout, 60, fun() ->
        beamai_test:in_workspace(fun(Dir) ->
            Lib = application_of("9.9.9", Dir),
            Output = in_a_node(Lib, "io:format(\"~tp\", [application:ensure_all_started(beamai)]), try beamai_kernel:new() catch _:R -> io:format(\"~tp\", [R]) end"),
            Own = beamai_version:of_beams(),
            Said = <<"priv/beamai_nif.so is of ", Own/binary, " and the beams are of 9.9.9; compile beamai again">>,
            %% The application does not start, and neither does a call without it.
            ?assertMatch([_, _, _ | _], binary:split(Output, Said, [global]))
        end)
    end}.

a_missing_library_is_said_at_the_first_call_test_() ->
    {timeout, 60, fun() ->
        beamai_test:in_workspace(fun(Dir) ->
            Lib = application_of(beamai_version:of_beams(), Dir),
            ok = file:delete(filename:join([Lib, "priv", "beamai_nif.so"])),
            Output = in_a_node(Lib, "try beamai_kernel:new() catch error:R -> io:format(\"~tp\", [R]) end"),
            ?assertNotEqual(nomatch, string:find(Output, "{beamai_not_loaded,")),
            ?assertNotEqual(nomatch, string:find(Output, "cannot open shared object file"))
        end)
    end}.

the_program_refuses_beams_of_another_version_test() ->
    Output = os:cmd(beamai_nif:priv_file("beamai-port") ++ " serve --beams 9.9.9; echo code $?"),
    ?assertNotEqual(nomatch, string:find(Output, "and the beams are of 9.9.9")),
    ?assertNotEqual(nomatch, string:find(Output, "code 3")).

a_call_through_a_program_of_another_version_says_so_test_() ->
    {timeout, 60, fun() -> ?assertNotEqual(nomatch, string:find(called("exit 3", 0), "file_list has not run: ")) end}.

%% A frame that is written to a program that ends closes the port before its exit status arrives.
a_program_that_has_stopped_reading_is_asked_for_its_status_test_() ->
    {timeout, 60, fun() ->
        Stops = "exec 3<&-; sleep 0.5; exit ",
        ?assertNotEqual(nomatch, string:find(called(Stops ++ "3", 300), "file_list has not run: ")),
        ?assertNotEqual(nomatch, string:find(called(Stops ++ "5", 300), "ended with the exit status 5 before it answered anything"))
    end}.

a_program_that_cannot_be_started_is_named_with_what_to_do_test_() ->
    {timeout, 60, fun() ->
        [
            begin
                Message = in_a_workspace(Spoil, ""),
                ?assertMatch({match, _}, re:run(Message, ["^file_list has not run: the port program /.*/priv/beamai-port ", Wrong, ".*; compile beamai again"])),
                ?assertNotEqual(nomatch, string:find(Message, "BEAMAI_PREBUILT"))
            end
         || {Spoil, Wrong} <- [
                {fun file:delete/1, "is missing"},
                {fun(Program) -> file:change_mode(Program, 8#644) end, "cannot be executed: it is not an executable file"},
                {fun(Program) -> file:write_file(Program, "no program") end, "ended with the exit status [0-9]+ before it answered anything"}
            ]
        ]
    end}.

%% The message of a call through a port program that is this shell script, a while after the program has started.
called(Script, Ms) ->
    Replace = fun(Program) ->
        ok = file:delete(Program),
        ok = file:write_file(Program, ["#!/bin/sh\n", Script, "\n"]),
        file:change_mode(Program, 8#755)
    end,
    in_a_workspace(Replace, io_lib:format("{ok, _, _} = beamai_port:connect(), timer:sleep(~b), ", [Ms])).

%% The message of a call through a port program to which this was done.
in_a_workspace(Change, Before) ->
    beamai_test:in_workspace(fun(Dir) ->
        Lib = application_of(beamai_version:of_beams(), Dir),
        ok = Change(filename:join([Lib, "priv", "beamai-port"])),
        in_a_node(Lib, io_lib:format(
            "logger:set_primary_config(level, none), "
            "K = beamai_kernel:add_tool_module(beamai_kernel:new(#{workspace => ~0tp, door => port}), beamai_tool_file), ~s"
            "{error, #{message := M}} = beamai_kernel:invoke(K, <<\"file_list\">>, #{}), io:put_chars(M)",
            [unicode:characters_to_list(Dir), Before]
        ))
    end).

%% Code that is loaded again keeps the library that is loaded.
loading_the_module_again_changes_nothing_test() ->
    ?assertMatch({error, on_load_failure}, code:load_file(beamai_nif)),
    ?assertEqual(ok, beamai_nif:loaded()),
    ?assertMatch(N when N >= 0, beamai_nif:running()).

%% A copy of the application that says it is of this version.
application_of(Version, Dir) ->
    Lib = filename:join(unicode:characters_to_list(Dir), "beamai"),
    Own = filename:dirname(filename:dirname(code:which(beamai_kernel))),
    ok = filelib:ensure_dir(filename:join([Lib, "ebin", "x"])),
    ok = file:make_dir(filename:join(Lib, "priv")),
    [copy(File, filename:join(Lib, "ebin")) || File <- filelib:wildcard(filename:join([Own, "ebin", "*"]))],
    [copy(beamai_nif:priv_file(File), filename:join(Lib, "priv")) || File <- ["beamai_nif.so", "beamai-port"]],
    App = filename:join([Lib, "ebin", "beamai.app"]),
    {ok, [{application, beamai, Properties}]} = file:consult(App),
    Changed = lists:keystore(vsn, 1, Properties, {vsn, unicode:characters_to_list(Version)}),
    ok = file:write_file(App, io_lib:format("~p.~n", [{application, beamai, Changed}])),
    Lib.

copy(File, Dir) ->
    To = filename:join(Dir, filename:basename(File)),
    {ok, _} = file:copy(File, To),
    ok = file:change_mode(To, 8#755).

in_a_node(Lib, Expressions) ->
    Options = [{args, ["-noshell", "-beamai", "announce", "false", "-pa", filename:join(Lib, "ebin"), "-eval", Expressions ++ ", halt()."]},
        binary, exit_status, stderr_to_stdout, hide],
    gather(open_port({spawn_executable, os:find_executable("erl")}, Options), <<>>).

gather(Port, Before) ->
    receive
        {Port, {data, More}} -> gather(Port, <<Before/binary, More/binary>>);
        {Port, {exit_status, _}} -> Before
    after 30000 -> error({silent, Before})
    end.
