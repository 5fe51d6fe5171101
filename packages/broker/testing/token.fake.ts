/** Tokens for tests, made with the platform's own cryptography and none of the code under test. */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  sign,
} from 'node:crypto';
import type { TokenAlgorithm } from '../tokens/algorithms.js';

export interface SigningKey {
  readonly secret: string;
  readonly rsa: KeyObject;
  readonly ed25519: KeyObject;
}

export function newSigningKey(): SigningKey {
  return {
    secret: 'a secret of thirty-two bytes, or more',
    rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
    ed25519: generateKeyPairSync('ed25519').privateKey,
  };
}

export type Claims = Readonly<Record<string, unknown>>;

/** `header` is added to, or replaces, what the algorithm gives. */
export function tokenOf(
  key: SigningKey,
  algorithm: TokenAlgorithm,
  claims: Claims | string,
  header: Claims = {},
): string {
  const head = base64url(JSON.stringify({ alg: algorithm, typ: 'JWT', ...header }));
  const body = base64url(typeof claims === 'string' ? claims : JSON.stringify(claims));
  return `${head}.${body}.${signatureOf(key, algorithm, `${head}.${body}`)}`;
}

function signatureOf(key: SigningKey, algorithm: TokenAlgorithm, text: string): string {
  const bytes = Buffer.from(text, 'ascii');
  if (algorithm === 'EdDSA') return sign(null, bytes, key.ed25519).toString('base64url');
  const hash = `sha${algorithm.slice(2)}`;
  if (algorithm.startsWith('RS')) return sign(hash, bytes, key.rsa).toString('base64url');
  return createHmac(hash, key.secret).update(bytes).digest('base64url');
}

export function base64url(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64url');
}

export function pemOf(key: KeyObject): string {
  return createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
}

export function privatePemOf(key: KeyObject): string {
  return createPrivateKey(key.export({ type: 'pkcs8', format: 'pem' }))
    .export({ type: 'pkcs8', format: 'pem' })
    .toString();
}

/** As it stands in a key set. */
export function jwkOf(key: KeyObject, kid: string): JsonWebKey {
  return { ...createPublicKey(key).export({ format: 'jwk' }), kid, use: 'sig' };
}
