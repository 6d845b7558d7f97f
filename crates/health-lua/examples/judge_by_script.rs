//! Prints the verdict of one script on the object that is given on the standard input, as JSON:
//! `cargo run -p strandline-health-lua --example judge_by_script -- health.lua < object.json`

use std::error::Error;
use std::fs;
use std::io::read_to_string;

use strandline_health::Patience;
use strandline_health_lua::{Judge, Scripts};
use strandline_object::Object;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("name the script")?;
    let text = read_to_string(std::io::stdin())?;
    let object = Object::parse(&text)?;
    // Where Argo CD would look for the script of this kind.
    let place = match object.group() {
        "" => format!("{}/health.lua", object.kind),
        group => format!("{group}/{}/health.lua", object.kind),
    };
    let scripts = Scripts::from_folder([(place, fs::read_to_string(file)?)])?;
    let verdict = Judge::new(&scripts, Patience::default()).judge(&object);
    let health = verdict.health.map_or("no health", |health| health.as_str());
    println!("{health} {} ({}) {}", verdict.reason, verdict.rule, verdict.message);
    Ok(())
}
