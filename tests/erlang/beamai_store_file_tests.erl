%% The files of a store: who may read them, and what a crash or another program leaves of them.
-module(beamai_store_file_tests).

-include_lib("eunit/include/eunit.hrl").
-include_lib("kernel/include/file.hrl").

entry(N) -> #{type => message, message => #{role => user, content => integer_to_binary(N)}}.

write(Id, Entries, Store) ->
    {ok, Log} = beamai_store:open(Id, Store),
    Last = lists:foldl(fun(Entry, L) -> {ok, Next} = beamai_store:append(Entry, L), Next end, Log, Entries),
    ok = beamai_store:close(Last).

agent(Store) -> beamai_agent:new(#{llm => beamai_chat:new(scripted, #{turns => []}), store => Store, agent_id => <<"a">>}).

%% Whatever the umask is. A file that exists keeps its mode.
a_file_is_its_owners_alone_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Store = {beamai_store_file, #{dir => Dir}},
        File = filename:join(Dir, "a.log"),
        write(<<"a">>, [entry(1)], Store),
        ?assertEqual(8#600, mode(File)),
        %% Nothing is left of how it was created.
        ?assertEqual({ok, ["a.log"]}, file:list_dir(Dir)),
        ok = file:change_mode(File, 8#640),
        write(<<"a">>, [entry(2)], Store),
        ?assertEqual(8#640, mode(File)),
        ?assertEqual({ok, [entry(1), entry(2)]}, beamai_store:read(<<"a">>, Store))
    end).

%% A process that has opened the file keeps it open when its mode changes, and could read what is written later.
a_file_is_never_open_to_others_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Watch = spawn_link(fun() -> watch(Dir, []) end),
        [write(integer_to_binary(N), [entry(N)], {beamai_store_file, #{dir => Dir, sync => false}}) || N <- lists:seq(1, 300)],
        Watch ! {end_of_watch, self()},
        receive {modes, Modes} -> ?assertEqual([8#600], Modes) end
    end).

%% The modes of files seen in the directory.
watch(Dir, Seen) ->
    {ok, Names} = file:list_dir(Dir),
    Modes = [mode(Path) || Name <- Names, Path <- [filename:join(Dir, Name)], filename:extension(Name) =:= ".log", filelib:is_regular(Path)],
    Now = lists:usort(Modes ++ Seen),
    receive
        {end_of_watch, Pid} -> Pid ! {modes, Now}
    after 0 -> watch(Dir, Now)
    end.

mode(Path) ->
    {ok, #file_info{mode = Mode}} = file:read_file_info(Path),
    Mode band 8#777.

what_a_crash_left_at_the_end_is_cut_off_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Store = {beamai_store_file, #{dir => Dir, sync => false}},
        File = filename:join(Dir, "a.log"),
        write(<<"a">>, [entry(1), entry(2)], Store),
        {ok, Two} = file:read_file(File),
        write(<<"a">>, [entry(3)], Store),
        {ok, Three} = file:read_file(File),
        Incomplete = [binary:part(Three, 0, Size) || Size <- lists:seq(byte_size(Two), byte_size(Three) - 1)],
        Zeros = <<Two/binary, 0:(8 * 4096)>>,
        Blank = <<Two/binary, (binary:part(Three, byte_size(Two), 8))/binary, 0:(8 * (byte_size(Three) - byte_size(Two) - 8))>>,
        [
            begin
                ok = file:write_file(File, Left),
                ?assertEqual({ok, [entry(1), entry(2)]}, beamai_store:read(<<"a">>, Store)),
                write(<<"a">>, [entry(4)], Store),
                ?assertEqual({ok, [entry(1), entry(2), entry(4)]}, beamai_store:read(<<"a">>, Store))
            end
         || Left <- [Zeros, Blank | Incomplete]
        ],
        [
            begin
                ok = file:write_file(File, binary:part(Three, 0, Size)),
                write(<<"a">>, [entry(5)], Store),
                ?assertEqual({ok, [entry(5)]}, beamai_store:read(<<"a">>, Store))
            end
         || Size <- lists:seq(0, 12)
        ]
    end).

what_is_wrong_in_the_middle_is_an_error_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Store = {beamai_store_file, #{dir => Dir}},
        File = filename:join(Dir, "a.log"),
        write(<<"a">>, [entry(1), entry(2)], Store),
        {ok, <<Begin:25/binary, Byte, Rest/binary>>} = file:read_file(File),
        ok = file:write_file(File, <<Begin/binary, (Byte bxor 1), Rest/binary>>),
        ?assertMatch({error, {corrupt, _, 13}}, beamai_store:read(<<"a">>, Store)),
        ?assertMatch({error, {corrupt, _, 13}}, beamai_store:open(<<"a">>, Store)),
        ?assertError({bad_option, store}, agent(Store)),
        ok = file:write_file(File, <<"something else altogether">>),
        ?assertMatch({error, {not_a_log, _}}, beamai_store:open(<<"a">>, Store)),
        ?assertEqual({ok, <<"something else altogether">>}, file:read_file(File))
    end).

%% The checksum is right.
a_frame_that_is_no_entry_is_an_error_test() ->
    beamai_test:in_workspace(fun(Dir) ->
        Store = {beamai_store_file, #{dir => Dir}},
        File = filename:join(Dir, "a.log"),
        write(<<"a">>, [entry(1)], Store),
        {ok, Whole} = file:read_file(File),
        Frame = fun(Bytes) -> <<(byte_size(Bytes)):32, (erlang:crc32(Bytes)):32, Bytes/binary>> end,
        Odd = [<<"no term">>, <<131>>, term_to_binary(binary:copy(<<0>>, 1000000), [compressed])],
        At = byte_size(Whole),
        [
            begin
                ok = file:write_file(File, [Whole, Frame(Bytes)]),
                ?assertMatch({error, {corrupt, _, At}}, beamai_store:read(<<"a">>, Store)),
                ?assertMatch({error, {corrupt, _, At}}, beamai_store:open(<<"a">>, Store))
            end
         || Bytes <- Odd
        ],
        ?assertError({bad_option, store}, agent(Store))
    end).
