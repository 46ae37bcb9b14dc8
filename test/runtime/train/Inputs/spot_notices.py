"""Serves the metadata of three clouds, and ends a run by a notice of each."""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time

from training import expect, plan, rows

recipec, reciperun, recipe, *mpirun = sys.argv[1:]
noticed = threading.Event()
TIME = "2026-01-31T12:00:00Z"


def azure_event(kind, *names):
    return {"EventId": "e", "EventType": kind, "ResourceType": "VirtualMachine",
            "Resources": list(names), "EventStatus": "Scheduled",
            "NotBefore": TIME}


class Metadata(http.server.BaseHTTPRequestHandler):
    """Refuses requests without the headers of its cloud."""
    tokens = 0
    asked_with_last_token = 0

    def log_message(self, *_):
        pass

    def send(self, status, text=""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self):
        ok = (self.path == "/latest/api/token" and self.headers.get(
            "X-aws-ec2-metadata-token-ttl-seconds") == "21600")
        Metadata.tokens += ok
        Metadata.asked_with_last_token = 0
        self.send(200 if ok else 400, f"token{Metadata.tokens}" if ok else "")

    def aws(self):
        """The first token expires at once."""
        token = self.headers.get("X-aws-ec2-metadata-token")
        Metadata.asked_with_last_token += 1
        if token != f"token{Metadata.tokens}" or (
                Metadata.tokens == 1 and Metadata.asked_with_last_token > 1):
            return self.send(401)
        if not noticed.is_set():
            return self.send(404)
        return self.send(200, json.dumps({"action": "terminate", "time": TIME}))

    def gcp(self, key):
        if self.headers.get("Metadata-Flavor") != "Google":
            return self.send(403)
        if key == "preempted":
            return self.send(200, "TRUE" if noticed.is_set() else "FALSE")
        return self.send(200, "MIGRATE_ON_HOST_MAINTENANCE")

    def azure(self):
        if self.headers.get("Metadata") != "true":
            return self.send(400)
        if self.path.startswith("/metadata/instance/compute/name?"):
            return self.send(200, "vm_7")
        events = [azure_event("Preempt", "vm_8"), azure_event("Freeze", "vm_7")]
        if noticed.is_set():
            events.append(azure_event("Preempt", "vm_6", "vm_7"))
        return self.send(200, json.dumps({"DocumentIncarnation": 1,
                                          "Events": events}))

    def do_GET(self):
        gcp = "/computeMetadata/v1/instance/"
        if self.path == "/latest/meta-data/spot/instance-action":
            return self.aws()
        if self.path.startswith(gcp):
            return self.gcp(self.path[len(gcp):])
        if self.path.startswith("/metadata/"):
            return self.azure()
        return self.send(404)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
threading.Thread(target=server.serve_forever, daemon=True).start()
host = f"127.0.0.1:{server.server_address[1]}"
os.environ.update(AWS_EC2_METADATA_SERVICE_ENDPOINT=f"http://{host}/",
                  GCE_METADATA_HOST=host,
                  AZURE_POD_IDENTITY_AUTHORITY_HOST=f"http://{host}")


def command(cloud, ranks):
    plan(recipec, recipe, f"{cloud}.json", train__steps=1000000,
         train__spot_notices=f'"{cloud}"', train__dir=f'"{cloud}"',
         checkpoint__every="1000000 steps", cluster__ranks=ranks)
    start = [*mpirun, "-np", str(ranks)] if ranks > 1 else []
    return [*start, reciperun, "train", f"{cloud}.json"]


def steps(cloud):
    try:
        return len(rows(f"{cloud}/metrics.jsonl"))
    except (FileNotFoundError, ValueError):
        return 0


clouds = {"aws": "terminate at " + TIME, "gcp": "preempted",
          "azure": "Preempt at " + TIME}
runs = {cloud: subprocess.Popen(command(cloud, 2 if cloud == "aws" else 1),
                                stdout=open(f"{cloud}.log", "w"),
                                stderr=subprocess.STDOUT) for cloud in clouds}
try:
    deadline = time.monotonic() + 120
    # Some polls without a notice.
    while min(map(steps, clouds)) < 3 or Metadata.tokens < 2:
        expect(time.monotonic() < deadline, True, "steps within two minutes")
        for cloud, run in runs.items():
            expect(run.poll(), None, open(f"{cloud}.log").read())
        time.sleep(0.05)
    noticed.set()
    for cloud, run in runs.items():
        expect(run.wait(timeout=60), 128 + signal.SIGUSR1,
               f"exit code with {cloud}: {open(f'{cloud}.log').read()}")
finally:
    for run in runs.values():
        run.kill()
for cloud, what in clouds.items():
    log = open(f"{cloud}.log").read()
    last = rows(f"{cloud}/metrics.jsonl")[-1]["step"]
    host_name = os.uname().nodename
    notice = f"host {host_name} is taken away: {what} ({cloud})"
    expect(f"warning: {notice}; the run ends after step {last}\n" in log, True,
           log)
    expect(f"error: ended by a spot notice after step {last}; nothing is "
           f"exported; the state is in `{cloud}/checkpoints/step-{last:08}`"
           in log, True, log)
    events = [each for each in rows(f"{cloud}/events.jsonl")
              if each["event"] == "spot_notice"]
    expect([(each["step"], each["message"]) for each in events],
           [(last, notice)], "events")

# A run that starts with a notice does not begin.
started = subprocess.run(command("gcp", 1), capture_output=True, text=True)
expect(started.returncode, 1, "exit code with a notice")
expect("(gcp); start the run on other hosts\n" in started.stderr, True,
       started.stderr)
print("all as expected")
