//! Digests that tell a change from noise.
//!
//! Much of what a cluster writes says nothing new: heartbeats of nodes, renewals of a leader's lock, a
//! higher resourceVersion. The digest leaves such noise out, so that states with equal digests need not be
//! recorded twice.

use std::ops::Range;

use crate::json::{Lexer, Token, unquote};

/// The first 16 bytes of BLAKE3 over what counts as a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 16]);

/// What is no change, besides `metadata.resourceVersion` and `metadata.managedFields`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noise {
    /// Annotations, by their full name.
    pub annotations: Vec<String>,
    /// Members anywhere within `status`, by name.
    pub status_members: Vec<String>,
}

impl Default for Noise {
    /// Leader election by annotation, and the times of heartbeats and probes.
    fn default() -> Self {
        let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Noise {
            annotations: own(&["control-plane.alpha.kubernetes.io/leader"]),
            status_members: own(&["lastHeartbeatTime", "lastProbeTime"]),
        }
    }
}

/// Digests an object without its noise.
pub fn digest(body: &str, noise: &Noise) -> Digest {
    let mut scan = NoiseScan::new(noise);
    for (token, at) in Lexer::new(body) {
        scan.step(body, token, &at);
    }
    scan.digest(body)
}

/// Which part of the object a container belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Object,
    Metadata,
    Annotations,
    Status,
    Other,
}

impl Part {
    fn below(self, key: &str) -> Part {
        match (self, key) {
            (Part::Object, "metadata") => Part::Metadata,
            (Part::Object, "status") | (Part::Status, _) => Part::Status,
            (Part::Metadata, "annotations") => Part::Annotations,
            _ => Part::Other,
        }
    }

    fn is_noise(self, key: &str, noise: &Noise) -> bool {
        match self {
            Part::Metadata => matches!(key, "resourceVersion" | "managedFields"),
            Part::Annotations => noise.annotations.iter().any(|name| name == key),
            Part::Status => noise.status_members.iter().any(|name| name == key),
            Part::Object | Part::Other => false,
        }
    }
}

struct Frame {
    part: Part,
    /// The part that a container under the current member belongs to.
    next: Part,
    /// Where the last member that stays ended; none while nothing stayed.
    kept: Option<usize>,
    /// Where to cut from, while the current member is noise.
    cutting: Option<usize>,
}

impl Frame {
    fn new(part: Part, token: Token) -> Self {
        let (part, next) = match (token, part) {
            (Token::Array, Part::Status) => (Part::Status, Part::Status),
            (Token::Array, _) => (Part::Other, Part::Other),
            _ => (part, Part::Other),
        };
        Frame { part, next, kept: None, cutting: None }
    }
}

/// Finds the noise of an object, token by token, for who reads the tokens anyway.
pub struct NoiseScan<'a> {
    noise: &'a Noise,
    frames: Vec<Frame>,
    /// Within a member that is noise nothing is looked at: the depth at which it began ends it.
    silent_from: Option<usize>,
    /// The stretches of text to leave out, in order, each with the comma that would be too many.
    cuts: Vec<Range<usize>>,
}

impl<'a> NoiseScan<'a> {
    /// Before the first token.
    pub fn new(noise: &'a Noise) -> Self {
        NoiseScan { noise, frames: Vec::with_capacity(16), silent_from: None, cuts: Vec::new() }
    }

    /// Takes the next token of the object and where it is.
    pub fn step(&mut self, body: &str, token: Token, at: &Range<usize>) {
        match token {
            Token::Object | Token::Array => {
                let part = self.frames.last().map_or(Part::Object, |frame| frame.next);
                self.frames.push(Frame::new(part, token));
            }
            Token::Close => {
                self.frames.pop();
                self.value(at.end);
            }
            Token::Key if self.looks_at_keys() => {
                self.key(&unquote(body.get(at.clone()).unwrap_or_default()), at.start);
            }
            Token::Comma if self.silent_from.is_none() => self.comma(at),
            Token::Key | Token::Comma => {}
            Token::Text | Token::Atom => self.value(at.end),
        }
    }

    /// The digest, after the last token.
    pub fn digest(self, body: &str) -> Digest {
        let mut hasher = blake3::Hasher::new();
        let mut from = 0;
        for cut in self.cuts {
            hasher.update(body.as_bytes().get(from..cut.start).unwrap_or_default());
            from = cut.end;
        }
        hasher.update(body.as_bytes().get(from..).unwrap_or_default());
        let mut digest = [0; 16];
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Digest(digest)
    }

    /// Most of an object is neither metadata nor status, and its names say nothing here.
    fn looks_at_keys(&self) -> bool {
        self.silent_from.is_none() && self.frames.last().is_some_and(|frame| frame.part != Part::Other)
    }

    fn key(&mut self, key: &str, start: usize) {
        let depth = self.frames.len();
        let Some(frame) = self.frames.last_mut() else { return };
        frame.next = frame.part.below(key);
        if frame.part.is_noise(key, self.noise) {
            frame.cutting = Some(frame.kept.unwrap_or(start));
            self.silent_from = Some(depth);
        }
    }

    /// With nothing kept before it, the comma behind what was cut goes as well.
    fn comma(&mut self, at: &Range<usize>) {
        if self.frames.last().is_some_and(|frame| frame.kept.is_none())
            && let Some(cut) = self.cuts.last_mut()
            && cut.end == at.start
        {
            cut.end = at.end;
        }
    }

    /// A value ended.
    fn value(&mut self, end: usize) {
        let depth = self.frames.len();
        let Some(frame) = self.frames.last_mut() else { return };
        if self.silent_from.is_none() {
            frame.kept = Some(end);
        } else if self.silent_from == Some(depth) {
            self.silent_from = None;
            match (frame.cutting.take(), self.cuts.last_mut()) {
                // The member before it went as well, with the comma between.
                (Some(start), Some(cut)) if cut.start == start => cut.end = end,
                (Some(start), _) => self.cuts.push(start..end),
                (None, _) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn without_noise(body: &str) -> String {
        let mut text = String::new();
        let mut from = 0;
        let noise = Noise::default();
        let mut scan = NoiseScan::new(&noise);
        Lexer::new(body).for_each(|(token, at)| scan.step(body, token, &at));
        for cut in scan.cuts {
            text.push_str(&body[from..cut.start]);
            from = cut.end;
        }
        text + &body[from..]
    }

    /// The same by way of a tree.
    fn by_tree(mut object: Value) -> String {
        fn silence(value: &mut Value) {
            match value {
                Value::Object(members) => {
                    members.retain(|key, _| !matches!(key.as_str(), "lastHeartbeatTime" | "lastProbeTime"));
                    members.values_mut().for_each(silence);
                }
                Value::Array(items) => items.iter_mut().for_each(silence),
                _ => {}
            }
        }
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|key, _| !matches!(key.as_str(), "resourceVersion" | "managedFields"));
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.retain(|key, _| key != "control-plane.alpha.kubernetes.io/leader");
            }
        }
        if let Some(status) = object.get_mut("status") {
            silence(status);
        }
        object.to_string()
    }

    #[test]
    fn noise_goes_with_one_comma() {
        let cases = [
            (r#"{"metadata":{"resourceVersion":"1"}}"#, r#"{"metadata":{}}"#),
            (r#"{"metadata":{"resourceVersion":"1","name":"a"}}"#, r#"{"metadata":{"name":"a"}}"#),
            (r#"{"metadata":{"name":"a","resourceVersion":"1"}}"#, r#"{"metadata":{"name":"a"}}"#),
            (
                r#"{"metadata":{"managedFields":[{"a":","}],"resourceVersion":"1","name":"a"}}"#,
                r#"{"metadata":{"name":"a"}}"#,
            ),
            (
                r#"{"metadata":{"name":"a","managedFields":[],"resourceVersion":"1"}}"#,
                r#"{"metadata":{"name":"a"}}"#,
            ),
            (
                r#"{"status":{"conditions":[{"lastProbeTime":null,"type":"R"},{"type":"S","lastHeartbeatTime":"t"}]}}"#,
                r#"{"status":{"conditions":[{"type":"R"},{"type":"S"}]}}"#,
            ),
            (
                r#"{"spec":{"lastProbeTime":1,"resourceVersion":2,"metadata":{"resourceVersion":3}}}"#,
                r#"{"spec":{"lastProbeTime":1,"resourceVersion":2,"metadata":{"resourceVersion":3}}}"#,
            ),
            (
                r#"{"x":"\"metadata\":{\"resourceVersion\":1}"}"#,
                r#"{"x":"\"metadata\":{\"resourceVersion\":1}"}"#,
            ),
            (r#"{"metadata":{"generation":1}}"#, r#"{"metadata":{"generation":1}}"#),
        ];
        for (text, expected) in cases {
            assert_eq!(without_noise(text), expected);
        }
    }

    #[test]
    fn users_extend_what_is_noise() {
        let mut noise = Noise::default();
        noise.annotations.push("acme/last-sync".to_owned());
        noise.status_members.push("observedAt".to_owned());
        let state = |time: &str| {
            json!({"metadata": {"annotations": {"acme/last-sync": time}}, "status": {"n": [{"observedAt": time}]}})
                .to_string()
        };
        assert_eq!(digest(&state("1"), &noise), digest(&state("2"), &noise));
        assert_ne!(digest(&state("1"), &Noise::default()), digest(&state("2"), &Noise::default()));
    }

    fn tree() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z\"\\\\{},é\n]{0,8}".prop_map(Value::from),
        ];
        let key = prop_oneof![
            "(metadata|status|annotations|resourceVersion|managedFields|lastProbeTime|lastHeartbeatTime)",
            "control-plane.alpha.kubernetes.io/leader",
            "[a-z\"\\\\,]{0,3}",
        ];
        leaf.prop_recursive(5, 60, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key.clone(), inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_scanner_agrees_with_a_tree(
            metadata in tree(), status in tree(), other in tree(), whole in tree(),
        ) {
            for object in [json!({"metadata": metadata, "spec": other, "status": status}), whole] {
                prop_assert_eq!(without_noise(&object.to_string()), by_tree(object));
            }
        }

        #[test]
        fn any_text_has_a_digest(text in ".{0,200}|[\\[\\]{}\",:\\\\a1 ]{0,200}") {
            digest(&text, &Noise::default());
        }

        #[test]
        fn cut_off_objects_have_a_digest(object in tree(), cut in 0_usize..400) {
            let text = json!({"metadata": object, "status": object}).to_string();
            digest(text.get(..cut).unwrap_or(&text), &Noise::default());
        }
    }
}
