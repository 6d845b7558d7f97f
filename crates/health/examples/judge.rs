//! Prints the verdict on the object that is given on the standard input, as JSON:
//! `kubectl get pod web-1 -o json | cargo run -p strandline-health --example judge`

use std::error::Error;
use std::io::read_to_string;

use strandline_health::assess;
use strandline_object::Object;

fn main() -> Result<(), Box<dyn Error>> {
    let text = read_to_string(std::io::stdin())?;
    let verdict = assess(&Object::parse(&text)?);
    let health = verdict.health.map_or("no health", |health| health.as_str());
    println!("{health} {} ({}) {}", verdict.reason, verdict.rule, verdict.message);
    Ok(())
}
