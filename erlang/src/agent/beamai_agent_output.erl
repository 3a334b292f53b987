%% @doc The last answer of a run with the option `output', decoded and checked against the schema.
%% @hidden
-module(beamai_agent_output).

-export([check/2, again/1, explain/1]).

%% Maximum number of problems that are reported.
-define(MOST_PROBLEMS, 20).

%% @doc The decoded value, or its problems. The answer may be enclosed in a Markdown code fence.
-spec check(Text :: binary(), Schema :: map()) -> {ok, term()} | {error, Problems :: [binary(), ...]}.
check(Text, Schema) ->
    case beamai_json:decode(unfenced(string:trim(Text))) of
        {ok, Value} -> checked(Value, beamai_json_schema:problems_of(<<"answer">>, Schema, Value));
        {error, Why} -> {error, [<<"the answer is not JSON", (place(Why))/binary>>]}
    end.

%% The error begins with words about any text.
place(<<"this is not JSON", Place/binary>>) -> Place;
place(Why) -> <<": ", Why/binary>>.

checked(Value, []) -> {ok, Value};
checked(_Value, Problems) -> {error, lists:sublist(Problems, ?MOST_PROBLEMS)}.

unfenced(Text) ->
    case re:run(Text, "^```[a-z]*\\s*\n(.*)\n```$", [dotall, {capture, all_but_first, binary}]) of
        {match, [Inner]} -> Inner;
        nomatch -> Text
    end.

%% @doc The message to the model about an answer that does not match.
-spec again(Problems :: [binary()]) -> beamai_chat_model:message().
again(Problems) ->
    Text = ["Your answer does not match the schema:", [["\n- ", Problem] || Problem <- Problems], "\nAnswer again, with the JSON value alone."],
    #{role => user, content => iolist_to_binary(Text)}.

%% @doc The explanation for a person.
-spec explain(Problems :: [binary()]) -> binary().
explain(Problems) ->
    iolist_to_binary(["The model's answer does not match the schema: ", lists:join("; ", Problems), "."]).
