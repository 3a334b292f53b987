%% Every EUnit test, with a time limit that a busy machine keeps. EUnit's own limit of 5 s can be changed test by test only.
-module(beamai_eunit).

-export([all/0, main/1]).

-define(SECONDS, 60).

%% What `rebar3 eunit' runs: the tests of all modules beside this one whose names end in `_tests'.
all() -> [titled(Module) || Module <- modules()].

%% What scripts/eunit runs in several VMs: those modules that no other VM has claimed, of all, or of those that start no MCP servers.
%% These take most of the time, so they come first.
main([Which, Claims]) ->
    {Quick, Slow} = lists:partition(fun(Module) -> not starts_servers(Module) end, modules()),
    Wanted = case Which of "all" -> Slow ++ Quick; "quick" -> Quick end,
    halt(case eunit:test([unless_claimed(Module, Claims) || Module <- Wanted]) of ok -> 0; error -> 1 end).

unless_claimed(Module, Claims) ->
    Claim = filename:join(Claims, Module),
    {generator, fun() -> case file:make_dir(Claim) of ok -> titled(Module); {error, eexist} -> [] end end}.

modules() ->
    Files = filelib:wildcard("*_tests.beam", filename:dirname(code:which(?MODULE))),
    [list_to_atom(filename:basename(File, ".beam")) || File <- lists:sort(Files)].

starts_servers(Module) ->
    {ok, {Module, [{imports, Imports}]}} = beam_lib:chunks(code:which(Module), [imports]),
    lists:keymember(mcp_servers, 1, Imports).

%% In a process of its own, so that its tests do not find what those of another module have left in the mailbox.
titled(Module) -> {"module '" ++ atom_to_list(Module) ++ "'", {spawn, of_module(Module)}}.

of_module(Module) ->
    Functions = lists:sort([atom_to_list(Name) || {Name, 0} <- Module:module_info(exports)]),
    [test(Module, list_to_atom(Name)) || Name <- Functions, lists:suffix("_test", Name)] ++
        [{generator, fun() -> limited(Module:(list_to_atom(Name))()) end} || Name <- Functions, lists:suffix("_test_", Name)].

%% In a process of its own, so that a test does not find what another one has left in the mailbox.
test(Module, Name) -> {spawn, {timeout, ?SECONDS, {test, Module, Name}}}.

%% A test or a group of tests, as EUnit's manual has them. Tests that have a limit keep it.
limited(Tests) when is_list(Tests) -> [limited(Test) || Test <- Tests];
limited(Test) when is_function(Test, 0) -> {timeout, ?SECONDS, Test};
limited({Line, Test}) when is_integer(Line) -> {timeout, ?SECONDS, {Line, Test}};
limited({Group, Tests}) when Group =:= inorder; Group =:= inparallel; Group =:= spawn -> {Group, limited(Tests)};
limited({inparallel, Most, Tests}) -> {inparallel, Most, limited(Tests)};
limited({Title, Tests}) when is_list(Title); is_binary(Title) -> {Title, limited(Tests)};
limited(Setup) when element(1, Setup) =:= setup -> last(fun instantiator/1, Setup);
limited(Foreach) when element(1, Foreach) =:= foreach -> last(fun(Each) -> [instantiator(One) || One <- Each] end, Foreach);
limited(Test) -> Test.

instantiator(Fun) when is_function(Fun, 1) -> fun(Argument) -> limited(Fun(Argument)) end;
instantiator(Tests) -> limited(Tests).

last(Fun, Tuple) ->
    Size = tuple_size(Tuple),
    setelement(Size, Tuple, Fun(element(Size, Tuple))).
