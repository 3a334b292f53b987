%% @doc Whether the beams and the native parts are of one release. They speak a protocol of their own that each release may
%% change, so others are refused.
%% @hidden
-module(beamai_version).

-export([of_beams/0, of_library/1, other_library/1, other_program/1]).

%% Stands in the library, before its version and a line feed; see `native/nif/src/lib.rs'.
-define(MARK, <<"beamai-nif-version=">>).

%% @doc The version of the beams; `unknown' where they are on the code path without the application's description.
-spec of_beams() -> binary() | unknown.
of_beams() ->
    _ = application:load(beamai),
    case application:get_key(beamai, vsn) of
        {ok, Vsn} -> list_to_binary(Vsn);
        undefined -> unknown
    end.

%% @doc The version that a library says it is of, without loading it.
-spec of_library(file:filename()) -> binary() | unknown.
of_library(Path) ->
    case file:read_file(Path) of
        {ok, Library} -> after_mark(binary:split(Library, ?MARK));
        {error, _} -> unknown
    end.

after_mark([_, Rest]) -> hd(binary:split(Rest, <<"\n">>));
after_mark([_]) -> unknown.

%% @doc A sentence about a library that could not be loaded: `Why' is the loader's, unless it is of another release.
-spec other_library({file:filename(), Why :: unicode:chardata()}) -> binary().
other_library({Path, Why}) ->
    case {of_library(Path), of_beams()} of
        {Same, Same} -> sentence([Path, " cannot be loaded: ", Why]);
        {unknown, _} -> sentence([Path, " cannot be loaded: ", Why]);
        {Other, Beams} -> sentence(other(Path, Other, Beams))
    end.

%% @doc A sentence about a port program that refused to work with these beams.
-spec other_program(file:filename()) -> binary().
other_program(Path) ->
    sentence(other(Path, "another version", of_beams())).

other(Path, Other, Beams) ->
    [Path, " is of ", Other, " and the beams are of ", shown(Beams)].

shown(unknown) -> "an unknown one";
shown(Version) -> Version.

sentence(Text) ->
    beamai_error:text([Text, "; compile beamai again, so that both come from one release"]).
