#!/usr/bin/env python3
"""What `zlaunch schema` says, asked of a real validator.

`pre_commit` runs the hook of this repository. What is downloaded is kept beside the environments of `setup`. That the schema says what `check` says: check_agreement.py.
"""
import json
import os
import re
import tempfile
from pathlib import Path

from harness import DEEPSPEED_LINES, ROOT, check, import_from, needs, programs, run, run_checks


def schema(options, *more, **variables):
    return json.loads(run(options.bin, "schema", *more, env={"PATH": "/usr/bin:/bin", **variables}).stdout)


@check
def every_version_has_a_schema(options):
    validators = import_from("editor", "jsonschema")
    for version in DEEPSPEED_LINES:
        validators.Draft202012Validator.check_schema(schema(options, "--deepspeed-version", version))
    chinese = schema(options, ZLAUNCH_LANG="zh")
    described = [it["description"] for it in chinese["properties"].values() if "description" in it]
    assert len(described) > 60 and sum("，" in text or "。" in text for text in described) > 10, described
    return f"{len(DEEPSPEED_LINES)} versions"


def documented(info):
    """A block of docs/editors-and-python.md."""
    return re.search(rf"```{re.escape(info)}\n(.*?)```", (ROOT / "docs/editors-and-python.md").read_text(), re.S)[1]


@check
def what_the_document_shows(options):
    """The schema that docs/editors-and-python.md makes takes its config, and the mistakes of configs are its too."""
    jsonschema = import_from("editor", "jsonschema")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "zlaunch").symlink_to(options.bin)
        run("sh", "-c", documented("sh tests/real/editor.py"), cwd=folder, env={"PATH": f"{folder}:/usr/bin:/bin"})
        made = json.loads((Path(folder) / "deepspeed.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(made)
    assert not list(validator.iter_errors(json.loads(documented("json ds_zero2.json"))))
    assert not list(validator.iter_errors({"zero_optimization": {"stage": "auto"}, "bf16": {"enabled": "auto"}, "_comment": 1}))
    for spoilt in ({"zero_optimization": {"stage": 4}}, {"zero_optimization": {"overlap_com": True}}, {"zero_optimisation": {}}, {"train_batch_size": "4"}, {"amp": {"enabled": False}}):
        assert list(validator.iter_errors(spoilt)), spoilt
    # What an editor completes and explains.
    zero = made["properties"]["zero_optimization"]
    assert "Reduces gradients" in json.dumps(zero)


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
