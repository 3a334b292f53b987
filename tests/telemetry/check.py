"""Holds an OTLP export to OpenTelemetry's own protobuf messages, and names to its published conventions."""

import sys

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes

CONVENTIONS = {
    value
    for module in (gen_ai_attributes, error_attributes)
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, str)
}
OPERATIONS = {operation.value for operation in gen_ai_attributes.GenAiOperationNameValues}
# What the conventions have no name for.
OWN = {
    "run_id", "parent_run_id", "telemetry_span_context", "kind", "reason", "stacktrace",
    "beamai.permission.rule", "beamai.tool.input_bytes", "beamai.tool.output_bytes",
}


def plain(value):
    which = value.WhichOneof("value")
    if which == "array_value":
        return [plain(each) for each in value.array_value.values]
    return getattr(value, which)


def main(otlp, names):
    unknown = [name for name in open(names).read().split() if name not in CONVENTIONS | OWN]
    assert not unknown, f"names of events that no convention has: {unknown}"

    request = ExportTraceServiceRequest()
    data = open(otlp, "rb").read()
    assert request.ParseFromString(data) == len(data)
    known = ExportTraceServiceRequest()
    known.CopyFrom(request)
    known.DiscardUnknownFields()
    assert known.SerializeToString() == request.SerializeToString(), "a field that OTLP does not have"
    [resource] = request.resource_spans
    assert {a.key: plain(a.value) for a in resource.resource.attributes} == {"service.name": "a test"}
    [scope] = resource.scope_spans
    assert scope.scope.name == "beamai" and scope.scope.version
    spans = list(scope.spans)
    by_id = {span.span_id: span for span in spans}
    assert len(by_id) == len(spans), "span ids are unique"
    assert len({span.trace_id for span in spans}) == 1, "a run and its sub-agent's are one trace"

    for span in spans:
        attributes = {a.key: plain(a.value) for a in span.attributes}
        unknown = set(attributes) - CONVENTIONS - OWN
        assert not unknown, unknown
        assert len(span.trace_id) == 16 and len(span.span_id) == 8
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
        operation = attributes["gen_ai.operation.name"]
        assert operation in OPERATIONS, operation
        assert span.name.startswith(operation + " "), span.name
        assert span.kind == (Span.SPAN_KIND_CLIENT if operation == "chat" else Span.SPAN_KIND_INTERNAL)
        assert (span.status.code == Status.STATUS_CODE_ERROR) == ("error.type" in attributes)
        assert attributes["gen_ai.conversation.id"] == "conversation-1"
        if span.parent_span_id:
            parent = by_id[span.parent_span_id]
            assert parent.start_time_unix_nano - 1000 <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano + 1000

    def named(name):
        return [span for span in spans if span.name == name]

    def attributes_of(span):
        return {a.key: plain(a.value) for a in span.attributes}

    [lead] = named("invoke_agent lead")
    assert not lead.parent_span_id
    [other] = [span for span in spans if span.name.startswith("invoke_agent ") and span is not lead]
    assert other.parent_span_id == lead.span_id
    assert {span.parent_span_id for span in named("execute_tool look")} == {lead.span_id, other.span_id}
    [closed], [broken] = named("execute_tool closed"), named("execute_tool broken")
    assert attributes_of(closed)["error.type"].startswith("permission_denied")
    assert attributes_of(closed)["beamai.permission.rule"] == "closed"
    assert attributes_of(broken)["error.type"] == "crash"
    chats = [attributes_of(span) for span in spans if span.name.startswith("chat ")]
    assert len(chats) == 5 and all("gen_ai.provider.name" in chat for chat in chats)
    assert any(chat.get("gen_ai.usage.cache_read.input_tokens") == 40 for chat in chats)
    assert all("gen_ai.response.finish_reasons" in chat for chat in chats)
    # Contents stay here.
    assert b"seen" not in data and b"Look." not in data
    print(f"{len(spans)} passed, 0 failed")


main(*sys.argv[1:])
