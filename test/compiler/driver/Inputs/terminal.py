"""Runs `recipec check FILE` on a pseudo-terminal of 60 columns.

Asserts that only lines of excerpts are wider, that there are colours, and that
NO_COLOR and TERM=dumb turn them off. Output to a pipe has no colours and no
line breaks.
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

COLUMNS = 60


def on_terminal(command, **variables):
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ,
                struct.pack("HHHH", 24, COLUMNS, 0, 0))
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("NO_COLOR", "TERM")}
    environment.update({"TERM": "xterm", **variables})
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                               stderr=other, env=environment)
    os.close(other)
    output = b""
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:  # the other end closed
            break
        if not part:
            break
        output += part
    process.wait()
    os.close(main)
    return output.decode().replace("\r\n", "\n")


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def main():
    command = [sys.argv[1], "check", sys.argv[2]]
    shown = on_terminal(command)
    assert "\x1b[1;31merror:" in shown, shown
    lines = plain(shown).splitlines()
    places = [line for line in lines if "-->" in line]
    wide = [line for line in lines
            if len(line) > COLUMNS and line not in places]
    assert not wide, wide
    assert any(line.startswith("       ") and "[" in line
               for line in lines), "no message was broken: " + shown

    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in on_terminal(command, **variables), variables
    assert "\x1b" in on_terminal(command, NO_COLOR=""), "it is empty"

    piped = subprocess.run(command, capture_output=True, text=True).stderr
    assert "\x1b" not in piped, piped
    joined = re.sub(r"\s+", " ", piped)
    for head in re.findall(r"^error: .*$", piped, re.MULTILINE):
        assert head.endswith("]"), head
    assert joined == re.sub(r"\s+", " ", plain(shown)) or "..." in plain(shown)


main()
