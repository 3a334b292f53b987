%% @doc Estimates of tokens, for where no provider has counted: about four bytes of text make one.
-module(beamai_tokens).

-export([of_request/1, of_tools/1, of_message/1, of_messages/1, of_text/1]).

%% What an image costs at most providers at their usual resolution.
-define(IMAGE, 1500).
%% What surrounds a message or a call.
-define(FRAME, 4).

%% @doc Of everything that is sent: system prompt, schemas of the tools, and messages.
-spec of_request(beamai_chat_model:request()) -> non_neg_integer().
of_request(#{system := System, kernel := Kernel, messages := Messages}) ->
    of_text(System) + of_tools(Kernel) + of_messages(Messages).

%% @doc Of the schemas of a kernel's tools.
-spec of_tools(beamai_kernel:kernel()) -> non_neg_integer().
of_tools(Kernel) ->
    sum(fun(Schema) -> of_text(beamai_json:text(Schema)) end, beamai_kernel:get_tool_schemas(Kernel, mcp)).

%% @doc Of several messages.
-spec of_messages([beamai_chat_model:message()]) -> non_neg_integer().
of_messages(Messages) ->
    sum(fun of_message/1, Messages).

sum(Of, List) -> lists:foldl(fun(One, Sum) -> Sum + Of(One) end, 0, List).

%% @doc Of one message, with its calls and images.
-spec of_message(beamai_chat_model:message()) -> non_neg_integer().
of_message(#{content := Text} = Message) ->
    Calls = sum(fun of_call/1, maps:get(tool_calls, Message, [])),
    ?FRAME + of_text(Text) + Calls + ?IMAGE * length(maps:get(images, Message, [])).

of_call(#{name := Name, args := Args}) ->
    ?FRAME + of_text(Name) + of_text(beamai_json:text(Args)).

%% @doc Of a text.
-spec of_text(binary()) -> non_neg_integer().
of_text(Text) ->
    (byte_size(Text) + 3) div 4.
