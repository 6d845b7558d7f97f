//! Keys of issuers, and tokens that they sign.

use data_encoding::BASE64URL_NOPAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

/// An RSA key of 2048 bits for these tests alone.
const RSA: &[u8] = include_bytes!("rsa.pk8");

pub(crate) fn encoded(value: &Value) -> String {
    BASE64URL_NOPAD.encode(value.to_string().as_bytes())
}

/// A key of an issuer, under an id.
pub(crate) enum Signer {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(Box<RsaKeyPair>),
}

impl Signer {
    pub(crate) fn es256() -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random);
        Signer::Es256(key.expect("a key"))
    }

    pub(crate) fn ed_dsa() -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        Signer::EdDsa(Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("a key"))
    }

    pub(crate) fn rs256() -> Self {
        Signer::Rs256(Box::new(RsaKeyPair::from_pkcs8(RSA).expect("a key")))
    }

    fn name(&self) -> &'static str {
        match self {
            Signer::Es256(_) => "ES256",
            Signer::EdDsa(_) => "EdDSA",
            Signer::Rs256(_) => "RS256",
        }
    }

    fn sign(&self, text: &str) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Signer::Es256(key) => key.sign(&random, text.as_bytes()).expect("signed").as_ref().to_vec(),
            Signer::EdDsa(key) => key.sign(text.as_bytes()).as_ref().to_vec(),
            Signer::Rs256(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature).expect("signed");
                signature
            }
        }
    }

    pub(crate) fn jwk(&self, id: &str) -> Value {
        let part = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        match self {
            Signer::Es256(key) => {
                let point = key.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "kid": id, "x": part(&point[1..33]), "y": part(&point[33..])})
            }
            Signer::EdDsa(key) => {
                json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "x": part(key.public_key().as_ref())})
            }
            Signer::Rs256(key) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({"kty": "RSA", "use": "sig", "alg": "RS256", "kid": id, "n": part(&public.n), "e": part(&public.e)})
            }
        }
    }

    pub(crate) fn token(&self, id: &str, claims: &Value) -> String {
        self.with_header(&json!({"alg": self.name(), "kid": id, "typ": "JWT"}), claims)
    }

    pub(crate) fn with_header(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", encoded(header), encoded(claims));
        format!("{signed}.{}", BASE64URL_NOPAD.encode(&self.sign(&signed)))
    }
}
