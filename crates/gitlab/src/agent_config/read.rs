//! Reads a configuration of an agent.

use std::fmt;

use super::check;
use super::file::File;
use super::types::AgentConfig;
use crate::expression::MAX_COMPILED_BYTES;
use strandline_syntax::diagnostics::{Mistake, of_syntax};

/// The longest configuration of an agent that is read, in bytes.
pub const MAX_CONFIG_BYTES: usize = 1024 * 1024;

/// A configuration that was found to be sound, and what is odd about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadAgentConfig {
    /// What it says.
    pub config: AgentConfig,
    /// What may not be meant as it is written, in the order of the file.
    pub warnings: Vec<Mistake>,
    /// How many bytes its regular expressions take.
    pub compiled_bytes: usize,
}

/// Why a configuration cannot be used: every mistake in it, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentConfigError {
    /// At least one.
    pub mistakes: Vec<Mistake>,
}

impl fmt::Display for AgentConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.mistakes.iter().map(Mistake::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for AgentConfigError {}

/// Reads an agent's configuration from YAML; an empty file says nothing and is sound.
///
/// # Errors
/// With every mistake; of YAML that cannot be read, and of unknown keys, with the first.
pub fn read_agent_config(yaml: &str) -> Result<ReadAgentConfig, AgentConfigError> {
    let failed = |mistakes| AgentConfigError { mistakes };
    if yaml.len() > MAX_CONFIG_BYTES {
        let message = format!("the file is longer than {MAX_CONFIG_BYTES} bytes");
        return Err(failed(vec![Mistake::at(serde_saphyr::Location::UNKNOWN, "too_long", message)]));
    }
    let file: Option<File> = serde_saphyr::from_str(yaml).map_err(|error| failed(vec![of_syntax(&error)]))?;
    let mut room = MAX_COMPILED_BYTES;
    let (config, warnings) = check::check(file.unwrap_or_default(), yaml, &mut room).map_err(failed)?;
    Ok(ReadAgentConfig { config, warnings, compiled_bytes: MAX_COMPILED_BYTES - room })
}
