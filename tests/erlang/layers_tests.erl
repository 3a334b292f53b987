%% The structure of the Erlang side: layers, cycles, which modules are public, and where tools are named.
%%
%% A module's layer is the folder of its source. What counts as a dependency: calls, external funs, behaviours, included
%% headers, and names of modules that stand as atoms in the code.
-module(layers_tests).

-include_lib("eunit/include/eunit.hrl").

%% From the lowest to the highest. A module uses those of its own layer and of lower ones.
-define(LAYERS, [base, native, kernel, filters, chat, agent, tools, mcp, terminal, app]).

every_source_is_in_a_layer_test() ->
    ?assertEqual([], [Module || Module <- modules(), not lists:member(layer(Module), ?LAYERS)]).

modules_call_no_module_of_a_higher_layer_test() ->
    ?assertEqual([], [{layer(From), From, layer(To), To} || {From, To} <- calls() ++ behaviours(), rank(From) < rank(To)]).

modules_name_no_module_of_a_higher_layer_test() ->
    ?assertEqual([], [{layer(From), From, layer(To), To} || {From, To} <- names(), rank(From) < rank(To)]).

headers_are_included_from_the_same_or_a_lower_layer_test() ->
    Included = [{Module, Header} || Module <- modules(), Header <- headers(Module)],
    ?assertNotEqual([], Included),
    ?assertEqual([], [Pair || {Module, Header} = Pair <- Included, rank(Module) < rank_of_folder(Header)]).

no_modules_depend_on_one_another_in_a_cycle_test() ->
    ?assertEqual([], cycles(calls() ++ behaviours())).

%% mix may compile such a module before the behaviour that it implements, and warns then.
no_module_defines_one_behaviour_and_implements_another_test() ->
    Defines = fun(Module) -> {module, Module} = code:ensure_loaded(Module), erlang:function_exported(Module, behaviour_info, 1) end,
    ?assert(Defines(beamai_chat_wire)),
    ?assertEqual([], [Module || {Module, _} <- behaviours(), Defines(Module)]).

a_cycle_is_found_test() ->
    ?assertEqual([[a, b, c]], cycles([{a, b}, {b, c}, {c, a}, {c, d}])).

funs_of_other_modules_count_as_calls_test() ->
    ?assert(lists:member({beamai_catalogue, beamai_task}, calls())).

public_modules_are_those_of_the_documentation_test() ->
    Public = [Module || Module <- modules(), not is_hidden(Module)],
    ?assertEqual(lists:sort(documented()), lists:sort(Public)).

%% A new tool is easily forgotten there.
every_tool_is_named_where_people_look_for_it_test() ->
    Names = [Name || #{name := Name} <- beamai_catalogue:tools(<<"beamai">>)],
    ?assertEqual([], unnamed(Names, "README.md")),
    ?assertEqual([], unnamed(Names, "docs/modules.md")),
    Files = [Name || #{name := <<"file_", _/binary>> = Name} <- beamai_catalogue:tools(<<"beamai">>)],
    ?assertEqual([], unnamed(Files, "tests/erlang/beamai_conformance_SUITE.erl")).

unnamed(Names, File) ->
    {ok, Text} = file:read_file(filename:join(root(source(beamai_kernel)), File)),
    [Name || Name <- Names, re:run(Text, ["\\b", Name, "\\b"]) =:= nomatch].

%%% Dependencies

calls() ->
    {ok, Server} = xref:start([]),
    try
        ok = xref:set_default(Server, [{warnings, false}, {verbose, false}]),
        {ok, _} = xref:add_directory(Server, ebin()),
        {ok, Edges} = xref:q(Server, "strict ME || AM"),
        [Edge || {From, To} = Edge <- Edges, From =/= To]
    after
        xref:stop(Server)
    end.

behaviours() ->
    [{Module, Behaviour} || Module <- modules(), {behaviour, List} <- attributes(Module), Behaviour <- List, is_ours(Behaviour)].

attributes(Module) ->
    Module:module_info(attributes).

%% The atom `beamai' is the application's name; calls of the module are among those above.
names() ->
    lists:usort([{Module, Atom} || Module <- modules(), Atom <- atoms(forms(Module)), Atom =/= Module, Atom =/= beamai, is_ours(Atom)]).

%% Of functions alone: types may name those of any layer.
atoms(Forms) ->
    lists:flatten([atoms_in(Form) || {function, _, _, _, _} = Form <- Forms]).

atoms_in({atom, _, Atom}) -> [Atom];
atoms_in(Tuple) when is_tuple(Tuple) -> atoms_in(tuple_to_list(Tuple));
atoms_in([Head | Tail]) -> [atoms_in(Head), atoms_in(Tail)];
atoms_in(_Other) -> [].

%% The folders of the project's own headers that a module includes.
headers(Module) ->
    Files = lists:usort([File || {attribute, _, file, {File, _}} <- forms(Module)]),
    [folder(File) || File <- Files, filename:extension(File) =:= ".hrl", lists:member(folder(File), ?LAYERS)].

cycles(Edges) ->
    Graph = digraph:new(),
    try
        _ = [digraph:add_vertex(Graph, Module) || {From, To} <- Edges, Module <- [From, To]],
        _ = [digraph:add_edge(Graph, From, To) || {From, To} <- Edges],
        lists:sort([lists:sort(Component) || [_, _ | _] = Component <- digraph_utils:strong_components(Graph)])
    after
        digraph:delete(Graph)
    end.

%%% Modules

modules() ->
    Beams = filelib:wildcard(filename:join(ebin(), "beamai*.beam")),
    [list_to_atom(filename:basename(Beam, ".beam")) || Beam <- Beams].

ebin() ->
    filename:dirname(code:which(beamai_kernel)).

is_ours(Module) ->
    filelib:is_regular(filename:join(ebin(), atom_to_list(Module) ++ ".beam")).

forms(Module) ->
    {ok, {Module, [{abstract_code, {raw_abstract_v1, Forms}}]}} = beam_lib:chunks(code:which(Module), [abstract_code]),
    Forms.

source(Module) ->
    proplists:get_value(source, Module:module_info(compile)).

layer(Module) ->
    folder(source(Module)).

folder(File) ->
    list_to_atom(filename:basename(filename:dirname(File))).

rank(Module) ->
    rank_of_folder(layer(Module)).

rank_of_folder(Folder) ->
    length(lists:takewhile(fun(Layer) -> Layer =/= Folder end, ?LAYERS)).

%%% The public ones

is_hidden(Module) ->
    {ok, Source} = file:read_file(source(Module)),
    [Head, _] = binary:split(Source, <<"\n-module(">>),
    lists:member(<<"%% @hidden">>, binary:split(Head, <<"\n">>, [global])).

%% The first column of the tables in docs/modules.md.
documented() ->
    {ok, Page} = file:read_file(filename:join(root(source(beamai_kernel)), "docs/modules.md")),
    {match, Names} = re:run(Page, "^\\| `(beamai(?:_[a-z_]+)?)` ", [global, multiline, {capture, all_but_first, list}]),
    [list_to_atom(Name) || [Name] <- Names].

root(Path) ->
    case filelib:is_regular(filename:join(Path, "docs/modules.md")) of
        true -> Path;
        false -> root(filename:dirname(Path))
    end.
