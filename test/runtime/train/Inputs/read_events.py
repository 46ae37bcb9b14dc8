"""Reads the event files of a folder as TensorBoard does, and compares them with
metrics.jsonl: `read_events.py FOLDER METRICS`. Written from the description of
the format: records with CRC-32C, and the wire format of protobuf."""

import os
import struct
import sys

from scalars import expect, scalars


def crc32c(data):
    value = 0xffffffff
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82f63b78 if value & 1 else 0)
    return value ^ 0xffffffff


def masked(data):
    value = crc32c(data)
    return (((value >> 15) | (value << 17)) + 0xa282ead8) & 0xffffffff


def records(data):
    while data:
        head, (crc,) = data[:8], struct.unpack("<I", data[8:12])
        expect(crc, masked(head), "checksum of a length")
        end = 12 + struct.unpack("<Q", head)[0]
        body, (crc,) = data[12:end], struct.unpack("<I", data[end:end + 4])
        expect(crc, masked(body), "checksum of a record")
        data = data[end + 4:]
        yield body


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message: numbers, or bytes of what is in it."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            (value,), at = struct.unpack("<d", data[at:at + 8]), at + 8
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        elif key & 7 == 5:
            (value,), at = struct.unpack("<f", data[at:at + 4]), at + 4
        else:
            raise SystemExit(f"wire type {key & 7}")
        yield key >> 3, value


def events(path):
    with open(path, "rb") as file:
        for each in records(file.read()):
            yield list(fields(each))


folder, metrics = sys.argv[1:]
files = sorted(os.listdir(folder))
found = {}  # (tag, step): (time, value)
for number, name in enumerate(files):
    expect(name.startswith("events.out.tfevents."), True, name)
    first, *others = events(os.path.join(folder, name))
    expect(dict(first)[3], b"brain.Event:2", "the version of the file")
    for each in others:
        event = dict(each)
        if 7 in event:  # a session log
            expect(dict(fields(event[7])), {1: 1}, "status START")
            found = {key: value for key, value in found.items()
                     if key[1] < event[2]}
            continue
        for field, value in fields(event[5]):
            expect(field, 1, "field of a summary")
            value = dict(fields(value))
            key = (value[1].decode(), event[2])
            expect(key in found, False, f"{key} twice")
            found[key] = (event[1], value[2])

wanted = scalars(metrics)
expect(set(found), set(wanted), "tags and steps")
for key, (time, value) in wanted.items():
    expect(found[key], (time, struct.unpack("<f", struct.pack("<f", value))[0]),
           key)
steps = [step for _, step in found]
print(f"{len(files)} file{'s' if len(files) > 1 else ''}, "
      f"steps {min(steps)} to {max(steps)}")
print("all as expected")
