%% @doc Checks token counts of a provider, and estimates those that it does not return: about four bytes of text per
%% token.
%% @hidden
-module(beamai_tokens).

-export([count/2, of_request/1, of_tools/1, of_message/1, of_messages/1, of_text/1]).

%% The usual cost of an image, as the equivalent number of bytes of text.
-define(IMAGE, 6000).
%% Overhead of a message or call, in bytes.
-define(FRAME, 16).
-define(MOST, 1000000000000).

%% @doc What a provider said, if it is a count; otherwise `Default'. Numbers that no answer can have are none: they would
%% overflow the counters of a budget, or never use it up.
-spec count(Said :: term(), Default) -> non_neg_integer() | Default.
count(Said, _Default) when is_integer(Said), Said >= 0, Said =< ?MOST -> Said;
count(_Said, Default) -> Default.

%% @doc A whole request: system prompt, schemas of the tools, and messages.
-spec of_request(beamai_chat_model:request()) -> integer().
of_request(#{system := System, tools := #{tokens := Tokens}, messages := Messages}) when is_integer(Tokens) ->
    of_text(System) + Tokens + of_messages(Messages);
of_request(#{system := System, kernel := Kernel, messages := Messages}) ->
    of_text(System) + of_tools(Kernel) + of_messages(Messages).

%% @doc The schemas of a kernel's tools.
-spec of_tools(beamai_kernel:kernel()) -> integer().
of_tools(Kernel) ->
    tokens(lists:sum([byte_size(beamai_json:text(Schema)) || Schema <- beamai_kernel:get_tool_schemas(Kernel, mcp)])).

%% @doc Several messages.
-spec of_messages([beamai_chat_model:message()]) -> integer().
of_messages(Messages) ->
    tokens(lists:sum([bytes(Message) || Message <- Messages])).

%% @doc One message, with its calls and images.
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

%% @doc A text.
-spec of_text(binary()) -> integer().
of_text(Text) ->
    tokens(byte_size(Text)).

tokens(Bytes) ->
    (Bytes + 3) div 4.
