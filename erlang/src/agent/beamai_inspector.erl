%% @doc Renders calls as an HTML page: a single file that needs no network.
%%
%% ```
%% ok = beamai_inspector:write("run.html", #{calls => beamai_trace:entries(Trace), conversation => beamai_agent:conversation(Agent)}).
%% '''
%%
%% The page has a timeline with nesting and parallel calls, details of each call (for a refusal, the deciding rule),
%% filters by name, agent, kind and outcome, totals, and the conversation. Only visible rows are drawn, so it can handle
%% 100,000 calls. It supports dark mode and keyboard navigation: arrows, Home, End, Enter, `/' for the filter.
-module(beamai_inspector).

-export([page/1, write/2]).
-export_type([contents/0]).

-type contents() :: #{
    title => binary(),
    calls => [beamai_trace:entry()],
    conversation => beamai_conversation:t()
}.

%% @doc The page. Raises `{bad_option, Key}' for an unknown key.
-spec page(contents()) -> iolist().
page(Contents) ->
    [beamai_validate:bad_option(Key, "is not shown by the inspector; it takes title, calls and conversation") || Key <- maps:keys(maps:without([title, calls, conversation], Contents))],
    Title = maps:get(title, Contents, <<"beamai">>),
    Messages = case Contents of
        #{conversation := Conversation} -> [message(Message) || Message <- beamai_conversation:messages(Conversation)];
        #{} -> []
    end,
    Calls = lists:join(",", [embedded(beamai_trace:json(Call)) || Call <- maps:get(calls, Contents, [])]),
    beamai_inspector_page:html(escaped(Title), ["[", Calls, "]"], embedded(beamai_json:text(Messages))).

%% @doc Writes the page to a file.
-spec write(file:name_all(), contents()) -> ok | {error, file:posix() | badarg | terminated | system_limit}.
write(File, Contents) ->
    file:write_file(File, page(Contents)).

message(#{role := Role, content := Text} = Message) ->
    Calls = [#{name => Name, args => Args} || #{name := Name, args := Args} <- maps:get(tool_calls, Message, [])],
    Images = [<<"data:", Type/binary, ";base64,", Data/binary>> || #{media_type := Type, data := Data} <- maps:get(images, Message, []) ++ maps:get(attachments, Message, []), is_image(Type)],
    Own = #{role => Role, text => Text, calls => Calls, images => Images},
    maps:merge(Own, maps:with([name, outcome], Message)).

is_image(<<"image/", _/binary>>) -> true;
is_image(_Type) -> false.

%% A script element ends at the first `</script', so `<' must be escaped.
embedded(Json) -> binary:replace(Json, <<"<">>, <<"\\u003c">>, [global]).

escaped(Text) ->
    lists:foldl(
        fun({Character, Entity}, Acc) -> binary:replace(Acc, Character, Entity, [global]) end,
        Text,
        [{<<"&">>, <<"&amp;">>}, {<<"<">>, <<"&lt;">>}, {<<">">>, <<"&gt;">>}]
    ).
