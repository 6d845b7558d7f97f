//! Prints the edges of the object that is given on the standard input, as JSON:
//! `kubectl get pod web-1 -o json | cargo run -p strandline-relations --example edges`

use std::error::Error;
use std::io::read_to_string;

use strandline_object::Object;
use strandline_relations::{Direction, Far, Relations, edges};

fn main() -> Result<(), Box<dyn Error>> {
    let text = read_to_string(std::io::stdin())?;
    for edge in edges(&Object::parse(&text)?, &Relations::default()) {
        let far = match edge.far {
            Far::Uid { kind, name, uid } => format!("{kind} {name} ({uid})"),
            Far::Key { kind, namespace, name } => format!("{kind} {namespace}/{name}"),
            Far::Matching { kind, namespace, selector } => {
                format!("every {kind} in {namespace} with {selector}")
            }
            Far::Numbered { kind, namespace, stem } => format!("{kind} {namespace}/{stem}-N"),
            Far::Every { kind } => format!("every {kind}"),
        };
        match edge.direction {
            Direction::FromFar => println!("{far} {} this", edge.kind),
            Direction::ToFar => println!("this {} {far}", edge.kind),
        }
    }
    Ok(())
}
