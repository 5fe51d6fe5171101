/**
 * Session tokens: JSON web tokens that the gateway signs itself and verifies on every node
 * (specification, Gateway credentials 4; gateway 7).
 *
 * Ed25519 where a private key is given, else HMAC with the secret; a public key alone makes a host
 * that only verifies. The algorithm follows from the configuration and never from the token.
 *
 * A token is verified once and then found by its text until it ends: a signature costs more than
 * the rest of a small request. Only what was good is remembered, so nobody without a key can push
 * others out. Verifications at a time are bounded as hashes are.
 */
import { createHash, createPrivateKey, createPublicKey, createSecretKey } from 'node:crypto';
import { type CryptoKey, importJWK, type JWK, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../base/clock.js';
import { ownText } from '../base/own-text.js';
import { newId, type Random } from '../base/random.js';
import { Turns } from '../records/turns.js';
import type { MaybePromise } from './known.js';
import { TOKEN_LENGTH_MAX } from './presented.js';

export interface SessionTokenOptions {
  /** Absent or empty: not given. */
  readonly secret?: string;
  readonly privatePem?: string;
  readonly publicPem?: string;
  readonly issuer: string;
  /** Signed into tokens and asked of them; absent: neither. */
  readonly audience?: string;
  readonly clock: Clock;
  readonly random: Random;
}

export interface SessionClaims {
  readonly userId: string;
  readonly jti: string;
  readonly clusterId: string | null;
  /** Seconds since the epoch. */
  readonly expiresS: number;
}

interface Material {
  readonly algorithm: 'HS256' | 'EdDSA';
  /** null: this host only verifies. */
  readonly signing: CryptoKey | Uint8Array | null;
  readonly verifying: CryptoKey | Uint8Array;
  /** Ed25519 alone. */
  readonly publicJwk: JWK | null;
}

/** A key that cannot be used. The gateway goes on without logins (gateway 1). */
export class SigningMaterialError extends Error {
  readonly code = 'signing-material';
}

const VERIFYING_MAX = 2;
const WAITING_MAX = 1_024;
const REMEMBERED_MAX = 16_384;
/** The role that stands in a token; what counts is read from the store. */
const PLACEHOLDER_ROLE = 'viewer';

export class SessionTokens {
  readonly #options: SessionTokenOptions;
  readonly #material: Material | null;
  readonly #turns = new Turns(VERIFYING_MAX, WAITING_MAX);
  #young = new Map<string, SessionClaims>();
  #elder = new Map<string, SessionClaims>();

  private constructor(options: SessionTokenOptions, material: Material | null) {
    this.#options = options;
    this.#material = material;
  }

  /** Rejects with `SigningMaterialError` for a key that cannot be read. */
  static async create(options: SessionTokenOptions): Promise<SessionTokens> {
    return new SessionTokens(options, await materialOf(options));
  }

  get canSign(): boolean {
    return (this.#material?.signing ?? null) !== null;
  }

  /** It has a key, be it one that only verifies. */
  get canVerify(): boolean {
    return this.#material !== null;
  }

  /** For `/.well-known/jwks.json`: no key without Ed25519. */
  get jwks(): { readonly keys: readonly JWK[] } {
    const jwk = this.#material?.publicJwk ?? null;
    return { keys: jwk === null ? [] : [jwk] };
  }

  /** `canSign` holds. */
  async sign(userId: string, lifeS: number, clusterId?: string): Promise<string> {
    const { issuer, audience, random } = this.#options;
    const { signing, algorithm, publicJwk } = this.#material ?? {};
    if (signing === null || signing === undefined || algorithm === undefined) {
      throw new Error('nothing to sign with');
    }
    const issuedS = this.#nowS();
    const token = new SignJWT({
      role: PLACEHOLDER_ROLE,
      ...(clusterId === undefined ? {} : { cluster: clusterId }),
    })
      .setProtectedHeader({
        alg: algorithm,
        typ: 'JWT',
        ...(publicJwk?.kid === undefined ? {} : { kid: publicJwk.kid }),
      })
      .setSubject(userId)
      .setIssuer(issuer)
      .setJti(newId(random))
      .setIssuedAt(issuedS)
      .setExpirationTime(issuedS + lifeS);
    if (audience !== undefined) token.setAudience(audience);
    return this.#turns.run(() => token.sign(signing));
  }

  /** null: it is none of ours, or ended. Rejects with `OverloadedError`. */
  verify(token: string): MaybePromise<SessionClaims | null> {
    if (this.#material === null || token.length > TOKEN_LENGTH_MAX) return null;
    const known = this.#young.get(token) ?? this.#elder.get(token);
    if (known === undefined) {
      // What cannot be a token is refused in its turn.
      return token.split('.').length === 3 ? this.#check(token, this.#material) : null;
    }
    if (known.expiresS <= this.#nowS()) {
      this.#young.delete(token);
      this.#elder.delete(token);
      return null;
    }
    if (!this.#young.has(token)) this.#remember(token, known);
    return known;
  }

  async #check(token: string, { verifying, algorithm }: Material): Promise<SessionClaims | null> {
    const { issuer, audience } = this.#options;
    const claims = await this.#turns.run(async () => {
      try {
        const { payload } = await jwtVerify(token, verifying, {
          algorithms: [algorithm],
          issuer,
          ...(audience === undefined ? {} : { audience }),
          requiredClaims: ['sub', 'jti', 'exp', 'iat'],
          currentDate: new Date(this.#nowS() * 1_000),
        });
        return claimsOf(payload);
      } catch (error) {
        if (isRefusal(error)) return null;
        throw error;
      }
    });
    if (claims !== null) this.#remember(ownText(token), claims);
    return claims;
  }

  #remember(token: string, claims: SessionClaims): void {
    this.#elder.delete(token);
    if (this.#young.size >= REMEMBERED_MAX / 2) {
      this.#elder = this.#young;
      this.#young = new Map();
    }
    this.#young.set(token, claims);
  }

  #nowS(): number {
    return Math.floor(this.#options.clock.wallUs() / 1_000_000);
  }
}

/** Every error of the library about a token has a code of its own. */
function isRefusal(error: unknown): boolean {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' && /^ERR_(JWT|JWS|JOSE|JWK)/.test(code);
}

function claimsOf({ sub, jti, exp, cluster }: JWTPayload): SessionClaims | null {
  if (typeof sub !== 'string' || typeof jti !== 'string' || typeof exp !== 'number') return null;
  if (cluster !== undefined && typeof cluster !== 'string') return null;
  return { userId: sub, jti, clusterId: cluster ?? null, expiresS: exp };
}

async function materialOf(options: SessionTokenOptions): Promise<Material | null> {
  const { secret = '', privatePem = '', publicPem = '' } = options;
  try {
    if (privatePem !== '' || publicPem !== '') return await ed25519(privatePem, publicPem);
    if (secret === '') return null;
    const key = new Uint8Array(createSecretKey(Buffer.from(secret)).export());
    return { algorithm: 'HS256', signing: key, verifying: key, publicJwk: null };
  } catch (error) {
    if (error instanceof SigningMaterialError) throw error;
    throw new SigningMaterialError('the signing key cannot be read', { cause: error });
  }
}

async function ed25519(privatePem: string, publicPem: string): Promise<Material> {
  const privateKey = privatePem === '' ? null : createPrivateKey(privatePem);
  const publicKey = createPublicKey(publicPem === '' ? privatePem : publicPem);
  for (const key of [privateKey, publicKey]) {
    if (key !== null && key.asymmetricKeyType !== 'ed25519') {
      throw new SigningMaterialError(`the key is ${key.asymmetricKeyType}, not Ed25519`);
    }
  }
  const jwk = publicKey.export({ format: 'jwk' }) as JWK;
  if (privateKey !== null && privateKey.export({ format: 'jwk' }).x !== jwk.x) {
    throw new SigningMaterialError('the public key is not that of the private key');
  }
  const raw = Buffer.from(jwk.x ?? '', 'base64url');
  const kid = createHash('sha256').update(raw).digest('hex').slice(0, 32);
  const importing = (from: JWK) => importJWK(from, 'EdDSA');
  return {
    algorithm: 'EdDSA',
    signing:
      privateKey === null ? null : await importing(privateKey.export({ format: 'jwk' }) as JWK),
    verifying: await importing(jwk),
    publicJwk: { ...jwk, kid, use: 'sig', alg: 'EdDSA' },
  };
}
