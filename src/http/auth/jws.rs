//! Signed tokens (JWS, RFC 7515) and the keys that verify them (JWK, RFC 7517), by `ring`.
//!
//! Why no crate for it: docs/decisions/0032-issuers-are-pinned-and-claims-are-mapped.md.

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE64URL_NOPAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

/// A longer token is none.
const TOKEN_BYTES_MAX: usize = 16 * 1024;

/// More keys than any issuer has at a time.
const KEYS_MAX: usize = 64;

/// A signature algorithm with a public key (RFC 7518, RFC 8037). None has a secret in common with us: a public key can never be
/// taken for one, and there is no `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    Rs384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// ECDSA with P-384 and SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 7] = [
        Algorithm::Rs256,
        Algorithm::Rs384,
        Algorithm::Rs512,
        Algorithm::Ps256,
        Algorithm::Es256,
        Algorithm::Es384,
        Algorithm::EdDsa,
    ];

    /// Its registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Algorithm::Rs256 => "RS256",
            Algorithm::Rs384 => "RS384",
            Algorithm::Rs512 => "RS512",
            Algorithm::Ps256 => "PS256",
            Algorithm::Es256 => "ES256",
            Algorithm::Es384 => "ES384",
            Algorithm::EdDsa => "EdDSA",
        }
    }
}

impl FromStr for Algorithm {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.as_str() == text).ok_or(())
    }
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    crit: Option<IgnoredAny>,
}

/// A signed token whose signature is not verified yet.
pub(super) struct Unverified<'t> {
    algorithm: Algorithm,
    pub(super) key_id: Option<String>,
    signed: &'t str,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

impl<'t> Unverified<'t> {
    /// Reads a token in compact form; none where it is none, or needs what we do not know.
    pub(super) fn read(token: &'t str) -> Option<Self> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        let decode = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).ok();
        let header: Header = serde_json::from_slice(&decode(header)?).ok()?;
        let (algorithm, key_id) = (header.alg.parse().ok()?, header.kid);
        let (payload, signature) = (decode(payload)?, decode(signature)?);
        header.crit.is_none().then_some(Unverified { algorithm, key_id, signed, payload, signature })
    }

    /// What it says of its issuer, for finding the keys.
    pub(super) fn issuer(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Issuer {
            iss: String,
        }
        serde_json::from_slice::<Issuer>(&self.payload).ok().map(|claims| claims.iss)
    }

    /// Whether its algorithm is one of these.
    pub(super) fn is_signed_by(&self, algorithms: &[Algorithm]) -> bool {
        algorithms.contains(&self.algorithm)
    }

    /// Whether this key signed it.
    pub(super) fn is_signed_with(&self, key: &Key) -> bool {
        key.verifies(self.algorithm, self.signed.as_bytes(), &self.signature)
    }

    /// What it says; to be believed once it is known whose key signed it.
    pub(super) fn claims<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.payload).ok()
    }
}

/// A public key of an issuer.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    id: Option<String>,
    algorithm: Option<Algorithm>,
    kind: KeyKind,
}

#[derive(Clone, PartialEq, Eq)]
enum KeyKind {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("id", &self.id).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct WrittenKeys {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct WrittenKey {
    kty: String,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    kid: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The keys of a set that verify signatures; those of a kind that we do not know are left out, as the standard has it.
pub(super) fn read_keys(json: &[u8]) -> Result<Vec<Key>, String> {
    let written: WrittenKeys =
        serde_json::from_slice(json).map_err(|_| "the answer is no set of keys".to_owned())?;
    let keys: Vec<_> = written.keys.into_iter().take(KEYS_MAX).filter_map(Key::read).collect();
    if keys.is_empty() { Err("the set has no key that verifies signatures".to_owned()) } else { Ok(keys) }
}

impl Key {
    fn read(written: serde_json::Value) -> Option<Self> {
        let written: WrittenKey = serde_json::from_value(written).ok()?;
        let verifies = written.purpose.is_none_or(|purpose| purpose == "sig")
            && written.key_ops.is_none_or(|operations| operations.iter().any(|one| one == "verify"));
        let algorithm = match &written.alg {
            Some(name) => Some(name.parse().ok()?),
            None => None,
        };
        let bytes = |part: &Option<String>| BASE64URL_NOPAD.decode(part.as_deref()?.as_bytes()).ok();
        let point = |length: usize| {
            let (x, y) = (bytes(&written.x)?, bytes(&written.y)?);
            let whole = x.len() == length && y.len() == length;
            whole.then(|| [&[4][..], &x, &y].concat())
        };
        let kind = match (written.kty.as_str(), written.crv.as_deref()) {
            ("RSA", None) => KeyKind::Rsa { n: bytes(&written.n)?, e: bytes(&written.e)? },
            ("EC", Some("P-256")) => KeyKind::P256(point(32)?),
            ("EC", Some("P-384")) => KeyKind::P384(point(48)?),
            ("OKP", Some("Ed25519")) => KeyKind::Ed25519(bytes(&written.x)?),
            _ => return None,
        };
        verifies.then_some(Key { id: written.kid, algorithm, kind })
    }

    /// Whether this key signed it. What a key is for follows from the key, never from the token.
    fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if self.algorithm.is_some_and(|own| own != algorithm) {
            return false;
        }
        let rsa = |parameters, n: &Vec<u8>, e: &Vec<u8>| {
            RsaPublicKeyComponents { n, e }.verify(parameters, message, signature).is_ok()
        };
        let plain = |algorithm: &'static dyn signature::VerificationAlgorithm, key: &Vec<u8>| {
            UnparsedPublicKey::new(algorithm, key).verify(message, signature).is_ok()
        };
        match (algorithm, &self.kind) {
            (Algorithm::Rs256, KeyKind::Rsa { n, e }) => rsa(&signature::RSA_PKCS1_2048_8192_SHA256, n, e),
            (Algorithm::Rs384, KeyKind::Rsa { n, e }) => rsa(&signature::RSA_PKCS1_2048_8192_SHA384, n, e),
            (Algorithm::Rs512, KeyKind::Rsa { n, e }) => rsa(&signature::RSA_PKCS1_2048_8192_SHA512, n, e),
            (Algorithm::Ps256, KeyKind::Rsa { n, e }) => rsa(&signature::RSA_PSS_2048_8192_SHA256, n, e),
            (Algorithm::Es256, KeyKind::P256(key)) => plain(&signature::ECDSA_P256_SHA256_FIXED, key),
            (Algorithm::Es384, KeyKind::P384(key)) => plain(&signature::ECDSA_P384_SHA384_FIXED, key),
            (Algorithm::EdDsa, KeyKind::Ed25519(key)) => plain(&signature::ED25519, key),
            _ => false,
        }
    }
}

/// The keys that may have signed a token: those of its key id; all where it names none and there is only one.
pub(super) fn candidates<'k>(keys: &'k [Key], key_id: Option<&str>) -> impl Iterator<Item = &'k Key> {
    let only = keys.len() == 1;
    keys.iter().filter(move |key| match key_id {
        Some(id) => key.id.as_deref() == Some(id),
        None => only,
    })
}
