//! Groups against what the paths of projects in sight say.

use super::*;
use strandline_protocol::ProjectGroup;

#[test]
fn a_group_counts_what_is_below_it_and_in_sight() {
    let places = [
        ("shop/front/web", "production"),
        ("shop/front/web", "staging"),
        ("shop/db", "production"),
        ("lone", "x"),
    ];
    let declared = places.map(|(project, name)| environment(project, name, &[("east", "shop", "web")]));
    let world = World::new([Event::Nothing, Event::Declare(declared.to_vec())]);
    let groups = |scope: Scope, at: At| {
        let page = block_on(world.queries.ask(&scope, at, ListGroups::new(&whole()))).unwrap();
        page.items.into_iter().map(|group| (group.id, group.projects, group.environments)).collect::<Vec<_>>()
    };
    let told = |all: &[(&str, u64, u64)]| {
        all.iter().map(|(id, p, e)| ((*id).to_owned(), *p, *e)).collect::<Vec<_>>()
    };
    assert_eq!(groups(Scope::everything(), At::Now), told(&[("shop", 2, 3), ("shop/front", 1, 2)]));
    assert_eq!(groups(Scope::projects(["shop/db".to_owned()]), At::Now), told(&[("shop", 1, 1)]));
    assert_eq!(groups(Scope::everything(), At::Offset(world.heads[1])), told(&[]));
    let first = PageRequest { limit: 1, after: None };
    let page = block_on(world.queries.ask(&Scope::everything(), At::Now, ListGroups::new(&first))).unwrap();
    let second = PageRequest { limit: 1, after: page.metadata.next };
    let page = block_on(world.queries.ask(&Scope::everything(), At::Now, ListGroups::new(&second))).unwrap();
    let front = ProjectGroup {
        id: "shop/front".into(),
        name: "front".into(),
        parent: "shop".into(),
        projects: 1,
        environments: 2,
    };
    assert_eq!((page.items, page.metadata.next), (vec![front], None));
}
