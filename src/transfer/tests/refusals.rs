//! Files that are no exports, or no longer.

use std::fs;
use std::io::Write;

use super::*;

/// The lines of an export.
fn lines(path: &Path) -> Vec<String> {
    let text = zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
    String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
}

/// Writes lines as an export with a digest that fits them.
fn write(path: &Path, lines: &[String]) {
    let (last, others) = lines.split_last().unwrap();
    let text: String = others.iter().map(|line| format!("{line}\n")).collect();
    let mut end: Value = serde_json::from_str(last).unwrap();
    end["end"]["blake3"] = blake3::hash(text.as_bytes()).to_hex().to_string().into();
    end["end"]["changes"] = (others.len() - 1).into();
    let text = format!("{text}{end}\n");
    fs::write(path, zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();
}

/// A file that is refused with words, and leaves no data directory behind.
fn refused(path: &Path, word: &str) {
    let data = path.with_extension("data");
    let error = import_log(&[path.to_owned()], &data).expect_err(word);
    assert!(error.to_string().contains(word), "{word}: {error}");
    assert!(!data.exists(), "{word}");
}

#[test]
fn lines_that_cannot_be_are_refused_with_their_place() {
    let world = World::new(small_history());
    let folder = tempfile::tempdir().unwrap();
    let whole = lines(&exported(world.directory(), &folder, "whole", &Selection::default()));
    let path = folder.path().join("changed");
    write(&path, &whole);
    import_log(std::slice::from_ref(&path), &folder.path().join("sound")).unwrap();
    let changed = |word: &str, change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = whole.clone();
        change(&mut lines);
        write(&path, &lines);
        refused(&path, word);
    };
    let member = |lines: &mut Vec<String>, n: usize, name: &str, value: Value| {
        let mut line: Value = serde_json::from_str(&lines[n]).unwrap();
        line[name] = value;
        lines[n] = line.to_string();
    };
    let set = |n: usize, name: &'static str, value: Value| {
        move |lines: &mut Vec<String>| member(lines, n, name, value.clone())
    };
    changed("version 2", &set(0, "version", 2.into()));
    changed("not an export", &set(0, "format", "strandline.backup".into()));
    changed("invalid header", &set(0, "from", "x".into()));
    changed("line 1", &|lines| drop(lines.remove(0)));
    changed("occurs twice", &|lines| lines.insert(20, lines[19].clone()));
    changed("comes after", &|lines| lines.swap(20, 21));
    changed("line 31", &|lines| lines[30] = "garbage".into());
    changed("not a change", &|lines| lines[30] = String::new());
    changed("not a change", &|lines| lines[30] = "{}".into());
    changed("unknown", &set(30, "surprise", 1.into()));
    changed("not a change", &set(30, "type", "altered".into()));
    changed("is outside the range", &set(whole.len() - 2, "offset", 100_000.into()));
    changed("before the change above it", &set(30, "observed_at", "2001-01-01T00:00:00Z".into()));
    changed("a cluster, a kind, a name and a UID", &set(30, "uid", "".into()));
    changed("not an object", &set(30, "body", 7.into()));
    changed("its body is invalid", &|lines| {
        let coverage = lines.iter().position(|line| line.contains("\"type\":\"coverage\"")).unwrap();
        member(lines, coverage, "body", serde_json::json!({"state": "asleep"}));
    });
    changed("other name", &|lines| {
        let fact = lines.iter().position(|line| line.contains("\"type\":\"declared\"")).unwrap();
        member(lines, fact, "name", "another".into());
    });
    changed("do not match the hash", &set(30, "resource_version", "77".into()));
}

#[test]
fn a_file_that_was_cut_off_or_altered_is_refused_wherever_it_was() {
    let world = World::new(small_history());
    let folder = tempfile::tempdir().unwrap();
    let whole = exported(world.directory(), &folder, "whole", &Selection::default());
    let packed = fs::read(&whole).unwrap();
    let path = folder.path().join("cut");
    for length in (0..packed.len()).step_by(packed.len() / 40 + 1).chain([packed.len() - 1]) {
        fs::write(&path, &packed[..length]).unwrap();
        refused(&path, "");
    }
    for place in (4..packed.len()).step_by(packed.len() / 40 + 1) {
        let mut altered = packed.clone();
        altered[place] ^= 0x01;
        fs::write(&path, altered).unwrap();
        let data = path.with_extension("data");
        match import_log(std::slice::from_ref(&path), &data) {
            Err(_) => assert!(!data.exists(), "at {place}"),
            // What says how it is packed may be altered so that it says the same.
            Ok(_) => {
                assert_eq!(entries(&data), entries(world.directory()), "at {place}");
                fs::remove_dir_all(&data).unwrap();
            }
        }
    }
    let text = lines(&whole);
    for (lines, word) in [
        (&text[..text.len() - 1], "cut off"),
        (&text[..1], "cut off"),
        (&[text.clone(), vec!["{}".into()]].concat()[..], "after the last line"),
        (&[&text[..5], &text[6..]].concat()[..], "changes, found"),
    ] {
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        refused(&path, word);
    }
    fs::write(&path, (text.join("\n") + "\n").replacen("web", "wob", 1)).unwrap();
    refused(&path, "");
    fs::write(&path, text.join("\n")).unwrap();
    assert!(import_log(&[path], &folder.path().join("plain")).is_ok(), "what is not packed is read as well");
}

#[test]
fn bombs_and_strangers_are_refused_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb");
    let mut encoder = zstd::stream::write::Encoder::new(fs::File::create(&path).unwrap(), 1).unwrap();
    for _ in 0..200 {
        encoder.write_all(&vec![b'x'; 1 << 20]).unwrap();
    }
    encoder.finish().unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 1 << 20);
    refused(&path, "more than");
    for (bytes, word) in [
        (&b"\x1f\x8b\x08\x00"[..], "gzip"),
        (&b""[..], "empty"),
        (&b"\xff\xfe\n"[..], "UTF-8"),
        (&b"{\"format\":\"strandline.log\"}\n"[..], "not the header"),
        (&b"\x28\xb5\x2f\xfd"[..], "reading failed"),
    ] {
        fs::write(&path, bytes).unwrap();
        refused(&path, word);
    }
    refused(&folder.path().join("nowhere"), "No such file");
    let world = World::new(small_history());
    let overlapping = Selection { since: Some(At::Offset(Offset::new(20))), ..Selection::default() };
    let one = exported(world.directory(), &folder, "one", &Selection::default());
    let two = exported(world.directory(), &folder, "two", &overlapping);
    let error = import_log(&[one, two], &folder.path().join("both")).unwrap_err();
    assert!(matches!(error, TransferError::Overlap { .. }), "{error}");
    assert!(!folder.path().join("both").exists());
}
