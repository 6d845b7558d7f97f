// An OpenID provider on loopback, by oidc-provider: `node provider.mjs FOLDER` prints its URL. Everybody who logs in is alice.
// A POST to /control changes what it does: {"rotate": true, "algorithm": "RS256", "skew": 120}; the answer counts what was asked.

import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

// Its warnings are for who runs it for others.
for (const level of ['info', 'warn']) console[level] = () => {};

const library = join(process.argv[2], 'node_modules/oidc-provider/lib/index.js');
const { default: Provider } = await import(pathToFileURL(library));

const counts = { keys: 0, revoked: 0 };
const state = { algorithm: 'ES256', made: 0, keys: [] };

// The time that tokens are made at is that of a clock which may be wrong.
const now = Date.now;
let skew = 0;
Date.now = () => now() + skew * 1000;

function makeKeys() {
  state.made += 1;
  const key = (type, options, extra) =>
    ({ ...generateKeyPairSync(type, options).privateKey.export({ format: 'jwk' }), ...extra, use: 'sig' });
  return [
    key('ec', { namedCurve: 'P-256' }, { kid: `ec-${state.made}`, alg: 'ES256' }),
    key('rsa', { modulusLength: 2048 }, { kid: `rsa-${state.made}`, alg: 'RS256' }),
  ];
}

function makeProvider(url) {
  const client = { token_endpoint_auth_method: 'none', id_token_signed_response_alg: state.algorithm };
  const provider = new Provider(url, {
    clients: [
      { ...client, client_id: 'web', redirect_uris: ['https://strandline.test/login/callback'],
        grant_types: ['authorization_code', 'refresh_token'] },
      { ...client, client_id: 'cli', application_type: 'native', redirect_uris: [], response_types: [],
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'] },
    ],
    jwks: { keys: state.keys },
    cookies: { keys: ['only for tests'] },
    features: { devInteractions: { enabled: false }, deviceFlow: { enabled: true }, revocation: { enabled: true } },
    // What a user is comes with the ID token, as GitLab does it.
    conformIdTokenClaims: false,
    claims: { openid: ['sub'], profile: ['preferred_username', 'groups_direct'] },
    enabledJWA: { idTokenSigningAlgValues: ['ES256', 'RS256'] },
    issueRefreshToken: async () => true,
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, groups_direct: ['shop'] }),
    }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    // Whoever is logged in has agreed.
    async loadExistingGrant(ctx) {
      const { client, session } = ctx.oidc;
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
      grant.addOIDCScope('openid profile');
      await grant.save();
      return grant;
    },
  });
  return provider;
}

let provider;
let callback;

async function text(request) {
  let all = '';
  for await (const piece of request) all += piece;
  return all;
}

const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  try {
    if (pathname === '/control') {
      const asked = JSON.parse(await text(request));
      if (asked.rotate) state.keys = makeKeys();
      state.algorithm = asked.algorithm ?? state.algorithm;
      skew = asked.skew ?? skew;
      use(`http://127.0.0.1:${server.address().port}`);
      response.end(JSON.stringify(counts));
    } else if (pathname.startsWith('/interaction/')) {
      await provider.interactionFinished(request, response, { login: { accountId: 'alice' }, consent: {} });
    } else {
      counts.keys += pathname === '/jwks' ? 1 : 0;
      counts.revoked += pathname === '/token/revocation' ? 1 : 0;
      callback(request, response);
    }
  } catch (error) {
    response.statusCode = 500;
    response.end(String(error));
  }
});

function use(url) {
  provider = makeProvider(url);
  callback = provider.callback();
}

// It ends with whoever started it.
process.stdin.on('end', () => process.exit()).resume();
state.keys = makeKeys();
server.listen(0, '127.0.0.1', () => {
  use(`http://127.0.0.1:${server.address().port}`);
  console.log(`http://127.0.0.1:${server.address().port}`);
});
