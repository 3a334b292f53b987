%% @doc Extracts images from tool results. As base64 text they would cost many tokens and mean nothing to a model.
%%
%% Images are found in the form of the built-in tools (`image_base64', or `content' with `is_image', with a
%% `media_type') and in the form of MCP; custom tools may use either.
%% @hidden
-module(beamai_images).

-export([take/1]).
-export_type([image/0]).

%% Types that providers accept.
-define(IS_SHOWN(Type), Type =:= <<"image/png">>; Type =:= <<"image/jpeg">>; Type =:= <<"image/gif">>; Type =:= <<"image/webp">>).

%% `data' is base64.
-type image() :: #{media_type := binary(), data := binary()}.

%% @doc Replaces each image in the result by a note, and returns the images.
-spec take(Result :: term()) -> {Result :: term(), [image()]}.
take(#{<<"image_base64">> := Data, <<"media_type">> := Type} = Result) when is_binary(Data), Data =/= <<>> ->
    in_place(<<"image_base64">>, Data, Type, Result);
take(#{<<"is_image">> := true, <<"content">> := Data, <<"media_type">> := Type} = Result) when
    is_binary(Data), Data =/= <<>>
->
    in_place(<<"content">>, Data, Type, Result);
take(#{<<"content">> := Parts} = Result) when length(Parts) > 0 ->
    {Left, Images} = lists:unzip([part(Part) || Part <- Parts]),
    {Result#{<<"content">> := Left}, lists:append(Images)};
take(Result) ->
    {Result, []}.

part(#{<<"type">> := <<"image">>, <<"data">> := Data, <<"mimeType">> := Type} = Part) when is_binary(Data) ->
    in_place(<<"data">>, Data, Type, Part);
part(Other) ->
    {Other, []}.

in_place(Key, Data, Type, Result) when ?IS_SHOWN(Type) ->
    {Result#{Key := note(Type, Data)}, [#{media_type => Type, data => Data}]};
in_place(_Key, _Data, _Type, Result) ->
    {Result, []}.

note(Type, Data) ->
    Size = integer_to_binary(byte_size(Data) * 3 div 4),
    <<"(", Type/binary, " of about ", Size/binary, " bytes, left out of this text)">>.
