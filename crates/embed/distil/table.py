"""The file of the table, as `src/static_table/table.rs` reads it."""

import hashlib
import struct

import numpy as np

VALUES = 7
"""Largest value of four bits: -7 to 7, stored with 8 added."""
CLIP = 2.7
"""Values beyond this many deviations are cut, so that the others are finer."""


def pack(keys: list[str], vectors: np.ndarray, weights: np.ndarray) -> bytes:
    """Later rows whose key is taken are left out: rarer words must come later."""
    hashes = [murmur3(key.encode()) for key in keys]
    first = {}
    for row, value in enumerate(hashes):
        first.setdefault(value, row)
    order = np.array([first[value] for value in sorted(first)])
    vectors, weights = vectors[order].astype(np.float64), weights[order]
    dimension = vectors.shape[1]
    scales = CLIP * np.sqrt((vectors**2).mean(axis=1)) / VALUES
    largest = np.float32(scales.max())
    scales = np.round(scales / largest * 65535).clip(1, 65535).astype(np.uint16)
    steps = scales.astype(np.float64) / 65535 * float(largest)
    values = (np.round(vectors / steps[:, None]).clip(-VALUES, VALUES) + 8).astype(np.uint8)
    rows = np.empty((len(order), 3 + dimension // 2), dtype=np.uint8)
    rows[:, 0], rows[:, 1] = scales & 255, scales >> 8
    rows[:, 2] = np.round(weights * 255).clip(0, 255)
    rows[:, 3:] = values[:, 0::2] | values[:, 1::2] << 4
    body = struct.pack("<IIf", len(order), dimension, largest)
    body += np.array(sorted(first), dtype="<u4").tobytes() + rows.tobytes()
    return b"HSTATIC1" + hashlib.sha256(body).digest() + body


def murmur3(data: bytes) -> int:
    """Murmur3, 32 bits, seed 0."""
    mask = 0xFFFFFFFF
    rotate = lambda x, by: (x << by | x >> (32 - by)) & mask
    scramble = lambda x: rotate(x * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    h = 0
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        h ^= scramble(int.from_bytes(data[at : at + 4], "little"))
        h = (rotate(h, 13) * 5 + 0xE6546B64) & mask
    if whole < len(data):
        h ^= scramble(int.from_bytes(data[whole:], "little"))
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    return h ^ h >> 16
