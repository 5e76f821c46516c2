//! Schedulers and MPIs other than Slurm, hostfiles, and what happens when they and the user disagree.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::sandbox::{Run, SWIFT, Sandbox, ZLAUNCH, argv};

const ZERO3: &[&str] = &["--deepspeed", "zero3"];

fn with(variables: &[(&str, &str)]) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox
        .var("CUDA_VISIBLE_DEVICES", "0,1,2,3")
        .vars(variables);
    sandbox
}

/// nnodes, node_rank, nproc_per_node, world_size, master_addr, master_port.
fn topology(plan: &Value) -> Value {
    let names = [
        "nnodes",
        "node_rank",
        "nproc_per_node",
        "world_size",
        "master_addr",
        "master_port",
    ];
    Value::from(names.map(|name| plan["topology"][name].clone()).to_vec())
}

#[test]
fn an_mpi_starts_one_task_for_each_rank() {
    for (rank, size, local_rank, local_size) in [
        (
            "OMPI_COMM_WORLD_RANK",
            "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_LOCAL_RANK",
            "OMPI_COMM_WORLD_LOCAL_SIZE",
        ),
        ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
        (
            "MV2_COMM_WORLD_RANK",
            "MV2_COMM_WORLD_SIZE",
            "MV2_COMM_WORLD_LOCAL_RANK",
            "MV2_COMM_WORLD_LOCAL_SIZE",
        ),
        (
            "MVP_COMM_WORLD_RANK",
            "MVP_COMM_WORLD_SIZE",
            "MVP_COMM_WORLD_LOCAL_RANK",
            "MVP_COMM_WORLD_LOCAL_SIZE",
        ),
        (
            "PALS_RANKID",
            "PMI_SIZE",
            "PALS_LOCAL_RANKID",
            "PALS_LOCAL_SIZE",
        ),
        (
            "JSM_NAMESPACE_RANK",
            "JSM_NAMESPACE_SIZE",
            "JSM_NAMESPACE_LOCAL_RANK",
            "JSM_NAMESPACE_LOCAL_SIZE",
        ),
    ] {
        let tasks = [
            (rank, "5"),
            (size, "8"),
            (local_rank, "1"),
            (local_size, "4"),
        ];
        let mut sandbox = with(&tasks);
        sandbox
            .launch(ZERO3, SWIFT)
            .refused(&["2 machines need the address and port"]);
        sandbox.var("MASTER_ADDR", "h0").var("MASTER_PORT", "1234");
        assert_eq!(sandbox.launch(ZERO3, SWIFT).status, Some(0), "{rank}");
        let env = sandbox.recorded_env();
        let got = [
            "RANK",
            "LOCAL_RANK",
            "WORLD_SIZE",
            "LOCAL_WORLD_SIZE",
            "MASTER_ADDR",
            "MASTER_PORT",
        ]
        .map(|it| &env[it]);
        assert_eq!(got, ["5", "1", "8", "4", "h0", "1234"], "{rank}");
        assert!(
            !sandbox
                .recorded()
                .iter()
                .any(|word| word == "torch.distributed.run")
        );
        sandbox.var(size, "x");
        sandbox.launch(ZERO3, SWIFT).refused(&[size, "=x"]);
    }
}

#[test]
fn one_task_of_an_mpi_on_each_machine_starts_torchrun() {
    let sandbox = with(&[
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("OMPI_COMM_WORLD_SIZE", "2"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "1"),
        ("SLURM_JOB_ID", "7"),
        ("SLURM_JOB_NODELIST", "n[3-4]"),
    ]);
    let plan = sandbox.plan(ZERO3, SWIFT);
    let port = plan["topology"]["master_port"].clone();
    assert_eq!(topology(&plan), json!([2, 1, 4, 8, "n3", port]));
    assert_eq!(
        (&plan["launcher"], &plan["topology"]["engine"]),
        (&json!("torchrun"), &json!("Open MPI"))
    );
}

#[test]
fn one_task_of_an_mpi_on_one_machine_uses_all_of_its_gpus() {
    let one = [
        ("OMPI_COMM_WORLD_RANK", "0"),
        ("OMPI_COMM_WORLD_SIZE", "1"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "1"),
    ];
    let plan = with(&one).plan(ZERO3, SWIFT);
    assert_eq!(
        (&plan["launcher"], &plan["topology"]["nproc_per_node"]),
        (&json!("torchrun"), &json!(4))
    );
}

#[test]
fn only_the_first_task_says_what_is_launched() {
    for (rank, speaks) in [("0", true), ("1", false)] {
        let sandbox = with(&[
            ("OMPI_COMM_WORLD_RANK", rank),
            ("OMPI_COMM_WORLD_SIZE", "2"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", rank),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
        ]);
        let run = sandbox.launch(ZERO3, SWIFT);
        run.succeeded();
        assert_eq!(!run.headline.is_empty(), speaks, "{run:?}");
    }
}

#[test]
fn machines_with_unequal_tasks_are_refused_where_they_are_counted() {
    let mut sandbox = with(&[
        ("OMPI_COMM_WORLD_RANK", "3"),
        ("OMPI_COMM_WORLD_SIZE", "4"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "1"),
        ("OMPI_MCA_orte_num_nodes", "2"),
        ("MASTER_ADDR", "n1"),
        ("MASTER_PORT", "29500"),
    ]);
    sandbox
        .launch(ZERO3, SWIFT)
        .refused(&["have different numbers of tasks", "--map-by ppr:N:node"]);
    sandbox.var("OMPI_MCA_orte_num_nodes", "4");
    assert_eq!(
        topology(&sandbox.plan(ZERO3, SWIFT)),
        json!([4, 3, 4, 16, "n1", 29500])
    );
}

#[test]
fn each_start_of_an_mpi_has_a_port_of_its_own() {
    let port = |more: &[(&str, &str)]| {
        let mut sandbox = with(&[
            ("SLURM_JOB_ID", "7"),
            ("SLURM_JOB_NODELIST", "n[3-4]"),
            ("SLURM_JOB_NUM_NODES", "2"),
        ]);
        sandbox.vars(more);
        sandbox.plan(ZERO3, SWIFT)["topology"]["master_port"].clone()
    };
    let openmpi = |start: &'static str| {
        let task = ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"].map(|name| (name, "1"));
        let sizes = [
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
            ("PMIX_NAMESPACE", start),
        ];
        port(&[&task[..], &sizes].concat())
    };
    assert_ne!(openmpi("prterun-n3-1@1"), openmpi("prterun-n3-2@1"));
    let intel = |start: &'static str| {
        port(&[
            ("PMI_RANK", "1"),
            ("PMI_SIZE", "4"),
            ("MPI_LOCALRANKID", "1"),
            ("MPI_LOCALNRANKS", "2"),
            ("I_MPI_HYDRA_UUID", start),
        ])
    };
    assert_ne!(intel("13340000-c1ed"), intel("13350000-c1ed"));
}

#[test]
fn half_a_place_is_refused_with_what_is_missing() {
    for (variables, options, says) in [
        (
            &[("OMPI_COMM_WORLD_RANK", "1")][..],
            &[][..],
            &["OMPI_COMM_WORLD_LOCAL_SIZE", "RANK=1"][..],
        ),
        (
            &[("PMI_RANK", "1"), ("PMI_SIZE", "2")],
            &[],
            &["PMI started this as one of several", "--nnodes 1"],
        ),
        (
            &[("PMIX_RANK", "0")],
            &[],
            &["PMIx started this as one of several", "PMIX_RANK=0"],
        ),
        (
            &[("SKYPILOT_NODE_RANK", "0")],
            &[],
            &[
                "larger job of SkyPilot, but nothing says how many",
                "--node-rank I",
            ],
        ),
        (
            &[("SKYPILOT_NUM_NODES", "2")],
            &[],
            &[
                "larger job of SkyPilot, but nothing says which",
                "SKYPILOT_NUM_NODES=2",
            ],
        ),
        (
            &[("NODE_RANK", "1"), ("MASTER_ADDR", "a")],
            &[],
            &[
                "this is machine 1, but the number of machines is unknown",
                "--node-rank 1",
            ],
        ),
        (
            &[("NODE_RANK", "0"), ("MASTER_ADDR", "a")],
            &[],
            &[
                "this is machine 0, but the number of machines is unknown",
                "MASTER_ADDR=a",
            ],
        ),
        (
            &[("RANK", "0"), ("MASTER_ADDR", "a")],
            &[],
            &["`RANK` is set, but not LOCAL_RANK and WORLD_SIZE"],
        ),
        (
            &[("LOCAL_RANK", "0"), ("WORLD_SIZE", "16")],
            &[],
            &["`WORLD_SIZE` is set, but not RANK"],
        ),
        (
            &[],
            &["--nnodes", "2", "--master-addr", "a", "--master-port", "1"],
            &["nothing says which of the 2 machines this is"],
        ),
        (
            &[("JOB_COMPLETION_INDEX", "1")],
            &[],
            &["Indexed Job", "JOB_COMPLETION_INDEX=1"],
        ),
        (
            &[("K_MPI_JOB_ROLE", "launcher")],
            &[],
            &["the launcher pod of an MPIJob", "mpirun zlaunch"],
        ),
        (
            &[("AZ_BATCH_NODE_LIST", "10.0.0.1;10.0.0.2")],
            &[],
            &["Azure job on 2 machines", "AZ_BATCH_HOST_LIST"],
        ),
        (
            &[("PBS_NODEFILE", "/proc/nowhere")],
            &[],
            &["the machines of the PBS job cannot be read"],
        ),
        (
            &[
                ("PRIMARY_ADDR", "10.0.0.1"),
                ("PRIMARY_PORT", "0"),
                ("NUM_NODES", "2"),
                ("NODE_RANK", "1"),
            ],
            &[],
            &[
                "`0` is not a whole number from 1 to 65535",
                "PRIMARY_PORT=0",
            ],
        ),
        (
            &[("PET_NNODES", "1:3")],
            &[],
            &["`1:3` machines are a range", "PET_NNODES=1:3"],
        ),
        (
            &[
                ("SLURM_JOB_ID", "7"),
                ("SLURM_JOB_NUM_NODES", "2"),
                ("SLURM_NODEID", "0"),
            ],
            &["--node-rank", "1", "--master-addr", "n1"],
            &["2 machines need the address and port of the first"],
        ),
    ] {
        let sandbox = with(variables);
        sandbox
            .launch(&[ZERO3, options].concat(), SWIFT)
            .refused(says);
        let alone = sandbox.plan(&[ZERO3, &["--nnodes", "1"]].concat(), SWIFT);
        assert_eq!(alone["topology"]["nnodes"], 1, "{variables:?}");
    }
}

#[test]
fn the_shell_of_a_job_on_several_machines_is_told_the_line_to_paste() {
    let typed = "zlaunch --deepspeed zero3 -- python x.py 'a b'";
    for (variables, line) in [
        (
            &[("PBS_JOBID", "7.pbs"), ("PBS_NODEFILE", "NODES")][..],
            "mpirun --hostfile $PBS_NODEFILE --map-by ppr:1:node TYPED (Open MPI), or mpiexec -ppn 1 zlaunch …",
        ),
        (
            &[("JOB_ID", "7"), ("PE", "mpi"), ("PE_HOSTFILE", "NODES")],
            "mpirun -np $NHOSTS --map-by ppr:1:node TYPED (Open MPI), or mpiexec -n $NHOSTS -ppn 1 zlaunch …",
        ),
        (
            &[("LSB_JOBID", "7"), ("LSB_MCPU_HOSTS", "n1 2 n2 2")],
            "mpirun --map-by ppr:1:node TYPED (Open MPI), or jsrun -r 1 -a 1 zlaunch …",
        ),
        (
            &[("OAR_JOB_ID", "7"), ("OAR_NODEFILE", "NODES")],
            "mpirun --mca plm_rsh_agent oarsh --hostfile $OAR_NODEFILE --map-by ppr:1:node TYPED",
        ),
    ] {
        let mut sandbox = with(variables);
        let nodes = sandbox.file("nodes", "n1 2\nn2 2\n").display().to_string();
        for (name, value) in variables {
            sandbox.var(name, value.replace("NODES", &nodes));
        }
        let script = ["python", "x.py", "a b"];
        let says = [
            "job on 2 machines: nothing runs on the others",
            &line.replace("TYPED", typed),
            "--nnodes 1",
        ];
        sandbox.launch(ZERO3, &script).refused(&says);
        sandbox
            .launch(&[ZERO3, &["--launcher", "torchrun"]].concat(), &script)
            .refused(&says[..1]);
        assert_eq!(
            sandbox.plan(&[ZERO3, &["--nnodes", "1"]].concat(), &script)["launcher"],
            "torchrun"
        );
        let place = [
            "--nnodes",
            "2",
            "--node-rank",
            "1",
            "--master-addr",
            "n1",
            "--master-port",
            "1234",
        ];
        assert_eq!(
            topology(&sandbox.plan(&[ZERO3, &place].concat(), &script)),
            json!([2, 1, 4, 8, "n1", 1234])
        );
    }
    // What is secret is not shown.
    let sandbox = with(&[("LSB_JOBID", "7"), ("LSB_MCPU_HOSTS", "n1 2 n2 2")]);
    let run = sandbox.launch(
        &["--env", "HF_TOKEN=hf_secret"],
        &["python", "x.py", "--hub_token", "hf_other"],
    );
    assert!(
        !run.stderr.contains("hf_secret") && !run.stderr.contains("hf_other"),
        "{run:?}"
    );
}

#[test]
fn a_place_that_is_stated_needs_no_engine() {
    for engine in [
        ("PMIX_RANK", "3"),
        ("JOB_COMPLETION_INDEX", "1"),
        ("PBS_NODEFILE", "/proc/nowhere"),
        ("LSB_HOSTS", "a b"),
    ] {
        let mut sandbox = with(&[
            engine,
            ("NNODES", "2"),
            ("NODE_RANK", "1"),
            ("MASTER_ADDR", "a"),
            ("MASTER_PORT", "9"),
        ]);
        assert_eq!(
            topology(&sandbox.plan(ZERO3, SWIFT)),
            json!([2, 1, 4, 8, "a", 9]),
            "{engine:?}"
        );
        sandbox.vars(&[
            ("NNODES", ""),
            ("RANK", "3"),
            ("LOCAL_RANK", "1"),
            ("WORLD_SIZE", "4"),
        ]);
        assert_eq!(
            sandbox.plan(ZERO3, SWIFT)["launcher"],
            "direct",
            "{engine:?}: the ranks exist"
        );
    }
}

#[test]
fn what_may_have_more_machines_is_told() {
    for (name, what, is_refused) in [
        (
            "RAY_JOB_CONFIG_JSON_ENV_VAR",
            "this is the driver of a Ray job",
            true,
        ),
        ("FLUX_ENCLOSING_ID", "this is the shell of a Flux job", true),
        ("RAY_RAYLET_PID", "this is a task of Ray", false),
    ] {
        let sandbox = with(&[(name, "1")]);
        let run = sandbox.launch(&[&["-n"], ZERO3].concat(), SWIFT);
        assert!(
            run.stderr.contains(what) && run.status == Some(if is_refused { 125 } else { 0 }),
            "{run:?}"
        );
        // Only a warning can be allowed.
        let run = sandbox.launch(
            &[&["-n"], ZERO3, &["--allow", "uncounted-machines"]].concat(),
            SWIFT,
        );
        assert_eq!(
            (run.stderr.contains(what), run.status == Some(125)),
            (is_refused, is_refused),
            "{run:?}"
        );
        let run = sandbox.launch(&[&["-n"], ZERO3, &["--nnodes", "1"]].concat(), SWIFT);
        assert!(
            !run.stderr.contains(what) && run.status == Some(0),
            "{run:?}"
        );
    }
    let notebook =
        with(&[("RAY_ADDRESS", "ray://head:10001")]).launch(&[&["-n"], ZERO3].concat(), SWIFT);
    assert!(
        !notebook.stderr.contains("uncounted-machines"),
        "{notebook:?}"
    );
}

#[test]
fn the_files_of_pbs_and_lsf_name_the_first_machine() {
    let tasks = [
        ("PMI_RANK", "5"),
        ("PMI_SIZE", "8"),
        ("MPI_LOCALRANKID", "1"),
        ("MPI_LOCALNRANKS", "4"),
    ];
    for (variable, job, text, first) in [
        ("PBS_NODEFILE", "PBS_JOBID", "a1\na1\na2\n", "a1"),
        (
            "LSB_DJOB_RANKFILE",
            "LSB_JOBID",
            "batch5\nb1\nb1\nb2\n",
            "b1",
        ),
    ] {
        let mut sandbox = with(&tasks);
        let file = sandbox.file("hosts", text);
        sandbox.var(variable, file).var(job, "77");
        let plan = sandbox.plan(ZERO3, SWIFT);
        assert_eq!(plan["topology"]["master_addr"], first);
        assert!(plan["topology"]["master_port"].is_number());
        // Rank 0 listens at that address, so it must run there.
        sandbox.var("PMI_RANK", "0").var("MPI_LOCALRANKID", "0");
        sandbox
            .launch(ZERO3, SWIFT)
            .refused(&["rank 0 runs on", first, "export MASTER_ADDR="]);
    }
}

#[test]
fn kubernetes_counts_pods() {
    let pod = [
        ("RANK", "2"),
        ("WORLD_SIZE", "3"),
        ("MASTER_ADDR", "job-master-0"),
        ("MASTER_PORT", "23456"),
    ];
    let expected = json!([3, 2, 4, 12, "job-master-0", 23456]);
    for mark in [
        ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
        ("VC_TASK_INDEX", "1"),
    ] {
        let mut sandbox = with(&pod);
        sandbox.var(mark.0, mark.1);
        assert_eq!(topology(&sandbox.plan(ZERO3, SWIFT)), expected, "{mark:?}");
        // A launcher inside the pod already ran.
        sandbox.var("LOCAL_RANK", "0");
        assert_eq!(sandbox.plan(ZERO3, SWIFT)["launcher"], "direct", "{mark:?}");
    }
    let mut dlc = with(&pod);
    dlc.var("MASTER_ADDR", "dlc1a2b-master-0")
        .var("NPROC_PER_NODE", "8")
        .unset("CUDA_VISIBLE_DEVICES");
    assert_eq!(
        topology(&dlc.plan(ZERO3, SWIFT)),
        json!([3, 2, 8, 24, "dlc1a2b-master-0", 23456])
    );
    with(&pod)
        .launch(ZERO3, SWIFT)
        .refused(&["can count machines or ranks", "--nnodes 3 --node-rank 2"]);
    let volcano = with(&[
        ("VC_TASK_INDEX", "1"),
        ("VC_WORKER_HOSTS", "w-0.svc,w-1.svc"),
        ("VC_WORKER_NUM", "2"),
    ]);
    assert_eq!(
        topology(&volcano.plan(ZERO3, SWIFT)),
        json!([2, 1, 4, 8, "w-0.svc", 23456])
    );
}

#[test]
fn sagemaker_sorts_its_machines() {
    let mut sandbox = with(&[
        ("SM_HOSTS", r#"["algo-2", "algo-1"]"#),
        ("SM_CURRENT_HOST", "algo-2"),
        ("SM_NUM_GPUS", "8"),
    ]);
    sandbox.unset("CUDA_VISIBLE_DEVICES");
    assert_eq!(
        topology(&sandbox.plan(ZERO3, SWIFT)),
        json!([2, 1, 8, 16, "algo-1", 23456])
    );
    sandbox.var("SM_CURRENT_HOST", "algo-3");
    sandbox
        .launch(ZERO3, SWIFT)
        .refused(&["SM_CURRENT_HOST=algo-3", "--node-rank"]);
}

fn step(more: &[(&str, &str)]) -> Sandbox {
    let variables = [
        ("SLURM_JOB_ID", "9"),
        ("SLURM_STEP_ID", "0"),
        ("SLURM_STEP_NUM_NODES", "2"),
        ("SLURM_STEP_NODELIST", "n[1-2]"),
        ("SLURM_STEP_TASKS_PER_NODE", "1(x2)"),
        ("SLURM_NODEID", "1"),
        ("SLURM_PROCID", "1"),
        ("SLURM_LOCALID", "0"),
    ];
    with(&variables.iter().chain(more).copied().collect::<Vec<_>>())
}

#[test]
fn the_variables_of_enroots_hook_do_not_mean_a_launcher() {
    let hook = [
        ("RANK", "1"),
        ("WORLD_SIZE", "2"),
        ("LOCAL_RANK", "0"),
        ("MASTER_ADDR", "n1"),
        ("MASTER_PORT", "61007"),
    ];
    assert_eq!(
        topology(&step(&hook).plan(ZERO3, SWIFT)),
        json!([2, 1, 4, 8, "n1", 61007])
    );
    // torchrun says more than the hook.
    let mut torchrun = step(&hook);
    torchrun.var("LOCAL_WORLD_SIZE", "1").var("GROUP_RANK", "1");
    assert_eq!(torchrun.plan(ZERO3, SWIFT)["launcher"], "direct");
}

#[test]
fn the_ranks_of_torchrun_tell_how_many_machines_there_are() {
    for (each, machines) in [("8", json!(2)), ("5", json!(null))] {
        let started = [
            ("RANK", "8"),
            ("LOCAL_RANK", "0"),
            ("WORLD_SIZE", "16"),
            ("LOCAL_WORLD_SIZE", each),
        ];
        let mut sandbox = with(&started);
        sandbox.vars(&[
            ("MASTER_ADDR", "n1"),
            ("MASTER_PORT", "61007"),
            ("GROUP_RANK", "1"),
        ]);
        assert_eq!(
            sandbox.plan(ZERO3, SWIFT)["topology"]["nnodes"],
            machines,
            "{each}"
        );
    }
}

#[test]
fn the_user_overrides_the_scheduler_with_a_warning() {
    let sandbox = step(&[
        ("MASTER_ADDR", "ib-n1"),
        ("MASTER_PORT", "4711"),
        ("NODE_RANK", "0"),
    ]);
    sandbox.launch(ZERO3, SWIFT).refused(&[
        "Slurm says machine 1 of 2, but NODE_RANK says machine 0",
        "unset NODE_RANK",
    ]);
    let place = ["--nnodes", "2", "--node-rank", "0"];
    let run = sandbox.launch(
        &[
            &["--deepspeed", "zero3", "-n", "--format", "json"],
            &place[..],
        ]
        .concat(),
        SWIFT,
    );
    assert_eq!(topology(&run.json()), json!([2, 0, 4, 8, "ib-n1", 4711]));
    assert!(
        run.stderr
            .contains("warning[contradicts-scheduler]: Slurm says machine 1 of 2, but --nnodes says machine 0 of 2"),
        "{}",
        run.stderr
    );
    let run = step(&[("PET_NPROC_PER_NODE", "2")])
        .launch(&["--deepspeed", "zero3", "--nproc-per-node", "4"], SWIFT);
    // Only the first machine warns: this is machine 1.
    assert!(!run.stderr.contains("stray-variable"), "{}", run.stderr);
    let mut first = step(&[("PET_NPROC_PER_NODE", "2"), ("SLURM_NODEID", "0")]);
    let run = first.launch(
        &["--deepspeed", "zero3", "--nproc-per-node", "4", "-n"],
        SWIFT,
    );
    assert!(
        run.stderr.contains("warning[stray-variable]")
            && run.stderr.contains("PET_NPROC_PER_NODE=2"),
        "{}",
        run.stderr
    );
    first.var("MASTER_ADDR", "127.0.0.1");
    first.launch(ZERO3, SWIFT).refused(&[
        "no other machine reaches 127.0.0.1",
        "MASTER_ADDR=127.0.0.1",
    ]);
}

/// Beside a flag that says which machine this is, only the number of machines must agree.
#[test]
fn a_flag_may_say_which_machine_this_is() {
    let sandbox = step(&[("NODE_RANK", "0")]);
    sandbox
        .launch(ZERO3, SWIFT)
        .refused(&["Slurm says machine 1 of 2, but NODE_RANK says machine 0"]);
    for rank in ["0", "1"] {
        let plan = sandbox.plan(&[ZERO3, &["--node-rank", rank]].concat(), SWIFT);
        let topology = &plan["topology"];
        assert_eq!(topology["nnodes"], 2, "{rank}");
        assert_eq!(topology["node_rank"].to_string(), rank);
    }
    step(&[("NNODES", "3")])
        .launch(&[ZERO3, &["--node-rank", "1"]].concat(), SWIFT)
        .refused(&["Slurm says machine 1 of 2, but NNODES says 3 machines"]);
}

/// With `--nnodes 1`, this machine may have any number among others; a variable does not insist like that.
#[test]
fn one_machine_by_flag_needs_no_number() {
    let sandbox = with(&[("NNODES", "1"), ("NODE_RANK", "1")]);
    sandbox.launch(ZERO3, SWIFT).refused(&[
        "machine 1 of 1 does not exist",
        "NODE_RANK=1",
        "NNODES=1",
    ]);
    let plan = sandbox.plan(&[ZERO3, &["--nnodes", "1"]].concat(), SWIFT);
    assert_eq!(topology(&plan), json!([1, 0, 4, 4, null, null]));
}

#[test]
fn a_task_with_one_gpu_has_local_rank_0() {
    let sandbox = step(&[
        ("SLURM_STEP_TASKS_PER_NODE", "4(x2)"),
        ("SLURM_LOCALID", "3"),
        ("CUDA_VISIBLE_DEVICES", "3"),
    ]);
    let set = &sandbox.plan(ZERO3, &["python", "x.py", "--deepspeed", "zero3"])["env"]["set"];
    assert_eq!(
        [&set["RANK"], &set["LOCAL_RANK"], &set["LOCAL_WORLD_SIZE"]],
        ["7", "0", "4"]
    );
    // ms-swift divides the GPUs it sees by the ranks of its machine.
    let set = &sandbox.plan(ZERO3, SWIFT)["env"]["set"];
    assert_eq!(
        [&set["RANK"], &set["LOCAL_RANK"], &set["LOCAL_WORLD_SIZE"]],
        ["7", "0", "1"]
    );
    // Without a list of the devices, the engine's count is all there is.
    let counted = step(&[
        ("SLURM_STEP_TASKS_PER_NODE", "1(x2)"),
        ("SLURM_GPUS_ON_NODE", "4"),
        ("SLURM_NODEID", "0"),
        ("SLURM_PROCID", "0"),
    ]);
    for (asked, is_told) in [("8", true), ("4", false)] {
        let asked = [
            ZERO3,
            &[
                "-n",
                "--unset-env",
                "CUDA_VISIBLE_DEVICES",
                "--nproc-per-node",
                asked,
            ],
        ]
        .concat();
        let told = counted.launch(&asked, SWIFT).stderr;
        assert_eq!(
            told.contains("8 ranks would share 4 GPUs"),
            is_told,
            "{told}"
        );
    }
    let few = step(&[("SLURM_STEP_TASKS_PER_NODE", "8(x2)")]);
    few.launch(ZERO3, SWIFT)
        .refused(&["8 tasks would share 4 GPUs", "--ntasks-per-node=4"]);
    let asked = ["--deepspeed", "zero3", "--nproc-per-node", "4"];
    few.launch(&asked, SWIFT)
        .refused(&["8 tasks run on this machine, each of them a rank already"]);
}

#[test]
fn a_batch_script_is_started_on_every_machine() {
    let mut sandbox = with(&[
        ("SLURM_JOB_ID", "9"),
        ("SLURM_JOB_NUM_NODES", "2"),
        ("SLURM_JOB_NODELIST", "n[1-2]"),
        ("SLURM_SUBMIT_DIR", "/home/me"),
        ("SLURM_TASKS_PER_NODE", "4(x2)"),
        ("SLURM_TRES_PER_TASK", "gres/gpu=1"),
        ("ZLAUNCH_STRICT", "1"),
    ]);
    let run = Run::of(
        sandbox
            .command(ZERO3.iter().chain(SWIFT))
            .env("PATH", sandbox.bin()),
    );
    assert_eq!(run.status, Some(127), "{run:?}");
    assert!(
        run.stderr
            .contains("`srun`, which reaches them, is not on PATH"),
        "{run:?}"
    );
    sandbox.program("srun");
    sandbox.launch(ZERO3, SWIFT).succeeded();
    let argv = sandbox.recorded();
    assert_eq!(
        argv[1..6],
        [
            "--nodes=2",
            "--ntasks=2",
            "--ntasks-per-node=1",
            "--kill-on-bad-exit=1",
            "--export=ALL"
        ]
    );
    assert_eq!(
        (&argv[6], &argv[7]),
        (&"--gres=gpu:4".into(), &ZLAUNCH.into())
    );
    assert_eq!(argv[8..11], ["--deepspeed", "zero3", "--"]);
    assert_eq!(argv[11..], *SWIFT);
    let env = sandbox.recorded_env();
    assert!(
        !env.contains_key("SLURM_TRES_PER_TASK")
            && env["ZLAUNCH_STRICT"] == "1"
            && !env.contains_key("RANK")
    );
    // The one task of a machine has the share of all.
    sandbox
        .var("SLURM_TASKS_PER_NODE", "1(x2)")
        .launch(ZERO3, SWIFT)
        .succeeded();
    assert_eq!(sandbox.recorded_env()["SLURM_TRES_PER_TASK"], "gres/gpu=1");
    // A mistake is told once, before anything starts.
    sandbox
        .launch(&["--deepspeed", "zero33"], SWIFT)
        .refused(&["zero33", "zero3"]);
    // The shell of salloc is not even on the one machine of its job.
    sandbox.var("SLURM_JOB_NUM_NODES", "1");
    assert_eq!(sandbox.plan(ZERO3, SWIFT)["launcher"], "srun");
    sandbox.var("SLURM_NODEID", "0");
    assert_eq!(sandbox.plan(ZERO3, SWIFT)["launcher"], "torchrun");
    sandbox.var("SLURM_JOB_NUM_NODES", "2");
    // Only here, or placed by hand.
    sandbox.unset("ZLAUNCH_STRICT");
    assert_eq!(
        sandbox.plan(&["--deepspeed", "zero3", "--nnodes", "1"], SWIFT)["launcher"],
        "torchrun"
    );
    sandbox
        .var("SLURM_STEP_ID", "0")
        .var("SLURM_NODEID", "0")
        .var("SLURM_STEP_TASKS_PER_NODE", "1(x2)");
    sandbox
        .launch(&["--deepspeed", "zero3", "--launcher", "srun"], SWIFT)
        .refused(&["--launcher srun"]);
}

#[test]
fn zlaunch_goes_behind_an_srun_in_the_command() {
    let sandbox = Sandbox::new();
    sandbox.program("srun");
    let command: Vec<&str> = ["srun", "-N2", "--ntasks-per-node=1"]
        .iter()
        .chain(SWIFT)
        .copied()
        .collect();
    sandbox
        .launch(&["--deepspeed", "zero3", "-v"], &command)
        .succeeded();
    let argv = sandbox.recorded();
    assert_eq!(argv[1..3], ["-N2", "--ntasks-per-node=1"]);
    assert_eq!(argv[4..8], ["--deepspeed", "zero3", "-v", "--"]);
    assert_eq!(argv[8..], *SWIFT);
    sandbox
        .launch(&[], &["srun", "-N2", "hostname"])
        .succeeded();
    assert_eq!(
        sandbox.recorded()[1..],
        ["-N2", "hostname"],
        "what zlaunch has no part in stays as it is"
    );
}

#[test]
fn a_hostfile_goes_to_deepspeeds_runner() {
    let mut sandbox = with(&[]);
    sandbox.file("hosts", "h0 slots=4\nh1 slots=4\n");
    sandbox.file(".deepspeed_env", "A=1\n");
    let options = [
        "--deepspeed",
        "zero3",
        "--hostfile",
        "hosts",
        "--include",
        "h0@h1:0,1",
        "--env",
        "HF_TOKEN_PATH=/x",
    ];
    // No other machine sees what is in a temporary folder.
    let temporary = sandbox.root().to_path_buf();
    sandbox.var("TMPDIR", temporary);
    sandbox
        .launch(&options, SWIFT)
        .refused(&["2 machines must read the config", "--config-out"]);
    sandbox.unset("TMPDIR");
    let command = ["python", "x.py"];
    sandbox.launch(&options[2..], &command).succeeded_silently();
    let argv: Vec<String> = sandbox
        .recorded()
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let file = sandbox.cwd().join("hosts");
    let expected = format!(
        "-P -m deepspeed.launcher.runner --hostfile {} --include h0@h1:0,1 --no_local_rank x.py",
        file.display()
    );
    assert_eq!(argv[1..].join(" "), expected);
    let carried = &sandbox.recorded_env()["DS_ENV_FILE"];
    let text = std::fs::read_to_string(carried).unwrap();
    assert!(
        text.starts_with("A=1\n") && text.contains("HF_TOKEN_PATH=/x\n"),
        "{text}"
    );
    let plan = sandbox.plan(&options[2..], &command);
    assert_eq!(
        (&plan["topology"]["nnodes"], &plan["topology"]["world_size"]),
        (&json!(2), &json!(6))
    );
    let script = sandbox.printed_script(&options[2..], &command);
    assert!(
        script
            .stdout
            .contains(&format!("mv -f {carried}.$$ {carried}\n")),
        "{}",
        script.stdout
    );
    sandbox.put("home/.deepspeed_env", "# no\n\n");
    sandbox
        .launch(&options[2..], &command)
        .refused(&["home/.deepspeed_env:1", "home/.deepspeed_env:2"]);
    for (text, words) in [
        ("h0 slots=4\nh1\n", ["hosts:2", "host slots=N"]),
        ("h0 slots=1\nh0 slots=1\n", ["hosts:2", "twice"]),
    ] {
        sandbox.file("hosts", text);
        sandbox.launch(&options[2..], &command).refused(&words);
    }
    sandbox.file("hosts", "h0 slots=4\n");
    sandbox
        .launch(&options[2..], &command)
        .refused(&["no machine `h1`", "--include h0@h1:0,1"]);
    // Numbers alone are GPUs where there is only one machine that they can be on.
    for (text, include, help) in [
        ("alpha slots=4\n", "0,1", "--include alpha:0,1"),
        ("alpha slots=4\n", "zzzzz", "one of alpha"),
        (
            "alpha slots=4\nomega slots=4\n",
            "0,1",
            "one of alpha, omega",
        ),
    ] {
        sandbox.file("hosts", text);
        sandbox
            .launch(&["--hostfile", "hosts", "--include", include], &command)
            .refused(&["no machine `", help]);
    }
    sandbox
        .launch(&["--hostfile", "hosts", "--launcher", "torchrun"], &command)
        .refused(&["only DeepSpeed's own launcher"]);
}

#[test]
fn included_gpus_keep_their_names() {
    let sandbox = with(&[("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b,GPU-c")]);
    let plan = sandbox.plan(
        &["--deepspeed", "zero3", "--include", "localhost:GPU-c,GPU-a"],
        SWIFT,
    );
    assert_eq!(plan["topology"]["nproc_per_node"], 2);
    assert_eq!(plan["env"]["set"]["CUDA_VISIBLE_DEVICES"], "GPU-a,GPU-c");
    let plan = sandbox.plan(
        &["--deepspeed", "zero3", "--exclude", "localhost:GPU-a"],
        SWIFT,
    );
    assert_eq!(plan["env"]["set"]["CUDA_VISIBLE_DEVICES"], "GPU-b,GPU-c");
    sandbox
        .launch(&["--include", "localhost:0"], SWIFT)
        .refused(&["no GPU `0`", "GPU-a,GPU-b,GPU-c"]);
}

#[test]
fn a_port_in_use_is_refused_on_the_machine_that_opens_it() {
    let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut sandbox = step(&[("MASTER_PORT", &port), ("SLURM_NODEID", "0")]);
    sandbox
        .launch(ZERO3, SWIFT)
        .refused(&["already in use", &format!("MASTER_PORT={port}")]);
    // So is it where each rank is a task.
    let mut tasks = step(&[
        ("MASTER_PORT", &port),
        ("SLURM_NODEID", "0"),
        ("SLURM_PROCID", "0"),
    ]);
    tasks.vars(&[
        ("SLURM_STEP_TASKS_PER_NODE", "4(x2)"),
        ("SLURM_LOCALID", "0"),
        ("CUDA_VISIBLE_DEVICES", "0"),
    ]);
    tasks.launch(ZERO3, SWIFT).refused(&["already in use"]);
    // The other machines only connect to it.
    sandbox.var("SLURM_NODEID", "1");
    sandbox.launch(ZERO3, SWIFT).succeeded();
    assert_eq!(
        sandbox.recorded_env()["PET_SIGNALS_TO_HANDLE"],
        "SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1,SIGUSR2"
    );
    assert_eq!(
        sandbox.recorded_env()["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"],
        "300"
    );
}

#[test]
fn torchrun_passes_on_what_a_scheduler_sends_to_a_job_on_one_machine() {
    for job in [
        [("SGE_TASK_ID", "undefined"), ("NHOSTS", "1")],
        [("LSB_JOBID", "7"), ("LSB_HOSTS", "n1 n1")],
    ] {
        let sandbox = with(&job);
        sandbox.launch(ZERO3, SWIFT).succeeded();
        let signals = &sandbox.recorded_env()["PET_SIGNALS_TO_HANDLE"];
        assert_eq!(
            signals, "SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1,SIGUSR2",
            "{job:?}"
        );
    }
}

/// The shell of a batch job on so many machines.
fn batch(machines: &str) -> Sandbox {
    let sandbox = with(&[
        ("SLURM_JOB_ID", "9"),
        ("SLURM_JOB_NUM_NODES", machines),
        ("SLURM_JOB_NODELIST", "n[1-4]"),
        ("SLURM_NODEID", "0"),
    ]);
    sandbox.program("srun");
    sandbox
}

/// What follows the program.
fn arguments(plan: &Value) -> String {
    argv(plan)[1..].join(" ")
}

const SCRIPT: &[&str] = &["python", "x.py"];

#[test]
fn slurm_counts_the_gpus_that_no_list_names() {
    let mut sandbox = step(&[("SLURM_GPUS_ON_NODE", "3")]);
    let plan = sandbox.unset("CUDA_VISIBLE_DEVICES").plan(&[], SCRIPT);
    assert_eq!(plan["topology"]["nproc_per_node"], 3, "{plan}");
}

/// `srun --resv-ports` reserves ports that no other step gets. Without it, job and step make one.
#[test]
fn the_ports_that_slurm_reserves_come_first() {
    let port = |more: &[(&str, &str)]| {
        let plan = step(more).plan(ZERO3, SWIFT);
        let topology = &plan["topology"];
        let from = topology["from"]["master_port"].as_str().unwrap_or_default();
        (topology["master_port"].as_u64().unwrap(), from.to_string())
    };
    let (made, from) = port(&[]);
    assert!((20_000..32_768).contains(&made) && from == "SLURM_JOB_ID");
    for (ports, first) in [
        ("12007-12009", 12007),
        ("12007,12044", 12007),
        ("12007", 12007),
    ] {
        let reserved = port(&[("SLURM_STEP_RESV_PORTS", ports)]);
        assert_eq!(
            reserved,
            (first, "SLURM_STEP_RESV_PORTS".to_string()),
            "{ports}"
        );
    }
    assert_eq!(port(&[("SLURM_STEP_RESV_PORTS", "(null)")]).0, made);
    // What the user sets comes before it.
    let stated = port(&[("SLURM_STEP_RESV_PORTS", "12007"), ("MASTER_PORT", "4711")]);
    assert_eq!(stated, (4711, "MASTER_PORT".to_string()));
    // So where each rank is a task.
    let tasks = step(&[
        ("SLURM_STEP_RESV_PORTS", "12007-12009"),
        ("SLURM_STEP_TASKS_PER_NODE", "4(x2)"),
    ]);
    let set = &tasks.plan(ZERO3, SWIFT)["env"]["set"];
    assert_eq!(set["MASTER_PORT"], "12007");
}

#[test]
fn a_launch_may_use_fewer_machines_than_the_job_but_not_more() {
    let plan = batch("4").plan(&["--nnodes", "2"], SCRIPT);
    assert!(
        arguments(&plan).starts_with("--nodes=2 --ntasks=2 "),
        "{plan}"
    );
    batch("2")
        .launch(&["--nnodes", "4"], SCRIPT)
        .refused(&["4 machines are asked for, but the job has 2"]);
    // In a step nobody knows which of them this one would be.
    let inside = step(&[("NNODES", "4")]);
    inside.launch(&[], SCRIPT).refused(&[
        "Slurm says machine 1 of 2",
        "NNODES says 4 machines",
        "unset NNODES",
    ]);
    inside
        .launch(&["--nnodes", "4"], SCRIPT)
        .refused(&["4 machines are asked for, but the job has 2"]);
    let one = step(&[("NNODES", "1"), ("SLURM_NODEID", "0")]);
    one.launch(&[], SCRIPT).refused(&[
        "Slurm says machine 0 of 2",
        "NNODES says one machine",
        "--nnodes 1",
    ]);
    let run = one.launch(&["-n", "--nnodes", "1"], SCRIPT);
    assert!(
        run.stderr.contains("warning[contradicts-scheduler]: Slurm says machine 0 of 2, but --nnodes says one machine"),
        "{run:?}"
    );
    // The one machine of a salloc is not where its shell is.
    let mut salloc = batch("1");
    salloc
        .unset("SLURM_NODEID")
        .var("SLURM_SUBMIT_DIR", "/home/me");
    assert!(
        arguments(&salloc.plan(&["--nnodes", "1"], SCRIPT)).starts_with("--nodes=1 --ntasks=1 ")
    );
}

#[test]
fn launchers_in_the_shell_of_a_job() {
    let mut sandbox = batch("2");
    for asked in ["torchrun", "deepspeed"] {
        let plan = sandbox.plan(&["--launcher", asked, "-v"], SCRIPT);
        assert!(
            arguments(&plan).contains(&format!("--launcher {asked} -v -- python")),
            "{plan}"
        );
    }
    let plan = sandbox.plan(
        &["--launcher", "srun", "--launcher-arg", "--mpi=none", "-q"],
        SCRIPT,
    );
    assert!(
        arguments(&plan).contains("--export=ALL --mpi=none ")
            && arguments(&plan).ends_with("-q -- python x.py"),
        "{plan}"
    );
    for asked in ["direct", "local"] {
        sandbox
            .launch(&["--launcher", asked], SCRIPT)
            .refused(&["on only one machine of the job", "drop --launcher"]);
    }
    // A site's variable gives way where it cannot be followed, and to commands that are none of ours.
    for asked in ["local", "srun", "torchrun"] {
        sandbox.var("ZLAUNCH_LAUNCHER", asked);
        assert_eq!(sandbox.plan(&[], SCRIPT)["launcher"], "srun", "{asked}");
        sandbox
            .launch(&[], &["true"])
            .refused(&["does not recognize `true`", "SLURM_JOB_NUM_NODES=2"]);
        assert_eq!(
            sandbox.plan(&[], &["swift", "export"])["launcher"],
            "direct",
            "{asked}"
        );
    }
    let mut inside = step(&[]);
    inside.var("ZLAUNCH_LAUNCHER", "srun");
    assert_eq!(inside.plan(&[], SCRIPT)["launcher"], "torchrun");
    let srun: Vec<&str> = ["srun"].iter().chain(SCRIPT).copied().collect();
    inside.program("srun");
    inside
        .launch(ZERO3, &srun)
        .refused(&["`srun` inside a step waits"]);
    let tasks = step(&[("SLURM_STEP_TASKS_PER_NODE", "4(x2)")]);
    tasks
        .launch(&["--launcher", "torchrun"], SCRIPT)
        .refused(&["4 tasks run on this machine", "--ntasks-per-node=1"]);
}

#[test]
fn options_reach_the_machines_as_they_were_given() {
    let sandbox = batch("2");
    let options = [
        "-nq",
        "--format=json",
        "--launcher-arg",
        "-n",
        "--launcher-arg=--format",
        "--env",
        "A=--dry-run",
        "--nproc_per_node",
        "4",
    ];
    let run = sandbox.launch(&options, SCRIPT);
    let expected = "-q --launcher-arg -n --launcher-arg=--format --env A=--dry-run --nproc_per_node 4 -- python x.py";
    assert!(arguments(&run.json()).ends_with(expected), "{run:?}");
    std::fs::create_dir(sandbox.cwd().join(OsStr::from_bytes(b"\xff"))).unwrap();
    let odd = [
        &b"-n"[..],
        b"--format",
        b"json",
        b"--template-dir=\xff",
        b"--",
        b"python",
        b"x.py",
    ]
    .map(OsStr::from_bytes);
    assert!(
        arguments(&sandbox.run(odd).json()).contains(" --template-dir=\u{fffd} -- python"),
        "what is not text is kept"
    );
}

#[test]
fn tasks_that_do_not_fit_together_are_refused() {
    let mpi = |rank: &str, size: &str, local: &str| {
        with(&[
            ("OMPI_COMM_WORLD_RANK", rank),
            ("OMPI_COMM_WORLD_SIZE", size),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "0"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", local),
            ("MASTER_ADDR", "h0"),
            ("MASTER_PORT", "1234"),
            ("SLURM_JOB_ID", "1"),
            ("SLURM_JOB_NUM_NODES", "2"),
        ])
    };
    mpi("0", "4", "3")
        .launch(&[], SCRIPT)
        .refused(&["different numbers of tasks", "OMPI_COMM_WORLD_LOCAL_SIZE=3"]);
    mpi("3", "4", "1")
        .launch(&[], SCRIPT)
        .refused(&["different numbers of tasks"]);
    assert_eq!(mpi("1", "2", "1").plan(&[], SCRIPT)["launcher"], "torchrun");
    // A terminal on the first machine is no rank of eight.
    let pty = step(&[
        ("SLURM_STEP_TASKS_PER_NODE", "8"),
        ("SLURM_STEP_NUM_NODES", "1"),
        ("SLURM_STEP_NODELIST", "n1"),
        ("SLURM_NODEID", "0"),
        ("SLURM_PTY_PORT", "1"),
    ]);
    assert_eq!(pty.plan(&[], SCRIPT)["launcher"], "torchrun");
}

#[test]
fn what_a_scheduler_does_not_tell_can_be_given_by_flags() {
    let said = [
        "--nnodes",
        "2",
        "--node-rank",
        "1",
        "--master-addr",
        "h0",
        "--master-port",
        "1234",
    ];
    for (variables, says) in [
        (
            &[("SM_HOSTS", "[\"a\", \"b\"]")][..],
            "nothing says which of its machines this is",
        ),
        (
            &[
                ("VC_TASK_INDEX", "0"),
                ("VC_MASTER_HOSTS", "m"),
                ("VC_WORKER_HOSTS", "w"),
            ],
            "nothing says which of its machines",
        ),
    ] {
        let sandbox = with(variables);
        sandbox.launch(&[], SCRIPT).refused(&[says, "--node-rank"]);
        assert_eq!(
            topology(&sandbox.plan(&said, SCRIPT)),
            json!([2, 1, 4, 8, "h0", 1234])
        );
    }
    let odd = step(&[("SLURM_STEP_NODELIST", "n[2-1]")]);
    odd.launch(&[], SCRIPT)
        .refused(&["2 machines need the address", "--master-addr"]);
    assert_eq!(
        topology(&odd.plan(&said, SCRIPT)),
        json!([2, 1, 4, 8, "h0", 1234])
    );
    // The number of processes does not say what RANK counts.
    let pod = with(&[
        ("RANK", "1"),
        ("WORLD_SIZE", "2"),
        ("MASTER_ADDR", "m"),
        ("MASTER_PORT", "1234"),
    ]);
    pod.launch(&["--nproc-per-node", "4"], SCRIPT)
        .refused(&["can count machines or ranks"]);
    assert_eq!(pod.plan(&said, SCRIPT)["topology"]["node_rank"], 1);
}

#[test]
fn a_hostfile_is_not_for_ranks_that_exist() {
    let meeting = [("MASTER_ADDR", "h0"), ("MASTER_PORT", "29500")];
    let rank = [("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "4")];
    let mut sandbox = with(&[rank.as_slice(), &meeting].concat());
    sandbox.file("hosts", "h0 slots=4\n");
    sandbox
        .launch(&["--hostfile", "hosts"], SCRIPT)
        .refused(&["the ranks exist already", "--hostfile hosts"]);
    sandbox.var("ZLAUNCH_HOSTFILE", "hosts");
    assert_eq!(sandbox.plan(&[], SCRIPT)["launcher"], "direct");
    let plain = with(&[]);
    plain.file("hosts", "h0 slots=4\n");
    plain
        .launch(&["--hostfile", "hosts"], &["true"])
        .refused(&["does not recognize `true`", "--hostfile hosts"]);
    plain
        .launch(&["--hostfile", "hosts", "--nnodes", "3"], SCRIPT)
        .refused(&["--nnodes 3", "--include"]);
    plain
        .launch(&["--hostfile", "hosts"], &["deepspeed", "x.py"])
        .refused(&["give it to `deepspeed`"]);
    plain
        .launch(&["--include", "localhost:0"], &["torchrun", "x.py"])
        .refused(&["give it to `torchrun`"]);
    let odd = ["--hostfile", "hosts", "--env", "A=x\ny"];
    plain.file("hosts", "h0 slots=4\nh1 slots=4\n");
    plain
        .launch(&odd, SCRIPT)
        .refused(&["would change its value", "set it on the machines"]);
}

#[test]
fn pet_variables_do_not_change_the_rendezvous() {
    let sandbox = step(&[
        ("PET_RDZV_BACKEND", "c10d"),
        ("PET_NO_PYTHON", "1"),
        ("SLURM_NODEID", "0"),
    ]);
    let run = sandbox.launch(&["-n", "--format", "json"], SCRIPT);
    assert_eq!(
        run.json()["env"]["unset"],
        json!(["PET_RDZV_BACKEND", "PET_NO_PYTHON"])
    );
}

#[test]
fn other_accelerators_are_chosen_by_their_own_variable() {
    let mut sandbox = with(&[("ASCEND_RT_VISIBLE_DEVICES", "0,1")]);
    sandbox.unset("CUDA_VISIBLE_DEVICES");
    let set = &sandbox.plan(&["--include", "localhost:1"], SCRIPT)["env"]["set"];
    assert_eq!(
        (
            &set["ASCEND_RT_VISIBLE_DEVICES"],
            set.get("CUDA_VISIBLE_DEVICES")
        ),
        (&json!("1"), None)
    );
}

#[test]
fn megatron_learns_its_place_from_the_scheduler() {
    let set = &step(&[]).plan(&[], &["megatron", "sft"])["env"]["set"];
    assert_eq!(
        [
            &set["NPROC_PER_NODE"],
            &set["NNODES"],
            &set["NODE_RANK"],
            &set["MASTER_ADDR"]
        ],
        ["4", "2", "1", "n1"]
    );
    assert_eq!(
        batch("2").plan(&[], &["megatron", "sft"])["launcher"],
        "srun"
    );
    step(&[("SLURM_STEP_TASKS_PER_NODE", "4(x2)")])
        .launch(&[], &["megatron", "sft"])
        .refused(&["each of them a rank already"]);
}
