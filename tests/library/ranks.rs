//! How many ranks, lists of GPUs, hostfiles, the rendezvous, and the words of the launchers.

mod device_list {
    use zlaunch::testing::topology::devices::*;

    /// On a machine with one GPU: what the driver (`cuDeviceGetCount`) said to each list.
    #[test]
    fn lists_are_read_as_the_driver_reads_them() {
        let read = |list: &str| DeviceList::read("CUDA_VISIBLE_DEVICES", list, Some(1));
        for list in [
            "0",
            " 0",
            "0 ",
            "00",
            "0,",
            "0,,0",
            "0,-1",
            "GPU-012e41ed",
            "GPU-012e41ed,GPU-5",
        ] {
            assert!(
                !read(list).names.is_empty() && read(list).fault.is_none(),
                "{list}"
            );
        }
        for list in ["", "-1", ",0", "NoDevFiles", "none", "void"] {
            assert!(
                read(list).names.is_empty() && read(list).fault.is_none(),
                "{list}"
            );
        }
        for list in ["0,0", "0, 0", "0,00", "GPU-012e41ed,GPU-012e41ed"] {
            assert!(read(list).names.is_empty(), "{list}");
            assert!(
                matches!(read(list).fault, Some(DeviceFault::Repeated(_))),
                "{list}"
            );
        }
        for (list, seen) in [
            ("a", 0),
            ("a,b", 0),
            ("0,a", 1),
            ("a,0", 0),
            ("[0]", 0),
            ("cuda:0", 0),
            ("0,GPU-012e41ed", 1),
            ("0 1", 0),
            ("0,1-3", 1),
        ] {
            assert_eq!(read(list).names.len(), seen, "{list}");
            assert!(
                matches!(read(list).fault, Some(DeviceFault::NotADevice(_))),
                "{list}"
            );
        }
        for (list, seen) in [("1", 0), ("0,1", 1), ("0,1,1", 1), ("8,0", 0)] {
            assert_eq!(read(list).names.len(), seen, "{list}");
            assert!(
                matches!(read(list).fault, Some(DeviceFault::NotThere(_, 1))),
                "{list}"
            );
        }
    }

    #[test]
    fn without_a_driver_only_the_form_counts() {
        let read = |variable, list| DeviceList::read(variable, list, None);
        assert_eq!(read("CUDA_VISIBLE_DEVICES", "3,11").names, ["3", "11"]);
        assert!(matches!(
            read("CUDA_VISIBLE_DEVICES", "0,1,1").fault,
            Some(DeviceFault::Repeated(_))
        ));
        assert!(matches!(
            read("HIP_VISIBLE_DEVICES", "x").fault,
            Some(DeviceFault::NotADevice(_))
        ));
        assert!(read("ASCEND_RT_VISIBLE_DEVICES", "0,0").fault.is_none());
    }
}

mod hostfile {
    use zlaunch::testing::source::{Source, Sourced};
    use zlaunch::testing::topology::devices::*;

    fn pool(text: &str) -> Vec<PoolMachine> {
        parse_hostfile(text, "hostfile").unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    #[test]
    fn lines_are_parsed_as_the_runner_does() {
        let slots = pool("# all\n\nh0 slots=2\nh1\tslots=3 max\n");
        assert_eq!(
            slots
                .iter()
                .map(|machine| machine.slots.len())
                .collect::<Vec<_>>(),
            [2, 3]
        );
        for (text, count) in [
            ("h0 slots = 4", 1),
            ("h0\nh1 slots=x", 2),
            ("h0 slots=1\nh0 slots=2", 1),
            ("# none\n", 1),
        ] {
            assert_eq!(
                parse_hostfile(text, "hostfile").map_err(|problems| problems.len()),
                Err(count),
                "{text}"
            );
        }
    }

    #[test]
    fn filters_include_or_exclude() {
        let left = |filter: &str, keep| {
            let filter = Sourced::new(filter.to_string(), Source::Default);
            let left = filtered(pool("h0 slots=4\nh1 slots=4"), &filter, keep)
                .map_err(|problems| problems.len())?;
            Ok(left
                .iter()
                .map(|machine| format!("{}:{}", machine.name, machine.slots.join(",")))
                .collect::<Vec<_>>()
                .join("@"))
        };
        assert_eq!(left("h1:0,2", true).as_deref(), Ok("h1:0,2"));
        assert_eq!(left("h0@h1:1", true).as_deref(), Ok("h0:0,1,2,3@h1:1"));
        assert_eq!(left("h0@h1:1", false).as_deref(), Ok("h1:0,2,3"));
        assert_eq!(
            (left("h2:0@h1:9", true), left("h0@h1", false)),
            (Err(2), Err(1))
        );
    }
}

mod rendezvous {
    use std::net::IpAddr;

    use zlaunch::testing::topology::is_loopback;
    use zlaunch::testing::topology::slurm::resolve;

    #[test]
    fn names_are_resolved() {
        assert!(resolve("localhost").iter().any(IpAddr::is_loopback));
        assert_eq!(
            resolve("10.1.2.3").first(),
            "10.1.2.3".parse().ok().as_ref()
        );
        assert_eq!(resolve("no such host"), Vec::<IpAddr>::new());
    }

    #[test]
    fn loopback_is_known_by_every_name() {
        for address in [
            "127.0.0.1",
            "127.0.1.1",
            "localhost",
            "LOCALHOST",
            "::1",
            "[::1]",
            "localhost.localdomain",
        ] {
            assert!(is_loopback(address), "{address}");
        }
        for address in ["10.0.0.1", "node01", "localhostess", "fe80::1", ""] {
            assert!(!is_loopback(address), "{address}");
        }
    }
}

mod decision {
    use zlaunch::testing::Host;
    use zlaunch::testing::topology::{HostFlags, RankFlags, Topology};

    use crate::invariants::host;

    #[test]
    fn the_drivers_list_counts_when_no_variable_does() {
        let nproc = |gpus, env: &[(&str, &str)]| {
            let host = Host {
                nvidia_gpus: gpus,
                ..host(env)
            };
            let topology =
                Topology::decide(&RankFlags::default(), &HostFlags::default(), true, &host);
            topology.map(|topology| {
                topology
                    .nproc_per_node
                    .map(|nproc| (nproc.value, nproc.from.to_string()))
            })
        };
        assert_eq!(
            nproc(Some(8), &[]),
            Ok(Some((8, "/proc/driver/nvidia/gpus".to_string())))
        );
        let two = nproc(Some(8), &[("CUDA_VISIBLE_DEVICES", "3,4")]);
        assert_eq!(two, Ok(Some((2, "CUDA_VISIBLE_DEVICES".to_string()))));
        assert!(nproc(None, &[]).is_err() && nproc(Some(0), &[]).is_err());
    }

    /// Its own name is a loopback address, and so is the one it has towards the second node: the name stays.
    #[test]
    fn a_loopback_address_is_no_better_than_a_name_for_one() {
        let env = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_STEP_NUM_NODES", "2"),
            ("SLURM_STEP_NODELIST", "localhost,127.0.0.1"),
            ("SLURM_STEP_TASKS_PER_NODE", "1(x2)"),
            ("SLURM_NODEID", "0"),
        ];
        let host = Host {
            hostname: "localhost".to_string(),
            nvidia_gpus: Some(2),
            ..host(&env)
        };
        let problems = Topology::decide(&RankFlags::default(), &HostFlags::default(), true, &host)
            .unwrap_err();
        assert_eq!(problems[0].what, "no other machine reaches localhost");
    }
}

mod srun {
    use std::ffi::OsString;

    use zlaunch::testing::{SrunPrefix, gpus_of_all_tasks};

    use crate::invariants::host;

    #[test]
    fn one_task_gets_the_gpus_of_all() {
        for (tasks, variable, value, flag) in [
            ("4(x2)", "SLURM_GPUS_PER_TASK", "1", Some("--gres=gpu:4")),
            (
                "4(x2)",
                "SLURM_GPUS_PER_TASK",
                "a100:2",
                Some("--gres=gpu:8"),
            ),
            (
                "2(x16)",
                "SLURM_TRES_PER_TASK",
                "cpu=4,gres/gpu:a100=4",
                Some("--gres=gpu:8"),
            ),
            ("7,1", "SLURM_TRES_PER_TASK", "gres/gpu=1", Some("--gpus=8")),
            ("1(x2)", "SLURM_GPUS_PER_TASK", "4", None),
            ("4(x2)", "SLURM_TRES_PER_TASK", "cpu=4", None),
            ("x", "SLURM_GPUS_PER_TASK", "4", None),
        ] {
            let host = host(&[("SLURM_TASKS_PER_NODE", tasks), (variable, value)]);
            assert_eq!(gpus_of_all_tasks(&host).as_deref(), flag, "{tasks} {value}");
        }
    }

    #[test]
    fn flags_end_where_the_command_begins() {
        for (line, command) in [
            ("srun python x.py", "python x.py"),
            (
                "srun -N2 -n 8 --ntasks-per-node=4 -lu python x.py -n 3",
                "python x.py -n 3",
            ),
            (
                "srun --nodes 2 --exclusive --gres gpu:4 -w node[01-02] swift sft",
                "swift sft",
            ),
            (
                "/usr/bin/srun -K1 -I5 --export ALL torchrun x.py",
                "torchrun x.py",
            ),
            ("srun --mpi=pmi2 --label -- python x.py", "python x.py"),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let prefix = SrunPrefix::split(&words).unwrap();
            let rest: Vec<_> = prefix
                .command
                .iter()
                .map(|word| word.to_str().unwrap())
                .collect();
            assert_eq!(rest.join(" "), command, "{line}");
        }
        for line in [
            "srun -N2",
            "srun a : b",
            "srun --multi-prog f",
            "sbatch x",
            "srun",
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert!(SrunPrefix::split(&words).is_none(), "{line}");
        }
    }
}
