//! Images of containers, as they are written and as they are looked for.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use super::Glob;

/// The registry and the namespace that are meant where none is named.
const DEFAULT_REGISTRY: &str = "docker.io";
const DEFAULT_NAMESPACE: &str = "library/";

/// The tag that is meant where neither a tag nor a digest is named.
const DEFAULT_TAG: &str = "latest";

/// The longest reference that is taken for one, in bytes.
const LENGTH_MAX: usize = 1024;

/// An image as Docker understands what is written of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Image {
    /// Registry and path, such as `docker.io/library/nginx`.
    pub repository: String,
    /// Tag; empty where a digest alone is named.
    pub tag: String,
    /// Digest, such as `sha256:…`; empty where it is not known.
    pub digest: String,
}

impl Image {
    /// Reads what a container says of its image; none where that can be no image.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > LENGTH_MAX || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return None;
        }
        let (name, digest) = text.split_once('@').unwrap_or((text, ""));
        let (path, tag) = tagged(name);
        if path.is_empty() || path.starts_with('/') || path.ends_with('/') {
            return None;
        }
        let tag = if tag.is_empty() && digest.is_empty() { DEFAULT_TAG } else { tag };
        Some(Image { repository: full(path), tag: tag.to_owned(), digest: digest.to_owned() })
    }

    /// The digest in what a kubelet says of the image that it runs, such as `docker-pullable://nginx@sha256:…`.
    pub fn digest_of(image_id: &str) -> Option<&str> {
        let at = image_id.rfind("sha256:")?;
        let digest = &image_id[at..];
        let hex = digest.bytes().skip("sha256:".len());
        (digest.len() == 71 && hex.into_iter().all(|b| b.is_ascii_hexdigit())).then_some(digest)
    }

    /// Repository and tag, or digest where there is no tag.
    pub fn name(&self) -> String {
        match (self.tag.as_str(), self.digest.as_str()) {
            ("", digest) => format!("{}@{digest}", self.repository),
            (tag, _) => format!("{}:{tag}", self.repository),
        }
    }
}

/// A repository without what goes without saying, such as `nginx` for `docker.io/library/nginx`.
pub fn familiar(repository: &str) -> &str {
    match repository.strip_prefix(DEFAULT_REGISTRY).and_then(|rest| rest.strip_prefix('/')) {
        Some(path) => path.strip_prefix(DEFAULT_NAMESPACE).unwrap_or(path),
        None => repository,
    }
}

/// A name before and after the colon of its tag; a colon before a slash is one of a port.
fn tagged(name: &str) -> (&str, &str) {
    match name.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => (path, tag),
        _ => (name, ""),
    }
}

/// A path with its registry. The first part is one if it could not be a part of a path.
fn full(path: &str) -> String {
    let registry = |first: &str| first.contains(['.', ':']) || first == "localhost";
    match path.split_once('/') {
        Some(("index.docker.io", rest)) => full(rest),
        Some((DEFAULT_REGISTRY, rest)) if !rest.contains('/') => {
            format!("{DEFAULT_REGISTRY}/{DEFAULT_NAMESPACE}{rest}")
        }
        Some((first, _)) if registry(first) => path.to_owned(),
        Some(_) => format!("{DEFAULT_REGISTRY}/{path}"),
        None => format!("{DEFAULT_REGISTRY}/{DEFAULT_NAMESPACE}{path}"),
    }
}

/// Which images are looked for: `nginx`, `nginx:1.27`, `registry.example.com/shop/*:2.*`, `**/web`, `@sha256:9f8e`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImagePattern {
    text: String,
    #[serde(skip)]
    repository: Option<Glob>,
    #[serde(skip)]
    tag: Option<Glob>,
    /// The beginning of the digest, with its algorithm.
    #[serde(skip)]
    digest: String,
}

impl ImagePattern {
    /// Whether it means an image. Patterns may leave out what goes without saying, as names do.
    pub fn matches(&self, image: &Image) -> bool {
        let named =
            |glob: &Glob| glob.matches(&image.repository) || glob.matches(familiar(&image.repository));
        self.repository.as_ref().is_none_or(named)
            && self.tag.as_ref().is_none_or(|glob| glob.matches(&image.tag))
            && image.digest.starts_with(&self.digest)
    }
}

impl FromStr for ImagePattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |why: &str| {
            format!("invalid image `{text}`: {why}; write nginx, nginx:1.27, '**/web:2.*' or @sha256:9f8e")
        };
        let (name, digest) = match text.split_once('@') {
            Some((_, "")) => return Err(wrong("no digest follows the @")),
            Some((name, digest)) if digest.contains(':') => (name, digest.to_lowercase()),
            Some((name, hex)) => (name, format!("sha256:{}", hex.to_lowercase())),
            None => (text, String::new()),
        };
        let (path, tag) = tagged(name);
        if path.is_empty() && (!tag.is_empty() || digest.is_empty()) {
            return Err(wrong("it has no repository"));
        }
        let glob = |part: &str| match part {
            "" => Ok(None),
            part => part.parse::<Glob>().map(Some).map_err(|why| wrong(&why)),
        };
        // A name means what it means to Docker; a pattern is held against the whole name.
        let meant = |glob: Glob| glob.name().map_or(glob, |name| Glob::exactly(&full(&name)));
        let repository = glob(path)?.map(meant);
        Ok(ImagePattern { text: text.to_owned(), repository, tag: glob(tag)?, digest })
    }
}

impl fmt::Display for ImagePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a0";

    #[test]
    fn an_image_is_what_docker_takes_it_for() {
        for (text, repository, tag, digest) in [
            ("nginx", "docker.io/library/nginx", "latest", ""),
            ("nginx:1.27-alpine", "docker.io/library/nginx", "1.27-alpine", ""),
            ("docker.io/nginx", "docker.io/library/nginx", "latest", ""),
            ("index.docker.io/library/nginx", "docker.io/library/nginx", "latest", ""),
            ("shop/web:2", "docker.io/shop/web", "2", ""),
            ("localhost/web", "localhost/web", "latest", ""),
            ("localhost:5000/web", "localhost:5000/web", "latest", ""),
            ("registry.example.com:5000/a/b/c:v1", "registry.example.com:5000/a/b/c", "v1", ""),
            ("nginx@sha256:ab", "docker.io/library/nginx", "", "sha256:ab"),
            ("quay.io/x/y:3@sha256:ab", "quay.io/x/y", "3", "sha256:ab"),
        ] {
            let expected = Image { repository: repository.into(), tag: tag.into(), digest: digest.into() };
            assert_eq!(Image::parse(text), Some(expected), "{text}");
        }
        for text in ["", ":1", "@sha256:ab", "a b", "/x", "x/", "a\n", &"a".repeat(1025)] {
            assert_eq!(Image::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_a_kubelet_runs_has_a_digest() {
        for (id, expected) in [
            (format!("docker-pullable://nginx@{DIGEST}"), Some(DIGEST)),
            (format!("docker.io/library/nginx@{DIGEST}"), Some(DIGEST)),
            (DIGEST.to_owned(), Some(DIGEST)),
            (format!("{DIGEST}0"), None),
            ("docker://sha256:short".to_owned(), None),
            (String::new(), None),
            (format!("sha256:{}", "z".repeat(64)), None),
        ] {
            assert_eq!(Image::digest_of(&id), expected, "{id}");
        }
    }

    #[test]
    fn patterns_match_as_people_write_images() {
        let web = Image::parse(&format!("registry.example.com/shop/web:2.4.1@{DIGEST}")).unwrap();
        let nginx = Image::parse("nginx:1.27").unwrap();
        for (pattern, image, expected) in [
            ("nginx", &nginx, true),
            ("docker.io/library/nginx:1.27", &nginx, true),
            ("nginx:1.*", &nginx, true),
            ("nginx:1", &nginx, false),
            ("ngin*", &nginx, true),
            ("library/nginx", &nginx, true),
            ("shop/web", &web, false),
            ("registry.example.com/shop/web", &web, true),
            ("registry.example.com/shop/*:2.*", &web, true),
            ("registry.example.com/*", &web, false),
            ("registry.example.com/**", &web, true),
            ("**/web", &web, true),
            ("**", &nginx, true),
            ("@sha256:9f8e", &web, true),
            ("@9F8E7D", &web, true),
            ("@sha256:0000", &web, false),
            ("**/web:2.4.1@9f8e", &web, true),
        ] {
            let parsed: ImagePattern = pattern.parse().unwrap();
            assert_eq!(parsed.matches(image), expected, "{pattern} {image:?}");
            assert_eq!(parsed.to_string(), pattern);
        }
        for text in ["", "@", ":1", "nginx@", "a[b"] {
            let refused = text.parse::<ImagePattern>().unwrap_err();
            assert!(refused.contains(&format!("`{text}`")), "{refused}");
        }
    }

    #[test]
    fn what_goes_without_saying_is_left_out() {
        for (repository, expected) in [
            ("docker.io/library/nginx", "nginx"),
            ("docker.io/shop/web", "shop/web"),
            ("quay.io/library/nginx", "quay.io/library/nginx"),
        ] {
            assert_eq!(familiar(repository), expected);
        }
    }
}
