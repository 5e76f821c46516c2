//! The names of everything that zlaunch can find wrong. `--allow` and `explain` take them. Severity and sentence of a rule of
//! `check` stand beside its code, the sentences of the others in `rules.txt`.

use std::fmt;

macro_rules! rules {
    ($($(#[$subject:meta])* $group:ident { $($rule:ident $name:literal;)* })*) => {
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
        }

        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum RuleSubject { $($(#[$subject])* $group,)* }
    };
}

impl Rule {
    pub fn all() -> impl Iterator<Item = Rule> {
        Rule::ALL.iter().copied()
    }

    /// `None` for a rule of `check`, whose sentence stands beside its code.
    pub(crate) fn about(self) -> Option<&'static str> {
        let mut rows = include_str!("rules.txt")
            .lines()
            .filter_map(|row| row.split_once(": "));
        rows.find(|(name, _)| *name == self.name())
            .map(|(_, about)| about)
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
        Usage "usage"; File "file"; Json "json"; RunFile "run-file"; ConfigOut "config-out"; Template "template";
        Patch "patch"; Set "set"; Unset "unset"; NoConfig "no-config"; NotFound "not-found"; HandOver "hand-over";
        Mismatch "mismatch"; Auto "auto"; Ranks "ranks"; Launcher "launcher"; Loopback "loopback";
        UnevenTasks "uneven-tasks"; Prefix "prefix"; Hosts "hosts"; Write "write"; Port "port"; Exec "exec";
        Rehearsal "rehearsal"; Rank "rank"; Checkpoint "checkpoint"; Fit "fit"; AutoTemplate "auto-template";
        Generate "generate"; Record "record"; Shims "shims"; Print "print";
    }
    /// The launch goes on, and `--allow` silences it.
    Warning {
        AfterTheCommand "after-the-command"; GivenTwice "given-twice"; UnknownVariable "unknown-variable";
        TemplateDir "template-dir"; OldSpelling "old-spelling"; NoSuchOption "no-such-option";
        ConfigUnused "config-unused";
        OwnConfigDiffers "own-config-differs"; TwoConfigs "two-configs"; DefaultMismatch "default-mismatch";
        DoubtfulMismatch "doubtful-mismatch"; MachinesDiffer "machines-differ";
        ConfigNotShared "config-not-shared";
        ChangedByShells "changed-by-shells"; CacheNotOurs "cache-not-ours"; StrayVariable "stray-variable";
        UncountedMachines "uncounted-machines"; ContradictsScheduler "contradicts-scheduler";
        RanksWithoutEffect "ranks-without-effect"; NotUnderstood "not-understood";
        PackagesNotSeen "packages-not-seen"; OutputWithoutEffect "output-without-effect";
        MemoryShort "memory-short";
    }
    Machine {
        PackageMissing "package-missing"; StaleLock "stale-lock"; NvmeFolder "nvme-folder";
        CacheOnNfs "cache-on-nfs"; NoCompiler "no-compiler"; SmallMemlock "small-memlock"; SmallShm "small-shm";
        FewFiles "few-files"; NotEnoughHostMemory "not-enough-host-memory"; UnlikeOthers "unlike-others";
        NoAnswer "no-answer";
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
        ExpertsAtStage3 "experts-at-stage-3"; NoSync "no-sync"; MonitorPackage "monitor-package";
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
        ExtensionsFolder "extensions-folder"; DeviceRange "device-range";
        VisibleDevices "visible-devices"; RanksShareGpus "ranks-share-gpus";
        // files.rs
        ScriptMissing "script-missing"; ModuleMissing "module-missing"; PathMissing "path-missing";
        ModelUnreadable "model-unreadable"; WeightsMissing "weights-missing";
        DatasetUnreadable "dataset-unreadable";
        // rejections.rs
        Argument "argument"; ArgumentMissing "argument-missing"; TextForNumber "text-for-number";
    }
}
