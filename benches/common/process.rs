//! A program in a process of its own, mostly this one again: what it takes does not count as ours.

use std::io::{BufRead, BufReader, Error, Lines, Result, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A process that takes and answers lines.
pub(crate) struct Process {
    child: Child,
    commands: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts this program with an argument by which it knows what it is.
    pub(crate) fn start(argument: &str) -> Result<Self> {
        Process::of(Command::new(std::env::current_exe()?).arg(argument))
    }

    /// Starts a program.
    pub(crate) fn of(command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let commands = child.stdin.take().ok_or_else(|| Error::other("no stdin"))?;
        let answers = BufReader::new(child.stdout.take().ok_or_else(|| Error::other("no stdout"))?).lines();
        Ok(Process { child, commands, answers })
    }

    /// Sends a line.
    pub(crate) fn say(&mut self, line: &str) -> Result<()> {
        writeln!(self.commands, "{line}")
    }

    /// The next line.
    pub(crate) fn answer(&mut self) -> Result<String> {
        self.answers.next().ok_or_else(|| Error::other("the process has ended"))?
    }

    /// Its number.
    pub(crate) fn pid(&self) -> String {
        self.child.id().to_string()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
