use super::*;
use strandline_model::{Health, Offset, Tier, Timestamp};

const TIER: Parameter = Parameter::many("tier");
const HEALTH: Parameter = Parameter::many("health");
const BODIES: Parameter = Parameter::one("bodies");
const KNOWN: &[Parameter] = &[AT, TZ, LIMIT, CONTINUE, TIER, HEALTH, BODIES];

fn wrong(raw: &str) -> Vec<String> {
    let read = |query: Query| {
        let mut reader = query.reader();
        reader.at();
        reader.page();
        reader.flag(BODIES);
        reader.words::<Tier>(TIER);
        reader.words::<Health>(HEALTH);
        reader.finish()
    };
    let problem = Query::parse(raw, KNOWN).and_then(read).err();
    let errors = problem.map(|problem| problem.errors).unwrap_or_default();
    errors.into_iter().map(|error| format!("{}: {}", error.parameter, error.detail)).collect()
}

#[test]
fn lists_may_repeat_or_use_commas() {
    let query = Query::parse("tier=production,staging&tier=other&health=degraded", KNOWN).unwrap_or_default();
    let mut reader = query.reader();
    assert_eq!(reader.words::<Tier>(TIER), [Tier::Production, Tier::Staging, Tier::Other]);
    assert_eq!(reader.words::<Health>(HEALTH), [Health::Degraded]);
    assert!(reader.finish().is_ok());
}

#[test]
fn moments_survive_forms_and_zones() {
    for (raw, expected) in [
        ("", At::Now),
        ("at=", At::Now),
        ("at=1234", At::Offset(Offset::new(1234))),
        ("at=1970-01-01T01:00+01:00", At::Time(Default::default())),
        ("at=1970-01-01T01%3A00%2B01%3A00", At::Time(Default::default())),
    ] {
        let query = Query::parse(raw, KNOWN).unwrap_or_default();
        assert_eq!(query.reader().at(), expected, "{raw}");
    }
}

/// The reading of the clock that every time of a request refers to.
const NOW: Timestamp = Timestamp::from_micros(1_795_185_000_000_000);

#[test]
fn times_of_day_are_those_of_the_zone_that_is_asked_for() {
    for (raw, expected, link) in [
        ("at=14:05", "2026-11-20T14:05:00Z", "?at=2026-11-20T14%3A05%3A00Z"),
        ("at=14:05&tz=Europe/Berlin", "2026-11-20T13:05:00Z", "?at=2026-11-20T13%3A05%3A00Z"),
        ("at=yesterday+14:05&tz=%2B02:00", "2026-11-19T12:05:00Z", "?at=2026-11-19T12%3A05%3A00Z"),
        ("at=yesterday%2014:05+01:00", "2026-11-19T13:05:00Z", "?at=2026-11-19T13%3A05%3A00Z"),
        ("at=14:05+Europe/Berlin&tz=UTC", "2026-11-20T13:05:00Z", "?at=2026-11-20T13%3A05%3A00Z"),
        ("at=2026-11-20T14:05:00Z&tz=Asia/Tokyo", "2026-11-20T14:05:00Z", "?at=2026-11-20T14%3A05%3A00Z"),
    ] {
        let query = Query::parse(raw, KNOWN).unwrap_or_default().asked_at(NOW);
        let time = expected.parse().expect("a time");
        assert_eq!(query.reader().at(), At::Time(time), "{raw}");
        assert_eq!(query.with(&[]), link, "a link means the same tomorrow");
    }
    let query = Query::parse("at=2h&tz=Asia/Tokyo&limit=5", KNOWN).unwrap_or_default().asked_at(NOW);
    assert_eq!(query.with(&[]), "?at=2h&limit=5");
    assert_eq!(
        wrong("tz=Mars&at=14:05"),
        ["tz: unknown time zone `Mars`; use a name such as Europe/Berlin, UTC, or an offset such as +02:00"]
    );
}

#[test]
fn what_is_wrong_is_said_with_what_would_be_right() {
    let cases = [
        ("limit=0", "limit: invalid number `0`; use a whole number from 1 to 500"),
        ("limit=1000000000", "limit: invalid number `1000000000`; use a whole number from 1 to 500"),
        ("limit=-1", "limit: invalid number `-1`; use a whole number from 1 to 500"),
        ("limit=%2B5", "limit: invalid number `+5`; use a whole number from 1 to 500"),
        ("limit=NaN", "limit: invalid number `NaN`; use a whole number from 1 to 500"),
        ("at=1&at=2", "at: must not be repeated"),
        ("bodies=yes", "bodies: invalid boolean `yes`; use `true` or `false`"),
        ("x=1", "x: is unknown; use one of at, tz, limit, continue, tier, health, bodies"),
        (
            "tier=prod",
            "tier: invalid tier `prod`; use one of production, staging, testing, development, other",
        ),
    ];
    for (raw, expected) in cases {
        assert_eq!(wrong(raw), [expected], "{raw}");
    }
    assert_eq!(wrong("limit=x&tier=y&at=z").len(), 3, "all at once");
}

#[test]
fn the_next_page_keeps_the_filter() {
    let query = Query::parse("tier=production&at=2h&limit=5", KNOWN).unwrap_or_default();
    assert_eq!(
        query.with(&[(CONTINUE, Some("a/b=")), (AT, None)]),
        "?tier=production&limit=5&continue=a%2Fb%3D"
    );
    assert_eq!(Query::default().with(&[(AT, None)]), "");
}

#[test]
fn a_token_stays_only_in_the_query_that_it_is_of() {
    let query = Query::parse("tier=production,other&at=7&continue=x", KNOWN).unwrap_or_default();
    for (changes, expected) in [
        (&[][..], "?tier=production%2Cother&at=7&continue=x"),
        (&[(AT, Some("7"))], "?tier=production%2Cother&continue=x&at=7"),
        (&[(AT, Some("8"))], "?tier=production%2Cother&at=8"),
        (&[(AT, None)], "?tier=production%2Cother"),
        (&[(LIMIT, None)], "?tier=production%2Cother&at=7&continue=x"),
        (&[(TIER, Some("other"))], "?at=7&tier=other"),
        (&[(CONTINUE, Some("y"))], "?tier=production%2Cother&at=7&continue=y"),
    ] {
        assert_eq!(query.with(changes), expected, "{changes:?}");
    }
}

#[test]
fn what_is_refused_is_left_out_and_kept_as_it_was_given() {
    let query = Query::parse("tier=a,b&tier=c&at=soon&limit=5", KNOWN).unwrap_or_default();
    let error = |name: &str, detail: &str| ParameterError { parameter: name.into(), detail: detail.into() };
    let rest = query.refusing(&[error("tier", "first"), error("tier", "second"), error("at", "when?")]);
    assert_eq!(rest.with(&[]), "?limit=5");
    assert_eq!(
        (rest.typed(TIER), rest.typed(AT), rest.typed(LIMIT)),
        (Some("a,b,c"), Some("soon"), Some("5"))
    );
    let told: Vec<_> = rest.refused().iter().map(|one| (&*one.parameter, &*one.detail)).collect();
    assert_eq!(told, [("tier", "first"), ("at", "when?")]);
}
