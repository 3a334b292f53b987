%% @doc The head of a Markdown file: keys and values between two lines of three dashes.
%%
%% The part of YAML that such heads use: a scalar, plain or in quotes, a list in brackets or on lines of its own, and
%% a text over several lines after `|' or `>'. What is none of these is an error, not a guess.
-module(beamai_front_matter).

-export([parse/1]).
-export_type([value/0]).

-type value() :: binary() | [binary()].

%% @doc The keys and the text after them. A file without a head has no keys. The error names the line.
-spec parse(Text :: binary()) -> {ok, #{binary() => value()}, Body :: binary()} | {error, Message :: binary()}.
parse(Text) ->
    case binary:split(unix(Text), <<"\n">>) of
        [<<"---">>, Rest] -> head(Rest);
        _ -> {ok, #{}, Text}
    end.

unix(<<239, 187, 191, Text/binary>>) -> unix(Text);
unix(Text) -> binary:replace(Text, <<"\r\n">>, <<"\n">>, [global]).

head(Text) ->
    Lines = binary:split(Text, <<"\n">>, [global]),
    case lists:splitwith(fun(Line) -> string:trim(Line, trailing) =/= <<"---">> end, Lines) of
        {_, []} -> {error, <<"the head has no end: a line of three dashes">>};
        {Head, [_ | Body]} ->
            case keys(lists:zip(lists:seq(2, length(Head) + 1), Head), #{}) of
                {ok, Keys} -> {ok, Keys, iolist_to_binary(lists:join("\n", Body))};
                {error, _} = Error -> Error
            end
    end.

keys([], Keys) ->
    {ok, Keys};
keys([{Number, Line} | Rest], Keys) ->
    case string:trim(Line) of
        <<>> -> keys(Rest, Keys);
        <<"#", _/binary>> -> keys(Rest, Keys);
        _ -> key(re:run(Line, "^([A-Za-z_][A-Za-z0-9_-]*):(?:[ \t]+(.*?))?[ \t]*$", [{capture, all_but_first, binary}]), Number, Rest, Keys)
    end.

key({match, [Name]}, Number, Rest, Keys) ->
    key({match, [Name, <<>>]}, Number, Rest, Keys);
key({match, [Name, _]}, Number, _Rest, Keys) when is_map_key(Name, Keys) ->
    wrong(Number, ["the key ", Name, " is given twice"]);
key({match, [Name, Value]}, _Number, Rest, Keys) ->
    {Below, After} = lists:splitwith(fun({_, Line}) -> is_below(Line) end, Rest),
    case value(Value, Below) of
        {ok, Parsed} -> keys(After, Keys#{Name => Parsed});
        {error, At, Why} -> wrong(At, Why)
    end;
key(nomatch, Number, _Rest, _Keys) ->
    wrong(Number, "this is no key and value").

wrong(Number, Why) ->
    {error, iolist_to_binary(["line ", integer_to_list(Number), ": ", Why])}.

is_below(<<C, _/binary>>) when C =:= $\s; C =:= $\t -> true;
is_below(<<"- ", _/binary>>) -> true;
is_below(Line) -> string:trim(Line) =:= <<>>.

value(<<Style, _/binary>>, Below) when Style =:= $|; Style =:= $> ->
    Lines = [string:trim(Line) || {_, Line} <- Below],
    Between = case Style of $| -> "\n"; $> -> " " end,
    {ok, string:trim(iolist_to_binary(lists:join(Between, Lines)))};
value(<<>>, Below) ->
    list([Item || {_, Line} = Item <- Below, string:trim(Line) =/= <<>>], []);
value(Value, Below) ->
    case [Number || {Number, Line} <- Below, string:trim(Line) =/= <<>>] of
        [] -> {ok, inline(Value)};
        [Number | _] -> {error, Number, "this continues a value that has ended"}
    end.

list([], []) ->
    {ok, <<>>};
list([], Items) ->
    {ok, lists:reverse(Items)};
list([{Number, Line} | Rest], Items) ->
    case string:trim(Line) of
        <<"- ", Item/binary>> -> list(Rest, [scalar(string:trim(Item)) | Items]);
        _ -> {error, Number, "this is no item of a list"}
    end.

inline(<<"[", Rest/binary>> = Value) ->
    case binary:last(Value) of
        $] -> [scalar(Item) || Item <- items(binary:part(Rest, 0, byte_size(Rest) - 1)), Item =/= <<>>];
        _ -> Value
    end;
inline(Value) ->
    scalar(Value).

items(Text) ->
    [string:trim(Item) || Item <- binary:split(Text, <<",">>, [global])].

scalar(Text) ->
    case re:run(Text, "^(?:\"(.*)\"|'(.*)')$", [{capture, all_but_first, binary}]) of
        {match, Parts} -> lists:last(Parts);
        nomatch -> Text
    end.
