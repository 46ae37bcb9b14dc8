"""Runs a command with the address of a gRPC server as its last argument.

    with_grpc_server.py SERVER COMMAND...

SERVER is a program that prints `port N` once it listens. The exit status is the
command's.
"""

import subprocess
import sys

server = subprocess.Popen([sys.argv[1]], stdout=subprocess.PIPE, text=True)
try:
    word, port = server.stdout.readline().split()
    assert word == "port", word
    status = subprocess.run([*sys.argv[2:], f"127.0.0.1:{port}"]).returncode
finally:
    server.terminate()
    code = server.wait(timeout=60)
assert code == 0, f"the server ended with {code}"
sys.exit(status)
