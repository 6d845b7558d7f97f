//! Images over time against a fold of what was recorded.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use strandline_model::Offset;
use strandline_syntax::Image;

const IMAGES: [&str; 4] = ["nginx:1.26", "nginx:1.27", "x.io/shop/web:1", "x.io/shop/web:2"];

/// A body with containers of these images.
fn body(kind: &str, name: &str, app: &str, images: &[&str], version: usize) -> Value {
    let containers: Vec<_> =
        images.iter().enumerate().map(|(n, image)| json!({"name": n.to_string(), "image": image})).collect();
    let pod = json!({"containers": containers});
    let spec = if kind == "Pod" { pod } else { json!({"template": {"spec": pod}}) };
    let version_of = if kind == "Pod" { "v1" } else { "apps/v1" };
    json!({"apiVersion": version_of, "kind": kind, "spec": spec, "status": {"observedGeneration": version},
        "metadata": {"name": name, "namespace": "shop", "uid": format!("shop-{name}"), "labels": {"app": app}}})
}

/// One step: a Pod takes images, a label and a health, or ends.
#[derive(Clone, Debug)]
enum Step {
    Apply { pod: usize, app: &'static str, images: Vec<&'static str>, ready: bool },
    Delete { pod: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let apps = prop::sample::select(vec!["web", "db", "other"]);
    let images = prop::sample::subsequence(IMAGES.to_vec(), 0..3);
    let apply = (0..4_usize, apps, images, any::<bool>()).prop_map(|(pod, app, images, ready)| Step::Apply {
        pod,
        app,
        images,
        ready,
    });
    let step = prop_oneof![5 => apply, 1 => (0..4_usize).prop_map(|pod| Step::Delete { pod })];
    prop::collection::vec(step, 1..40)
}

/// In how many Pods an environment has an image, by both.
type Had = BTreeMap<(String, String), usize>;

/// From which offset to which each environment had each image.
type Intervals = BTreeMap<(String, String), Vec<(u64, Option<u64>)>>;

/// The intervals that meet a span, as the offset `at` tells them.
fn intervals(had: &[Had], at: usize, (from, to): (usize, usize)) -> Intervals {
    let mut all = Intervals::new();
    for (offset, now) in (0..).zip(&had[..=at]) {
        for place in now.keys() {
            let intervals = all.entry(place.clone()).or_default();
            match intervals.last_mut() {
                Some((_, until)) if *until == Some(offset) => *until = Some(offset + 1),
                _ => intervals.push((offset, Some(offset + 1))),
            }
        }
    }
    for intervals in all.values_mut() {
        intervals
            .retain(|(began, until)| *began <= to as u64 && until.is_none_or(|until| until > from as u64));
        if let Some((_, until)) = intervals.last_mut() {
            *until = until.filter(|until| *until <= at as u64);
        }
    }
    all.retain(|_, intervals| !intervals.is_empty());
    all
}

/// The same as answers tell it.
fn told(found: &[ImageUse]) -> Intervals {
    let intervals = |one: &ImageUse| {
        let each = one.intervals.iter().rev();
        each.map(|i| (i.from_offset.get(), i.until_offset.map(Offset::get))).collect::<Vec<_>>()
    };
    found.iter().map(|one| (place(one), intervals(one))).collect()
}

/// Plays steps, and tells after each offset which environment had which image in how many Pods.
fn play(steps: &[Step]) -> (World, Vec<Had>) {
    let world = World::new([Event::Declare(environments())]);
    let appender = world.write();
    let mut pods: BTreeMap<usize, (&str, Vec<&str>)> = BTreeMap::new();
    let mut had = vec![BTreeMap::new(); usize::try_from(world.head().get()).unwrap() + 1];
    for (version, step) in (1..).zip(steps) {
        block_on(async {
            match step {
                Step::Apply { pod, app, images, ready } => {
                    let name = format!("pod-{pod}");
                    let mut body = body("Pod", &name, app, images, version);
                    body["status"]["phase"] = json!("Running");
                    body["status"]["conditions"] =
                        json!([{"type": "Ready", "status": if *ready { "True" } else { "False" }}]);
                    let uid = format!("shop-{name}");
                    observe(&appender, "east", observation("shop", &name, &uid, version as u64, &body)).await;
                    pods.insert(*pod, (*app, images.clone()));
                }
                Step::Delete { pod } => {
                    let thing = Thing::pod("east", "shop", &format!("pod-{pod}"));
                    end(&appender, &thing).await;
                    pods.remove(pod);
                }
            }
        });
        let mut now = BTreeMap::new();
        for (app, images) in pods.values().filter(|(app, _)| *app != "other") {
            for image in images {
                let place = (Image::parse(image).unwrap().name(), format!("shop.{app}.production"));
                *now.entry(place).or_default() += 1;
            }
        }
        let head = usize::try_from(world.head().get()).unwrap();
        had.resize(head, had.last().cloned().unwrap_or_default());
        had.push(now);
    }
    drop(appender);
    world.project();
    (world, had)
}

fn ask(world: &World, scope: &Scope, at: At, filter: &ImageFilter, limit: usize) -> Vec<ImageUse> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = PageRequest { limit, after: after.take() };
        let page = block_on(world.queries.ask(scope, at, ListImages::new(filter, &page))).unwrap();
        found.extend(page.items);
        after = page.metadata.next;
        if after.is_none() {
            return found;
        }
    }
}

fn place(one: &ImageUse) -> (String, String) {
    (one.image.clone(), one.environment.to_string())
}

proptest! {
    #![proptest_config(strandline_testkit::cases(24))]

    #[test]
    fn images_over_time_are_what_a_fold_gives(steps in steps()) {
        let (world, had) = play(&steps);
        let (all, last) = (Scope::everything(), had.len() - 1);
        for (offset, expected) in had.iter().enumerate().skip(last.saturating_sub(12)) {
            let at = At::Offset(Offset::new(offset as u64));
            let found = ask(&world, &all, at, &ImageFilter::default(), 2);
            let found: BTreeMap<_, _> = found.iter().map(|one| (place(one), one.pods as usize)).collect();
            prop_assert_eq!(&found, expected, "at {}", offset);
        }
        // In any span, each image of each environment with its intervals, which may begin before the span and end after it.
        let at = At::Offset(Offset::new(last as u64));
        let offset = |offset: usize| Some(At::Offset(Offset::new(offset as u64)));
        for (from, to) in [(0, last), (last, last), (last / 2, last / 2), (last / 3, 2 * last / 3)] {
            let span = ImageFilter { from: offset(from), to: offset(to), ..ImageFilter::default() };
            let found = told(&ask(&world, &all, at, &span, 3));
            prop_assert_eq!(&found, &intervals(&had, last, (from, to)), "from {} to {}", from, to);
            let now = told(&ask(&world, &all, At::Offset(Offset::new(to as u64)), &ImageFilter::default(), 3));
            prop_assert_eq!(&now, &intervals(&had, to, (to, to)), "at {}", to);
        }
        let span = ImageFilter { from: offset(0), ..ImageFilter::default() };
        let found = told(&ask(&world, &all, at, &span, 3));
        // A scope has what it may read.
        let scope = Scope::projects(["shop/web".to_owned()]);
        let ours: Vec<_> = ask(&world, &scope, at, &span, 100).iter().map(place).collect();
        let theirs: Vec<_> = found.keys().filter(|(_, id)| id == "shop.web.production").cloned().collect();
        prop_assert_eq!(&ours, &theirs);
        // And finds it by a part of its name.
        for word in ["nginx", "shop/web"] {
            let search = Search::new(word.parse().unwrap(), &[SearchType::Images], 10);
            let images = block_on(world.queries.ask(&scope, at, search)).unwrap().value.images.unwrap();
            let found: BTreeMap<_, _> =
                images.items.into_iter().map(|hit| (hit.item.id, hit.item.in_use)).collect();
            let named = ours.iter().filter(|(id, _)| id.contains(word));
            let expected: BTreeMap<_, _> =
                named.map(|place| (place.0.clone(), had[last].contains_key(place))).collect();
            prop_assert_eq!(found, expected, "{}", word);
        }
        // The same after the view was built anew.
        let before = ask(&world, &all, at, &span, 100);
        world.rebuild();
        prop_assert_eq!(ask(&world, &all, at, &span, 100), before);
    }
}

#[test]
fn images_are_asked_for_by_name_place_and_time() {
    let steps = [
        Step::Apply { pod: 0, app: "web", images: vec!["nginx:1.26", "x.io/shop/web:1"], ready: true },
        Step::Apply { pod: 1, app: "db", images: vec!["nginx:1.26"], ready: true },
        Step::Apply { pod: 0, app: "web", images: vec!["nginx:1.27", "x.io/shop/web:1"], ready: true },
    ];
    let (world, _) = play(&steps);
    let all = Scope::everything();
    let find = |images: &str, filter: ImageFilter| {
        let images = images.split_terminator(' ').map(|image| image.parse().unwrap()).collect();
        let filter = ImageFilter { images, ..filter };
        ask(&world, &all, At::Now, &filter, 100)
            .iter()
            .map(|one| format!("{} {}", one.short, one.environment))
            .collect::<Vec<_>>()
    };
    let any = ImageFilter::default;
    let past = || ImageFilter { from: Some(At::Offset(Offset::ZERO)), ..any() };
    let (web, db) = ("shop.web.production", "shop.db.production");
    assert_eq!(find("nginx", any()), [format!("nginx:1.26 {db}"), format!("nginx:1.27 {web}")]);
    assert_eq!(find("nginx:1.26", any()), [format!("nginx:1.26 {db}")]);
    assert_eq!(find("nginx:1.26", past()), [format!("nginx:1.26 {db}"), format!("nginx:1.26 {web}")]);
    assert_eq!(find("**/web x.io/none", any()), [format!("x.io/shop/web:1 {web}")]);
    let here = ImageFilter { environment: Some(EnvironmentId::new(web)), ..any() };
    assert_eq!(find("", here), [format!("nginx:1.27 {web}"), format!("x.io/shop/web:1 {web}")]);
    assert_eq!(find("", ImageFilter { regions: vec!["us".into()], ..any() }), [""; 0]);
    assert_eq!(find("", ImageFilter { tiers: vec![Tier::Production], ..any() }).len(), 3);
    let nowhere = ImageFilter { environment: Some(EnvironmentId::new("nobody")), ..any() };
    let refused = block_on(world.queries.ask(&all, At::Now, ListImages::new(&nowhere, &whole())));
    assert!(matches!(refused, Err(QueryError::NotFound { gone: None, .. })), "{refused:?}");
    let beyond = ImageFilter { to: Some(At::Offset(world.head())), ..any() };
    let refused =
        block_on(world.queries.ask(&all, At::Offset(Offset::new(1)), ListImages::new(&beyond, &whole())));
    let Err(QueryError::GivenBy { parameter: "to", error }) = refused else { panic!("{refused:?}") };
    assert!(matches!(*error, QueryError::FutureOffset { .. }), "{error:?}");
}

#[test]
fn digests_of_a_tag_stand_together_and_workloads_above_their_pods() {
    let world = World::new([Event::Declare(environments())]);
    let appender = world.write();
    let digest = format!("sha256:{}", "a".repeat(64));
    block_on(async {
        let deployment = body("Deployment", "web", "web", &["x.io/web:1"], 1);
        observe(&appender, "east", observation("shop", "web", "shop-web", 1, &deployment)).await;
        for (version, image_id) in [(2, String::new()), (3, format!("x.io/web@{digest}"))] {
            let mut pod = body("Pod", "web-0", "web", &["x.io/web:1"], version);
            pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "shop-web", "controller": true}]);
            pod["status"]["containerStatuses"] = json!([{"name": "0", "imageID": image_id}]);
            observe(&appender, "east", observation("shop", "web-0", "shop-web-0", version as u64, &pod))
                .await;
        }
    });
    drop(appender);
    world.project();
    let all = Scope::everything();
    let found = ask(&world, &all, At::Now, &ImageFilter::default(), 100);
    let [one] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((one.pods, &one.digests, one.intervals.len()), (1, &vec![digest], 1), "{one:?}");
    let workloads: Vec<_> = one.workloads.iter().map(|workload| workload.key.name.as_str()).collect();
    assert_eq!((workloads, one.workloads_total), (vec!["web"], 1));
    // In a span, the same tag before its digest was known is the same use.
    let span = ImageFilter { from: Some(At::Offset(Offset::ZERO)), ..ImageFilter::default() };
    let over = ask(&world, &all, At::Now, &span, 100);
    assert_eq!((over.len(), over[0].intervals.len(), over[0].pods), (1, 1, 1), "{over:?}");
}
