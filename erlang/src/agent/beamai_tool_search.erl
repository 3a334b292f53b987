%% @doc With many tools, lists only some of them and lets the model search for the others.
%%
%% The model is offered the tools in `always', the tool `tool_search', and the tools that it has found in this
%% conversation. The found tools are derived from the conversation's searches, so a stored conversation continues with
%% the same tools. All tools can be called at any time; the others are just not sent to the provider.
%% @hidden
-module(beamai_tool_search).

-export([check/1, with_search/2, without_search/1, offered/2]).
-export([call/3]).
-export_type([options/0]).

-define(NAME, <<"tool_search">>).
-define(FOUND, 8).
-define(DESCRIPTION, <<
    "Finds tools. Only some of the tools are listed; search here for what else you need, by words of what it does. What is "
    "found can be called from your next answer on."
>>).

%% `max': number of tools up to which all are listed. `always': tools that are always listed.
-type options() :: #{max := pos_integer(), always => [binary()]}.
%% A searchable tool: its name, its description, and the words of both.
-type entry() :: {Name :: binary(), Description :: binary(), Words :: [binary()]}.

%% @doc Validates the option `tool_listing'. Raises `{bad_option, tool_listing}'.
-spec check(term()) -> options().
check(#{max := Max} = Options) when is_integer(Max), Max > 0 ->
    Always = maps:get(always, Options, []),
    maps:keys(maps:without([max, always], Options)) =:= [] andalso is_list(Always) andalso lists:all(fun is_binary/1, Always) orelse bad(Options),
    Options#{always => Always};
check(Other) ->
    bad(Other).

-spec bad(term()) -> no_return().
bad(Options) ->
    beamai_validate:bad_option(tool_listing, ["must be a map of max, a count above 0, and always, a list of names, not ", beamai_validate:show(Options)]).

%% @doc Adds the search tool if the kernel has more tools than are to be listed.
-spec with_search(beamai_kernel:kernel(), none | options()) -> beamai_kernel:kernel().
with_search(#{tools := Tools} = Kernel, #{max := Max}) when map_size(Tools) > Max ->
    Index = [entry(Spec) || Spec <- beamai_kernel:get_tool_specs(Kernel)],
    beamai_kernel:replace_tool(Kernel, #{
        name => ?NAME,
        description => ?DESCRIPTION,
        parameters => #{<<"query">> => #{type => string, required => true, description => <<"Words of what the tool does">>}},
        handler => {?MODULE, call, [Index]},
        metadata => #{read_only => true}
    });
with_search(Kernel, _Options) ->
    Kernel.

entry(#{name := Name} = Spec) ->
    Description = maps:get(description, Spec, <<>>),
    {Name, Description, lists:usort(words(<<Name/binary, " ", Description/binary>>))}.

%% @doc Removes a search tool that {@link with_search/2} added.
-spec without_search(beamai_kernel:kernel()) -> beamai_kernel:kernel().
without_search(Kernel) ->
    case beamai_kernel:find_tool(Kernel, ?NAME) of
        {ok, #{handler := {?MODULE, call, _}}} -> beamai_kernel:remove_tool(Kernel, ?NAME);
        _ -> Kernel
    end.

%% @doc The kernel with only the tools that the model is offered after these messages, and those tools in the provider's
%% format.
-spec offered(beamai_agent:agent(), [beamai_chat_model:message()]) -> {beamai_kernel:kernel(), beamai_chat_model:tools()}.
offered(#{tool_listing := none, kernel := Kernel, tools := Tools}, _Messages) ->
    {Kernel, Tools};
offered(#{tool_listing := #{always := Always}, llm := Model, kernel := Kernel, tools := Tools}, Messages) ->
    case beamai_kernel:find_tool(Kernel, ?NAME) of
        {ok, #{handler := {?MODULE, call, [Index]}}} ->
            Offered = beamai_kernel:select_tools(Kernel, [?NAME | Always] ++ used(Index, Messages)),
            {Offered, beamai_chat:tools(Model, Offered)};
        _ ->
            {Kernel, Tools}
    end.

%% Tools found by a search, or called without one.
used(Index, Messages) ->
    Calls = [Call || #{role := assistant, tool_calls := Calls} <- Messages, Call <- Calls],
    lists:usort(lists:append([of_call(Call, Index) || Call <- Calls])).

of_call(#{name := ?NAME, args := #{<<"query">> := Query}}, Index) when is_binary(Query) -> [Name || {Name, _} <- search(Query, Index)];
of_call(#{name := Name}, _Index) -> [Name].

%% @private Handles a call of the search tool.
-spec call(map(), beamai_context:t(), [entry()]) -> {ok, map()}.
call(#{<<"query">> := Query}, _Context, Index) ->
    Found = [#{<<"name">> => Name, <<"description">> => Description} || {Name, Description} <- search(Query, Index)],
    Note = [{<<"note">>, <<"nothing was found; try other words">>} || Found =:= []],
    {ok, maps:from_list([{<<"tools">>, Found}, {<<"searched">>, length(Index)} | Note])}.

%% The best matches. Rare words count more, and words of the name count twice.
search(Query, Index) ->
    Wanted = lists:usort(words(Query)),
    Weights = [{Word, weight(Word, Index)} || Word <- Wanted],
    Scored = [{-score(Weights, Entry), Name, Description} || {Name, Description, _} = Entry <- Index],
    [{Name, Description} || {Score, Name, Description} <- lists:sublist(lists:sort(Scored), ?FOUND), Score < 0].

weight(Word, Index) ->
    Having = length([ok || {_, _, Words} <- Index, is_in(Word, Words)]),
    math:log(1 + length(Index) / (1 + Having)).

score(Weights, {Name, _Description, Words}) ->
    Own = words(Name),
    lists:sum([Weight * times(Word, Words, Own) || {Word, Weight} <- Weights]).

times(Word, Words, Own) ->
    case {is_in(Word, Own), is_in(Word, Words)} of
        {true, _} -> 2;
        {false, true} -> 1;
        {false, false} -> 0
    end.

%% Matches by prefix: "search" finds "searches", and "files" finds "file".
is_in(Word, Words) ->
    lists:any(fun(Other) -> is_prefix(Word, Other) orelse is_prefix(Other, Word) end, Words).

is_prefix(Short, Long) ->
    Size = byte_size(Short),
    Size >= 3 andalso byte_size(Long) =< Size + 3 andalso binary:longest_common_prefix([Short, Long]) =:= Size orelse Short =:= Long.

words(Text) ->
    [Word || Word <- re:split(string:lowercase(Text), "[^\\p{L}\\p{N}]+", [unicode, {return, binary}]), Word =/= <<>>].
