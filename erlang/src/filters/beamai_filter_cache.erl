%% @doc Filters that reuse earlier results: while a file is unchanged, or for a limited time.
%% @hidden
-module(beamai_filter_cache).

-export([cache/1, debounce/1]).
-export_type([options/0]).

-type options() :: #{
    name => beamai_filter:name(),
    %% The tools whose results are cached.
    tools := [binary()],
    %% The directory for relative paths.
    workspace => file:filename_all(),
    %% How long a result is reused, in milliseconds; infinity by default.
    ttl => timeout()
}.

%% File timestamps have a resolution of seconds here: a file modified this recently may change again unnoticed.
-define(SETTLED_S, 2).

%% @doc See {@link beamai_filters:cache/1}.
-spec cache(options()) -> beamai_filter:filter().
cache(#{tools := Tools} = Options) ->
    Ref = make_ref(),
    Workspace = maps:get(workspace, Options, "."),
    Ttl = maps:get(ttl, Options, infinity),
    beamai_filter:new(beamai_filter_options:name(Options, cache), fun(#{tool := Tool} = Call, Next) ->
        case lists:member(Tool, Tools) andalso signature(Call, Workspace, Ttl) of
            {ok, Signature} -> judged({Ref, Signature}, Ttl, Call, Next, {Workspace, Signature});
            _ -> Next(Call)
        end
    end).

judged(Prefix, Ttl, Call, Next, Seen) ->
    case beamai_reuse:key(Call) of
        {ok, Key} -> kept({Prefix, Key}, Ttl, Call, Next, Seen);
        none -> Next(Call)
    end.

%% The file is checked before and after the call: if it changed in between, the result is not cached.
kept(Key, Ttl, #{context := Context} = Call, Next, {Workspace, Signature}) ->
    case beamai_filter_state:get(Key) of
        {ok, Value} ->
            {ok, Value, Context};
        none ->
            Result = Next(Call),
            _ = is_ok(Result) andalso signature(Call, Workspace, Ttl) =:= {ok, Signature} andalso
                beamai_filter_state:put(Key, element(2, Result), Ttl),
            Result
    end.

is_ok(Result) -> element(1, Result) =:= ok.

%% The state of the file that the call reads.
signature(#{args := #{} = Args}, Workspace, Ttl) ->
    case [Path || Key <- [<<"path">>, <<"file_path">>], #{Key := Path} <- [Args], is_binary(Path)] of
        [Path | _] -> of_file(file:read_file_info(filename:absname(Path, Workspace), [{time, posix}]), Ttl);
        [] -> for_a_while(Ttl)
    end;
signature(_Call, _Workspace, _Ttl) ->
    none.

of_file({ok, Info}, Ttl) ->
    {file_info, Size, Type, _Access, _ATime, MTime, CTime, _Mode, _Links, Major, _Minor, Inode, _Uid, _Gid} = Info,
    case {Type, erlang:system_time(second) - max(MTime, CTime)} of
        {regular, Age} when Age >= ?SETTLED_S -> {ok, {Size, MTime, CTime, Major, Inode}};
        {regular, _} -> none;
        {_, _} -> for_a_while(Ttl)
    end;
of_file({error, _}, _Ttl) ->
    none.

for_a_while(infinity) -> none;
for_a_while(_Ttl) -> {ok, ttl}.

%% @doc See {@link beamai_filters:debounce/1}.
-spec debounce(#{name => beamai_filter:name(), window => pos_integer(), tools => [binary()] | all}) -> beamai_filter:filter().
debounce(Options) ->
    Ref = make_ref(),
    Window = maps:get(window, Options, 1000),
    beamai_filter:new(beamai_filter_options:name(Options, debounce), fun(Call, Next) ->
        case beamai_filter_options:is_for(Call, Options) andalso beamai_reuse:key(Call) of
            {ok, Key} -> debounced({Ref, Key}, Window, Call, Next);
            _ -> Next(Call)
        end
    end).

debounced(Key, Window, #{context := Context} = Call, Next) ->
    case beamai_filter_state:get(Key) of
        {ok, {ok, Value}} ->
            {ok, Value, Context};
        {ok, {error, _} = Error} ->
            Error;
        none ->
            Result = Next(Call),
            ok = beamai_filter_state:put(Key, {element(1, Result), element(2, Result)}, Window),
            Result
    end.
