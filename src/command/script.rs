//! What a training script does with its arguments and with the config, as far as its text shows it.

mod calls;
mod flow;
mod kind;
mod model;
mod options;
pub(crate) mod signs;
mod tokens;

pub(crate) use flow::{ArgumentFlow, Forwarding};
pub(crate) use kind::{RunFileReader, ScriptKind, run_file_reader, script_kind};

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::command::defaults::TRAINING_ARGUMENTS;
    use crate::command::script_source::ScriptSource;
    use crate::fake::Sandbox;

    const HEAD: &str = "from transformers import (\n    Trainer,\n    TrainingArguments,\n)\n";

    #[test]
    fn the_default_of_its_class_counts_where_a_script_leaves_the_argument_alone() {
        let sandbox = Sandbox::bare();
        let class = |script: String| {
            sandbox.file("train.py", script);
            let source = ScriptSource::of_script(OsStr::new("train.py"), &sandbox.host()).unwrap();
            ArgumentFlow::read(&source).default_class("max_grad_norm")
        };
        for script in [
            "",
            "parser = HfArgumentParser((ModelArguments, TrainingArguments))\n",
            "args = TrainingArguments(output_dir='x', learning_rate=lr)\nprint(args.max_grad_norm)\n",
            "# max_grad_norm=0.5\n\"\"\"--max_grad_norm 0.5\"\"\"\n",
            "@dataclass\nclass TrainingArguments(TrainingArguments):\n    cache: str = None\n",
            "import transformers\nclass Mine(transformers.TrainingArguments):\n    cache: str = None\nHfArgumentParser([Mine])\n",
            "if args.max_grad_norm == 1:\n    pass\n",
            "parser = HfArgumentParser(TrainingArguments)\nparser.parse_json_file(json_file=os.path.abspath(sys.argv[1]))\n",
        ] {
            assert_eq!(class(format!("{HEAD}{script}")), Some(TRAINING_ARGUMENTS), "{script}");
        }
        for script in [
            "args = TrainingArguments('x', max_grad_norm=0.5)\n",
            "args = TrainingArguments('x', **config)\n",
            "args = TrainingArguments('x')\nargs.max_grad_norm = 0.5\n",
            "args = TrainingArguments('x')\nsetattr(args, name, value)\n",
            "args = TrainingArguments('x')\nargs = replace(args, max_grad_norm=0.5)\n",
            "parser.add_argument('--max_grad_norm', type=float, default=0.5)\nTrainingArguments('x')\n",
            "parser = HfArgumentParser(TrainingArguments)\nparser.parse_json_file('run.json')\n",
            "parser = HfArgumentParser(TrainingArguments)\nparser.parse_args_into_dataclasses(args=words)\n",
            "@dataclass\nclass Mine(TrainingArguments):\n    max_grad_norm: float = 0.5\n",
            "parser = HfArgumentParser((ModelArguments, MyTrainingArguments))\n",
            "class TrainingArguments:\n    pass\n",
        ] {
            assert_eq!(class(format!("{HEAD}{script}")), None, "{script}");
        }
        assert_eq!(class("from transformers import TrainingArguments\n".to_string()), None);
        assert_eq!(class("from arguments import TrainingArguments\nTrainer()\n".to_string()), None);
    }
}
