"""The checksum of every table in src/recorded, into checksums.txt there; every recorder does that too when it is done.

A test compares them, so that no table changes by accident. After a change by hand, run this and read the diff of the table.
"""
from pathlib import Path

RECORDED = Path(__file__).resolve().parents[2] / "src/recorded"


def fnv1a(data):
    """As in src/base/bytes.rs."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def main():
    out = RECORDED / "checksums.txt"
    tables = sorted(path for path in RECORDED.iterdir() if path != out)
    out.write_text("".join(f"{fnv1a(path.read_bytes()):016x}  {path.name}\n" for path in tables))
