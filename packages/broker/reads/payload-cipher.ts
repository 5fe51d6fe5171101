/**
 * Envelopes with AES-256-GCM under `SVC_ENCRYPTION_KEY`.
 *
 *     {"encrypted":"<ciphertext>","iv":"<16 bytes>","authTag":"<16 bytes>"}    standard base64
 *
 * Sixteen random bytes are stored as `iv`, and the first twelve are the nonce. A nonce must not
 * come twice under one key: with 96 random bits the chance of it stays below 2^-32 for 2^32
 * messages.
 *
 * An envelope is told by its form alone, for a stored payload carries no mark: an object of
 * exactly these three members, each a string. Ours have one form, known by its ends, and cost one
 * base64 decoding. Others, of a client that has the key itself or that moved its data from another
 * broker, may have spaces and another order: they are parsed, and only if their first member has
 * one of the three names, so that a plain payload costs a look at its first bytes.
 *
 * What must hold: `open` never throws and never gives half a payload. Whatever the key does not
 * authenticate comes back as it was stored. What it does authenticate is put into answers as it is;
 * that it is JSON rests on whoever holds the key, which is this cluster and its operator.
 */
import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import { type PayloadCipher, sealedBytes } from '@svc/engine';

const ALGORITHM = 'aes-256-gcm';
const KEY = /^[0-9a-fA-F]{64}$/;
const IV_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const TAG_OPTIONS = { authTagLength: TAG_BYTES } as const;

const HEAD = Buffer.from('{"encrypted":"', 'latin1');
const IV_HEAD = Buffer.from('","iv":"', 'latin1');
const TAG_HEAD = Buffer.from('","authTag":"', 'latin1');
const END = Buffer.from('"}', 'latin1');
const BASE64_OF_16 = 24;
/** From the end of the ciphertext to the end of the envelope. */
const REST_BYTES = IV_HEAD.length + BASE64_OF_16 + TAG_HEAD.length + BASE64_OF_16 + END.length;
const MEMBERS = ['encrypted', 'iv', 'authTag'] as const;
/** Before the first member's name ends: a brace, a quote, the longest name, and some spaces. */
const LOOK_BYTES = 64;
const BRACE = 0x7b;
const FIRST_MEMBER = /^\s*\{\s*"(?:encrypted|iv|authTag)"/;

interface Envelope {
  readonly ciphertext: Uint8Array;
  readonly iv: Uint8Array;
  readonly tag: Uint8Array;
}

/** Makes every byte a random one. */
export type Fill = (bytes: Uint8Array) => void;

/**
 * null: the text is no key, and there is no encryption. `onUnopened` is called for each envelope
 * that the key does not open.
 */
export function payloadCipher(
  keyText: string | null,
  fill: Fill,
  onUnopened: () => void = () => {},
): PayloadCipher | null {
  const text = keyText?.trim() ?? '';
  if (!KEY.test(text)) return null;
  const key = createSecretKey(Buffer.from(text, 'hex'));
  return {
    seal: (payload) => seal(key, fill, payload),
    open: (stored) => open(key, stored, onUnopened),
    isEnvelope: (stored) => envelopeIn(stored) !== null,
  };
}

/** The warning to the operator at boot (cluster-and-config 2.7); null: a key, or none. */
export function keyWarning(keyText: string | null): string | null {
  const text = keyText?.trim() ?? '';
  if (text === '' || KEY.test(text)) return null;
  return (
    'SVC_ENCRYPTION_KEY must be 64 hex chars; encryption DISABLED: ' +
    `it has ${text.length} characters or others than hexadecimal digits, and ` +
    'payloads are stored in plain text, in queues with encryptionEnabled too'
  );
}

function seal(key: KeyObject, fill: Fill, payload: Uint8Array): Uint8Array {
  const iv = Buffer.allocUnsafe(IV_BYTES);
  fill(iv);
  const cipher = createCipheriv(ALGORITHM, key, iv.subarray(0, NONCE_BYTES), TAG_OPTIONS);
  const ciphertext = cipher.update(payload);
  // A stream cipher: nothing is left for the end.
  cipher.final();
  const envelope = Buffer.allocUnsafe(sealedBytes(payload.length));
  let at = HEAD.copy(envelope);
  at += envelope.write(ciphertext.toString('base64'), at, 'latin1');
  at += IV_HEAD.copy(envelope, at);
  at += envelope.write(iv.toString('base64'), at, 'latin1');
  at += TAG_HEAD.copy(envelope, at);
  at += envelope.write(cipher.getAuthTag().toString('base64'), at, 'latin1');
  at += END.copy(envelope, at);
  if (at !== envelope.length) throw new Error(`${at} bytes of an envelope of ${envelope.length}`);
  return envelope;
}

function envelopeIn(stored: Uint8Array): Envelope | null {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  return ownEnvelope(bytes) ?? foreignEnvelope(bytes);
}

function open(key: KeyObject, stored: Uint8Array, onUnopened: () => void): Uint8Array {
  const envelope = envelopeIn(stored);
  if (envelope === null) return stored;
  const { ciphertext, iv, tag } = envelope;
  const decipher = createDecipheriv(ALGORITHM, key, iv.subarray(0, NONCE_BYTES), TAG_OPTIONS);
  decipher.setAuthTag(tag);
  const payload = decipher.update(ciphertext);
  try {
    decipher.final();
  } catch {
    // Another key, or somebody's payload that only looks like an envelope.
    onUnopened();
    return stored;
  }
  return payload;
}

/** In the form that `seal` writes; null: it has another. */
function ownEnvelope(bytes: Buffer): Envelope | null {
  const length = bytes.length;
  const restAt = length - REST_BYTES;
  if (restAt < HEAD.length || !isAt(bytes, 0, HEAD)) return null;
  const ivAt = restAt + IV_HEAD.length;
  const tagHeadAt = ivAt + BASE64_OF_16;
  const tagAt = tagHeadAt + TAG_HEAD.length;
  if (!isAt(bytes, restAt, IV_HEAD) || !isAt(bytes, tagHeadAt, TAG_HEAD)) return null;
  if (!isAt(bytes, length - END.length, END)) return null;
  return envelopeOf(
    bytes.toString('latin1', HEAD.length, restAt),
    bytes.toString('latin1', ivAt, tagHeadAt),
    bytes.toString('latin1', tagAt, length - END.length),
  );
}

/** In any form that JSON allows; null: it is no envelope. */
function foreignEnvelope(bytes: Buffer): Envelope | null {
  if (bytes[0] !== BRACE && !isSpace(bytes[0])) return null;
  if (!FIRST_MEMBER.test(bytes.toString('latin1', 0, LOOK_BYTES))) return null;
  let value: Partial<Record<string, unknown>>;
  try {
    value = JSON.parse(bytes.toString('utf8')) as Partial<Record<string, unknown>>;
  } catch {
    return null;
  }
  const { encrypted, iv, authTag } = value;
  if (Object.keys(value).length !== MEMBERS.length) return null;
  if (typeof encrypted !== 'string' || typeof iv !== 'string') return null;
  return typeof authTag === 'string' ? envelopeOf(encrypted, iv, authTag) : null;
}

function envelopeOf(encrypted: string, iv: string, tag: string): Envelope | null {
  const envelope = {
    ciphertext: Buffer.from(encrypted, 'base64'),
    iv: Buffer.from(iv, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
  if (envelope.iv.length !== IV_BYTES || envelope.tag.length !== TAG_BYTES) return null;
  return envelope;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d);
}

function isAt(bytes: Buffer, position: number, wanted: Buffer): boolean {
  return bytes.compare(wanted, 0, wanted.length, position, position + wanted.length) === 0;
}
