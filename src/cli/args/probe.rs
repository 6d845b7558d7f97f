//! Asking whether a server is alive or ready.

use clap::Args;

use super::address::AddressArgs;
use super::values;

/// Arguments of `probe`.
#[derive(Clone, Debug, Args)]
pub struct ProbeArgs {
    /// Ask only whether the process answers, not whether it is ready
    #[arg(long)]
    pub live: bool,
    /// How many seconds to wait for an answer
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = values::number(1..=60))]
    pub timeout: u64,
    /// Which server.
    #[command(flatten)]
    pub server: AddressArgs,
}
