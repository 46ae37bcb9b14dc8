"""Calls the model `simple` by curl: the checks of Triton's L0_http, in order.

usage: kserve_http.py URL
"""

import json
import subprocess
import sys
import tempfile

url = sys.argv[1]
ONES = list(range(1, 17))
SUM = json.dumps([2 * each for each in ONES], separators=(",", ":"))
DIFFERENCE = json.dumps([0] * 16, separators=(",", ":"))


def tensor(name, data):
    return {"name": name, "datatype": "INT32", "shape": [1, 16], "data": data}


INPUTS = [tensor("INPUT0", ONES), tensor("INPUT1", ONES)]


def infer(body):
    """The status, and the body's bytes as text."""
    with tempfile.NamedTemporaryFile() as out:
        status = subprocess.run(
            ["curl", "-s", "-w", "%{http_code}", "-o", out.name, "-d",
             json.dumps(body), f"{url}/v2/models/simple/infer"],
            stdout=subprocess.PIPE, check=True, text=True).stdout
        return status, out.read().decode("latin-1")


def expect(body, has_sum, has_difference):
    status, text = infer(body)
    got = (status, SUM in text, DIFFERENCE in text)
    if got != ("200", has_sum, has_difference):
        raise SystemExit(f"{body}: got {got}: {text}")


def outputs(first, *second):
    return [{"name": "OUTPUT0", "parameters": {"binary_data": first}},
            {"name": "OUTPUT1",
             **({"parameters": {"binary_data": second[0]}} if second else {})}]


def expect_refusal(inputs, message):
    status, text = infer({"inputs": inputs})
    if status == "200" or json.loads(text) != {"error": message}:
        raise SystemExit(f"{inputs}: got {status} {text}, not {message}")


def main():
    binary = {"parameters": {"binary_data_output": True}, "inputs": INPUTS}
    expect({"inputs": INPUTS}, True, True)
    expect({"inputs": INPUTS, "outputs": outputs(True, False)}, False, True)
    expect({"inputs": INPUTS, "outputs": outputs(True)}, False, True)
    expect(binary, False, False)
    expect({**binary, "outputs": outputs(False)}, True, True)
    expect_refusal(
        [tensor("INPUT0", ONES[:15])],
        "Failed to parse 'data' field: shape does not match true shape")
    expect_refusal(
        [tensor("INPUT0", ONES + [17, 18])],
        "Unable to parse 'data': Shape does not match true shape of 'data' "
        "field")
    expect({"inputs": INPUTS}, True, True)
    print("as Triton")


main()
