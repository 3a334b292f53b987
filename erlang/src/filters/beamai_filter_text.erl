%% @doc Filters on the text of results: removes secrets, and cuts long results.
%% @hidden
-module(beamai_filter_text).

-export([redact/1, result_budget/1, secrets/0]).

-define(HIDDEN, <<"***">>).
%% Minimum length that a text is cut to.
-define(LEAST_BYTES, 200).

%% @doc Regular expressions for keys and tokens with a recognizable format. Prefixes that occur within words and in Base64
%% must be at the beginning of a token; the others may follow anything.
-spec secrets() -> [binary()].
secrets() ->
    [
        %% OpenAI, Anthropic and similar providers
        token("sk-", 3, "[A-Za-z0-9_-]{16,}"),
        %% GitHub, GitLab, Slack, npm, PyPI, Hugging Face
        <<"gh[pousr]_[A-Za-z0-9]{30,}">>, <<"github_pat_[A-Za-z0-9_]{30,}">>, <<"glpat-[A-Za-z0-9_-]{20,}">>,
        <<"xox[abprs]-[A-Za-z0-9-]{10,}">>, <<"npm_[A-Za-z0-9]{30,}">>, <<"pypi-[A-Za-z0-9_-]{30,}">>,
        token("hf_", 3, "[A-Za-z0-9]{30,}"),
        %% AWS, Google
        token("(?:AKIA|ASIA)", 4, "[A-Z0-9]{16}(?![A-Z0-9])"), token("AIza", 4, "[A-Za-z0-9_-]{35}"),
        %% JSON web tokens, bearer tokens, private keys
        token("eyJ", 3, "[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]+"), token("(?i)bearer", 6, "\\s+[A-Za-z0-9._~+/-]{16,}=*"),
        <<"-----BEGIN [A-Z ]*PRIVATE KEY-----[\\s\\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\\z)">>
    ].

%% The letter or digit before a token may be the end of an escape: of JSON, of a shell or a URL, or of a terminal's colours.
%% The search is fastest with the prefix first, so the borders are looked for behind it.
token(Prefix, Length, Rest) ->
    Borders = ["![A-Za-z0-9]", "=\\\\[bfnrt]", "=\\\\u[0-9A-Fa-f]{4}", "=\\\\x[0-9A-Fa-f]{2}", "=\\\\[0-7]{3}", "=%[0-9A-Fa-f]{2}", "=[0-9;\\[][mKJH]"],
    Behind = [["(?<", Border, ".{", integer_to_list(Length), "})"] || Border <- Borders],
    iolist_to_binary([Prefix, "(?:", lists:join("|", Behind), ")", Rest]).

%% @doc See {@link beamai_filters:redact/1}.
-spec redact(#{name => beamai_filter:name(), patterns => [iodata()]}) -> beamai_filter:filter().
redact(Options) ->
    Patterns = [compiled(Pattern) || Pattern <- maps:get(patterns, Options, secrets())],
    Hide = fun(Text) -> lists:foldl(fun hidden/2, Text, Patterns) end,
    beamai_filter:new(beamai_filter_options:name(Options, redact), fun(Call, Next) ->
        case Next(Call) of
            {ok, Value, Context} -> {ok, in_texts(Hide, hidden, Value), Context};
            {error, Error} -> {error, in_texts(Hide, hidden, Error)}
        end
    end).

%% Compiled on first use, because a kernel can be sent to another node.
compiled(Pattern) ->
    try re:compile(Pattern) of
        {ok, _} -> iolist_to_binary(Pattern);
        {error, {Why, Position}} ->
            beamai_validate:bad_option(patterns, [
                beamai_error:show(Pattern, 80), " is not a regular expression: ", Why, " at position ", integer_to_binary(Position)
            ])
    catch
        error:badarg -> beamai_validate:bad_option(patterns, [beamai_validate:show(Pattern), " is not a regular expression"])
    end.

hidden(Pattern, Text) ->
    re:replace(Text, Pattern, ?HIDDEN, [global, {return, binary}]).

%% @doc See {@link beamai_filters:result_budget/1}.
-spec result_budget(#{name => beamai_filter:name(), bytes := pos_integer()}) -> beamai_filter:filter().
result_budget(#{bytes := Bytes} = Options) when is_integer(Bytes), Bytes > 0 ->
    beamai_filter:new(beamai_filter_options:name(Options, result_budget), fun(Call, Next) ->
        case Next(Call) of
            {ok, Value, Context} -> {ok, within(Bytes, Value, Bytes), Context};
            {error, _} = Error -> Error
        end
    end);
result_budget(_Other) ->
    beamai_validate:bad_option(bytes, "is missing: how many bytes of text a result may have").

within(Bytes, Value, Most) ->
    case total(Value) of
        Total when Total =< Bytes; Most < ?LEAST_BYTES -> Value;
        _ -> within(Bytes, in_texts(fun(Text) -> cut(Text, Most) end, kept, Value), Most div 2)
    end.

cut(Text, Most) when byte_size(Text) =< Most -> Text;
cut(Text, Most) ->
    Begin = beamai_text:whole_characters(binary:part(Text, 0, max(0, Most - 60))),
    <<Begin/binary, "\n(cut: ", (integer_to_binary(byte_size(Text) - byte_size(Begin)))/binary, " bytes more)">>.

total(Text) when is_binary(Text) -> byte_size(Text);
total(List) when is_list(List) -> lists:sum([total(Part) || Part <- proper(List)]);
total(Map) when is_map(Map) -> lists:sum([total(Value) || Value <- maps:values(Map)]);
total(_Other) -> 0.

%% Changes all texts of a term; those in map keys, too, if `Keys' is `hidden'.
in_texts(Fun, _Keys, Text) when is_binary(Text) -> Fun(Text);
in_texts(Fun, kept, Map) when is_map(Map) -> maps:map(fun(_Key, Value) -> in_texts(Fun, kept, Value) end, Map);
in_texts(Fun, hidden, Map) when is_map(Map) -> with_hidden_keys(Fun, Map);
in_texts(Fun, Keys, [Head | Tail]) -> [in_texts(Fun, Keys, Head) | in_texts(Fun, Keys, Tail)];
in_texts(Fun, Keys, Tuple) when is_tuple(Tuple) -> list_to_tuple(in_texts(Fun, Keys, tuple_to_list(Tuple)));
in_texts(_Fun, _Keys, Other) -> Other.

%% Different keys can become the same text. No value may get lost by that, so the later ones are numbered.
with_hidden_keys(Fun, Map) ->
    Pairs = [{in_texts(Fun, hidden, Key), Key, in_texts(Fun, hidden, Value)} || {Key, Value} <- lists:sort(maps:to_list(Map))],
    {Same, Changed} = lists:partition(fun({New, Key, _}) -> New =:= Key end, Pairs),
    lists:foldl(
        fun({New, _, Value}, Put) -> Put#{unused(New, New, 2, Put) => Value} end,
        maps:from_list([{Key, Value} || {_, Key, Value} <- Same]),
        Changed
    ).

unused(Key, First, Number, Map) when is_map_key(Key, Map) -> unused(numbered(First, Number), First, Number + 1, Map);
unused(Key, _First, _Number, _Map) -> Key.

numbered(Text, Number) when is_binary(Text) -> <<Text/binary, " (", (integer_to_binary(Number))/binary, ")">>;
numbered(Term, Number) -> {Term, Number}.

proper(List) -> [Part || Part <- List].
