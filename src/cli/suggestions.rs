//! What the parser of the command line suggests, as far as it is alike: its own measure takes `logout` for `logs`.

use clap::error::{ContextKind, ContextValue};

use strandline_syntax::diagnostics::closest;

/// What is given wrongly, and where its suggestions are.
const SUGGESTIONS: [(ContextKind, ContextKind); 3] = [
    (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
    (ContextKind::InvalidArg, ContextKind::SuggestedArg),
    (ContextKind::InvalidValue, ContextKind::SuggestedValue),
];

/// The same error with the suggestions that somebody may have meant.
pub(super) fn only_alike(mut error: clap::Error) -> clap::Error {
    for (given, suggested) in SUGGESTIONS {
        let Some(ContextValue::String(given)) = error.get(given).cloned() else { continue };
        let words = match error.remove(suggested) {
            Some(ContextValue::String(word)) => vec![word],
            Some(ContextValue::Strings(words)) => words,
            _ => continue,
        };
        // An option may be given with its value.
        let given = given.split('=').next().unwrap_or_default().trim_start_matches('-');
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let bare: Vec<&str> = words.iter().map(|word| word.trim_start_matches('-')).collect();
        let near = closest(given, &bare).and_then(|near| bare.iter().position(|word| *word == near));
        if let Some(word) = near.and_then(|at| words.get(at)) {
            let value = match suggested {
                ContextKind::SuggestedSubcommand => ContextValue::Strings(vec![(*word).to_owned()]),
                _ => ContextValue::String((*word).to_owned()),
            };
            error.insert(suggested, value);
        }
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn the_parser_suggests_what_is_alike() {
        for (line, expected) in [
            ("strandline logs", None),
            ("strandline logn", Some("'login'")),
            ("strandline overveiw", Some("'overview'")),
            ("strandline get env --tire production", Some("'--tier'")),
            ("strandline get env --follow", None),
            ("strandline tree x --color alwys", Some("'always'")),
            ("strandline tree x --color red", None),
        ] {
            let error = Cli::command().try_get_matches_from(line.split(' ')).map(|_| ());
            let text = only_alike(error.expect_err(line)).to_string();
            match expected {
                Some(word) => assert!(text.contains("tip:") && text.contains(word), "{line}: {text}"),
                None => assert!(!text.contains("similar"), "{line}: {text}"),
            }
        }
    }
}
