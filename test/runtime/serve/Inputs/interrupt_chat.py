"""Sends SIGINT while `reciperun chat` answers, then ends its input.

The answer of a small model may end before the signal arrives; a few attempts
make sure that one does not.

usage: interrupt_chat.py RECIPERUN MODEL
"""

import signal
import subprocess
import sys


def notes_of_interrupted(reciperun, model):
    chat = subprocess.Popen(
        [reciperun, "chat", model, "--temperature", "3", "--ignore-eos"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    chat.stdin.write(b"Hi\n")
    chat.stdin.flush()
    chat.stdout.read(1)  # the answer has begun
    chat.send_signal(signal.SIGINT)
    _, notes = chat.communicate()
    if chat.returncode != 0:
        sys.exit(f"exit code {chat.returncode}: {notes.decode()}")
    return notes.decode()


for _ in range(20):
    if "note: stopped" in notes_of_interrupted(*sys.argv[1:]):
        print("stopped")
        break
