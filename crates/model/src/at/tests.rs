use proptest::prelude::*;

use super::*;

/// Friday, 2026-11-20 14:30 in UTC.
fn now() -> Timestamp {
    "2026-11-20T14:30:00Z".parse().expect("a time")
}

fn of(zone: &str, now: &str) -> TimeContext {
    TimeContext { now: now.parse().expect("a time"), zone: Zone::named(zone).expect("a zone") }
}

fn time(context: &TimeContext, text: &str) -> String {
    match context.read(text) {
        Ok(At::Time(time)) => time.to_string(),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn durations_and_offsets_are_read_as_people_write_them() {
    let seconds = |n| Ok(At::Ago(Duration::from_secs(n)));
    for (text, expected) in [
        ("now", Ok(At::Now)),
        (" NOW ", Ok(At::Now)),
        ("1234", Ok(At::Offset(Offset::new(1234)))),
        ("5m", seconds(300)),
        ("1h30m", seconds(5400)),
        ("2d", seconds(172_800)),
        ("-2h", seconds(7200)),
        ("2h ago", seconds(7200)),
        ("1d12h  Ago", seconds(129_600)),
        ("250ms", Ok(At::Ago(Duration::from_millis(250)))),
    ] {
        assert_eq!(TimeContext::utc(now()).read(text), expected, "{text}");
    }
}

#[test]
fn times_are_read_as_people_write_them() {
    let berlin = of("Europe/Berlin", "2026-11-20T14:30:00Z");
    for (text, in_utc, in_berlin) in [
        ("1970-01-01T00:00:01Z", "1970-01-01T00:00:01Z", "1970-01-01T00:00:01Z"),
        ("1970-01-01T01:00+01:00", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
        ("14:05", "2026-11-20T14:05:00Z", "2026-11-20T13:05:00Z"),
        ("9:05:07.25", "2026-11-20T09:05:07.250Z", "2026-11-20T08:05:07.250Z"),
        ("15:00", "2026-11-19T15:00:00Z", "2026-11-20T14:00:00Z"),
        ("15:31", "2026-11-19T15:31:00Z", "2026-11-19T14:31:00Z"),
        ("14:30", "2026-11-20T14:30:00Z", "2026-11-20T13:30:00Z"),
        ("today 15:00", "2026-11-20T15:00:00Z", "2026-11-20T14:00:00Z"),
        ("yesterday 14:05", "2026-11-19T14:05:00Z", "2026-11-19T13:05:00Z"),
        ("Yesterday", "2026-11-19T00:00:00Z", "2026-11-18T23:00:00Z"),
        ("2026-11-18", "2026-11-18T00:00:00Z", "2026-11-17T23:00:00Z"),
        ("2026-11-18 14:05", "2026-11-18T14:05:00Z", "2026-11-18T13:05:00Z"),
        ("2026-11-18T14:05:09", "2026-11-18T14:05:09Z", "2026-11-18T13:05:09Z"),
        ("2026-11-18 14:05:09 UTC", "2026-11-18T14:05:09Z", "2026-11-18T14:05:09Z"),
        ("14:05Z", "2026-11-20T14:05:00Z", "2026-11-20T14:05:00Z"),
        ("14:05+02:00", "2026-11-20T12:05:00Z", "2026-11-20T12:05:00Z"),
        ("yesterday 14:05 +0200", "2026-11-19T12:05:00Z", "2026-11-19T12:05:00Z"),
        ("2026-07-01 14:05 Europe/Berlin", "2026-07-01T12:05:00Z", "2026-07-01T12:05:00Z"),
        ("2026-11-18 Asia/Tokyo", "2026-11-17T15:00:00Z", "2026-11-17T15:00:00Z"),
        ("@1795183500", "2026-11-20T14:05:00Z", "2026-11-20T14:05:00Z"),
        ("@1795183500.25", "2026-11-20T14:05:00.250Z", "2026-11-20T14:05:00.250Z"),
    ] {
        assert_eq!(time(&TimeContext::utc(now()), text), in_utc, "{text}");
        assert_eq!(time(&berlin, text), in_berlin, "{text}");
    }
}

#[test]
fn a_day_is_that_of_the_zone() {
    let tokyo = of("Asia/Tokyo", "2026-11-20T20:00:00Z");
    assert_eq!(time(&tokyo, "today"), "2026-11-20T15:00:00Z", "in Tokyo it is the 21st already");
    assert_eq!(time(&tokyo, "yesterday 04:00"), "2026-11-19T19:00:00Z");
    assert_eq!(time(&tokyo, "04:00"), "2026-11-20T19:00:00Z");
    assert_eq!(time(&tokyo, "06:00"), "2026-11-19T21:00:00Z", "that of the 21st is still to come");
}

/// Clocks that are set forward skip an hour, and clocks that are set back show one twice.
#[test]
fn a_skipped_time_is_later_and_of_a_repeated_one_the_first_is_meant() {
    let after = of("Europe/Berlin", "2026-12-01T12:00:00Z");
    assert_eq!(time(&after, "2026-03-29 01:59"), "2026-03-29T00:59:00Z");
    assert_eq!(time(&after, "2026-03-29 02:30"), "2026-03-29T01:30:00Z", "shown as 03:30");
    assert_eq!(time(&after, "2026-03-29 03:30"), "2026-03-29T01:30:00Z");
    assert_eq!(time(&after, "2026-10-25 02:30"), "2026-10-25T00:30:00Z", "in summer time");
    assert_eq!(time(&after, "2026-10-25 02:30+01:00"), "2026-10-25T01:30:00Z");
    let within = of("Europe/Berlin", "2026-10-25T01:45:00Z");
    assert_eq!(time(&within, "02:30"), "2026-10-25T00:30:00Z", "though 02:30 was shown again since");
    let skipped = of("Europe/Berlin", "2026-03-29T01:10:00Z");
    assert_eq!(time(&skipped, "02:30"), "2026-03-28T01:30:00Z", "that of today is still to come");
    // Midnight itself is skipped here, and the day begins at one.
    let santiago = of("America/Santiago", "2026-12-01T12:00:00Z");
    assert_eq!(time(&santiago, "2026-09-06"), "2026-09-06T04:00:00Z");
    // Samoa skipped a whole day.
    let apia = of("Pacific/Apia", "2011-12-31T12:00:00Z");
    assert_eq!(time(&apia, "2011-12-30 10:00"), "2011-12-30T20:00:00Z");
}

#[test]
fn what_is_not_understood_is_answered_with_what_would_be() {
    let utc = TimeContext::utc(now());
    for text in [
        "",
        "m",
        "5y",
        "soon",
        "tomorrow",
        "2026",
        "T14:05",
        "14",
        "+2h",
        "-2h ago",
        "2h 14:05",
        "1h ago now",
    ] {
        let Err(error) = utc.read(text) else {
            assert!(text == "2026" || text == "14", "{text} is an offset");
            continue;
        };
        assert_eq!(error, format!("invalid time `{text}`: {UNDERSTOOD}"));
    }
    for (text, why) in [
        ("99999999999999999999", "the offset is too large"),
        ("2026-02-30", "there is no date 2026-02-30"),
        ("2026-13-01T00:00:00", "there is no date 2026-13-01"),
        ("25:00", "there is no time of day 25:00"),
        ("14:60", "there is no time of day 14:60"),
        ("14:05 Mars", "unknown time zone `Mars`; "),
        ("14:05pm", "unknown time zone `pm`; "),
        ("2026-11-20 14:05 Europe/Berln", "unknown time zone `Europe/Berln`; did you mean `Europe/Berlin`? "),
        ("@", "use whole or decimal seconds since 1970"),
        ("@-5", "use whole or decimal seconds since 1970"),
        ("@1795183500000", "that is too late for seconds; did you mean `@1795183500`?"),
        ("739945d", "it is outside the years 0001 to 9999"),
        ("18446744073709551615ms ago", "it is outside the years 0001 to 9999"),
        ("0001-01-01T00:00:00+01:00", "it is outside the years 0001 to 9999"),
        ("9999-12-31T23:59:59-01:00", "it is outside the years 0001 to 9999"),
        ("9999-12-31 23:59 -01:00", "it is outside the years 0001 to 9999"),
        ("5 m", "did you mean `5m ago`? "),
        ("2H", "did you mean `2h ago`? "),
        ("2 hours ago", "did you mean `2h ago`? "),
        ("90min", "did you mean `90m ago`? "),
        ("1 day 2 hours ago", "did you mean `1d2h ago`? "),
    ] {
        let error = utc.read(text).expect_err(text);
        assert!(error.starts_with(&format!("invalid time `{text}`: {why}")), "{error}");
    }
    for text in ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "739939d"] {
        assert!(utc.read(text).is_ok(), "{text} is within the years 0001 to 9999");
    }
    let far = TimeContext::utc(Timestamp::from_micros(i64::MAX));
    assert!(far.read("14:05").is_err(), "a clock that is out of bounds is no reason to fail");
}

fn zones() -> impl Strategy<Value = Zone> {
    let names =
        jiff::tz::TimeZoneDatabase::bundled().available().map(|name| name.to_string()).collect::<Vec<_>>();
    prop::sample::select(names).prop_map(|name| Zone::named(&name).expect("a zone"))
}

fn times() -> impl Strategy<Value = At> {
    let micros = -62_000_000_000_000_000_i64..=253_000_000_000_000_000;
    prop_oneof![
        Just(At::Now),
        (0..i64::MAX as u64).prop_map(|offset| At::Offset(Offset::new(offset))),
        micros.prop_map(|micros| At::Time(Timestamp::from_micros(micros))),
        (0..10_000_000_000_000_u64).prop_map(|millis| At::Ago(Duration::from_millis(millis))),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(at in times(), zone in zones()) {
        let context = TimeContext { now: now(), zone };
        prop_assert_eq!(context.read(&at.to_string()), Ok(at));
    }

    /// Printed with the offset of a zone, an instant is read back in every zone; without, in its own, but for what its clocks
    /// show twice: then it is the first of the two. Before 1973 some offsets had seconds, which RFC 3339 cannot write.
    #[test]
    fn an_instant_printed_in_a_zone_is_read_back(
        micros in 200_000_000_000_000_i64..4_000_000_000_000_000,
        zone in zones(),
        other in zones(),
    ) {
        let instant = Timestamp::from_micros(micros);
        let (name, offset) = zone.printed(instant);
        let read = |zone: &Zone, text: &str| {
            TimeContext { now: now(), zone: zone.clone() }.read(text)
        };
        prop_assert_eq!(read(&other, &offset), Ok(At::Time(instant)));
        let without = read(&zone, &name);
        let Ok(At::Time(first)) = without else { return Err(TestCaseError::fail(format!("{name}: {without:?}"))) };
        prop_assert_eq!(zone.printed(first).0, name, "the same is shown");
        prop_assert!(first <= instant);
    }

    #[test]
    fn no_text_makes_it_fail(text in "\\PC{0,40}|[0-9:.@+ -]{0,24}|(today|yesterday|2026-11-20)[T ][0-9:.Z+-]{0,14}") {
        let _ = TimeContext::utc(now()).read(&text);
    }
}
