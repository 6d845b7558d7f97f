//! What is understood and what is refused.

use super::*;
use clap::CommandFactory;

#[test]
fn the_definitions_hold_together() {
    Cli::command().debug_assert();
}

#[test]
fn names_are_understood_as_they_are_printed() {
    let parsed =
        |line: String| format!("{:?}", Cli::try_parse_from(line.split(' ')).expect("a command").command);
    for command in [
        "why ID",
        "tree ID",
        "onset ID",
        "health ID",
        "timeline ID",
        "events ID",
        "diff ID ID",
        "left-behind ID",
        "get environment ID",
        "get resources -e ID",
        "get deployments -e ID",
        "find deploy/web -e ID",
        "images -e ID",
        "export --data d --environment ID",
    ] {
        let of = |id: &str| parsed(format!("strandline {}", command.replace("ID", id)));
        assert_eq!(of("environment/shop.web.production"), of("shop.web.production"), "{command}");
    }
    let deployment = |number: &str| parsed(format!("strandline get deployment {number}"));
    assert_eq!(deployment("deployment/512"), deployment("512"));
    assert!(Cli::try_parse_from(["strandline", "why", "environment/"]).is_err());
    assert!(Cli::try_parse_from(["strandline", "config", "schema"]).is_ok());
}

#[test]
fn commands_read_like_kubectl() {
    let parse = |line: &str| Cli::try_parse_from(line.split(' ')).map_err(|error| error.exit_code());
    for line in [
        "strandline get env --tier production,staging --health degraded -o wide --at 2h",
        "strandline get clusters --no-headers",
        "strandline get env --group shop --name review/** --project shop/* --state stopped --cluster a -l team=x,!y",
        "strandline overview --tier production --group-by region,label:team --agent a/b:c --at 2h -o wide",
        "strandline overview --view production-by-region --limit 500 -o name",
        "strandline get env shop.web.production -o yaml --at 2h",
        "strandline get env --at -2h",
        "strandline wait --for=health=Healthy,suspended shop.web.production --timeout 5m",
        "strandline wait --for health=Degraded environment/shop.web.production --timeout 0s",
        "strandline get env --at=14:05",
        "strandline diff shop.web.production --from yesterday --to @1795183500",
        "strandline import a --data d --at 2h",
        "strandline get groups -o json --at 2h",
        "strandline get projects -o wide --at 2h --limit 3",
        "strandline get project shop/web -o json",
        "strandline get agents -o name",
        "strandline get agent ops/agents:production",
        "strandline get deployments -e shop.web.production --project a/b,c/d --status success,Failed --at 2h",
        "strandline get deployment 512 -o wide",
        "strandline get deployment 512 --project shop/web",
        "strandline get deployments --group payments --by al* --ref v2.* --since 1h --until 10m -l team=x",
        "strandline left-behind shop.web.review-17 --at 2h -o wide",
        "strandline get resources -e shop.web.production --kind Pod --limit 5",
        "strandline get resources -e shop.web.production --owner some-uid --order health -o wide",
        "strandline get resource deploy/web -n shop --cluster eu-west -o yaml --at 2h",
        "strandline get resource some-uid",
        "strandline get resource some-uid -o json --answer",
        "strandline get resources --kind deploy,pods -A -o csv",
        "strandline get resources --kind pods -n shop --cluster us-east --sort-by .name",
        "strandline get env -o jsonpath={.items[*].id}",
        "strandline get env -o custom-columns=NAME:.id,HEALTH:.health.state --sort-by {.health.since}",
        "strandline history deploy/web --field spec.replicas --field $.spec.paused -o wide",
        "strandline images",
        "strandline images nginx:1.27 --tier production --region eu,us --since 7d --until 1d -o wide --limit 5",
        "strandline images -e shop.web.production --at 2h -o json",
        "strandline find",
        "strandline find deploy/web -e shop.web.production --gone",
        "strandline find pods/web-* --namespace shop --cluster eu-west --gone any --limit 5 --at 2h -o wide",
        "strandline history deploy/web -n shop --cluster eu-west --env shop.web.production",
        "strandline events --resource po/web-0 -n shop",
        "strandline health --resource deployments.apps/web -n shop --since 7d",
        "strandline edges svc/web -e shop.web.production",
        "strandline tree shop.web.production --under deploy/web -n shop",
        "strandline tree shop.web.production --all --color never",
        "strandline tree shop.web.production --under some-uid --cluster eu-west --depth 0 --limit 5000",
        "strandline tree shop.web.production --collapse kind --at 2h",
        "strandline why shop.web.production --limit 100 --at 2h -o name",
        "strandline timeline shop.web.production --since 7d --lane changes,Gaps --order oldest --limit 5 -o wide",
        "strandline timeline --resource some-uid --below --cluster eu-west --since 365d --at 2h -o json",
        "strandline onset shop.web.production --health degraded --window 1h30m --effects --at 2h",
        "strandline onset --resource some-uid --cluster eu-west -o name",
        "strandline history some-uid --bodies -o yaml",
        "strandline events shop.web.production --type warning --reason BackOff,Unhealthy --at 2h",
        "strandline events --resource some-uid --cluster eu-west -o wide",
        "strandline events",
        "strandline events --group payments --project shop/** --cluster eu-west,us --since 1h --until 10m -l team=x",
        "strandline events shop.web.production --since 1h",
        "strandline events -n shop",
        "strandline events -A",
        "strandline get cluster us-east",
        "strandline get group shop -o yaml",
        "strandline serve --config c.yaml --listen [::1]:80 --data d",
        "strandline demo --seed 7",
        "strandline demo --history 3h --until 2026-11-20T14:00:00Z",
        "strandline coverage --cluster a,b --kind Deployment.apps --state gap,Excluded --at 2h -o wide",
        "strandline kinds",
        "strandline kinds --config c.yaml --cluster one -o name",
        "strandline doctor --config c.yaml --data d --cluster one -o yaml",
        "strandline doctor --config c.yaml --rbac",
        "strandline doctor --config c.yaml --rbac=wildcard",
        "strandline version -o json",
        "strandline health shop.web.production --since 7d --limit 500 --at 2h -o wide",
        "strandline health --resource some-uid --cluster eu-west --since 1234 -o yaml",
        "strandline health -f objects.yaml",
        "strandline health --filename - -o json",
        "strandline edges -f objects.yaml",
        "strandline edges --filename - --relations relations.yaml -o json",
        "strandline edges some-uid --cluster eu-west --at 2h --limit 5 -o wide",
        "strandline access check --config c.yaml --project a/b",
        "strandline access check --config - --project a/b --group a --group c --agent-project o/p --ref main \
         --protected --environment qa --namespace ns --var A=1 --var B= --var C=a=b -o json",
        "strandline access check --config c --project a/b --ref v1 --tag -o yaml",
        "strandline health -f a --scripts b --argocd-cm c",
        "strandline health -f cases.jsonl --check",
        "strandline get clusters --token sl_1 --server http://strand.test",
        "strandline why shop.web.production --token-file t",
        "strandline token",
        "strandline token --name ci --user alice --project shop/web,shop/db --group shop --write",
        "strandline token --everything",
        "strandline rebuild --server http://strand.test --token-file t",
        "strandline rebuild --data d --config c",
        "strandline relist --cluster a,b --kind Deployment.apps --server http://strand.test",
        "strandline forget --cluster one --kind databases.example.dev --dry-run",
        "strandline forget --cluster one --kind pod -n shop --name web-0 --uid u --force --token-file t",
        "strandline export --data d -o f --since 7d --until 100 --cluster a,b --environment shop.web.production",
        "strandline import a b --data d",
        "strandline import a --data d --form audit --cluster c --summary json",
        "strandline import a --data d --cluster c --at 2026-11-20T09:00Z --complete",
        "strandline diff shop.web.production",
        "strandline diff shop.web.production --from 2h --to 1h --include metadata,status --children -o json",
        "strandline diff shop.web.staging shop.web.production --at 2h --map staging:production --ignore spec.replicas \
         --ignore metadata.annotations[*] --limit 5 --exit-code",
        "strandline diff --resource deploy/web -e shop.web.production -n shop --from 24h -o patch",
        "strandline diff --resource some-uid --cluster eu-west --color never -o name",
        "strandline backup --data d --to b -o json",
        "strandline restore --from b --data d --force",
    ] {
        assert!(parse(line).is_ok(), "{line}");
    }
    for line in [
        "strandline",
        "strandline get clusters --token a --token-file b",
        "strandline get clusters --token=",
        "strandline token --name sl/1",
        "strandline get",
        "strandline access",
        "strandline access check --config c.yaml",
        "strandline access check --project a/b",
        "strandline access check --config c.yaml --project a/b --var A",
        "strandline access check --config c.yaml --project a/b --var 1=2",
        "strandline access check --config c.yaml --project a/b --tag",
        "strandline get env --tier prod",
        "strandline get env --at tomorrow",
        "strandline demo --history 2h",
        "strandline demo --history 8d",
        "strandline demo --until @1 --data d",
        "strandline wait shop.web.production",
        "strandline wait --for=Healthy shop.web.production",
        "strandline wait --for=health=fine shop.web.production",
        "strandline wait --for=health=Healthy shop.web.production --timeout soon",
        "strandline get env --name a[",
        "strandline get env --agent a",
        "strandline get env -l a=b=c",
        "strandline overview --group-by moon",
        "strandline overview --limit 501",
        "strandline get env --limit 0",
        "strandline get env shop.web.production --tier production",
        "strandline get env shop.web.production --limit 1",
        "strandline get deployments --status done",
        "strandline get deployment first",
        "strandline get deployment 512 --since 1h",
        "strandline get deployment 512 --status success",
        "strandline left-behind",
        "strandline get resources",
        "strandline get resources -e shop.web.production --order age",
        "strandline get resource deploy/web --kind Pod",
        "strandline get resources --kind pods --answer",
        "strandline get resources --kind pods -A -n shop",
        "strandline events -A -n shop",
        "strandline get cluster us-east --limit 1",
        "strandline get env -o jsonpath={.items",
        "strandline get env -o custom-columns=.id",
        "strandline get env --sort-by .a[",
        "strandline find --gone perhaps",
        "strandline images --since tomorrow",
        "strandline history some-uid --field spec --bodies",
        "strandline history deploy/",
        "strandline history po~d/web",
        "strandline tree shop.web.production -n shop",
        "strandline health shop.web.production -n shop",
        "strandline edges -f a -n shop",
        "strandline tree",
        "strandline tree shop.web.production --cluster eu-west",
        "strandline tree shop.web.production --collapse all",
        "strandline tree shop.web.production --all --collapse kind",
        "strandline tree shop.web.production --limit 5001",
        "strandline tree shop.web.production --depth -1",
        "strandline why",
        "strandline why shop.web.production --limit 101",
        "strandline events shop.web.production --resource some-uid",
        "strandline events shop.web.production --cluster eu-west",
        "strandline events shop.web.production --group shop",
        "strandline events --resource some-uid --since 1h",
        "strandline events -e shop.web.production",
        "strandline events shop.web.production --type warnings",
        "strandline health",
        "strandline edges",
        "strandline edges some-uid -f a",
        "strandline edges some-uid --relations b",
        "strandline health shop.web.production --scripts b",
        "strandline health -f a --relations b",
        "strandline health shop.web.production --check",
        "strandline health shop.web.production --resource some-uid",
        "strandline health shop.web.production -f a",
        "strandline health shop.web.production --cluster eu-west",
        "strandline health shop.web.production --since tomorrow",
        "strandline health --resource some-uid -f a",
        "strandline health -f a --since 1h",
        "strandline health -f a --at 1h",
        "strandline diff",
        "strandline diff a b --from 2h",
        "strandline diff a b --resource some-uid",
        "strandline diff a --to 1h --at 1h",
        "strandline diff a --map x:y",
        "strandline diff a b --map x",
        "strandline diff a --include all",
        "strandline diff a --ignore **",
        "strandline diff a --resource deploy/web",
        "strandline diff --resource deploy/",
        "strandline diff a --cluster eu-west",
        "strandline get env -o xml",
        "strandline coverage --state blind",
        "strandline export",
        "strandline export --data d --since tomorrow",
        "strandline import --data d",
        "strandline import a --data d --at 1234",
        "strandline rebuild",
        "strandline rebuild --data d --token t",
        "strandline forget --cluster one",
        "strandline forget --kind pod",
        "strandline kinds --cluster one",
        "strandline doctor --config c.yaml -o wide",
        "strandline doctor --config c.yaml --rbac=all",
        "strandline doctor --config c.yaml --rbac -o json",
        "strandline doctor --data d --rbac",
    ] {
        assert_eq!(parse(line).err(), Some(2), "{line}");
    }
}

#[test]
fn a_token_is_printed_by_nothing() {
    let line = "strandline get clusters --token sl_canary";
    let cli = Cli::try_parse_from(line.split(' ')).expect("a command");
    assert!(!format!("{cli:?}").contains("canary"), "{cli:?}");
    for (text, expected) in [(" sl_1\n", Some("sl_1")), ("", None), ("\n", None), ("a b", None), ("é", None)]
    {
        let token = text.parse::<TokenText>().ok();
        assert_eq!(token.as_ref().map(TokenText::as_str), expected, "{text:?}");
    }
}

/// Every value of every command, given as nothing that it could be: what is said is ours, and not Rust's about a type.
#[test]
fn no_value_is_refused_in_a_parsers_words() {
    fn walk(path: &[String], command: &clap::Command, refused: &mut Vec<String>) {
        for arg in command.get_arguments().filter(|arg| arg.get_action().takes_values()) {
            for value in ["canary{", "", "-1", "1.5", "99999999999999999999", "\u{1F}"] {
                let given = match arg.get_long() {
                    Some(name) => vec![format!("--{name}={value}")],
                    None => vec!["--".to_owned(), value.to_owned()],
                };
                // Values are read as they come, before anything is missed.
                let read = Cli::try_parse_from(path.iter().chain(&given));
                let told = read.err().filter(|error| error.kind() == clap::error::ErrorKind::ValueValidation);
                refused.extend(told.map(|error| format!("{path:?} {given:?}: {error}")));
            }
        }
        for command in command.get_subcommands() {
            walk(&[path, &[command.get_name().to_owned()]].concat(), command, refused);
        }
    }
    let mut refused = Vec::new();
    let mut command = Cli::command();
    command.build();
    walk(&["strandline".to_owned()], &command, &mut refused);
    assert!(refused.len() > 100, "{}", refused.len());
    let words = [
        "invalid digit",
        "parse",
        "socket address syntax",
        "number too large",
        "from empty string",
        "expected",
        "u64",
    ];
    let leaked: Vec<_> = refused.iter().filter(|told| words.iter().any(|word| told.contains(word))).collect();
    assert!(leaked.is_empty(), "{leaked:#?}");
}
