%% @doc Checks that the beams and the native parts are of the same release. Their protocol may change with each release,
%% so other versions are refused.
%% @hidden
-module(beamai_version).

-export([of_beams/0, of_library/1, other_library/1, other_program/1]).

%% Precedes the version and a line feed in the library; see `native/nif/src/lib.rs'.
-define(MARK, <<"beamai-nif-version=">>).

%% @doc The version of the beams; `unknown' if they are on the code path without the application resource file.
-spec of_beams() -> binary() | unknown.
of_beams() ->
    _ = application:load(beamai),
    case application:get_key(beamai, vsn) of
        {ok, Vsn} -> list_to_binary(Vsn);
        undefined -> unknown
    end.

%% @doc The version in a library file, read without loading it.
-spec of_library(file:filename()) -> binary() | unknown.
of_library(Path) ->
    case file:read_file(Path) of
        {ok, Library} -> after_mark(binary:split(Library, ?MARK));
        {error, _} -> unknown
    end.

after_mark([_, Rest]) -> hd(binary:split(Rest, <<"\n">>));
after_mark([_]) -> unknown.

%% @doc Explains why a library could not be loaded: it is of another release, or else the loader's reason `Why'.
-spec other_library({file:filename(), Why :: unicode:chardata()}) -> binary().
other_library({Path, Why}) ->
    case {of_library(Path), of_beams()} of
        {Same, Same} -> sentence([Path, " cannot be loaded: ", Why]);
        {unknown, _} -> sentence([Path, " cannot be loaded: ", Why]);
        {Other, Beams} -> sentence(other(Path, Other, Beams))
    end.

%% @doc Explains that a port program is of another release than the beams.
-spec other_program(file:filename()) -> binary().
other_program(Path) ->
    sentence(other(Path, "another version", of_beams())).

other(Path, Other, Beams) ->
    [Path, " is of ", Other, " and the beams are of ", shown(Beams)].

shown(unknown) -> "an unknown one";
shown(Version) -> Version.

sentence(Text) ->
    beamai_error:text([Text, "; compile beamai again, so that both come from one release"]).
