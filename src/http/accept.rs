//! What a caller accepts: the lists of `Accept` and `Accept-Encoding`, with their weights (RFC 9110, section 12.4).

use http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};

/// The highest weight, in thousandths, of the items of a list whose name fits; none where none does. An item whose weight
/// cannot be read has none.
pub(super) fn quality(headers: &HeaderMap, list: HeaderName, fits: impl Fn(&str) -> bool) -> Option<u16> {
    let lists = headers.get_all(list).iter().filter_map(|value| value.to_str().ok());
    let items = lists.flat_map(|list| list.split(','));
    let weights = items.filter_map(|item| {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next()?.to_ascii_lowercase();
        fits(&name).then(|| parts.find_map(weight).unwrap_or(1000))
    });
    weights.max()
}

/// The weight that a parameter gives, if it is one; 0 for what is none.
fn weight(parameter: &str) -> Option<u16> {
    let (name, value) = parameter.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("q") {
        return None;
    }
    let value = value.trim();
    let shaped = value.len() <= 5 && value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let read = value.parse::<f32>().ok().filter(|read| shaped && (0.0..=1.0).contains(read));
    // It is between 0 and 1000.
    Some(read.map_or(0, |read| (read * 1000.0).round() as u16))
}

/// Whether who asks takes an answer of this media type: by its name, its group or any, the closest of which decides. Who
/// says nothing takes everything.
pub(super) fn accepts(headers: &HeaderMap, content_type: &str) -> bool {
    if headers.get_all(ACCEPT).iter().all(HeaderValue::is_empty) {
        return true;
    }
    let name = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let group = format!("{}/*", name.split('/').next().unwrap_or_default());
    let ranges = [name.as_str(), group.as_str(), "*/*"];
    let weight = ranges.iter().find_map(|range| quality(headers, ACCEPT, |item| item == *range));
    weight.unwrap_or(0) > 0
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
}
