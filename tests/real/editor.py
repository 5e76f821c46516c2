#!/usr/bin/env python3
"""What `zlaunch schema` says, asked of real validators and editors.

`language_server` asks the JSON server of VS Code, which other editors use too, for completions, a hover and what it underlines. `pre_commit` runs the
hook of this repository. What is downloaded is kept beside the environments of `setup`. That the schema says what `check` says: check_agreement.py.
"""
import contextlib
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

from harness import DEEPSPEED_VERSIONS, ROOT, check, import_from, needs, node_modules, programs, run, run_checks

# As it is taken out of VS Code for other editors.
SERVER, PACKAGE = "vscode-json-language-server", "vscode-langservers-extracted@4.10.0"


def schema(options, *more, **variables):
    return json.loads(run(options.bin, "schema", *more, env={"PATH": "/usr/bin:/bin", **variables}).stdout)


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

    def __init__(self, folder, schemas=()):
        self.process = subprocess.Popen([node_modules(PACKAGE) / ".bin" / SERVER, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
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


@contextlib.contextmanager
def language_server_in(options, folder):
    """The server in a folder with the schemas that docs/editors-and-python.md makes there."""
    (folder / "bin").mkdir()
    (folder / "bin/zlaunch").symlink_to(options.bin)
    run("sh", "-c", documented("sh tests/real/editor.py"), cwd=folder, env={"PATH": f"{folder}/bin:/usr/bin:/bin"})
    # VS Code itself puts the folder in front of an address that is relative.
    schemas = [{**it, "url": (folder / it["url"]).as_uri()} for it in json.loads(documented("json .vscode/settings.json"))["json.schemas"]]
    server = LanguageServer(folder, schemas)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()


@check
def language_server(options):
    """Completion and hover by the line in the config and by the settings; what is wrong is underlined, and nothing else."""
    head = '{"$schema": "./deepspeed.schema.json", '
    with tempfile.TemporaryDirectory() as folder, language_server_in(options, Path(folder).resolve()) as server:
        for file, start in (("x.json", head), ("ds_settings.json", "{")):
            keys = server.completed(file, start + '"zero_optimization": {"stage": 3, |}}')
            assert {"overlap_comm", "offload_param", "stage3_prefetch_bucket_size"} <= set(keys) and "mics_shard_size" not in keys, (file, sorted(keys))
        assert {"none", "cpu", "nvme"} <= set(server.completed("values.json", head + '"zero_optimization": {"offload_param": {"device": |}}}'))
        assert {"0", "1", "2", "3", "auto"} <= set(server.completed("stage.json", head + '"zero_optimization": {"stage": |}}'))
        hover = server.ask("textDocument/hover", server.opened("hover.json", head + '"zero_optimization": {"overlap|_comm": true}}'))
        assert "Reduces gradients" in json.dumps(hover["contents"]), hover
        assert {"extends", "env", "about"} <= set(server.completed("template.json", '{"$schema": "./template.schema.json", "$zlaunch": {|}}'))
        assert server.problems("good.json", documented("json ds_zero2.json")) == []
        assert server.problems("auto.json", head + '"zero_optimization": {"stage": "auto"}, "bf16": {"enabled": "auto"}, "_comment": 1}') == []
        for number, spoilt in enumerate(('"zero_optimization": {"stage": 4}', '"zero_optimization": {"overlap_com": true}', '"zero_optimisation": {}', '"train_batch_size": "4"',
                                         '"amp": {"enabled": false}', '"bfloat16": {"enabled": true}')):
            assert server.problems(f"bad{number}.json", head + spoilt + "}"), spoilt
    return f"{len(keys)} completions of zero_optimization"


@check
def pre_commit(options):
    """The hook of this repository for the zlaunch that is installed, in a repository with a right config and two wrong ones."""
    needs("git")
    with tempfile.TemporaryDirectory() as folder:
        folder, hook = Path(folder), programs("editor") / "bin/pre-commit"
        env = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "HOME": str(folder), "PRE_COMMIT_HOME": str(folder / "cache"), "GIT_CONFIG_GLOBAL": "/dev/null",
               **{f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}
        (folder / "bin").mkdir()
        (folder / "bin/zlaunch").symlink_to(options.bin)

        def committed(place, files):
            for name, text in files.items():
                (folder / place / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / place / name).write_text(text)
            for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "files"]):
                run("git", *words, cwd=folder / place, env=env)

        def hooked(status):
            return run(hook, "try-repo", folder / "zlaunch", "zlaunch-check-installed", "--all-files", "--verbose", cwd=folder / "team", env=env, status=status).stdout

        # The hooks as they are in the working tree, which need not be committed yet.
        committed("zlaunch", {".pre-commit-hooks.yaml": (ROOT / ".pre-commit-hooks.yaml").read_text()})
        committed("team", {"configs/ds_good.json": '{"$schema": "x", "zero_optimization": {"stage": 2}}', "data.json": '{"not": "a config"}'})
        assert "0 errors" in hooked(status=0)
        committed("team", {"configs/ds_bad.json": '{"zero_optimization": {"stage": 4}}', "deepspeed_config.json": '{"fp16": {"enabled": true}, "bf16": {"enabled": true}}'})
        bad = hooked(status=1)
        assert "configs/ds_bad.json:1:" in bad and "two-precisions" in bad and "ds_good.json" in bad and "data.json" not in bad, bad
    return "2 wrong configs are stopped"


if __name__ == "__main__":
    run_checks(__doc__, "bin")
