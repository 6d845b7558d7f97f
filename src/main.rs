//! The `strandline` command.

fn main() {}
