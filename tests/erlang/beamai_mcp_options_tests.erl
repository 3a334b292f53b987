%% What the MCP client takes as options.
-module(beamai_mcp_options_tests).

-include_lib("eunit/include/eunit.hrl").

options_are_checked_test() ->
    Good = #{name => <<"x">>, command => <<"x">>},
    Bad = fun(Key, Options) -> ?assertError({bad_option, Key}, beamai_mcp:connect(Options)) end,
    Bad(name, #{}),
    Bad(command, #{name => <<"x">>}),
    [Bad(name, Good#{name => Name}) || Name <- ["", "a b", "a__b", "a_", "_a", "ä", lists:duplicate(33, $a), 7]],
    Bad(args, Good#{args => <<"x">>}),
    Bad(args, Good#{args => [x]}),
    Bad(args, Good#{args => [<<"a", 0>>]}),
    Bad(env, Good#{env => #{"A=B" => "c"}}),
    Bad(env, Good#{env => #{"A" => 1}}),
    Bad(timeout, Good#{timeout => 0}),
    Bad(sandbox, Good#{sandbox => some}),
    Bad(sandbox, Good#{sandbox => #{credentials => #{<<"a.example">> => #{<<"x">> => <<"y">>}}}}),
    Bad(trust_annotations, Good#{trust_annotations => yes}),
    Bad(kernel, Good#{kernel => k}),
    Bad(workspace, Good#{workspace => "/no/such/place"}),
    Bad(workspace, Good#{workspace => "/", kernel => beamai_kernel:new()}),
    Bad(colour, Good#{colour => red}),
    Bad(options, nothing).

options_of_an_address_are_checked_test() ->
    Good = #{name => <<"x">>, url => <<"https://example.com/mcp">>},
    Bad = fun(Key, Options) -> ?assertError({bad_option, Key}, beamai_mcp:connect(Options)) end,
    Bad(url, Good#{command => <<"x">>}),
    Bad(url, Good#{url => <<>>}),
    Bad(url, Good#{url => 7}),
    [Bad(Key, Good#{Key => Value}) || {Key, Value} <- [{args, []}, {env, #{}}, {cwd, "a"}, {sandbox, off}]],
    Stdio = #{name => <<"x">>, command => <<"x">>},
    [Bad(Key, Stdio#{Key => Value}) || {Key, Value} <- [{headers, #{}}, {allow_addresses, []}, {insecure, true}]],
    [Bad(headers, Good#{headers => Headers}) || Headers <- [[], #{"a" => 7}, #{"a" => <<"x\r\ny">>}, #{7 => <<"x">>}, #{a => <<>>}]],
    Bad(allow_addresses, Good#{allow_addresses => <<"10.0.0.1:1">>}),
    Bad(insecure, Good#{insecure => 1}).

%% What is wrong with a header or an address is said without them.
no_key_is_in_what_is_raised_test() ->
    Key = <<"t0ken\nt0ken">>,
    Raised = fun(Options) ->
        try beamai_mcp:connect(Options) of
            {error, Error} -> Error
        catch
            error:Reason:Stack -> erl_error:format_exception(error, Reason, Stack)
        end
    end,
    Good = #{name => <<"x">>, url => <<"http://example.com/mcp?key=s3cret-s3cret">>},
    [
        ?assertEqual(nomatch, re:run(io_lib:format("~tp", [Raised(Options)]), "t0ken|s3cret", [{capture, none}]))
     || Options <- [
            Good#{headers => #{<<"authorization">> => Key}},
            Good#{headers => #{<<"authorization">> => fun() -> Key end}},
            Good#{headers => #{<<"host">> => <<"t0ken">>}},
            Good#{headers => #{<<"authorization">> => <<"t0ken-t0ken">>}}
        ]
    ].

an_address_that_cannot_be_one_is_told_test() ->
    [
        begin
            {error, #{error_type := invalid_input, message := Message}} = beamai_mcp:connect(Options#{name => "x"}),
            ?assertNotEqual({Message, nomatch}, {Message, binary:match(Message, Part)})
        end
     || {Options, Part} <- [
            {#{url => "example.com/mcp"}, <<"write it in full">>},
            {#{url => "ftp://example.com/mcp"}, <<"must begin with http:// or https://">>},
            {#{url => "https://me:s3cret@example.com/mcp"}, <<"give them in headers">>},
            {#{url => "http://example.com/mcp", headers => #{a => <<"b">>}}, <<"in clear text">>},
            {#{url => "https://example.com", headers => #{<<"mcp-session-id">> => <<"b">>}}, <<"by the protocol itself">>},
            {#{url => "https://example.com", allow_addresses => ["localhost:1"]}, <<"IP:PORT">>}
        ]
    ].

a_program_that_is_not_there_is_told_test() ->
    {error, #{tool := <<"mcp__x">>, message := Message, details := #{reason := not_configured}}} =
        beamai_mcp:connect(#{name => "x", command => "no-such-server-program"}),
    ?assertNotEqual(nomatch, binary:match(Message, <<"no such program">>)).
