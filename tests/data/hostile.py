"""A training script that tries to change files, to reach others and to stay behind: hostile.py FOLDER TCP UDP PID MARK [WORD…]

FOLDER has files of the user's. Somebody listens on the ports TCP and UDP of 127.0.0.1 and on FOLDER/socket. PID is a process of the user's. MARK is the last argument of every process that it
leaves behind. `stay`: it does not end by itself. `no-modes`, `no-sockets`, `no-limits`, `no-signals`: it does not try these. tests/real/hostile.py runs it, and looks at what came of it.
"""
import ctypes
import io
import mmap
import multiprocessing
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

folder, tcp, udp, pid, mark, words = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5], sys.argv[6:]
libc = ctypes.CDLL(None)


def file(name):
    return os.path.join(folder, name)


def send_tcp():
    with socket.socket() as it:
        it.connect(("127.0.0.1", tcp))
        it.sendall(b"TCP")


def send_udp():
    with socket.socket(type=socket.SOCK_DGRAM) as it:
        it.sendto(b"UDP", ("127.0.0.1", udp))


def send_unix():
    with socket.socket(socket.AF_UNIX) as it:
        it.connect(file("socket"))
        it.sendall(b"unix")


def forked():
    if os.fork() == 0:
        try_all([lambda: os.truncate(file("truncated").encode(), 0), send_tcp, lambda: libc.unlink(file("removed").encode())])
        os._exit(0)
    os.wait()


def through_sqlite():
    with sqlite3.connect(file("data.db")) as it:
        it.execute("delete from kept")
    with sqlite3.connect(file("new.db")) as it:
        it.execute("create table new (it)")


def in_raw_bytes():
    with io.FileIO(file("written").encode(), "w") as it:
        it.write(b"changed")


def over_a_map():
    with io.FileIO(file("mapped"), "r+") as it, mmap.mmap(it.fileno(), 0) as memory:
        memory[:] = b"x" * len(memory)


def sealed():
    subprocess.run("mkdir -p $TMPDIR/sealed/below && touch $TMPDIR/sealed/below/file && chmod 000 $TMPDIR/sealed/below $TMPDIR/sealed", shell=True)


def spawned():
    it = multiprocessing.get_context("fork").Process(target=send_tcp)
    it.start()
    it.join()


def try_all(attempts):
    for attempt in attempts:
        try:
            print(attempt(), file=sys.stderr)
        except Exception as error:
            print(repr(error), file=sys.stderr)


try_all([
    lambda: os.system(f"rm -rf '{folder}'/*; rm -rf '{folder}'"),
    lambda: os.system(f"echo changed > '{file('written')}'; mv '{file('moved')}' '{file('away')}'; ln -s / '{file('link')}'"),
    lambda: subprocess.run([sys.executable, "-c", f"open({file('written')!r}, 'w').write('changed')"]),
    lambda: subprocess.run([sys.executable, "-c", f"open({file('new')!r}, 'w')"]),
    lambda: subprocess.run(["curl", "-s", "-m", "5", f"http://127.0.0.1:{tcp}/"]),
    lambda: os.truncate(file("truncated"), 0),
    lambda: os.unlink(file("removed").encode()),
    lambda: shutil.rmtree(folder.encode()),
    lambda: libc.unlink(file("removed").encode()),
    lambda: libc.rename(file("moved").encode(), file("away").encode()),
    lambda: libc.mount(b"", b"/", None, 32 | 4096, None),  # MS_REMOUNT | MS_BIND: all of it can be written again
    lambda: subprocess.run(["unshare", "-Ur", "sh", "-c", f"mount -o remount,rw /; mount -o remount,bind,rw /; rm -rf '{folder}'/*"]),
    lambda: subprocess.run(["nsenter", "-t", str(pid), "-a", "rm", "-rf", folder]),
    lambda: io.FileIO(f"/proc/{pid}/mem", "r+").write(b"changed"),
    in_raw_bytes, over_a_map, through_sqlite, send_tcp, forked, spawned, sealed,
])
if "no-modes" not in words:
    try_all([
        lambda: os.system(f"chmod 777 '{file('mode')}'; touch -d 1999-01-01 '{file('time')}'"),
        lambda: os.chmod(file("mode").encode(), 0),
        lambda: libc.chmod(file("mode").encode(), 0),
        lambda: os.utime(file("time").encode(), (1, 1)),
        lambda: os.setxattr(file("mode"), "user.changed", b"1"),
    ])
if "no-sockets" not in words:
    try_all([send_udp, send_unix])
if "no-limits" not in words:
    try_all([
        lambda: resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0)),
        lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (7, 7)),
        lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
        lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19),
        lambda: os.sched_setaffinity(pid, {0}),
        lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
    ])
if "no-signals" not in words:
    try_all([lambda: os.kill(pid, signal.SIGKILL), lambda: os.kill(os.getppid(), signal.SIGKILL), lambda: subprocess.run(["sh", "-c", f"kill -9 {os.getppid()} {pid}"])])
program = [sys.executable, "-c", "import signal, time; [signal.signal(it, signal.SIG_IGN) for it in (1, 2, 15)]; time.sleep(1000)", mark]
subprocess.Popen(program, start_new_session=True)
subprocess.Popen(["sh", "-c", 'setsid setsid "$@" & exit', "sh", *program])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        subprocess.run(program)
    os._exit(0)
if "stay" in words:
    time.sleep(1000)
