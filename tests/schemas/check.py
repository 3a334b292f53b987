"""Checks every tool of every dialect, as every provider gets it: against the JSON Schema metaschema, against the
official libraries' own types, and against the rules of each provider that the types do not hold."""

import json
import re
import subprocess
import sys

from anthropic.types import ToolParam
from google.genai.types import FunctionDeclaration
from jsonschema import Draft202012Validator
from mcp.types import Tool
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import TypeAdapter

PORT = sys.argv[1]
DIALECTS = ["beamai", "microai", "coder", "ide", "probe"]

OPENAI_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ANTHROPIC_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
# Anthropic's rule for names of properties, the narrowest there is.
PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
GEMINI_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}")

# Keywords that OpenAI's strict mode takes, besides the type.
STRICT = {
    "type", "description", "properties", "required", "additionalProperties", "items", "enum",
    "minimum", "maximum", "minItems", "maxItems",
}
# Fields of Gemini's Schema object that beamai uses.
GEMINI = {
    "type", "description", "properties", "required", "items", "enum", "default",
    "minimum", "maximum", "minItems", "maxItems",
}


def listed(dialect, form, strict=False):
    command = [PORT, "tools", "--dialect", dialect, "--format", form] + (["--strict"] if strict else [])
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def walk(schema):
    """Every schema inside a schema, itself first."""
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from walk(inner)
    if "items" in schema:
        yield from walk(schema["items"])


def is_object(schema):
    return schema.get("type") in ("object", ["object", "null"])


def holds_required(schema):
    for part in walk(schema):
        for name in part.get("properties", {}):
            assert PROPERTY_NAME.fullmatch(name), name
        if is_object(part):
            assert set(part.get("required", [])) <= set(part.get("properties", {})), part


def holds_strict(schema):
    for part in walk(schema):
        assert set(part) <= STRICT, set(part) - STRICT
        if is_object(part):
            assert part["additionalProperties"] is False, part
            assert set(part["required"]) == set(part["properties"]), part
        if isinstance(part["type"], list) and "enum" in part:
            assert None in part["enum"], part


def holds_anthropic(schema):
    """Its strict mode refuses bounds, but for a list that must not be empty; what is optional may be left out."""
    for part in walk(schema):
        assert set(part) <= STRICT - {"minimum", "maximum", "maxItems"}, part
        assert part.get("minItems", 0) <= 1, part
        assert isinstance(part["type"], str), part
        if is_object(part):
            assert part["additionalProperties"] is False, part


def optional(schema):
    return sum(len(part.get("properties", {})) - len(part.get("required", [])) for part in walk(schema))


def holds_limits(tools):
    """Of a whole request to Anthropic."""
    strict = [tool["input_schema"] for tool in tools if tool.get("strict")]
    assert len(strict) <= 20 and sum(map(optional, strict)) <= 24, len(strict)
    assert strict, "none is strict"


def holds_gemini(schema):
    for part in walk(schema):
        assert set(part) <= GEMINI, set(part) - GEMINI
        assert isinstance(part["type"], str), part
        if part["type"] == "array":
            assert "type" in part["items"], part
        if part["type"] == "object":
            assert part["properties"], part
        if "enum" in part:
            assert part["type"] == "string", part


def schema_of(form, tool):
    return {
        "openai": lambda: tool["function"]["parameters"],
        "openai_responses": lambda: tool["parameters"],
        "anthropic": lambda: tool["input_schema"],
        "gemini": lambda: tool.get("parameters", {"type": "object", "properties": {}}),
        "mcp": lambda: tool["inputSchema"],
    }[form]()


def name_of(form, tool):
    return tool["function"]["name"] if form == "openai" else tool["name"]


TYPES = {
    "openai": TypeAdapter(ChatCompletionFunctionToolParam),
    "openai_responses": TypeAdapter(FunctionToolParam),
    "anthropic": TypeAdapter(ToolParam),
    "gemini": TypeAdapter(FunctionDeclaration),
    "mcp": TypeAdapter(Tool),
}
NAMES = {
    "openai": OPENAI_NAME, "openai_responses": OPENAI_NAME, "anthropic": ANTHROPIC_NAME,
    "gemini": GEMINI_NAME, "mcp": ANTHROPIC_NAME,
}


def check(form, tool, strict):
    schema = schema_of(form, tool)
    Draft202012Validator.check_schema(schema)
    TYPES[form].validate_python(tool)
    assert NAMES[form].fullmatch(name_of(form, tool)), name_of(form, tool)
    holds_required(schema)
    if strict and (tool.get("strict") or tool.get("function", {}).get("strict")):
        (holds_anthropic if form == "anthropic" else holds_strict)(schema)
    if form == "gemini" and "parameters" in tool:
        holds_gemini(schema)
    assert "parametersJsonSchema" not in tool, "a built-in tool needs no schema beyond Gemini's own"


def main():
    passed, failed = 0, 0
    for dialect in DIALECTS:
        for tool in listed(dialect, "native"):
            Draft202012Validator.check_schema(tool["output_schema"])
        for form in TYPES:
            for strict in (False, True):
                tools = listed(dialect, form, strict)
                if strict and form == "anthropic":
                    holds_limits(tools)
                for tool in tools:
                    try:
                        check(form, tool, strict)
                        passed += 1
                    except Exception as error:  # every kind of mismatch is a failed tool
                        failed += 1
                        print(f"{dialect} {form} {name_of(form, tool)}: {error!r}", file=sys.stderr)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
