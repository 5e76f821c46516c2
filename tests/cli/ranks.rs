//! How many processes, who starts them, and when nobody does.

use crate::sandbox::{SWIFT, Sandbox, argv};

const ZERO2: &[&str] = &["--deepspeed", "zero2"];

fn nproc(sandbox: &Sandbox) -> serde_json::Value {
    sandbox.plan(ZERO2, SWIFT)["topology"]["nproc_per_node"].clone()
}

#[test]
fn sources_of_the_process_count_in_order() {
    let mut sandbox = Sandbox::new();
    for (list, count) in [
        (" 3 , 1 ", 2),
        ("0,-1,1", 1),
        ("0,1,2", 3),
        ("GPU-8c28b4fb,GPU-9d,GPU-1", 3),
    ] {
        sandbox.var("CUDA_VISIBLE_DEVICES", list);
        assert_eq!(nproc(&sandbox), count, "{list}");
    }
    sandbox.var("PET_NPROC_PER_NODE", "4");
    assert_eq!(nproc(&sandbox), 4);
    sandbox.var("NPROC_PER_NODE", "5");
    assert_eq!(nproc(&sandbox), 5);
    let plan = sandbox.plan(&["--deepspeed", "zero2", "--num_gpus", "6"], SWIFT);
    assert_eq!(plan["topology"]["nproc_per_node"], 6);
    let plan = sandbox.plan(&["--deepspeed", "zero2", "--nproc-per-node", "gpu"], SWIFT);
    assert_eq!(plan["topology"]["nproc_per_node"], 3);
    sandbox.var("NPROC_PER_NODE", "four");
    sandbox
        .launch(ZERO2, SWIFT)
        .refused(&["NPROC_PER_NODE=four"]);
}

#[test]
fn the_number_of_hidden_gpus_is_asked_for() {
    let mut sandbox = Sandbox::new();
    for hidden in ["", "-1", "NoDevFiles"] {
        sandbox.var("CUDA_VISIBLE_DEVICES", hidden);
        sandbox.launch(ZERO2, SWIFT).refused(&[
            "`CUDA_VISIBLE_DEVICES` hides every GPU",
            "--nproc-per-node 1",
        ]);
    }
}

#[test]
fn ranks_that_exist_are_not_launched_again() {
    let mut sandbox = Sandbox::new();
    sandbox.vars(&[
        ("RANK", "3"),
        ("LOCAL_RANK", "1"),
        ("WORLD_SIZE", "8"),
        ("MASTER_ADDR", "h"),
        ("MASTER_PORT", "1234"),
    ]);
    sandbox.launch(ZERO2, SWIFT).succeeded();
    let argv = sandbox.recorded();
    assert!(
        argv[1].to_str().unwrap().ends_with("swift/cli/sft.py"),
        "{argv:?}"
    );
    let env = sandbox.recorded_env();
    assert_eq!(
        (env["RANK"].as_str(), env["MASTER_PORT"].as_str()),
        ("3", "1234")
    );
    let plan = sandbox.plan(ZERO2, SWIFT);
    assert_eq!(
        (&plan["launcher"], &plan["config"]["train_batch_size"]),
        (&"direct".into(), &128.into())
    );
    sandbox.var("WORLD_SIZE", "many");
    sandbox.launch(ZERO2, SWIFT).refused(&["WORLD_SIZE=many"]);
}

#[test]
fn one_process_needs_no_launcher() {
    let sandbox = Sandbox::new();
    sandbox
        .launch(&["--deepspeed", "zero2", "--nproc-per-node", "1"], SWIFT)
        .succeeded();
    let (argv, env) = (sandbox.recorded(), sandbox.recorded_env());
    assert!(
        argv[1].to_str().unwrap().ends_with("swift/cli/sft.py"),
        "{argv:?}"
    );
    let five = [
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "MASTER_ADDR",
    ]
    .map(|name| env[name].as_str());
    assert_eq!(five, ["0", "0", "1", "1", "127.0.0.1"]);
    // Without a config nothing needs a process group, and the trainer alone would have none.
    sandbox
        .launch(&["--nproc-per-node", "1"], SWIFT)
        .succeeded();
    assert!(!sandbox.recorded_env().contains_key("RANK"));
    // A script that is launched, by contrast, expects what torchrun would set.
    sandbox
        .launch(&["--nproc-per-node", "1"], &["python", "x.py"])
        .succeeded();
    assert_eq!(sandbox.recorded_env()["WORLD_SIZE"], "1");
}

#[test]
fn launchers_on_request() {
    let mut sandbox = Sandbox::new();
    let argv = |sandbox: &Sandbox, options: &[&str]| {
        let plan = sandbox.plan(&[ZERO2, options].concat(), &["python", "-u", "x.py", "--a"]);
        let words = argv(&plan);
        words[1..]
            .join(" ")
            .split(" --deepspeed")
            .next()
            .unwrap()
            .to_string()
    };
    assert_eq!(
        argv(&sandbox, &["--nproc-per-node", "2"]),
        "-P -m torch.distributed.run --nnodes 1 --nproc_per_node 2 --standalone x.py --a"
    );
    assert_eq!(
        argv(
            &sandbox,
            &["--nproc-per-node", "1", "--launcher", "torchrun"]
        ),
        "-P -m torch.distributed.run --nnodes 1 --nproc_per_node 1 --standalone x.py --a"
    );
    assert_eq!(
        argv(
            &sandbox,
            &["--nproc-per-node", "2", "--master-port", "29501"]
        ),
        "-P -m torch.distributed.run --nnodes 1 --nproc_per_node 2 --master_port 29501 x.py --a"
    );
    assert_eq!(
        argv(
            &sandbox,
            &[
                "--nproc-per-node",
                "2",
                "--nnodes",
                "2",
                "--node-rank",
                "1",
                "--master-addr",
                "h0",
                "--master-port",
                "2950",
                "--launcher-arg",
                "--max_restarts=3"
            ]
        ),
        "-P -m torch.distributed.run --nnodes 2 --nproc_per_node 2 --node_rank 1 --master_addr h0 --master_port 2950 --max_restarts=3 x.py --a"
    );
    // {"machine0":[0,1]} and {"machine0":[5,7]}
    let (zero_one, five_seven) = ("eyJtYWNoaW5lMCI6WzAsMV19", "eyJtYWNoaW5lMCI6WzUsN119");
    assert_eq!(
        argv(
            &sandbox,
            &["--nproc-per-node", "2", "--launcher", "deepspeed"]
        ),
        format!(
            "-u -P -m deepspeed.launcher.launch --world_info={zero_one} --master_addr=127.0.0.1 --no_local_rank x.py --a"
        )
    );
    // {"machine0":[0,1],"machine1":[0,1]}
    let two = "--nproc-per-node 2 --nnodes 2 --node-rank 1 --master-addr h0 --master-port 2950 --launcher deepspeed";
    assert_eq!(
        argv(&sandbox, &two.split(' ').collect::<Vec<_>>()),
        "-u -P -m deepspeed.launcher.launch --world_info=eyJtYWNoaW5lMCI6WzAsMV0sIm1hY2hpbmUxIjpbMCwxXX0= --node_rank=1 \
         --master_addr=h0 --master_port=2950 --no_local_rank x.py --a"
    );
    // The runner is told what zlaunch was told.
    let hosts = sandbox.file("hosts", "h0 slots=2\nh1 slots=2\nh2 slots=2\n");
    for (options, said) in [
        ("--include h0@h2:0", "--include h0@h2:0"),
        ("--exclude h1", "--exclude h1"),
        (
            "--exclude h1 --master-addr h0 --master-port 2950",
            "--exclude h1 --master_addr h0 --master_port 2950",
        ),
    ] {
        let options: Vec<&str> = ["--hostfile", "hosts"]
            .into_iter()
            .chain(options.split(' '))
            .collect();
        let words = crate::sandbox::argv(&sandbox.plan(&options, &["python", "-u", "x.py", "--a"]))
            .join(" ");
        let told = format!(
            " --hostfile {} {said} --no_local_rank x.py --a",
            hosts.display()
        );
        assert!(words.ends_with(&told), "{words}");
    }
    sandbox.var("CUDA_VISIBLE_DEVICES", "5,7,1");
    assert_eq!(
        argv(
            &sandbox,
            &["--nproc-per-node", "2", "--launcher", "deepspeed"]
        ),
        format!(
            "-u -P -m deepspeed.launcher.launch --world_info={five_seven} --master_addr=127.0.0.1 --no_local_rank x.py --a"
        )
    );
    sandbox.var("CUDA_VISIBLE_DEVICES", "GPU-1,GPU-2");
    let by_name = argv(&sandbox, &["--launcher", "deepspeed"]);
    // {"machine0":["GPU-1","GPU-2"]}
    assert!(
        by_name.contains("--world_info=eyJtYWNoaW5lMCI6WyJHUFUtMSIsIkdQVS0yIl19"),
        "{by_name}"
    );
    sandbox
        .launch(&["--launcher", "direct"], &["python", "x.py"])
        .refused(&["one process, not 2"]);
}

#[test]
fn several_machines_need_an_address_and_a_port() {
    let sandbox = Sandbox::new();
    let two = [
        "--deepspeed",
        "zero2",
        "--nproc-per-node",
        "2",
        "--nnodes",
        "2",
    ];
    sandbox
        .launch(&two, SWIFT)
        .refused(&["2 machines need the address and port", "--master-addr"]);
    sandbox
        .launch(
            &[
                &two[..],
                &[
                    "--node-rank",
                    "2",
                    "--master-addr",
                    "h",
                    "--master-port",
                    "29500",
                    "--master-port",
                    "1",
                ],
            ]
            .concat(),
            SWIFT,
        )
        .refused(&["machine 2 of 2"]);
    let meet = [&two[..], &["--master-addr", "h", "--master-port", "1234"]].concat();
    sandbox.launch(&meet, SWIFT).refused(&[
        "which of the 2 machines this is",
        "--node-rank I (on each of them",
    ]);
    let plan = sandbox.plan(&[&meet[..], &["--node-rank", "0"]].concat(), SWIFT);
    assert_eq!(
        (
            &plan["config"]["train_batch_size"],
            &plan["topology"]["world_size"]
        ),
        (&64.into(), &4.into())
    );
    assert!(
        plan["fills"][2]["from"]
            .as_str()
            .unwrap()
            .starts_with("4 × 1 × 16 ("),
        "{}",
        plan["fills"]
    );
}

#[test]
fn any_command_runs_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.executable("cwd/job.sh", "#!/bin/sh\nprintf '%s,' \"$@\"; exit 3\n");
    let run = sandbox.run(["./job.sh", "a b", "--deepspeed", "zero2"]);
    assert_eq!(
        (run.status, run.stdout.as_str()),
        (Some(3), "a b,--deepspeed,zero2,")
    );
    assert!(
        run.stderr.starts_with(
            "warning[not-understood]: zlaunch does not recognize `job.sh` as a training"
        ),
        "{run:?}"
    );
    sandbox
        .launch(ZERO2, &["./job.sh"])
        .refused(&["`job.sh` takes a DeepSpeed config", "--trainer hf"]);
    let plan = sandbox.plan(
        &["--nproc-per-node", "2"],
        &["some-tool", "sft", "run.yaml"],
    );
    assert_eq!(
        (&plan["launcher"], &plan["diagnostics"][0]["rule"]),
        (&"direct".into(), &"not-found".into())
    );
    let plan = sandbox.plan(
        &[
            "--nproc-per-node",
            "2",
            "--trainer",
            "hf",
            "--deepspeed",
            "zero2",
        ],
        &["./job.sh", "--bf16"],
    );
    let words = argv(&plan);
    assert!(
        words.contains(&"--no_python".to_string()) && words.contains(&"--deepspeed".to_string()),
        "{words:?}"
    );
}

#[test]
fn interpreter_options_reach_every_rank() {
    let sandbox = Sandbox::new();
    let plan = sandbox.plan(
        &["--nproc-per-node", "2"],
        &["python", "-X", "dev", "-m", "pkg.train", "--a"],
    );
    let words = argv(&plan);
    let python = &words[0];
    assert_eq!(
        words[4..],
        [
            "--nnodes",
            "1",
            "--nproc_per_node",
            "2",
            "--standalone",
            "--no_python",
            python,
            "-X",
            "dev",
            "-m",
            "pkg.train",
            "--a"
        ]
    );
}

#[test]
fn a_sites_variables_do_not_launch_existing_ranks_again() {
    let mut sandbox = Sandbox::new();
    sandbox.vars(&[
        ("RANK", "3"),
        ("LOCAL_RANK", "1"),
        ("WORLD_SIZE", "8"),
        ("MASTER_ADDR", "h"),
        ("MASTER_PORT", "1"),
        ("ZLAUNCH_LAUNCHER", "torchrun"),
        ("ZLAUNCH_NPROC_PER_NODE", "8"),
    ]);
    let plan = sandbox.plan(ZERO2, SWIFT);
    assert_eq!(
        (&plan["launcher"], &plan["topology"]["world_size"]),
        (&"direct".into(), &8.into())
    );
    sandbox
        .launch(&["--launcher", "torchrun"], SWIFT)
        .refused(&["the ranks exist already"]);
}

#[test]
fn launcher_arguments_cannot_change_the_ranks() {
    let sandbox = Sandbox::new();
    let options = [
        "--deepspeed",
        "zero2",
        "--nproc-per-node",
        "2",
        "--launcher-arg",
        "--nproc_per_node=4",
    ];
    sandbox
        .launch(&options, SWIFT)
        .refused(&["give --nproc-per-node"]);
    sandbox
        .launch(
            &[
                "--deepspeed",
                "zero2",
                "--launcher",
                "direct",
                "--nnodes",
                "2",
                "--node-rank",
                "0",
                "--nproc-per-node",
                "1",
                "--master-addr",
                "h",
                "--master-port",
                "1",
            ],
            SWIFT,
        )
        .refused(&["one process, not 2"]);
}

#[test]
fn stray_variables_of_torchrun_are_overruled() {
    let mut sandbox = Sandbox::new();
    sandbox.var("PET_NNODES", "2");
    let plan = sandbox.plan(
        &[
            "--deepspeed",
            "zero2",
            "--nnodes",
            "1",
            "--nproc-per-node",
            "2",
        ],
        SWIFT,
    );
    let words = argv(&plan);
    assert_eq!(words[4..6], ["--nnodes", "1"]);
    sandbox.var("CUDA_VISIBLE_DEVICES", "0,1");
    sandbox
        .launch(
            &[
                "--launcher",
                "deepspeed",
                "--nnodes",
                "1",
                "--nproc-per-node",
                "4",
            ],
            SWIFT,
        )
        .refused(&["2, not 4", "--nproc-per-node 2, or --launcher torchrun"]);
}

#[test]
fn passed_through_commands_do_not_care_about_ranks() {
    let mut sandbox = Sandbox::new();
    sandbox.var("NNODES", "2");
    assert_eq!(
        sandbox.plan(&[], &["swift", "export"])["launcher"],
        "direct"
    );
}

#[test]
fn an_impossible_number_of_slurm_groups_is_refused() {
    let mut sandbox = Sandbox::new();
    sandbox.vars(&[
        ("SLURM_JOB_ID", "1"),
        ("SLURM_JOB_NUM_NODES", "2"),
        ("SLURM_HET_SIZE", "4000000000"),
    ]);
    sandbox
        .launch(ZERO2, SWIFT)
        .refused(&["SLURM_HET_SIZE=4000000000"]);
}

#[test]
fn an_impossible_number_of_ranks_is_refused() {
    let sandbox = Sandbox::new();
    for more in [
        &["--nproc-per-node", "4000000000"][..],
        &"--nproc-per-node 8 --nnodes 4000000000 --node-rank 0 --master-addr h --master-port 29500"
            .split(' ')
            .collect::<Vec<_>>(),
    ] {
        for launcher in ["torchrun", "deepspeed", "local"] {
            let options = [ZERO2, more, &["--launcher", launcher]].concat();
            sandbox
                .launch(&options, SWIFT)
                .refused(&["4000000000", "check both numbers"]);
        }
    }
}

/// In a job of two machines, a launcher in the command that does not say them is judged like any other command.
#[test]
fn a_launcher_that_is_not_told_of_the_machines_is_refused() {
    let slurm = [
        ("SLURM_JOB_ID", "7"),
        ("SLURM_JOB_NUM_NODES", "2"),
        ("SLURM_STEP_ID", "0"),
        ("SLURM_STEP_NUM_NODES", "2"),
        ("SLURM_STEP_NODELIST", "gpu[07-08]"),
        ("SLURM_STEP_TASKS_PER_NODE", "1(x2)"),
        ("SLURM_NODEID", "1"),
        ("SLURM_PROCID", "1"),
    ];
    let batch = [
        ("SLURM_JOB_ID", "7"),
        ("SLURM_JOB_NUM_NODES", "2"),
        ("SLURM_NODEID", "0"),
    ];
    let pods = [
        ("KUBERNETES_SERVICE_HOST", "k"),
        ("RANK", "1"),
        ("WORLD_SIZE", "2"),
        ("MASTER_ADDR", "m"),
    ];
    let elastic = [
        ("PET_NNODES", "2"),
        ("PET_NODE_RANK", "1"),
        ("PET_MASTER_ADDR", "m"),
        ("PET_MASTER_PORT", "1"),
    ];
    let tasks = [
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("OMPI_COMM_WORLD_SIZE", "2"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
    ];
    let unsaid = [
        "torchrun --nproc_per_node 2 x.py --a",
        "torchrun --standalone --nproc_per_node 2 x.py --a",
        "python -m torch.distributed.run --nproc_per_node 2 x.py --a",
        "deepspeed --num_gpus 2 x.py --a",
        "deepspeed --hostfile /proc/nowhere --num_gpus 2 x.py --a",
        "deepspeed --include localhost:0,1 x.py --a",
        "accelerate launch --num_processes 2 x.py --a",
        "env A=1 torchrun --nproc_per_node 2 x.py --a",
    ];
    for (variables, machines) in [(&slurm[..], 2), (&batch, 2), (&pods, 2), (&tasks, 1)] {
        let mut sandbox = Sandbox::new();
        sandbox.vars(variables);
        for command in unsaid {
            let run = sandbox.launch(
                &["--deepspeed", "zero2"],
                &command.split(' ').collect::<Vec<_>>(),
            );
            run.refused(&[
                "zlaunch --deepspeed zero2 -- ",
                "python x.py --a",
                "--nnodes 1",
            ]);
            assert_eq!(
                machines > 1,
                run.stderr.contains("the job has 2 machines"),
                "{command}: {run:?}"
            );
            assert_eq!(
                sandbox
                    .launch(
                        &["-n", "--nnodes", "1"],
                        &command.split(' ').collect::<Vec<_>>()
                    )
                    .status,
                Some(0)
            );
        }
    }
    let mut sandbox = Sandbox::new();
    sandbox.vars(&elastic).file("h", "a slots=2\nb slots=2\n");
    // Alone, torchrun waits at localhost for those that PET_NNODES counts.
    sandbox
        .launch(&["-n"], &["torchrun", "--standalone", "x.py"])
        .refused(&["PET_NNODES=2"]);
    assert_eq!(
        sandbox.plan(&[], &["torchrun", "x.py"])["topology"]["nnodes"],
        2
    );
    sandbox.vars(&slurm);
    for said in [
        "torchrun --nnodes 2 --node_rank 1 --master_addr gpu07 x.py",
        "torchrun --nnodes 1 x.py",
        "torchrun --nnodes=1:2 --rdzv_backend c10d --rdzv_endpoint gpu07:29400 x.py",
        "deepspeed --hostfile h x.py",
        "accelerate launch --num_machines 1 --num_processes 2 x.py",
    ] {
        let command: Vec<&str> = said.split(' ').collect();
        let run = sandbox.launch(&["-n", "--deepspeed", "zero2"], &command);
        // What contradicts the job is told: one machine of two, or the second one that starts the ranks of both.
        let is_told = run.stderr.contains("contradicts-scheduler");
        assert_eq!(
            (run.status, is_told),
            (
                Some(0),
                !said.starts_with("torchrun --nnodes 2") && !said.contains("c10d")
            ),
            "{run:?}"
        );
    }
    let run = sandbox.launch(&["-n", "--hostfile", "h"], &["python", "x.py"]);
    assert!(
        run.stderr
            .contains("says machine 1 of 2: the ranks of a hostfile are started from one machine"),
        "{run:?}"
    );
    // Beside the number in the command, another one for zlaunch would be refused.
    let alone = Sandbox::new();
    let run = alone.launch(&["-n"], &["torchrun", "--nnodes", "2", "x.py"]);
    run.refused(&["which of the 2 machines this is", "--node_rank I"]);
    assert!(!run.stderr.contains("--nnodes 1"), "{run:?}");
}

/// A command that is passed through needs no ranks, whatever its variables say.
#[test]
fn a_variable_that_a_program_does_not_use_is_no_problem() {
    let mut sandbox = Sandbox::new();
    sandbox.vars(&[
        ("ZLAUNCH_NNODES", "1"),
        ("MASTER_PORT", "tcp://10.0.0.1:80"),
    ]);
    sandbox.plan(&[], &["ls"]);
    sandbox.plan(
        &[],
        &["deepspeed", "--include", "", "--num_gpus", "2", "train.py"],
    );
}

/// Numbers that are given twice must be the same, however they are written.
#[test]
fn zlaunch_and_a_launcher_must_agree() {
    let sandbox = Sandbox::new();
    let ours =
        "-n --nnodes 2 --node-rank 1 --master-addr n1 --master-port 29500 --nproc-per-node 2";
    for (theirs, differs) in [
        (
            "--nnodes 2 --node_rank 1 --master_addr n1 --master_port 29500 --nproc_per_node 2",
            None,
        ),
        (
            "--nnodes 2 --node_rank 01 --master_addr n1 --master_port 029500 --nproc_per_node 2",
            None,
        ),
        (
            "--nproc_per_node 4",
            Some(("--nproc-per-node 2", "--nproc_per_node 4")),
        ),
        (
            "--nnodes 3 --nproc_per_node 2",
            Some(("--nnodes 2", "--nnodes 3")),
        ),
        (
            "--node_rank 0 --nproc_per_node 2",
            Some(("--node-rank 1", "--node_rank 0")),
        ),
        (
            "--master_addr n2 --nproc_per_node 2",
            Some(("--master-addr n1", "--master_addr n2")),
        ),
        (
            "--master_port 29501 --nproc_per_node 2",
            Some(("--master-port 29500", "--master_port 29501")),
        ),
    ] {
        let run = sandbox.run(format!("{ours} -- torchrun {theirs} x.py").split(' '));
        match differs {
            None => run.succeeded(),
            Some((one, two)) => run.refused(&[
                "give different numbers",
                &format!("--> {one}\n  --> {two}\n"),
            ]),
        }
    }
}

/// Another release of the launcher may have an option: its source says so.
#[test]
fn an_option_that_the_launcher_does_not_have_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.put(
        "env/lib/python3.11/site-packages/torch/distributed/run.py",
        "parser.add_argument(\"--newest\")\n",
    );
    let run = |option: &str| {
        sandbox.run([
            "-n",
            "--",
            "torchrun",
            "--nproc_per_node",
            "2",
            option,
            "x.py",
        ])
    };
    run("--newest").succeeded();
    run("--zzzzzz").refused(&[
        "`torchrun` has no option `--zzzzzz`",
        "help: `torchrun --help` lists its options\n",
    ]);
    run("--max_restartz=3").refused(&[
        "`torchrun` has no option `--max_restartz`",
        "`--max_restarts=3`",
    ]);
    for (command, help) in [
        (
            "torchrun --deepspeed ds.json x.py",
            "help: put it behind x.py: --deepspeed ds.json\n",
        ),
        (
            "deepspeed --bf16 true x.py",
            "help: put it behind x.py: --bf16 true\n",
        ),
        (
            "torchrun --nproc_per_node 0,1,2 x.py",
            "help: --nproc_per_node 3\n",
        ),
        ("torchrun --nnodes 2:1 x.py", "help: --nnodes N\n"),
        (
            "torchrun --nproc_per_node all x.py",
            "help: --nproc_per_node gpu\n",
        ),
        ("deepspeed --num_gpus 0,1 x.py", "`--include localhost:0,1`"),
        (
            "accelerate launch --num_processes 0,1 x.py",
            "`--gpu_ids 0,1 --num_processes 2`",
        ),
        (
            "accelerate launch --deepspeed ds.json x.py",
            "`--use_deepspeed --deepspeed_config_file`",
        ),
    ] {
        let run = sandbox.run(["check", "--"].into_iter().chain(command.split(' ')));
        assert!(run.stdout.contains(help), "{command}: {run:?}");
    }
    // With one dash it is another option, whatever the source has.
    run("-newest").refused(&["`torchrun` has no option `-newest`"]);
}

/// What the launcher's own parser would say about a line that zlaunch passes on.
#[test]
fn a_value_that_the_launcher_refuses_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.file("bad", "n1 slots=x\n");
    sandbox.file("hosts", "# two GPUs\nn1 slots=2\n\nn2   slots=2 # more\n");
    sandbox.put(
        "env/lib/python3.11/site-packages/accelerate/commands/launch.py",
        "parser.add_argument(\"--mixed_precision\", default=\"\", choices=[\"no\", \"fp4\"])\n",
    );
    for (line, says) in [
        (
            "torchrun --nproc_per_node 2 --max_restarts two x.py",
            "`torchrun` refuses `--max_restarts two`: it expects an integer",
        ),
        (
            "deepspeed --num_gpus 2 --master_port=1x x.py",
            "`deepspeed` refuses `--master_port 1x`: it expects an integer",
        ),
        (
            "accelerate launch --num_processes 2 --mixed_precision 0 x.py",
            "`accelerate launch` refuses `--mixed_precision 0`: it expects one of no, fp16",
        ),
        // An empty text stands in the source, too, and is no new choice.
        (
            "accelerate launch --num_processes 2 --mixed_precision= x.py",
            "`accelerate launch` refuses `--mixed_precision`: it expects one of no, fp16",
        ),
        (
            "accelerate launch --num_processes 2 --zero_stage= x.py",
            "`accelerate launch` refuses `--zero_stage`: it expects an integer",
        ),
        (
            "torchrun --nproc_per_node two x.py",
            "`torchrun` cannot start `--nproc_per_node two`",
        ),
        (
            "torchrun --rdzv-back c10 --nproc_per_node 2 x.py",
            "`torchrun` refuses `--rdzv-back c10`",
        ),
        (
            "torchrun --nnodes two --nproc_per_node 2 x.py",
            "`torchrun` cannot start `--nnodes two`",
        ),
        (
            "torchrun --nnodes 1:2:3 --nproc_per_node 2 x.py",
            "`torchrun` cannot start `--nnodes 1:2:3`",
        ),
        (
            "torchrun --rdzv-backend c10 --nproc_per_node 2 x.py",
            "`torchrun` refuses `--rdzv-backend c10`: it expects one of static, c10d",
        ),
        (
            "deepspeed --include localhost:0,1 --num_gpus 2 x.py",
            "`deepspeed` takes a number or a list of GPUs, not both",
        ),
        (
            "deepspeed --exclude localhost:1 --num_nodes 1 x.py",
            "`deepspeed` takes a number or a list of GPUs, not both",
        ),
        (
            "deepspeed --include localhost:0 --exclude localhost:1 x.py",
            "`--include` cannot be used with `--exclude`",
        ),
        (
            "deepspeed --include localhost:0-3 x.py",
            "help: --include localhost:0,1,2,3",
        ),
        ("deepspeed --include n1:0 x.py", "there is no machine `n1`"),
        (
            "deepspeed --hostfile bad x.py",
            "`n1 slots=x` is not of the form `host slots=N`",
        ),
        (
            "deepspeed --hostfile hosts --include n1:0,2 x.py",
            "`n1` has no GPU `2`",
        ),
    ] {
        let run = sandbox.run(format!("-n -- {line}").split(' '));
        run.refused(&[says]);
    }
    for line in [
        "torchrun --nproc_per_node 2 --max_restarts 2 x.py",
        "torchrun --nproc_per_node=npu x.py",
        "torchrun --nproc_per_node 2 --nnodes 1:1 x.py",
        "deepspeed --include localhost:0,1 x.py",
        "deepspeed --exclude localhost:1 x.py",
        "deepspeed --num_gpus 2 --num_nodes 1 x.py",
        "deepspeed --include localhost:0,1 --num_gpus -1 x.py",
        "deepspeed --hostfile hosts --include n1 x.py",
        "deepspeed --hostfile none --num_gpus 2 x.py",
        "accelerate launch --num_processes 2 --mixed_precision fp4 x.py",
        "accelerate launch --num_processes 2 --mixed_precision $MODE x.py",
    ] {
        sandbox.run(format!("-n -- {line}").split(' ')).succeeded();
    }
}

#[test]
fn settings_for_deepspeed_that_accelerate_ignores_are_told() {
    let sandbox = Sandbox::new();
    sandbox.file("x.py", "import accelerate\n");
    sandbox.file("ds.json", "{}");
    sandbox.file(
        "run.yaml",
        "distributed_type: MULTI_GPU\nnum_processes: 2\ndeepspeed_config: {zero_stage: 3}\n",
    );
    let check = |flags: &str| {
        let line = format!("check -- accelerate launch --num_processes 2 {flags} x.py");
        sandbox.run(line.split(' ')).stdout
    };
    let says = "trains without DeepSpeed here";
    for flags in [
        "--zero_stage 3",
        "--deepspeed_config_file ds.json",
        "--config_file run.yaml",
    ] {
        assert!(check(flags).contains(says), "{flags}: {}", check(flags));
    }
    for flags in ["--zero_stage 3 --use_deepspeed", "--multi_gpu"] {
        assert!(!check(flags).contains(says), "{flags}: {}", check(flags));
    }
}

/// With a rendezvous or a hostfile, something else numbers the machines of `accelerate launch`.
#[test]
fn accelerate_cannot_divide_these_ranks_among_its_machines() {
    let sandbox = Sandbox::new();
    sandbox.file("two.yaml", "num_machines: 2\nnum_processes: 7\n");
    let run = sandbox.run("-n -- accelerate launch --config_file two.yaml x.py".split(' '));
    run.refused(&[
        "7 ranks cannot be divided among 2 machines",
        "two.yaml, num_processes: 7\n",
        "two.yaml, num_machines: 2\n",
    ]);
}

#[test]
fn accelerate_must_know_which_machine_this_is() {
    let sandbox = Sandbox::new();
    sandbox.file("c10d.yaml", "rdzv_backend: c10d\n");
    sandbox.file("static.yaml", "rdzv_backend: static\n");
    sandbox.file(
        "hosts.yaml",
        "deepspeed_config:\n  deepspeed_hostfile: hosts\n",
    );
    for (flags, is_known) in [
        ("--machine_rank 1", true),
        ("--rdzv_backend c10d", true),
        ("--rdzv_backend static", false),
        ("--deepspeed_hostfile hosts", true),
        ("--config_file c10d.yaml", true),
        ("--config_file static.yaml", false),
        ("--config_file hosts.yaml", true),
        ("--rdzv_backend static --config_file c10d.yaml", false),
    ] {
        let meet =
            "--num_machines 2 --num_processes 4 --main_process_ip n1 --main_process_port 29500";
        let run = sandbox.run(format!("-n -- accelerate launch {meet} {flags} x.py").split(' '));
        if is_known {
            assert!(
                !run.stderr.contains("which of the 2 machines"),
                "{flags}: {run:?}"
            );
        } else {
            run.refused(&[
                "nothing says which of the 2 machines this is",
                "help: --machine_rank I ",
            ]);
        }
    }
}

#[test]
fn variables_may_leave_the_port_to_torchrun() {
    let mut sandbox = Sandbox::new();
    sandbox
        .var("NNODES", "2")
        .var("NODE_RANK", "1")
        .var("NPROC_PER_NODE", "2");
    let plan = |sandbox: &Sandbox| sandbox.launch(&["-n", "--deepspeed", "zero2"], SWIFT);
    plan(&sandbox).refused(&["2 machines need the address and port"]);
    sandbox.var("MASTER_ADDR", "n1");
    let planned = plan(&sandbox);
    assert!(
        planned.stdout.contains("--master_port 29500"),
        "{planned:?}"
    );
}
