use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;

/// Any JSON, with the names and shapes that lists are told apart by.
fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0_u8..4).prop_map(Value::from),
        "[ab~/é\n]{0,3}".prop_map(Value::from),
    ];
    let name = prop_oneof![
        "(name|type|port|containers|ports|initContainers|finalizers|metadata|spec|status|resourceVersion|env)",
        "[ab/~*\\[\\].0]{0,3}",
    ];
    leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|all| Value::Object(all.into_iter().collect())),
        ]
    })
}

/// Something like a workload, of few names, so that two of them have much in common.
fn object() -> impl Strategy<Value = Value> {
    let named = || prop::collection::vec(("[abcd]", 0_u8..3), 0..4);
    let parts = (named(), named(), named(), prop::collection::vec("[abc]", 0..4), 0_u8..3, 0_u8..3, named());
    parts.prop_map(|(containers, env, ports, args, replicas, version, labels)| {
        let env = unique(&env, |name, n| json!({"name": name, "value": n.to_string()}));
        let ports: Vec<Value> = ports.iter().map(|(_, n)| json!({"containerPort": n, "protocol": "TCP"})).collect();
        let containers = unique(&containers, |name, n| {
            json!({"name": name, "image": format!("{name}:{n}"), "env": env, "ports": ports, "args": args})
        });
        let labels: Map<String, Value> = labels.iter().map(|(name, n)| (name.clone(), n.to_string().into())).collect();
        json!({
            "metadata": {"resourceVersion": version.to_string(), "labels": labels, "finalizers": args},
            "spec": {"replicas": replicas, "template": {"spec": {"containers": containers, "initContainers": containers}}},
            "status": {"observedGeneration": version, "replicas": replicas},
        })
    })
}

fn unique(all: &[(String, u8)], make: impl Fn(&str, u8) -> Value) -> Vec<Value> {
    let first = |place: &usize| all[..*place].iter().all(|(name, _)| *name != all[*place].0);
    (0..all.len()).filter(first).map(|place| make(&all[place].0, all[place].1)).collect()
}

fn applied(operations: &[Operation], state: &Value) -> Result<Value, TestCaseError> {
    let failed = |error: String| TestCaseError::fail(error);
    let patch = serde_json::to_value(operations).map_err(|error| failed(error.to_string()))?;
    let patch: json_patch::Patch =
        serde_json::from_value(patch).map_err(|error| failed(error.to_string()))?;
    let mut state = state.clone();
    json_patch::patch(&mut state, &patch).map_err(|error| failed(error.to_string()))?;
    Ok(state)
}

/// A lens that hides some of what objects have.
fn lens() -> impl Strategy<Value = Lens> {
    let classes = prop::collection::vec(prop::sample::select(Class::ALL.to_vec()), 0..4);
    let rules = [
        "spec.replicas",
        "**.image",
        "spec.template.spec.containers[name=a]",
        "**.args",
        "**.args[0]",
        "metadata.labels[*]",
        "**.env[*].value",
        "**.initContainers",
    ];
    let rules = prop::collection::vec(prop::sample::select(rules.to_vec()), 0..3);
    (classes, rules).prop_map(|(classes, rules)| {
        Lens::new(Between::Versions, &classes).ignoring(rules.iter().filter_map(|rule| rule.parse().ok()))
    })
}

proptest! {
    #[test]
    fn a_patch_makes_one_the_other(one in tree(), other in tree()) {
        let whole = Lens::whole();
        let operations = patch(&deployment(), Some(&one), Some(&other), &whole);
        prop_assert_eq!(applied(&operations, &one)?, other);
    }

    #[test]
    fn a_patch_makes_one_object_the_other(one in object(), other in object()) {
        let whole = Lens::whole();
        let operations = patch(&deployment(), Some(&one), Some(&other), &whole);
        prop_assert_eq!(applied(&operations, &one)?, other);
    }

    #[test]
    fn nothing_differs_from_itself(one in tree(), lens in lens()) {
        let found = differences(&one, &one, &lens);
        prop_assert_eq!(found, Comparison::default());
        prop_assert!(patch(&deployment(), Some(&one), Some(&one), &lens).is_empty());
    }

    #[test]
    fn whatever_differs_is_told_or_only_stands_elsewhere(one in tree(), other in tree()) {
        let found = differences(&one, &other, &Lens::whole());
        prop_assert_eq!(found.is_empty(), differences(&other, &one, &Lens::whole()).is_empty());
        if one == other {
            prop_assert!(found.is_empty());
        }
        for difference in &found.differences {
            let at = |state: &Value| state.pointer(&difference.pointer).cloned();
            match difference.change {
                DifferenceType::Added | DifferenceType::Changed => prop_assert_eq!(at(&other), difference.after.clone()),
                DifferenceType::Removed => prop_assert_eq!(at(&one), difference.before.clone()),
                DifferenceType::Moved => prop_assert!(at(&other).is_some()),
            }
        }
    }

    #[test]
    fn swapped_states_have_swapped_differences(one in object(), other in object()) {
        let swap = |mut found: Comparison| {
            for difference in &mut found.differences {
                std::mem::swap(&mut difference.before, &mut difference.after);
                difference.change = match difference.change {
                    DifferenceType::Added => DifferenceType::Removed,
                    DifferenceType::Removed => DifferenceType::Added,
                    same => same,
                };
            }
            found
        };
        // Of what moved either may be said to have done so, and elements without a name are called by their place.
        let lens = Lens::whole().ignoring(["**.args", "**.ports"].iter().filter_map(|rule| rule.parse().ok()));
        let key = |found: Comparison| {
            let named = found.differences.into_iter().filter(|difference| difference.change != DifferenceType::Moved);
            let named = named.filter(|difference| !difference.path.contains("finalizers"));
            let mut all: Vec<String> = named
                .map(|d| format!("{} {:?} {:?} {:?}", d.path, d.change, d.before, d.after))
                .collect();
            all.sort();
            all
        };
        prop_assert_eq!(key(differences(&one, &other, &lens)), key(swap(differences(&other, &one, &lens))));
    }

    #[test]
    fn a_patch_through_a_lens_leaves_only_what_it_hides(one in object(), other in object(), lens in lens()) {
        let operations = patch(&deployment(), Some(&one), Some(&other), &lens);
        let made = applied(&operations, &one)?;
        let rest: Vec<String> = told(&differences(&made, &other, &lens));
        let rest: Vec<&String> = rest.iter().filter(|line| !line.starts_with('>')).collect();
        // A list of which an element is hidden by its place can only be told place by place.
        if !rest.iter().all(|line| line.contains("args") || line.contains("finalizers")) {
            prop_assert!(rest.is_empty(), "{rest:?}\n{made}\n{other}");
        }
    }
}
