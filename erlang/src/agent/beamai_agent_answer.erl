%% @doc Collects what a model has said and thought so far, in the process that waits for the answer, so that a partial
%% answer survives an interrupted request.
%% @hidden
-module(beamai_agent_answer).

-export([watch/2, begin_anew/1, text/1, reasoning/1, forget/1]).

%% @doc Wraps the event function of a run to collect text and reasoning.
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

%% @doc Starts a new answer.
-spec begin_anew(Tag :: reference()) -> ok.
begin_anew(Tag) ->
    _ = put({?MODULE, Tag}, {[], []}),
    ok.

%% @doc The text so far.
-spec text(Tag :: reference()) -> binary().
text(Tag) ->
    {Said, _} = get({?MODULE, Tag}),
    iolist_to_binary(Said).

%% @doc The reasoning so far, if the model returns it.
-spec reasoning(Tag :: reference()) -> binary().
reasoning(Tag) ->
    {_, Thought} = get({?MODULE, Tag}),
    iolist_to_binary(Thought).

%% @doc Stops collecting.
-spec forget(Tag :: reference()) -> ok.
forget(Tag) ->
    _ = erase({?MODULE, Tag}),
    ok.
