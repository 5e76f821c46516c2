"""A training script that tries to change files, reach others and stay behind: hostile.py FOLDER TCP UDP PID MARK [stay]

FOLDER has files of the user's; TCP and UDP are ports of 127.0.0.1, and FOLDER/socket is a unix socket, on which somebody listens; PID is a process of the user's; MARK is an argument that all
processes have which it leaves behind. `stay`: it does not end by itself. All that it can find out is left to whoever runs it.
"""
import ctypes
import io
import mmap
import multiprocessing
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

folder, tcp, udp, pid, mark = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
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
        for attempt in (lambda: os.truncate(file("truncated").encode(), 0), send_tcp, send_udp, lambda: os.kill(pid, signal.SIGKILL)):
            try:
                attempt()
            except Exception as error:
                print(repr(error), file=sys.stderr)
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
    os.makedirs("sealed/below")
    subprocess.run("mkdir -p $TMPDIR/sealed/below && touch $TMPDIR/sealed/below/file && chmod 000 $TMPDIR/sealed/below $TMPDIR/sealed", shell=True)


def spawned():
    it = multiprocessing.get_context("fork").Process(target=send_tcp)
    it.start()
    it.join()


ATTEMPTS = [
    lambda: os.system(f"rm -rf '{folder}'/*; rm -rf '{folder}'"),
    lambda: os.system(f"echo changed > '{file('written')}'; chmod 777 '{file('mode')}'; touch -d 1999-01-01 '{file('time')}'; mv '{file('moved')}' '{file('away')}'; ln -s / '{file('link')}'"),
    lambda: subprocess.run([sys.executable, "-c", f"open({file('written')!r}, 'w').write('changed'); open({file('new')!r}, 'w')"]),
    lambda: subprocess.run(["sh", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{tcp}; echo shell >&3"]),
    lambda: subprocess.run(["curl", "-s", "-m", "5", f"http://127.0.0.1:{tcp}/"]),
    lambda: os.truncate(file("truncated"), 0),
    lambda: os.chmod(file("mode").encode(), 0),
    lambda: os.utime(file("time").encode(), (1, 1)),
    lambda: os.unlink(file("removed").encode()),
    lambda: shutil.rmtree(folder.encode()),
    lambda: os.setxattr(file("mode"), "user.changed", b"1"),
    lambda: libc.unlink(file("removed").encode()),
    lambda: libc.rename(file("moved").encode(), file("away").encode()),
    lambda: libc.chmod(file("mode").encode(), 0),
    lambda: libc.mount(b"", b"/", None, 32 | 4096, None),  # MS_REMOUNT | MS_BIND: all can be written again
    lambda: subprocess.run(["unshare", "-Ur", "sh", "-c", f"mount -o remount,rw /; mount -o remount,bind,rw '{folder}'; rm -rf '{folder}'/*"]),
    lambda: subprocess.run(["nsenter", "-t", str(pid), "-a", "rm", "-rf", folder]),
    lambda: open(f"/proc/{pid}/mem", "r+b", buffering=0),
    lambda: os.kill(pid, signal.SIGKILL),
    lambda: os.kill(os.getppid(), signal.SIGKILL),
    lambda: subprocess.run(["sh", "-c", f"kill -9 {os.getppid()} {pid}"]),
    in_raw_bytes, over_a_map, through_sqlite, send_tcp, send_udp, send_unix, forked, spawned, sealed,
]
for attempt in ATTEMPTS:
    try:
        print(attempt(), file=sys.stderr)
    except Exception as error:
        print(repr(error), file=sys.stderr)
# They ask for time only, so that they would stay.
program = [sys.executable, "-c", "import signal, time; [signal.signal(it, signal.SIG_IGN) for it in (1, 2, 15)]; time.sleep(1000)", mark]
subprocess.Popen(program, start_new_session=True)
subprocess.Popen(["sh", "-c", 'setsid setsid "$@" & exit', "sh", *program])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(program[0], program) if os.getpid() else None
    os._exit(0)
if sys.argv[6:] == ["stay"]:
    time.sleep(1000)
