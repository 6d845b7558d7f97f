//! What is understood and what is refused.

use super::*;
use clap::CommandFactory;

#[test]
fn the_definitions_hold_together() {
    Cli::command().debug_assert();
}

#[test]
fn commands_read_like_kubectl() {
    let parse = |line: &str| Cli::try_parse_from(line.split(' ')).map_err(|error| error.exit_code());
    for line in [
        "strandline get env --tier production,staging --health degraded -o wide --at 2h",
        "strandline get clusters --no-headers",
        "strandline get resources -e shop.web.production --kind Pod --limit 5",
        "strandline tree shop.web.production --all --color never",
        "strandline history some-uid --bodies -o yaml",
        "strandline events shop.web.production --type warning --reason BackOff,Unhealthy --at 2h",
        "strandline events --resource some-uid --cluster eu-west -o wide",
        "strandline serve --config c.yaml --listen [::1]:80 --data d",
        "strandline demo --seed 7",
        "strandline coverage --cluster a,b --kind Deployment.apps --state gap,Excluded --at 2h -o wide",
        "strandline kinds",
        "strandline kinds --config c.yaml --cluster one -o name",
        "strandline doctor --config c.yaml --data d --cluster one -o yaml",
        "strandline version -o json",
        "strandline health -f objects.yaml",
        "strandline health --filename - -o json",
        "strandline edges -f objects.yaml",
        "strandline edges --filename - --relations relations.yaml -o json",
    ] {
        assert!(parse(line).is_ok(), "{line}");
    }
    for line in [
        "strandline",
        "strandline get",
        "strandline get env --tier prod",
        "strandline get env --at yesterday",
        "strandline get env --limit 0",
        "strandline get resources",
        "strandline tree",
        "strandline events",
        "strandline events shop.web.production --resource some-uid",
        "strandline events shop.web.production --cluster eu-west",
        "strandline events shop.web.production --type warnings",
        "strandline health",
        "strandline health -f a -o yaml",
        "strandline edges",
        "strandline health -f a --relations b",
        "strandline get env -o xml",
        "strandline coverage --state blind",
        "strandline kinds --cluster one",
        "strandline doctor --config c.yaml -o wide",
    ] {
        assert_eq!(parse(line).err(), Some(2), "{line}");
    }
}
