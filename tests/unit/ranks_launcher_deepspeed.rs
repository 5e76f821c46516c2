//! Unit tests of `src/ranks/launcher/deepspeed.rs`.

use std::ffi::OsStr;

use super::*;

#[test]
fn mpirun_is_told_which_variables_to_hand_on() {
    let names = ["A".to_string(), "B".to_string()];
    let words = |text: &str| text.split('|').map(OsString::from).collect::<Vec<_>>();
    let options = |runner: RemoteRunner, extra: &str| {
        runner.options(&SPEC.parse(&words(extra)), &names).join(OsStr::new("|")).into_string().unwrap()
    };
    let mpi = RemoteRunner::OpenMpi;
    assert_eq!(options(mpi, "--launcher|openmpi"), "--launcher|openmpi|--launcher_args=-x A -x B");
    assert_eq!(options(mpi, "--launcher_args=-q|--force_multi"), "--launcher_args=-q -x A -x B|--force_multi");
    assert_eq!(options(RemoteRunner::Slurm, "--launcher|slurm"), "--launcher|slurm");
}
