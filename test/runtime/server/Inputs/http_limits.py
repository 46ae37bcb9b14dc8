"""What clients must not send: each is answered or closed, in time, and the
server goes on."""

import json
import re
import socket
import struct
import sys
import threading
import time

from serving import Server, expect

reciperun, model = sys.argv[1:3]
MILLION = 1_000_000
GAUGES = ["vllm:num_requests_running", "vllm:num_requests_waiting"]
GET = b"GET /version HTTP/1.1\r\nHost: a\r\n"
POST = (b"POST /tokenize HTTP/1.1\r\nHost: a\r\n"
        b"Content-Type: application/json\r\n")
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


def start(*options):
    return Server([reciperun, "serve", model, "--port", "0",
                   "--http-max-input-size", str(MILLION), "--read-timeout", "1",
                   "--idle-timeout", "2", *options], "limits.log")


def statuses(answer):
    """The statuses of all answers in a text."""
    return [int(each) for each in re.findall(rb"HTTP/1\.[01] (\d+) ", answer)]


def one_answer(server, data, status, what):
    """The answer to bytes has the status, and its connection is closed."""
    expect(statuses(server.send(data)), [status], what)


# ---- slow clients

def drip(server, begin, piece):
    """Sends a piece each tenth of a second, for as long as the server reads.
    Returns the answer and the seconds until the end of the connection."""
    began = time.monotonic()
    got = b""
    with socket.create_connection(("127.0.0.1", server.port), 60) as each:
        each.settimeout(0.1)
        each.sendall(begin)
        while time.monotonic() < began + 20:
            try:
                piece and each.sendall(piece)
                data = each.recv(1 << 16)
                got += data
                if not data:
                    break
            except TimeoutError:
                pass
            except ConnectionError:
                break
    return got, time.monotonic() - began


def check_slow(server):
    """A request has a second as a whole, a silent connection has two."""
    cases = {
        "a slow request line": (b"GET /ver", b"s", 408, 1),
        "slow headers": (GET, b"A: b\r\n", 408, 1),
        "a slow body": (POST + b"Content-Length: 1000\r\n\r\n", b"1", 408, 1),
        "slow chunks": (CHUNKED, b"1\r\na\r\n", 408, 1),
        "a slow size of a chunk": (CHUNKED, b"1", 408, 1),
        "a request that stops": (GET, b"", 408, 1),
        "a silent connection": (b"", b"", None, 2),
        "an idle connection": (GET + b"\r\n", b"", 200, 2),
        "half a pipelined request": (GET + b"\r\n" + GET, b"", 408, 1),
    }
    results = {}

    def run(name):
        results[name] = drip(server, *cases[name][:2])

    threads = [threading.Thread(target=run, args=[name]) for name in cases]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for name, (_, _, status, seconds) in cases.items():
        got, took = results[name]
        expect(statuses(got)[-1:], [status] if status else [], name)
        expect(seconds * 0.9 < took < seconds + 2, True, f"{name}: {took} s")


# ---- sizes

def check_sizes(server):
    one_answer(server, POST + b"Content-Length: 1000001\r\n\r\n{", 413,
               "a body beyond the limit")
    one_answer(server, POST + b"Content-Length: 104857600\r\n\r\n" +
               bytes(100 << 20), 413, "a body of 100 MB")
    one_answer(server, CHUNKED + b"fffff\r\n" + bytes(0xfffff), 413,
               "a chunk beyond the limit")
    chunk = b"10000\r\n" + bytes(0x10000) + b"\r\n"
    one_answer(server, CHUNKED + chunk * 40, 413, "chunks beyond the limit")
    one_answer(server, CHUNKED + b"1" * 20 * MILLION, 413,
               "an endless size of a chunk")
    one_answer(server, CHUNKED + b"x\r\n", 413, "a wrong size of a chunk")
    one_answer(server, GET + b"A: b\r\n" * 100_000 + b"\r\n", 400,
               "a flood of headers")
    one_answer(server, GET + b"A: " + b"b" * MILLION, 400, "an endless header")
    one_answer(server, b"GET /" + b"a" * MILLION, 400, "an endless path")
    body = json.dumps({"prompt": "Order"}).encode()
    chunks = b"".join(b"%x\r\n%c\r\n" % (1, each) for each in body)
    answer = server.send(CHUNKED + chunks + b"0\r\n\r\n" + GET +
                         b"Connection: close\r\n\r\n")
    expect(statuses(answer), [200, 200], "a chunked body")


def check_total(server):
    """Bodies that are being read may have 1.5 million bytes in all."""
    part = (POST + b"Connection: close\r\nContent-Length: 1000000\r\n\r\n" +
            bytes(900_000))
    with socket.create_connection(("127.0.0.1", server.port)) as first:
        first.sendall(part)
        one_answer(server, part, 503, "more bytes than the server holds")
        expect(server.request("GET", "/version")[0], 200, "a small request")
    deadline = time.monotonic() + 5
    while statuses(server.send(part + bytes(100_000))) != [400]:
        expect(time.monotonic() < deadline, True, "the bytes are free again")


# ---- requests that two programs read differently

def check_framing(server):
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
    size = b"Content-Length: %d\r\n" % len(smuggled)
    for headers in (
            b"Content-Length: 0\r\nContent-Length: 5\r\n",
            b"Content-Length: 4, 4\r\n",
            b"Content-Length: +4\r\n",
            b"Content-Length: -4\r\n",
            b"Content-Length: 4x\r\n",
            b"Content-Length: 99999999999999999999\r\n",
            b"Content-Length : 4\r\n",
            size + b"Transfer-Encoding: chunked\r\n",
            b"Transfer-Encoding: chunked\r\n" + size,
            b"Transfer-Encoding: gzip, chunked\r\n",
            b"Transfer-Encoding: identity\r\n",
            b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            b"Transfer-Encoding: \x0bchunked\r\n",
            b"A B: c\r\n", b"A: b\rc\r\n", b"no colon\r\n", b": empty\r\n"):
        answer = server.send(POST + headers + b"\r\n0\r\n\r\n" + smuggled)
        expect(statuses(answer)[:1] in ([400], [413]), True, (headers, answer))
        expect(len(statuses(answer)), 1, (headers, answer))
    one_answer(server, b"HEAD /version HTTP/1.1\r\nHost: a\r\n" + size + b"\r\n"
               + smuggled, 405, "HEAD with a body")
    for hosts in (b"", b"Host: a\r\nHost: a\r\n", b"Host: a/b\r\n",
                  b"Host: a b\r\n"):
        one_answer(server, b"GET /version HTTP/1.1\r\n" + hosts + b"\r\n", 400,
                   hosts)
    one_answer(server, b"GET /version HTTP/1.0\r\n\r\n", 200, "HTTP/1.0")
    one_answer(server, b"GET /version HTTP/1.0\r\nTransfer-Encoding: chunked"
               b"\r\n\r\n0\r\n\r\n", 400, "chunks of HTTP/1.0")


def check_malformed(server):
    for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
                 b"\r\n\r\n", b"GET\r\n\r\n", b"GET /version HTTP/3.0\r\n\r\n",
                 b"GET /version\r\n\r\n", b"NOTHING / HTTP/1.1\r\n\r\n",
                 bytes(1000) + b"\r\n\r\n"):
        answer = statuses(server.send(data))
        expect(answer in ([400], [501]), True, (data, answer))
    for body in (b'{"prompt": "\xff\xfe"}', b"[" * 100_000, b"{" * 100_000,
                 b'{"a":' * 1000 + b"1" + b"}" * 1000, b"\x00", b""):
        expect(server.post("/tokenize", body)[0], 400, body[:20])
    for path in (b"/%ff%fe", b"/%00", b"/../../etc/passwd", b"/%2e%2e/x", b"//",
                 b"/\xff", b"http://a:99999999/"):
        data = b"GET " + path + b" HTTP/1.1\r\nHost: a\r\nConnection: close"
        answer = server.send(data + b"\r\n\r\n")
        expect(statuses(answer)[0] in (400, 404), True, (path, answer))


def check_pipelining(server):
    """Answers come in the order of their requests."""
    paths = [b"/version", b"/nowhere", b"/health", b"/v1/models"]
    requests = [b"GET " + each + b" HTTP/1.1\r\nHost: a\r\n\r\n"
                for each in paths * 100]
    requests.append(GET + b"Connection: close\r\n\r\n")
    expect(statuses(server.send(b"".join(requests))),
           [200, 404, 200, 200] * 100 + [200], "pipelined requests")


def check_reset(server):
    """A client that resets its connection ends its answer, also when it has
    sent the next request already."""
    body = json.dumps({"prompt": "Order", "max_tokens": 90, "n": 1000,
                       "ignore_eos": True}).encode()
    data = (b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: "
            b"application/json\r\nContent-Length: %d\r\n\r\n" % len(body))
    reset = struct.pack("ii", 1, 0)  # linger: no time
    for count, more in enumerate((b"", GET + b"\r\n"), 1):
        wait_for(lambda: sum(map(server.gauge, GAUGES)) == 0, "idle")
        each = socket.create_connection(("127.0.0.1", server.port))
        each.sendall(data + body)
        wait_for(lambda: server.gauge(GAUGES[0]) > 0, "running")
        each.sendall(more)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        each.close()
        wait_for(lambda: gone_clients() == count, "the answer ends")


def gone_clients():
    with open("access.jsonl") as log:
        return sum(json.loads(line)["status"] == 499 for line in log)


def wait_for(condition, what):
    deadline = time.monotonic() + 2
    while not condition():
        expect(time.monotonic() < deadline, True, what)
        time.sleep(0.01)


# ---- many connections

def check_connections(server):
    """With 20 connections the next ones are told so; later ones get in."""
    def connect():
        return socket.create_connection(("127.0.0.1", server.port), 10)

    idle = [connect() for _ in range(20)]
    one_answer(server, GET + b"\r\n", 503, "a connection too many")
    for each in idle:
        each.sendall(GET + b"\r\n")
        expect(statuses(each.recv(4096)), [200], "one of those before")
    idle += [connect() for _ in range(100)]
    expect(b" 503 " in server.send(b""), True, "far too many")
    for each in idle:
        each.close()
    deadline = time.monotonic() + 5
    while statuses(server.send(GET + b"Connection: close\r\n\r\n")) != [200]:
        expect(time.monotonic() < deadline, True, "a connection is free again")
        time.sleep(0.01)


def peak_megabytes(server):
    with open(f"/proc/{server.process.pid}/status") as file:
        for line in file:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) >> 10
    raise SystemExit("the memory of the server is unknown")


def main():
    server = start("--access-log", "access.jsonl")
    before = peak_megabytes(server)
    check_slow(server)
    check_sizes(server)
    check_framing(server)
    check_malformed(server)
    check_pipelining(server)
    check_reset(server)
    expect(server.post("/tokenize", {"prompt": "Order"})[0], 200, "the last")
    grown = peak_megabytes(server) - before
    expect(grown < 50, True, f"{grown} MB more")
    expect(server.stop(), 0, "exit code")
    server = start("--http-max-total-size", "1500000")
    check_total(server)
    expect(server.stop(), 0, "exit code")
    server = start("--max-connections", "20", "--log-level", "debug")
    check_connections(server)
    server.send(b"GET\r\n\r\n")
    expect(server.stop(), 0, "exit code")
    with open("limits.log") as log:
        expect("debug: a request of 127.0.0.1 was malformed" in log.read(),
               True, "the log")
    print("all as expected")


main()
