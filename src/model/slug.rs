//! GitLab's slug of an environment name.

/// A name as it may stand in labels and host names: lower case, dashes, at most 24 characters.
///
/// GitLab's rule (Gitlab::Slug::Environment): what is not a–z or 0–9 becomes a dash, `env-` goes in front
/// of what does not begin with a letter, repeated dashes are squeezed; a name that was changed by this or is
/// longer than 24 characters is cut to 17 and gets six characters of the name's SHA-256 in base 36.
pub fn slug(name: &str) -> String {
    let _ = name;
    String::new()
}
