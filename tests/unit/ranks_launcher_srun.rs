//! Unit tests of `src/ranks/launcher/srun.rs`.

use super::*;
use crate::fake::host;

#[test]
fn one_task_gets_the_gpus_of_all() {
    for (tasks, variable, value, flag) in [
        ("4(x2)", vars::SLURM_GPUS_PER_TASK, "1", Some("--gres=gpu:4")),
        ("4(x2)", vars::SLURM_GPUS_PER_TASK, "a100:2", Some("--gres=gpu:8")),
        ("2(x16)", vars::SLURM_TRES_PER_TASK, "cpu=4,gres/gpu:a100=4", Some("--gres=gpu:8")),
        ("7,1", vars::SLURM_TRES_PER_TASK, "gres/gpu=1", Some("--gpus=8")),
        ("1(x2)", vars::SLURM_GPUS_PER_TASK, "4", None),
        ("4(x2)", vars::SLURM_TRES_PER_TASK, "cpu=4", None),
        ("x", vars::SLURM_GPUS_PER_TASK, "4", None),
    ] {
        let host = host(&[(vars::SLURM_TASKS_PER_NODE, tasks), (variable, value)]);
        assert_eq!(gpus_of_all_tasks(&host).as_deref(), flag, "{tasks} {value}");
    }
}

#[test]
fn flags_end_where_the_command_begins() {
    for (line, command) in [
        ("srun python x.py", "python x.py"),
        ("srun -N2 -n 8 --ntasks-per-node=4 -lu python x.py -n 3", "python x.py -n 3"),
        ("srun --nodes 2 --exclusive --gres gpu:4 -w node[01-02] swift sft", "swift sft"),
        ("/usr/bin/srun -K1 -I5 --export ALL torchrun x.py", "torchrun x.py"),
        ("srun --mpi=pmi2 --label -- python x.py", "python x.py"),
    ] {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let prefix = SrunPrefix::split(&words).unwrap();
        let rest: Vec<_> = prefix.command.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(rest.join(" "), command, "{line}");
    }
    for line in ["srun -N2", "srun a : b", "srun --multi-prog f", "sbatch x", "srun"] {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        assert!(SrunPrefix::split(&words).is_none(), "{line}");
    }
}
