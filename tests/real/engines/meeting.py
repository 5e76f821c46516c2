"""A layout of ranks under an engine, and how it must end.

Placed: every rank of one world met all others (an all_reduce over gloo), none twice. Refused: zlaunch says why in every task, with a help,
and nothing ran. Ranks that train alone, meet the wrong ones or wait for ever are what fails.
"""
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import HERE, ended, free_port, port_was_taken  # noqa: E402

RANK = HERE / "engines/rank.py"
AS_ROOT = {name: "1" for start in ("OMPI", "PRTE") for name in (f"{start}_ALLOW_RUN_AS_ROOT", f"{start}_ALLOW_RUN_AS_ROOT_CONFIRM")}


class Lab:
    def __init__(self, folder, binary, env):
        self.folder, self.binary, self.env = folder, binary, env
        for name in ("home", "tmp"):
            (folder / name).mkdir()
        self.python = env / "bin/python"
        self.launch = [str(binary), "--", str(self.python), str(RANK)]

    def environment(self, path=(), **more):
        path = ":".join([*map(str, path), f"{self.env}/bin:/usr/sbin:/usr/bin:/sbin:/bin"])
        return {"PATH": path, "HOME": f"{self.folder}/home", "TMPDIR": f"{self.folder}/tmp", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo",
                "TORCH_DISABLE_ADDR2LINE": "1"} | AS_ROOT | {name: str(value) for name, value in more.items()}

    def run(self, command, ranks, path=(), **variables):
        """Starts it, and says how it ended."""
        met, status, output = self.start(command, path, **variables)
        return self.judge(found_in(met), ranks, status, output)

    def start(self, command, path=(), **variables):
        """Until it did not lose a port to somebody else."""
        for _ in range(3):
            met = Path(tempfile.mkdtemp(prefix="met-", dir=self.folder))
            env = self.environment(path, MET=met, **variables)
            status, output = ended([word for word in command(env) if word != ""], env, self.folder / "home")
            if not port_was_taken(output):
                break
            if "MASTER_PORT" in variables:
                variables["MASTER_PORT"] = free_port()
        return met, status, output

    def judge(self, found, ranks, status, output):
        if not found and isinstance(status, int) and status != 0 and "error" in output and "help:" in output:
            why = next(line for line in output.splitlines() if "error" in line)
            return f"refused: {why.rsplit('error: ', 1)[-1]}"
        places = sorted((it["rank"], it["world"]) for it in found)
        assert places == [(rank, ranks) for rank in range(ranks)], f"exit {status}, wanted {ranks} ranks of one world, met: {found}\n{output[-3000:]}"
        assert all(it["sum"] == ranks * (ranks + 1) / 2 for it in found), found
        assert len({it["port"] for it in found}) == 1, found
        assert status == 0, f"exit {status}\n{output[-3000:]}"
        return f"{ranks} ranks met"


def found_in(folder):
    """What each rank wrote down."""
    return [json.loads(file.read_text()) for file in folder.glob("*.json")]
