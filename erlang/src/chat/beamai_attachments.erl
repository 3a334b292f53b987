%% @doc Images and other files in a user's message, converted for each provider.
%%
%% A file is a path, or a name with its contents. PNG, JPEG, GIF, WebP, PDF and UTF-8 text are recognized by content;
%% for other types the host must give the media type. If a provider does not accept a file, or the model has the option
%% `images' set to false, a note is sent instead.
%% @hidden
-module(beamai_attachments).

-export([read/1, is_attachment/1, bytes/1, openai/2, anthropic/2, gemini/2, plain/1, names/1]).
-export_type([file/0, attachment/0]).

%% Maximum size of a file in bytes.
-define(MAX_BYTES, 20971520).
%% Estimated cost of an image or a document page, as the equivalent number of bytes of text.
-define(PAGE_COST, 6000).
%% Estimated bytes per page of a document.
-define(PAGE_BYTES, 51200).

-type file() ::
    file:name_all()
    | #{name := binary(), data := binary(), media_type => binary()}
    | #{path := file:name_all(), media_type => binary(), name => binary()}.
%% `data' is base64.
-type attachment() ::
    #{name := binary(), media_type := binary(), text := binary()}
    | #{name := binary(), media_type := binary(), data := binary()}.
-type block() :: #{binary() => term()}.

%%% From the host

%% @doc Reads a file. The error says what is wrong with it.
-spec read(file()) -> {ok, attachment()} | {error, binary()}.
read(#{name := Name, data := Data} = File) when is_binary(Data) ->
    named(Name, File, Data);
read(#{path := Path} = File) ->
    case from_disk(Path) of
        {ok, Data} -> named(maps:get(name, File, name(Path)), File, Data);
        {error, _} = Error -> Error
    end;
read(Path) when is_binary(Path); is_list(Path) ->
    read(#{path => Path});
read(Other) ->
    error_of("a file", ["must be a path, or a map of name and data, not ", beamai_error:show(Other, 80)]).

from_disk(Path) ->
    case {is_path(Path) andalso filelib:is_regular(Path), is_path(Path) andalso filelib:file_size(Path)} of
        {true, Size} when Size > ?MAX_BYTES -> too_large(name(Path), Size);
        {true, _Size} -> contents(Path, file:read_file(Path));
        {false, _} -> error_of(beamai_error:show(Path, 200), "is no file")
    end.

is_path(Path) ->
    is_binary(Path) orelse io_lib:char_list(Path).

contents(_Path, {ok, Data}) -> {ok, Data};
contents(Path, {error, Reason}) -> error_of(beamai_error:show(Path, 200), file:format_error(Reason)).

name(Path) -> beamai_error:readable(unicode:characters_to_binary(filename:basename(Path))).

named(Name, File, Data) ->
    Type = maps:get(media_type, File, unknown),
    case {is_text(Name), Type =:= unknown orelse is_text(Type)} of
        {true, true} -> attachment(Name, Type, Data);
        {true, false} -> error_of(Name, ["has a media_type that is no UTF-8 binary: ", beamai_error:show(Type, 80)]);
        {false, _} -> error_of("a file", ["has a name that is no UTF-8 binary: ", beamai_error:show(Name, 80)])
    end.

is_text(Term) -> is_binary(Term) andalso unicode:characters_to_binary(Term) =:= Term.

attachment(Name, _Type, Data) when byte_size(Data) > ?MAX_BYTES ->
    too_large(Name, byte_size(Data));
attachment(Name, unknown, Data) ->
    case media_type(Data) of
        unknown -> error_of(Name, "has an unknown media type; give it as media_type");
        Type -> attachment(Name, Type, Data)
    end;
attachment(Name, Type, Data) ->
    case {is_text_type(Type), is_text(Data)} of
        {true, true} -> {ok, #{name => Name, media_type => Type, text => Data}};
        {true, false} -> error_of(Name, ["is no UTF-8, so it cannot be sent as ", Type]);
        {false, _} -> {ok, #{name => Name, media_type => Type, data => base64:encode(Data)}}
    end.

is_text_type(<<"text/", _/binary>>) -> true;
is_text_type(Type) -> Type =:= <<"application/json">>.

media_type(<<16#89, "PNG\r\n", _/binary>>) -> <<"image/png">>;
media_type(<<16#FF, 16#D8, 16#FF, _/binary>>) -> <<"image/jpeg">>;
media_type(<<"GIF8", _/binary>>) -> <<"image/gif">>;
media_type(<<"RIFF", _:4/binary, "WEBP", _/binary>>) -> <<"image/webp">>;
media_type(<<"%PDF-", _/binary>>) -> <<"application/pdf">>;
media_type(Data) ->
    case is_text(Data) andalso binary:match(Data, <<0>>) =:= nomatch of
        true -> <<"text/plain">>;
        false -> unknown
    end.

too_large(Name, Size) ->
    error_of(Name, ["has ", integer_to_list(Size), " bytes; a file has ", integer_to_list(?MAX_BYTES), " at most"]).

error_of(Name, Text) ->
    {error, unicode:characters_to_binary([Name, " ", Text])}.

%%% Of a stored conversation

%% @doc Whether a term is an attachment.
-spec is_attachment(term()) -> boolean().
is_attachment(#{name := Name, media_type := Type} = Given) ->
    Contents = maps:values(maps:with([text, data], Given)),
    length(Contents) =:= 1 andalso lists:all(fun is_text/1, [Name, Type | Contents]);
is_attachment(_Other) ->
    false.

%% @doc The number of bytes of text that cost about as many tokens.
-spec bytes(attachment()) -> non_neg_integer().
bytes(#{text := Text}) -> byte_size(Text);
bytes(#{media_type := <<"image/", _/binary>>}) -> ?PAGE_COST;
bytes(#{data := Data}) -> ?PAGE_COST * (1 + byte_size(Data) * 3 div 4 div ?PAGE_BYTES).

%% @doc The names of a message's files, for a text that replaces the message; empty without files.
-spec names(beamai_chat_model:message()) -> iolist().
names(#{attachments := [_ | _] = Files}) -> [" (with ", lists:join(", ", [Name || #{name := Name} <- Files]), ")"];
names(_Message) -> "".

%%% To the providers

%% @doc Content parts for OpenAI.
-spec openai([attachment()], #{images := boolean(), _ => _}) -> [block()].
openai(Files, Options) -> [openai_part(File) || File <- shown(Files, Options)].

openai_part(#{data := Data, media_type := <<"image/", _/binary>> = Type}) ->
    #{<<"type">> => <<"image_url">>, <<"image_url">> => #{<<"url">> => data_url(Type, Data)}};
openai_part(#{data := Data, media_type := Type, name := Name}) ->
    #{<<"type">> => <<"file">>, <<"file">> => #{<<"filename">> => Name, <<"file_data">> => data_url(Type, Data)}};
openai_part(File) ->
    text_block(File).

data_url(Type, Data) -> <<"data:", Type/binary, ";base64,", Data/binary>>.

%% @doc Content blocks for Anthropic.
-spec anthropic([attachment()], #{images := boolean(), _ => _}) -> [block()].
anthropic(Files, Options) -> [anthropic_block(File) || File <- shown(Files, Options)].

anthropic_block(#{data := _, media_type := <<"image/", _/binary>>} = File) ->
    #{<<"type">> => <<"image">>, <<"source">> => base64_source(File)};
anthropic_block(#{data := _, media_type := <<"application/pdf">>, name := Name} = File) ->
    #{<<"type">> => <<"document">>, <<"source">> => base64_source(File), <<"title">> => Name};
anthropic_block(#{data := _} = File) ->
    text_block(noted(File));
anthropic_block(File) ->
    text_block(File).

base64_source(#{data := Data, media_type := Type}) ->
    #{<<"type">> => <<"base64">>, <<"media_type">> => Type, <<"data">> => Data}.

text_block(#{text := _} = File) -> #{<<"type">> => <<"text">>, <<"text">> => written(File)}.

%% @doc Content parts for Gemini.
-spec gemini([attachment()], #{images := boolean(), _ => _}) -> [block()].
gemini(Files, Options) -> [gemini_part(File) || File <- shown(Files, Options)].

gemini_part(#{data := Data, media_type := Type}) ->
    #{<<"inlineData">> => #{<<"mimeType">> => Type, <<"data">> => Data}};
gemini_part(File) ->
    #{<<"text">> => written(File)}.

%% @doc A message's files as text, for models that accept only text.
-spec plain(beamai_chat_model:message()) -> [binary()].
plain(#{attachments := Files}) -> [written(noted(File)) || File <- Files];
plain(_Message) -> [].

shown(Files, #{images := true}) -> Files;
shown(Files, #{images := false}) -> [without_image(File) || File <- Files].

without_image(#{media_type := <<"image/", _/binary>>} = File) -> noted(File);
without_image(File) -> File.

noted(#{data := Data, media_type := Type} = File) ->
    Size = integer_to_binary(byte_size(Data) * 3 div 4),
    (maps:remove(data, File))#{text => <<"(", Type/binary, " of about ", Size/binary, " bytes, which cannot be shown to this model)">>};
noted(File) ->
    File.

written(#{name := Name, text := Text}) ->
    iolist_to_binary(["<file name=\"", binary:replace(Name, <<"\"">>, <<"'">>, [global]), "\">\n", Text, "\n</file>"]).
