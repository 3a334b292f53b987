%% @doc The outcome of a call as a message for the model.
%% @hidden
-module(beamai_agent_result).

-include("../kernel/beamai_plan.hrl").

-export([reader/1, message/2]).
-export_type([reader/0]).

%% How results are rendered: the owner of the tools, the maximum length, and whether the model gets objects where the
%% text protocol specifies them.
-opaque reader() :: #{kernel := beamai_kernel:kernel(), limit := pos_integer(), object := boolean()}.

%% @doc The reader for an agent's model.
-spec reader(beamai_agent:agent()) -> reader().
reader(#{kernel := Kernel, llm := Model} = Agent) ->
    Limits = maps:merge(maps:get(limits, Kernel, #{}), maps:get(limits, Agent, #{})),
    #{
        kernel => Kernel,
        limit => maps:get(result, Limits, beamai_display:limit(default)),
        object => beamai_chat:speaks_text_protocol(Model)
    }.

%% @doc Converts an outcome to a message. A custom tool's result that cannot be rendered becomes an error.
-spec message(beamai_agent_calls:outcome(), reader()) -> beamai_chat_model:message().
message({#{name := Name, args := Args} = Call, {ok, Result}}, #{limit := Limit, object := Object} = Reader) ->
    {Left, Images} = beamai_images:take(Result),
    case beamai_display:rendered(Name, Args, Left, #{limit => Limit, object => Object, dialect => dialect(Name, Reader)}) of
        {ok, Rendered} -> with_images(Images, told(Call, ok, Rendered));
        {error, Hint} -> told(Call, error, #{text => Hint})
    end;
message({Call, {refused, Message}}, _Reader) ->
    told(Call, refused, #{text => Message});
message({Call, {error, Error}}, #{limit := Limit}) ->
    told(Call, error, #{text => beamai_display:error_for_model(Error, #{limit => Limit})}).

told(#{id := Id, name := Name}, Outcome, #{text := Text} = Rendered) ->
    Message = #{role => tool, call => Id, name => Name, content => Text, outcome => Outcome},
    maps:merge(Message, maps:with([object], Rendered)).

with_images([], Message) -> Message;
with_images(Images, Message) -> Message#{images => Images}.

dialect(Name, #{kernel := #{tools := Tools}}) ->
    case Tools of
        #{Name := #plan{runs = #native{dialect = Dialect}}} -> Dialect;
        #{} -> own
    end.
