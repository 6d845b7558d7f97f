//! This program again, in a process of its own: what it takes does not count as ours.

use std::io::{BufRead, BufReader, Error, Lines, Result, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Such a process, which takes and answers lines.
pub(crate) struct Process {
    child: Child,
    commands: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts it with an argument by which it knows what it is.
    pub(crate) fn start(argument: &str) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg(argument).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
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
