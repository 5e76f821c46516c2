"""Runs a command as on a kernel that refuses some system calls: without.py NAME… -- COMMAND, where NAME is `unshare`, `landlock` or `pids`."""
import ctypes
import errno
import os
import platform
import struct
import sys

UNSHARE = 97 if platform.machine() == "aarch64" else 272
NUMBERS = {"unshare": (UNSHARE, errno.EPERM), "landlock": (444, errno.ENOSYS)}
NEW_PIDS, HAS = 0x20000000, 0x45
LOAD, IS, RETURN, ALLOW, FAIL = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2


class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("steps", ctypes.c_void_p)]


def step(code, value, if_not=0):
    return struct.pack("HBBI", code, 0, if_not, value)


def refuse(name):
    if name == "pids":  # The first argument of unshare is at 16.
        return step(IS, UNSHARE, 4) + step(LOAD, 16) + step(HAS, NEW_PIDS, 1) + step(RETURN, FAIL | errno.ENOSPC) + step(LOAD, 0)
    number, error = NUMBERS[name]
    return step(IS, number, 1) + step(RETURN, FAIL | error)


at = sys.argv.index("--")
steps = step(LOAD, 0) + b"".join(map(refuse, sys.argv[1:at])) + step(RETURN, ALLOW)
memory = ctypes.create_string_buffer(steps, len(steps))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
assert libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(Program(len(steps) // 8, ctypes.addressof(memory))), 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execvp(sys.argv[at + 1], sys.argv[at + 1:])
