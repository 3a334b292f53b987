%% @doc The last answer of a run that has the option `output': decoded and checked against the schema.
%% @hidden
-module(beamai_agent_output).

-export([check/2, again/1, explain/1]).

%% Of what is wrong with an answer, what is told.
-define(MOST_PROBLEMS, 20).

%% @doc The value, or what is wrong with it. An answer may stand in a fence of Markdown.
-spec check(Text :: binary(), Schema :: map()) -> {ok, term()} | {error, Problems :: [binary(), ...]}.
check(Text, Schema) ->
    case beamai_json:decode(unfenced(string:trim(Text))) of
        {ok, Value} -> checked(Value, beamai_json_schema:problems_of(<<"answer">>, Schema, Value));
        {error, Why} -> {error, [<<"the answer is not JSON: ", Why/binary>>]}
    end.

checked(Value, []) -> {ok, Value};
checked(_Value, Problems) -> {error, lists:sublist(Problems, ?MOST_PROBLEMS)}.

unfenced(Text) ->
    case re:run(Text, "^```[a-z]*\\s*\n(.*)\n```$", [dotall, {capture, all_but_first, binary}]) of
        {match, [Inner]} -> Inner;
        nomatch -> Text
    end.

%% @doc What the model is told of an answer that does not match.
-spec again(Problems :: [binary()]) -> beamai_chat_model:message().
again(Problems) ->
    Text = ["Your answer does not match the schema:", [["\n- ", Problem] || Problem <- Problems], "\nAnswer again, with the JSON value alone."],
    #{role => user, content => iolist_to_binary(Text)}.

%% @doc The same for a person.
-spec explain(Problems :: [binary()]) -> binary().
explain(Problems) ->
    iolist_to_binary(["The model's answer does not match the schema: ", lists:join("; ", Problems), "."]).
