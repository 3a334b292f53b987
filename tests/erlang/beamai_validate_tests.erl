%% Errors of wrong options show no secret in them, whatever term holds it.
-module(beamai_validate_tests).

-include_lib("eunit/include/eunit.hrl").

-define(KEY, "s3cret-0123456789").
-define(BINARY, <<?KEY>>).

a_term_is_masked_down_to_its_keys_atoms_and_numbers_test() ->
    [
        ?assertEqual(Masked, beamai_secret:mask(Term))
     || {Term, Masked} <- [
            {x, x},
            {<<"a text">>, <<"a text">>},
            {"a path", "a path"},
            {[], []},
            {#{a => #{b => ?BINARY}, c => 1, d => off}, #{a => #{b => '***'}, c => 1, d => off}},
            {[{a, ?BINARY}, {b, ?KEY}], [{a, '***'}, {b, '***'}]},
            {{brave, ?BINARY, <<1:1>>}, {brave, '***', '***'}},
            {[?BINARY, $a | <<"b">>], ['***', '***' | '***']},
            {[a | b], [a | b]}
        ]
    ].

no_error_shows_a_secret_in_wrong_options_test_() ->
    Search = fun(Value) -> beamai_kernel:new(#{web => #{search => Value}}) end,
    Connection = #{name => <<"d">>, url => 1, headers => #{<<"authorization">> => ?BINARY}},
    Chat = #{model => <<"m">>, api_key => ?BINARY},
    [
        {atom_to_list(Name), fun() -> ?assertEqual({Name, ok}, {Name, without_key(Reason, raised(Fun))}) end}
     || {Name, Reason, Fun} <- [
            {chat_list, {bad_option, options}, fun() -> beamai_chat:new(openai, maps:to_list(Chat)) end},
            {chat_text, {bad_option, options}, fun() -> beamai_chat:new(text, maps:to_list(Chat)) end},
            {chat_option, {bad_option, max_tokens}, fun() -> beamai_chat:new(openai, Chat#{max_tokens => Chat}) end},
            {chat_model, {bad_option, model}, fun() -> beamai_chat:new(openai, Chat#{model => [?BINARY]}) end},
            {chat_complete, {bad_model, Chat#{model := '***', api_key := '***'}}, fun() -> beamai_chat:complete(Chat, <<"Hello">>) end},
            {chat_tools, {bad_model, [Chat#{model := '***', api_key := '***'}]}, fun() -> beamai_chat:tools([Chat], beamai_kernel:new()) end},
            {chat_instructions, {bad_model, {'***', '***'}}, fun() -> beamai_chat:instructions({?BINARY, ?BINARY}, beamai_kernel:new()) end},
            {chat_speaks, {bad_model, [{api_key, '***'}]}, fun() -> beamai_chat:speaks_text_protocol([{api_key, ?BINARY}]) end},
            {chat_proxy, {bad_option, proxy}, fun() -> beamai_chat:new(openai, Chat#{proxy => [{password, ?BINARY}]}) end},
            {redact, {bad_option, patterns}, fun() -> beamai_filters:redact(#{patterns => [{literal, ?BINARY}]}) end},
            {filter, {bad_filter, [{auth, '***'}]}, fun() -> beamai_kernel:add_filter(beamai_kernel:new(), [{auth, ?BINARY}]) end},
            {tool_module, {bad_tool_module, {m, '***'}}, fun() -> beamai_kernel:add_tool_module(beamai_kernel:new(), {m, ?BINARY}) end},
            {chat_price, {bad_option, prices}, fun() -> beamai_chat:new(openai, Chat#{prices => #{default => ?BINARY}}) end},
            {agent, {bad_agent, #{llm => #{model => '***', api_key => '***'}}}, fun() -> beamai_agent:run(#{llm => Chat}, <<"Hello">>) end},
            {kernel_list, {bad_option, options}, fun() -> beamai_kernel:new([{web, #{search => #{api_key => ?BINARY}}}]) end},
            {kernel_for_a_kernel, {bad_kernel, #{web => #{search => #{api_key => '***'}}}}, fun() ->
                beamai_kernel:invoke(#{web => #{search => #{api_key => ?BINARY}}}, <<"t">>, #{})
            end},
            {search_list, {bad_option, web}, fun() -> Search([{api_key, ?BINARY}]) end},
            {search_text, {bad_option, web}, fun() -> Search(?BINARY) end},
            {search_string, {bad_option, web}, fun() -> Search(?KEY) end},
            {search_provider, {bad_option, web}, fun() -> Search(#{provider => {brave, ?BINARY}}) end},
            {web_list, {bad_option, web}, fun() -> beamai_kernel:new(#{web => [{search, #{api_key => ?BINARY}}]}) end},
            {credentials_list, {bad_option, sandbox}, fun() -> beamai_kernel:new(#{sandbox => [{credentials, #{a => ?BINARY}}]}) end},
            {agent_model, {bad_option, agents}, fun() -> beamai_kernel:new(#{agents => #{<<"a">> => #{llm => Chat}}}) end},
            {mcp_list, {bad_option, options}, fun() -> beamai_mcp:connect(maps:to_list(Connection)) end},
            {mcp_tools, {bad_connection, masked(Connection)}, fun() -> beamai_mcp:tools(Connection) end},
            {mcp_add, {bad_connection, masked(Connection)}, fun() -> beamai_mcp:add(beamai_kernel:new(), Connection) end},
            {mcp_info, {bad_connection, masked(Connection)}, fun() -> beamai_mcp:info(Connection) end},
            {mcp_refresh, {bad_connection, masked(Connection)}, fun() -> beamai_mcp:refresh(Connection) end},
            {mcp_close, {bad_connection, [{headers, '***'}]}, fun() -> beamai_mcp:close([{headers, ?BINARY}]) end}
        ]
    ].

masked(Connection) -> Connection#{name := '***', headers := #{<<"authorization">> => '***'}}.

raised(Fun) ->
    try Fun() of
        Value -> {returned, Value}
    catch
        error:Reason:Stack -> {Reason, [Stack, erl_error:format_exception(error, Reason, Stack)]}
    end.

without_key(Reason, {Reason, Shown}) ->
    Codes = lists:join(",", [integer_to_list(Code) || Code <- ?KEY]),
    Text = io_lib:format("~0tp~n~ts~n~w", [hd(Shown), tl(Shown), hd(Shown)]),
    case re:run(Text, [?KEY, "|", Codes], [{capture, none}]) of
        nomatch -> ok;
        match -> {shown, unicode:characters_to_binary(Text)}
    end;
without_key(_Reason, Other) ->
    Other.
