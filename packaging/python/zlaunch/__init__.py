"""zlaunch from Python, for notebooks, Ray, Modal and your own scripts.

    import zlaunch
    args = TrainingArguments(deepspeed=zlaunch.config("zero3_offload", set={"zero_optimization.overlap_comm": True}), ...)
    plan = zlaunch.plan(["swift", "sft", "--model", "Qwen/Qwen3-8B"], deepspeed="zero2", nproc_per_node=8)
    zlaunch.fit(params="8B", gpus=8, gpu_memory="80GiB")

Each function calls the executable installed with this package and returns its JSON. Keyword arguments are command-line options:
`nproc_per_node=8` is `--nproc-per-node 8`, True is a switch, a list repeats the option, a dict is `KEY=VALUE` for each item, and None is
ignored. Where the command line would refuse, these functions raise `Refused`.
"""
import json
import os
import shlex
import subprocess
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._executable import places

__all__ = ["Refused", "__version__", "config", "fit", "plan"]

Path = Union[str, "os.PathLike[str]"]
Value = Union[None, bool, int, float, Path, Sequence[Path], Mapping[str, Any]]
# They describe a launch from the command line, not the config requested here.
_OF_A_LAUNCH = ("ZLAUNCH_DEEPSPEED", "ZLAUNCH_PATCH", "ZLAUNCH_SET", "ZLAUNCH_UNSET")


class Refused(Exception):
    """zlaunch would refuse this on the command line, with the same text.

    `diagnostics` has everything found, errors first: dicts with `rule`, `severity`, `message`, `where`, `help`. `status` is the exit status.
    """

    def __init__(self, text: str, diagnostics: List[Dict[str, Any]], status: int) -> None:
        super().__init__(text)
        self.diagnostics = diagnostics
        self.status = status


__version__: str
# Not for type checkers, for which every name would exist.
if not TYPE_CHECKING:

    def __getattr__(name):
        """`__version__` is the executable's, asked for when it is read."""
        if name == "__version__":
            return _run(["--version"]).stdout.split()[-1]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def config(
    name: Union[Path, Mapping[str, Any]],
    *,
    set: Optional[Mapping[str, Any]] = None,
    unset: Sequence[str] = (),
    patch: Union[Path, Sequence[Path]] = (),
    template_dir: Union[Path, Sequence[Path]] = (),
    strict: bool = False,
    allow: Sequence[str] = (),
) -> Dict[str, Any]:
    """The DeepSpeed config of a template, a file or a dict, changed by `set`, `unset` and `patch`.

    It is checked by the rules of the installed DeepSpeed. "auto" values are left to the trainer.
    """
    spec = json.dumps(name) if isinstance(name, Mapping) else os.fspath(name)
    layers = list(_options(template_dir=template_dir, patch=patch, unset=unset, set=set))
    environment = {key: value for key, value in os.environ.items() if key not in _OF_A_LAUNCH}
    switches = list(_options(strict=strict, allow=allow))
    _ask(["check", "--format=json", f"--deepspeed={spec}", *layers, *switches], {0}, environment)
    resolved: Dict[str, Any] = _ask(["templates", *layers, "--", spec], {0}, environment)
    return resolved


def plan(command: Union[str, Sequence[Path]], **options: Value) -> Dict[str, Any]:
    """What `zlaunch OPTIONS -- COMMAND` would do: the config, the ranks, the environment and the arguments.

    The command is a list of arguments, or a string as typed into a shell. Nothing is launched. `docs/reference.md` lists the options;
    `deepspeed` may also be a dict.
    """
    answer: Dict[str, Any] = _ask(["--dry-run", "--format=json", *_options(**options), "--", *_words(command)], {0})
    return answer


def fit(command: Union[str, Sequence[Path]] = (), **options: Value) -> Dict[str, Any]:
    """Whether a run fits: the memory each template needs, and which one to use. `docs/memory.md` lists the options."""
    after = ["--", *_words(command)] if command else []
    # 1: nothing fits, which is an answer.
    answer: Dict[str, Any] = _ask(["fit", "--format=json", *_options(**options), *after], {0, 1})
    return answer


def _words(command: Union[str, Sequence[Path]]) -> List[str]:
    return shlex.split(command) if isinstance(command, str) else [os.fspath(word) for word in command]


def _options(**options: Value) -> Iterator[str]:
    """Keyword arguments as command-line arguments."""
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            yield flag
        elif isinstance(value, Mapping) and name == "deepspeed":
            yield f"{flag}={json.dumps(value)}"
        elif isinstance(value, Mapping):
            yield from (f"{flag}={key}={_text(name, item)}" for key, item in value.items())
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield from (f"{flag}={os.fspath(item)}" for item in value)
        else:
            yield f"{flag}={value if isinstance(value, (int, float)) else os.fspath(value)}"


def _text(option: str, item: Any) -> str:
    """An item of `set` is JSON; one of `env` is the text itself."""
    return json.dumps(item) if option == "set" else str(item)


def _run(words: List[str], environment: Optional[Mapping[str, str]] = None) -> "subprocess.CompletedProcess[str]":
    looked = places()
    program = next((program for program in looked if os.access(program, os.X_OK) and os.path.isfile(program)), None)
    if program is None:
        raise FileNotFoundError(f"the executable of zlaunch is not installed: {', '.join(looked)}\nhelp: pip install --force-reinstall zlaunch")
    return subprocess.run([program, *words], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, encoding="utf-8", errors="replace")


def _ask(words: List[str], answers: "set[int]", environment: Optional[Mapping[str, str]] = None) -> Any:
    """The JSON that the executable prints, if it ends with one of these statuses."""
    asked = _run(words, environment)
    if asked.returncode in answers:
        return json.loads(asked.stdout)
    try:
        diagnostics: List[Dict[str, Any]] = json.loads(asked.stdout)["diagnostics"]
    except (ValueError, KeyError):
        diagnostics = []
    diagnostics.sort(key=lambda it: ["error", "warning", "note"].index(it["severity"]))
    text = asked.stderr.strip() or "\n".join(_sentences(it) for it in diagnostics if it["severity"] != "note")
    raise Refused(text, diagnostics, asked.returncode)


def _sentences(it: Dict[str, Any]) -> str:
    """A diagnostic as the command line prints it."""
    name = f"[{it['rule']}]"
    places = [f"  --> {place}" for place in it["where"]]
    return "\n".join([f"{it['severity']}{name}: {it['message']}", *places, *([f"  help: {it['help']}"] if it["help"] else [])])
