//! The names of everything that zlaunch can find wrong. `--allow` and `explain` take them. What a rule of `check` looks
//! for, its severity and its sentence stand beside the check.

use std::fmt;

macro_rules! rules {
    ($($(#[$subject:meta])* $group:ident { $($rule:ident $name:literal $($about:literal)?;)* })*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Rule { $($($rule,)*)* }

        impl Rule {
            const ALL: &[Rule] = &[$($(Rule::$rule,)*)*];

            pub fn name(self) -> &'static str {
                match self { $($(Rule::$rule => $name,)*)* }
            }

            pub(crate) fn subject(self) -> RuleSubject {
                match self { $($(Rule::$rule => RuleSubject::$group,)*)* }
            }

            /// One sentence. Those of the rules about configs stand beside their checks.
            pub(crate) fn about(self) -> Option<&'static str> {
                match self { $($($(Rule::$rule => Some($about),)?)*)* _ => None }
            }
        }

        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum RuleSubject { $($(#[$subject])* $group,)* }
    };
}

impl Rule {
    pub fn all() -> impl Iterator<Item = Rule> {
        Rule::ALL.iter().copied()
    }

    /// A warning that is not about a config: `--allow` silences it.
    pub(crate) fn only_warns(self) -> bool {
        matches!(self.subject(), RuleSubject::Warning | RuleSubject::Machine)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

rules! {
    /// The launch cannot go on.
    Refusal {
        Usage "usage" "zlaunch's own command line, or one of its variables, is not valid.";
        File "file" "A file that was named is missing, unreadable, too large or not text.";
        Json "json"
            "A config is not valid JSON; the place is where it goes wrong. Comments and trailing commas are \
             accepted.";
        RunFile "run-file" "The trainer's YAML or JSON file of arguments cannot be read as the trainer would read it.";
        ConfigOut "config-out" "The file that --config-out names cannot be written, or the launch is made from it.";
        Template "template" "There is no such template, or something in its `$zlaunch` section is wrong.";
        Patch "patch" "--patch is not a patch, or one of its operations does not fit the config.";
        Set "set" "--set names a key inside something that is not a section.";
        Unset "unset" "--unset names a key that the config does not have.";
        NoConfig "no-config" "--set, --unset, --patch or --config-out without any DeepSpeed config to change.";
        NotFound "not-found" "The command, or a program it needs, was not found.";
        HandOver "hand-over" "zlaunch does not know how this command takes a DeepSpeed config.";
        Mismatch "mismatch"
            "A number of the config differs from what the trainer computes from its arguments. The HF Trainer refuses \
             that after loading the model.";
        Auto "auto" "An \"auto\" that nobody fills: the key is not one of those that transformers and accelerate fill.";
        Ranks "ranks" "The number of processes, their machines or their rendezvous is unknown or contradictory.";
        Launcher "launcher" "The launcher that was asked for cannot start this command, or not with these options.";
        Loopback "loopback" "The rendezvous address can only be reached from one of the machines.";
        UnevenTasks "uneven-tasks"
            "Slurm or an MPI started different numbers of tasks on the machines, which no launcher can use.";
        Prefix "prefix" "zlaunch cannot go behind what the command starts with, such as `docker run` or `env -i`.";
        Hosts "hosts" "Something is wrong with the hostfile, --include, --exclude or .deepspeed_env.";
        Write "write" "The resolved config, a record, a log or a generated config cannot be written.";
        Port "port" "The rendezvous port is already in use on this machine.";
        Exec "exec" "The program was found, but the system refused to execute it.";
        Rank "rank" "A rank that zlaunch started failed, and the others were stopped.";
        Checkpoint "checkpoint" "A safetensors file of the model, or the index of its parts, cannot be read.";
        Fit "fit" "The memory that a training needs cannot be estimated from what is known.";
        AutoTemplate "auto-template" "--deepspeed auto cannot choose: too little is known, or nothing fits.";
        Generate "generate" "The config that was asked for is impossible, or its file already exists.";
        Record "record"
            "The launch record has no folder, is not a record, or would replace another file.";
        Shims "shims"
            "A file in the folder for shims is not a shim and is left alone, or the folder cannot be on PATH.";
        Print "print" "Standard output cannot be written.";
    }
    /// The launch goes on, and `--allow` silences it.
    Warning {
        BehindTheCommand "behind-the-command"
            "-n or --dry-run stands behind the command: the training gets it, and is started.";
        UnknownVariable "unknown-variable"
            "A variable starts with ZLAUNCH_ and belongs to no option: probably misspelt.";
        TemplateDir "template-dir" "None of the folders that ZLAUNCH_TEMPLATE_DIR names is here.";
        OldSpelling "old-spelling" "A template is named by an old or foreign spelling, which still works.";
        NoSuchOption "no-such-option"
            "The script's own parser has no option for the config, so it would end at once. transformers and \
             accelerate also find a config in the variables that `accelerate launch` sets.";
        OwnConfigDiffers "own-config-differs"
            "A name means a config of zlaunch's and one that comes with the trainer, and they differ. In zlaunch's \
             --deepspeed it is zlaunch's, in the trainer's own argument the trainer's.";
        TwoConfigs "two-configs" "--deepspeed of zlaunch and of the command name different configs; zlaunch's is used.";
        DefaultMismatch "default-mismatch"
            "A number of the config differs from what the trainer takes by default, as far as its version and its \
             script are known. The HF Trainer refuses that after loading the model.";
        DoubtfulMismatch "doubtful-mismatch"
            "A number of the config differs from what the trainer computes from its arguments, if the script hands \
             them on as they are given. The HF Trainer refuses that after loading the model.";
        MachinesDiffer "machines-differ"
            "The machines of a job may have different numbers of GPUs, so the number of ranks is not known.";
        ShownInArguments "shown-in-arguments"
            "DeepSpeed's runner for an MPI or Slurm would show a secret in its arguments, or add quotes to a value.";
        RanksByMpi "ranks-by-mpi"
            "DeepSpeed's runner for Open MPI, MVAPICH or Slurm does not number the ranks, and mpi4py, which could, is \
             missing.";
        ConfigNotShared "config-not-shared"
            "The machines of a hostfile read the config by its path, and its file system may be of this machine \
             alone.";
        ChangedByShells "changed-by-shells"
            "`deepspeed --hostfile` sends its words through the shell of every machine, which reads more into this \
             one.";
        StrayVariable "stray-variable"
            "A variable such as NNODES or PET_NNODES contradicts the launch, and is ignored.";
        UncountedMachines "uncounted-machines"
            "This process belongs to a job that may have more machines, and no variable counts them.";
        ContradictsScheduler "contradicts-scheduler"
            "The number of machines, or the rank of this one, was given and is not the scheduler's.";
        RanksWithoutEffect "ranks-without-effect"
            "A number of processes was given for a command that is executed once, as it is.";
        NotUnderstood "not-understood"
            "No front end knows the command, so it runs as it stands: nothing is checked, and no ranks are started.";
        PackagesNotSeen "packages-not-seen"
            "`uv run` and the like bring a Python of their own. A check from outside cannot see its packages; the \
             launch checks again, behind it.";
        OutputWithoutEffect "output-without-effect"
            "--log-dir and --prefix are for ranks that zlaunch starts, itself or by torchrun.";
        MemoryShort "memory-short"
            "The training needs more memory than the GPUs or the machine have, or leaves too little for gaps. \
             `zlaunch fit` has the sums.";
    }
    /// What is wrong with this machine.
    Machine {
        PackageMissing "package-missing" "torch or deepspeed is not installed in the environment of the trainer.";
        StaleLock "stale-lock"
            "A run was killed while it compiled a DeepSpeed operation and left its lock behind: the next run waits \
             forever.";
        NvmeFolder "nvme-folder"
            "The folder for NVMe offload cannot be written, or is on a file system that other machines share.";
        CacheOnNfs "cache-on-nfs"
            "A folder in which ranks lock files (torch_extensions, Triton's cache) is on a network file system.";
        NoCompiler "no-compiler"
            "c++ or ninja is missing, which DeepSpeed needs to compile its CPU optimizer at the first offload.";
        SmallMemlock "small-memlock" "Too little memory may be locked for InfiniBand or NVMe offload (`ulimit -l`).";
        SmallShm "small-shm"
            "/dev/shm is too small for NCCL and the workers of data loaders, as in a container by default.";
        FewFiles "few-files" "Too few files may be open at once (`ulimit -n`).";
        NotEnoughHostMemory "not-enough-host-memory"
            "Offloading this model needs more host memory than the machine, or the job's cgroup, has.";
    }
    /// A rule of `check`, by the file that has it.
    Check {
        // keys.rs
        UnknownKey "unknown-key"; IgnoredKey "ignored-key"; RemovedKey "removed-key";
        BetweenVersions "between-versions"; TwoNames "two-names"; OldKey "old-key";
        // values.rs
        WrongType "wrong-type"; WrongValue "wrong-value"; OddValue "odd-value";
        // batch.rs
        BatchSize "batch-size"; BatchProduct "batch-product"; BatchSequence "batch-sequence";
        BatchTensor "batch-tensor"; LightningAccumulation "lightning-accumulation";
        // precision.rs
        TwoPrecisions "two-precisions"; LossScale "loss-scale"; MasterWeights "master-weights";
        MasterWeightsOffload "master-weights-offload"; AccumulationDtype "accumulation-dtype";
        PrecisionOfGpu "precision-of-gpu";
        // offload.rs
        OffloadAtStage0 "offload-at-stage-0"; NvmePath "nvme-path"; NvmeShared "nvme-shared";
        NvmeDefaults "nvme-defaults"; NvmeBuffers "nvme-buffers"; PartialOffload "partial-offload";
        // combinations.rs
        NoZeroSection "no-zero-section"; NoStage "no-stage"; GradientNorm "gradient-norm";
        SumOfGradients "sum-of-gradients"; PrescaledGradients "prescaled-gradients"; OddBucket "odd-bucket";
        PartitionSize "partition-size"; TensorParallelSize "tensor-parallel-size"; HfArguments "hf-arguments";
        ExpertsAtStage3 "experts-at-stage-3"; NoSync "no-sync";
        // optimizer.rs
        OptimizerType "optimizer-type"; OptimizerParameter "optimizer-parameter";
        UntestedOptimizer "untested-optimizer"; OptimizerReplaced "optimizer-replaced";
        SwiftOptimizer "swift-optimizer"; TrainerOptimizer "trainer-optimizer"; ClientOptimizer "client-optimizer";
        NoOptimizer "no-optimizer"; AdamIsAdamw "adam-is-adamw"; SchedulerType "scheduler-type";
        SchedulerParameter "scheduler-parameter"; LogarithmicWarmup "logarithmic-warmup";
        OptimizerWithoutType "optimizer-without-type";
        // effects.rs
        NoEffect "no-effect"; IdleKey "idle-key"; ClippingIgnored "clipping-ignored";
        DefaultClipping "default-clipping"; NoZero "no-zero"; GatheredWeights "gathered-weights";
        OverlapComm "overlap-comm"; LargeBucket "large-bucket"; PinnedMemory "pinned-memory";
        // operators.rs
        FirstCompile "first-compile";
        // environment.rs
        DeadVariable "dead-variable"; AllocatorConf "allocator-conf"; TwoAllocatorConfs "two-allocator-confs";
        MaxConnections "max-connections"; NcclContradiction "nccl-contradiction"; EnvFileUnread "env-file-unread";
        IncompleteRanks "incomplete-ranks"; NohupUndone "nohup-undone";
        ExtensionsFolder "extensions-folder";
        // devices.rs
        VisibleDevices "visible-devices"; RanksShareGpus "ranks-share-gpus";
        // inputs.rs
        ScriptMissing "script-missing"; ModuleMissing "module-missing"; PathMissing "path-missing";
        ModelUnreadable "model-unreadable"; WeightsMissing "weights-missing";
        DatasetUnreadable "dataset-unreadable";
        // arguments.rs
        Argument "argument"; ArgumentMissing "argument-missing";
        // texts.rs
        TextForNumber "text-for-number";
    }
}
