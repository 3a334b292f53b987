%% @doc A filter by which calls of one `invoke_all' share runs of tools that only read.
%% @hidden
-module(beamai_filter_batch).

-export([batch/1, groups/2]).

%% Maximum number of lines that several ranges of a file are read as.
-define(MOST_LINES, 5000).
%% The default of `limit' in `file_read'.
-define(LIMIT, 2000).

-type args() :: map().
-type numbered() :: {Number :: pos_integer(), args()}.
-type group() :: {args(), [{Number :: pos_integer(), same | fun((term()) -> {ok, term()} | none)}]}.

%% @doc See {@link beamai_filters:batch/1}.
-spec batch(#{name => beamai_filter:name(), tools := [binary()]}) -> beamai_filter:filter().
batch(#{tools := Tools} = Options) ->
    beamai_filter:new(beamai_filter_options:name(Options, batch), fun(#{tool := Tool} = Call, Next) ->
        case lists:member(Tool, Tools) of
            true -> Next(Call#{join => fun ?MODULE:groups/2});
            false -> Next(Call)
        end
    end).

%% @private Calls with the same arguments share a run, and so do calls of `file_read' for lines of one file that are near one another.
-spec groups(Native :: binary() | none, [numbered()]) -> [group()].
groups(<<"file_read">>, Calls) ->
    {Ranges, Others} = lists:partition(fun({_, Args}) -> range(Args) =/= none end, Calls),
    Files = maps:groups_from_list(fun({_, Args}) -> maps:with([<<"path">>, <<"encoding">>], Args) end, Ranges),
    lists:append([together(File, Reads) || {File, Reads} <- lists:sort(maps:to_list(Files))]) ++ groups(none, Others);
groups(_Native, Calls) ->
    %% Up to OTP 26, 0.0 and -0.0 are equal.
    Exact = fun({_, Args}) -> {Args, term_to_binary(Args, [deterministic])} end,
    Alike = maps:groups_from_list(Exact, fun({Number, _}) -> Number end, Calls),
    [{Args, [{Number, same} || Number <- Numbers]} || {{Args, _}, Numbers} <- lists:sort(maps:to_list(Alike))].

%%% Ranges of lines

%% The first and the last line that a call asks for. Reads from the end, or of a part of a line, are left alone.
range(#{<<"path">> := Path} = Args) when is_binary(Path) ->
    More = maps:without([<<"path">>, <<"offset">>, <<"limit">>, <<"encoding">>], Args),
    case {maps:get(<<"offset">>, Args, 1), maps:get(<<"limit">>, Args, ?LIMIT), map_size(More)} of
        {First, Limit, 0} when is_integer(First), First > 0, is_integer(Limit), Limit > 0 -> {First, First + Limit - 1};
        _ -> none
    end;
range(_Args) ->
    none.

together(File, Reads) ->
    Sorted = lists:sort([{range(Args), Number, Args} || {Number, Args} <- Reads]),
    [group(File, Read) || Read <- gathered(Sorted)].

%% Consecutive ranges, as long as they are not too many lines together.
gathered([]) -> [];
gathered([{{First, Last}, _, _} = Read | Rest]) -> gathered(First, Last, [Read], Rest).

gathered(First, Last, Reads, [{{_, End}, _, _} = Read | Rest]) when Last - First < ?MOST_LINES, End - First < ?MOST_LINES ->
    gathered(First, max(Last, End), [Read | Reads], Rest);
gathered(First, Last, Reads, Rest) ->
    [{First, Last, lists:reverse(Reads)} | gathered(Rest)].

%% Identical calls keep their arguments.
group(File, {First, Last, [{_, _, Args} | _] = Reads}) ->
    case lists:usort([Each || {_, _, Each} <- Reads]) of
        [Args] -> {Args, [{Number, same} || {_, Number, _} <- Reads]};
        _ ->
            Whole = File#{<<"offset">> => First, <<"limit">> => Last - First + 1},
            {Whole, [{Number, fun(Read) -> part(Range, Read) end} || {Range, Number, _} <- Reads]}
    end.

%% The lines of a range out of a read that contains them; `none' where reading them alone could have another result.
part({First, Last}, #{<<"start_line">> := Start, <<"end_line">> := End, <<"total_lines">> := Total, <<"content">> := Content} = Read) when
    is_integer(Total), First =< End, not is_map_key(<<"truncated">>, Read), not is_map_key(<<"note">>, Read), not is_map_key(<<"adjusted">>, Read)
->
    Until = min(Last, End),
    case line_ends(Content) of
        Ends when tuple_size(Ends) =:= End - Start + 2 ->
            {From, To} = {element(First - Start + 1, Ends), element(Until - Start + 2, Ends)},
            Own = binary:copy(binary:part(Content, From, To - From)),
            {ok, Read#{<<"content">> := Own, <<"start_line">> := First, <<"end_line">> := Until, <<"has_more">> := Until < Total}};
        _ ->
            none
    end;
part(_Range, _Read) ->
    none.

%% Where the lines end, after 0. A file whose lines end with CR alone has another number of lines than this.
line_ends(Content) ->
    Ends = [0 | [At + 1 || {At, 1} <- binary:matches(Content, <<"\n">>)]],
    list_to_tuple(Ends ++ [byte_size(Content) || lists:last(Ends) < byte_size(Content)]).
