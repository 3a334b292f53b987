%% @doc The HTML of the inspector's page: markup, styles and script, without external resources.
%% @hidden
-module(beamai_inspector_page).

-export([of_contents/1, messages/1]).

%% @doc The page with these contents; `live' if a server provides updates.
-spec of_contents(#{title => binary(), calls => [beamai_trace:entry() | beamai_trace:running()], conversation => beamai_conversation:t(), live => boolean()}) -> iolist().
of_contents(Contents) ->
    Calls = lists:join(",", [embedded(beamai_trace:json(Call)) || Call <- maps:get(calls, Contents, [])]),
    html(#{
        title => escaped(maps:get(title, Contents, <<"beamai">>)),
        calls => ["[", Calls, "]"],
        messages => embedded(messages(maps:get(conversation, Contents, none))),
        live => maps:get(live, Contents, false)
    }).

%% @doc The messages of a conversation, as JSON.
-spec messages(beamai_conversation:t() | none) -> binary().
messages(none) -> <<"[]">>;
messages(Conversation) -> beamai_json:text([message(Message) || Message <- beamai_conversation:messages(Conversation)]).

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

%% The title is escaped HTML; calls and messages are JSON without `<'. A live page asks its server for new calls.
html(#{title := Title, calls := Calls, messages := Messages, live := Live}) ->
    [
        <<"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>\n">>,
        <<"<meta http-equiv='Content-Security-Policy' content='default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;; "
            "script-src &#39;unsafe-inline&#39;; img-src data:; connect-src &#39;self&#39;'>\n">>,
        <<"<meta name='viewport' content='width=device-width'><meta name='referrer' content='no-referrer'>\n">>,
        <<"<title>">>, Title, <<"</title>\n<style>\n">>,
        beamai_inspector_style:css(),
        <<"</style></head><body>\n<header><h1>">>, Title, <<"</h1>\n">>,
        <<"<input id='find' type='search' placeholder='name or error ( / )' aria-label='Filter by name or error'>\n">>,
        select(<<"kind">>, <<"Kind">>, <<"all kinds">>, [<<"tool">>, <<"model">>, <<"agent">>]),
        select(<<"outcome">>, <<"Outcome">>, <<"all outcomes">>, [<<"ok">>, <<"error">>, <<"refused">>, <<"running">>]),
        select(<<"who">>, <<"Agent">>, <<"all agents">>, []),
        <<"<button id='totals'>Totals</button><button id='talk'>Conversation</button>\n">>,
        <<"<label class='live'><input id='pause' type='checkbox'> pause</label><a class='live' id='save' download='inspector.html'>save</a>\n">>,
        <<"<span id='count' role='status'></span></header>\n">>,
        <<"<div id='list' tabindex='0' role='listbox' aria-label='Calls'><div id='rows'></div></div>\n">>,
        <<"<aside id='side' tabindex='0' aria-label='Details'></aside>\n">>,
        data(<<"calls">>, Calls),
        data(<<"messages">>, Messages),
        data(<<"live">>, atom_to_binary(Live)),
        <<"<script>\n">>,
        beamai_inspector_script:js(),
        <<"</script></body></html>\n">>
    ].

select(Id, Label, All, Values) ->
    [
        <<"<select id='">>, Id, <<"' aria-label='">>, Label, <<"'><option value=''>">>, All, <<"</option>">>,
        [[<<"<option>">>, Value, <<"</option>">>] || Value <- Values], <<"</select>\n">>
    ].

data(Id, Json) ->
    [<<"<script type='application/json' id='">>, Id, <<"'>">>, Json, <<"</script>\n">>].
