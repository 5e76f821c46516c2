//! Who wins over whom, and that the plan tells.

use zlaunch::testing::check::TYPED_VARIABLES;

use crate::sandbox::{SWIFT, SYSTEM, Sandbox};

#[test]
fn the_user_beats_the_template_and_the_flag_beats_both() {
    let mut sandbox = Sandbox::new();
    sandbox.file("t/e.json", r#"{"$zlaunch": {"extends": "zero2", "env": {"NCCL_DEBUG": "WARN", "NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_NTHREADS": 3}}}"#);
    sandbox.var("NCCL_DEBUG", "INFO").var("NCCL_ALGO", "x");
    let options = [
        "--template-dir",
        "t",
        "--deepspeed",
        "e",
        "--nproc-per-node",
        "2",
        "--env",
        "NCCL_ALGO=Tree",
    ];
    sandbox.launch(&options, SWIFT).succeeded();
    let env = sandbox.recorded_env();
    assert_eq!(
        (env["NCCL_DEBUG"].as_str(), env["NCCL_ALGO"].as_str()),
        ("INFO", "Tree")
    );
    assert_eq!(
        (env["NCCL_PROTO"].as_str(), env["NCCL_NTHREADS"].as_str()),
        ("Simple", "3")
    );
    let plan = sandbox.plan(&options, SWIFT);
    assert_eq!(plan["env"]["kept"]["NCCL_DEBUG"], "INFO");
    assert_eq!(
        (
            &plan["env"]["set"]["NCCL_ALGO"],
            &plan["env"]["set"]["NCCL_PROTO"]
        ),
        (&"Tree".into(), &"Simple".into())
    );
}

#[test]
fn omp_num_threads_is_cpus_divided_by_processes_unless_set() {
    let mut sandbox = Sandbox::new();
    let threads = |sandbox: &Sandbox, nproc: &str| {
        sandbox.plan(&["--deepspeed", "zero2", "--nproc-per-node", nproc], SWIFT)["env"]["set"]["OMP_NUM_THREADS"]
            .clone()
    };
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert_eq!(threads(&sandbox, "2"), (cpus / 2).max(1).to_string());
    assert_eq!(threads(&sandbox, "100000"), "1");
    sandbox.var("OMP_NUM_THREADS", "7");
    assert_eq!(threads(&sandbox, "2"), serde_json::Value::Null);
}

#[test]
fn variables_can_be_removed() {
    let mut sandbox = Sandbox::new();
    sandbox.var("NCCL_P2P_DISABLE", "1");
    let options = [
        "--deepspeed",
        "zero2",
        "--nproc-per-node",
        "2",
        "--unset-env",
        "NCCL_P2P_DISABLE",
        "--unset-env",
        "OMP_NUM_THREADS",
    ];
    sandbox.launch(&options, SWIFT).succeeded();
    let env = sandbox.recorded_env();
    assert!(!env.contains_key("NCCL_P2P_DISABLE") && !env.contains_key("OMP_NUM_THREADS"));
    assert_eq!(
        sandbox.plan(&options, SWIFT)["env"]["unset"],
        serde_json::json!(["NCCL_P2P_DISABLE"])
    );
}

#[test]
fn the_low_memory_recipe_brings_its_environment() {
    let sandbox = Sandbox::new();
    let command = [
        "swift",
        "sft",
        "--per_device_train_batch_size",
        "8",
        "--gradient_accumulation_steps",
        "1",
    ];
    let plan = sandbox.plan(
        &["--deepspeed", "zero3_lowmem", "--nproc-per-node", "2"],
        &command,
    );
    let set = &plan["env"]["set"];
    assert_eq!(
        set["PYTORCH_CUDA_ALLOC_CONF"],
        "max_split_size_mb:128,garbage_collection_threshold:0.9"
    );
    assert_eq!(
        (
            &set["CUDA_DEVICE_MAX_CONNECTIONS"],
            &set["CUDA_AUTO_BOOST"],
            &set["TORCH_DISTRIBUTED_DEBUG"]
        ),
        (&"1".into(), &"0".into(), &"OFF".into())
    );
    assert!(
        set.as_object()
            .unwrap()
            .keys()
            .all(|name| !name.starts_with("DS_"))
    );
    assert_eq!(plan["config"]["train_batch_size"], 16);
}

#[test]
fn swift_sees_only_as_many_gpus_as_it_has_processes() {
    let mut sandbox = Sandbox::new();
    sandbox.var("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b,GPU-c");
    let plan = sandbox.plan(&["--deepspeed", "zero2", "--nproc-per-node", "2"], SWIFT);
    assert_eq!(plan["env"]["set"]["CUDA_VISIBLE_DEVICES"], "GPU-a,GPU-b");
    let plan = sandbox.plan(&["--deepspeed", "zero2"], SWIFT);
    assert_eq!(
        (
            &plan["env"]["kept"]["CUDA_VISIBLE_DEVICES"],
            &plan["topology"]["nproc_per_node"]
        ),
        (&"GPU-a,GPU-b,GPU-c".into(), &3.into())
    );
    let plan = sandbox.plan(
        &["--deepspeed", "zero2", "--nproc-per-node", "2"],
        &["python", "x.py"],
    );
    assert_eq!(plan["env"]["set"].get("CUDA_VISIBLE_DEVICES"), None);
}

#[test]
fn every_decision_sees_the_env_options() {
    let mut sandbox = Sandbox::new();
    sandbox.var("CUDA_VISIBLE_DEVICES", "0,1,2,3");
    let nproc = |sandbox: &Sandbox, more: &[&str]| {
        let options: Vec<&str> = ["--deepspeed", "zero2"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        sandbox.plan(&options, &["python", "x.py"])["topology"]["nproc_per_node"].clone()
    };
    assert_eq!(nproc(&sandbox, &["--env", "CUDA_VISIBLE_DEVICES=0,1"]), 2);
    assert_eq!(nproc(&sandbox, &["--env", "NPROC_PER_NODE=3"]), 3);
    sandbox.vars(&[("RANK", "1"), ("LOCAL_RANK", "1"), ("WORLD_SIZE", "2")]);
    let anew = [
        "--unset-env",
        "RANK",
        "--unset-env",
        "LOCAL_RANK",
        "--unset-env",
        "WORLD_SIZE",
    ];
    assert_eq!(
        sandbox.plan(&anew, &["python", "x.py"])["launcher"],
        "torchrun"
    );
    let options = [
        "--deepspeed",
        "zero2",
        "--set",
        "zero_optimization.stage=auto",
        "--env",
        "ACCELERATE_DEEPSPEED_ZERO_STAGE=3",
    ];
    assert_eq!(
        sandbox.config(&options, &["python", "x.py"])["zero_optimization"]["stage"],
        "auto"
    );
    // The program is looked up in the plan's own PATH.
    let bin = sandbox.bin().display().to_string();
    sandbox.search(&[]);
    let path = format!("PATH={bin}:{SYSTEM}");
    assert_eq!(
        sandbox
            .launch(
                &[
                    "--env",
                    &path,
                    "--deepspeed",
                    "zero2",
                    "--nproc-per-node",
                    "2"
                ],
                SWIFT
            )
            .status,
        Some(0)
    );
}

#[test]
fn a_wrapped_launcher_narrows_swifts_gpus_too() {
    let mut sandbox = Sandbox::new();
    sandbox.var("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7");
    let plan = sandbox.plan(
        &[],
        &[
            "torchrun",
            "--nproc_per_node=5",
            "swift",
            "sft",
            "--deepspeed",
            "zero3",
        ],
    );
    assert_eq!(plan["env"]["set"]["CUDA_VISIBLE_DEVICES"], "0,1,2,3,4");
}

/// torchrun takes SIGHUP back; from torch 2.10 on it can be told not to.
#[test]
fn under_nohup_torchrun_is_told_to_leave_sighup_ignored() {
    let mut sandbox = Sandbox::new();
    let nohup = |sandbox: &Sandbox, options: &[&str]| {
        let words = [
            "-n",
            "--format",
            "json",
            "--deepspeed",
            "zero2",
            "--nproc-per-node",
            "2",
        ];
        let words = words.iter().chain(options).chain(&["--"]).chain(SWIFT);
        let run = sandbox.shell("trap '' HUP; exec \"$0\" \"$@\"", words);
        let plan: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        (
            plan["env"]["set"]["PET_SIGNALS_TO_HANDLE"].clone(),
            run.stderr.contains("warning[nohup-undone]"),
        )
    };
    let left = "SIGTERM,SIGINT,SIGQUIT";
    for (torch, undone) in [("2.9.1", true), ("2.10.0", false), ("2.15.0", false)] {
        sandbox.installed("torch", torch);
        assert_eq!(nohup(&sandbox, &[]), (left.into(), undone), "{torch}");
    }
    sandbox.installed("torch", "2.9.1");
    assert_eq!(
        nohup(&sandbox, &["--launcher", "local"]),
        (serde_json::Value::Null, false)
    );
    let plain = sandbox.plan(&["--deepspeed", "zero2", "--nproc-per-node", "2"], SWIFT);
    assert!(
        plain["env"]["set"]["PET_SIGNALS_TO_HANDLE"].is_null()
            && plain["diagnostics"].as_array().unwrap().is_empty()
    );
    sandbox.var("PET_SIGNALS_TO_HANDLE", "SIGTERM");
    assert!(
        nohup(&sandbox, &[]).0.is_null(),
        "the user's own list stays"
    );
}

/// What `check` says of the variables: the message and the fix.
fn said_of_variables(sandbox: &Sandbox, options: &[&str]) -> Vec<[String; 2]> {
    let options = [
        &["check", "--format", "json", "--nproc-per-node", "2"],
        options,
        &["--"],
        SWIFT,
    ]
    .concat();
    let found: serde_json::Value = serde_json::from_str(&sandbox.answer(options).stdout).unwrap();
    let rows = found["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["rule"] == "dead-variable");
    rows.map(|it| ["message", "help"].map(|key| it[key].as_str().unwrap().to_string()))
        .collect()
}

#[test]
fn misspelt_variables_are_reported_with_the_name_that_was_meant() {
    let mut sandbox = Sandbox::new();
    sandbox.file("t.json", r#"{"$zlaunch": {"extends": "zero2"}}"#);
    sandbox
        .var("CUDA_VISIBLE_DEVICE", "0,1")
        .var("NCCL_DEBGU", "INFO");
    let options = ["--deepspeed", "t.json", "--env", "NCCL_IB_DISBALE=1"];
    let meant =
        |name: &str, known: &str| format!("nothing reads `{name}`: did you mean `{known}`?");
    let expected = [
        (
            "CUDA_VISIBLE_DEVICE",
            "CUDA_VISIBLE_DEVICES",
            "--unset-env CUDA_VISIBLE_DEVICE --env CUDA_VISIBLE_DEVICES=0,1",
        ),
        (
            "NCCL_DEBGU",
            "NCCL_DEBUG",
            "--unset-env NCCL_DEBGU --env NCCL_DEBUG=INFO",
        ),
        (
            "NCCL_IB_DISBALE",
            "NCCL_IB_DISABLE",
            "did you mean `NCCL_IB_DISABLE`?",
        ),
    ];
    let expected = expected.map(|(name, known, fix)| [meant(name, known), fix.to_string()]);
    assert_eq!(said_of_variables(&sandbox, &options), expected);
    // The fixes work.
    let fixed = "--deepspeed t.json --unset-env CUDA_VISIBLE_DEVICE --env CUDA_VISIBLE_DEVICES=0,1 --unset-env NCCL_DEBGU \
        --env NCCL_DEBUG=INFO --env NCCL_IB_DISABLE=1";
    assert_eq!(
        said_of_variables(&sandbox, &fixed.split_whitespace().collect::<Vec<_>>()),
        Vec::<[String; 2]>::new()
    );
}

/// NCCL, torch, triton, transformers and huggingface_hub really have these: all that are within four slips of a name in the
/// table, by the strings of the libraries and the sources of the packages.
#[test]
fn variables_that_exist_are_not_misspelt() {
    let mut sandbox = Sandbox::new();
    let real = "ASCEND_VISIBLE_DEVICES HF_TOKEN HF_XET_CACHE MASTER_HOST NCCL_ENV NCCL_IB_PKEY NCCL_IB_SL NCCL_IB_TC NCCL_NET \
        NCCL_NET_GDR_C2C NCCL_NET_MERGE_LEVEL NCCL_NVB_DISABLE NCCL_NVTX_DISABLE NCCL_OOB_NET_IFNAME NCCL_P2P_PXN_LEVEL \
        NCCL_PXN_DISABLE NCCL_REG NCCL_RMA_DISABLE NCCL_SOCKET_INLINE PYTORCH_HIP_ALLOC_CONF TORCH_XPU_ARCH_LIST \
        NCCL_DEBUG_FILE NCCL_SOCKET_FAMILY CUDA_VERSION NCCL_VERSION PYTORCH_VERSION CUDA_HOME";
    let known = TYPED_VARIABLES.iter().flat_map(|family| family.names);
    for name in real.split_whitespace().chain(known.copied()) {
        sandbox.var(name, "0");
    }
    assert_eq!(
        said_of_variables(&sandbox, &["--deepspeed", "zero2"]),
        Vec::<[String; 2]>::new()
    );
}
