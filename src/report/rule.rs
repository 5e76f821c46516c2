//! The names of everything that zlaunch can find wrong. `--allow` and `explain` take them. Severity and sentence of a rule of
//! `check` stand beside its code.

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

            pub fn subject(self) -> RuleSubject {
                match self { $($(Rule::$rule => RuleSubject::$group,)*)* }
            }

            /// `None` for a rule of `check`.
            pub(crate) fn about(self) -> Option<&'static str> {
                match self { $($($(Rule::$rule => Some($about),)?)*)* _ => None }
            }
        }

        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum RuleSubject { $($(#[$subject])* $group,)* }
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
        Usage "usage" "zlaunch's own command line, or one of its variables, is invalid.";
        File "file" "A file that was named is missing, unreadable, too large or not text.";
        Json "json"
            "A config is not valid JSON; the place is where it goes wrong. Comments and trailing commas are \
             accepted.";
        RunFile "run-file" "The trainer's YAML or JSON file of arguments cannot be read as the trainer would read it.";
        ConfigOut "config-out" "The file that --config-out names cannot be written, or is an input of the launch.";
        Template "template" "There is no such template, or something in its `$zlaunch` section is wrong.";
        Patch "patch" "--patch is not a patch, or one of its operations does not fit the config.";
        Set "set" "--set names a key inside something that is not a section.";
        Unset "unset" "--unset names a key that the config does not have.";
        NoConfig "no-config" "--set, --unset, --patch or --config-out without any DeepSpeed config to change.";
        NotFound "not-found" "The command, or a program it needs, was not found.";
        HandOver "hand-over" "zlaunch does not know how this command takes a DeepSpeed config.";
        Mismatch "mismatch"
            "A value in the config differs from what the trainer computes from its arguments. The HF Trainer refuses \
             that after loading the model.";
        Auto "auto" "An \"auto\" that nobody fills in: the key is not one that transformers or accelerate fill in.";
        Ranks "ranks" "The number of ranks, their machines or their rendezvous is unknown or contradictory.";
        Launcher "launcher" "The chosen launcher cannot start this command, or not with these options.";
        Loopback "loopback" "The rendezvous address can only be reached from one of the machines.";
        UnevenTasks "uneven-tasks"
            "Slurm or an MPI started a different number of tasks on each machine, which no launcher can use.";
        Prefix "prefix" "zlaunch cannot run inside what the command starts with, such as `docker run` or `env -i`.";
        Hosts "hosts" "Something is wrong with the hostfile, --include, --exclude or .deepspeed_env.";
        Write "write" "The resolved config, a record, a log or a generated config cannot be written.";
        Port "port" "The rendezvous port is already in use on this machine.";
        Exec "exec" "The program was found, but the system refused to execute it.";
        Rehearsal "rehearsal" "The trainer itself refused the launch in a rehearsal.";
        Rank "rank" "A rank that zlaunch started failed, and the others were stopped.";
        Checkpoint "checkpoint" "A safetensors file of the model, or the index of its parts, cannot be read.";
        Fit "fit" "The memory that a run needs cannot be estimated from what is known.";
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
        AfterTheCommand "after-the-command"
            "-n or --dry-run comes after the command, so the trainer gets it and training starts.";
        GivenTwice "given-twice" "An option that takes one value is given twice; the last one is used.";
        UnknownVariable "unknown-variable"
            "A variable starts with ZLAUNCH_ but belongs to no option; it is probably misspelled.";
        TemplateDir "template-dir" "None of the folders in ZLAUNCH_TEMPLATE_DIR exists.";
        OldSpelling "old-spelling" "A template is named by an alias from an older release or another project, which still works.";
        NoSuchOption "no-such-option"
            "The script's own parser has no option for a config and would stop at once. transformers and \
             accelerate also find a config in the variables that `accelerate launch` sets.";
        OwnConfigDiffers "own-config-differs"
            "A name means both a template of zlaunch and a config that comes with the trainer, and they differ. In zlaunch's \
             --deepspeed it is zlaunch's, in the trainer's own argument the trainer's.";
        TwoConfigs "two-configs" "--deepspeed of zlaunch and of the command name different configs; zlaunch's is used.";
        DefaultMismatch "default-mismatch"
            "A value in the config differs from what the trainer takes by default, as far as its version and its \
             script are known. The HF Trainer refuses that after loading the model.";
        DoubtfulMismatch "doubtful-mismatch"
            "A value in the config differs from what the trainer computes from its arguments, if the script hands \
             them on as they are given. The HF Trainer refuses that after loading the model.";
        MachinesDiffer "machines-differ"
            "The machines of a job may have different numbers of GPUs, so the number of ranks is not known.";
        ShownInArguments "shown-in-arguments"
            "DeepSpeed's runner for an MPI or Slurm would show a secret in its arguments, or add quotes to a value.";
        RanksByMpi "ranks-by-mpi"
            "DeepSpeed's runner for Open MPI, MVAPICH or Slurm does not number the ranks, and mpi4py, which could, is \
             missing.";
        ConfigNotShared "config-not-shared"
            "Every machine in the hostfile reads the config by its path, but its file system may be local to this \
            machine.";
        ChangedByShells "changed-by-shells"
            "`deepspeed --hostfile` sends its arguments through a shell on every machine, which would change this one.";
        CacheNotOurs "cache-not-ours"
            "Others can write to the cache or to a folder above it, and could replace a config before the trainer reads \
             it. A private folder is used instead.";
        StrayVariable "stray-variable"
            "A variable such as NNODES or PET_NNODES contradicts the launch, and is ignored.";
        UncountedMachines "uncounted-machines"
            "This process belongs to a job that may have more machines, and no variable says how many.";
        ContradictsScheduler "contradicts-scheduler"
            "The number of machines, or this machine's rank, was given and contradicts the scheduler.";
        RanksWithoutEffect "ranks-without-effect"
            "A number of ranks was given for a command that runs once, unchanged.";
        NotUnderstood "not-understood"
            "zlaunch does not know this command, so it runs unchanged: nothing is checked, and no ranks are started.";
        PackagesNotSeen "packages-not-seen"
            "`uv run` and the like bring their own Python. A check from outside cannot see its packages; the launch \
            checks again, inside.";
        OutputWithoutEffect "output-without-effect"
            "--log-dir and --prefix are for ranks that zlaunch starts, itself or by torchrun.";
        MemoryShort "memory-short"
            "The run needs more memory than the GPUs or the machine have, or leaves too little for gaps. \
             `zlaunch fit` shows the details.";
    }
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
        SmallMemlock "small-memlock" "The limit on locked memory (`ulimit -l`) is too low for InfiniBand or NVMe offload.";
        SmallShm "small-shm"
            "/dev/shm is too small for NCCL and data loader workers, as it is by default in a container.";
        FewFiles "few-files" "The limit on open files is too low (`ulimit -n`).";
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
        LargeBucket "large-bucket"; PinnedMemory "pinned-memory";
        // operators.rs
        FirstCompile "first-compile";
        // variables.rs
        DeadVariable "dead-variable"; AllocatorConf "allocator-conf"; TwoAllocatorConfs "two-allocator-confs";
        MaxConnections "max-connections"; NcclContradiction "nccl-contradiction"; EnvFileUnread "env-file-unread";
        IncompleteRanks "incomplete-ranks"; NohupUndone "nohup-undone";
        ExtensionsFolder "extensions-folder";
        VisibleDevices "visible-devices"; RanksShareGpus "ranks-share-gpus";
        // files.rs
        ScriptMissing "script-missing"; ModuleMissing "module-missing"; PathMissing "path-missing";
        ModelUnreadable "model-unreadable"; WeightsMissing "weights-missing";
        DatasetUnreadable "dataset-unreadable";
        // rejections.rs
        Argument "argument"; ArgumentMissing "argument-missing"; TextForNumber "text-for-number";
    }
}
