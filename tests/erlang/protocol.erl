%% The text protocol, for tests that need only its common case: the real module where there is one.
-module(protocol).

-export([ensure/0]).

ensure() ->
    case code:ensure_loaded(beamai_protocol) of
        {module, _} -> ok;
        {error, _} -> stand_in()
    end.

stand_in() ->
    Source =
        "-module(beamai_protocol).\n"
        "-export([parse_all/2, system_prompt/1, format_result/1, format_error/1]).\n"
        "parse_all(Text, Kernel) ->\n"
        "  case re:run(Text, \"(?s)(.*)<TOOL_CALL>(.*)</TOOL_CALL>\", [{capture, all_but_first, binary}]) of\n"
        "    nomatch -> [{text, Text}];\n"
        "    {match, [Before, Json]} ->\n"
        "      {ok, #{<<\"tool\">> := Tool, <<\"args\">> := Args}} = beamai_json:decode(Json),\n"
        "      [{text, Before}, case beamai_kernel:find_tool(Kernel, Tool) of\n"
        "        {ok, _} -> {tool_call, #{tool => Tool, args => Args, format => tag}};\n"
        "        error -> {invalid, <<\"Unknown tool: \", Tool/binary>>, Json} end]\n"
        "  end.\n"
        "system_prompt(Kernel) ->\n"
        "  iolist_to_binary([\"<TOOL_CALL> \", [N || #{name := N} <- beamai_kernel:list_tools(Kernel)]]).\n"
        "format_result({ok, Data}) -> [\"TOOL_RESULT: \", beamai_json:text(#{success => true, data => Data, error => null})];\n"
        "format_result({error, E}) -> [\"TOOL_RESULT: \", beamai_json:text(#{success => false, data => null, error => E})].\n"
        "format_error(Message) -> [\"TOOL_ERROR: \", Message].\n",
    {ok, Tokens, _} = erl_scan:string(Source),
    Forms = [begin {ok, Form} = erl_parse:parse_form(Part), Form end || Part <- forms(Tokens, [])],
    {ok, Module, Code} = compile:forms(Forms),
    {module, Module} = code:load_binary(Module, "stand-in", Code),
    ok.

forms([], []) -> [];
forms([{dot, _} = Dot | Rest], Now) -> [lists:reverse([Dot | Now]) | forms(Rest, [])];
forms([Token | Rest], Now) -> forms(Rest, [Token | Now]).
