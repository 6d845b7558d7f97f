//! Prints what differs between the states of an object in two files of JSON:
//! `cargo run -p strandline-object-diff --example compare -- before.json after.json`

use std::error::Error;
use std::fs;

use serde_json::Value;
use strandline_model::Kind;
use strandline_object_diff::{Between, Class, Lens, compare};

fn main() -> Result<(), Box<dyn Error>> {
    let mut files = std::env::args().skip(1);
    let mut read = || -> Result<Value, Box<dyn Error>> {
        let file = files.next().ok_or("name two files")?;
        Ok(serde_json::from_str(&fs::read_to_string(file)?)?)
    };
    let (before, after) = (read()?, read()?);
    let text = |name: &str| after[name].as_str().unwrap_or_default();
    let kind = Kind::from_api_version(text("apiVersion"), text("kind"));
    let lens = Lens::new(Between::Versions, &Class::ALL);
    let shown = |value: Option<Value>| value.map_or_else(|| "nothing".to_owned(), |value| value.to_string());
    for difference in compare(&kind, Some(&before), Some(&after), &lens).differences {
        println!("{}: {} -> {}", difference.path, shown(difference.before), shown(difference.after));
    }
    Ok(())
}
