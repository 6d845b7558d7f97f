//! What a caller accepts: the lists of `Accept` and `Accept-Encoding`, with their weights (RFC 9110, section 12.4).

use http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};

/// An item of such a list, in lower case.
struct Item {
    name: String,
    parameters: Vec<(String, String)>,
}

impl Item {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(';').map(|part| part.trim().to_ascii_lowercase());
        let name = parts.next()?;
        let parameter = |part: String| {
            let (name, value) = part.split_once('=')?;
            Some((name.trim().to_owned(), value.trim().trim_matches('"').to_owned()))
        };
        Some(Item { name, parameters: parts.filter_map(parameter).collect() })
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// Its weight in thousandths; one whose weight cannot be read has none.
    fn weight(&self) -> u16 {
        self.parameter("q").map_or(1000, weight)
    }

    /// Whether it is of any version, or of this one.
    fn fits(&self, version: Option<&str>) -> bool {
        let own = self.parameter("version");
        version.is_none_or(|version| own.is_none_or(|own| own == version))
    }
}

/// The highest weight, in thousandths, of the items of a list that fit; none where none does.
fn heaviest(headers: &HeaderMap, list: HeaderName, fits: impl Fn(&Item) -> bool) -> Option<u16> {
    let lists = headers.get_all(list).iter().filter_map(|value| value.to_str().ok());
    let items = lists.flat_map(|list| list.split(',')).filter_map(Item::read);
    items.filter(|item| fits(item)).map(|item| item.weight()).max()
}

/// The highest weight, in thousandths, of the items of a list whose name fits; none where none does.
pub(super) fn quality(headers: &HeaderMap, list: HeaderName, fits: impl Fn(&str) -> bool) -> Option<u16> {
    heaviest(headers, list, |item| fits(&item.name))
}

/// The weight that a text says; 0 for what says none.
fn weight(value: &str) -> u16 {
    let shaped = value.len() <= 5 && value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let read = value.parse::<f32>().ok().filter(|read| shaped && (0.0..=1.0).contains(read));
    // It is between 0 and 1000.
    read.map_or(0, |read| (read * 1000.0).round() as u16)
}

/// How much who asks likes a media type, of this version where that is said, that they name.
pub(super) fn named(headers: &HeaderMap, media_type: &str, version: Option<&str>) -> u16 {
    heaviest(headers, ACCEPT, |item| item.name == media_type && item.fits(version)).unwrap_or(0)
}

/// How much who asks likes a media type: by its name, its group or any, the closest of which decides.
pub(super) fn liked(headers: &HeaderMap, media_type: &str, version: Option<&str>) -> u16 {
    let group = format!("{}/*", media_type.split('/').next().unwrap_or_default());
    let of = |range: &&str| heaviest(headers, ACCEPT, |item| item.name == **range && item.fits(version));
    [media_type, group.as_str(), "*/*"].iter().find_map(of).unwrap_or(0)
}

/// Whether who asks takes an answer of this media type. Who says nothing takes everything.
pub(super) fn accepts(headers: &HeaderMap, content_type: &str) -> bool {
    if headers.get_all(ACCEPT).iter().all(HeaderValue::is_empty) {
        return true;
    }
    let name = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    liked(headers, &name, None) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_range_decides() {
        for (accepted, expected) in [
            (None, true),
            (Some("application/json"), true),
            (Some("Application/JSON; charset=utf-8"), true),
            (Some("*/*"), true),
            (Some("application/*"), true),
            (Some("text/html, */*;q=0.1"), true),
            (Some("text/html"), false),
            (Some("application/json;q=0"), false),
            (Some("*/*, application/json;q=0"), false),
            (Some("application/json;q=0.001"), true),
            (Some("application/json;q=7"), false),
            (Some(""), true),
            (Some(","), false),
        ] {
            let value = accepted.map(|accepted| (ACCEPT, HeaderValue::from_static(accepted)));
            let headers = HeaderMap::from_iter(value);
            assert_eq!(accepts(&headers, "application/json"), expected, "{accepted:?}");
        }
    }

    #[test]
    fn a_media_type_is_named_by_itself_in_whatever_line_and_case() {
        for (lines, expected) in [
            (&[][..], false),
            (&["*/*"], false),
            (&["application/*"], false),
            (&["text/plain, Application/JSON; q=0.2"], true),
            (&["application/json;q=0"], false),
            (&["text/plain", "application/json"], true),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(ACCEPT, HeaderValue::from_static(line));
            }
            assert_eq!(named(&headers, "application/json", None) > 0, expected, "{lines:?}");
        }
    }
}
