"""Calls the KServe API of a test program with models that take no time."""

import gzip
import json
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib

from serving import Server, expect

program = sys.argv[1]
MODELS = "/v2/models/"
SIMPLE = {"inputs": [
    {"name": name, "datatype": "INT32", "shape": [1, 16],
     "data": list(range(16))} for name in ("INPUT0", "INPUT1")]}
SUM = [2 * each for each in range(16)]


class KServe(Server):
    def call(self, method, path, body=None, headers=None):
        """The status, the headers and the body's bytes."""
        connection = self.connect()
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def json(self, method, path, body=None, headers=None):
        status, _, text = self.call(method, path, body, headers)
        return status, json.loads(text) if text else None

    def refusal(self, method, path, body=None, headers=None):
        """The status and the message of an error."""
        status, got, text = self.call(method, path, body, headers)
        expect(got["Content-Type"], "application/json", f"{path}: type")
        error = json.loads(text)
        expect(list(error), ["error"], f"{path}: body")
        return status, error["error"]

    def count(self, model, *keys):
        value = self.json("GET", f"{MODELS}{model}/stats")[1]["model_stats"][0]
        for key in keys:
            value = value.get(key, {})
        return value or 0

    def wait_for_count(self, model, *keys, least=1):
        deadline = time.monotonic() + 10
        while self.count(model, *keys) < least:
            expect(time.monotonic() < deadline, True, f"{model} {keys}")
            time.sleep(0.01)


def infer(model):
    return f"{MODELS}{model}/infer"


def request(datatype, shape, data, **more):
    return {"inputs": [{"name": "INPUT0", "datatype": datatype,
                        "shape": shape, "data": data}], **more}


# ---- methods, health and metadata

def check_routes(server):
    not_allowed = (405, "Method Not Allowed")
    for method, path in [("GET", infer("simple")), ("POST", "/v2"),
                         ("POST", "/v2/health/live"),
                         ("GET", "/v2/repository/index"),
                         ("DELETE", "/v2/logging"),
                         ("POST", MODELS + "simple/stats"),
                         ("POST", MODELS + "simple/config")]:
        expect(server.refusal(method, path), not_allowed, path)
    for path in ("/v2/nowhere", "/v1/models", MODELS + "simple/x",
                 MODELS + "simple/versions/1/trace/setting"):
        expect(server.refusal("GET", path), (404, "Not Found"), path)


def check_health(server):
    for path in ("/v2/health/live", "/v2/health/ready",
                 MODELS + "simple/ready", MODELS + "simple/versions/1/ready"):
        status, _, text = server.call("GET", path)
        expect((status, text), (200, b""), path)
    unknown = "Request for unknown model: 'x' is not found"
    expect(server.refusal("GET", MODELS + "x/ready"), (404, unknown), "ready")
    expect(server.refusal("POST", infer("x"), SIMPLE), (404, unknown), "infer")
    expect(server.refusal("GET", MODELS + "simple/versions/9"),
           (404, "Request for unknown model: 'simple' version 9 is not found"),
           "a version")
    expect(server.refusal("GET", MODELS + f"simple/versions/{'9' * 30}"),
           (400, "failed to get model version from specified version string "
            f"'{'9' * 30}' (details: stol), version should be an integral "
            "value > 0"), "a long version")


def check_metadata(server):
    status, server_data = server.json("GET", "/v2")
    expect((status, server_data["name"], server_data["version"]),
           (200, "recipec", "0.1"), "server")
    _, model = server.json("GET", MODELS + "simple")
    expect(model["inputs"][0],
           {"name": "INPUT0", "datatype": "INT32", "shape": [-1, 16]}, "model")
    status, config = server.json("GET", MODELS + "simple/config")
    expect((status, config["name"], config["max_batch_size"]),
           (200, "simple", 8), "config")
    _, stats = server.json("GET", MODELS + "stats")
    expect(len(stats["model_stats"]) > 10, True, "all statistics")


# ---- infer

def check_infer(server):
    status, headers, text = server.call("POST", infer("simple"),
                                        {"id": "a", **SIMPLE})
    answer = json.loads(text)
    expect((status, headers["Content-Type"]), (200, "application/json"), "")
    expect((answer["id"], answer["model_name"], answer["model_version"]),
           ("a", "simple", "1"), "head")
    expect(answer["outputs"][0], {"name": "OUTPUT0", "datatype": "INT32",
                                  "shape": [1, 16], "data": SUM}, "output")
    expect("id" in json.loads(server.call(
        "POST", infer("simple"), SIMPLE)[2]), False, "no id")
    status, answer = server.json("POST", MODELS + "no_batch/versions/1/infer", {
        "parameters": {"a": 1, "b": "x", "c": True, "d": 0.5},
        "inputs": [{"name": "A", "datatype": "INT32", "shape": [2, 3],
                    "data": [[1, 2, 3], [4, 5, 6]]}]})
    expect((status, answer["parameters"], answer["outputs"][0]["data"]),
           (200, {"a": 1, "b": "x", "c": True, "d": 0.5}, [1, 2, 3, 4, 5, 6]),
           "parameters")
    words = ["", "é", "a\"b"]
    status, answer = server.json("POST", infer("identity_BYTES"),
                                 request("BYTES", [3], words))
    expect(answer["outputs"][0]["data"], words, "BYTES")
    status, answer = server.json(
        "POST", infer("scores"),
        request("FP32", [1, 4], [0.5, 2, 1, -1], outputs=[
            {"name": "OUTPUT0", "parameters": {"classification": 2}}]))
    expect(answer["outputs"][0], {
        "name": "OUTPUT0", "datatype": "BYTES", "shape": [1, 2],
        "data": ["2.000000:1:dog", "1.000000:2:fox"]}, "classification")


DATATYPES = {"BOOL": "?", "UINT8": "B", "UINT16": "H", "UINT32": "I",
             "UINT64": "Q", "INT8": "b", "INT16": "h", "INT32": "i",
             "INT64": "q", "FP16": "e", "BF16": "H", "FP32": "f", "FP64": "d"}


def check_binary(server):
    for datatype, code in DATATYPES.items():
        data = struct.pack(f"<3{code}", 1, 0, 1)
        head = json.dumps({
            "parameters": {"binary_data_output": True},
            "inputs": [{"name": "INPUT0", "datatype": datatype, "shape": [3],
                        "parameters": {"binary_data_size": len(data)}}]})
        status, headers, text = server.call(
            "POST", infer("identity_" + datatype), head.encode() + data,
            {"Inference-Header-Content-Length": str(len(head))})
        expect((status, headers["Content-Type"]),
               (200, "application/octet-stream"), f"{datatype}: {text}")
        size = int(headers["Inference-Header-Content-Length"])
        output = json.loads(text[:size])["outputs"][0]
        expect(output["parameters"], {"binary_data_size": len(data)}, "size")
        expect((output["datatype"], text[size:]), (datatype, data), datatype)
    raw = {"Inference-Header-Content-Length": "0"}
    data = struct.pack("<4f", 1, 2, 3, 4)
    status, headers, text = server.call("POST", infer("scores"), data, raw)
    size = int(headers["Inference-Header-Content-Length"])
    expect((status, json.loads(text[:size])["outputs"][0]["shape"],
            text[size:]), (200, [1, 4], data), "a raw tensor")
    _, headers, text = server.call("POST", infer("raw_words"), b"abc", raw)
    expect(text[int(headers["Inference-Header-Content-Length"]):],
           b"\3\0\0\0abc", "a raw text")
    chunks = iter([data[:6], data[6:]])
    connection = server.connect()
    connection.request("POST", infer("scores"), chunks, raw)
    answer = connection.getresponse()
    expect((answer.status, answer.read()[-16:]), (200, data), "chunks")


def check_infer_refusals(server):
    header = "Inference-Header-Content-Length"
    for value, message in [
            ("9", "inference header size should be in range (0, 2), got: 9"),
            ("-1", "inference header size should be in range (0, 2), got: -1"),
            ("x", f"Unable to parse {header}, got: x"),
            ("99999999999", f"Unable to parse {header}, value is out of range "
             "[ -2147483648, 2147483647 ], got: 99999999999")]:
        expect(server.refusal("POST", infer("simple"), "{}", {header: value}),
               (400, message), value)
    expect(server.refusal("POST", infer("simple"), "{"),
           (500, "failed to parse the request JSON buffer: Missing a name for "
            "object member. at 1"), "not JSON")
    expect(server.refusal("POST", infer("mock_llm"), SIMPLE),
           (501, "HTTP end point doesn't support models with decoupled "
            "transaction policy"), "decoupled")
    expect(server.refusal("POST", infer("simple"),
                          {"id": "r", "inputs": SIMPLE["inputs"][:1]}),
           (400, "[request id: r] expected 2 inputs but got 1 inputs for model "
            "'simple'"), "of the core")
    expect(server.refusal("POST", infer("two_answers"),
                          request("INT32", [1], [1])),
           (500, "expected a single response, got 2"), "two responses")
    expect(server.refusal("POST", infer("half"), request("INT32", [1], [1])),
           (400, "sending FP16 data via JSON is not supported. Please use the "
            "binary data format for output"), "FP16 as JSON")
    expect(server.refusal("POST", infer("identity_BYTES"), request(
        "BYTES", [1], ["a"], outputs=[{"name": "OUTPUT0", "parameters": {
            "classification": 1}}])),
           (400, "class result not available for output due to unsupported "
            "type 'BYTES'"), "classification")


def check_compression(server):
    body = json.dumps(SIMPLE).encode()
    for name, pack, unpack in [("gzip", gzip.compress, gzip.decompress),
                               ("deflate", zlib.compress, zlib.decompress)]:
        status, headers, text = server.call(
            "POST", infer("simple"), pack(body),
            {"Content-Encoding": name, "Accept-Encoding": name})
        expect((status, headers["Content-Encoding"]), (200, name), name)
        expect(json.loads(unpack(text))["outputs"][0]["data"], SUM, name)
    status, headers, text = server.call("POST", infer("simple"), body,
                                        {"Content-Encoding": "br"})
    expect((status, headers["Accept-Encoding"], json.loads(text)),
           (501, "gzip, deflate", {"error": "Unsupported compression type"}),
           "br")
    status, headers, _ = server.call("POST", infer("simple"), body,
                                     {"Accept-Encoding": "br, identity"})
    expect((status, headers["Content-Encoding"]), (200, None), "identity")
    expect(server.refusal("POST", MODELS + "mock_llm/generate", b"x",
                          {"Content-Encoding": "gzip"}),
           (400, "Unsupported content-encoding, only 'identity' is supported."),
           "generate")


# ---- generate

def generate(server, body, path="mock_llm/generate", **headers):
    return server.call("POST", MODELS + path, body, headers)


def events(text):
    parts = text.decode().split("\n\n")
    expect(parts.pop(), "", "the end of a stream")
    expect(all(each.startswith("data: ") for each in parts), True, "events")
    return [json.loads(each[len("data: "):]) for each in parts]


def check_generate(server):
    prompt = {"PROMPT": "hello world", "STREAM": False}
    status, headers, text = generate(server, prompt)
    expect((status, headers["Content-Type"], headers["Transfer-Encoding"]),
           (200, "application/json", "chunked"), "generate")
    expect(text, b'{"TEXT":"hello world","model_name":"mock_llm",'
           b'"model_version":"1"}', "generate")
    _, _, text = generate(server, {**prompt, "id": "42", "input_ids": [1, 2]})
    expect(json.loads(text)["id"], "42", "id")
    _, _, text = generate(server, {**prompt, "id": ""})
    expect("id" in json.loads(text), False, "an empty id")
    one = "generate expects model to produce exactly 1 response, use generate " \
        "stream for model that generates various number of responses"
    for count in (0, 2):
        status, _, text = generate(
            server, {"PROMPT": "a", "STREAM": True, "REPETITION": count})
        expect((status, json.loads(text)), (200, {"error": one}), count)
    _, _, text = generate(server, {"PROMPT": "a", "STREAM": True,
                                   "parameters": {"REPETITION": 1}})
    expect(json.loads(text)["TEXT"], "a", "nested parameters")
    _, headers, _ = generate(server, prompt,
                             **{"endpoint-load-metrics-format": "text"})
    expect(headers["endpoint-load-metrics"],
           "TEXT named_metrics.kv_cache_utilization=0.250000, "
           "named_metrics.max_token_capacity=4096", "load")


def check_stream(server):
    path = "mock_llm/generate_stream"
    body = {"PROMPT": ["hi"], "STREAM": True, "REPETITION": 3}
    status, headers, text = generate(server, body, path)
    expect((status, headers["Content-Type"]),
           (200, "text/event-stream; charset=utf-8"), "stream")
    expect([each["TEXT"] for each in events(text)], ["hi"] * 3, "events")
    status, _, text = generate(server, {**body, "REPETITION": 1,
                                        "FAIL_LAST": True}, path)
    expect((status, events(text)[1]), (200, {"error": "An Error Occurred"}),
           "a failure within the stream")
    status, headers, text = generate(server, {**body, "REPETITION": 0,
                                              "FAIL_LAST": True}, path)
    expect((status, headers["Content-Type"], events(text)),
           (500, "text/event-stream; charset=utf-8",
            [{"error": "An Error Occurred"}]), "a failure as first response")
    status, _, text = generate(server, {**body, "REPETITION": 0}, path)
    expect((status, text), (200, b""), "no response")
    expect(server.refusal("POST", MODELS + path, {"abc": 123}),
           (400, "[request id: <id_unknown>] expected number of inputs between "
            "2 and 3 but got 0 inputs for model 'mock_llm'"),
           "a failure before the stream")
    expect(server.refusal("POST", MODELS + path, {"PROMPT": 1}),
           (500, "Unable to parse JSON bytes array: attempt to access JSON "
            "non-string as string"), "a wrong type")


def check_stream_is_sent_at_once(server):
    """Each response arrives when it is there: the model takes a minute each."""
    connection = server.connect()
    connection.request("POST", MODELS + "mock_llm/generate_stream", json.dumps(
        {"PROMPT": "x", "STREAM": True, "REPETITION": 9, "DELAY": 60_000}))
    answer = connection.getresponse()
    expect(answer.readline()[:6], b"data: ", "the first response")
    connection.sock.close()
    answer.close()


def check_cancellation(server):
    """A client that goes away cancels its request."""
    for path, body, keys in [
            ("mock_llm/generate_stream",
             {"PROMPT": "x", "STREAM": True, "REPETITION": 1_000_000,
              "DELAY": 1}, None),
            ("slow/infer", request("INT32", [1], [1]), ("fail", "count"))]:
        body = json.dumps(body)
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(f"POST {MODELS}{path} HTTP/1.1\r\nHost: a\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n{body}"
                           .encode())
            if keys is None:
                expect(client.recv(9), b"HTTP/1.1 ", "the stream has begun")
            else:
                server.wait_for_count("slow", "inference_count")
        if keys:
            server.wait_for_count("slow", "inference_stats", *keys)
            continue
        deadline = time.monotonic() + 10
        while not any(each["cancel"]["count"] for each in
                      (server.count("mock_llm", "response_stats") or {})
                      .values()):
            expect(time.monotonic() < deadline, True, "cancelled")
            time.sleep(0.01)
    expect(server.call("GET", "/v2/health/live")[0], 200, "still live")


# ---- the repository and settings

def check_repository(server):
    control = "/v2/repository/models/"
    status, entries = server.json("POST", "/v2/repository/index")
    expect((status, entries[-1]), (200, {"name": "never_loaded"}), "index")
    _, entries = server.json("POST", "/v2/repository/r/index", {"ready": True})
    expect({each["state"] for each in entries}, {"READY"}, "ready")
    status, _, text = server.call("POST", control + "new/load", {
        "parameters": {"config": "{}", "file:1/m": "aGk="}})
    expect((status, text), (200, b""), "load")
    _, entries = server.json("POST", "/v2/repository/index", {})
    expect([each for each in entries if each["name"] == "new"], [
        {"name": "new", "version": "1", "state": "READY",
         "reason": "{} 1/m=hi"}], "overrides")
    expect(server.refusal("POST", control + "broken/load"),
           (400, "load failed for model 'broken': no reason\n"), "broken")
    expect(server.refusal("POST", control + "missing/load"),
           (500, "failed to load 'missing', failed to poll from model "
            "repository"), "missing")
    repository = (501, "'repository_name' specification is not supported")
    expect(server.refusal("POST", "/v2/repository/r/models/simple/load"),
           repository, "a repository")
    status, _, text = server.call("POST", control + "new/unload", {
        "parameters": {"unload_dependents": True}})
    expect((status, text), (200, b""), "unload")
    expect(server.refusal("GET", MODELS + "new/ready"),
           (400, "Model version not ready"), "unloaded")
    status, _, text = server.call("GET", "/v2/health/ready")
    expect((status, text), (400, b""), "not all are ready")
    expect(server.refusal("POST", control + "needed/unload"),
           (500, "failed to unload 'needed', versions that are still "
            "available: 1,2"), "needed")


def check_settings(server):
    _, settings = server.json("POST", "/v2/logging", {"log_verbose_level": 2})
    expect((settings["log_verbose_level"], settings["log_info"]), (2, True),
           "log")
    expect(server.json("GET", "/v2/logging")[1], settings, "log")
    path = MODELS + "simple/trace/setting"
    _, settings = server.json("POST", path, {"trace_rate": "7"})
    expect((settings["trace_rate"], settings["trace_level"]), ("7", ["OFF"]),
           "trace")
    expect(server.json("GET", "/v2/trace/setting")[1]["trace_rate"], "1000",
           "the server's trace")
    expect(server.refusal("GET", MODELS + "x/trace/setting")[0], 404, "unknown")
    disabled = (501, "Client shared memory is disabled. Start the server with "
                "'--allow-client-shm=true' to enable.")
    for kind in ("system", "cuda"):
        base = f"/v2/{kind}sharedmemory/"
        expect(server.json("GET", base + "status"), (200, []), "status")
        expect(server.refusal("GET", base + "region/r/status"),
               (404, f"Unable to find {kind} shared memory region: 'r'"), kind)
        expect(server.refusal("POST", base + "region/r/register", {}), disabled,
               "register")
        expect(server.refusal("POST", base + "unregister"), disabled,
               "unregister")


def check_stopping(server):
    server.call("POST", "/v2/repository/models/stop/unload")
    for path in ("/v2/health/live", "/v2/health/ready"):
        expect(server.refusal("GET", path), (503, "Server exiting"), path)


# ---- limits

def check_limits():
    server = KServe([program, str(1 << 16)], "kserve_limits.log")
    large = "a" * (1 << 16)
    status, message = server.refusal("POST", infer("identity_BYTES"),
                                     request("BYTES", [1], [large]))
    expect((status, "exceeds the maximum allowed" in message), (400, True),
           message)
    status, message = server.refusal(
        "POST", infer("simple"), request("INT64", [1 << 20], [1]))
    expect((status, "exceeds the maximum allowed" in message), (400, True),
           message)
    packed = gzip.compress(b" " * (1 << 20))
    status, message = server.refusal("POST", infer("simple"), packed,
                                     {"Content-Encoding": "gzip"})
    expect((status, message[:37]),
           (400, "Decompressed data size exceeds the ma"), "a bomb")


def check_many(server):
    """Requests at once, and one connection that stays open."""
    failures = []

    def run():
        connection = server.connect()
        body = json.dumps(SIMPLE)
        for _ in range(50):
            connection.request("POST", infer("simple"), body)
            answer = connection.getresponse()
            if json.loads(answer.read())["outputs"][0]["data"] != SUM:
                failures.append(answer.status)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    expect(failures, [], "requests at once")


def main():
    server = KServe([program], "kserve.log")
    check_routes(server)
    check_health(server)
    check_metadata(server)
    check_infer(server)
    check_binary(server)
    check_infer_refusals(server)
    check_compression(server)
    check_generate(server)
    check_stream(server)
    check_stream_is_sent_at_once(server)
    check_cancellation(server)
    check_many(server)
    subprocess.run([sys.executable, sys.argv[2],
                    f"http://127.0.0.1:{server.port}"], check=True)
    check_repository(server)
    check_settings(server)
    check_stopping(server)
    check_limits()
    print("all calls as expected")


main()
