//! Where a walk through two states is, and how what is there is to be taken.

use serde_json::Value;

use super::DEPTH_MAX;
use super::lens::{Class, Lens, Standing};
use super::pair::{Pairing, pair};
use super::path::{Element, Step};

pub(super) struct Cursor<'a> {
    pub(super) lens: &'a Lens,
    pub(super) steps: Vec<Step>,
    /// The class of what is being looked at.
    pub(super) within: Class,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(lens: &'a Lens) -> Self {
        Cursor { lens, steps: Vec::new(), within: Class::Spec }
    }

    /// Takes a step; tells how what is there stands, and the class to [`leave`](Cursor::leave) to.
    pub(super) fn enter(&mut self, step: Step) -> (Standing, Class) {
        self.steps.push(step);
        let (standing, outside) = (self.lens.standing(&self.steps, self.within), self.within);
        if let Standing::Told(class) | Standing::Hidden(class) = standing {
            self.within = class;
        }
        (standing, outside)
    }

    /// Takes the step back.
    pub(super) fn leave(&mut self, outside: Class) {
        self.steps.pop();
        self.within = outside;
    }

    /// Whether what lies below is still looked at by itself.
    pub(super) fn goes_on(&self) -> bool {
        self.steps.len() < DEPTH_MAX
    }

    /// Pairs two lists that stand here. Lists have the name of their member, also those within lists.
    pub(super) fn pair(&self, before: &[Value], after: &[Value]) -> Pairing {
        let name = self.steps.iter().rev().find_map(|step| match step {
            Step::Member(name) => Some(name.as_str()),
            Step::Element(_) => None,
        });
        pair(name.unwrap_or_default(), before, after, self.lens.across)
    }
}

impl Pairing {
    /// The step to an element by its places.
    pub(super) fn step(&self, before: Option<usize>, after: Option<usize>) -> Step {
        let keys = self.keys.as_ref();
        let later = keys.and_then(|(_, keys)| keys.get(after?));
        let key = later.or_else(|| keys.and_then(|(keys, _)| keys.get(before?)));
        Step::Element(Element { before, after, key: key.cloned() })
    }

    /// The places of the earlier list whose elements are gone.
    pub(super) fn gone(&self, before: usize) -> Vec<usize> {
        let mut stays = vec![false; before];
        self.pairs.iter().for_each(|(place, _)| stays[*place] = true);
        (0..before).filter(|place| !stays[*place]).collect()
    }
}
