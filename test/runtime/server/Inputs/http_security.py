"""TLS, API keys and their limits, restricted APIs, the access log."""

import atexit
import contextlib
import hashlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import warnings

from serving import Server, expect

reciperun, model = sys.argv[1:3]
TEXT = "/v1/completions"
GENERATE = "/v2/models/model/generate"
ORDER = {"prompt": "Order", "max_tokens": 4, "ignore_eos": True}
LONG = {"prompt": "Order", "max_tokens": 90, "ignore_eos": True, "n": 100}
SECRETS = ["sk-first", "sk-second", "sk-third", "sk-fourth", "let-me-in", "not-a-key-9"]


def command(*options):
    return [reciperun, "serve", model, "--port", "0", *options]


def start(*options, log="security.log"):
    return Server(command(*options), log)


def bearer(key):
    return {"Content-Type": "application/json",
            "Authorization": f"Bearer {key}"}


def wait_for(condition, what):
    deadline = time.monotonic() + 10
    while not condition():
        expect(time.monotonic() < deadline, True, what)
        time.sleep(0.02)


# ---- TLS

def make_certificate(name, *more):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
         f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", f"{name}.key", "-out", f"{name}.pem", *more],
        check=True, stderr=subprocess.DEVNULL)


class TlsServer(Server):
    """A server with a client that trusts one certificate."""

    trusted = "one"
    shown = None  # the client's own certificate

    def context(self):
        made = ssl.create_default_context(cafile=f"{self.trusted}.pem")
        made.check_hostname = False
        if self.shown:
            made.load_cert_chain(f"{self.shown}.pem", f"{self.shown}.key")
        return made

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60,
                                           context=self.context())


def fails(call):
    try:
        call()
    except (ssl.SSLError, OSError):
        return True
    return False


def check_tls():
    tls = ["--ssl-certfile", "served.pem", "--ssl-keyfile", "served.key"]
    for name in ("one", "two"):
        make_certificate(name)
    for end in ("pem", "key"):
        subprocess.run(["cp", f"one.{end}", f"served.{end}"], check=True)
    server = TlsServer(command(*tls, "--read-timeout", "1"), "tls.log")
    silent = socket.create_connection(("127.0.0.1", server.port), 60)
    status, whole = server.post(TEXT, ORDER)
    expect(status, 200, "TLS")
    events = server.stream(TEXT, dict(ORDER, max_tokens=60))
    expect(events[-1], "[DONE]", "a stream")
    connection = server.connect()
    for _ in range(3):
        expect(server.post(TEXT, ORDER, connection=connection)[0], 200,
               "keep-alive")
    expect(server.post("/tokenize", {"prompt": "a" * 3_000_000})[0], 200,
           "a large body")
    with open("served.pem", "rb") as file:
        expect(b"HTTP/1." in server.send(b"GET / HTTP/1.1\r\n\r\n"), False,
               "a client without TLS")
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", server.port)) as each:
        with old.wrap_socket(each) as wrapped:
            expect(wrapped.version(), "TLSv1.3", "version")
    warnings.simplefilter("ignore")
    old.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", server.port)) as each:
        expect(fails(lambda: old.wrap_socket(each)), True, "TLS 1.1")
    check_gone(server)
    expect(silent.recv(1), b"", "a handshake that never begins")

    subprocess.run(["cp", "two.key", "served.key"], check=True)
    server.process.send_signal(signal.SIGHUP)
    log = open("tls.log")
    wait_for(lambda: "error: reload: the key in `served.key` is not that of "
             in log.read(), "a bad reload is told")
    expect(server.request("GET", "/health")[0], 200, "the old certificate")
    subprocess.run(["cp", "two.pem", "served.pem"], check=True)
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: fails(lambda: server.request("GET", "/health")),
             "the new certificate")
    server.trusted = "two"
    expect(server.request("GET", "/health")[0], 200, "its client")
    expect(server.post(TEXT, ORDER, connection=connection)[0], 200,
           "a connection that was open")
    expect(server.stop(), 0, "exit code")


def check_gone(server):
    """An answer ends when its client closes a TLS connection."""
    body = json.dumps(LONG)
    connection = server.connect()
    connection.request("POST", TEXT, body, {"Content-Type": "application/json"})
    wait_for(lambda: server.gauge("vllm:num_requests_running") > 0, "running")
    connection.close()
    began = time.monotonic()
    wait_for(lambda: server.gauge("vllm:num_requests_running") == 0, "the end")
    expect(time.monotonic() - began < 2, True, "the end comes at once")


def check_client_certificates():
    server = TlsServer(command(
        "--ssl-certfile", "one.pem", "--ssl-keyfile", "one.key",
        "--ssl-ca-certs", "two.pem", "--ssl-cert-reqs", "2"), "tls.log")
    expect(fails(lambda: server.request("GET", "/health")), True, "none shown")
    server.shown = "one"
    expect(fails(lambda: server.request("GET", "/health")), True, "a wrong one")
    server.shown = "two"
    expect(server.request("GET", "/health")[0], 200, "the right one")
    expect(server.stop(), 0, "exit code")


# ---- the start

def check_refused_starts():
    with open("empty.pem", "w"):
        pass
    with open("keys.bad", "w") as file:
        file.write("# keys\nnot-a-key-9\n")
    for options, code, words in [
            (["--ssl-keyfile", "one.key"], 2, "`--ssl-certfile`"),
            (["--ssl-certfile", "one.pem", "--ssl-keyfile", "one.key",
              "--ssl-ca-certs", "two.pem"], 2, "`--ssl-cert-reqs`"),
            (["--ssl-certfile", "one.pem", "--ssl-keyfile", "no.key"], 1,
             "no.key"),
            (["--ssl-certfile", "empty.pem"], 1,
             "`empty.pem` has no certificate in PEM form: no start line"),
            (["--ssl-certfile", "one.pem", "--ssl-keyfile", "empty.pem"], 1,
             "`empty.pem` has no usable private key in PEM form"),
            (["--ssl-certfile", "one.pem", "--ssl-keyfile", "two.key"], 1,
             "the key in `two.key` is not that of the certificate in `one.pem`"),
            (["--api-key-file", "no.keys"], 1, "no.keys"),
            (["--api-key-file", "empty.pem"], 1, "`empty.pem` has no key"),
            (["--api-key-file", "keys.bad"], 1, "`keys.bad`: line 2: "),
            (["--access-log", "/nowhere/log"], 1, "cannot open `/nowhere/log`"),
            (["--http-restricted-api", "all:a=let-me-in"], 2, "`all`"),
            (["--http-restricted-api", "health"], 2,
             "`<api>,<api>:<key>=<value>`"),
    ]:
        made = subprocess.run(command(*options), stderr=subprocess.PIPE,
                              text=True, timeout=60)
        expect((made.returncode, words in made.stderr), (code, True),
               (options, made.stderr))
        for secret in SECRETS:
            expect(secret in made.stderr, False, made.stderr)


# ---- keys

def hashed(key, words):
    return f"{hashlib.sha256(key.encode()).hexdigest()}  {words}\n"


def check_keys():
    with open("keys", "w") as file:
        file.write("# name and limits\n\n" +
                   hashed("sk-first", "name=first requests=1") +
                   hashed("sk-second", "name=second tokens-per-minute=10") +
                   hashed("sk-fourth", "name=fourth tokens-per-minute=10"))
    server = start("--api-key", "sk-third", "--api-key-file", "keys",
                   "--access-log", "access.jsonl")
    for path in ("/health", "/version", "/metrics", "/v2/health/live"):
        expect(server.request("GET", path)[0] in (200, 404), True, path)
    for headers in ({}, bearer("wrong"), bearer(""), bearer("sk-firs"),
                    bearer("sk-firstx"), {"Authorization": "sk-first"},
                    {"Authorization": "Basic sk-first"}):
        for path in ("/v1/models", TEXT, "/nowhere", "/v2/models/a/infer"):
            status, told, body = server.request("GET", path, headers=headers)
            expect((status, told["WWW-Authenticate"]), (401, "Bearer"), headers)
            error = json.loads(body)["error"]
            message = error if path.startswith("/v2") else error["message"]
            expect("API key" in message, True, error)
            if not path.startswith("/v2"):
                expect((error["type"], error["code"]),
                       ("AuthenticationError", 401), error)
    for headers in (bearer("sk-first"), {"X-Api-Key": "sk-third"},
                    {"Authorization": "bearer  sk-second"}):
        expect(server.request("GET", "/v1/models", headers=headers)[0], 200,
               headers)
    check_limits(server)
    check_rotation(server)
    expect(server.stop(), 0, "exit code")
    check_log("access.jsonl")


def check_limits(server):
    """One request at a time for the first key, ten tokens for the second."""
    thread = threading.Thread(target=lambda: server.post(
        TEXT, dict(LONG, n=300), headers=bearer("sk-first")))
    thread.start()
    wait_for(lambda: server.gauge("vllm:num_requests_running") > 0, "running")
    status, headers, body = server.request("POST", TEXT, ORDER,
                                           headers=bearer("sk-first"))
    error = json.loads(body)["error"]
    expect((status, headers["Retry-After"], error["type"]),
           (429, "1", "RateLimitError"), "a second request")
    expect("1 requests in progress, of at most 1" in error["message"], True,
           error)
    expect(server.request("GET", "/v1/models",
                          headers=bearer("sk-first"))[0], 200, "models")
    thread.join()
    expect(server.post(TEXT, ORDER, headers=bearer("sk-first"))[0], 200,
           "one after the other")
    status, made = server.post(TEXT, dict(ORDER, max_tokens=30),
                               headers=bearer("sk-second"))
    expect(status, 200, "within the limit")
    status, headers, body = server.request("POST", TEXT, ORDER,
                                           headers=bearer("sk-second"))
    seconds = (made["usage"]["total_tokens"] - 10) * 6
    expect(status, 429, "its tokens are used up")
    expect(seconds - 5 <= int(headers["Retry-After"]) <= seconds + 1, True,
           headers["Retry-After"])
    expect("10 tokens per minute" in body, True, body)
    order = {"text_input": "a", "max_tokens": 12, "min_length": 12}
    expect([server.post(GENERATE, order, headers=bearer("sk-fourth"))[0]
            for _ in range(2)], [200, 429], "KServe's requests count as well")


def check_rotation(server):
    with open("keys", "a") as file:
        file.write("oops\n")
    server.process.send_signal(signal.SIGHUP)
    log = open("security.log")
    wait_for(lambda: "error: reload: `keys`: line 6: " in log.read(), "told")
    expect(server.request("GET", "/v1/models",
                          headers=bearer("sk-first"))[0], 200, "the old keys")
    with open("keys", "w") as file:
        file.write(hashed("not-a-key-9", "name=first requests=1") +
                   hashed("sk-second", "name=second tokens-per-minute=10"))
    os.rename("access.jsonl", "access.old")
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: server.request("GET", "/v1/models", headers=bearer(
        "sk-first"))[0] == 401, "the old key ends")
    expect(server.request("GET", "/v1/models",
                          headers=bearer("not-a-key-9"))[0], 200, "a new key")
    expect(server.post(TEXT, ORDER, headers=bearer("sk-second"))[0], 429,
           "its tokens stay used up")
    expect(os.path.exists("access.jsonl"), True, "the log is a new file")
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    _, headers, _ = server.request(
        "GET", "/v1/models?api_key=sk-first", headers={
            **bearer("not-a-key-9"), "X-Request-Id": "me-7",
            "traceparent": trace, "tracestate": "a=b,c=d"})
    expect((headers["X-Request-Id"], headers["traceparent"],
            headers["tracestate"]), ("me-7", trace, "a=b,c=d"), "passed on")
    _, headers, _ = server.request("GET", "/health", headers={
        "traceparent": trace.replace("0af7", "XXXX"), "X-Request-Id": "a\tb"})
    expect((headers["traceparent"], len(headers["X-Request-Id"])), (None, 32),
           "invalid")


def check_log(path):
    for each in ("access.old", path, "security.log"):
        with open(each) as file:
            text = file.read()
        for secret in SECRETS:
            expect(secret in text, False, f"a secret in {each}")
            digest = hashlib.sha256(secret.encode()).hexdigest()
            expect(digest in text, False, f"a hash in {each}")
    old = [json.loads(line) for line in open("access.old")]
    new = [json.loads(line) for line in open(path)]
    traced = [each for each in new if each["id"] == "me-7"]
    expect(len(traced), 1, "the line of a request")
    line = traced[0]
    expect((line["client"], line["method"], line["path"], line["status"],
            line["key"], line["trace_id"], line["parent_id"],
            line["bytes_in"]),
           ("127.0.0.1", "GET", "/v1/models", 200, "first",
            "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", 0), line)
    expect(bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
                             line["time"])), True, line["time"])
    answer = [each for each in old if each["path"] == TEXT and
              each["status"] == 200 and each["key"] == "second"][0]
    expect((answer["model"], answer["tokens_out"], answer["tokens_in"] > 0),
           ("model", 30, True), answer)
    expect(0 < answer["first_byte_ms"] <= answer["duration_ms"], True, answer)
    answer = [each for each in old if each["path"] == GENERATE and
              each["status"] == 200][0]
    expect((answer["model"], answer["tokens_out"], answer["tokens_in"] > 0),
           ("model", 12, True), answer)
    expect({401, 429} <= {each["status"] for each in old}, True, "refusals")


# ---- restricted APIs and the rest

def check_restricted():
    with socket.create_server(("127.0.0.1", 0)) as each:
        port = each.getsockname()[1]
    with open("stdout.jsonl", "w") as stdout, open("quiet.log", "w") as log:
        process = subprocess.Popen(
            [reciperun, "serve", model, "--port", str(port), "--api-key",
             "sk-first", "--guard-metrics", "--max-concurrent-requests", "1",
             "--http-restricted-api=inference,metadata:X-Pass=let-me-in",
             "--access-log", "-", "--log-level", "warning"],
            stdout=stdout, stderr=log)
    server = Quiet(process, port)
    wait_for(server.is_healthy, "the start")
    both = {**bearer("sk-first"), "X-Pass": "let-me-in"}
    for path, headers, status in [
            ("/v1/models", both, 200),
            ("/v1/models", bearer("sk-first"), 403),
            ("/v1/models", {**both, "X-Pass": "let-me-out"}, 403),
            ("/v1/models", {"X-Pass": "let-me-in"}, 401),
            ("/metrics", bearer("sk-first"), 200),
            ("/metrics", {}, 401),
            ("/v2/models/a/infer", bearer("sk-first"), 403)]:
        got, _, body = server.request("GET", path, headers=headers)
        expect(got, status, (path, headers))
        if status == 403:
            words = "This API is restricted, expecting header 'X-Pass'"
            expect(words in body, True, body)
        if path.startswith("/v2"):
            expect(json.loads(body), {"error": words}, "KServe's form")
    check_concurrency(server, both)
    process.terminate()
    expect(process.wait(60), 0, "exit code")
    expect(open("quiet.log").read(), "", "nothing to warn of")
    lines = [json.loads(line) for line in open("stdout.jsonl")]
    expect({200, 401, 403, 499, 503} <= {each["status"] for each in lines},
           True, "the log on stdout")
    aborted = [each for each in lines if each.get("aborted")]
    expect([each["status"] for each in aborted], [499], aborted)
    expect(aborted[0]["tokens_in"] > 0, True, aborted)


class Quiet(Server):
    """A server that does not tell its port."""

    def __init__(self, process, port):
        self.process, self.port = process, port
        atexit.register(process.kill)

    def is_healthy(self):
        with contextlib.suppress(ConnectionError):
            return self.request("GET", "/health")[0] == 200


def check_concurrency(server, headers):
    """One request at once; the slot of one whose client goes is free again."""
    connection = server.connect()
    connection.request("POST", TEXT, json.dumps(LONG), headers)
    wait_for(lambda: server.post(TEXT, ORDER, headers=headers)[0] == 503,
             "one is enough")
    connection.close()
    wait_for(lambda: server.post(TEXT, ORDER, headers=headers)[0] == 200,
             "the slot is free")


def main():
    check_tls()
    check_client_certificates()
    check_refused_starts()
    check_keys()
    check_restricted()
    print("all as expected")


main()
