//! Lists in which what is the same is told once.

use std::collections::HashMap;
use std::hash::Hash;

/// Leaves of those that are the same the first, which takes the others in. Only those of one key are held against each
/// other; what has none stays by itself.
pub(super) fn folded<T, K: Hash + Eq>(
    all: Vec<T>,
    key: impl Fn(&T) -> Option<K>,
    is_same: impl Fn(&T, &T) -> bool,
    take_in: impl Fn(&mut T, &T),
) -> Vec<T> {
    let mut out: Vec<T> = Vec::new();
    let mut places: HashMap<K, Vec<usize>> = HashMap::new();
    for one in all {
        let Some(key) = key(&one) else {
            out.push(one);
            continue;
        };
        let alike = places.entry(key).or_default();
        let same =
            alike.iter().copied().find(|place| out.get(*place).is_some_and(|first| is_same(first, &one)));
        match same.and_then(|place| out.get_mut(place)) {
            Some(first) => take_in(first, &one),
            None => {
                alike.push(out.len());
                out.push(one);
            }
        }
    }
    out
}
