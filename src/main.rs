//! The program. All of it is in the library, so that tests, fuzz targets and benchmarks can use the parts.

use std::process::ExitCode;

fn main() -> ExitCode {
    zlaunch::run()
}
