//! Reads out of a certificate when it expires (RFC 5280, section 4.1), and nothing else.
//!
//! rustls does not say it, and a parser of all that certificates can hold is a large dependency for one time. What cannot be
//! read is not reported; nothing is decided by it.

use strandline_model::Timestamp;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Until when a certificate is valid.
pub(super) fn not_after(certificate: &[u8]) -> Option<Timestamp> {
    let (certificate, _) = value(certificate, SEQUENCE)?;
    let (signed, _) = value(certificate, SEQUENCE)?;
    let rest = value(signed, VERSION).map_or(signed, |(_, rest)| rest);
    // Serial number, algorithm, issuer.
    let rest = (0..3).try_fold(rest, |rest, _| element(rest).map(|(_, _, rest)| rest))?;
    let (validity, _) = value(rest, SEQUENCE)?;
    let (_, _, rest) = element(validity)?;
    match element(rest)? {
        (UTC_TIME, text, _) => {
            let text = std::str::from_utf8(text).ok()?;
            let century = if text.get(..2)?.parse::<u8>().ok()? < 50 { "20" } else { "19" };
            time(&format!("{century}{text}"))
        }
        (GENERALIZED_TIME, text, _) => time(std::str::from_utf8(text).ok()?),
        _ => None,
    }
}

/// `YYYYMMDDHHMMSSZ`, the only form that certificates may have.
fn time(text: &str) -> Option<Timestamp> {
    let digits = text
        .strip_suffix('Z')
        .filter(|digits| digits.len() == 14 && digits.bytes().all(|b| b.is_ascii_digit()))?;
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    let (date, clock) = ([part(0, 4), part(4, 6), part(6, 8)], [part(8, 10), part(10, 12), part(12, 14)]);
    format!("{}T{}Z", date.join("-"), clock.join(":")).parse().ok()
}

/// The content of an element of this type, and what follows it.
fn value(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    element(der).filter(|(found, _, _)| *found == tag).map(|(_, value, rest)| (value, rest))
}

/// The type of an element, its content, and what follows it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (digits.iter().fold(0, |length, digit| (length << 8) | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (value, rest) = rest.split_at_checked(length)?;
    Some((tag, value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;

    #[test]
    fn the_end_is_read_and_nothing_breaks_on_what_is_cut() {
        let pem = include_bytes!("../../../tests/it/https/server.pem");
        let certificate = CertificateDer::from_pem_slice(pem).expect("a certificate");
        let end = not_after(&certificate).expect("its end").to_string();
        assert!(end.starts_with("2126-"), "{end}");
        for length in 0..certificate.len() {
            let _ = not_after(&certificate[..length]);
        }
        for place in 0..certificate.len().min(400) {
            let mut other = certificate.to_vec();
            other[place] ^= 0x80;
            let _ = not_after(&other);
        }
    }

    #[test]
    fn both_forms_of_a_time_are_read() {
        let told = |text: &str| time(text).map(|time| time.to_string());
        assert!(told("20270131140500Z").is_some_and(|text| text.starts_with("2027-01-31T14:05:00")));
        for wrong in ["", "2027013114050Z", "20270131140500", "20271331140500Z", "2027013114050éZ"] {
            assert_eq!(told(wrong), None, "{wrong}");
        }
    }
}
