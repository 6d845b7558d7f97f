//! Texts by number, so that the keys of groups compare and copy cheaply.

use std::borrow::Cow;
use std::cmp::Ordering;

use foldhash::HashMap;

/// The texts of keys, each once.
#[derive(Default)]
pub(super) struct Interner<'a> {
    numbers: HashMap<Cow<'a, str>, u32>,
    texts: Vec<Cow<'a, str>>,
}

impl<'a> Interner<'a> {
    /// The number of a text.
    pub(super) fn number(&mut self, text: impl Into<Cow<'a, str>>) -> u32 {
        let text = text.into();
        if let Some(number) = self.numbers.get(&text) {
            return *number;
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    pub(super) fn texts(&self, numbers: &[u32]) -> Vec<String> {
        numbers.iter().map(|number| self.text(*number).to_owned()).collect()
    }

    /// How the texts of these numbers stand to those.
    pub(super) fn compare(&self, one: &[u32], other: &[u32]) -> Ordering {
        one.iter().map(|number| self.text(*number)).cmp(other.iter().map(|number| self.text(*number)))
    }

    fn text(&self, number: u32) -> &str {
        usize::try_from(number).ok().and_then(|place| self.texts.get(place)).map_or("", |text| text)
    }
}
