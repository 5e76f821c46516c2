//! What is compared just before a launch: the end with the beginning, and what a launcher in the command really does.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};

use crate::sandbox::Sandbox;

const HF: &str = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n\
    args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(None, args).train()\n";

fn with_variables(variables: &[(&str, &str)]) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.file("t.py", "import deepspeed\n");
    sandbox.file("hf.py", HF);
    for (name, value) in variables {
        sandbox.var(name, value);
    }
    sandbox
}

#[test]
fn two_engines_that_may_run_inside_each_other_are_both_heard() {
    let mpi_and_flux = [
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("OMPI_COMM_WORLD_SIZE", "2"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "1"),
        ("FLUX_TASK_RANK", "1"),
        ("FLUX_JOB_SIZE", "2"),
        ("FLUX_TASK_LOCAL_ID", "0"),
        ("FLUX_JOB_NNODES", "2"),
        ("MASTER_ADDR", "h0"),
        ("MASTER_PORT", "29511"),
    ];
    let sandbox = with_variables(&mpi_and_flux);
    let run = sandbox.run("-n --format json --nproc-per-node 2 -- python t.py".split(' '));
    if run.status == Some(0) {
        assert_eq!(run.json()["topology"]["nnodes"], 2, "{run:?}");
    } else {
        run.refused_by("ranks");
    }
}

#[test]
fn a_pod_of_an_operator_that_counts_ranks_is_placed() {
    let pod = |world: &str, rank: &str, pods: &str| {
        with_variables(&[
            ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
            ("PET_NNODES", pods),
            ("PET_NODE_RANK", rank),
            ("PET_NPROC_PER_NODE", "4"),
            ("WORLD_SIZE", world),
            ("RANK", rank),
            ("MASTER_ADDR", "job-master-0"),
            ("MASTER_PORT", "23456"),
        ])
    };
    for (world, rank, pods, machines) in [("4", "0", "1", 1), ("8", "1", "2", 2)] {
        let plan = pod(world, rank, pods).plan(&["--nproc-per-node", "4"], &["python", "t.py"]);
        assert_eq!(plan["topology"]["nnodes"], machines, "{plan}");
    }
    // Neither the pods nor their ranks.
    let run = pod("6", "1", "2").run("-n --nproc-per-node 4 -- python t.py".split(' '));
    run.refused_by("ranks");
}

#[test]
fn gpus_that_deepspeed_ignores_are_told() {
    let sandbox = with_variables(&[("CUDA_VISIBLE_DEVICES", "2,4,5,7")]);
    let check = |flags: &str| {
        let line = format!("check --deepspeed zero2 -- deepspeed {flags} t.py");
        sandbox
            .run(line.split(' ').filter(|word| !word.is_empty()))
            .stdout
    };
    let told = check("--num_gpus 4");
    for words in [
        "ignores CUDA_VISIBLE_DEVICES beside `--num_gpus 4`, and takes GPU 0,1,2,3",
        "write --include localhost:2,4,5,7 instead",
    ] {
        assert!(told.contains(words), "{told}");
    }
    for flags in ["", "--include localhost:2,4"] {
        let told = check(flags);
        assert!(!told.contains("ignores CUDA_VISIBLE_DEVICES"), "{told}");
    }
    let first = with_variables(&[("CUDA_VISIBLE_DEVICES", "0,1")]);
    let told = first.run("check --deepspeed zero2 -- deepspeed --num_gpus 2 t.py".split(' '));
    assert!(!told.stdout.contains("ignores"), "{told:?}");
}

/// The launchers' own arithmetic, as `tests/real/launchers.py` compares it with the real ones.
#[test]
fn the_plan_says_what_the_launcher_in_the_command_starts() {
    let sandbox = with_variables(&[("CUDA_VISIBLE_DEVICES", "2,4,5,7")]);
    sandbox.file("one", "node1 slots=3\n");
    sandbox.file(
        "gpus.yaml",
        "distributed_type: MULTI_GPU\nnum_processes: 2\ngpu_ids: 2,4\n",
    );
    for (command, ranks) in [
        ("deepspeed t.py", 4),
        ("deepspeed --hostfile one t.py", 3),
        ("deepspeed --hostfile one --exclude node1:1 t.py", 2),
        ("deepspeed --include localhost:2,7,2 t.py", 2),
        ("accelerate launch t.py", 4),
        ("accelerate launch --cpu t.py", 1),
        ("accelerate launch --config_file gpus.yaml t.py", 2),
        ("torchrun --nproc_per 3 t.py", 3),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let plan = sandbox.plan(&[], &words);
        assert_eq!(plan["topology"]["nproc_per_node"], ranks, "{command}");
    }
    sandbox.file("no.yaml", "distributed_type: 'NO'\nnum_processes: 4\n");
    for (command, says) in [
        (
            "deepspeed --num_gpus 2 --include localhost:2 t.py",
            "a number or a list of GPUs",
        ),
        (
            "deepspeed --hostfile one --include node1:5 t.py",
            "`node1` has no GPU `5`",
        ),
        (
            "accelerate launch --cpu --num_processes 2 t.py",
            "would start one process",
        ),
        (
            "accelerate launch --config_file no.yaml t.py",
            "would start one process",
        ),
        ("torchrun --nproc 2 t.py", "has no option `--nproc`"),
        (
            "torchrun --nproc_per_node 0 t.py",
            "cannot start `--nproc_per_node 0`",
        ),
        (
            "torchrun --nproc_per_node four t.py",
            "cannot start `--nproc_per_node four`",
        ),
        (
            "accelerate launch --num_processes 2 --main_process_port 295001 t.py",
            "295001 is no port",
        ),
        (
            "deepspeed --hostfile one --num_nodes 2 t.py",
            "the hostfile has 1, not 2 machines",
        ),
    ] {
        let run = sandbox.run(["-n", "--"].into_iter().chain(command.split(' ')));
        run.refused(&[says]);
    }
}

#[test]
fn a_script_without_an_option_for_its_rank_is_told() {
    let sandbox = with_variables(&[("CUDA_VISIBLE_DEVICES", "0,1")]);
    let parser = "import argparse, deepspeed\nparser = argparse.ArgumentParser()\n\
        parser.add_argument(\"--OPTION\")\nparser.parse_args()\ndeepspeed.initialize()\n";
    for option in ["lr", "local_rank", "local-rank"] {
        sandbox.file(&format!("{option}.py"), parser.replace("OPTION", option));
    }
    let old = "python -m torch.distributed.launch --nproc_per_node 2";
    for (command, gives) in [
        ("deepspeed lr.py", "`--local_rank`"),
        ("deepspeed local_rank.py", ""),
        ("deepspeed --no_local_rank lr.py", ""),
        (&format!("{old} lr.py"), "`--local-rank`"),
        (&format!("{old} local_rank.py"), "`--local-rank`"),
        (&format!("{old} local-rank.py"), ""),
        (&format!("{old} --use_env lr.py"), ""),
        ("torchrun --nproc_per_node 2 lr.py", ""),
    ] {
        let told = sandbox
            .run(["check", "--"].into_iter().chain(command.split(' ')))
            .stdout;
        assert_eq!(
            told.contains("gives each rank"),
            !gives.is_empty(),
            "{command}: {told}"
        );
        assert!(told.contains(gives), "{command}: {told}");
    }
    // Our own start of it leaves the option out.
    let config = r#"{"train_micro_batch_size_per_gpu": 1}"#;
    let ours = ["--launcher", "deepspeed", "--deepspeed", config];
    for (script, is_given) in [("lr.py", false), ("local_rank.py", true)] {
        let plan = sandbox.plan(&ours, &["python", script]);
        let words = plan["argv"].to_string();
        assert_eq!(words.contains("--no_local_rank"), !is_given, "{words}");
    }
}

#[test]
fn a_machine_of_a_hostfile_that_has_no_address_is_told() {
    let sandbox = with_variables(&[]);
    sandbox.file("known", "localhost slots=2\n127.0.0.1 slots=2\n");
    sandbox.file(
        "unknown",
        "localhost slots=2\nno-such-host.invalid slots=2\n",
    );
    for (file, is_told) in [("known", false), ("unknown", true)] {
        let line = format!("check -- deepspeed --hostfile {file} t.py");
        let told = sandbox.run(line.split(' ')).stdout;
        assert_eq!(told.contains("no address is known"), is_told, "{told}");
    }
}

#[test]
fn accelerate_finds_other_machines_in_a_hostfile() {
    let sandbox = with_variables(&[]);
    let settings = "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_machines: 2\nnum_processes: 16\n\
        machine_rank: 0\nmain_process_ip: 10.0.0.1\nmain_process_port: 29500\ndeepspeed_config:\n  zero_stage: 2\n";
    let check = |more: &str| {
        sandbox.file("acc.yaml", format!("{settings}{more}"));
        let line = "check -- accelerate launch --config_file acc.yaml t.py";
        sandbox.run(line.split(' ')).stdout
    };
    let runner = "  deepspeed_multinode_launcher: pdsh\n";
    let told = check(runner);
    assert!(told.contains("needs a hostfile"), "{told}");
    sandbox.file("hosts", "n1 slots=8\nn2 slots=8\n");
    let told = check(&format!("{runner}  deepspeed_hostfile: hosts\n"));
    assert!(!told.contains("needs a hostfile"), "{told}");
    let told = check("  deepspeed_multinode_launcher: standard\n");
    assert!(!told.contains("needs a hostfile"), "{told}");
    // It is pdsh where nothing is said.
    assert!(check("").contains("needs a hostfile"));
}

#[test]
fn a_port_that_is_taken_is_told_by_check() {
    let sandbox = with_variables(&[]);
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let options = ["check", "--nproc-per-node", "2", "--master-port", &port];
    let command = ["--deepspeed", "zero2", "--", "python", "hf.py"];
    let run = sandbox.run(options.iter().chain(&command));
    let told = format!("warning[port]: port {port} on this machine is already in use\n");
    assert!(run.stdout.contains(&told), "{run:?}");
}

#[test]
fn a_checkpoint_of_another_number_of_ranks_is_refused() {
    let sandbox = with_variables(&[]);
    let folder = sandbox.cwd().join("out/checkpoint-10/global_step10");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.parent().unwrap().join("latest"), "global_step10").unwrap();
    for rank in 0..4 {
        let name = format!("bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt");
        fs::write(folder.join(name), "x").unwrap();
    }
    let check = |ranks: &str, more: &[&str]| {
        let options = ["check", "--nproc-per-node", ranks, "--deepspeed", "zero2"];
        let command = ["--", "python", "hf.py", "--output_dir", "out"];
        let resume = ["--resume_from_checkpoint", "out/checkpoint-10"];
        let words = options.iter().chain(more).chain(&command).chain(&resume);
        sandbox.run(words).stdout
    };
    let told = check("8", &[]);
    let what =
        "error[checkpoint-ranks]: 4 ranks wrote the checkpoint, and DeepSpeed refuses it on 8\n";
    assert!(told.contains(what), "{told}");
    assert!(!check("4", &[]).contains("checkpoint-ranks"));
    let universal = ["--set", "checkpoint.load_universal=true"];
    assert!(!check("8", &universal).contains("checkpoint-ranks"));
    // Nothing but weights, as --save_only_model leaves them.
    std::fs::remove_dir_all(sandbox.path("cwd/out/checkpoint-10")).unwrap();
    sandbox.file("out/checkpoint-10/trainer_state.json", "{}");
    let told = check("4", &[]);
    assert!(told.contains("has the states of no rank"), "{told}");
    sandbox.file("out/checkpoint-10/global_step10/part", "");
    assert!(!check("4", &[]).contains("checkpoint-ranks"));
}

#[test]
fn no_secret_of_a_log_is_printed() {
    let sandbox = with_variables(&[]);
    let token = "hf_abcdefghijklmnopqrstuvwxyz012345";
    sandbox.file(
        "train.log",
        format!("RuntimeError: CUDA out of memory. {token} https://bob:Secret99@host/ see\n"),
    );
    for format in ["text", "json"] {
        let run = sandbox.run(["explain", "--format", format, "train.log"]);
        assert!(run.stdout.contains("CUDA out of memory"), "{run:?}");
        assert!(!run.stdout.contains(token), "{run:?}");
        assert!(!run.stdout.contains("Secret99"), "{run:?}");
    }
}

const SLURM_STEP: &[(&str, &str)] = &[
    ("SLURM_JOB_ID", "1"),
    ("SLURM_STEP_ID", "0"),
    ("SLURM_STEP_NUM_NODES", "2"),
    ("SLURM_STEP_NODELIST", "n[01-02]"),
    ("SLURM_STEP_NUM_TASKS", "2"),
    ("SLURM_STEP_TASKS_PER_NODE", "1(x2)"),
    ("SLURM_NODEID", "0"),
    ("SLURM_PROCID", "0"),
    ("SLURM_LOCALID", "0"),
];

#[test]
fn ranks_that_meet_on_another_machine_than_the_first_are_told() {
    for (address, says) in [
        ("other", "but the ranks are to meet on other"),
        ("n02", "but the ranks are to meet on n02"),
        ("0.0.0.0", "but the ranks are to meet on 0.0.0.0"),
        ("n01", ""),
        ("n01-ib", ""),
        ("N01.cluster.org", ""),
        ("10.0.0.1", ""),
    ] {
        let mut sandbox = with_variables(SLURM_STEP);
        sandbox.var("MASTER_ADDR", address);
        let run = sandbox.run("-n --nproc-per-node 2 -- python t.py".split(' '));
        let is_told = run.stderr.contains("meet on");
        assert_eq!(is_told, !says.is_empty(), "{address}: {run:?}");
        assert!(run.stderr.contains(says), "{address}: {run:?}");
    }
}

#[test]
fn a_pod_of_an_indexed_job_is_told_behind_a_launcher_too() {
    let pod = |index: &str| {
        let sandbox = with_variables(&[("JOB_COMPLETION_INDEX", index)]);
        sandbox.file(
            "a.yaml",
            "distributed_type: DEEPSPEED\nnum_machines: 2\nnum_processes: 4\nmachine_rank: 0\n\
             main_process_ip: h0\nmain_process_port: 29500\n\
             deepspeed_config: {deepspeed_multinode_launcher: standard}\n",
        );
        sandbox
    };
    let alone = "-n -- torchrun --nproc_per_node 2 t.py";
    let run = pod("0").run(alone.split(' '));
    assert!(
        run.stderr.contains("warning[uncounted-machines]"),
        "{run:?}"
    );
    pod("1").run(alone.split(' ')).refused_by("ranks");
    let in_file = "-n -- accelerate launch --config_file a.yaml t.py";
    pod("0").run(in_file.split(' ')).succeeded();
    pod("1")
        .run(in_file.split(' '))
        .refused(&["says machine 1, but"]);
}

#[test]
fn several_machines_do_not_meet_on_themselves() {
    let typed = "-n -- torchrun --nproc_per_node 2 --nnodes 2 --node_rank 0 --master_addr h0 t.py";
    let sandbox = with_variables(&[("PET_STANDALONE", "1")]);
    let says = "2 machines cannot meet: each would wait for the others on itself";
    sandbox.run(typed.split(' ')).refused(&[says]);
    let sandbox = with_variables(&[]);
    sandbox.run(typed.split(' ')).succeeded();
    let both = typed.replace("torchrun", "torchrun --standalone");
    sandbox.run(both.split(' ')).refused(&[says]);
}

/// Seen with two real torchruns (torch 2.15): a number that is too high and an address with a port end in an error after
/// minutes, and without an address each machine waits for the others on itself.
#[test]
fn a_launcher_in_the_command_is_told_where_its_machines_do_not_meet() {
    let sandbox = with_variables(&[]);
    let torchrun = "torchrun --nproc_per_node 2 --nnodes";
    let accelerate = "accelerate launch --num_processes 4 --num_machines 2 --use_deepspeed \
                      --deepspeed_multinode_launcher standard --main_process_port 29501";
    let no_machine = "error[ranks]: machine 2 of 2 does not exist";
    let no_address = "error[ranks]: `h0:29501` is not a machine's name or address";
    let alone = "machines cannot meet";
    for (command, says) in [
        (
            format!("{torchrun} 2 --node_rank 2 --master_addr h0"),
            no_machine,
        ),
        (
            format!("{torchrun} 2 --node_rank 1 --master_addr h0:29501"),
            no_address,
        ),
        (
            format!("{accelerate} --machine_rank 2 --main_process_ip h0"),
            no_machine,
        ),
        (
            format!("{accelerate} --machine_rank 1 --main_process_ip h0:29501"),
            no_address,
        ),
        (format!("{torchrun} 2 --rdzv_backend c10d"), alone),
        (format!("{torchrun} 2:4 --rdzv_backend c10d"), alone),
        (format!("{torchrun} 2 --node_rank 1"), alone),
        (
            format!("{torchrun} 2 --node_rank 1 --master_addr 127.0.0.1"),
            alone,
        ),
        (format!("{torchrun} 2 --node_rank 1 --master_addr h0"), ""),
        // The others may be told where this one is.
        (format!("{torchrun} 2 --node_rank 0"), ""),
        (
            format!("{torchrun} 2 --node_rank 5 --rdzv_backend c10d --rdzv_endpoint h0"),
            "",
        ),
        (format!("{torchrun} 1:4 --rdzv_backend c10d"), ""),
        (format!("{torchrun} 1 --node_rank 1"), ""),
        (
            format!("{accelerate} --machine_rank 1 --main_process_ip h0"),
            "",
        ),
    ] {
        let words = ["check", "--"]
            .into_iter()
            .chain(command.split_whitespace());
        let told = sandbox.run(words.chain(["t.py"])).stdout;
        assert_eq!(
            told.contains("error[") || told.contains(alone),
            !says.is_empty(),
            "{command}: {told}"
        );
        assert!(told.contains(says), "{command}: {told}");
    }
}

#[test]
fn a_word_for_no_launcher_of_deepspeed_is_told() {
    let sandbox = with_variables(&[]);
    sandbox.file("one", "localhost slots=2\n");
    sandbox.file("two", "localhost slots=2\n127.0.0.1 slots=2\n");
    let site = "env/lib/python3.11/site-packages/deepspeed/launcher/constants.py";
    sandbox.put(site, "PDSH_LAUNCHER = 'pdsh'\nSLURM_LAUNCHER = 'slurm'\n");
    for (options, says) in [
        (
            "--hostfile two --launcher slurmm",
            "refuses `--launcher slurmm`",
        ),
        ("--hostfile two --launcher SLURM", ""),
        ("--hostfile two", ""),
        // It reaches no other machine.
        ("--hostfile one --launcher slurmm", ""),
        (
            "--hostfile two --no_ssh --node_rank 0 --launcher slurmm",
            "",
        ),
    ] {
        let line = format!("check -- deepspeed {options} t.py");
        let told = sandbox.run(line.split(' ')).stdout;
        assert_eq!(
            told.contains("DeepSpeed refuses"),
            !says.is_empty(),
            "{options}: {told}"
        );
        assert!(told.contains(says), "{options}: {told}");
    }
}

#[test]
fn ranks_of_deepspeeds_launcher_that_train_without_it_are_told() {
    let sandbox = with_variables(&[("CUDA_VISIBLE_DEVICES", "0,1")]);
    sandbox.installed("transformers", "5.19.0");
    let parser = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n\
        (args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\n\
        Trainer(args=args)\n";
    sandbox.file("without.py", parser);
    sandbox.file("perhaps.py", format!("{parser}import deepspeed\n"));
    let own = parser.replace("parse_args_into_dataclasses()", "parse_dict(settings)");
    sandbox.file("own.py", own);
    for (command, is_told) in [
        ("deepspeed without.py --output_dir out", true),
        (
            "deepspeed without.py --output_dir out --deepspeed ds.json",
            false,
        ),
        (
            "torchrun --nproc_per_node 2 without.py --output_dir out",
            false,
        ),
        ("deepspeed perhaps.py --output_dir out", false),
        ("deepspeed own.py --output_dir out", false),
        ("deepspeed t.py", false),
    ] {
        let words = ["check", "--"].into_iter().chain(command.split(' '));
        let told = sandbox.run(words).stdout;
        assert_eq!(
            told.contains("train without DeepSpeed"),
            is_told,
            "{command}: {told}"
        );
    }
}
