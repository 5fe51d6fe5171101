/**
 * Which key a token is checked with. The configuration decides, never the token: it may only choose
 * among the algorithms for which there is a key, and each algorithm has the key of its own family,
 * so that the text of a public key can never serve as a secret.
 */
import { createPublicKey, type KeyObject, webcrypto } from 'node:crypto';
import type { CryptoKey, JWSHeaderParameters } from 'jose';
import {
  type AlgorithmSetting,
  algorithmsOf,
  familyOf,
  type KeyFamily,
  type TokenAlgorithm,
} from './algorithms.js';

export type VerificationKey = KeyObject | CryptoKey;

export interface KeyMaterial {
  readonly algorithm: AlgorithmSetting;
  readonly secret: string | null;
  /** PEM. */
  readonly publicKey: string | null;
  /** The keys of a key set; null without one. */
  readonly keyFromSet: KeyFromSet | null;
}

export type KeyFromSet = (header: JWSHeaderParameters) => Promise<VerificationKey>;

/** A token cannot be checked, for the key that the configuration gives is none (500). */
export class UnusableKeyError extends Error {
  readonly code = 'unusable_key';
}

/** No key can be had at the moment (503). */
export class KeysUnavailableError extends Error {
  readonly code = 'keys_unavailable';
}

const RSA_BITS_MIN = 2048;
/** What HMAC is used with, at least, lest the key be guessed (RFC 7518, 3.2). */
const SECRET_BYTES_MIN = 32;

export class TokenKeys {
  /** A token of another algorithm is refused unread. */
  readonly algorithms: readonly TokenAlgorithm[];
  /** What an operator has to know, found at the start. */
  readonly warnings: readonly string[];
  readonly #keys: ReadonlyMap<KeyFamily, FamilyKey>;

  constructor(material: KeyMaterial) {
    const wanted = algorithmsOf(material.algorithm);
    const keys = familyKeys(material);
    // Named alone, an algorithm without its key is the operator's mistake; under `auto` it is a
    // token that nobody could have signed for this node.
    const missing = material.algorithm === 'auto' ? 'refuse' : 'fault';
    this.algorithms = wanted.filter(
      (algorithm) => missing === 'fault' || keys.get(familyOf(algorithm))?.kind !== 'none',
    );
    this.#keys = keys;
    this.warnings = warningsOf(material, this.algorithms, keys);
  }

  async keyFor(header: JWSHeaderParameters): Promise<VerificationKey> {
    const family = familyOf(header.alg as TokenAlgorithm);
    const key = this.#keys.get(family);
    if (key?.kind === 'key') return key.key;
    if (key?.kind === 'set') return await key.find(header);
    throw new UnusableKeyError(UNUSABLE[family]);
  }
}

type FamilyKey =
  | { readonly kind: 'key'; readonly key: KeyObject }
  | { readonly kind: 'set'; readonly find: KeyFromSet }
  /** Something was given that is no such key. */
  | { readonly kind: 'unusable' }
  | { readonly kind: 'none' };

const NONE: FamilyKey = { kind: 'none' };
const UNUSABLE_KEY: FamilyKey = { kind: 'unusable' };

const UNUSABLE: { readonly [family in KeyFamily]: string } = {
  secret: 'HS secret not configured',
  rsa: 'invalid RSA public key PEM',
  ed25519: 'invalid Ed public key PEM',
};

function familyKeys(material: KeyMaterial): ReadonlyMap<KeyFamily, FamilyKey> {
  const { secret, publicKey, keyFromSet } = material;
  const secretKey: FamilyKey =
    secret === null || secret === ''
      ? NONE
      : { kind: 'set', find: secretKeys(Buffer.from(secret, 'utf8')) };
  if (publicKey === null) {
    const set: FamilyKey = keyFromSet === null ? NONE : { kind: 'set', find: keyFromSet };
    return new Map([
      ['secret', secretKey],
      ['rsa', set],
      ['ed25519', set],
    ]);
  }
  const key = publicKeyOf(publicKey);
  const family = key === null ? null : familyOfKey(key);
  const ofFamily = (wanted: KeyFamily): FamilyKey => {
    if (key === null || family === null) return UNUSABLE_KEY;
    return family === wanted ? { kind: 'key', key } : NONE;
  };
  return new Map([
    ['secret', secretKey],
    ['rsa', ofFamily('rsa')],
    ['ed25519', ofFamily('ed25519')],
  ]);
}

/**
 * A secret is imported once for each hash it is used with, and not again for each token, which is
 * what would be made of its bytes.
 */
function secretKeys(secret: Uint8Array): KeyFromSet {
  const imported = new Map<string, Promise<CryptoKey>>();
  return ({ alg = '' }) => {
    const known = imported.get(alg);
    if (known !== undefined) return known;
    const hmac = { name: 'HMAC', hash: `SHA-${alg.slice(2)}` };
    const key = webcrypto.subtle.importKey('raw', secret, hmac, false, ['verify']);
    imported.set(alg, key);
    return key;
  };
}

/** null for what is not the PEM of a public key or a certificate; a private key is none. */
function publicKeyOf(pem: string): KeyObject | null {
  if (!/-----BEGIN ((RSA )?PUBLIC KEY|CERTIFICATE)-----/.test(pem)) return null;
  try {
    return createPublicKey(pem);
  } catch {
    return null;
  }
}

/** null for a key that no algorithm here takes. */
function familyOfKey(key: KeyObject): KeyFamily | null {
  if (key.asymmetricKeyType === 'ed25519') return 'ed25519';
  if (key.asymmetricKeyType !== 'rsa') return null;
  return (key.asymmetricKeyDetails?.modulusLength ?? 0) >= RSA_BITS_MIN ? 'rsa' : null;
}

function warningsOf(
  { secret }: KeyMaterial,
  algorithms: readonly TokenAlgorithm[],
  keys: ReadonlyMap<KeyFamily, FamilyKey>,
): string[] {
  const families = [...new Set(algorithms.map(familyOf))];
  const useless = families.filter((family) => /none|unusable/.test(keys.get(family)?.kind ?? ''));
  const warnings = useless.map((family) => {
    const names = algorithms.filter((algorithm) => familyOf(algorithm) === family).join(', ');
    return `${UNUSABLE[family]}: every token signed with ${names} is answered 500`;
  });
  const secretBytes = Buffer.byteLength(secret ?? '', 'utf8');
  if (families.includes('secret') && secretBytes > 0 && secretBytes < SECRET_BYTES_MIN) {
    const least = `fewer than ${SECRET_BYTES_MIN} can be guessed from one token`;
    warnings.push(`JWT_SECRET has ${secretBytes} bytes: ${least}`);
  }
  return warnings;
}
