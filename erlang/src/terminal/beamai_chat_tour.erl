%% @doc The chat's scripted model: a tour of the tools in the current directory, one step per input.
%% @hidden
-module(beamai_chat_tour).

-export([turn/1]).

%% @doc The next step of the tour.
-spec turn(beamai_chat_model:request()) -> beamai_chat_scripted:turn().
turn(#{messages := Messages}) ->
    Said = length([ok || #{role := assistant} <- Messages]),
    lists:nth(min(Said + 1, length(turns())), turns()).

turns() ->
    [
        #{
            content => <<"I am a script, but the tools are real. First I look around in this directory.\n">>,
            tool_calls => [
                {<<"file_list">>, #{}},
                {<<"file_grep">>, #{<<"pattern">> => <<"TODO|FIXME">>, <<"limit">> => 3}}
            ]
        },
        <<"Both calls ran together, because they only read. Press a letter and Enter, and I run a command.">>,
        #{
            content => <<"What may change something is asked about first.\n">>,
            tool_calls => [{<<"shell_exec">>, #{<<"command">> => <<"git log --oneline | head -n 3; echo done">>}}]
        },
        <<"A refusal is an answer, too: a model is told and goes on. Once more, and you see an error.">>,
        #{
            content => <<"Nothing outside this directory can be read.\n">>,
            tool_calls => [{<<"file_read">>, #{<<"path">> => <<"/etc/passwd">>}}]
        },
        <<
            "That was the tour. With OPENAI_BASE_URL or OPENAI_API_KEY and OPENAI_MODEL, or the same of ANTHROPIC, set in "
            "the environment, there is a model here instead of me."
        >>
    ].
