"""Runs a command with the URL of a server as its last argument.

    with_server.py RECIPERUN MODEL NAME COMMAND...

The server serves the folder MODEL under NAME. The exit status is the command's.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Inputs"))
from serving import Server, expect  # noqa: E402

reciperun, model, name, *command = sys.argv[1:]
server = Server([reciperun, "serve", model, "--port", "0",
                 "--served-model-name", name], "server.log")
status = subprocess.run([*command, f"http://127.0.0.1:{server.port}"],
                        timeout=120).returncode
expect(server.stop(), 0, "exit code")
sys.exit(status)
