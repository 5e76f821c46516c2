//! The invariants on inputs that are drawn, mostly near what people write. `PROPTEST_CASES=100000 cargo test properties` draws more.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use zlaunch::testing::argv::Args;
use zlaunch::testing::layers::{self, Layers};
use zlaunch::testing::recorded::Table;
use zlaunch::testing::source::{Source, Sourced};
use zlaunch::testing::template::{self, Search};
use zlaunch::testing::yaml::{self, Dialect};
use zlaunch::testing::{json as our_json, python_value};

use crate::invariants::fake::{Sandbox, Share, side_by_side};
use crate::invariants::{self, SANDBOX};

/// Quick ones. A failure is shown in full, and becomes a case of a test.
fn cases(count: u32) -> ProptestConfig {
    let asked = ProptestConfig::default().cases;
    let cases = if asked == 256 { count } else { asked };
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn key() -> impl Strategy<Value = String> {
    let known = select(vec![
        "a",
        "b",
        "train_batch_size",
        "zero_optimization",
        "stage",
        "auto",
        "$zlaunch",
        "é\"\\\n",
    ]);
    prop_oneof![3 => known.prop_map(str::to_string), 1 => "\\PC{0,4}"]
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no others", |it| it.is_finite())
            .prop_map(Value::from),
        Just(json!("auto")),
        any::<String>().prop_map(Value::from),
    ]
}

fn object(leaf: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    let inside = leaf.prop_recursive(4, 24, 5, |inside| {
        prop_oneof![
            vec(inside.clone(), 0..4).prop_map(Value::Array),
            btree_map(key(), inside, 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    });
    btree_map(key(), inside, 0..5).prop_map(|entries| Value::Object(entries.into_iter().collect()))
}

/// The value with something harmless at every place where that may stand.
fn decorated(value: &Value, noise: &mut impl Iterator<Item = &'static str>, text: &mut String) {
    let mut between = |text: &mut String| *text += noise.next().unwrap_or_default();
    between(text);
    let (open, close, entries): (_, _, Vec<(Option<&String>, &Value)>) = match value {
        Value::Array(list) => ('[', ']', list.iter().map(|item| (None, item)).collect()),
        Value::Object(object) => (
            '{',
            '}',
            object.iter().map(|(key, item)| (Some(key), item)).collect(),
        ),
        plain => return *text += &plain.to_string(),
    };
    text.push(open);
    for (at, (key, item)) in entries.iter().enumerate() {
        if let Some(key) = key {
            *text += &format!("{}:", Value::from(key.as_str()));
        }
        decorated(item, noise, text);
        *text += noise.next().unwrap_or_default();
        text.push_str(if at + 1 < entries.len() || text.len().is_multiple_of(2) {
            ","
        } else {
            ""
        });
        *text += noise.next().unwrap_or_default();
    }
    text.push(close);
}

const NOISE: &[&str] = &[
    "",
    " ",
    "\n",
    "\t\r\n",
    "// , } ] \" é\n",
    "/* , } \" // */",
    "/**/",
    "/*/ */",
];

/// RFC 7386's own words, as a function from two values to a third.
fn merged_by_the_book(target: &Value, change: &Value) -> Value {
    let Some(change) = change.as_object() else {
        return change.clone();
    };
    let mut after = target.as_object().cloned().unwrap_or_default();
    for (name, value) in change {
        let before = after.shift_remove(name).unwrap_or(Value::Null);
        if !value.is_null() {
            after.insert(name.clone(), merged_by_the_book(&before, value));
        }
    }
    Value::Object(after)
}

fn word() -> impl Strategy<Value = OsString> {
    let known = select(vec![
        "--learning_rate",
        "--learning-rate",
        "--learning_rate=1",
        "--learn",
        "--bf16",
        "--bf16=no",
        "--deepspeed",
        "--deepspeed=",
        "--deepspeed=x",
        "--resume",
        "--",
        "-",
        "-1",
        "-1e-5",
        "--=",
        "zero3",
        "a b",
        "true",
        "",
    ]);
    let bytes = vec(1..=255_u8, 0..6).prop_map(OsString::from_vec);
    prop_oneof![6 => known.prop_map(OsString::from), 1 => bytes]
}

/// Lines for `invariants::plan`: a command people write, with some of its words lost, doubled or from elsewhere.
fn command() -> impl Strategy<Value = Vec<u8>> {
    const COMMANDS: &[&str] = &[
        "--deepspeed zero3 --nproc-per-node 2 -- swift sft --model m --per_device_train_batch_size 1 --bf16 true",
        "--deepspeed zero2 --set gradient_clipping=auto --unset fp16 -- python train.py --learning_rate 1e-5 --max_grad_norm 0.5",
        "--deepspeed in.json --launcher local --nproc-per-node 2 -- python plain.py --deepspeed_config x",
        "--nproc-per-node 2 -- llamafactory-cli train in.yaml",
        "torchrun --nproc_per_node=2 train.py --deepspeed zero3_offload --gradient_accumulation_steps 4",
        "accelerate launch --config_file in.yaml train.py --deepspeed zero3",
        "$RANK=0 $LOCAL_RANK=0 $WORLD_SIZE=2 --deepspeed mine --patch in.json -- python train.py",
        "$SLURM_JOB_ID=1 $SLURM_JOB_NUM_NODES=2 $SLURM_JOB_NODELIST=a[1-2] $SLURM_NODEID=0 -- axolotl train in.yaml",
        "check --hostfile in --deepspeed zero1 -- deepspeed --num_gpus 2 plain.py --deepspeed_config in.json",
        "fit --model m --gpus 2 --gpu-memory 80GiB -- trl sft --model_name_or_path m",
        "fit --params 99999T --seq-len 4294967295 --micro-batch 4294967295 --tuner qlora --gpus 65536 --nnodes 99999",
        "generate --stage 3 --offload --micro-batch 2 --grad-accum 3 --world-size 1048576",
    ];
    const CONTENTS: &[&str] = &[
        "",
        "{}",
        "{\"train_batch_size\": \"auto\", \"zero_optimization\": {\"stage\": 3, \"reduce_bucket_size\": \"auto\"}}",
        "h0 slots=2\nh1 slots=2\n",
        "model: m\nlearning_rate: 1e-5\nbf16: yes\ndeepspeed: zero2\n",
        "[{\"op\": \"replace\", \"path\": \"/train_batch_size\", \"value\": 7}]",
        "deepspeed_config:\n  zero_stage: 3\n",
        "{",
        "&a [*a]",
    ];
    let other = prop_oneof![
        select(
            COMMANDS
                .join(" ")
                .split(' ')
                .map(str::to_string)
                .collect::<Vec<_>>()
        ),
        "\\PC{0,6}"
    ];
    let edits = vec((any::<prop::sample::Index>(), other, 0..3_u8), 0..4);
    (select(COMMANDS), edits, select(CONTENTS)).prop_map(|(command, edits, content)| {
        let mut words: Vec<String> = command.split(' ').map(str::to_string).collect();
        for (at, other, how) in edits {
            let at = at.index(words.len());
            match how {
                0 if words.len() > 1 => drop(words.remove(at)),
                1 => words.insert(at, other),
                _ => words[at] = other,
            }
        }
        format!("{}\n%%\n{content}", words.join("\n")).into_bytes()
    })
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn comments_and_commas_change_nothing(value in object(leaf()), noise in vec(select(NOISE), 0..60)) {
        let mut text = String::new();
        decorated(&value, &mut noise.into_iter(), &mut text);
        // Integral numbers become integers, so the strict text is what is compared.
        prop_assert_eq!(our_json::parse(&text), our_json::parse(&value.to_string()), "{}", text);
        invariants::json(text.as_bytes());
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}\",:/*\\\\ \\n0-9eE+.a-]{0,40}", bytes in vec(any::<u8>(), 0..40)) {
        for data in [text.as_bytes(), &bytes] {
            invariants::json(data);
            invariants::yaml(data);
        }
    }

    #[test]
    fn merge_patches_keep_the_laws(config in object(leaf()), change in object(leaf())) {
        let mut once = config.clone();
        our_json::merge(&mut once, &change);
        prop_assert_eq!(&once, &merged_by_the_book(&config, &change));
        invariants::layers(format!("{config}\0{change}").as_bytes());
    }

    #[test]
    fn what_is_set_is_there_and_what_is_unset_is_gone(config in object(leaf()), value in leaf(), name in "[a-z]{3,8}") {
        let mut config = config;
        config.as_object_mut().unwrap().retain(|key, _| *key != name && key != "$zlaunch");
        let host = SANDBOX.with(Sandbox::host);
        let sourced = |text: String| Sourced::new(text, Source::Default);
        let template = template::resolve(&sourced(config.to_string()), &Search::default(), &host);
        let Ok(template) = template else { return Ok(()) };
        let key = format!("{name}.x");
        let assignment = layers::Assignment { key: key.clone(), value: value.clone(), typed: String::new() };
        let set = Sourced::new(assignment, Source::Default);
        let with = layers::with_layers(&template, &Layers { set: vec![set], ..Layers::default() }, &host).unwrap();
        prop_assert_eq!(zlaunch::testing::json::get(&with, &key), Some(&value));
        let again = template::resolve(&sourced(with.to_string()), &Search::default(), &host).unwrap();
        let unset = Layers { unset: vec![sourced(name.clone())], ..Layers::default() };
        let without = layers::with_layers(&again, &unset, &host).unwrap();
        prop_assert_eq!(without.to_string(), template.config.to_string(), "the order is kept, too");
    }

    #[test]
    fn a_replaced_argument_is_read_back_and_no_other_word_changes(words in vec(word(), 0..8), value in "[a-z/]{1,6}") {
        for options in [&[][..], &[Table("bf16\ndeepspeed\nlearning_rate\nresume !")]] {
            let args = Args::read(words.clone(), options);
            let after = Args::read(args.with("deepspeed", OsStr::new(&value)), options);
            prop_assert_eq!(after.text("deepspeed").map(|sourced| sourced.value), Some(value.clone()));
            let (before, after) = (args.words(), after.words());
            let alike = |pairs: &mut dyn Iterator<Item = (&OsString, &OsString)>| pairs.take_while(|(one, two)| one == two).count();
            let start = alike(&mut before.iter().zip(after));
            let end = alike(&mut before.iter().rev().zip(after.iter().rev()));
            let replaced = usize::from(before.len() == after.len());
            prop_assert!(start + end + replaced >= before.len() && after.len() <= before.len() + 2);
            let _ = (args.int("learning_rate"), args.float("learning_rate"), args.bool("bf16"));
        }
    }

    #[test]
    fn numbers_are_read_as_python_reads_them_or_not_at_all(text in "[ +-]?[0-9_.eE+xinfa-]{0,12}", value in any::<f64>(), number in any::<i64>()) {
        let _ = (python_value::int(&text), python_value::float(&text));
        prop_assert_eq!(python_value::int(&number.to_string()), Some(number));
        let read = python_value::float(&python_value::repr_float(value)).unwrap();
        prop_assert!(read.to_bits() == value.to_bits() || read.is_nan() && value.is_nan(), "{} became {}", value, read);
        for dialect in [Dialect::PyYaml, Dialect::OmegaConf] {
            yaml::scalar(&text, dialect);
        }
    }

    /// But for numbers with an exponent and for texts that quotes must tell, JSON is YAML.
    #[test]
    fn json_is_yaml(value in object(prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), any::<bool>().prop_map(Value::from), "[ -~é]{0,8}".prop_map(Value::from)])) {
        let mut plain = value.clone();
        without_odd_keys(&mut plain);
        for dialect in [Dialect::PyYaml, Dialect::OmegaConf] {
            let read = yaml::parse(&yaml::python_json(&plain), dialect);
            prop_assert_eq!(read.as_ref(), Ok(&plain));
        }
    }

}

/// A quarter of what the others draw: each of these is slow.
fn a_share() -> ProptestConfig {
    let all = cases(128);
    ProptestConfig {
        cases: all.cases.div_ceil(4),
        ..all
    }
}

side_by_side!(machines_are_named_by_anybody commands_are_planned_by_the_laws);

fn machines_are_named_by_anybody(_: &Share) {
    proptest!(a_share(), |(who in any::<u8>(), sourced in "[a-c0-9\\[\\],:@() x=\\n-]{0,24}")| {
        invariants::hosts(&[&[who], sourced.as_bytes()].concat());
    });
}

fn commands_are_planned_by_the_laws(_: &Share) {
    proptest!(a_share(), |(lines in command())| invariants::plan(&lines));
}

/// Keys that YAML 1.1 itself forbids without an escape.
fn without_odd_keys(value: &mut Value) {
    let Some(object) = value.as_object_mut() else {
        return value
            .as_array_mut()
            .into_iter()
            .flatten()
            .for_each(without_odd_keys);
    };
    let odd = |key: &str| key.chars().any(|c| !matches!(c, ' '..='~' | 'é'));
    let kept: Map<String, Value> = std::mem::take(object)
        .into_iter()
        .filter(|(key, _)| !odd(key))
        .collect();
    *object = kept;
    object.values_mut().for_each(without_odd_keys);
}

/// The fuzzer's: it is filled as a float and read as an integer.
#[test]
fn an_integral_float_is_the_same_number() {
    invariants::plan(
        b"--deepspeed\nzero2\n--nproc-per-node\n2\n--\npython\ntrain.py\n--max_grad_norm=3",
    );
}
