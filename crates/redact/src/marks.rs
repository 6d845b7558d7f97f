//! Texts that show by themselves that they are credentials, as their issuers mark them.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::shapes::{Shape, is_reference, shape};

/// What follows a mark.
#[derive(Clone, Copy)]
enum Behind {
    /// Letters, digits, `_`, `-` and `.`: ten or more.
    Word,
    /// The same, but the mark alone begins ordinary names too: it begins a word, and what follows looks made by chance.
    Chance,
    /// Digits of base 16 and nothing else, this many, as a word of its own.
    Hex(usize),
    /// Capital letters and digits, this many at least.
    Capitals(usize),
    /// A hash of a password, up to the next blank, quote or colon.
    Hash,
    /// The rest of an address that lets everybody post who knows it.
    Address,
    /// Letters, digits, `_` and `-`, this many at least, as a word of its own.
    Exactly(usize),
    /// What a JSON Web Token begins with.
    Jwt,
    /// A private key in PEM, or in what PuTTY has for it.
    Pem,
    PuTty,
    /// PEM, or something packed, in Base64.
    PemInBase64,
    Packed,
    /// `Bearer` or `Basic`, behind a header's name.
    Scheme,
    /// A bot's number stands before it.
    Bot,
}

use Behind::{
    Address, Bot, Capitals, Chance, Exactly, Hash, Hex, Jwt, Packed, Pem, PemInBase64, PuTty, Scheme, Word,
};

const MARKS: &[(&str, Behind)] = &[
    // GitHub
    ("ghp_", Word),
    ("gho_", Word),
    ("ghu_", Word),
    ("ghs_", Word),
    ("ghr_", Word),
    ("github_pat_", Word),
    // GitLab
    ("glpat-", Word),
    ("gldt-", Word),
    ("glrt-", Word),
    ("glrtr-", Word),
    ("glcbt-", Word),
    ("glptt-", Word),
    ("glagent-", Word),
    ("gloas-", Word),
    ("glimt-", Word),
    ("glft-", Word),
    ("glffct-", Word),
    ("glsoat-", Word),
    ("glwt-", Word),
    ("GR1348941", Word),
    ("_gitlab_session=", Word),
    // Slack, Discord and others that take messages
    ("xoxb-", Word),
    ("xoxp-", Word),
    ("xoxa-", Word),
    ("xoxs-", Word),
    ("xoxr-", Word),
    ("xoxe-", Word),
    ("xoxe.", Word),
    ("xoxc-", Word),
    ("xoxd-", Word),
    ("xapp-", Word),
    ("xwfp-", Word),
    ("hooks.slack.com/services/", Address),
    ("hooks.slack.com/workflows/", Address),
    ("hooks.slack.com/triggers/", Address),
    ("discord.com/api/webhooks/", Address),
    ("discordapp.com/api/webhooks/", Address),
    (".webhook.office.com/", Address),
    ("outlook.office.com/webhook/", Address),
    ("outlook.office365.com/webhook/", Address),
    ("hooks.zapier.com/hooks/", Address),
    ("hooks.chime.aws/incoming", Address),
    ("events.pagerduty.com/integration/", Address),
    ("api.telegram.org/bot", Address),
    ("/bot/v2/hook/", Address),
    ("maker.ifttt.com/trigger/", Address),
    ("/hooks/catch/", Address),
    (":AA", Bot),
    // Clouds
    ("AKIA", Capitals(16)),
    ("ASIA", Capitals(16)),
    ("ABIA", Capitals(16)),
    ("ACCA", Capitals(16)),
    ("AIza", Exactly(35)),
    ("GOCSPX-", Word),
    ("ya29.", Word),
    ("1//0", Exactly(30)),
    ("LTAI", Exactly(12)),
    ("AKID", Exactly(32)),
    ("dop_v1_", Word),
    ("doo_v1_", Word),
    ("dor_v1_", Word),
    ("8Q~", Exactly(31)),
    ("HRKU-", Word),
    ("pscale_tkn_", Word),
    ("pscale_pw_", Word),
    ("pscale_oauth_", Word),
    ("sbp_", Chance),
    ("sb_secret_", Word),
    ("nfp_", Chance),
    ("fo1_", Chance),
    ("FlyV1 ", Word),
    ("tskey-", Word),
    ("v1.0-", Exactly(146)),
    // Registries
    ("npm_", Chance),
    ("pypi-", Chance),
    ("rubygems_", Chance),
    ("dckr_pat_", Word),
    ("dckr_oat_", Word),
    ("AKCp", Exactly(60)),
    ("cmVmdGtuOj", Exactly(40)),
    ("CLOJARS_", Chance),
    ("oy2", Exactly(43)),
    ("cio", Exactly(32)),
    // Vaults and identity
    ("hvs.", Word),
    ("hvb.", Word),
    ("hvr.", Word),
    ("AGE-SECRET-KEY-1", Word),
    ("ops_", Chance),
    ("dp.pt.", Word),
    ("dp.st.", Word),
    ("dp.sa.", Word),
    ("dp.ct.", Word),
    // Payment and shops
    ("sk_live_", Word),
    ("sk_test_", Word),
    ("rk_live_", Word),
    ("rk_test_", Word),
    ("whsec_", Word),
    ("shpat_", Word),
    ("shpss_", Word),
    ("shpca_", Word),
    ("shppa_", Word),
    ("sq0atp-", Word),
    ("sq0csp-", Word),
    ("EAAAE", Exactly(40)),
    ("EAACEdEose", Word),
    ("shippo_live_", Word),
    ("shippo_test_", Word),
    ("access_token$production$", Word),
    // Models
    ("sk-proj-", Word),
    ("sk-ant-", Word),
    ("sk-svcacct-", Word),
    ("sk-admin-", Word),
    ("sk-or-", Word),
    ("sk-", Chance),
    ("hf_", Chance),
    ("r8_", Chance),
    ("gsk_", Chance),
    ("pplx-", Chance),
    ("xai-", Chance),
    // Builds, observation, mail, others
    ("SG.", Word),
    ("key-", Hex(32)),
    ("SK", Hex(32)),
    ("dapi", Hex(32)),
    ("xkeysib-", Word),
    ("xsmtpsib-", Word),
    ("figd_", Word),
    ("lin_api_", Word),
    ("lin_oauth_", Word),
    ("NRAK-", Word),
    ("NRJS-", Word),
    ("NRII-", Word),
    ("NRRA-", Word),
    ("PMAK-", Word),
    ("sgp_", Chance),
    ("sntrys_", Word),
    ("sntryu_", Word),
    ("tfp_", Chance),
    (".atlasv1.", Word),
    ("glsa_", Word),
    ("glc_", Chance),
    ("sqp_", Chance),
    ("squ_", Chance),
    ("sqa_", Chance),
    ("ATATT3", Word),
    ("ATCTT3", Word),
    ("ATBB", Exactly(20)),
    ("CFPAT-", Word),
    ("ntn_", Chance),
    ("secret_", Exactly(43)),
    ("bkua_", Chance),
    ("CCIPAT_", Word),
    ("pnu_", Chance),
    ("rdme_", Chance),
    ("pul-", Hex(40)),
    ("duffel_", Chance),
    ("dt0c01.", Word),
    ("dt0s01.", Word),
    ("ico-", Exactly(32)),
    ("lsv2_", Word),
    ("phc_", Chance),
    ("phx_", Chance),
    ("tvly-", Chance),
    ("ddp_", Chance),
    ("ddapi", Hex(32)),
    // Hashes of passwords
    ("$2a$", Hash),
    ("$2b$", Hash),
    ("$2x$", Hash),
    ("$2y$", Hash),
    ("$apr1$", Hash),
    ("$1$", Hash),
    ("$5$", Hash),
    ("$6$", Hash),
    ("$7$", Hash),
    ("$y$", Hash),
    ("$argon2", Hash),
    ("$pbkdf2", Hash),
    ("$scrypt", Hash),
    ("{SSHA", Hash),
    ("{SHA", Hash),
    ("{CRYPT}", Hash),
    ("{PBKDF2", Hash),
    ("{ARGON2", Hash),
    ("pbkdf2_sha256$", Hash),
    ("SCRAM-SHA-256$", Hash),
    ("pbkdf2:sha256:", Hash),
    // Forms
    ("eyJ", Jwt),
    ("-----BEGIN ", Pem),
    ("PuTTY-User-Key-File-", PuTty),
    ("LS0tLS1CRUdJTi", PemInBase64),
    ("H4sI", Packed),
    ("Bearer ", Scheme),
    ("bearer ", Scheme),
    ("Basic ", Scheme),
    ("basic ", Scheme),
    ("Token ", Scheme),
    ("ApiKey ", Scheme),
];

/// No hash of a password is longer.
const LONGEST: usize = 512;

/// `PRIVATE KEY` in Base64, by where in a group of three bytes it begins.
const PRIVATE_KEY_IN_BASE64: [&str; 3] = ["UFJJVkFURSBLRV", "BSSVZBVEUgS0VZ", "QUklWQVRFIEtFW"];

// Made of texts of ours, so that it is there in every test or in none; without it the corpus would not be found.
static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(MARKS.iter().map(|(mark, _)| mark)).ok()
});

/// Where in a text credentials stand that show by themselves what they are.
pub(super) fn marked(text: &str, found: &mut Vec<Range<usize>>) {
    let Some(finder) = FINDER.as_ref().filter(|_| text.len() >= 12) else { return };
    let mut behind = 0;
    for mark in finder.find_overlapping_iter(text) {
        let Some((_, kind)) = MARKS.get(mark.pattern().as_usize()) else { continue };
        // What lies within another is gone with it.
        if mark.start() < behind {
            continue;
        }
        if let Some(range) = credential_at(text, mark.start(), mark.end(), *kind) {
            behind = range.end;
            found.push(range);
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// The end of what begins at a place and consists of such bytes.
fn run(text: &str, from: usize, allowed: impl Fn(u8) -> bool) -> usize {
    run_within(text, from, usize::MAX, allowed)
}

/// The same, looking at so many bytes at most: of marks that follow each other each would be read to the end.
fn run_within(text: &str, from: usize, most: usize, allowed: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    let rest = &rest[..rest.len().min(most)];
    from + rest.iter().position(|&b| !allowed(b)).unwrap_or(rest.len())
}

fn credential_at(text: &str, at: usize, behind: usize, kind: Behind) -> Option<Range<usize>> {
    // Or else a long text of one beginning after the other would be searched again and again.
    let begins = |part: fn(u8) -> bool| !text[..at].bytes().next_back().is_some_and(part);
    let word = || {
        let end = run(text, behind, |b| is_word(b) || b == b'.');
        // A full stop behind it belongs to the sentence.
        behind + text[behind..end].trim_end_matches('.').len()
    };
    let long = |end: usize, least: usize| (end - behind >= least).then_some(at..end);
    match kind {
        // Terraform's tokens have their number before the mark.
        Word if text[at..].starts_with('.') => {
            let before = text[..at].bytes().rev().take(64).take_while(u8::is_ascii_alphanumeric).count();
            long(word(), 10).map(|range| range.start - before..range.end)
        }
        Word => long(word(), 10),
        Chance if begins(is_word) => {
            let end = word();
            long(end, 16).filter(|_| is_chance(&text[behind..end]))
        }
        Hex(count) if begins(is_word) => {
            let end = run(text, behind, |b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            let alone = !text.as_bytes().get(end).copied().is_some_and(is_word);
            (alone && end - behind == count).then_some(at..end)
        }
        Capitals(count) => long(run(text, behind, |b| b.is_ascii_uppercase() || b.is_ascii_digit()), count),
        Exactly(count) if begins(is_word) || text[at..].starts_with("8Q~") => {
            let end = run_within(text, behind, LONGEST, |b| is_word(b) || matches!(b, b'~' | b'.'));
            let begin = if text[at..].starts_with("8Q~") { at.saturating_sub(3) } else { at };
            let plain = |range: &Range<usize>| text.get(range.clone()).is_some_and(is_chance);
            (end - behind >= count).then_some(begin..end).filter(plain)
        }
        Chance | Hex(_) | Exactly(_) => None,
        Hash => long(
            run_within(text, behind, LONGEST, |b| {
                is_base64(b) || matches!(b, b'$' | b'.' | b',' | b'-' | b'}' | b':')
            }),
            16,
        )
        .filter(|range| is_chance(&text[range.clone()])),
        Address => {
            let end = run(text, behind, |b| {
                b.is_ascii_graphic() && !matches!(b, b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\')
            });
            let hidden = is_reference(&text[behind..end]) || text[behind..end].starts_with("redacted:");
            (!hidden && end - behind >= 8).then_some(behind..end)
        }
        Bot => {
            let digits = text[..at].bytes().rev().take(12).take_while(u8::is_ascii_digit).count();
            let end = run(text, behind, is_word);
            ((8..12).contains(&digits) && end - behind >= 30).then_some(at - digits..end)
        }
        Jwt if begins(is_word) => json_web_token(text, at).map(|end| at..end),
        Pem => private_key(&text[at..]).map(|length| at..at + length),
        PuTty => {
            let end = run_within(text, behind, 4 * LONGEST, |_| true);
            text.get(behind..end).unwrap_or(&text[behind..]).contains("Private-").then_some(at..text.len())
        }
        PemInBase64 if begins(is_base64) => {
            let end = run(text, at, is_base64);
            PRIVATE_KEY_IN_BASE64.iter().any(|label| text[at..end].contains(label)).then_some(at..end)
        }
        // What is packed cannot be searched; Helm and others keep whole manifests so.
        Packed if begins(is_base64) => {
            let end = run(text, at, is_base64);
            (end - at >= 24).then_some(at..end)
        }
        Scheme if begins(is_word) => authorization(text, at, behind),
        Jwt | PemInBase64 | Packed | Scheme => None,
    }
}

/// Whether a text has digits among letters, and is not made of words.
fn is_chance(text: &str) -> bool {
    shape(text) >= Shape::Unclear
        && text.bytes().any(|b| b.is_ascii_digit())
        && text.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| {
            part.len() >= 8
                && part.bytes().any(|b| b.is_ascii_digit())
                && part.bytes().any(|b| b.is_ascii_alphabetic())
        })
}

/// What follows a scheme of `Authorization`; without that header only what looks made by chance.
fn authorization(text: &str, at: usize, behind: usize) -> Option<Range<usize>> {
    let end = run(text, behind, |b| {
        b.is_ascii_graphic() && !matches!(b, b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\' | b',' | b';')
    });
    let token = &text[behind..end];
    let header = text[..at].trim_end_matches([' ', '\'', '"', '=', ':']);
    let header = header.len().checked_sub("authorization".len()).and_then(|start| header.get(start..));
    let announced = header.is_some_and(|header| header.eq_ignore_ascii_case("authorization"));
    let hidden =
        if announced { !is_reference(token) } else { token.len() >= 12 && shape(token) == Shape::Random };
    hidden.then_some(behind..end)
}

/// Three parts with dots between them, the first two of which are JSON objects in Base64.
fn json_web_token(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let header = run(text, at, is_word);
    let payload =
        (header >= at + 8 && bytes.get(header) == Some(&b'.')).then(|| run(text, header + 1, is_word))?;
    (payload >= header + 4 && bytes.get(payload) == Some(&b'.')).then(|| run(text, payload + 1, is_word))
}

/// From the first dash to the last, or to the end of the text when the key has none.
fn private_key(text: &str) -> Option<usize> {
    let label = text.strip_prefix("-----BEGIN ")?;
    let label = &label[..label.bytes().take(60).position(|b| b == b'-')?];
    if !label.contains("PRIVATE KEY") {
        return None;
    }
    let closing = format!("-----END {label}-----");
    Some(text.find(&closing).map_or(text.len(), |found| found + closing.len()))
}
