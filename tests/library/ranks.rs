//! Lists of GPUs, hostfiles and the rendezvous.

mod device_list {
    use zlaunch::testing::topology::device_list::*;

    /// On a machine with one GPU: what the driver (`cuDeviceGetCount`) said to each list.
    #[test]
    fn lists_are_read_as_the_driver_reads_them() {
        let read = |list: &str| DeviceList::read("CUDA_VISIBLE_DEVICES", list, Some(1));
        for list in ["0", " 0", "0 ", "+0", "00", "0,", "0,,0", "0,-1", "GPU-012e41ed", "GPU-012e41ed,GPU-5"] {
            assert!(!read(list).names.is_empty() && read(list).fault.is_none(), "{list}");
        }
        for list in ["", "-1", ",0", "NoDevFiles", "none", "void"] {
            assert!(read(list).names.is_empty() && read(list).fault.is_none(), "{list}");
        }
        for list in ["0,0", "0, 0", "0,00", "GPU-012e41ed,GPU-012e41ed"] {
            assert!(read(list).names.is_empty(), "{list}");
            assert!(matches!(read(list).fault, Some(DeviceFault::Repeated(_))), "{list}");
        }
        for (list, seen) in
            [("a", 0), ("a,b", 0), ("0,a", 1), ("a,0", 0), ("[0]", 0), ("cuda:0", 0), ("0,GPU-012e41ed", 1)]
        {
            assert_eq!(read(list).names.len(), seen, "{list}");
            assert!(matches!(read(list).fault, Some(DeviceFault::NotADevice(_))), "{list}");
        }
        for (list, seen) in [("1", 0), ("0,1", 1), ("0,1,1", 1), ("8,0", 0)] {
            assert_eq!(read(list).names.len(), seen, "{list}");
            assert!(matches!(read(list).fault, Some(DeviceFault::NotThere(_, 1))), "{list}");
        }
        for list in ["0gpu", "0x0", "0 1", "0;1", "0.5"] {
            assert_eq!(read(list).names, ["0"], "{list}");
            assert!(matches!(read(list).fault, Some(DeviceFault::MoreThanANumber(_))), "{list}");
        }
    }

    #[test]
    fn without_a_driver_only_the_form_counts() {
        let read = |variable, list| DeviceList::read(variable, list, None);
        assert_eq!(read("CUDA_VISIBLE_DEVICES", "3,11").names, ["3", "11"]);
        assert!(matches!(read("CUDA_VISIBLE_DEVICES", "0,1,1").fault, Some(DeviceFault::Repeated(_))));
        assert!(matches!(read("HIP_VISIBLE_DEVICES", "x").fault, Some(DeviceFault::NotADevice(_))));
        assert!(read("ASCEND_RT_VISIBLE_DEVICES", "0,0").fault.is_none());
    }
}

mod hostfile {
    use zlaunch::testing::source::{Source, Sourced};
    use zlaunch::testing::topology::hostfile::*;

    fn pool(text: &str) -> ResourcePool {
        parse(text, "hostfile").unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    #[test]
    fn lines_are_parsed_as_the_runner_does() {
        assert_eq!(pool("# all\n\nh0 slots=2\nh1\tslots=3 max\n").gpu_count(), 5);
        for (text, count) in
            [("h0 slots = 4", 1), ("h0\nh1 slots=x", 2), ("h0 slots=1\nh0 slots=2", 1), ("# none\n", 1)]
        {
            assert_eq!(parse(text, "hostfile").map_err(|problems| problems.len()), Err(count), "{text}");
        }
    }

    #[test]
    fn filters_include_or_exclude() {
        let filtered = |filter: &str, keep| {
            let filter = Sourced::new(filter.to_string(), Source::Default);
            let left = pool("h0 slots=4\nh1 slots=4").filtered(&filter, keep).map_err(|problems| problems.len())?;
            Ok(left.0.iter().map(|(host, slots)| format!("{host}:{}", slots.join(","))).collect::<Vec<_>>().join("@"))
        };
        assert_eq!(filtered("h1:0,2", true).as_deref(), Ok("h1:0,2"));
        assert_eq!(filtered("h0@h1:1", true).as_deref(), Ok("h0:0,1,2,3@h1:1"));
        assert_eq!(filtered("h0@h1:1", false).as_deref(), Ok("h1:0,2,3"));
        assert_eq!((filtered("h2:0@h1:9", true), filtered("h0@h1", false)), (Err(2), Err(1)));
    }
}

mod rendezvous {
    use std::net::IpAddr;

    use zlaunch::testing::topology::rendezvous::*;

    #[test]
    fn names_are_resolved() {
        assert!(resolve("localhost").iter().any(IpAddr::is_loopback));
        assert_eq!(resolve("10.1.2.3").first(), "10.1.2.3".parse().ok().as_ref());
        assert_eq!(resolve("no such host"), Vec::<IpAddr>::new());
    }

    #[test]
    fn loopback_is_known_by_every_name() {
        for address in ["127.0.0.1", "127.0.1.1", "localhost", "LOCALHOST", "::1", "[::1]", "localhost.localdomain"] {
            assert!(is_loopback(address), "{address}");
        }
        for address in ["10.0.0.1", "node01", "localhostess", "fe80::1", ""] {
            assert!(!is_loopback(address), "{address}");
        }
    }

    #[test]
    fn the_first_entry_in_the_hosts_file_decides() {
        let hosts = "127.0.0.1 localhost\n127.0.1.1 node01.lab node01 # own\n10.0.0.2\tnode02\n";
        for (name, expected) in
            [("node01", true), ("NODE01.lab", true), ("node02", false), ("node0", false), ("own", false)]
        {
            assert_eq!(maps_to_loopback(hosts, name), expected, "{name}");
        }
        assert!(!maps_to_loopback("10.0.0.1 node01\n127.0.1.1 node01\n", "node01"));
    }
}
