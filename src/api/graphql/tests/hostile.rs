//! Queries that mean harm, and that the schema can be learned all the same.

use juniper::{IntrospectionFormat, introspect};

use super::super::{cost, objects::PAGE};
use super::*;

/// Answered with this code, and nothing else.
fn refused(world: &Recorded, query: &str, code: &str) {
    let answer = world.ask(&Scope::everything(), query);
    let told = || answer.to_string().chars().take(600).collect::<String>();
    assert_eq!(answer.get("data"), None, "{}", told());
    let codes = codes(&answer);
    assert!(!codes.is_empty() && codes.iter().all(|found| *found == code), "{}", told());
    assert!(answer.to_string().len() < 200_000, "the answer is as large as the attack");
}

#[test]
fn queries_that_mean_harm_are_refused_before_anything_is_read() {
    let world = Recorded::new();
    let nested = |open: &str, close: &str, times: usize| open.repeat(times) + &close.repeat(times);
    let too_large = [
        nested("{a", "}", 20_000),
        format!(r#"{{ project(fullPath: {}) {{ id }} }}"#, nested("[", "]", 20_000)),
        format!(r#"{{ project(fullPath: {}) {{ id }} }}"#, nested("{a:", "}", 20_000)),
        format!("query ($x: {}) {{ __typename }}", nested("[", "]", 20_000)),
        format!("{{ {} }}", nested("... {", "}", 30)),
        format!("{{ {} }}", "__typename ".repeat(10_000)),
        format!("{{ {} }}", (0..1_000).map(|n| format!("a{n}: __typename ")).collect::<String>()),
        (0..1_000)
            .fold("{".to_owned(), |text, n| text + &format!(r#"a{n}: project(fullPath: "x") {{ id }}"#))
            + "}",
        "\"".repeat(900_000),
        doubling(60),
    ];
    for query in too_large {
        refused(&world, &query, "query_too_large");
    }
    let invalid = [
        "{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }".to_owned(),
        "{ ...nobody }".to_owned(),
        format!(r#"{{ project(fullPath: "{}"#, "a".repeat(900_000)),
        format!("{{ {} }}", "x".repeat(900_000)),
        format!("{{ {} }}", (0..400).map(|n| format!("a{n} ")).collect::<String>()),
        "#".repeat(900_000),
    ];
    for query in invalid {
        refused(&world, &query, "invalid_query");
    }
}

/// Fragments of which each spreads the next one twice.
fn doubling(times: usize) -> String {
    let fragment =
        |n: usize| format!("fragment f{n} on Query {{ a: __typename ...f{m} ...f{m} }} ", m = n + 1);
    let chain: String = (0..times).map(fragment).collect();
    format!("{{ ...f0 }} {chain} fragment f{times} on Query {{ __typename }}")
}

#[test]
fn doubling_fragments_that_end_before_the_limit_of_depth_are_refused_too() {
    refused(&Recorded::new(), &doubling(15), "query_too_large");
}

#[test]
fn lists_within_lists_cost_what_they_could_tell() {
    let world = Recorded::new();
    let query = |first: &str, fields: &str| {
        let variable = if first.contains('$') { "query ($n: Int = 1)" } else { "" };
        format!(
            r#"{variable} {{ project(fullPath: "group/project") {{ environments{first} {{ nodes {{
            name deployments{first} {{ nodes {{ {fields} }} }} }} }} }} }}"#
        )
    };
    let wide: String = (0..60).map(|n| format!("a{n}: sha ")).collect();
    refused(&world, &query("", &wide), "query_too_large");
    let costs = |query: &str, variables: Value| {
        let answer = world.request(&Scope::everything(), json!({ "query": query, "variables": variables }));
        codes(&answer) == ["query_too_large"]
    };
    let by_variable = query("(first: $n)", &wide);
    world.data(&by_variable);
    assert!(costs(&by_variable, json!({ "n": 100 })) && !costs(&by_variable, json!({ "n": 5 })));
    let without_default = by_variable.replace(" = 1", "");
    refused(&world, &without_default, "query_too_large");
    assert!(costs(&without_default, json!({ "n": null })) && !costs(&without_default, json!({ "n": 5 })));
    refused(&world, &query("(first: 1000000)", &wide), "query_too_large");
    world.data(&query("(first: 5)", &wide));
    world.data(&query("", "id sha status agent { name }"));
    world.data(&query("(first: $n)", "id sha ref"));
    // An answer within the cost tells no more values than it.
    let schema = &crate::api::graphql::schema::SCHEMA;
    let none = juniper::Variables::new();
    let one = |first: i32| cost::of(&query(&format!("(first: {first})"), "id sha"), &none, schema);
    assert!(one(2) > one(1) && one(PAGE) == one(PAGE + 1) && one(PAGE) < cost::MAX);
}

#[test]
fn introspection_that_goes_round_is_refused() {
    let world = Recorded::new();
    let round = |times: usize| {
        format!(
            "{{ __schema {{ types {{ {} name {} }} }} }}",
            "fields { type { ".repeat(times),
            "} } ".repeat(times)
        )
    };
    world.data(&round(1));
    world.data(&round(2));
    for times in [5, 7, 8, 100] {
        refused(&world, &round(times), "query_too_large");
    }
    let aliased: String = (0..100).map(|n| format!("a{n}: types {{ fields {{ name }} }} ")).collect();
    world.data(&format!("{{ __schema {{ {aliased} }} }}"));
    let aliased: String =
        (0..100).map(|n| format!("a{n}: types {{ fields {{ type {{ fields {{ name }} }} }} }} ")).collect();
    refused(&world, &format!("{{ __schema {{ {aliased} }} }}"), "query_too_large");
}

#[test]
fn tools_learn_the_schema_and_its_lists_are_as_long_as_the_cost_takes_them_for() {
    let schema = &crate::api::graphql::schema::SCHEMA;
    let asker = Asker::new(Recorded::new().queries, Scope::everything(), Timestamp::default());
    let (told, errors) = introspect(schema, &asker, IntrospectionFormat::All).unwrap();
    assert!(errors.is_empty());
    let told = json!(told);
    let types = told["__schema"]["types"].as_array().unwrap();
    let names: Vec<_> = types.iter().map(|one| one["name"].as_str().unwrap()).collect();
    for name in ["Query", "Project", "Environment", "Deployment", "Agent", "DeploymentStatus", "Time"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert_eq!(
        (&told["__schema"]["mutationType"], &told["__schema"]["subscriptionType"]),
        (&Value::Null, &Value::Null)
    );
    let agent = types.iter().find(|one| one["name"] == "Agent").unwrap();
    let project =
        agent["fields"].as_array().unwrap().iter().find(|field| field["name"] == "project").unwrap();
    assert!(
        project["description"].as_str().unwrap().contains("an object"),
        "it says how it differs from GitLab's"
    );
    for (list, most) in cost::INTROSPECTED {
        assert!(longest(&told, list) <= most, "{list}: {} of at most {most}", longest(&told, list));
    }
}

/// The length of the longest list of this name.
fn longest(value: &Value, list: &str) -> u64 {
    match value {
        Value::Object(members) => {
            let own = |(name, member): (&String, &Value)| {
                let length = if name == list { member.as_array().map_or(0, Vec::len) as u64 } else { 0 };
                length.max(longest(member, list))
            };
            members.iter().map(own).max().unwrap_or(0)
        }
        Value::Array(items) => items.iter().map(|item| longest(item, list)).max().unwrap_or(0),
        _ => 0,
    }
}

#[test]
fn what_tools_ask_to_learn_the_schema_is_within_the_limits() {
    let world = Recorded::new();
    let reference = (0..9).fold("kind name".to_owned(), |inner, _| format!("kind name ofType {{ {inner} }}"));
    let query = format!(
        "query IntrospectionQuery {{ __schema {{ queryType {{ name }} mutationType {{ name }} subscriptionType {{ name }}
            types {{ ...FullType }} directives {{ name description isRepeatable locations args(includeDeprecated: true) {{ ...InputValue }} }} }} }}
        fragment FullType on __Type {{ kind name description specifiedByURL isOneOf
            fields(includeDeprecated: true) {{ name description args(includeDeprecated: true) {{ ...InputValue }} type {{ ...TypeRef }} isDeprecated deprecationReason }}
            inputFields(includeDeprecated: true) {{ ...InputValue }} interfaces {{ ...TypeRef }}
            enumValues(includeDeprecated: true) {{ name description isDeprecated deprecationReason }} possibleTypes {{ ...TypeRef }} }}
        fragment InputValue on __InputValue {{ name description type {{ ...TypeRef }} defaultValue isDeprecated deprecationReason }}
        fragment TypeRef on __Type {{ {reference} }}"
    );
    world.data(&query);
    let cost = cost::of(&query, &juniper::Variables::new(), &crate::api::graphql::schema::SCHEMA);
    assert!((cost::MAX / 4..cost::MAX).contains(&cost), "{cost}");
}
