%% @doc Converts between JSON text and terms: objects are maps with binary keys, `null' is the atom.
%%
%% Implemented on the native side, since OTP has a JSON library only from release 27 on.
%% @hidden
-module(beamai_json).

-export([decode/1, encode/1, text/1]).

%% Larger inputs are processed on a dirty scheduler.
-define(SMALL_BYTES, 8192).

%% @doc Decodes JSON text. The error states the position. The maximum nesting depth is 128.
-spec decode(Text :: binary()) -> {ok, term()} | {error, Message :: binary()}.
decode(Text) when byte_size(Text) =< ?SMALL_BYTES -> reply(beamai_nif:json_decode_now(Text));
decode(Text) -> reply(beamai_nif:json_decode(Text)).

%% @doc Encodes maps, lists, UTF-8 binaries, numbers and atoms; `undefined' and `nil' become null, and `{json, Text}' is
%% inserted as it is. The error names the part that cannot be encoded.
-spec encode(term()) -> {ok, binary()} | {error, Message :: binary()}.
encode(Term) ->
    case term_to_binary(Term) of
        Small when byte_size(Small) =< ?SMALL_BYTES -> reply(beamai_nif:json_encode_now(Small));
        Large -> reply(beamai_nif:json_encode(Large))
    end.

%% @doc Any term as text for a model: as JSON, or in Erlang syntax if JSON cannot represent it.
-spec text(term()) -> binary().
text(Term) ->
    case encode(Term) of
        {ok, Json} -> Json;
        {error, _} -> shown(Term)
    end.

shown(Term) ->
    {ok, Json} = encode(unicode:characters_to_binary(beamai_error:show(Term, 20000))),
    Json.

reply(Reply) ->
    case binary_to_term(Reply, [safe]) of
        {ok, Value} -> {ok, Value};
        {error, #{<<"message">> := Message}} -> {error, Message}
    end.
