//! How commands and scripts are read.

mod inputs {
    use std::ffi::OsString;

    use crate::invariants::fake::Sandbox;
    use zlaunch::testing::argv::Args;
    use zlaunch::testing::command_tables::{Input, Reads};
    use zlaunch::testing::input_paths::missing;

    fn input(name: &'static str, reads: Reads) -> Input {
        Input {
            names: Box::leak(Box::new([name])),
            reads,
            certain: true,
        }
    }

    #[test]
    fn values_are_looked_for_as_the_trainers_do() {
        let sandbox = Sandbox::bare();
        sandbox.file("m/sub/config.json", "{}");
        sandbox.file("a#b.jsonl", "");
        sandbox.put("home/m/config.json", "{}");
        let host = sandbox.host();
        let missing = |input: &Input, line: &str| {
            let args = Args::read(line.split(' ').map(OsString::from).collect(), &[]);
            let found = missing(std::slice::from_ref(input), &args, &host);
            found
                .iter()
                .map(|it| it.value.clone())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let model = input("model", Reads::SwiftModel);
        for there in [
            "--model ./m",
            "--model=./m:sub",
            "--model ~/m",
            "--model org/name",
            "--model m",
            "--x ./no",
            "--model s3://b/m",
        ] {
            assert_eq!(missing(&model, there), "", "{there}");
        }
        assert_eq!(missing(&model, "--model ./no"), "./no");
        assert_eq!(missing(&model, "--model ./m:no"), "./m:no");
        assert_eq!(
            missing(&model, "--model ./no --model ./m"),
            "",
            "the last one wins"
        );
        let dataset = input("dataset", Reads::SwiftDataset);
        assert_eq!(
            missing(
                &dataset,
                "--dataset ./a#b.jsonl ./a#b.jsonl#100 ./m:sub#5 AI/x:zh#5"
            ),
            ""
        );
        assert_eq!(
            missing(
                &dataset,
                "--dataset ./a#b.jsonl ./no.jsonl#100 ~/m ~/n --y 1"
            ),
            "./no.jsonl#100 ~/n"
        );
        assert_eq!(
            missing(&input("model", Reads::Plain), "--model=~/m"),
            "~/m",
            "nobody expands it"
        );
        assert_eq!(
            missing(&input("adapters", Reads::Commas), "--adapters=./m,./no"),
            "./no"
        );
        assert_eq!(
            missing(
                &input("train_file", Reads::Plain),
                "--train_file ${DATA}/x --train_file ./m/*.json"
            ),
            ""
        );
    }
}

mod script_source {
    use crate::invariants::fake::Sandbox;
    use std::ffi::OsStr;
    use zlaunch::testing::script::*;

    #[test]
    fn modules_of_the_scripts_own_folder_are_read() {
        let sandbox = Sandbox::bare();
        sandbox.file(
            "src/train.py",
            "import os, engine\nfrom pkg.build import (\n    one,\n    two as three,\n)\nfrom pkg import deep\nif True:\n    from late import x\n",
        );
        sandbox.file("src/engine.py", "import train\nfrom . import beside\n");
        sandbox.file("src/beside.py", "");
        sandbox.file("src/late/__init__.py", "from .inner import y\n");
        sandbox.file("src/late/inner.py", "import engine\n");
        sandbox.file("src/pkg/build.py", "from ..engine import z\n");
        sandbox.file("src/pkg/deep.py", "");
        sandbox.file("src/unused.py", "");
        let host = sandbox.host();
        let source = ScriptSource::of_script(OsStr::new("src/train.py"), &host).unwrap();
        let mut names: Vec<&str> = source
            .modules()
            .iter()
            .map(|module| module.name.as_str())
            .collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "beside.py",
                "engine.py",
                "late/__init__.py",
                "late/inner.py",
                "pkg/build.py",
                "pkg/deep.py"
            ]
        );
        assert_eq!(source.name(), "train.py");
        let module = ScriptSource::of_module(OsStr::new("src.train"), &host).unwrap();
        assert!(
            module.modules().is_empty(),
            "Python looks in the current folder"
        );
        assert!(ScriptSource::of_module(OsStr::new("no.such"), &host).is_none());
        let many: String = (0..40).map(|at| format!("import m{at}\n")).collect();
        (0..40).for_each(|at| drop(sandbox.file(&format!("m{at}.py"), "")));
        sandbox.file("many.py", many);
        let source = ScriptSource::of_script(OsStr::new("many.py"), &host).unwrap();
        assert_eq!(source.modules().len(), MOST_MODULES);
    }
}

mod signs {
    use std::ffi::OsStr;

    use crate::invariants::fake::Sandbox;
    use zlaunch::testing::script::{ScriptSource, calls, is_text, keyword, shown};

    #[test]
    fn imports_of_all_kinds() {
        let sandbox = Sandbox::bare();
        let imports = |text: &str, modules: &[&str]| {
            sandbox.file("own.py", text);
            let source = ScriptSource::of_script(OsStr::new("own.py"), &sandbox.host());
            source.unwrap().imports(modules)
        };
        for text in [
            "import ray\n",
            "import ray; ray.init()\n",
            "import os, ray.data as d\n",
            "    from ray.util import x\n",
            "from ray import init",
        ] {
            assert!(imports(text, &["lightning", "ray"]), "{text}");
        }
        for text in [
            "import rays\n",
            "# import ray\n",
            "from .ray import x\n",
            "x = 'import ray'\n",
            "\"\"\"\nimport ray\n\"\"\"\n",
            "",
        ] {
            assert!(!imports(text, &["ray"]), "{text}");
        }
    }

    #[test]
    fn calls_and_their_keywords() {
        let text = "# Trainer(a=1)\nclass Trainer(Base):\n    x = L.Trainer(\n        strategy=\"ddp\", n=f(1)[2])\nMyTrainer(b=2)\n";
        let found = calls(text, "Trainer");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            (keyword(found[0], "strategy"), keyword(found[0], "n")),
            (Some("\"ddp\""), Some("f(1)[2]"))
        );
        assert_eq!(
            (keyword(found[0], "rategy"), keyword("a==1", "a")),
            (None, None)
        );
        assert_eq!(calls("f(1", "f"), ["1"]);
        // Neither a docstring nor a text calls, and what is nested has commas of its own.
        let text = "\"\"\"f(1)\"\"\"\nx = 'f(2)'\na.f(k={'b': 1, 'c': [2, 3]}, m=4)\nother.f(5)\n";
        assert_eq!(calls(text, "a.f"), ["k={'b': 1, 'c': [2, 3]}, m=4"]);
        assert_eq!(calls(text, "f").len(), 2);
        assert_eq!(
            keyword("k={'b': 1, 'c': [2, 3]}, m=4", "k"),
            Some("{'b': 1, 'c': [2, 3]}")
        );
        assert_eq!(keyword("**more, k=1", "k"), Some("1"));
        assert_eq!(keyword("**more", "more"), None);
        assert!(is_text("\"ddp\"") && !is_text("args.strategy"));
        assert_eq!(
            (shown("a.json"), shown("{\n  'b': 1}")),
            ("a.json".to_string(), "{ …".to_string())
        );
    }
}

mod kind {
    use zlaunch::testing::script::*;

    #[test]
    fn scripts_are_told_apart_by_what_they_call() {
        for (script, expected) in [
            (
                "import deepspeed\nengine, *_ = deepspeed.initialize(args)\n",
                ScriptKind::RawDeepSpeed,
            ),
            (
                "import deepspeed as ds\nengine = ds.initialize(args)\n",
                ScriptKind::RawDeepSpeed,
            ),
            (
                "from deepspeed import initialize\nengine = initialize(args)\n",
                ScriptKind::RawDeepSpeed,
            ),
            (
                "import deepspeed\nparser = deepspeed.add_config_arguments(parser)\n",
                ScriptKind::RawDeepSpeed,
            ),
            // Its own Trainer.
            (
                "import deepspeed\nfrom trainer import Trainer\ndeepspeed.initialize()\n",
                ScriptKind::RawDeepSpeed,
            ),
            (
                "import deepspeed\n# unlike HfArgumentParser\ndeepspeed.initialize()\n",
                ScriptKind::RawDeepSpeed,
            ),
            ("from trainer import Trainer\n", ScriptKind::Unknown),
            (
                "import torch.distributed as dist\ndist.initialize()\n",
                ScriptKind::Unknown,
            ),
            ("# deepspeed.initialize()\n", ScriptKind::Unknown),
            // A reference model beside the one that is trained.
            (
                "from trl import DPOConfig, DPOTrainer\nimport deepspeed\nref = deepspeed.initialize(model=ref)\n",
                ScriptKind::Hf,
            ),
            (
                "from transformers import (\n    Trainer,\n)\nimport deepspeed\ndeepspeed.initialize()\n",
                ScriptKind::Hf,
            ),
            (
                "import transformers\ndeepspeed.initialize()\ntransformers.Trainer()\n",
                ScriptKind::Hf,
            ),
            (
                "from transformers import TrainingArguments\n",
                ScriptKind::Hf,
            ),
            ("from transformers import Trainer\n", ScriptKind::Hf),
            ("", ScriptKind::Unknown),
        ] {
            assert_eq!(of_text(script), expected, "{script}");
        }
    }
}

mod target {
    use std::ffi::{OsStr, OsString};
    use zlaunch::testing::target::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn commands_are_taken_apart() {
        let parts = ParsedCommand::parse(&words("python3.11 -u -X dev -m pkg.train --a 1"));
        assert_eq!(
            parts.target,
            Target::Module {
                options: words("-u -X dev"),
                name: "pkg.train".into()
            }
        );
        assert_eq!(
            (parts.args, parts.owner),
            (words("--a 1"), Some("python3.11".into()))
        );
        let target = |line| ParsedCommand::parse(&words(line)).target;
        assert_eq!(target("python x.py --a"), Target::script("x.py"));
        assert_eq!(
            target("python -mpkg.train --a"),
            Target::module("pkg.train")
        );
        assert_eq!(target("./x.py --a"), Target::script("./x.py"));
        assert_eq!(target("python -c pass"), Target::Program("python".into()));
        assert_eq!(target("bash run.sh"), Target::Program("bash".into()));
        assert!(
            !is_python(OsStr::new("python-config")) && is_python(OsStr::new("/usr/bin/python3"))
        );
    }

    #[test]
    fn modules_are_known_by_their_file_too() {
        assert!(Target::script("/a/swift/cli/sft.py").is_module("swift.cli.sft"));
        assert!(Target::script("trl/scripts/sft.py").is_module("trl.scripts.sft"));
        assert!(Target::module("swift.cli.sft").is_module("swift.cli.sft"));
        assert!(!Target::script("/a/myswift/cli/sft.py").is_module("swift.cli.sft"));
        assert!(
            Target::script("/a/bin/swift").is_console("swift")
                && !Target::module("swift").is_console("swift")
        );
    }
}

mod option_names {
    use zlaunch::testing::argv::has_option;
    use zlaunch::testing::recorded::Table;

    #[test]
    fn every_name_of_a_recorded_list_is_found() {
        for list in [
            include_str!("../../src/recorded/swift_sft.txt"),
            include_str!("../../src/recorded/swift_rlhf.txt"),
            include_str!("../../src/recorded/swift_infer.txt"),
            include_str!("../../src/recorded/xtuner.txt"),
        ]
        .map(Table)
        {
            for line in list.lines() {
                let name = line.split(' ').next().unwrap();
                assert!(has_option(&[list], name), "{name}");
                assert!(!has_option(&[list], &format!("{name}~")), "{name}");
            }
            assert!(!has_option(&[list], "") && !has_option(&[list], "zzz"));
        }
    }
}
