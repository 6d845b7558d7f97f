//! Prints the object that is given on the standard input, as JSON, without its secrets:
//! `kubectl get deployment web -o json | cargo run -p strandline-redact --example clean`

use std::error::Error;
use std::io::read_to_string;

use strandline_redact::{Rules, TypeMeta, clean};

fn main() -> Result<(), Box<dyn Error>> {
    let text = read_to_string(std::io::stdin())?;
    // Objects of a list do not say their kind; this one does.
    let own = TypeMeta { api_version: "", kind: "" };
    // A program that keeps what it prints makes a key once, at random, and keeps it too.
    println!("{}", clean(&text, own, &Rules::new([0; 32]))?.body);
    Ok(())
}
