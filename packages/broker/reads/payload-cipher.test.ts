// Goal: what is stored is the envelope of the contract, it opens with its key alone, and whatever
// is no envelope of this key comes back byte by byte. Method: envelopes taken apart by hand with
// the platform's primitives, payloads of many lengths, and look-alikes by table.
import { createDecipheriv } from 'node:crypto';
import { sealedBytes } from '@svc/engine';
import { describe, expect, test } from 'vitest';
import { keyWarning, payloadCipher } from './payload-cipher.js';

const KEY = '00112233445566778899aabbccddeeff0123456789ABCDEF0123456789abcdef';
const OTHER = KEY.replaceAll('0', 'f');

let drawn = 0;

function cipherOf(key: string) {
  const cipher = payloadCipher(key, (bytes) => {
    drawn++;
    for (let i = 0; i < bytes.length; i++) bytes[i] = (drawn * 31 + i) & 255;
  });
  if (cipher === null) throw new Error(`${key} is no key`);
  return cipher;
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');
const cipher = cipherOf(KEY);
const seal = (payload: string) => cipher.seal(Buffer.from(payload));
const open = (stored: string | Uint8Array) => text(cipher.open(Buffer.from(stored)));

test('the stored form, taken apart', () => {
  const stored = text(seal('{"a":1}'));
  expect(stored).toMatch(/^\{"encrypted":"[^"]+","iv":"[^"]{24}","authTag":"[^"]{24}"\}$/);
  const envelope = JSON.parse(stored) as { encrypted: string; iv: string; authTag: string };
  const iv = Buffer.from(envelope.iv, 'base64');
  const tag = Buffer.from(envelope.authTag, 'base64');
  expect([iv.length, tag.length]).toEqual([16, 16]);
  expect(envelope.iv).toBe(iv.toString('base64'));
  const decipher = createDecipheriv('aes-256-gcm', Buffer.from(KEY, 'hex'), iv.subarray(0, 12));
  decipher.setAuthTag(tag);
  const clear = Buffer.concat([
    decipher.update(Buffer.from(envelope.encrypted, 'base64')),
    decipher.final(),
  ]);
  expect(clear.toString()).toBe('{"a":1}');
});

test('payloads of any length come back; their envelopes have the length that is counted', () => {
  for (const length of [1, 2, 3, 4, 5, 15, 16, 17, 100, 4095, 4096, 100_001]) {
    const payload = `"${'ü'.repeat(length)}"`;
    const sealed = seal(payload);
    expect(sealed.length, `${length}`).toBe(sealedBytes(Buffer.byteLength(payload)));
    expect(open(sealed) === payload, `${length}`).toBe(true);
  }
});

test('one payload has another envelope each time', () => {
  expect(text(seal('1'))).not.toBe(text(seal('1')));
});

test('another key gives the envelope back', () => {
  const stored = seal('"secret"');
  expect(text(cipherOf(OTHER).open(stored))).toBe(text(stored));
});

test('every changed byte of the envelope is noticed', () => {
  const stored = Buffer.from(seal('{"amount":100}'));
  for (let i = 0; i < stored.length; i++) {
    const changed = Buffer.from(stored);
    changed[i] = (changed[i] ?? 0) ^ 1;
    const opened = open(changed);
    if (opened !== '{"amount":100}') expect(opened).toBe(changed.toString('utf8'));
    else expect(isUnused(stored, i), `byte ${i}`).toBe(true);
  }
});

/**
 * What follows the twelfth byte of the iv (sixteen characters of base64 are twelve bytes), and the
 * filling at the ends: of sixteen bytes three characters, of a ciphertext of fourteen two.
 */
function isUnused(stored: Buffer, at: number): boolean {
  const ivAt = stored.indexOf('"iv":"') + 6;
  const isIv = at >= ivAt + 16 && at < ivAt + 24;
  const textEnd = stored.indexOf('","iv"');
  const tagEnd = stored.length - 2;
  return isIv || (at >= textEnd - 2 && at < textEnd) || (at >= tagEnd - 3 && at < tagEnd);
}

describe('an envelope that another program wrote', () => {
  const { encrypted, iv, authTag } = JSON.parse(text(seal('[1,2]'))) as Record<string, string>;

  test.each([
    ['spaces', JSON.stringify({ encrypted, iv, authTag }, null, 2)],
    ['another order', JSON.stringify({ iv, authTag, encrypted })],
    ['leading space', ` \n${JSON.stringify({ authTag, encrypted, iv })}\t`],
    ['escapes', `{"encrypted":"${encrypted}","iv":"${iv}","authT\\u0061g":"${authTag}"}`],
  ])('%s', (_, stored) => {
    expect(open(stored)).toBe('[1,2]');
  });

  test.each([
    ['a member more', JSON.stringify({ encrypted, iv, authTag, more: 1 })],
    ['a member less', JSON.stringify({ encrypted, iv })],
    ['no string', JSON.stringify({ encrypted, iv, authTag: 1 })],
    ['a short iv', JSON.stringify({ encrypted, iv: iv?.slice(0, 16), authTag })],
    ['a short tag', JSON.stringify({ encrypted, iv, authTag: authTag?.slice(0, 16) })],
    ['no base64', JSON.stringify({ encrypted: '%%%', iv, authTag })],
    ['empty', JSON.stringify({ encrypted: '', iv: '', authTag: '' })],
    ['an array', JSON.stringify([encrypted, iv, authTag])],
    ['within another', JSON.stringify({ data: { encrypted, iv, authTag } })],
    ['text', JSON.stringify(JSON.stringify({ encrypted, iv, authTag }))],
    ['cut off', JSON.stringify({ encrypted, iv, authTag }).slice(0, -1)],
  ])('%s: it is a payload', (_, stored) => {
    const bytes = Buffer.from(stored);
    expect(cipher.open(bytes)).toBe(bytes);
  });
});

test.each(['null', '1', '"x"', '{}', '{"encrypted":true}', '[]', '{"encrypted":"a"}'])(
  'the payload %s is left alone',
  (payload) => {
    const bytes = Buffer.from(payload);
    expect(cipher.open(bytes)).toBe(bytes);
  },
);

test('an envelope in an encrypted queue is opened once', () => {
  const inner = text(seal('1'));
  expect(open(seal(inner))).toBe(inner);
});

describe('the key', () => {
  test.each<[string | null, boolean]>([
    [KEY, true],
    [` ${KEY}\n`, true],
    [KEY.toUpperCase(), true],
    [null, false],
    ['', false],
    [KEY.slice(1), false],
    [`${KEY}0`, false],
    [`${KEY.slice(1)}g`, false],
    [`0x${KEY.slice(2)}`, false],
  ])('%j', (key, isKey) => {
    expect(payloadCipher(key, () => {}) !== null).toBe(isKey);
    const isMalformed = !isKey && (key ?? '') !== '';
    expect(keyWarning(key) !== null).toBe(isMalformed);
  });

  test('the warning does not show it', () => {
    const warning = keyWarning('hunter2');
    expect(warning).toContain('SVC_ENCRYPTION_KEY must be 64 hex chars; encryption DISABLED: ');
    expect(warning).toContain('it has 7 characters');
    expect(warning).not.toContain('hunter2');
  });
});
