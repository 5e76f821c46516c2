"""Runs a training command in this process, on the CPU, as rank 0 of N, through deepspeed.initialize and the first step.

    python rehearsal.py SPEC.json

`zlaunch rehearse` writes this file and SPEC.json (see `Spec`) to a private folder and reads one line of JSON from standard output for each
thing that happens.

Real: the parsers of the launcher and the trainer, tokenizer, dataset, collator, Trainer, callbacks, accelerate, and DeepSpeed's own reading of
its config. Pretended: N ranks (torch's `fake` process group), a GPU (torch.cuda answers, and what is sent to it stays on the CPU), the weights
(transformers loads a folder that stands in for theirs, to the meta device), what is written (it goes to the private folder), and the engine that deepspeed.initialize
returns, which computes nothing but shapes. A second process, forked from this one, has a small model with values and DeepSpeed's own engine: see
`Miniature`. This runs in a sandbox, which stops what is not redirected here; `note_other_writes` tells of it.

What fails because of the pretence must never look like a refusal of the trainer: see `judge`. Python 3.8 and later, no dependencies.
"""
import builtins
import contextlib
import copy
import functools
import gc
import inspect
import io
import json
import linecache
import os
import re
import runpy
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
import types
import zipfile
from unittest import mock

START = time.time()
EXECUTE = os.execve
ASKED = {}  # the frames that were there when the network or another rank was asked for, their lines, and what is said of them


class Spec(types.SimpleNamespace):
    """What zlaunch asks for: `argv`, which a launch would execute, `nnodes` and `nproc_per_node`, the private `folder` where whatever is written goes,
    and which zlaunch removes, `online`, and the bytes of `gpu_memory`."""

    def __init__(self, **fields):
        super().__init__(**fields)
        self.written = os.path.join(self.folder, "written")  # below it, what is written elsewhere, and the files of the plan
        self.stays_offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in "1 ON YES TRUE".split()  # so does the launch

    @property
    def world_size(self):
        return self.nnodes * self.nproc_per_node


def instead_of(holder, name):
    """The decorated function takes the place of another one, which it gets as its first argument."""
    real = getattr(holder, name)

    def put(function):
        setattr(holder, name, functools.wraps(real)(lambda *args, **options: function(real, *args, **options)))

    return put


# ---- the report ----

class Report:
    """Lines of JSON to whoever started this. What the trainer prints goes to standard error, which zlaunch keeps in a file."""

    reached = "start"
    # Casts: autocast may make types the same on a GPU. Guessed: which elements a mask chooses, and so a shape. Pretended: what the failure is about.
    casts = guessed = pretended = False

    def __init__(self):
        self.file = open(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self.process = os.getpid()
        self.passed = set()

    def tell(self, event, **more):
        # A process that was forked from this one has nothing to say.
        if os.getpid() == self.process:
            line = json.dumps({"event": event, "seconds": round(time.time() - START, 2), **more}, default=str)
            # JSON has no infinity, which is what trainers set steps_per_print to.
            line = json.loads(line, parse_constant=lambda word: str(float(word)))
            print(json.dumps(line), file=self.file, flush=True)

    def reach(self, stage, **more):
        self.reached = stage
        self.passed.add(stage)
        self.tell(stage, **more)


class Arrived(BaseException):
    """The rehearsal has gone as far as it can. Not an Exception, so that no trainer catches it."""


# ---- the miniature: a process with values ----

class Miniature:
    """A process that is forked from this one before the first model is made. There, a model is 64 wide, its weights have values, and the
    first step is really taken. Its answer counts where this process, which is for the true sizes, knows only shapes: see `agree`."""

    process = None  # its id, in the process that has started it
    # Uneven: heads do not divide, as they do not at the true size. Builds: what is made now is part of a model that is made already.
    # Cut: the training has ended early, for the sake of what comes behind it.
    is_here = is_shrunk = is_uneven = builds = is_cut = False
    vocabulary, since = 1, None

    def start(self):
        if self.is_here or self.process is not None or threading.current_thread() is not threading.main_thread():
            return
        self.pipe, pipe = os.pipe()
        self.process = os.fork()
        if self.process:
            os.close(pipe)
            return
        os.close(self.pipe)
        self.process = None
        self.is_here = True
        with open(private("miniature.log"), "a") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        REPORT.file = open(pipe, "w", encoding="utf-8")
        REPORT.process = os.getpid()
        if os.path.isdir(SPEC.written):
            shutil.copytree(SPEC.written, private("miniature"), symlinks=True)
        SPEC.written = private("miniature")
        sys.modules["torch"].set_num_threads(1)  # Its threads are not forked.

    def cannot(self, why):
        """It has nothing to say, and the shapes are all that is known."""
        REPORT.tell("shapes", message=why)
        finish()

    def is_late(self, times=1):
        """Whether it has gone on for long enough since its first step. What comes behind the training has twenty seconds."""
        now = time.time()
        if not self.since:
            self.since = now
            threading.Timer(20, lambda: (REPORT.tell("end"), finish())).start()
        return now - self.since > times * (self.since - START) / 8

    def answer(self, patience):
        """Its events. The last one says how it ended, unless it was stopped."""
        found = []
        limit = threading.Timer(patience, os.kill, (self.process, signal.SIGKILL))
        limit.start()
        for line in open(self.pipe):
            found.append(json.loads(line))
            if found[-1]["event"] in ENDINGS:
                break
        limit.cancel()
        with contextlib.suppress(OSError):
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        return found


MINIATURE = Miniature()
ENDINGS = "end refused limit unsure network unable shapes".split()


# ---- the world outside: nothing is written there, and nothing is asked of the network ----

def pretend_outside():
    for name in "HF_MODULES_CACHE TRITON_CACHE_DIR TRITON_HOME TORCHINDUCTOR_CACHE_DIR TORCH_EXTENSIONS_DIR NUMBA_CACHE_DIR MPLCONFIGDIR WANDB_DIR".split():
        os.environ[name] = private(name)
    os.environ["TMPDIR"] = private("tmp")
    os.makedirs(private("tmp"), exist_ok=True)
    turned_on = "CLEARML_OFFLINE_MODE TORCHDYNAMO_DISABLE HF_DEACTIVATE_ASYNC_LOAD DO_NOT_TRACK HF_HUB_DISABLE_XET HF_HUB_DISABLE_TELEMETRY HF_HUB_DISABLE_PROGRESS_BARS".split()
    offline = "HF_HUB_OFFLINE TRANSFORMERS_OFFLINE HF_DATASETS_OFFLINE".split()
    os.environ.update(dict.fromkeys(turned_on if SPEC.online else turned_on + offline, "1"), TOKENIZERS_PARALLELISM="false",
                      WANDB_MODE="disabled")  # It accepts its settings and sends nothing.
    sys.dont_write_bytecode = True
    # The driver reads its variable from C, and finds no GPU; the trainer still sees the user's.
    os.putenv("CUDA_VISIBLE_DEVICES", "")
    write_into_private_folder()
    note_other_writes()
    limit_resources()
    os.execv = os.execve = os.execvp = os.execvpe = become
    if not SPEC.online:
        sys.addaudithook(refuse_network)


def private(name):
    return os.path.join(SPEC.folder, name)


def refuse_network(event, args):
    """Nobody is asked for anything but this machine."""
    if event in "socket.connect socket.getaddrinfo socket.gethostbyname".split():
        address = args[1] if event == "socket.connect" else args
        host = os.fsdecode(address[0] or "") if isinstance(address, tuple) else ""
        if host not in ("", "localhost", "::1", socket.gethostname()) and not host.startswith("127."):
            remember_who_asked()
            raise socket.gaierror(socket.EAI_NONAME, f"a rehearsal has no network: {host}")


def remember_who_asked(verdict="network"):
    """What asked for something, and may say something else about it than that it is not there."""
    for frame, line in traceback.walk_stack(sys._getframe(1)):
        if verdict == "unsure" and re.search("/deepspeed/runtime/|/transformers/trainer", frame.f_code.co_filename):
            break  # They need the other ranks for themselves.
        if verdict == "network" or not re.search(r"/(site|dist)-packages/|/lib/python3", frame.f_code.co_filename):
            ASKED[id(frame)] = frame, line, verdict


def is_elsewhere(path, dir_fd=None, **_):
    return dir_fd is None and isinstance(path, (str, bytes, os.PathLike)) and not os.path.abspath(os.fsdecode(path)).startswith((SPEC.folder + "/", "/dev/", "/proc/"))


def copy_of(path):
    return SPEC.written + os.path.abspath(os.fsdecode(path))


def seen(path, **options):
    """Where a file is read from."""
    if is_elsewhere(path, **options):
        with contextlib.suppress(OSError, ValueError):
            os.lstat.__wrapped__(copy_of(path))
            return copy_of(path)
    return path


def written(path, keeps=False, **options):
    """Where a file is written to. Its folder must be there; `keeps`: what it holds stays."""
    if not is_elsewhere(path, **options):
        return path
    os.stat(os.path.dirname(os.path.abspath(path)))
    copy = copy_of(path)
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    with contextlib.suppress(OSError):
        if keeps and os.stat.__wrapped__(path) and seen(path) == path:
            shutil.copyfile(path, copy)
    return copy


def write_into_private_folder():
    """Files and folders that are made anywhere else are made below `written`, and found there again."""
    @instead_of(builtins, "open")
    def open_file(real, file, mode="r", *more, **options):
        return real(written(file, "w" not in mode) if set(mode) & set("wax+") else seen(file), mode, *more, **options)

    @instead_of(os, "open")
    def open_descriptor(real, path, flags, *more, **options):
        return real(written(path, not flags & os.O_TRUNC, **options) if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) else seen(path, **options), flags, *more, **options)

    @instead_of(os, "mkdir")
    def mkdir(real, path, *more, **options):
        if is_elsewhere(path, **options) and os.path.lexists(path):
            raise FileExistsError(17, "File exists", path)
        return real(written(path, **options), *more, **options)

    def entries_of(real, path):
        """Of a folder that has been written to, both what is there and what was written."""
        folders, found = [path] if seen(path) == path else [path, seen(path)], {}
        for folder in folders:
            with contextlib.suppress(*(FileNotFoundError,) * (len(folders) - 1)), real(folder) as entries:
                found.update((entry.name, entry) for entry in entries)
        return found.values()

    class Entries(contextlib.ExitStack):
        """What os.scandir returns can be iterated, entered and closed."""

        def __iter__(self):
            return self.entries

        def __next__(self):
            return next(self.entries)

    @instead_of(os, "scandir")
    def scandir(real, path="."):
        if isinstance(path, int):
            return real(path)
        found = Entries()
        found.entries = iter(entries_of(real, path))
        return found

    @instead_of(os, "listdir")
    def listdir(real, path="."):
        return real(path) if isinstance(path, int) else [entry.name for entry in os.scandir(path)]

    def reading(real, path, *more, **options):
        return real(seen(path, **options), *more, **options)

    def changing(real, path, *more, **options):
        """What is there already cannot be changed or removed."""
        if is_elsewhere(path, **options) and seen(path) == path:
            if real.__name__ != "rmtree":
                os.lstat(path)  # It may not be there.
            return None
        return real(seen(path, **options), *(written(it) if real.__name__ in ("rename", "replace") else it for it in more), **options)

    @instead_of(os, "chdir")
    def chdir(real, path):
        """A folder that was made here is where it would be."""
        place = os.path.abspath(path)
        real(place if os.access.__wrapped__(place, os.F_OK) else seen(place))

    redirect(os, "symlink", "dst")
    redirect(os, "link", "dst")
    redirect(os, "link", "src", seen)
    instead_of(os, "getcwd")(lambda real: real().replace(SPEC.written, ""))
    io.open = builtins.open
    for name in "stat lstat statvfs access".split():
        instead_of(os, name)(reading)
    for name in "remove unlink rmdir rename replace chmod utime".split():
        instead_of(os, name)(changing)
    instead_of(shutil, "rmtree")(changing)
    # shutil and others ask whether these take such arguments.
    for names in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        names.update(function for function in vars(os).values() if getattr(function, "__wrapped__", None) in names)


def note_other_writes():
    """What is not redirected is stopped by the sandbox alone: as bytes, by FileIO. What other programs write is not seen here."""
    noted = set()

    def note(event, args):
        writes = event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        if (writes or event in "os.truncate os.setxattr os.chown".split()) and is_elsewhere(args[0]) and args[0] not in noted and len(noted) < 10:
            noted.add(args[0])
            REPORT.tell("note", text=f"only a sandbox keeps this from being changed: {os.path.abspath(os.fsdecode(args[0]))}")

    sys.addaudithook(note)


def limit_resources():
    """No process may have more memory than is free now (but 8 GiB in any case), and no file more than 16 GiB; nobody reads a core dump."""
    import resource

    with open("/proc/meminfo") as file:
        memory = next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:"))
    for what, most in ((resource.RLIMIT_DATA, max(memory, 8 << 30)), (resource.RLIMIT_FSIZE, 16 << 30), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(OSError, ValueError):  # One that is stricter stays.
            resource.setrlimit(what, (most, most))


# ---- a GPU: torch.cuda answers, and what is asked to be on it stays on the CPU ----

class Anything:
    """A stream, an event or a graph of a GPU."""

    __init__ = __exit__ = lambda *_, **__: None

    def __enter__(self):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: 0


def answer(module, answers):
    for name, value in answers.items():
        # A function of its own for each: torch._dynamo tells them apart by identity.
        setattr(module, name, lambda *_, value=value, **__: value)


def pretend_gpu(torch):
    cuda, memory = torch.cuda, SPEC.gpu_memory
    device = types.SimpleNamespace(name="NVIDIA H100 80GB HBM3", major=9, minor=0, total_memory=memory, multi_processor_count=132)
    nothing = ("init _lazy_init set_device synchronize empty_cache ipc_collect manual_seed manual_seed_all seed reset_peak_memory_stats reset_max_memory_allocated set_rng_state "
               "set_rng_state_all set_per_process_memory_fraction set_stream is_current_stream_capturing memory_stats memory_summary")
    answer(cuda, {
        **dict.fromkeys(nothing.split(), False), **dict.fromkeys("is_available is_initialized is_bf16_supported is_tf32_supported can_device_access_peer".split(), True),
        **{name: 0 for name in dir(cuda) if re.match("max_memory_|memory_(allocated|reserved|cached)$", name)}, "current_device": 0, "current_stream": Anything(), "default_stream": Anything(),
        "get_device_name": device.name, "get_device_capability": (9, 0), "get_device_properties": device, "mem_get_info": (memory, memory), "get_arch_list": ["sm_90"]})
    cuda.device_count = lambda: SPEC.nproc_per_node
    cuda.get_rng_state = lambda *_, **__: torch.get_rng_state()
    cuda.get_rng_state_all = lambda: [torch.get_rng_state()]
    for name in "Stream Event CUDAGraph device device_of stream".split():
        setattr(cuda, name, type(name, (Anything,), {}))
    cuda.nccl.version = lambda: (2, 27, 3)
    torch.version.cuda = torch.version.cuda or "12.8"  # torchvision compares it with its own.
    if hasattr(torch, "accelerator"):
        torch.accelerator.device_count = cuda.device_count
        answer(torch.accelerator, {"is_available": True, "current_device_index": 0, "current_accelerator": torch.device("cuda"), "current_stream": Anything(),
                                   **dict.fromkeys("set_device_index set_device_idx synchronize set_stream empty_cache".split())})
    redirection(torch)().__enter__()
    load_in_this_process(torch.utils.data.DataLoader)
    load_few_rows(torch.utils.data._utils.fetch._BaseDatasetFetcher)
    load_few_batches(torch.utils.data.dataloader._BaseDataLoaderIter)
    cast_on_meta(torch.autocast)


def cast_on_meta(autocast):
    """Models turn autocast off for the device of a tensor; older torch knows none for meta. Where there are values, they are on the CPU."""
    @instead_of(autocast, "__init__")
    def __init__(init, self, device_type, *args, **options):
        init(self, "cpu" if device_type == "cuda" and MINIATURE.is_here else "cuda" if device_type == "meta" else device_type, *args, **options)
        REPORT.casts |= self._enabled


def load_in_this_process(loader):
    """Neither workers nor pinned memory, once a data loader has accepted its arguments."""
    @instead_of(loader, "__init__")
    def __init__(init, self, *args, **options):
        init(self, *args, **options)
        self.num_workers, self.pin_memory, self.prefetch_factor = 0, False, None
        self.__dict__["persistent_workers"] = False


def load_few_rows(fetcher):
    """Logits with values take memory and time, so a batch of the miniature has few tokens, but two rows."""
    plain = set("input_ids labels attention_mask token_type_ids completion_mask assistant_masks loss_scale length".split())

    def has_length(part):
        return hasattr(part, "__len__") and not isinstance(part, str) and getattr(part, "ndim", 1)

    def length(row):
        parts = row.values() if isinstance(row, dict) else row if isinstance(row, (list, tuple)) else ()
        return max((len(part) for part in parts if has_length(part)), default=1)

    def few(rows):
        room = max(256, 64_000_000 // MINIATURE.vocabulary)  # These have so many logits.
        longest = max(map(length, rows), default=1)
        rows = rows[:max(2, room // max(1, longest))]
        if longest * len(rows) > room and all(isinstance(row, dict) and set(row) <= plain for row in rows):
            # The end of a row has the answer.
            return [{name: part[-(room // 2):] if has_length(part) else part for name, part in row.items()} for row in rows]
        if longest * len(rows) > 16 * room:
            MINIATURE.cannot(f"a row of {longest} tokens would take long on a CPU")
        return rows

    @instead_of(fetcher, "__init__")
    def __init__(init, self, dataset, auto_collation, collate_fn, drop_last):
        def collate(rows):
            return collate_fn(few(rows) if MINIATURE.is_here and isinstance(rows, list) else rows)

        init(self, dataset, auto_collation, collate if auto_collation else collate_fn, drop_last)


def load_few_batches(batches):
    """A loop of the script's own ends soon after its first step, and what comes behind it has one batch."""
    @instead_of(batches, "__next__")
    def __next__(following, self):
        if self._num_yielded and "optimizer step" in REPORT.passed and ("trainer" not in REPORT.passed or MINIATURE.is_cut) and MINIATURE.is_late():
            MINIATURE.is_cut = True
            raise StopIteration
        return following(self)


def redirection(torch):
    """What goes to the GPU stays on the CPU; what is on the meta device stays there."""
    from torch.overrides import TorchFunctionMode
    from torch.utils import _pytree as trees

    def is_gpu(value, meta):
        return isinstance(value, (torch.device, str)) and str(value).split(":")[0] in ("cuda", meta)

    with contextlib.suppress(ImportError, AttributeError):
        import torch.fx.experimental._config as config

        config.meta_nonzero_assume_all_nonzero = True
    cpu = torch.device("cpu")
    choosing = {torch.Tensor.__getitem__, torch.Tensor.nonzero, torch.nonzero, torch.Tensor.masked_select, torch.masked_select, torch.where}
    stays = {torch.Tensor.cuda, torch.Tensor.cpu, torch.Tensor.pin_memory, torch.Tensor.record_stream}

    class Redirect(TorchFunctionMode):
        def __torch_function__(self, function, kinds, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if function in stays:
                return args[0]
            if function is torch.Tensor.to and args[0].is_meta:
                args = args[:1] + tuple(it for it in args[1:] if it is not None and not isinstance(it, (torch.device, str, int)))  # Or whether to wait, and whether to copy.
                kwargs.pop("device", None)
                return function(*args, **kwargs) if len(args) > 1 or "dtype" in kwargs else args[0]
            if function in (torch.equal, torch.Tensor.equal) and args[0].is_meta:
                return args[0].shape == args[1].shape
            if function in (torch.device, torch.Tensor.to) and not isinstance(next(iter(args), None), str):
                args = tuple(f"cuda:{it}" if type(it) is int else it for it in args)  # A number is a GPU.
            # Data is real until it meets a weight, and not yet where it only goes to the place of one.
            place = "meta" if function is torch.Tensor.to and not MINIATURE.is_here else "cuda"
            if is_gpu(kwargs.get("device"), place) or type(kwargs.get("device")) is int:
                kwargs["device"] = cpu
            if function is not torch.device:
                args = tuple(cpu if is_gpu(it, place) else it for it in args)
            kwargs.pop("pin_memory", None)
            if function is torch.Tensor.__getitem__ and args[0].is_meta:
                args = (args[0], chosen_by(args[1]))
            # The miniature has values; DeepSpeed takes shapes from meta tensors there.
            if not MINIATURE.is_here and any(tensor.is_meta for tensor in tensors_in(args, kwargs)):
                REPORT.guessed |= function in choosing and any(tensor.dtype is torch.bool for tensor in tensors_in(args, kwargs))
                # From there on only shapes are known.
                with torch._C.DisableTorchFunction():
                    args, kwargs = to_meta(args), to_meta(kwargs)
            return function(*args, **kwargs)

    def tensors_in(*values):
        return (it for it in trees.tree_flatten(values)[0] if isinstance(it, torch.Tensor))

    def chosen_by(index):
        """A mask that is real tells how many it chooses."""
        found = []
        with torch._C.DisableTorchFunction():
            for it in index if isinstance(index, tuple) else (index,):
                is_mask = isinstance(it, torch.Tensor) and it.dtype is torch.bool and it.dim() and not it.is_meta
                found += it.nonzero(as_tuple=True) if is_mask else [it]
        return tuple(found)

    def to_meta(value):
        return trees.tree_map(lambda it: it.to("meta") if isinstance(it, torch.Tensor) and it.dim() and not it.is_meta else it, value)

    return Redirect


# ---- N ranks ----

def pretend_ranks(dist):
    """Every process group is torch's `fake` one, of which this process is rank 0. Every rank has what rank 0 has."""
    import torch
    import torch.testing._internal.distributed.fake_pg as fake  # registers the backend

    start, group_of, gather_into, reduce = dist.init_process_group, dist.new_group, dist.all_gather_into_tensor, dist.all_reduce

    @functools.wraps(start)
    def init_process_group(*_, **__):
        return start("fake", store=fake.FakeStore(), rank=0, world_size=SPEC.world_size)

    @functools.wraps(group_of)
    def new_group(ranks=None, *_, **__):
        return group_of(ranks)

    # They may be called with torch's own names.
    def gather_object(obj, object_gather_list=None, *_, **__):
        if object_gather_list is not None:
            object_gather_list[:] = [obj] * len(object_gather_list)

    def scatter_object_list(scatter_object_output_list, scatter_object_input_list, *_, **__):
        scatter_object_output_list[0] = scatter_object_input_list[0]

    def all_gather(tensor_list, tensor, group=None, *_, **__):
        assert dist.get_world_size(group) in (-1, len(tensor_list)), f"{len(tensor_list)} tensors are given for what is gathered from {dist.get_world_size(group)} ranks"
        for it in tensor_list:
            if it.shape == tensor.shape:
                it.copy_(tensor)

    def all_gather_into_tensor(output_tensor, input_tensor, *more, **options):
        with torch.no_grad():  # The fake group copies without a look at the shapes, and perhaps into a view that was made so.
            return gather_into(output_tensor.view(-1), input_tensor.reshape(-1), *more, **options)

    def gather(tensor, gather_list=None, dst=None, group=None, *_, **__):
        if gather_list:
            all_gather(gather_list, tensor, group)

    def all_reduce(tensor, op=dist.ReduceOp.SUM, group=None, async_op=False):
        with torch._C.DisableTorchFunction(), torch.no_grad():
            if op == dist.ReduceOp.SUM and tensor.dtype is not torch.bool:
                tensor.mul_(max(1, dist.get_world_size(group)))
            return reduce(tensor, op, group, async_op)

    def noted(function):
        """A script may expect that ranks differ."""
        @functools.wraps(function)
        def called(*args, **options):
            remember_who_asked("unsure")
            return function(*args, **options)

        return called

    replaced = {function.__name__: function for function in (init_process_group, new_group, gather_object, scatter_object_list, all_gather, all_gather_into_tensor, gather, all_reduce)}
    replaced.update(dict.fromkeys("broadcast_object_list monitored_barrier barrier".split(), lambda *_, **__: None))
    for name in dir(dist):
        if re.match("all_|gather|scatter|reduce|broadcast", name) and inspect.isfunction(getattr(dist, name)):
            replaced[name] = noted(replaced.get(name, getattr(dist, name)))
    for module in (dist, dist.distributed_c10d):
        for name, function in replaced.items():
            setattr(module, name, function)


# ---- the weights: transformers itself loads them, from a folder that stands in for the one it is given ----

WEIGHTS = re.compile(r"\.(safetensors|bin|pt|pth|gguf|h5|msgpack|onnx|ot)(\.index\.json)?$")


def count(parameters):
    return sum(it.numel() for it in parameters)


def hook_modeling(module):
    import torch
    from safetensors.torch import save_file

    model_class = module.PreTrainedModel
    from_config, load = model_class._from_config.__func__, model_class.from_pretrained.__func__

    @instead_of(model_class, "__init__")
    def __init__(init, self, config, *args, **options):
        for it in gc.get_objects() if MINIATURE.is_here else ():
            if type(it) is type(config):  # The script takes the sizes of what it adds from a config of its own.
                shrink(it)
        init(self, config, *args, **options)

    def _from_config(cls, config, **options):
        MINIATURE.start()
        if MINIATURE.builds:  # A part of another model.
            return from_config(cls, config, **options)
        with mock.patch.object(MINIATURE, "builds", True):
            if MINIATURE.is_here:
                model = with_values(cls, config, **options)
                return from_config(cls, config, **options) if module.is_deepspeed_zero3_enabled() else model
            with torch.device("meta"):
                return told(from_config(cls, config, **options))

    def from_pretrained(cls, path=None, *positional, **options):
        MINIATURE.start()
        place = {name: options[name] for name in "cache_dir revision token subfolder local_files_only".split() if name in options}
        source = None if MINIATURE.builds or options.get("gguf_file") else folder_of(path, place)
        if source is None:  # A part of another model, or it says itself what is wrong.
            return load(cls, path, *positional, **options)
        is_own = seen(source) != source  # It was saved by this process.
        given = {name: value for name, value in options.items() if name not in "subfolder variant use_safetensors".split()}
        with mock.patch.object(MINIATURE, "builds", True):
            if is_own and MINIATURE.is_here:
                return load(cls, seen(source), *positional, **given)
            within = module.ContextManagers  # A model is made within these.
            on_meta = mock.patch.object(module, "ContextManagers", lambda those: within([*those, torch.device("meta")]))
            with contextlib.nullcontext() if MINIATURE.is_here else on_meta, mock.patch.object(model_class, "_load_pretrained_model", filled(model_class._load_pretrained_model)):
                result = load(cls, stand_in(source), *positional, **given)
            model = result[0] if isinstance(result, tuple) else result
            model.name_or_path = model.config._name_or_path = str(path)
            if not MINIATURE.is_here and told(model) and not is_own:
                known = [*place, *"variant use_safetensors ignore_mismatched_sizes key_mapping attn_implementation dtype torch_dtype".split()]
                compare_weights(module, functools.partial(load, cls, path, **{name: options[name] for name in known if name in options}), model)
        return result

    def folder_of(path, place):
        with contextlib.suppress(Exception):
            return os.path.join(path, place.get("subfolder") or "") if os.path.isdir(path) else os.path.dirname(module.cached_file(path, "config.json", **place))

    def stand_in(source):
        """All that is beside the weights, and a file for these."""
        folder = tempfile.mkdtemp(prefix="checkpoint-", dir=SPEC.folder)
        for name in os.listdir(source):
            if not WEIGHTS.search(name):
                os.symlink(os.path.abspath(seen(os.path.join(source, name))), os.path.join(folder, name))
        put({"none": torch.zeros(1)}, os.path.join(folder, "model.safetensors"))
        return folder

    def put(weights, file):
        save_file({name: it.clone().contiguous() for name, it in weights.items()}, file, {"format": "pt"})

    def filled(fit):
        """The weights of a small model are there once it is known, and are loaded. Others are not made."""
        def fill(model, state_dict, files, *more, **options):
            if MINIATURE.is_here:
                put(with_values(type(model), model.config).state_dict(), files[0])
                return fit(model, state_dict, files, *more, **options)
            news = getattr(module, "LoadStateDictInfo", None)
            return (news(**{name: set() for name in news.__dataclass_fields__}), None) if news else (model, [], [], [], None, [])

        return staticmethod(fill)

    def with_values(cls, config, **options):
        try:
            with torch.device("cpu"), mock.patch.object(module, "is_deepspeed_zero3_enabled", lambda: False):
                model = from_config(cls, config, **options)
            with torch.no_grad():
                for weight in model.parameters():
                    if not weight.isfinite().all():
                        weight.normal_(std=0.02)
                # Those of pictures do nothing without one, and what does not divide may be why the trainer fails.
                if MINIATURE.is_shrunk and not MINIATURE.is_uneven and model.main_input_name == "input_ids" and "pixel_values" not in inspect.signature(model.forward).parameters:
                    # A head may want other inputs, and a class of the script's own parts that it gets later.
                    model.eval().base_model(**{name: torch.tensor([[1, 2, 3]]) for name in ("input_ids", "decoder_input_ids")[:2 if config.is_encoder_decoder else 1]})
        except Exception as error:
            MINIATURE.cannot(f"{type(config).__name__} cannot be shrunk: {type(error).__name__}: {error}")
        return model

    def told(model):
        REPORT.reach("model", name=type(model).__name__, parameters=count(model.parameters()))
        return model

    @instead_of(model_class, "save_pretrained")
    def save_pretrained(save, *args, **options):
        return save(*args, **(options if MINIATURE.is_here else dict(options, state_dict={})))

    model_class._from_config, model_class.from_pretrained = classmethod(_from_config), classmethod(from_pretrained)
    # The mean of weights that are not there cannot be taken.
    model_class._init_added_embeddings_weights_with_mean = model_class._init_added_lm_head_bias_with_mean = lambda *_, **__: None
    # Batches are sent to where the model says it is: they are data, and real until they meet a weight.
    model_class.device = property(lambda self: torch.device("cuda", 0))


# What a config calls its sizes, and what they are in a miniature. It has all of its layers: arguments and lists name them.
SIZES = {
    64: "embed_dim hidden_size n_embd d_model dim out_hidden_size word_embed_proj_dim text_embed_dim projection_dim projection_size lru_width encoder_hidden_size cross_attention_hidden_size pooler_hidden_size embedding_size",
    2: "num_experts_per_tok moe_topk moe_k",
    4: "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads mamba_n_heads",
    6: "num_experts num_local_experts n_routed_experts moe_num_experts",
    16: "head_dim d_kv qk_head_dim v_head_dim q_lora_rank kv_lora_rank kv_channels global_head_dim linear_key_head_dim linear_value_head_dim rotary_dim shape_size",
    8: "qk_rope_head_dim qk_nope_head_dim index_head_dim index_topk coordinate_size",
    32: "moe_intermediate_size shared_expert_intermediate_size expert_ffn_hidden_size hidden_size_per_layer_input mamba_d_head",
    128: "intermediate_size ffn_dim n_inner d_ff ffn_hidden_size encoder_ffn_dim decoder_ffn_dim mlp_hidden_size dense_intermediate_size intermediate_size_mlp shared_intermediate_size",
    1: "n_group n_groups mamba_n_groups topk_group n_shared_experts",
}
SIZE_OF = {name: size for size, names in SIZES.items() for name in names.split()}


def sizes_of(config):
    """Those that are not for each stage: models of pictures that grow wider with each one stay as they are."""
    return {name: value for name, value in vars(config).items() if type(value) is int and not hasattr(config, "depths")}


def parts_of(config):
    """It, and the configs in it: of text, vision, audio."""
    return [config, *(it for part in vars(config).values() if hasattr(part, "to_dict") and hasattr(part, "model_type") for it in parts_of(part))]


def shrink(config):
    """The same model, 64 wide in all of its parts, with all of its vocabulary and layers."""
    parts = parts_of(config)
    MINIATURE.vocabulary = max(MINIATURE.vocabulary, *(sizes_of(part).get("vocab_size", 1) for part in parts))
    if all(value <= 128 for part in parts for name, value in sizes_of(part).items() if name in SIZES[64].split()):
        return
    MINIATURE.is_shrunk = True
    for part in parts:
        shrink_part(part, sizes_of(part))


def shrink_part(config, sizes):
    width, heads, experts = (next((sizes[name] for name in SIZES[size].split() if name in sizes), 4) for size in (64, 4, 6))
    many = 3 if width % heads else 4  # What does not divide must not do so here.
    changes = {name: min(value, many if SIZE_OF[name] == 4 else SIZE_OF[name]) for name, value in sizes.items() if name in SIZE_OF and value > 0}
    for name in SIZES[2].split():
        if sizes.get(name, 0) > experts:
            changes[name] = 7  # They are too many here, too.
    for name in "num_key_value_heads num_kv_heads n_head_kv num_global_key_value_heads".split():
        if sizes.get(name):
            changes[name] = many - 1 if heads % sizes[name] else max(1, many * sizes[name] // heads)
            MINIATURE.is_uneven |= width % heads + heads % sizes[name] > 0
    if "head_dim" in sizes:  # The four heads of Mamba 2 are as wide as its expanded states.
        changes["head_dim"] = 8 if sizes["head_dim"] == sizes.get("qk_rope_head_dim") else min(sizes["head_dim"], 16 * sizes.get("expand", 1))
    shrink_rope(vars(config))
    for name, value in changes.items():
        with contextlib.suppress(AttributeError):
            setattr(config, name, value)


def shrink_rope(rope):
    """Lists of a config's rope_scaling or rope_parameters have a number for each pair of a head's dimensions, or parts that add up to these."""
    for name, value in list(rope.items()):
        if isinstance(value, dict):
            shrink_rope(value)
        elif name == "mrope_section" and value:
            part = 8 // len(value)
            rope[name] = [8 - part * (len(value) - 1)] + [part] * (len(value) - 1)
        elif name in ("short_factor", "long_factor") and value:
            rope[name] = value[:8]


class OnDisk(Exception):
    """A file that the trainer will read is not what it has to be."""


def compare_weights(module, load, model):
    """transformers itself finds the files of the weights and compares them with the model, but gets their headers for their contents."""
    import torch

    path = load.args[1]
    if not hasattr(module, "_get_resolved_checkpoint_files"):
        return  # An older version reads them otherwise.
    config = copy.deepcopy(model.config)
    fit, others, is_quantized = type(model)._load_pretrained_model, [], getattr(model, "hf_quantizer", None) is not None
    if is_quantized:
        vars(config).pop("quantization_config", None)

    def with_headers(built, state_dict, checkpoint_files, *more, **options):
        headers = {}
        for file in checkpoint_files:
            headers.update(header_of(module, file))
        if is_quantized:
            raise Arrived("the headers")  # The names and shapes of its weights are others.
        result = fit(built, headers, checkpoint_files, *more, **options)
        others.extend(getattr(result[0], "mismatched_keys", ()))
        return result

    reads_headers = mock.patch.object(module.PreTrainedModel, "_load_pretrained_model", staticmethod(with_headers))
    place = {} if module.is_deepspeed_zero3_enabled() else {"device_map": {"": "meta"}}  # It takes none.
    try:
        # The network is not asked for by the trainer here.
        with reads_headers, torch.device("meta"), mock.patch.dict(ASKED):
            missing = sorted(load(config=config, output_loading_info=True, local_files_only=True, **place)[1]["missing_keys"])
        if missing:
            REPORT.tell("note", text=f"{len(missing)} parameters are not in the weights of {path} and start with random values: {', '.join(missing[:3])}{', …' if len(missing) > 3 else ''}")
    except Arrived:
        pass
    except Exception as error:
        if not os.path.isdir(path):
            pass
        elif not any(map(WEIGHTS.search, os.listdir(path))):
            REPORT.tell("note", text=f"the weights of {path} are not here yet")
        elif others or isinstance(error, RuntimeError) and "size mismatch" in str(error):
            found = "".join(f"\n{name}: {tuple(on_disk)} on disk, {tuple(built)} in the model" for name, on_disk, built in sorted(others))
            raise OnDisk(f"the weights in {path} do not fit its config.json: {error}{found}") from error
        elif isinstance(error, (OnDisk, OSError)) or type(error).__name__ == "SafetensorError":
            raise
        else:
            REPORT.tell("note", text=f"the weights of {path} could not be compared with the model: {type(error).__name__}: {str(error)[:300]}")
        return
    REPORT.tell("weights", path=str(path))


def header_of(module, file):
    """Names and shapes of the weights in a file, of which safetensors and torch say themselves whether it is whole."""
    import torch

    with open(file, "rb") as opened:
        start = opened.read(32)
    try:
        with torch_files_as_headers(torch):
            return module.load_state_dict(str(file), map_location="meta")
    except Exception as error:
        if start.startswith(b"version https://git-lfs"):
            raise OnDisk(f"{file} is a pointer of git-lfs, and not the weights: {type(error).__name__}: {error}") from error
        if type(error).__name__ == "SafetensorError" or "PytorchStreamReader" in str(error):
            raise OnDisk(f"{file} is not whole ({os.path.getsize(file)} bytes): {type(error).__name__}: {error}") from error
        raise


def torch_files_as_headers(torch):
    """What torch loads has shapes and no values, unless the file is of a kind that has to be read."""
    load = torch.load
    return mock.patch.object(torch, "load", lambda file, *args, **options: load(file, **{**options, "map_location": "meta", "mmap": zipfile.is_zipfile(file)}))


# ---- the dataset: what is done to each row is done to some, and nothing is written to the user's cache ----

def spread(data, count):
    """Rows from all over it: a file may be sorted."""
    if isinstance(data, dict):
        return type(data)({name: spread(part, count) for name, part in data.items()})
    rows = getattr(data, "num_rows", 0) if hasattr(data, "select") else 0
    return data.select([at * rows // count for at in range(count)]) if rows > count else data


def hook_datasets(module):
    module.disable_caching()

    def here(function, /, *args, **options):
        """In this process: others, which may be started anew, write where they are told to."""
        if isinstance(options.get("num_proc"), int) and options["num_proc"] > 0:
            options["num_proc"] = None
        return function(*args, **options)

    def of_some(function, self, /, *args, **options):
        """A thousand rows are tried. The result has as many rows as if all had been asked: what was made of a row stands for that of its neighbours."""
        some = spread(self, 1000)
        result = function(some, *args, **options)
        if some is self or result is None:
            return result
        made = result.num_rows
        rows = made * self.num_rows // some.num_rows
        return result.select([at * made // rows for at in range(rows)])

    def loaded(function, *args, **options):
        data = here(function, *args, **options)
        for part in data.values() if isinstance(data, dict) else [data]:
            REPORT.reach("dataset", rows=getattr(part, "num_rows", None))
        return data

    for name in ("load_dataset", "load_from_disk"):
        instead_of(module.load, name)(loaded)
        setattr(module, name, getattr(module.load, name))
    for name in "map filter save_to_disk".split():
        instead_of(module.Dataset, name)(of_some)
        for kind in (module.Dataset, module.DatasetDict):
            instead_of(kind, name)(here)


# ---- the trainer ----

def hook_trainer(module):
    trainer = module.Trainer

    @instead_of(trainer, "__init__")
    def __init__(init, self, *args, **options):
        init(self, *args, **options)
        # Trackers were found to be installed, and send nothing.
        self.callback_handler.callbacks = [it for it in self.callback_handler.callbacks if not type(it).__module__.startswith("transformers.integrations")]
        REPORT.reach("trainer", of=type(self).__name__)

    for name in "init_hf_repo push_to_hub _push_from_checkpoint".split():
        setattr(trainer, name, lambda *_, **__: None)

    @instead_of(trainer, "save_model")
    def save_model(save, *args, **options):
        return save(*args, **options) if MINIATURE.is_here else None

    @instead_of(trainer, "_maybe_log_save_evaluate")
    def log_save_evaluate(after_step, self, *args, **options):
        """What the arguments ask for at some step is done after the first. Then the training goes on for a while, and ends as it would."""
        if "stepped" in REPORT.passed:
            after_step(self, *args, **options)
            self.control.should_training_stop |= MINIATURE.is_late()
            return
        evaluates = "no" not in str(getattr(self.args, "eval_strategy", None) or getattr(self.args, "evaluation_strategy", "no")).lower()
        saves = "no" not in str(self.args.save_strategy).lower()
        whole, evaluate = self.eval_dataset, self.evaluate
        some = self.eval_dataset = spread(whole, 2 * self.args.eval_batch_size)

        def evaluate_some(*given, **more):
            try:
                return evaluate(*given, **more)
            except Exception:
                self.eval_dataset = whole  # What fails for some rows is tried with all.
                return evaluate(*given, **more)

        self.evaluate = evaluate_some
        vars(self.control).update(should_log=True, should_evaluate=evaluates, should_save=saves)
        after_step(self, *args, **options)
        for name in ["evaluation"] * evaluates + ["checkpoint"] * saves:
            REPORT.reach(name)
        if saves:
            read_again(self)
        REPORT.passed.add("stepped")

    @instead_of(trainer, "train")
    def train(train, *args, **options):
        result = train(*args, **options)
        MINIATURE.is_cut = MINIATURE.is_here
        return result

    def read_again(self):
        """As a launch does that is resumed."""
        folder, engine = os.path.join(self.args.output_dir, f"checkpoint-{self.state.global_step}"), self.model_wrapped
        if not hasattr(engine, "load_checkpoint") or not os.path.isdir(folder):
            return
        try:
            engine.load_checkpoint(folder, load_module_strict=not hasattr(self.model, "peft_config"))
            self._load_rng_state(folder)
            REPORT.reach("checkpoint read again")
        except Exception as error:
            REPORT.tell("unread", text=f"the checkpoint that it saves could not be read again: {type(error).__name__}: {str(error)[:300]}")


# ---- DeepSpeed ----

def hook_deepspeed(deepspeed):
    import torch
    from deepspeed.runtime.engine import DeepSpeedEngine

    class RehearsedEngine(DeepSpeedEngine):
        """Answers from the config as the real one; runs the forward pass on shapes, and nothing else."""

        local_rank = global_rank = global_steps = micro_steps = checkpoint_mp_rank = 0
        dist_backend, _is_gradient_accumulation_boundary = "nccl", True
        pipeline_parallelism = has_moe_layers = _is_compiled = False
        training_dataloader = random_ltd_scheduler = loaded_checkpoint_dp_world_size = None

        def __init__(self, model, config, optimizer, mpu):
            torch.nn.Module.__init__(self)
            self._set_client_model(model)
            self._config, self.config, self.mpu = config, config._param_dict, mpu
            self.optimizer = self.basic_optimizer = optimizer
            self.device, self.world_size = torch.device("cuda", 0), SPEC.world_size

        def forward(self, *args, **options):
            outputs = self.module(*args, **options)
            REPORT.reach("step")
            return outputs

        def backward(self, *_, **__):
            raise Arrived("the first step")

        step = backward
        destroy = __del__ = save_checkpoint = save_16bit_model = compile = _configure_python_gc = lambda self, *_, **__: None

        def load_checkpoint(self, load_dir, *args, **options):
            """As the real one reads it, without values, up to the partitions of the optimizer."""
            from deepspeed.utils import groups

            REPORT.reached = "resuming"
            groups.mpu = self.mpu
            optimizer = self.optimizer
            self.dp_world_size, self.mp_world_size = groups._get_data_parallel_world_size(), groups._get_model_parallel_world_size()
            self.seq_dp_world_size = groups._get_sequence_data_parallel_world_size()
            self._configure_checkpointing(*[None] * (len(inspect.signature(self._configure_checkpointing).parameters)))
            self.optimizer = types.SimpleNamespace(dp_process_group=groups._get_data_parallel_group(), load_state_dict=lambda *_, **__: None)
            try:
                with torch_files_as_headers(torch):
                    result = super().load_checkpoint(load_dir, *args, **options)
                REPORT.reach("resumed")
                return result
            except AssertionError as error:
                if str(error):
                    raise
                raise OnDisk(f"{load_dir} has no files that ZeRO stage {self.zero_optimization_stage()} would read: AssertionError in {frames_of(error)[-1].name}") from error
            except AttributeError as error:  # It asks for more than this one has.
                REPORT.reach("note", text=f"the checkpoint was not compared with the launch: {error}")
                return load_dir, {}
            finally:
                self.optimizer = optimizer

        def load_module_state_dict(self, checkpoint, strict=True, **_):
            """ZeRO-3 saves parts of the parameters, and their shapes beside them."""
            shapes = {name: shape for group in checkpoint.get("param_shapes") or () for name, shape in group.items()}
            before = count(shapes.values())
            shapes.update(checkpoint.get("frozen_param_shapes") or {})
            own = self.module.state_dict()
            saved = {name: torch.empty(shapes.get(name, own[name].shape if name in own else it.shape), device="meta") if self.zero_optimization_partition_weights() else it
                     for name, it in checkpoint["module"].items()}
            self.module.load_state_dict(saved, strict=strict)
            groups = self.basic_optimizer.param_groups if self.basic_optimizer is not None else []
            trained = count(it for group in groups for it in group["params"] if it.requires_grad)
            if before and trained and before != trained:
                raise OnDisk(f"the checkpoint has the optimizer's states for {before} parameters, and this launch trains {trained}")

        _get_zero_param_shapes = lambda self: []

    def initialize(*args, **options):
        """DeepSpeed's own, but for what it takes for an engine."""
        engines = "DeepSpeedEngine DeepSpeedHybridEngine PipelineEngine DualPipeVEngine".split()
        with mock.patch.multiple(deepspeed, **{name: functools.partial(make, engine) for name, engine in vars(deepspeed).items() if name in engines}):
            return own_initialize(*args, **options)

    def make(engine, **given):
        model, config, optimizer, scheduler = given["model"], given["config_class"], given["optimizer"], given["lr_scheduler"]
        parameters = list(model.parameters())
        if count(parameters) < 500_000_000 and not any(p.is_meta for p in parameters):
            MINIATURE.start()  # No model was made by transformers; this one has values, and not too many.
        REPORT.reach("initialize", config=config._param_dict, model=type(model).__name__, parameters=count(parameters),
                     trainable=count(it for it in parameters if it.requires_grad), compared=(optimizer is not None or config.optimizer_name is not None) and not MINIATURE.is_shrunk)
        if MINIATURE.is_here:
            use_processor()
            made = watched(engine)(**given)
            made.began = time.process_time()
            return made
        # The optimizer itself is made and used by the miniature.
        groups = list(given["model_parameters"]) if given["model_parameters"] is not None else parameters
        if callable(optimizer) and not hasattr(optimizer, "param_groups"):
            optimizer = optimizer(groups)
        elif optimizer is None and config.optimizer_name is not None:
            optimizer = torch.optim.SGD(groups, lr=(config.optimizer_params or {}).get("lr", 1e-3), momentum=0.9)
        is_idle = optimizer is not None and not any(it.requires_grad for group in optimizer.param_groups for it in group["params"])
        assert not config.zero_enabled or not is_idle, "no parameter of the model is trained, and ZeRO ends with `IndexError: list index out of range`"
        made = RehearsedEngine(model, config, optimizer, given["mpu"])
        if optimizer is not None and not hasattr(scheduler, "step"):
            scheduler = scheduler(optimizer) if scheduler else made._scheduler_from_config(optimizer)
        made.lr_scheduler = scheduler
        if given["training_data"] is not None:
            made.training_dataloader = torch.utils.data.DataLoader(given["training_data"], config.train_micro_batch_size_per_gpu, collate_fn=given["collate_fn"])
        return made

    def use_processor():
        """DeepSpeed is on the CPU. Every rank has what this one has."""
        from deepspeed.accelerator import cpu_accelerator, set_accelerator

        processor = cpu_accelerator.CPU_Accelerator()
        processor.is_fp16_supported = lambda: True
        processor.device_count = lambda: SPEC.nproc_per_node
        set_accelerator(processor)
        deepspeed.zero.GatheredParameters = gathered

    def watched(engine):
        class Watched(engine):
            """Says what has been done, and ends after a step."""

            @functools.wraps(engine.forward)
            def forward(self, *args, **options):
                result = super().forward(*args, **options)
                REPORT.reach("forward" if self.module.training else "evaluation")
                return result

            @functools.wraps(engine.backward)
            def backward(self, *args, **options):
                result = super().backward(*args, **options)
                REPORT.reach("backward")
                if time.process_time() - self.began > 20:
                    raise Arrived("the first backward passes")  # As many of these as make a step would take long.
                return result

            def _take_model_step(self, *args, **options):
                super()._take_model_step(*args, **options)
                REPORT.reach("optimizer step")
                if "trainer" not in REPORT.passed and MINIATURE.is_late(2):  # Many epochs, or no data loader.
                    raise Arrived("the first steps")

            def save_checkpoint(self, *args, **options):
                result = super().save_checkpoint(*args, **options)
                REPORT.reach("checkpoint")
                return result

            def load_checkpoint(self, load_dir, *args, **options):
                # One of the true size does not fit.
                return super().load_checkpoint(load_dir, *args, **options) if "checkpoint" in REPORT.passed or not MINIATURE.is_shrunk else (load_dir, {})

        Watched.__name__ = engine.__name__  # Messages have it.
        return Watched

    def Init(*args, config_dict_or_path=None, config=None, **options):
        """DeepSpeed reads the config already here, and the weights are not made."""
        given = config_dict_or_path or config
        if given and options.get("enabled", True):
            deepspeed.init_distributed()
            deepspeed.DeepSpeedConfig(given, options.get("mpu"))
        MINIATURE.start()  # What is made here has values in the miniature, of which DeepSpeed keeps a part.
        if not MINIATURE.is_here:
            return torch.device("meta")
        use_processor()
        REPORT.passed.add("partitioned")
        return partitioned(*args, config_dict_or_path=given, **options)

    own_initialize, gathered, partitioned = deepspeed.initialize, deepspeed.zero.GatheredParameters, deepspeed.zero.Init
    deepspeed.initialize, deepspeed.zero.Init = initialize, Init
    deepspeed.zero.GatheredParameters = lambda *_, **__: contextlib.nullcontext()


# ---- hooks: what is done to a module once it has been imported ----

def hook_torch(module):
    import torch.distributed as dist

    pretend_ranks(dist)
    pretend_gpu(module)
    redirect(module, "save", "f")


def hook_masks(module):
    """Whether a mask can be left out depends on its values, which may not be known."""
    def known(real, *args, **options):
        with contextlib.suppress(RuntimeError):
            return real(*args, **options)

    for holder in (module, getattr(module, "AttentionMaskConverter", None)):
        for name in "_ignore_causal_mask_sdpa _ignore_bidirectional_mask_sdpa find_packed_sequence_indices".split():
            if hasattr(holder, name):
                instead_of(holder, name)(known)


def redirect(holder, name, file, place=written):
    """What is not written or read by Python does not know where files go. `file` is the argument that says where."""
    @instead_of(holder, name)
    def saved(save, *args, **options):
        given = inspect.signature(save).bind(*args, **options)
        given.arguments[file] = place(given.arguments[file])
        return save(*given.args, **given.kwargs)


def hook_tokenizers(module):
    redirect(module.Tokenizer, "from_file", "path", seen)
    redirect(module.Tokenizer, "save", "path")


def hook_arrow(module):
    for name in ("OSFile", "memory_map"):
        @instead_of(module, name)
        def opened(real, path, mode="r", *more, **options):
            return real(seen(path) if mode.startswith("r") else written(path), mode, *more, **options)


def hook_compiler(module):
    """Muon's functions are compiled when they are imported, for which torch's compiler is imported."""
    if hasattr(module, "dummy_decorator"):
        module.compile = lambda: module.dummy_decorator


def hook_operators(module):
    """DeepSpeed's own operators are not compiled, and there need not be a compiler for CUDA."""
    module.installed_cuda_version = lambda *_: (12, 8)
    module.OpBuilder.load = lambda *_, **__: Anything()


def hook_offline(module):
    """Not found on the hub, because nobody looked there."""
    for name in () if SPEC.stays_offline else vars(module).keys() & {"OfflineModeIsEnabled", "LocalEntryNotFoundError"}:
        @instead_of(getattr(module, name), "__init__")
        def __init__(init, *args, **options):
            remember_who_asked()
            init(*args, **options)


def hook_retry(module):
    """The network does not come back."""
    if not SPEC.online:
        module.time = types.SimpleNamespace(**{**vars(time), "sleep": lambda *_: None})


def hook_torchrun(module):
    """torchrun has read its arguments, and starts this rank in this process."""
    def elastic_launch(config, entrypoint):
        SPEC.nnodes, SPEC.nproc_per_node = config.max_nodes, config.nproc_per_node
        return lambda *words: run([str(entrypoint), *words])

    module.elastic_launch = elastic_launch


def hook_accelerate(module):
    """The same for the processes that `accelerate launch` starts by itself."""
    def start(command, env=None, **_):
        os.environ.update(env or {})
        run([str(word) for word in command])
        return mock.Mock(returncode=0)

    module.subprocess = types.SimpleNamespace(Popen=start, CalledProcessError=RuntimeError)


HOOKS = {
    "torch": hook_torch,
    "torch.distributed.run": hook_torchrun,
    "accelerate.commands.launch": hook_accelerate,
    "accelerate.utils.launch": lambda module: vars(module).update(is_port_in_use=lambda *_: False),  # It need not be free on this machine.
    "transformers.modeling_utils": hook_modeling,
    "transformers.masking_utils": hook_masks,
    "transformers.modeling_attn_mask_utils": hook_masks,
    "transformers.tokenization_utils_base": lambda module: redirect(module.PreTrainedTokenizerBase, "save_pretrained", "save_directory", lambda it: copy_of(it) if is_elsewhere(it) else it),
    "transformers.trainer": hook_trainer,
    "datasets": hook_datasets,
    "huggingface_hub.errors": hook_offline,
    "safetensors.torch": lambda module: redirect(module, "save_file", "filename"),
    "pyarrow": hook_arrow,
    "pyarrow.parquet.core": lambda module: redirect(module.ParquetDataset, "__init__", "path_or_paths", seen),
    "sqlite3.dbapi2": lambda module: instead_of(module, "connect")(lambda real, path, *more, **options: real(path if ":" in str(path) else written(path, True), *more, **options)),
    "tokenizers": hook_tokenizers,
    "deepspeed": hook_deepspeed,
    "deepspeed.ops.op_builder.builder": hook_operators,
    "deepspeed.runtime.compiler": hook_compiler,
    "triton.runtime.driver": lambda module: module.driver.set_active(Anything()),  # Kernels that are only defined ask for it already.
    # Adapters on disk have their true size.
    "peft.peft_model": lambda module: instead_of(module, "set_peft_model_state_dict")(lambda load, *args, **options: load(*args, **dict(options, ignore_mismatched_sizes=True) if MINIATURE.is_shrunk else options)),
    "urllib3.util.retry": hook_retry,
    "modelscope_hub._legacy_api": hook_retry,
    "modelscope_hub._openapi": hook_retry,
}


class Finder:
    """Runs a module's hook once the module has been executed."""

    def find_spec(self, name, path, target=None):
        if name not in HOOKS:
            return None
        # The others are asked directly: threads may import at the same time.
        others = (finder for finder in sys.meta_path if not isinstance(finder, Finder))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            try:
                HOOKS.pop(name, lambda _: None)(module)
            except Exception as error:  # The module itself is fine, and must not look broken.
                REPORT.tell("hook", module=name, error=repr(error))

        spec.loader.exec_module = exec_module
        return spec


# ---- the command, and the launcher in front of it ----

MODULES = {"torch.distributed.run": "torchrun", "torch.distributed.launch": "torchrun", "deepspeed.launcher.runner": "deepspeed", "accelerate.commands.launch": "accelerate",
           "accelerate.commands.accelerate_cli": "accelerate"}


class NotPython(Exception):
    """A program that cannot be run in this process."""


def run(argv):
    """Runs a command in this process: a script, a module, or a launcher, which then comes back here with what it starts."""
    program, *words = argv
    name, module = os.path.basename(program), None
    if re.match(r"(python|pypy)[\d.]*$", name):
        while words and words[0].startswith("-") and words[0] != "-m":
            del words[:2 if words[0] in ("-X", "-W") else 1]
        if words[:1] == ["-m"]:
            module = words[1]
            del words[:2]
        elif words:
            program = words.pop(0)
    launcher = MODULES.get(module) if module else name if name in "torchrun deepspeed accelerate accelerate-launch".split() else None
    if launcher == "torchrun":
        import torch.distributed.run as torchrun

        return torchrun.main(words)
    if launcher == "deepspeed":
        from deepspeed.launcher import runner

        options = runner.parse_args(words)
        if not getattr(options, "autotuning", ""):
            choose_gpus(runner, words)
        local_rank = [] if options.no_local_rank else ["--local_rank=0"]
        start = [options.user_script] if options.no_python else ["python", "-m", options.user_script] if options.module else ["python", options.user_script]
        return run([*start, *local_rank, *options.user_args])
    if launcher:
        from accelerate.commands import launch

        return launch.launch_command(launch.launch_command_parser().parse_args(words[1:] if words[:1] == ["launch"] else words))
    return run_python(program, module, words)


def choose_gpus(runner, words):
    """deepspeed itself goes on until it knows which GPUs it would use. The machines of a hostfile are not asked, and each has as many GPUs as it may name."""
    runner.subprocess = mock.Mock(**{"check_output.return_value": b"127.0.0.1"})
    runner.encode_world_info = mock.Mock(side_effect=Arrived("the GPUs"))
    runner.get_accelerator = lambda: types.SimpleNamespace(device_count=lambda: 1024, visible_devices_envs=lambda: ["CUDA_VISIBLE_DEVICES"])
    with contextlib.suppress(Arrived), mock.patch.dict(os.environ):
        runner.main(words)
    os.putenv("CUDA_VISIBLE_DEVICES", "")


def become(program, argv, env=None):
    """What a command turns into."""
    program = shutil.which(program) or program
    if os.getpid() != REPORT.process:
        return EXECUTE(program, argv, os.environ if env is None else env)
    os.environ.update(env or {})
    run([program, *argv[1:]])
    sys.exit()


def run_python(program, module, words):
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(SPEC.world_size), LOCAL_WORLD_SIZE=str(SPEC.nproc_per_node), GROUP_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="29500",
                      DS_ACCELERATOR="cuda", TORCHELASTIC_RUN_ID="rehearsal")
    if module:
        sys.argv, sys.path[0] = [module, *words], os.getcwd()
        return runpy.run_module(module, run_name="__main__", alter_sys=True)
    if not os.path.exists(program):
        program = shutil.which(program) or program
    with open(program, "rb") as file:
        first = file.readline(200)
    if first.startswith(b"#!") and b"python" not in first or first.startswith(b"\x7fELF"):
        raise NotPython(program)
    sys.argv, sys.path[0] = [program, *words], os.path.dirname(os.path.abspath(program))
    return runpy.run_path(program, run_name="__main__")


# ---- what went wrong, and whose fault it is ----

# A GPU is asked for in earnest.
OF_THE_GPU = re.compile(r"CUDA|cuda|nvcc|NVIDIA|nvidia|GPU\b|NCCL|[Tt]riton|libcu\w*\.so|driver")
# Weights have no values, and the type that they are made with, a collective has no partner.
OF_THE_PRETENCE = re.compile(r"\b[Mm]eta\W+(tensor|device|backend)|on meta\b|device\W+meta\b|data-(in)?dependent|Cannot copy out|\(os error \d+\)|FakeStore|fake backend|ProcessGroup|RehearsedEngine|"
                             r"SimpleNamespace|'Anything'|(Input type \(|scalar type\b|same dtype|Found dtype)(?!.*[Dd]ouble)")
OF_TYPES = re.compile(r"Input type \(|scalar type\b(?!s: Long)|same dtype|\bdtype")
OF_THE_NETWORK = re.compile(r"a rehearsal has no network|offline mode|couldn't connect|Couldn't reach|cannot find the requested files in the (local|disk) cache|Max retries exceeded|"
                            r"Name or service not known|Connection(Error| refused)|LocalEntryNotFound|OfflineModeIsEnabled|Cannot reach|Network is unreachable|[Kk]ernels hub has no")
# The sandbox stops a write in one of these ways, and another program that it stops only fails.
OF_THE_SANDBOX = re.compile(r"Read-only file system|readonly database|unable to open database file|Invalid cross-device link|File too large|^CalledProcessError", re.M)
OF_FILES = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError)


def chain_of(error, most=20):
    cause = error.__cause__ or error.__context__
    return [error, *chain_of(cause, most - 1)] if cause and most else [error]


def frames_of(error):
    return [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]


def words_of(error):
    """An error without words has those of its line."""
    return str(error) or "".join(frame.line for frame in frames_of(error)[-1:])


def where(error):
    """The innermost frames, last first."""
    return [{"file": frame.filename, "line": frame.lineno, "function": frame.name} for frame in reversed([it for it in frames_of(error) if it.filename != __file__][-5:])]


def judge(error):
    """`refused`: the trainer itself says no. `network`, `limit`: the pretence is why it fails. `unsure`: it may be."""
    said = "\n".join(f"{type(it).__name__}: {words_of(it)}" for it in chain_of(error))
    is_theirs = any(re.search(r"/(accelerate|deepspeed|peft|safetensors)/|/trainer\.py", frame.filename) and not re.match("_?load", frame.name) for frame in frames_of(error)[-1:])
    if MINIATURE.is_cut and not is_theirs and ("NoneType" in said or not isinstance(error, (AttributeError, ImportError, TypeError))):
        # What a longer loop would have set or counted may be missing.
        REPORT.tell("unread", text=f"after its first steps, with few rows of the data, it ends with {said}")
        return "unsure" if isinstance(error, (AttributeError, KeyError, RuntimeError, TypeError)) else "end"
    is_own_wish = SPEC.stays_offline and re.search("OfflineModeIsEnabled|offline mode", said) and "a rehearsal has no network" not in said
    if not SPEC.online and OF_THE_NETWORK.search(said) and not is_own_wish:
        return "network"
    for frame, line in list(traceback.walk_tb(error.__traceback__))[-1:]:
        _, before, verdict = ASKED.get(id(frame), (None, line + 1, None))
        if 0 <= line - before <= 40:
            REPORT.pretended = True
            return verdict  # It has just asked for something there, and says so in other words.
    if isinstance(error, (MemoryError, RecursionError, PermissionError)) or OF_THE_SANDBOX.search(said):
        return "unsure"
    if isinstance(error, OSError) and isinstance(error.filename, str):
        # Of what was written here. What is missing in a folder that was there before, or cannot be made because of a file that was, is real.
        path = os.path.abspath(error.filename)
        place = path if isinstance(error, FileExistsError) else os.path.dirname(path)
        if os.path.lexists(SPEC.written + place) and not os.access.__wrapped__(place, os.F_OK):
            return "unsure"
    if isinstance(error, (OnDisk, zipfile.BadZipFile)) or re.search(r"Error\(s\) in loading state_dict|PytorchStreamReader", said) and not MINIATURE.is_shrunk:
        return "refused"
    frames = frames_of(error)
    if isinstance(error, FileNotFoundError) and frames and frames[-1].filename.endswith("/subprocess.py"):
        return "unsure"  # A program that other machines may have.
    if isinstance(error, OF_FILES):  # What asks for files goes through functions of this file.
        frames = [frame for frame in frames if frame.filename != __file__] or frames
    if MINIATURE.is_here:  # Every operation of torch goes through one of them, and those of the miniature are real. What has no such attribute is asked by the one before.
        frames = [frame for frame in frames if frame.name not in ("__torch_function__", "__getattr__")]
    # Engines cast weights; only that of the miniature is real.
    if not frames or OF_THE_PRETENCE.search(said) and (REPORT.casts or not MINIATURE.is_here or not OF_TYPES.search(said)):
        return "unsure"
    # `--tuner_type cuda` is quoted by the refusal, and is no sign of a GPU.
    quoted = "|".join(re.escape(word) for word in sys.argv[1:] if word)
    if OF_THE_GPU.search(re.sub(rf"(?<!\w)({quoted})(?!\w)", "", said) if quoted else said):
        return "limit"
    last = frames[-1]
    # A call of ours may not be how this version is called, unless it hands on what it was given, or starts the script.
    handing_on = "__init__ __post_init__ Init from_pretrained save_checkpoint load_checkpoint <lambda> ending run run_python".split()
    if last.filename == __file__ and not (isinstance(error, TypeError) and last.name in handing_on[:6]):
        # An operation of torch, what DeepSpeed's own `initialize` begins with, a module that is not there, or a script that is no Python.
        return "refused" if isinstance(error, (AssertionError, ImportError, SyntaxError)) else "unsure"
    is_raised = re.match(r"\s*(raise|assert)\b", linecache.getline(last.filename, last.lineno))
    in_torch = re.search(r"/(torch|triton|bitsandbytes|flash_attn|vllm)/", last.filename)
    if MINIATURE.is_here:
        return judge_values(error, said, last, is_raised)
    if "initialize" in REPORT.passed:
        # Shapes are known here, values are not. What the code of a model or trainer raises about its arguments is real.
        is_argument = isinstance(error, TypeError) and re.search("unexpected keyword argument|required positional argument", said)
        return "refused" if is_argument or isinstance(error, OF_FILES) or is_raised and not REPORT.guessed and not in_torch else "unsure"
    is_ours = isinstance(error, TypeError) and any(frame.filename == __file__ and frame.name not in handing_on for frame in frames[-4:])
    if is_ours or "attribute 'ds_" in said or isinstance(error, NotImplementedError) or in_torch and isinstance(error, RuntimeError):
        return "unsure"
    return "refused"


# What a CPU is not or does not have.
OF_THE_PROCESSOR = re.compile(r"\bcpu\b|CPU|\bdevice|kernel|backend|[Cc]ompil|implemented for")


def judge_values(error, said, last, is_raised):
    """In the miniature. Before `initialize` the true model has had its say, but not of its parts. The memory of this machine says nothing about that of the launch."""
    if "initialize" not in REPORT.passed and (is_raised or "partitioned" not in REPORT.passed) or "can't allocate memory" in said:
        return "end" if "optimizer step" in REPORT.passed else "shapes"
    has_words = is_raised and str(error) or OF_TYPES.search(said)
    is_meant = has_words or isinstance(error, (ImportError, KeyError, ZeroDivisionError, ValueError, *OF_FILES)) or re.search(
        r"unexpected keyword argument|TypeError: .*'str'|does not require grad|dim\(\) cannot be 0", said)
    if is_raised and has_words and "/deepspeed/runtime/" in last.filename and "not supported" not in said:
        return "refused"  # It has looked at the config, the optimizer, the layers or the loss.
    if OF_THE_PROCESSOR.search(said):
        return "limit"  # The engine is not on a GPU.
    if re.search("/deepspeed/(?!runtime/state_dict_factory)|/torch/distributed/", last.filename) and not is_meant:
        return "unsure" if is_raised else "limit"  # It has no other ranks and no operators. The files of a checkpoint are real.
    if isinstance(error, NotImplementedError) or isinstance(error, AttributeError) and "/site-packages/" in last.filename:
        return "unsure"
    # Torch's own words about shapes and values may be of the smaller shapes, but not of those of the data.
    is_of_data = any(frame.name == "fetch" for frame in frames_of(error))
    return "refused" if is_raised or not isinstance(error, RuntimeError) or is_meant or is_of_data or not MINIATURE.is_shrunk else "unsure"


def agree(event, more):
    """How this process ended, or the miniature, where that knows more. Only what took its step there has arrived."""
    # Only this process reads a checkpoint of the true size.
    is_over = event in "refused network unable".split() and (REPORT.reached == "resuming" or "initialize" not in REPORT.passed)
    if MINIATURE.is_here or MINIATURE.process is None or is_over:
        return event, more
    told = MINIATURE.answer(max(50, time.time() - START))
    other = next((dict(it) for it in told if it["event"] in ENDINGS), {"event": "shapes", "message": "the first step took too long, or too much memory"})
    name = other.pop("event")
    steps = "forward,backward,optimizer step,evaluation,checkpoint,checkpoint read again".split(",")
    REPORT.tell("values", done=list(dict.fromkeys(it["event"] for it in told if it["event"] in steps)), ended_by=name, why=other.get("message"))
    for it in told:
        if it["event"] == "unread":
            REPORT.tell("note", text=it["text"])
        elif it["event"] == "initialize" and name == "end" and "initialize" not in REPORT.passed:
            REPORT.tell(**{**it, "parameters": None, "trainable": None})
    if event == "unsure" and more["type"] in "AssertionError AttributeError IndexError RuntimeError".split() and not REPORT.pretended and not OF_THE_PRETENCE.search(more["message"]):
        # What fails at the same place fails neither because of the shapes nor of the small model. What only the true size does not fit may be real.
        if name == event and more["place"] == other["place"]:
            return "refused", more
        if name == "end" and more["type"] not in "AssertionError AttributeError" and not REPORT.guessed and "initialize" in REPORT.passed:
            return event, more
    return (name, other) if event == "end" or name in ("end", "refused") or name == "limit" and event == "unsure" else (event, more)


def last_line():
    """What the trainer printed last, which is why it ended: parsers print what is wrong."""
    sys.stderr.flush()
    with open("/proc/self/fd/2", errors="replace") as file:
        lines = ["", *filter(str.strip, file.read()[-4000:].splitlines())]
    return next((line for line in reversed(lines) if "error:" in line.lower()), lines[-1])


def finish():
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    os._exit(0)  # Threads of trackers and loaders would keep the process alive.


def main():
    pretend_outside()
    sys.meta_path.insert(0, Finder())
    REPORT.tell("start")
    event, more = agree(*ending())
    REPORT.tell(event, **{**more, "transformers": "transformers" in sys.modules})


def ending():
    try:
        run(SPEC.argv)
    except Arrived as arrived:
        return "end", {"why": str(arrived)}
    except NotPython as error:
        return "unable", {"program": str(error)}
    except SystemExit as ended:
        if ended.code not in (None, 0) and not MINIATURE.is_cut:
            return "refused", {"type": "SystemExit", "message": ended.code if isinstance(ended.code, str) else last_line(), "where": where(ended)}
    except BaseException as error:
        traceback.print_exc()
        told = next(filter(None, map(words_of, chain_of(error))), error)
        place = next((f"{it.filename}:{it.lineno}" for it in reversed(frames_of(error)) if not re.search(f"/torch/|{__file__}", it.filename)), None)
        return judge(error), {"place": place, "type": None if isinstance(error, OnDisk) else type(error).__name__, "message": str(told), "where": where(error)}
    return "end", {}


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as spec:
        SPEC = Spec(**json.load(spec))
    REPORT = Report()
    main()
    finish()
