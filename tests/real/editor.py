#!/usr/bin/env python3
"""What `zlaunch schema` says, asked of real validators and editors.

`agreement` spoils the configs of the corpus in many ways and compares jsonschema's verdict with what `zlaunch check` says about keys,
types and ranges. `language_server` asks the JSON server of VS Code for completions and a hover, `real_neovim` lets Neovim ask it. `pre_commit` and
`pre_commit_builds_it` run the hooks of this repository. What is downloaded is kept beside the environments of `setup`.
"""
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from check_agreement import Mutator, schema_keys
from harness import DEEPSPEED_VERSIONS, ROOT, Skip, check, import_from, needs, node_modules, programs, run, run_checks

# The rules of `check` that a schema can say. The rest is about combinations, the machine or the command.
RULES = {"unknown-key", "ignored-key", "removed-key", "two-names", "wrong-type", "wrong-value", "odd-value", "batch-size", "auto"}
# Both sides of pydantic 2, of the strict sections, and of what was removed.
VERSIONS = ["0.14.3", "0.16.9", "0.17.5", "0.19.5", "0.19.8"]
# The JSON server of VS Code, as its makers last published it alone, and as it is taken out of VS Code for other editors. The first knows 2020-12 only in part.
SERVERS = {"vscode-json-languageserver": "vscode-json-languageserver@1.3.4", "vscode-json-language-server": "vscode-langservers-extracted@4.10.0"}


def schema(options, *more, **variables):
    return json.loads(run(options.bin, "schema", *more, env={"PATH": "/usr/bin:/bin", **variables}).stdout)


def configs(options):
    """The configs of the corpus that can be read, as they are."""
    for path in sorted((options.corpus / "configs").iterdir()):
        result = subprocess.run([options.bin, "templates", path.resolve()], env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if result.returncode == 0:
            yield path.name, json.loads(result.stdout)


def verdicts(options, files, folder, version):
    """What `check` says about the keys, types and ranges of each file, where this DeepSpeed is installed."""
    site = folder / f"env/lib/python3.11/site-packages/deepspeed-{version}.dist-info"
    site.mkdir(parents=True, exist_ok=True)
    (folder / "env/bin").mkdir(exist_ok=True)
    python = folder / "env/bin/python3"
    if not python.exists():
        python.write_text("#!/bin/sh\n")
        python.chmod(0o755)
        (folder / "env/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.0\n")
    env = {"PATH": f"{folder}/env/bin:/usr/bin:/bin", "HOME": str(folder)}
    found = {name: [] for name in files}
    result = subprocess.run([options.bin, "check", "--format", "json", *files], env=env, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert result.returncode in (0, 1), result
    for it in json.loads(result.stdout)["diagnostics"]:
        if it["rule"] in RULES:
            found[Path(re.split(r"[:,]", it["where"][0])[0]).name].append(f"{it['rule']}: {it['message']}")
    shutil.rmtree(site)
    return found


@check
def agreement(options):
    if not options.corpus:
        raise Skip("there is no corpus here; name one with --corpus")
    validators = import_from("editor", "jsonschema")
    originals = dict(configs(options))
    told = []
    refused = total = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for version in VERSIONS:
            made, mutator = schema(options, "--deepspeed-version", version), Mutator(version, list(originals.values()), schema_keys())
            files = {f"o{number}.json": config for number, config in enumerate(originals.values())}
            files |= {f"s{number}.json": mutator.case() for number in range(options.cases // len(VERSIONS))}
            for name, config in files.items():
                (folder / name).write_text(json.dumps(config))
            validator = validators.Draft202012Validator(made)
            said = verdicts(options, files, folder, version)
            for name, config in files.items():
                errors = [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in validator.iter_errors(config)]
                total += 1
                refused += bool(errors)
                if bool(errors) != bool(said[name]):
                    told.append(f"{version} {name} schema {errors} check {said[name]}\n  {json.dumps(config)}")
    assert not told, f"{len(told)} of {total} disagree\n" + "\n".join(told[:options.shown])
    return f"{total} configs, {refused} of them refused, 0 disagreements"


@check
def every_version_has_a_schema(options):
    validators = import_from("editor", "jsonschema")
    for version in DEEPSPEED_VERSIONS:
        for more in ([], ["--template"]):
            validators.Draft202012Validator.check_schema(schema(options, "--deepspeed-version", version, *more))
    chinese = schema(options, ZLAUNCH_LANG="zh")
    described = [it["description"] for it in chinese["properties"].values() if "description" in it]
    assert len(described) > 60 and sum("，" in text or "。" in text for text in described) > 10, described
    return f"{len(DEEPSPEED_VERSIONS)} versions"


@check
def our_templates_are_valid(options):
    made = schema(options, "--template")
    validator = import_from("editor", "jsonschema").Draft202012Validator(made)
    for path in sorted((ROOT / "templates").iterdir()):
        errors = [error.message for error in validator.iter_errors(json.loads(path.read_text()))]
        assert not errors, f"{path.name}: {errors}"
    wrong = [{"$zlaunch": {"extend": "zero3"}}, {"$zlaunch": {"extends": "a/b"}}, {"$zlaunch": {"env": {"A": True}}}, {"$zlaunch": []}, {"zero_optimization": {"stage": 4}}]
    assert not [config for config in wrong if validator.is_valid(config)]
    assert validator.is_valid({"$zlaunch": {"extends": "zero3"}, "gradient_clipping": None, "zero_optimization": {"offload_param": None, "overlap_comm": None}})


class LanguageServer:
    """The JSON server of VS Code, spoken to as an editor does."""

    def __init__(self, name, folder, schemas=()):
        self.process = subprocess.Popen([node_modules(SERVERS[name]) / ".bin" / name, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.folder, self.number, self.shown = folder, 0, {}
        text = {"completion": {"completionItem": {"snippetSupport": True, "documentationFormat": ["markdown", "plaintext"]}}, "hover": {"contentFormat": ["plaintext"]}}
        self.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {"textDocument": text}})
        self.say("initialized", {})
        self.say("workspace/didChangeConfiguration", {"settings": {"json": {"validate": {"enable": True}, "schemas": list(schemas)}}})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while (line := self.process.stdout.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message = json.loads(self.process.stdout.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            self.shown[Path(message["params"]["uri"]).name] = message["params"]["diagnostics"]
        elif "method" in message and "id" in message:
            self.send({"id": message["id"], "result": None})
        return message

    def say(self, method, params):
        self.send({"method": method, "params": params})

    def ask(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while (message := self.receive()).get("id") != self.number or "method" in message:
            pass
        assert "error" not in message, message
        return message["result"]

    def opened(self, name, text):
        """A document in which `|` is the cursor: its position, as parameters."""
        before = text.split("|")[0]
        uri = (self.folder / name).as_uri()
        self.say("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "json", "version": 1, "text": text.replace("|", "")}})
        return {"textDocument": {"uri": uri}, "position": {"line": before.count("\n"), "character": len(before.rsplit("\n", 1)[-1])}}

    def problems(self, name, text):
        self.shown.pop(name, None)
        self.opened(name, text)
        while name not in self.shown:
            self.receive()
        return [it["message"] for it in self.shown[name]]

    def completed(self, name, text):
        answer = self.ask("textDocument/completion", self.opened(name, text))
        return {item["label"].strip('"'): item for item in answer["items"]}


def documented(info):
    """A block of docs/editors-and-python.md."""
    return re.search(rf"```{re.escape(info)}\n(.*?)```", (ROOT / "docs/editors-and-python.md").read_text(), re.S)[1]


def with_servers(options, told):
    """Each server in a folder with the schemas that docs/editors-and-python.md makes there."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder).resolve()
        (folder / "bin").mkdir()
        (folder / "bin/zlaunch").symlink_to(options.bin)
        run("sh", "-c", documented("sh tests/real/editor.py"), cwd=folder, env={"PATH": f"{folder}/bin:/usr/bin:/bin"})
        # VS Code itself puts the folder in front of an address that is relative.
        schemas = [{**it, "url": (folder / it["url"]).as_uri()} for it in json.loads(documented("json .vscode/settings.json"))["json.schemas"]]
        for name in SERVERS:
            server = LanguageServer(name, folder, schemas)
            try:
                told(name, server)
            finally:
                server.process.kill()
                server.process.wait()


@check
def language_server(options):
    """Completion and hover by the line in the config and by the settings; what is wrong is underlined, and nothing else."""
    head = '{"$schema": "./deepspeed.schema.json", '
    counted = []

    def told(name, server):
        for file, start in (("x.json", head), ("ds_settings.json", "{")):
            keys = server.completed(f"{file}.1.json", start + '"zero_optimization": {"stage": 3, |}}') if start == head else server.completed(file, start + '"zero_optimization": {"stage": 3, |}}')
            assert {"overlap_comm", "offload_param", "stage3_prefetch_bucket_size"} <= set(keys) and "mics_shard_size" not in keys, (name, file, sorted(keys))
            counted.append(len(keys))
        assert {"none", "cpu", "nvme"} <= set(server.completed("values.json", head + '"zero_optimization": {"offload_param": {"device": |}}}'))
        assert {"0", "1", "2", "3", "auto"} <= set(server.completed("stage.json", head + '"zero_optimization": {"stage": |}}'))
        hover = server.ask("textDocument/hover", server.opened("hover.json", head + '"zero_optimization": {"overlap|_comm": true}}'))
        assert "Reduces gradients" in json.dumps(hover["contents"]), hover
        header = '{"$schema": "./template.schema.json", "$zlaunch": {|}}'
        assert {"extends", "env", "about"} <= set(server.completed("template.json", header)), name
        if name == "vscode-json-languageserver":
            return
        assert server.problems("good.json", documented("json ds_zero2.json")) == []
        assert server.problems("auto.json", head + '"zero_optimization": {"stage": "auto"}, "bf16": {"enabled": "auto"}, "_comment": 1}') == []
        for number, spoilt in enumerate(('"zero_optimization": {"stage": 4}', '"zero_optimization": {"overlap_com": true}', '"zero_optimisation": {}', '"train_batch_size": "4"',
                                         '"amp": {"enabled": false}', '"bfloat16": {"enabled": true}')):
            assert server.problems(f"bad{number}.json", head + spoilt + "}"), spoilt

    with_servers(options, told)
    return f"{len(SERVERS)} servers, {min(counted)} completions of zero_optimization"


# Opens a file at a place, waits for the server and prints its answer.
ASKING = """
vim.cmd.edit("ds_asked.json")
assert(vim.wait(30000, function() return #vim.lsp.get_clients({ bufnr = 0 }) > 0 end), "no server")
local function ask(method, line, character)
  local params = { textDocument = vim.lsp.util.make_text_document_params(0), position = { line = line, character = character } }
  local answers = vim.lsp.buf_request_sync(0, method, params, 30000)
  for _, answer in pairs(answers or {}) do return answer.result end
end
local names = {}
for _, item in ipairs(ask("textDocument/completion", 2, 4).items) do table.insert(names, item.label) end
assert(vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 end), "nothing is underlined")
local answer = { names = names, hover = ask("textDocument/hover", 1, 30), shown = vim.diagnostic.get(0)[1].message }
io.stdout:write("ANSWER " .. vim.json.encode(answer) .. "\\n")
"""


@check
def real_neovim(options):
    """Neovim itself, with the lines of docs/editors-and-python.md: completion, hover and an underlined mistake."""
    server = node_modules(SERVERS["vscode-json-language-server"])
    needs("nvim")
    version = run("nvim", "--version").stdout.splitlines()[0]
    if [int(part) for part in re.search(r"v(\d+)\.(\d+)", version).groups()] < [0, 11]:
        raise Skip(f"{version} is too old")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder).resolve()
        (folder / "deepspeed.schema.json").write_text(json.dumps(schema(options)))
        (folder / "init.lua").write_text(documented("text").replace("/home/me", str(folder)))
        (folder / "ask.lua").write_text(ASKING)
        (folder / "ds_asked.json").write_text('{"zero_optimization": {"stage": 4,\n    "overlap_comm": true, "reduce_bucket_size": 1,\n    \n}}\n')
        env = {"PATH": f"{server}/.bin:{os.environ['PATH']}", "HOME": str(folder)}
        said = subprocess.run(["nvim", "--headless", "-i", "NONE", "-u", "init.lua", "-c", "luafile ask.lua", "-c", "qa!"], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=120).stdout
        assert "ANSWER " in said, said
        answer = json.loads(re.search(r"ANSWER (.*)", said)[1])
        names = {label.strip('" ') for label in answer["names"]}
        assert {"offload_param", "stage3_prefetch_bucket_size"} <= names, names
        assert "Elements of gradients" in json.dumps(answer["hover"]), answer["hover"]
        assert answer["shown"], answer
    return f"{version}, {len(names)} completions, underlined: {answer['shown']}"


@contextlib.contextmanager
def team(options):
    """A repository with a right config: its folder, and the variables for commands in it."""
    needs("git")
    with tempfile.TemporaryDirectory() as folder:
        team, folder = Path(folder) / "team", Path(folder)
        (team / "configs").mkdir(parents=True)
        (folder / "bin").mkdir()
        (folder / "bin/zlaunch").symlink_to(options.bin)
        env = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": str(folder), "PRE_COMMIT_HOME": str(folder / "cache"), "GIT_CONFIG_GLOBAL": "/dev/null",
               **{f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}
        run("git", "init", "--quiet", team, env=env)
        (team / "configs/ds_good.json").write_text('{"$schema": "x", "zero_optimization": {"stage": 2}}')
        (team / "data.json").write_text('{"not": "a config"}')
        run("git", "add", ".", cwd=team, env=env)
        yield team, env


def hook(words, team, env, status):
    """What pre-commit prints for all files."""
    return run(programs("editor") / "bin/pre-commit", "try-repo", *words, "--all-files", "--verbose", cwd=team, env=env, status=status).stdout


def stops_wrong_configs(words, team, env):
    (team / "configs/ds_bad.json").write_text('{"zero_optimization": {"stage": 4}}')
    (team / "deepspeed_config.json").write_text('{"fp16": {"enabled": true}, "bf16": {"enabled": true}}')
    run("git", "add", ".", cwd=team, env=env)
    bad = hook(words, team, env, status=1)
    assert "configs/ds_bad.json:1:" in bad and "two-precisions" in bad and "ds_good.json" in bad and "data.json" not in bad, bad
    return "2 wrong configs are stopped"


@check
def pre_commit(options):
    """The hook of this repository for the zlaunch that is installed."""
    with team(options) as (folder, env):
        # The hooks as they are in the working tree, which need not be committed yet.
        source = folder.parent / "zlaunch"
        source.mkdir()
        shutil.copy(ROOT / ".pre-commit-hooks.yaml", source)
        run("git", "init", "--quiet", source, env=env)
        run("git", "add", ".", cwd=source, env=env)
        run("git", "commit", "--quiet", "-m", "hooks", cwd=source, env=env)
        words = [source, "zlaunch-check-installed"]
        assert "0 errors" in hook(words, folder, env, status=0)
        return stops_wrong_configs(words, folder, env)


@check
def pre_commit_builds_it(options):
    """The other hook, as it is committed. Where there is no Rust, maturin fetches it."""
    with team(options) as (folder, env):
        inherited = {name: os.environ[name] for name in ("SSL_CERT_FILE", "PIP_CERT") if name in os.environ}
        homes = {name: os.environ.get(name, str(Path.home() / place)) for name, place in (("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo"))}
        return stops_wrong_configs([ROOT, "zlaunch-check"], folder, env | inherited | homes | {"CARGO_TARGET_DIR": str(ROOT / "target/pre-commit")})


if __name__ == "__main__":
    # How many configs are spoilt, and how many disagreements are printed.
    run_checks(__doc__, "bin", "corpus", cases=3000, shown=12)
