mod hostile;
mod laws;
mod objects;

use serde_json::Value;

use super::*;
use strandline_model::Kind;

fn deployment() -> Kind {
    Kind::new("apps", "Deployment")
}

/// Each difference in short: its type, class and path.
fn told(found: &Comparison) -> Vec<String> {
    let short = |difference: &Difference| {
        let sign = match difference.change {
            DifferenceType::Added => '+',
            DifferenceType::Removed => '-',
            DifferenceType::Changed => '~',
            DifferenceType::Moved => '>',
        };
        format!("{sign} {} {}", difference.class.as_str(), difference.path)
    };
    found.differences.iter().map(short).collect()
}

fn differences(before: &Value, after: &Value, lens: &Lens) -> Comparison {
    compare(&deployment(), Some(before), Some(after), lens)
}
