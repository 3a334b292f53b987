%% @doc Images in the results of tools, taken out of them: as text they would cost much and show nothing.
%%
%% They are found where the built-in tools have them (`image_base64', or `content' with `is_image', beside a
%% `media_type') and where MCP has them; results of the host's own tools may use either form.
%% @hidden
-module(beamai_images).

-export([take/1]).
-export_type([image/0]).

%% What providers can show.
-define(IS_SHOWN(Type), Type =:= <<"image/png">>; Type =:= <<"image/jpeg">>; Type =:= <<"image/gif">>; Type =:= <<"image/webp">>).

%% `data' is base64.
-type image() :: #{media_type := binary(), data := binary()}.

%% @doc The result with a note in the place of each image, and the images.
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
