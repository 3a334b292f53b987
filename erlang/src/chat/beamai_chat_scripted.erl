%% @doc A model with scripted answers, for tests and examples.
%%
%% The n-th answer of a conversation is the n-th turn, so one model can serve several conversations at once, and a
%% stored conversation continues where it stopped.
%% @hidden
-module(beamai_chat_scripted).
-behaviour(beamai_chat_model).

-export([new/1, complete/2, instructions/1]).
-export_type([options/0, turn/0]).

-type options() :: #{
    turns := [turn()] | fun((beamai_chat_model:request()) -> turn())
}.
%% A text; tool calls, with or without text; an error; or a fun that returns one of these for a request.
-type turn() ::
    binary()
    | #{
        content => binary(),
        tool_calls => [{Name :: binary(), Args :: map()}],
        usage => #{input_tokens => non_neg_integer(), output_tokens => non_neg_integer()},
        stop => beamai_chat_model:stop()
    }
    | {error, term()}
    | fun((beamai_chat_model:request()) -> turn()).

%% @doc Validates the options; raises `{bad_option, Key}'.
-spec new(options()) -> options().
new(#{turns := Turns} = Options) when is_list(Turns); is_function(Turns, 1) ->
    case maps:keys(maps:without([turns], Options)) of
        [] -> Options;
        [Unknown | _] -> beamai_validate:unknown_option(Unknown, [turns])
    end;
new(_Options) ->
    beamai_validate:bad_option(turns, "must be a list of turns, or a function from a request to a turn").

%% @doc Empty: a script knows the tools that it calls.
-spec instructions(beamai_kernel:kernel()) -> binary().
instructions(_Kernel) -> <<>>.

%% @doc The next turn of the conversation; the error `no_more_turns' if there is none.
-spec complete(options(), beamai_chat_model:request()) ->
    {ok, beamai_chat_model:reply()} | {error, beamai_chat_model:error()}.
complete(#{turns := Turns}, Request) when is_function(Turns, 1) ->
    turn(Turns(Request), Request);
complete(#{turns := Turns}, #{messages := Messages} = Request) ->
    case lists:nthtail(min(said(Messages), length(Turns)), Turns) of
        [Turn | _] ->
            turn(Turn, Request);
        [] ->
            Message = ["the script has no turn ", integer_to_list(said(Messages) + 1), ": it has ", integer_to_list(length(Turns))],
            {error, #{reason => no_more_turns, message => iolist_to_binary(Message)}}
    end.

said(Messages) ->
    length([ok || #{role := assistant} <- Messages]).

turn(Fun, Request) when is_function(Fun, 1) -> turn(Fun(Request), Request);
turn(Text, Request) when is_binary(Text) -> turn(#{content => Text}, Request);
turn({error, #{reason := _, message := _} = Error}, _Request) -> {error, Error};
turn({error, Reason}, _Request) ->
    {error, #{reason => failed, message => unicode:characters_to_binary(beamai_error:show(Reason, 300))}};
turn(#{} = Turn, Request) ->
    case {maps:get(content, Turn, <<>>), maps:get(tool_calls, Turn, [])} of
        {Content, Calls} when is_binary(Content), length(Calls) >= 0 ->
            case [Call || Call <- Calls, not is_call(Call)] of
                [] -> turn(Content, Calls, Turn, Request);
                [Other | _] -> bad_turn(["a call of a turn must be ", beamai_syntax:either("{Name, Args}", "{name, args}"), ", not ", beamai_error:show(Other, 80)])
            end;
        _ ->
            bad_turn(Turn)
    end;
turn(Other, _Request) ->
    bad_turn(["a turn must be a ", beamai_syntax:text(), ", a map of content and tool_calls, or a function, not ", beamai_error:show(Other, 80)]).

%% The arguments may be as odd as those of a model.
is_call({Name, _Args}) -> is_binary(Name);
is_call(_Other) -> false.

bad_turn(#{} = Turn) ->
    bad_turn(["a turn has content, a ", beamai_syntax:text(), ", and tool_calls, a list, not ", beamai_error:show(Turn, 80)]);
bad_turn(Why) ->
    {error, #{reason => failed, message => unicode:characters_to_binary(["the script is not valid: ", Why])}}.

turn(Content, Given, Turn, #{emit := Emit, messages := Messages}) ->
    Content =/= <<>> andalso Emit({text, Content}),
    Said = said(Messages),
    Calls = [call(Said, Number, Call) || {Number, Call} <- lists:zip(lists:seq(1, length(Given)), Given)],
    Message = #{role => assistant, content => Content, tool_calls => Calls},
    {ok, beamai_chat_model:reply(Message, (maps:with([stop], Turn))#{usage => usage(Turn)})}.

usage(Turn) ->
    maps:merge(#{input_tokens => 0, output_tokens => 0}, maps:get(usage, Turn, #{})).

call(Said, Number, {Name, Args}) ->
    Id = ["call_", integer_to_list(Said + 1), "_", integer_to_list(Number)],
    #{id => iolist_to_binary(Id), name => Name, args => Args}.
