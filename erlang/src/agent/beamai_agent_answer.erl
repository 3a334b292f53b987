%% @doc What a model has said and thought of an answer so far, in the process that waits for it: it stays where the
%% answer is never whole.
%% @hidden
-module(beamai_agent_answer).

-export([watch/2, begin_anew/1, text/1, reasoning/1, forget/1]).

%% @doc The events of a run, which pass through here.
-spec watch(Tag :: reference(), fun((beamai_agent:event()) -> term())) -> fun((beamai_agent:event()) -> term()).
watch(Tag, Emit) ->
    fun(Event) ->
        ok = heard(Event, Tag),
        Emit(Event)
    end.

heard({text, Piece}, Tag) -> add(1, Piece, Tag);
heard({reasoning, Piece}, Tag) -> add(2, Piece, Tag);
heard({retry, _}, Tag) -> begin_anew(Tag);
heard(_Other, _Tag) -> ok.

add(Which, Piece, Tag) ->
    Parts = get({?MODULE, Tag}),
    _ = put({?MODULE, Tag}, setelement(Which, Parts, [element(Which, Parts) | Piece])),
    ok.

%% @doc Nothing has been said yet.
-spec begin_anew(Tag :: reference()) -> ok.
begin_anew(Tag) ->
    _ = put({?MODULE, Tag}, {[], []}),
    ok.

%% @doc What was said.
-spec text(Tag :: reference()) -> binary().
text(Tag) ->
    {Said, _} = get({?MODULE, Tag}),
    iolist_to_binary(Said).

%% @doc What was thought, where the model tells.
-spec reasoning(Tag :: reference()) -> binary().
reasoning(Tag) ->
    {_, Thought} = get({?MODULE, Tag}),
    iolist_to_binary(Thought).

%% @doc Ends the watch.
-spec forget(Tag :: reference()) -> ok.
forget(Tag) ->
    _ = erase({?MODULE, Tag}),
    ok.
