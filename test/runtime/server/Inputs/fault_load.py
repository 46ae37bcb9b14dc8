"""Loads a server on two ranks with requests of which a third is cancelled,
disconnected, malformed or oversized, while its ranks stall.

usage: fault_load.py [--requests N] [--seed N] RECIPERUN LAUNCHER...

Every other answer must be that of the same request alone. In the end no request
is left, and the memory of the ranks is what it was after the first half.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import resource
import signal
import time

from ranks import ranks_below
from serving import Server, expect

CONNECTIONS = 48
LARGEST = 100_000
# Of the memory that the second half of the requests may add to a rank.
SLACK = 8 << 20
PROMPTS = ["Order 7185 is late", "a", "The oven of order 8110 smells of smoke",
           "Where is my parcel?", "ä € 漢字 \U0001f600", "x " * 20]


def completion(number, generator):
    """A request and how its text is read: (path, body, text of the answer)."""
    prompt = generator.choice(PROMPTS)
    tokens = generator.randrange(1, 40)
    base = {"max_tokens": tokens, "temperature": 0, "ignore_eos": True}
    kind = number % 3
    if kind == 0:
        return ("/v1/completions", base | {"prompt": prompt},
                lambda answer: answer["choices"][0]["text"])
    if kind == 1:
        messages = [{"role": "user", "content": prompt}]
        return ("/v1/chat/completions", base | {"messages": messages},
                lambda answer: answer["choices"][0]["message"]["content"])
    return ("/v2/models/model/generate",
            {"text_input": prompt, "max_tokens": tokens, "temperature": 0,
             "ignore_eos": True},
            lambda answer: answer["text_output"])


def head(path, length):
    return (f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json"
            f"\r\nContent-Length: {length}\r\n\r\n").encode()


class Connection:
    """Keeps its connection while both sides do."""

    def __init__(self, port):
        self.port = port
        self.writer = None

    async def open(self):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(
                "127.0.0.1", self.port)

    def close(self):
        if self.writer is not None:
            self.writer.close()
            self.writer = None

    async def answer(self):
        """The status and the body of an answer."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        status = int(lines.split(" ", 2)[1])
        length = re.search(r"(?i)\r\ncontent-length: (\d+)", lines)
        if length:
            body = await self.reader.readexactly(int(length.group(1)))
        else:
            body = b""
            while size := int(await self.reader.readline(), 16):
                body += await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            await self.reader.readexactly(2)
        if re.search(r"(?i)\r\nconnection: close", lines):
            self.close()
        return status, body.decode()

    async def ask(self, path, body):
        await self.open()
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.writer.write(head(path, len(data)) + data)
        return await self.answer()


def streamed(text, read):
    """The text of a stream of OpenAI's events."""
    events = [each[len("data: "):] for each in text.split("\n\n") if each]
    expect(events.pop(), "[DONE]", "the end of a stream")
    pieces = []
    for each in map(json.loads, events):
        for choice in each["choices"]:
            pieces.append(choice["text"] if "text" in choice
                          else choice["delta"].get("content") or "")
    return "".join(pieces)


class Load:
    def __init__(self, server, seed):
        self.server = server
        self.generator = random.Random(seed)
        self.alone = {}
        self.counts = dict.fromkeys(
            ["right", "cancelled", "disconnected", "malformed", "oversized"], 0)
        self.number = 0

    def expected(self, path, body, read):
        """The answer of the server when it has no other request."""
        key = path + json.dumps(body)
        if key not in self.alone:
            status, answer = self.server.post(path, body)
            expect(status, 200, answer)
            self.alone[key] = read(answer)
        return self.alone[key]

    async def right(self, connection, case):
        path, body, read, wanted = case
        streams = path.startswith("/v1") and self.generator.random() < 0.5
        status, text = await connection.ask(
            path, body | {"stream": True} if streams else body)
        expect(status, 200, text)
        got = streamed(text, read) if streams else read(json.loads(text))
        expect(got, wanted, f"{path} {body}")

    async def cancelled(self, connection, case):
        """The client goes away while the answer is on its way."""
        path, body, *_ = case
        data = json.dumps(body | {"stream": path.startswith("/v1")}).encode()
        await connection.open()
        connection.writer.write(head(path, len(data)) + data)
        await asyncio.sleep(self.generator.random() * 0.05)
        connection.close()

    async def disconnected(self, connection, case):
        """The client goes away within its body."""
        path, body, *_ = case
        data = json.dumps(body).encode()
        await connection.open()
        connection.writer.write(head(path, len(data))
                                + data[:self.generator.randrange(len(data))])
        await connection.writer.drain()
        connection.close()

    async def malformed(self, connection, case):
        path, body, *_ = case
        data = json.dumps(body).encode()
        bad = self.generator.choice(
            [data[:-1], data.replace(b'"max_tokens"', b'\xff"max_tokens"'),
             b"[" * 5000, data.replace(b'"temperature": 0', b'"temperature": "x"')])
        status, text = await connection.ask(path, bad)
        # Triton calls a body that is not JSON an internal error.
        expect(status in (400, 500 if path.startswith("/v2") else 400), True,
               f"{status}: {text}")

    async def oversized(self, connection, case):
        await connection.open()
        connection.writer.write(head(case[0], 2 * LARGEST))
        with contextlib.suppress(OSError):
            for _ in range(20):
                connection.writer.write(b" " * (LARGEST // 10))
                await connection.writer.drain()
        try:
            status, text = await connection.answer()
            expect(status, 413, text)
        except (OSError, EOFError):
            pass  # the server has closed before all was sent
        connection.close()

    async def client(self, cases):
        connection = Connection(self.server.port)
        while cases:
            case = cases.pop()
            kind = "right"
            if self.generator.random() < 1 / 3:
                kind = self.generator.choice(list(self.counts)[1:])
            for attempt in range(2):
                try:
                    await getattr(self, kind)(connection, case)
                    break
                except (OSError, EOFError):
                    # A kept connection may end between two requests.
                    connection.close()
                    expect(attempt, 0, f"a lost connection: {kind}")
            self.counts[kind] += 1
        connection.close()

    async def run(self, count):
        cases = []
        for _ in range(count):
            self.number += 1
            path, body, read = completion(self.number, self.generator)
            cases.append((path, body, read, self.expected(path, body, read)))
        await asyncio.gather(*(self.client(cases) for _ in range(CONNECTIONS)))


async def stall(ranks, generator):
    """Stops a rank for a moment, again and again."""
    while True:
        await asyncio.sleep(0.2 + generator.random())
        rank = generator.choice(list(ranks.values()))
        os.kill(rank, signal.SIGSTOP)
        try:
            await asyncio.sleep(generator.random() * 0.3)
        finally:
            os.kill(rank, signal.SIGCONT)


async def loaded(load, count, ranks):
    stalls = asyncio.create_task(stall(ranks, load.generator))
    try:
        await load.run(count)
    finally:
        stalls.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await stalls


def resident(rank):
    pages = int(open(f"/proc/{rank}/statm").read().split()[1])
    return pages * resource.getpagesize()


def wait_until_idle(server):
    deadline = time.monotonic() + 10
    while any(server.gauge(f"vllm:num_requests_{each}")
              for each in ("running", "waiting")):
        expect(time.monotonic() < deadline, True, "idle within ten seconds")
        time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("reciperun")
    parser.add_argument("launcher", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    server = Server([*options.launcher, "-np", "2", options.reciperun, "serve",
                     "model", "--plan", "two.json", "--port", "0",
                     "--http-max-input-size", str(LARGEST)], "fault_load.log")
    ranks = ranks_below(server.process.pid)
    expect(sorted(ranks), [0, 1], "the ranks")
    load = Load(server, options.seed)
    memory = []
    begin = time.monotonic()
    for _ in range(2):
        asyncio.run(loaded(load, options.requests // 2, ranks))
        wait_until_idle(server)
        memory.append({rank: resident(pid) for rank, pid in ranks.items()})
    seconds = time.monotonic() - begin
    expect(server.request("GET", "/health")[0], 200, "health")
    for rank in ranks:
        grown = memory[1][rank] - memory[0][rank]
        expect(grown < SLACK, True, f"rank {rank} has grown by {grown} bytes")
    expect(min(load.counts.values()) > 0, True, load.counts)
    server.process.send_signal(signal.SIGUSR1)  # mpirun passes it on
    expect(server.process.wait(60), 0, "exit code")
    print(f"{load.counts} in {seconds:.1f} s; resident MiB of the ranks "
          f"{[[each[rank] >> 20 for rank in each] for each in memory]}")
    print("all as expected")


main()
