"""Has a server of llama.cpp take the schemas of all tools of all dialects, plain and strict, as tools and as grammars.

Usage: grammars.py URL PROGRAM. What the server refuses is a failure, and so is a wrong schema that it takes.
"""

import json
import subprocess
import sys
import urllib.error
import urllib.request

URL, PROGRAM = sys.argv[1:]
MESSAGES = [{"role": "user", "content": "x"}]
WRONG = [{"type": "nonsense"}, {"$ref": "#/nowhere"}]


def refusal(path, request):
    """What the server has against a request, or None."""
    body = json.dumps({"messages": MESSAGES, **request}).encode()
    try:
        urllib.request.urlopen(urllib.request.Request(URL + path, body), timeout=300).read()
    except urllib.error.HTTPError as error:
        return error.read().decode()
    return None


def as_grammar(schema):
    """The server makes the grammar, and samples one token with it."""
    response_format = {"type": "json_schema", "json_schema": {"schema": schema}}
    return refusal("/v1/chat/completions", {"response_format": response_format, "max_tokens": 1})


def as_tools(tools):
    """The server makes one grammar for calls of all these tools, and no token."""
    return refusal("/apply-template", {"tools": tools, "tool_choice": "required"})


def tools(dialect, strict):
    command = [PROGRAM, "tools", "--dialect", dialect, "--format", "openai", *strict]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def main():
    passed, failures = 0, []

    def check(name, refused):
        nonlocal passed
        if refused:
            failures.append(f"{name}: {refused}")
        else:
            passed += 1

    for schema in WRONG:
        check(f"{schema} is refused", None if as_grammar(schema) else "it was taken")
    for dialect in ("beamai", "microai", "coder", "ide"):
        for strict in ([], ["--strict"]):
            all_tools = tools(dialect, strict)
            check(" ".join([dialect, *strict]), as_tools(all_tools))
            for tool in all_tools:
                function = tool["function"]
                check(" ".join([dialect, *strict, function["name"]]), as_grammar(function["parameters"]))
    print(*failures, sep="\n")
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


sys.exit(main())
