"""Embeds the same texts on one rank and on two."""

import signal
import sys

from serving import Server, expect

reciperun, *launcher = sys.argv[1:]
TEXTS = ["Order 7185 is late", "a", "The oven of order 8110 smells of smoke"]


def embed(command, plan):
    options = ["--plan", plan] if plan else []
    server = Server([*command, reciperun, "serve", "model", "--port", "0",
                     *options], "embeddings.log")
    status, made = server.post("/v1/embeddings", {"input": TEXTS})
    expect(status, 200, made)
    server.process.send_signal(signal.SIGUSR1)  # mpirun passes it on
    expect(server.process.wait(60), 0, "exit code")
    return [each["embedding"] for each in made["data"]]


def main():
    one = embed([], None)
    for plan in ("tensor.json", "pipeline.json"):
        for a, b in zip(one, embed([*launcher, "-np", "2"], plan)):
            difference = max(abs(x - y) for x, y in zip(a, b))
            # Sums of bf16 numbers in another order.
            expect(difference < 0.01, True, f"{plan}: {difference}")
    print("all as expected")


main()
