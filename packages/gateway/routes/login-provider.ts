/**
 * Providers of logins (gateway 7): Google by OpenID Connect, whose proof is a signed id token, and
 * GitHub by OAuth 2, whose proof is what its API answers to the token. The protocols are those of
 * `oauth4webapi`; here is which endpoints there are and what of an answer is believed.
 */
import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as oauth from 'oauth4webapi';
import type { Refusal } from '../base/refusal.js';

export type ProviderName = 'google' | 'github';

/** One login on its way. */
export interface Flow {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface Proof {
  /** How the provider names the account, for ever. */
  readonly providerId: string;
  readonly email: string;
  readonly isVerified: boolean;
  /** The organisation that runs the account; null: none says so. */
  readonly domain: string | null;
}

export interface LoginProvider {
  readonly name: ProviderName;
  readonly label: string;
  /** Domains whose accounts may log in; none: all. */
  readonly domains: readonly string[];
  /** Where the user is sent. Rejects where the provider does not answer. */
  authorizationUrl(flow: Flow): Promise<string>;
  /** The identity that a callback proves. Rejects where the provider does not answer. */
  prove(callback: URLSearchParams, flow: Flow): Promise<Proof | Refusal>;
}

export interface ProviderOptions {
  readonly clientId: string;
  readonly clientSecret: string;
  /** null: the provider's own. */
  readonly baseUrl: string | null;
  readonly fetch: ProviderFetch;
}

/** That of the platform, or a test's. */
export type ProviderFetch = (url: string, options: object) => Promise<Response>;

const TIMEOUT_MS = 10_000;
const invalid = (error: string): Refusal => ({ status: 400, code: 'invalid_request', error });
const BAD_STATE: Refusal = {
  status: 400,
  code: 'invalid_state',
  error: 'the login is not this one',
};
const DENIED = invalid('the provider did not log in');
const BAD_TOKEN = invalid('the id token is not valid');
const NO_EMAIL = invalid('the provider names no account or no address of mail');

/** What both have. */
class OauthClient {
  readonly client: oauth.Client;
  readonly #auth: oauth.ClientAuth;
  readonly #isInsecure: boolean;
  readonly #fetch: ProviderFetch;

  constructor({ clientId, clientSecret, fetch }: ProviderOptions, baseUrl: string) {
    this.client = { client_id: clientId, id_token_signed_response_alg: 'RS256' };
    this.#auth = oauth.ClientSecretPost(clientSecret);
    this.#isInsecure = baseUrl.startsWith('http:');
    this.#fetch = fetch;
  }

  options() {
    return {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      [oauth.allowInsecureRequests]: this.#isInsecure,
      [oauth.customFetch]: this.#fetch,
    };
  }

  get(url: string, accessToken: string): Promise<Response> {
    const headers = {
      Accept: 'application/json',
      Authorization: `Bearer ${accessToken}`,
      'User-Agent': 'svc-gateway',
    };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    return this.#fetch(url, { headers, signal, redirect: 'error' });
  }

  /** The answer of the token endpoint, or why the callback is none. */
  async exchange(
    server: oauth.AuthorizationServer,
    callback: URLSearchParams,
    { state, redirectUri, verifier }: Flow,
  ): Promise<Response | Refusal> {
    // What else a provider puts there (`iss`, `scope`) differs, and nothing rests on it.
    const given = new URLSearchParams();
    for (const name of ['code', 'state', 'error']) {
      const value = callback.get(name);
      if (value !== null) given.set(name, value);
    }
    if (!given.has('code')) return DENIED;
    let parameters: URLSearchParams;
    try {
      parameters = oauth.validateAuthResponse(server, this.client, given, state);
    } catch (error) {
      if (error instanceof oauth.AuthorizationResponseError) return DENIED;
      if (error instanceof oauth.OperationProcessingError) return DENIED;
      throw error;
    }
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      this.client,
      this.#auth,
      parameters,
      redirectUri,
      verifier,
      this.options(),
    );
    if (response.status !== 200) throw new ProviderError(`token endpoint: ${response.status}`);
    return response;
  }
}

/** A provider that did not answer as it has to. */
export class ProviderError extends Error {
  readonly code = 'login-provider';
}

export async function authorizationUrl(
  endpoint: string | undefined,
  parameters: { readonly [name: string]: string },
  { redirectUri, state, verifier }: Flow,
): Promise<string> {
  if (endpoint === undefined) throw new ProviderError('no authorization endpoint');
  const url = new URL(endpoint);
  const all = {
    ...parameters,
    response_type: 'code',
    redirect_uri: redirectUri,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
  return url.href;
}

const GOOGLE = 'https://accounts.google.com';
/** How long endpoints and key sets of a provider hold. */
const KNOWN_MS = 3_600_000;

export interface GoogleOptions extends ProviderOptions {
  /** `GOOGLE_ALLOWED_DOMAINS`. */
  readonly domains: readonly string[];
  readonly nowMs: () => number;
}

export class GoogleLogin implements LoginProvider {
  readonly name = 'google';
  readonly label = 'Log in with Google';
  readonly domains: readonly string[];
  readonly #oauth: OauthClient;
  readonly #issuer: URL;
  readonly #nowMs: () => number;
  readonly #keySets: KeySets;
  #server: oauth.AuthorizationServer | null = null;
  #discoveredMs = Number.NEGATIVE_INFINITY;

  constructor(options: GoogleOptions) {
    const baseUrl = options.baseUrl ?? GOOGLE;
    this.#oauth = new OauthClient(options, baseUrl);
    this.#issuer = new URL(baseUrl);
    this.#nowMs = options.nowMs;
    this.#keySets = new KeySets(options);
    this.domains = options.domains;
  }

  async authorizationUrl(flow: Flow): Promise<string> {
    const { authorization_endpoint } = await this.#discovered();
    const [domain, ...others] = this.domains;
    const hd = domain === undefined || others.length > 0 ? {} : { hd: domain };
    const parameters = {
      client_id: this.#oauth.client.client_id,
      scope: 'openid email profile',
      access_type: 'online',
      include_granted_scopes: 'true',
      prompt: 'select_account',
      nonce: flow.nonce,
      ...hd,
    };
    return authorizationUrl(authorization_endpoint, parameters, flow);
  }

  async prove(callback: URLSearchParams, flow: Flow): Promise<Proof | Refusal> {
    const server = await this.#discovered();
    const response = await this.#oauth.exchange(server, callback, flow);
    if (!(response instanceof Response)) return response;
    const claims = await this.#claims(server, response, flow);
    if ('code' in claims) return claims as Refusal;
    const { sub, email, email_verified, hd } = claims as oauth.IDToken;
    if (typeof email !== 'string' || sub === '') return NO_EMAIL;
    return {
      providerId: sub,
      email,
      isVerified: email_verified === true || String(email_verified) === 'true',
      domain: typeof hd === 'string' ? hd : null,
    };
  }

  async #claims(
    server: oauth.AuthorizationServer,
    response: Response,
    { nonce }: Flow,
  ): Promise<oauth.IDToken | Refusal> {
    const { client } = this.#oauth;
    try {
      const token = await idTokenIn(response.clone());
      const issued = { ...server, issuer: issuerOf(server, token) };
      const result = await oauth.processAuthorizationCodeResponse(issued, client, response, {
        expectedNonce: nonce,
        requireIdToken: true,
      });
      // A server object of its own, for the library keeps keys by it, and for five minutes.
      await oauth.validateApplicationLevelSignature({ ...server }, response, {
        ...this.#oauth.options(),
        [oauth.customFetch]: (url: string, options: object) =>
          this.#keySets.fetch(url, options, keyOf(token)),
      });
      return oauth.getValidatedIdTokenClaims(result) ?? BAD_TOKEN;
    } catch (error) {
      if (!(error instanceof oauth.OperationProcessingError)) throw error;
      const { claim } = { claim: null, ...(error.cause as object | undefined) };
      return claim === 'nonce' ? BAD_STATE : BAD_TOKEN;
    }
  }

  /** Asked again after an hour; where that fails, what was known goes on to be. */
  async #discovered(): Promise<oauth.AuthorizationServer> {
    const known = this.#server;
    if (known !== null && this.#nowMs() - this.#discoveredMs < KNOWN_MS) return known;
    try {
      const response = await oauth.discoveryRequest(this.#issuer, this.#oauth.options());
      this.#server = await oauth.processDiscoveryResponse(this.#issuer, response);
      this.#discoveredMs = this.#nowMs();
      return this.#server;
    } catch (error) {
      if (known !== null) return known;
      throw error;
    }
  }
}

/**
 * The provider's keys, asked for again after an hour, or for a key that is not among them; where
 * that fails, those that were known go on to be.
 */
class KeySets {
  readonly #fetch: ProviderFetch;
  readonly #nowMs: () => number;
  #text = '';
  #ids: ReadonlySet<string> = new Set();
  #knownMs = Number.NEGATIVE_INFINITY;

  constructor({ fetch, nowMs }: Pick<GoogleOptions, 'fetch' | 'nowMs'>) {
    this.#fetch = fetch;
    this.#nowMs = nowMs;
  }

  /** `key`: the id of the one that is needed. Rejects where it is not known and nobody answers. */
  async fetch(url: string, options: object, key: string): Promise<Response> {
    const isKnown = this.#ids.has(key);
    if (!isKnown || this.#nowMs() - this.#knownMs >= KNOWN_MS) {
      try {
        await this.#ask(url, options);
      } catch (error) {
        if (!isKnown) throw error;
      }
    }
    return new Response(this.#text, { headers: { 'Content-Type': 'application/json' } });
  }

  async #ask(url: string, options: object): Promise<void> {
    const response = await this.#fetch(url, options);
    if (response.status !== 200) throw new ProviderError(`keys: ${response.status}`);
    const text = await response.text();
    const { keys } = JSON.parse(text) as { readonly keys: readonly { readonly kid?: string }[] };
    this.#ids = new Set(keys.map(({ kid }) => kid ?? ''));
    this.#text = text;
    this.#knownMs = this.#nowMs();
  }
}

/** "": the answer has none that can be read, which the library refuses with its own words. */
async function idTokenIn(response: Response): Promise<string> {
  try {
    return ((await response.json()) as { readonly id_token: string }).id_token;
  } catch {
    return '';
  }
}

/** The issuer that the id token has to name: Google has one with and one without the scheme. */
function issuerOf({ issuer }: oauth.AuthorizationServer, token: string): string {
  const bare = issuer.replace(/^https?:\/\//, '');
  try {
    return decodeJwt(token).iss === bare ? bare : issuer;
  } catch {
    return issuer;
  }
}

/** The id of the key that signed it; "" where it names none. */
function keyOf(token: string): string {
  return decodeProtectedHeader(token).kid ?? '';
}

const GITHUB = 'https://github.com';
const GITHUB_API = 'https://api.github.com';

/** Another server has its API at `/api/v3`, as GitHub Enterprise does. */
export class GithubLogin implements LoginProvider {
  readonly name = 'github';
  readonly label = 'Log in with GitHub';
  readonly domains = [];
  readonly #oauth: OauthClient;
  readonly #server: oauth.AuthorizationServer;
  readonly #api: string;

  constructor(options: ProviderOptions) {
    const baseUrl = (options.baseUrl ?? GITHUB).replace(/\/+$/, '');
    this.#oauth = new OauthClient(options, baseUrl);
    this.#api = options.baseUrl === null ? GITHUB_API : `${baseUrl}/api/v3`;
    this.#server = {
      issuer: baseUrl,
      authorization_endpoint: `${baseUrl}/login/oauth/authorize`,
      token_endpoint: `${baseUrl}/login/oauth/access_token`,
    };
  }

  authorizationUrl(flow: Flow): Promise<string> {
    const { client_id } = this.#oauth.client;
    const { authorization_endpoint } = this.#server;
    return authorizationUrl(authorization_endpoint, { client_id, scope: 'user:email' }, flow);
  }

  async prove(callback: URLSearchParams, flow: Flow): Promise<Proof | Refusal> {
    const response = await this.#oauth.exchange(this.#server, callback, flow);
    if (!(response instanceof Response)) return response;
    const { client } = this.#oauth;
    const result = await oauth.processAuthorizationCodeResponse(this.#server, client, response);
    const user = await this.#json('/user', result.access_token);
    const emails = await this.#json('/user/emails', result.access_token);
    const id = (user as { readonly id?: unknown } | null)?.id;
    const primary = Array.isArray(emails)
      ? emails.find((one) => one?.primary === true && typeof one.email === 'string')
      : undefined;
    if (!Number.isSafeInteger(id) || primary === undefined) return NO_EMAIL;
    const isVerified = primary.verified === true;
    return { providerId: String(id), email: primary.email, isVerified, domain: null };
  }

  async #json(path: string, accessToken: string): Promise<unknown> {
    const response = await this.#oauth.get(this.#api + path, accessToken);
    if (response.status !== 200) throw new ProviderError(`${path}: ${response.status}`);
    return response.json();
  }
}
