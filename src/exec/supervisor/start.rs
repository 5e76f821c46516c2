//! Starts the processes, each with its variables, its input and its output.

use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use super::{RankProcess, Supervisor};
use crate::base::vars;
use crate::exec::commands::Commands;
use crate::exec::helper::{RankSpawner, SpawnError, process_group};
use crate::exec::output::{Console, RankLog, RankStream};
use crate::exec::{environment, files};
use crate::plan::environment::{Environment, Setting};
use crate::ranks::launcher::local::LocalRanks;
use crate::report::{self, OutputFile, Problem};

impl Supervisor {
    pub(super) fn start_ranks(
        &mut self,
        local: &LocalRanks,
        commands: &Commands<'_>,
        environment: &Environment,
    ) -> Result<(), Problem> {
        let port = free_port(environment).map_err(|why| report::cannot_watch_ranks(&why))?;
        if let Some(folder) = &local.log_dir {
            files::make_private_folder(folder).map_err(|why| report::cannot_write(OutputFile::LOG, folder, &why))?;
        }
        if local.prefix {
            let consoles = Console::new(io::stdout()).and_then(|out| Ok(vec![out, Console::new(io::stderr())?]));
            self.consoles = consoles.map_err(|why| report::cannot_watch_ranks(&why))?;
        }
        for rank in 0..local.count {
            let failed = |why: &io::Error| report::cannot_start_ranks(rank, local.count, why);
            let log = local.log_dir.as_deref().map(|folder| RankLog::open(folder, rank)).transpose()?;
            let argv = commands.argv(rank);
            let is_remote = commands.is_remote(rank);
            let mut spawner = RankSpawner::new(argv, is_remote).map_err(|why| failed(&why))?;
            let command = &mut spawner.command;
            environment::apply(environment, command);
            command.envs(commands.variables().iter().map(|name| (name, rank.to_string())));
            command.envs(port.map(|port| (vars::MASTER_PORT, port.to_string())));
            command.stdin(if rank == 0 { stdin_of_rank_0() } else { Stdio::null() });
            redirect_output(command, local.prefix, log.as_ref()).map_err(|why| failed(&why))?;
            let watch = |group| {
                if !is_remote {
                    self.watcher.add(group);
                }
            };
            let child = spawner.spawn(watch).map_err(|why| match why {
                SpawnError::Process(why) => failed(&why),
                SpawnError::Program(why) => report::cannot_execute(&argv[0], &why),
            })?;
            self.add_rank(child, rank, is_remote, log.as_ref()).map_err(|why| failed(&why))?;
        }
        Ok(())
    }

    fn add_rank(&mut self, mut child: Child, rank: u32, is_remote: bool, log: Option<&RankLog>) -> io::Result<()> {
        let (stdout, stderr) = (child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from));
        let group = process_group(&child);
        self.strays.know(group);
        self.ranks.push(RankProcess { group, child, is_remote, status: None, group_is_empty: false });
        for (console, pipe) in [stdout, stderr].into_iter().enumerate() {
            let Some(pipe) = pipe else { continue };
            let log = log.map(RankLog::try_clone).transpose()?;
            self.streams.push(RankStream::new(pipe, rank, console, log)?);
        }
        Ok(())
    }
}

/// A port for the ranks to meet on, where the plan leaves it open with 0.
fn free_port(environment: &Environment) -> io::Result<Option<u16>> {
    let is_open = |setting: &Setting| setting.name == vars::MASTER_PORT && setting.value == "0";
    if !environment.set.iter().any(is_open) {
        return Ok(None);
    }
    // Rank 0 will listen on all addresses.
    Ok(Some(TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?.local_addr()?.port()))
}

/// Rank 0 may read a file or a pipe. It runs in a background process group, which a terminal would stop.
fn stdin_of_rank_0() -> Stdio {
    if io::stdin().is_terminal() { Stdio::null() } else { Stdio::inherit() }
}

fn redirect_output(command: &mut Command, prefix: bool, log: Option<&RankLog>) -> io::Result<()> {
    if prefix {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    } else if let Some(log) = log {
        command.stdout(log.file.try_clone()?).stderr(log.file.try_clone()?);
    }
    Ok(())
}
