"""Runs a command with standard error on a pseudo-terminal, and in a pipe.

terminal_progress COMMAND...

Asserts that the terminal shows progress on one line, which is cleared at the
end, and that the pipe shows none. Standard output is the same.
"""

import os
import pty
import subprocess
import sys


def main():
    command = sys.argv[1:]
    terminal, other = pty.openpty()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=other)
    os.close(other)
    shown = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other end closed
            break
        if not part:
            break
        shown += part
    result = process.stdout.read()
    assert process.wait() == 0
    lines = shown.decode().split("\r\x1b[K")
    assert "\n" not in shown.decode(), shown
    assert len(lines) > 2 and lines[-1] == "", lines
    assert all(line.startswith("searching: ") and " s a step" in line
               for line in lines[1:-1]), lines
    piped = subprocess.run(command, capture_output=True, check=True)
    assert piped.stderr == b"", piped.stderr
    assert piped.stdout == result


main()
