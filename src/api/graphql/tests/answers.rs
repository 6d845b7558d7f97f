//! What is answered, to whom, and of which moment.

use super::*;

#[test]
fn the_query_of_the_seeds_is_answered_as_it_is_written() {
    let world = Recorded::new();
    let agent = json!({
        "id": "gid://gitlab/Clusters::Agent/3", "name": "open", "project": "group/agents", "kubernetesNamespace": "shop",
    });
    for fields in SEEDS {
        let asked: Vec<_> = fields.split_whitespace().collect();
        let agent: serde_json::Map<_, _> =
            asked.iter().map(|name| ((*name).to_owned(), agent[*name].clone())).collect();
        let expected = json!({ "project": { "id": "gid://gitlab/Project/7", "environment": {
            "slug": "env-environment-name-", "lastDeployment": { "agent": agent },
        }}});
        let mut answer = world.data(&seed(fields, "<environment-name>"));
        let slug = answer["project"]["environment"]["slug"].take();
        assert!(slug.as_str().unwrap().starts_with("env-environment-n"), "{slug}");
        answer["project"]["environment"]["slug"] = json!("env-environment-name-");
        assert_eq!(answer, expected);
    }
}

#[test]
fn members_of_an_answer_stand_in_the_order_in_which_they_were_asked_for() {
    let answer = Recorded::new()
        .data(r#"{ project(fullPath: "group/project") { fullPath a: id fullPath: fullPath } }"#);
    assert_eq!(
        answer.to_string(),
        r#"{"project":{"fullPath":"group/project","a":"gid://gitlab/Project/7"}}"#
    );
}

#[test]
fn all_below_a_project_is_told_for_one_moment() {
    let world = Recorded::new();
    let query = |at: &str| {
        format!(
            r#"{{ project(fullPath: "group/project"{at}) {{
                offset
                environment(name: "production") {{ lastDeployment(status: SUCCESS) {{ sha agent {{ name }} }}
                    deployments {{ nodes {{ sha }} }} }}
            }} }}"#
        )
    };
    let (early, late) = (world.early, world.late);
    let told = |offset: Offset, sha: &str, agent: &str, all: &[&str]| {
        let nodes: Vec<_> = all.iter().map(|sha| json!({ "sha": sha })).collect();
        json!({ "project": { "offset": offset.to_string(), "environment": {
            "lastDeployment": { "sha": sha, "agent": { "name": agent } }, "deployments": { "nodes": nodes },
        }}})
    };
    let now = told(late, "e5", "closed", &["e5", "c3", "b2"]);
    assert_eq!(world.data(&query("")), now);
    assert_eq!(world.data(&query(r#", at: "now""#)), now);
    let then = told(early, "b2", "open", &["c3", "b2"]);
    assert_eq!(world.data(&query(&format!(r#", at: "{early}""#))), then);
    assert_eq!(world.data(&query(r#", at: "0""#)), json!({ "project": null }), "nothing was there");
    for (at, code) in [
        ("tomorrow", "invalid_parameter"),
        ("100000", "future_moment"),
        ("2999-01-01T00:00:00Z", "future_moment"),
    ] {
        let answer = world.ask(&Scope::everything(), &query(&format!(r#", at: "{at}""#)));
        assert_eq!((&answer["data"], codes(&answer)), (&json!({ "project": null }), vec![code]), "{at}");
    }
    let both = r#"{ a: project(fullPath: "group/project") { offset } b: project(fullPath: "group/project", at: "1h") { offset }
        c: project(fullPath: "undeclared/web", at: "0s") { offset } }"#;
    let answer = world.data(both);
    assert_eq!(
        (&answer["a"]["offset"], &answer["c"]["offset"]),
        (&json!(late.to_string()), &json!(late.to_string()))
    );
    assert_eq!(answer["b"], Value::Null, "an hour ago there was nothing");
}

#[test]
fn last_deployments_are_those_that_stand_like_what_is_asked_for() {
    let world = Recorded::new();
    let last = |environment: &str, argument: &str| {
        let query = format!(
            r#"{{ project(fullPath: "group/project") {{ environment(name: "{environment}") {{ lastDeployment{argument} {{ sha status }} }} }} }}"#
        );
        world.data(&query)["project"]["environment"]["lastDeployment"].take()
    };
    assert_eq!(last("production", "(status: SUCCESS)"), json!({ "sha": "e5", "status": "SUCCESS" }));
    assert_eq!(last("production", "(status: FAILED)"), json!({ "sha": "c3", "status": "FAILED" }));
    assert_eq!(last("production", ""), json!({ "sha": "e5", "status": "SUCCESS" }));
    assert_eq!(last("production", "(status: RUNNING)"), Value::Null);
    assert_eq!(last("review/two", "(status: SUCCESS)"), Value::Null);
    let none = r#"{ project(fullPath: "group/project") { environment(name: "review/one") {
        lastDeployment(status: SUCCESS) { id ref tag project createdAt finishedAt agent { id } } } } }"#;
    let number = world.deployments("review/one")[0];
    let expected = json!({
        "id": format!("gid://strandline/Deployment/{number}"), "ref": "main", "tag": false, "project": "group/project",
        "createdAt": null, "finishedAt": null, "agent": null,
    });
    assert_eq!(world.data(none)["project"]["environment"]["lastDeployment"], expected);
}

#[test]
fn environments_are_filtered_and_paged() {
    let world = Recorded::new();
    let names = |arguments: &str| {
        let query = format!(
            r#"{{ project(fullPath: "group/project") {{ environments{arguments} {{ nodes {{ name }} pageInfo {{ hasNextPage endCursor }} }} }} }}"#
        );
        let mut page = world.data(&query)["project"]["environments"].take();
        let names: Vec<_> = page["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["name"].as_str().unwrap().to_owned())
            .collect();
        (names, page["pageInfo"].take())
    };
    let all = ["<environment-name>", "production", "production/EU-region", "review/one", "review/two"];
    assert_eq!(names("").0, all);
    assert_eq!(names("(tier: PRODUCTION)").0, all[1..3]);
    assert_eq!(names("(tier: [PRODUCTION, DEVELOPMENT])").0, all[1..]);
    assert_eq!(names(r#"(search: "eu-R")"#).0, all[2..3]);
    assert_eq!(names(r#"(states: ["stopped"])"#).0, all[..0]);
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let (some, info) = names(&format!(r#"(first: 2, after: "{after}")"#));
        found.extend(some);
        let Some(next) = info["endCursor"].as_str() else {
            assert_eq!(info["hasNextPage"], false);
            break;
        };
        assert_eq!(info["hasNextPage"], true);
        after = next.to_owned();
    }
    assert_eq!(found, all);
    for (arguments, code) in [
        ("(first: 0)", "invalid_parameter"),
        ("(first: 101)", "invalid_parameter"),
        ("(first: -1)", "invalid_parameter"),
        (r#"(states: ["gone"])"#, "invalid_parameter"),
        (r#"(after: "nonsense")"#, "bad_page_token"),
        ("(first: 1.5)", "invalid_query"),
        ("(tier: PROD)", "invalid_query"),
    ] {
        let query = format!(
            r#"{{ project(fullPath: "group/project") {{ environments{arguments} {{ nodes {{ name }} }} }} }}"#
        );
        assert_eq!(codes(&world.ask(&Scope::everything(), &query)), [code], "{arguments}");
    }
}

#[test]
fn an_environment_tells_what_the_rest_api_tells() {
    let world = Recorded::new();
    let query = r#"query ($path: ID!, $name: String!) { project(fullPath: $path) { complete environment(name: $name) {
        id name slug tier state region externalUrl autoStopAt
        health { state lastKnown counts { healthy none } } __typename } } }"#;
    let ask = |path: &str, name: &str| {
        let request = json!({ "query": query, "variables": { "path": path, "name": name } });
        let mut answer = world.request(&Scope::everything(), request);
        assert_eq!(answer["errors"], Value::Null, "{answer}");
        answer["data"]["project"].take()
    };
    let mut expected = json!({
        "id": "gid://gitlab/Environment/41", "name": "production", "slug": "production", "tier": "PRODUCTION",
        "state": "available", "region": null, "externalUrl": null, "autoStopAt": null,
        "health": { "state": null, "lastKnown": null, "counts": { "healthy": 0, "none": 0 } },
        "__typename": "Environment",
    });
    assert_eq!(ask("group/project", "production")["environment"], expected);
    expected["id"] = json!("gid://strandline/Environment/undeclared.web.staging");
    (expected["name"], expected["slug"], expected["tier"]) =
        (json!("staging"), json!("staging"), json!("STAGING"));
    assert_eq!(
        ask("undeclared/web", "staging")["environment"],
        expected,
        "of a project that nobody declares"
    );
    assert_eq!(ask("group/project", "nothing")["environment"], Value::Null);
    assert_eq!(ask("nobody/nothing", "production"), Value::Null);
}

#[test]
fn what_a_caller_may_not_see_is_not_there() {
    let world = Recorded::new();
    let query = r#"{ mine: project(fullPath: "group/project") { id } other: project(fullPath: "undeclared/web") { id } }"#;
    let answer = world.ask(&members(), query);
    assert_eq!(answer, json!({ "data": { "mine": { "id": "gid://gitlab/Project/7" }, "other": null } }));
    let nobody = world.ask(&Scope::projects([]), query);
    assert_eq!(nobody, json!({ "data": { "mine": null, "other": null } }));
}

#[test]
fn an_agent_that_lets_nobody_in_is_told_and_hides_the_health() {
    let world = Recorded::new();
    let query = r#"{ project(fullPath: "group/project") { environment(name: "production") {
        slug health { state } lastDeployment(status: SUCCESS) { agent { name kubernetesNamespace } } } } }"#;
    let mut answer = world.ask(&members(), query);
    assert_eq!(codes(&answer), ["agent_access_denied"]);
    assert_eq!(answer["errors"][0]["path"], json!(["project", "environment", "health"]));
    assert!(
        answer["errors"][0]["message"].as_str().unwrap().starts_with("You don't have access to an agent")
    );
    let expected = json!({
        "slug": "production", "health": null,
        "lastDeployment": { "agent": { "name": "closed", "kubernetesNamespace": "shop" } },
    });
    assert_eq!(answer["data"]["project"]["environment"].take(), expected);
    assert_eq!(codes(&world.ask(&Scope::everything(), query)), [""; 0], "who sees everything is let in");
}

#[test]
fn what_is_no_query_of_the_schema_is_told_with_its_place() {
    let world = Recorded::new();
    let ask = |request: Value| world.request(&Scope::everything(), request);
    for query in [
        "",
        "{",
        "{ nothing }",
        "mutation { stop }",
        "subscription { x }",
        "{ project { id } }",
        "}{",
        "\u{0}",
        "🎈",
    ] {
        let answer = ask(json!({ "query": query }));
        assert_eq!((answer.get("data"), codes(&answer)), (None, vec!["invalid_query"]), "{query}: {answer}");
    }
    let answer = ask(json!({ "query": "{\n  nothing\n}" }));
    assert_eq!(answer["errors"][0]["locations"], json!([{ "line": 2, "column": 3 }]));
    let two = "query a { __typename } query b { x: __typename }";
    assert_eq!(ask(json!({ "query": two, "operationName": "b" })), json!({ "data": { "x": "Query" } }));
    for name in [json!(null), json!("c")] {
        assert_eq!(codes(&ask(json!({ "query": two, "operationName": name }))), ["invalid_query"]);
    }
    let variable = "query ($p: ID!) { project(fullPath: $p) { id } }";
    for variables in [json!(null), json!({}), json!({ "p": null }), json!({ "p": [1] }), json!({ "p": {} })] {
        let answer = ask(json!({ "query": variable, "variables": variables }));
        assert_eq!(codes(&answer), ["invalid_query"], "{variables}: {answer}");
    }
    let more =
        json!({ "query": variable, "variables": { "p": "group/project", "q": 1 }, "extensions": { "x": 1 } });
    assert_eq!(codes(&ask(more)), [""; 0]);
}

#[test]
fn lists_have_edges_with_cursors_and_count_all_pages() {
    let world = Recorded::new();
    let query = |arguments: &str| {
        format!(
            r#"{{ project(fullPath: "group/project") {{ environment(name: "production") {{ deployments{arguments} {{
                count nodes {{ sha }} edges {{ cursor node {{ sha }} }} pageInfo {{ hasNextPage endCursor }} }} }} }} }}"#
        )
    };
    let of = |arguments: &str| world.data(&query(arguments))["project"]["environment"]["deployments"].take();
    let all = of("");
    assert_eq!((&all["count"], &all["nodes"][2]["sha"]), (&json!(3), &json!("b2")), "{all}");
    let shas = |list: &serde_json::Value| -> Vec<_> {
        list["edges"].as_array().into_iter().flatten().map(|edge| edge["node"].clone()).collect()
    };
    assert_eq!(json!(shas(&all)), all["nodes"]);
    // Behind each of them goes on what stands behind it, and the count is of all.
    for (place, edge) in all["edges"].as_array().unwrap().iter().enumerate() {
        let after = edge["cursor"].as_str().unwrap();
        let rest = of(&format!(r#"(after: "{after}")"#));
        assert_eq!((shas(&rest), &rest["count"]), (shas(&all)[place + 1..].to_vec(), &json!(3)), "{place}");
    }
    let first = of("(first: 1)");
    assert_eq!(first["pageInfo"]["endCursor"], first["edges"][0]["cursor"]);
    assert_eq!(
        (&first["count"], of("(statuses: [SUCCESS], first: 1)")["count"] != json!(0)),
        (&json!(3), true)
    );
    let environments = r#"{ project(fullPath: "group/project") { environments(first: 1) { count edges { cursor node { name } }
        pageInfo { endCursor } } some: environments(search: "prod") { count nodes { name } } } }"#;
    let told = world.data(environments);
    let (page, some) = (&told["project"]["environments"], &told["project"]["some"]);
    assert_eq!(page["pageInfo"]["endCursor"], page["edges"][0]["cursor"]);
    assert!(page["count"].as_i64() > Some(1), "{told}");
    assert_eq!(some["count"], json!(some["nodes"].as_array().unwrap().len()), "{told}");
}
