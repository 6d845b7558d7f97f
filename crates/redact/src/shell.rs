//! Passwords that programs take by their place or by a flag of one letter.

use std::ops::Range;

use super::shapes::{is_login, is_reference};

/// How a program takes a password.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// Glued to the flag: `-phunter2`.
    Glued(&'static str),
    /// As the next word, or glued to the flag.
    Next(&'static str),
    /// `user:password` as the next word, or glued to the flag.
    Login(&'static str),
    /// `user%password` as the next word.
    Share(&'static str),
}

const PROGRAMS: &[(&[&str], &[Takes])] = &[
    (
        &[
            "mysql",
            "mysqldump",
            "mysqladmin",
            "mysqlimport",
            "mysqlsh",
            "mysqlcheck",
            "mariadb",
            "mariadb-dump",
            "mariadb-admin",
            "xtrabackup",
            "mydumper",
        ],
        &[Takes::Glued("-p")],
    ),
    (&["redis-cli", "valkey-cli", "keydb-cli", "redis-benchmark"], &[Takes::Next("-a")]),
    (
        &[
            "sshpass",
            "mongo",
            "mongosh",
            "mongodump",
            "mongorestore",
            "mongoexport",
            "mongoimport",
            "mongostat",
            "clickhouse",
            "rabbitmqadmin",
            "nodetool",
            "cqlsh",
            "influx",
            "nats",
            "htpasswd-login",
            "kinit",
            "ipmitool",
            "7z",
            "az",
            "couchbase-cli",
        ],
        &[Takes::Next("-p")],
    ),
    (
        &[
            "docker", "podman", "nerdctl", "helm", "crane", "oras", "skopeo", "buildah", "regctl", "oc",
            "argocd",
        ],
        &[Takes::Next("-p")],
    ),
    (
        &["ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami", "ldapdelete", "ldappasswd"],
        &[Takes::Next("-w")],
    ),
    (&["mosquitto_pub", "mosquitto_sub", "zip", "unzip", "sqlcmd", "bcp", "isql"], &[Takes::Next("-P")]),
    (&["curl", "wget", "http", "https", "ab", "elasticdump"], &[Takes::Login("-u"), Takes::Login("-U")]),
    (&["smbclient", "rpcclient", "net"], &[Takes::Share("-U")]),
];

/// Which of its arguments a program takes a password in, if it is one of those: `login` only for clients of registries.
fn takes(program: &str, next: Option<&str>) -> &'static [Takes] {
    let name = program.rsplit('/').next().unwrap_or(program);
    let found = PROGRAMS.iter().find(|(names, _)| names.contains(&name)).map_or(&[][..], |(_, takes)| takes);
    let registry = matches!(
        name,
        "docker"
            | "podman"
            | "nerdctl"
            | "helm"
            | "crane"
            | "oras"
            | "skopeo"
            | "buildah"
            | "regctl"
            | "oc"
            | "argocd"
            | "az"
    );
    if registry && !next.is_some_and(|next| matches!(next, "login" | "registry" | "auth")) {
        &[]
    } else {
        found
    }
}

/// Where in the words of one command passwords stand, as the number of the word and the place in it.
pub(super) fn of_words(words: &[&str]) -> Vec<(usize, Range<usize>)> {
    let mut found = Vec::new();
    let mut known: &[Takes] = &[];
    let mut starts = true;
    for (at, &word) in words.iter().enumerate() {
        if matches!(
            word,
            "|" | "||"
                | "&&"
                | ";"
                | "&"
                | "do"
                | "then"
                | "else"
                | "exec"
                | "sudo"
                | "!"
                | "{"
                | "("
                | "time"
                | "nohup"
                | "xargs"
        ) {
            (starts, known) = (true, &[]);
            continue;
        }
        if starts && !word.contains('=') {
            known = takes(word.trim_start_matches(['(', '$', '`', '"', '\'']), words.get(at + 1).copied());
            starts = false;
            continue;
        }
        let previous = at.checked_sub(1).map_or("", |at| words[at]);
        for take in known {
            let (flag, glued) = match take {
                Takes::Glued(flag) => (*flag, true),
                Takes::Next(flag) | Takes::Login(flag) | Takes::Share(flag) => (*flag, false),
            };
            let from = match word.strip_prefix(flag) {
                Some(rest) if !rest.is_empty() && !word.starts_with("--") => Some(word.len() - rest.len()),
                _ if !glued && previous == flag && !word.starts_with('-') => Some(0),
                _ => None,
            };
            let Some(from) = from else { continue };
            let value = word[from..].trim_matches(['"', '\'']);
            let from = from + word[from..].find(value).unwrap_or(0);
            let is_password = match take {
                Takes::Login(_) => is_login(value),
                Takes::Share(_) => value.contains('%'),
                _ => !is_reference(value),
            };
            if is_password {
                found.push((at, from..from + value.len()));
            }
        }
        starts |= word.ends_with(';');
    }
    found
}

/// Where in the text of a shell passwords stand.
pub(super) fn positions(text: &str, found: &mut Vec<Range<usize>>) {
    for line in text.split('\n') {
        let words: Vec<&str> = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
        let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
        let ranges = of_words(&words).into_iter();
        found.extend(ranges.map(|(at, range)| start(words[at]) + range.start..start(words[at]) + range.end));
    }
}
