"""Calls one server over HTTP and over gRPC with the same API key.

    grpc_access.py RECIPERUN STUBS

STUBS is the folder of the modules that protoc generates. The folder `models`
has Triton's model `simple`.
"""

import hashlib
import json
import queue
import re
import struct
import sys

from serving import Server, expect

reciperun = sys.argv[1]
sys.path.insert(0, sys.argv[2])
import grpc  # noqa: E402
import grpc_service_pb2 as messages  # noqa: E402
import grpc_service_pb2_grpc as services  # noqa: E402

TIMEOUT = 30
KEY = "sk-first"
CALLER = [("authorization", f"Bearer {KEY}")]
HEADERS = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
NUMBERS = list(range(16))
FULL = "this API key has 1 requests in progress, of at most 1"
INFER = "/v2/models/simple/infer"
SERVICE = "/inference.GRPCInferenceService/"


def start():
    with open("keys", "w") as file:
        digest = hashlib.sha256(KEY.encode()).hexdigest()
        file.write(f"{digest} name=first requests=1\n")
    server = Server([reciperun, "serve", "models", "--port", "0", "--grpc-port",
                     "0", "--metrics-port", "0", "--api-key-file", "keys",
                     "--access-log", "access.jsonl"], "serve.log")
    with open("serve.log") as log:
        port = re.search(r"gRPC at port (\d+)", log.read()).group(1)
    channel = grpc.insecure_channel(f"127.0.0.1:{port}")
    return server, services.GRPCInferenceServiceStub(channel)


def sum_request():
    request = messages.ModelInferRequest(model_name="simple")
    for name in ("INPUT0", "INPUT1"):
        request.inputs.add(name=name, datatype="INT32", shape=[1, 16])
        request.raw_input_contents.append(struct.pack("<16i", *NUMBERS))
    return request


def infer_by_http(server):
    inputs = [{"name": name, "datatype": "INT32", "shape": [1, 16],
               "data": NUMBERS} for name in ("INPUT0", "INPUT1")]
    return server.request("POST", INFER, {"inputs": inputs}, headers=HEADERS)


def failure_of(call, *arguments, **more):
    try:
        call(*arguments, timeout=TIMEOUT, **more)
    except grpc.RpcError as error:
        return error
    raise SystemExit("the call did not fail")


def check_keys(stub):
    for metadata in ([], [("authorization", "Bearer wrong")]):
        error = failure_of(stub.ModelInfer, sum_request(), metadata=metadata)
        expect(error.code(), grpc.StatusCode.UNAUTHENTICATED, metadata)
    answer, call = stub.ModelInfer.with_call(
        sum_request(), metadata=[*CALLER, ("x-request-id", "me-7")],
        timeout=TIMEOUT)
    expect(answer.model_name, "simple", "an answer")
    expect(("x-request-id", "me-7") in call.initial_metadata(), True,
           "the id is passed on")


def check_limits(server, stub):
    """An open stream is the one request of the key."""
    requests = queue.Queue()
    requests.put(sum_request())
    stream = stub.ModelStreamInfer(iter(requests.get, None), metadata=CALLER,
                                   timeout=TIMEOUT)
    expect(next(stream).error_message, "", "a response")
    error = failure_of(stub.ModelInfer, sum_request(), metadata=CALLER)
    expect((error.code(), error.details()),
           (grpc.StatusCode.RESOURCE_EXHAUSTED, FULL), "gRPC")
    expect(("retry-after", "1") in error.trailing_metadata(), True, "when")
    status, _, body = infer_by_http(server)
    expect((status, json.loads(body)), (429, {"error": FULL}), "HTTP")
    requests.put(None)
    expect(list(stream), [], "the end")
    expect(infer_by_http(server)[0], 200, "after the stream")
    stub.ModelInfer(sum_request(), metadata=CALLER, timeout=TIMEOUT)


def check_settings(server, stub):
    """Each protocol sees what the other one has changed."""
    status, _, _ = server.request("POST", "/v2/models/simple/trace/setting",
                                  {"trace_rate": "7"}, headers=HEADERS)
    expect(status, 200, "a change over HTTP")
    request = messages.TraceSettingRequest(model_name="simple")
    settings = stub.TraceSetting(request, metadata=CALLER,
                                 timeout=TIMEOUT).settings
    expect(list(settings["trace_rate"].value), ["7"], "gRPC")
    request = messages.TraceSettingRequest()
    request.settings["trace_count"].value.append("9")
    stub.TraceSetting(request, metadata=CALLER, timeout=TIMEOUT)
    _, _, body = server.request("GET", "/v2/trace/setting", headers=HEADERS)
    expect(json.loads(body)["trace_count"], "9", "HTTP")

    request = messages.LogSettingsRequest()
    request.settings["log_info"].bool_param = False
    stub.LogSettings(request, metadata=CALLER, timeout=TIMEOUT)
    _, _, body = server.request("POST", "/v2/logging",
                                {"log_format": "ISO8601"}, headers=HEADERS)
    expect(json.loads(body)["log_info"], False, "HTTP")
    settings = stub.LogSettings(messages.LogSettingsRequest(), metadata=CALLER,
                                timeout=TIMEOUT).settings
    expect(settings["log_format"].string_param, "ISO8601", "gRPC")


def check_log():
    lines = [json.loads(line) for line in open("access.jsonl")]

    def outcomes(path):
        return [each.get("grpc_status", each.get("status")) for each in lines
                if each["path"] == path]

    expect(outcomes(SERVICE + "ModelInfer"), [16, 16, 0, 8, 0], "calls")
    expect(outcomes(SERVICE + "ModelStreamInfer"), [0], "a stream")
    expect(outcomes(SERVICE + "TraceSetting"), [0, 0], "settings")
    expect(outcomes(INFER), [429, 200], "requests")
    line = [each for each in lines if each["id"] == "me-7"][0]
    expect((line["client"], line["method"], line["key"], line["bytes_in"]),
           ("127.0.0.1", "POST", "first", sum_request().ByteSize()), line)
    expect(0 < line["first_byte_ms"] <= line["duration_ms"], True, line)
    expect(KEY in json.dumps(lines), False, "no secret")


def main():
    server, stub = start()
    check_keys(stub)
    check_limits(server, stub)
    check_settings(server, stub)
    expect(server.stop(), 0, "exit code")
    check_log()
    print("all as expected")


main()
