//! Unit tests of `src/ranks/topology/device_list.rs`.

use super::*;

/// On a machine with one GPU: what the driver (`cuDeviceGetCount`) said to each list.
#[test]
fn lists_are_read_as_the_driver_reads_them() {
    let read = |list: &str| DeviceList::read(vars::CUDA_VISIBLE_DEVICES, list, Some(1));
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
    for (list, seen) in [("a", 0), ("a,b", 0), ("0,a", 1), ("a,0", 0), ("[0]", 0), ("cuda:0", 0), ("0,GPU-012e41ed", 1)]
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
    assert_eq!(read(vars::CUDA_VISIBLE_DEVICES, "3,11").names, ["3", "11"]);
    assert!(matches!(read(vars::CUDA_VISIBLE_DEVICES, "0,1,1").fault, Some(DeviceFault::Repeated(_))));
    assert!(matches!(read(vars::HIP_VISIBLE_DEVICES, "x").fault, Some(DeviceFault::NotADevice(_))));
    assert!(read(vars::ASCEND_RT_VISIBLE_DEVICES, "0,0").fault.is_none());
}
