/** Tokens as an identity provider would issue them, with keys made for the run. */
import {
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  sign,
} from 'node:crypto';

/** Signs under one key; `kid` is set where a key set has to find it. */
export interface Signer {
  readonly algorithm: 'HS256' | 'RS256' | 'EdDSA';
  readonly key: KeyObject | string;
  readonly kid?: string;
}

export function secretSigner(secret: string): Signer {
  return { algorithm: 'HS256', key: secret };
}

export function newRsaSigner(kid?: string): Signer {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { algorithm: 'RS256', key: privateKey, ...(kid === undefined ? {} : { kid }) };
}

export function newEd25519Signer(kid?: string): Signer {
  const { privateKey } = generateKeyPairSync('ed25519');
  return { algorithm: 'EdDSA', key: privateKey, ...(kid === undefined ? {} : { kid }) };
}

export type Claims = Readonly<Record<string, unknown>>;

export function signedToken({ algorithm, key, kid }: Signer, claims: Claims): string {
  const header = { alg: algorithm, typ: 'JWT', ...(kid === undefined ? {} : { kid }) };
  const text = `${base64url(header)}.${base64url(claims)}`;
  return `${text}.${signatureOf(algorithm, key, Buffer.from(text)).toString('base64url')}`;
}

function signatureOf(algorithm: Signer['algorithm'], key: KeyObject | string, text: Buffer) {
  if (typeof key === 'string') return createHmac('sha256', key).update(text).digest();
  return sign(algorithm === 'RS256' ? 'sha256' : null, text, key);
}

function base64url(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

export function publicPem(signer: Signer): string {
  return publicKeyOf(signer).export({ type: 'spki', format: 'pem' }).toString();
}

export function publicJwk(signer: Signer): JsonWebKey {
  const { kid } = signer;
  return { ...publicKeyOf(signer).export({ format: 'jwk' }), use: 'sig', ...(kid && { kid }) };
}

function publicKeyOf({ key }: Signer): KeyObject {
  if (typeof key === 'string') throw new TypeError('a secret has no public key');
  return createPublicKey(key);
}

/** Whole seconds since the epoch, `seconds` from now. */
export function secondsFromNow(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}
