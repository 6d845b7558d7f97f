//! Images and fields over time.

use serde_json::Value;

use super::address::below;
use super::answers::{parameters, print_list};
use super::args::{HistoryArgs, ImagesArgs};
use super::error::CliError;
use super::query::Add;
use super::table::Cell;
use super::views::Listed;
use crate::format::{age, clock_time, workload_names};
use strandline_model::Timestamp;
use strandline_protocol::{FieldValue, ImageUse, VersionChange};

/// Lists which environments have which images.
pub(super) async fn list(args: &ImagesArgs) -> Result<(), CliError> {
    let query = parameters(&args.list.server)
        .add("image", args.image.as_slice())
        .add("environment", args.within.as_slice())
        .add("tier", &args.tier)
        .add("region", &args.region)
        .add_of("--since", "from", args.since.as_slice())
        .add_of("--until", "to", args.until.as_slice());
    print_list::<ImageUse>("images", "/api/v1/images", query, &args.list).await
}

/// Lists the values that fields of a resource took.
pub(super) async fn fields(args: &HistoryArgs) -> Result<(), CliError> {
    let (path, cluster) = below(&args.resource, &args.place, &args.list.server, "fields").await?;
    let query = parameters(&args.list.server).add("cluster", cluster.as_slice()).add("field", &args.field);
    print_list::<FieldValue>("values", &path, query, &args.list).await
}

impl Listed for ImageUse {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) = (
        &["IMAGE", "ENVIRONMENT", "SINCE", "UNTIL", "PODS", "WORKLOADS"],
        &["TIER", "REGION", "TIMES", "FIRST", "DIGESTS"],
    );

    fn cells(&self, now: Timestamp) -> Vec<Cell> {
        let newest = self.intervals.first();
        let until = newest.map(|newest| newest.until.map_or_else(|| "-".into(), clock_time));
        let workloads = workload_names(&self.workloads);
        let more = self.workloads_total.saturating_sub(self.workloads.len() as u64);
        let more = if more > 0 { format!(", … {more} more") } else { String::new() };
        let first = self.intervals.last().map(|first| age(first.from, now));
        vec![
            Cell::text(&self.short),
            Cell::text(self.environment.as_str()),
            Cell::text(newest.map(|newest| clock_time(newest.from)).unwrap_or_default()),
            Cell::text(until.unwrap_or_default()),
            Cell::text(self.pods.to_string()),
            Cell::text(workloads.join(", ") + &more),
            Cell::text(self.tier.as_str()),
            Cell::text(&self.region),
            Cell::text(self.intervals_total.to_string()),
            Cell::text(first.unwrap_or_default()),
            Cell::text(self.digests.join(",")),
        ]
    }

    fn name(&self) -> String {
        format!("environment/{}", self.environment)
    }
}

impl Listed for FieldValue {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) =
        (&["FROM", "UNTIL", "FIELD", "VALUE", "CHANGED-BY"], &["OPERATION", "OFFSET"]);

    fn cells(&self, _: Timestamp) -> Vec<Cell> {
        let by = self.changed_by.as_ref();
        vec![
            Cell::text(clock_time(self.from)),
            Cell::text(self.until.map_or_else(|| "-".into(), clock_time)),
            Cell::text(&self.field),
            Cell::text(value(self)),
            Cell::text(by.map_or("", |by| by.manager.as_str())),
            Cell::text(by.map_or("", |by| by.operation.as_str())),
            Cell::text(self.offset.to_string()),
        ]
    }

    fn name(&self) -> String {
        format!("{}={}", self.field, value(self))
    }
}

/// A text as it is, anything else as JSON; several values with commas.
fn value(of: &FieldValue) -> String {
    let one = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match of.change {
        VersionChange::Deleted => "<deleted>".into(),
        VersionChange::Applied => of.values.iter().map(one).collect::<Vec<_>>().join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::super::output::Paint;
    use super::super::views::table;
    use super::*;
    use crate::format::tests::{NOON, image_use};
    use serde_json::json;
    use strandline_model::Offset;

    #[test]
    fn images_say_where_they_are_since_when_and_in_what() {
        let gone = |mut one: ImageUse| {
            one.intervals[0].until = Some(NOON);
            (one.pods, one.workloads_total) = (0, 7);
            one
        };
        assert_eq!(
            table(&[image_use("nginx:1.27"), gone(image_use("nginx:1.26"))], false, NOON).render(Paint(false), true),
            "\
IMAGE        ENVIRONMENT           SINCE                     UNTIL                     PODS   WORKLOADS
nginx:1.27   shop.web.production   2026-11-20 11:00:00 UTC   -                         3      Deployment/web
nginx:1.26   shop.web.production   2026-11-20 11:00:00 UTC   2026-11-20 12:00:00 UTC   0      Deployment/web, … 6 more
"
        );
    }

    #[test]
    fn values_are_told_as_people_write_them() {
        let one = |values: Value, change, until| FieldValue {
            id: String::new(),
            field: "spec.x".into(),
            values: values.as_array().cloned().unwrap_or_default(),
            change,
            from: NOON,
            until,
            offset: Offset::new(7),
            changed_by: None,
        };
        let items = [
            one(json!([]), VersionChange::Deleted, None),
            one(json!([3]), VersionChange::Applied, Some(NOON)),
            one(json!(["a b", {"c": null}]), VersionChange::Applied, Some(NOON)),
            one(json!([]), VersionChange::Applied, Some(NOON)),
        ];
        assert_eq!(
            table(&items, false, NOON).render(Paint(false), true),
            "\
FROM                      UNTIL                     FIELD    VALUE            CHANGED-BY
2026-11-20 12:00:00 UTC   -                         spec.x   <deleted>        <none>
2026-11-20 12:00:00 UTC   2026-11-20 12:00:00 UTC   spec.x   3                <none>
2026-11-20 12:00:00 UTC   2026-11-20 12:00:00 UTC   spec.x   a b,{\"c\":null}   <none>
2026-11-20 12:00:00 UTC   2026-11-20 12:00:00 UTC   spec.x   <none>           <none>
"
        );
    }
}
