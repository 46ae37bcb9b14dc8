"""Copies the checkpoints in `run` to a server that fails, and back.

usage: check_copies.py RECIPERUN KILLS
"""

import pathlib
import random
import re
import subprocess
import sys
import time

from s3_server import Server

RECIPERUN, KILLS = sys.argv[1], int(sys.argv[2])
RUN = pathlib.Path("run/checkpoints")
STEPS = sorted(path.name for path in RUN.iterdir())


def expect(condition, what):
    if not condition:
        raise SystemExit(what)


def call(server, *words, code=0, **environment):
    """The text that reciperun prints."""
    done = subprocess.run([RECIPERUN, *words], capture_output=True, text=True,
                          env=server.environment(**environment))
    text = done.stdout + done.stderr
    expect(done.returncode == code, f"{words}: exit code {done.returncode}\n{text}")
    for secret in (server.secret_key, server.access_key):
        expect(secret not in text, f"{words} prints credentials:\n{text}")
    return text


def same(a, b):
    names = sorted(path.name for path in pathlib.Path(a).iterdir())
    expect(names == sorted(path.name for path in pathlib.Path(b).iterdir()),
           f"{a} and {b} have other files")
    for name in names:
        expect((pathlib.Path(a) / name).read_bytes() ==
               (pathlib.Path(b) / name).read_bytes(), f"{a}/{name} differs")


def check_store(server):
    text = call(server, "storage", "check", "s3://bucket/some", "--size=11")
    expect(text.count(" yes\n") == 8, text)
    expect("with the keys of the environment" in text, text)
    expect(server.names() == [], "the check leaves objects")
    server.knows_checksums = server.knows_conditions = False
    text = call(server, "storage", "check", "s3://bucket", "--size=1", "--json")
    server.knows_checksums = server.knows_conditions = True
    expect(re.search(r'"checksums": false.*"conditional_create": false', text,
                     re.DOTALL), text)
    text = call(server, "storage", "check", "s3://absent/a", code=1)
    expect("there is no bucket `absent`" in text, text)
    text = call(server, "storage", "check", "run", code=1)
    expect("`run` is no address of an object" in text, text)


def check_whole_copies(server):
    text = call(server, "checkpoint", "copy", "run", "s3://bucket/all")
    expect(text.count("copied `") == 2, text)
    expect(server.requests("PUT")[-1]["target"].endswith("/manifest.json"),
           "the manifest is not put last")
    call(server, "checkpoint", "copy", f"s3://bucket/all/{STEPS[0]}",
         "s3://bucket/one")
    call(server, "checkpoint", "copy", "s3://bucket/one", "back")
    same(RUN / STEPS[0], "back")
    text = call(server, "checkpoint", "copy", "s3://bucket/one", "back")
    expect("files were there" in text, text)
    text = call(server, "checkpoint", "copy", f"s3://bucket/all/{STEPS[1]}",
                "back", code=1)
    expect("`back` is another checkpoint; remove it" in text, text)
    text = call(server, "checkpoint", "copy", "back", "s3://bucket/all", code=1)
    expect("`s3://bucket/all` is a folder of checkpoints" in text, text)
    text = call(server, "checkpoint", "copy", "s3://bucket/none", "x", code=1)
    expect("`s3://bucket/none` has no checkpoint" in text, text)


def check_faults(server):
    """Each fault passes, and the copy is the source."""
    for number, (kind, more) in enumerate([
            ("error", {"status": 503, "code": "SlowDown", "count": 4}),
            ("error", {"status": 500, "count": 2}),
            ("reset", {"count": 4}), ("forget", {"method": "PUT", "count": 2}),
            ("etag", {"method": "PUT", "count": 2})]):
        server.fail(kind, **more)
        target = f"s3://bucket/fault{number}"
        call(server, "checkpoint", "copy", RUN / STEPS[0], target)
        server.fail(kind if kind != "forget" else "cut",
                    **{**more, "method": "GET"})
        call(server, "checkpoint", "copy", target, f"fault{number}")
        same(RUN / STEPS[0], f"fault{number}")
        server.faults.clear()
    server.clock = 7200
    call(server, "checkpoint", "copy", RUN / STEPS[0], "s3://bucket/skew")
    server.clock = 0
    server.fail("damage", method="GET", match="rank-", count=1000)
    text = call(server, "checkpoint", "copy", "s3://bucket/skew", "damaged", code=1)
    expect("do not match" in text, text)
    server.faults.clear()
    expect(not pathlib.Path("damaged/manifest.json").exists(),
           "a damaged copy looks whole")


def check_kills(server):
    """A copy that is killed has no manifest, or is whole."""
    source = RUN / STEPS[0]
    begin = time.monotonic()
    call(server, "checkpoint", "copy", source, "s3://bucket/timed")
    seconds = time.monotonic() - begin
    for number in range(KILLS):
        target = f"killed{number % 3}"
        process = subprocess.Popen(
            [RECIPERUN, "checkpoint", "copy", source, f"s3://bucket/{target}"],
            env=server.environment(), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0, 1.1 * seconds))
        process.kill()
        process.wait()
        names = [name for name in server.names() if name.startswith(target + "/")]
        if f"{target}/manifest.json" in names:
            expect(len(names) == len(list(source.iterdir())),
                   f"{target} is not whole: {names}")
            if number < KILLS - 3:  # the next kills find an empty target
                with server.lock:
                    for name in names:
                        del server.buckets["bucket"].objects[name]
    for number in range(3):
        call(server, "checkpoint", "copy", source, f"s3://bucket/killed{number}")
        call(server, "checkpoint", "copy", f"s3://bucket/killed{number}",
             f"killed{number}")
        same(source, f"killed{number}")
    expect(not server.buckets["bucket"].uploads, "parts of uploads are left")


def check_secrets():
    """No file of this folder has credentials."""
    for path in pathlib.Path(".").rglob("*"):
        if path.is_file():
            expect(Server.secret_key.encode() not in path.read_bytes(),
                   f"{path} has credentials")


with Server() as s3:
    check_store(s3)
    check_whole_copies(s3)
    check_faults(s3)
    check_kills(s3)
    check_secrets()
