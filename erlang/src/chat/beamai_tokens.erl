%% @doc Estimates of tokens, for where no provider has counted: about four bytes of text make one.
%% @hidden
-module(beamai_tokens).

-export([of_request/1, of_tools/1, of_message/1, of_messages/1, of_text/1]).

%% What an image costs at most providers at their usual resolution, in bytes of text.
-define(IMAGE, 6000).
%% What surrounds a message or a call.
-define(FRAME, 16).

%% @doc Of everything that is sent: system prompt, schemas of the tools, and messages.
-spec of_request(beamai_chat_model:request()) -> integer().
of_request(#{system := System, tools := #{tokens := Tokens}, messages := Messages}) when is_integer(Tokens) ->
    of_text(System) + Tokens + of_messages(Messages);
of_request(#{system := System, kernel := Kernel, messages := Messages}) ->
    of_text(System) + of_tools(Kernel) + of_messages(Messages).

%% @doc Of the schemas of a kernel's tools.
-spec of_tools(beamai_kernel:kernel()) -> integer().
of_tools(Kernel) ->
    tokens(lists:sum([byte_size(beamai_json:text(Schema)) || Schema <- beamai_kernel:get_tool_schemas(Kernel, mcp)])).

%% @doc Of several messages.
-spec of_messages([beamai_chat_model:message()]) -> integer().
of_messages(Messages) ->
    tokens(lists:sum([bytes(Message) || Message <- Messages])).

%% @doc Of one message, with its calls and images.
-spec of_message(beamai_chat_model:message()) -> integer().
of_message(Message) ->
    tokens(bytes(Message)).

bytes(#{content := Text} = Message) ->
    Calls = [
        ?FRAME + byte_size(Name) + byte_size(beamai_json:text(Args))
     || #{name := Name, args := Args} <- maps:get(tool_calls, Message, [])
    ],
    Files = [beamai_attachments:bytes(File) || File <- maps:get(attachments, Message, [])],
    ?FRAME + byte_size(Text) + lists:sum(Calls) + lists:sum(Files) + ?IMAGE * length(maps:get(images, Message, [])).

%% @doc Of a text.
-spec of_text(binary()) -> integer().
of_text(Text) ->
    tokens(byte_size(Text)).

tokens(Bytes) ->
    (Bytes + 3) div 4.
