// Goal: an envelope is told from a payload. Method: the form of a node, and what is near it.
import { expect, test } from 'vitest';
import { isEnvelope } from './envelope.js';

const sixteen = 'AAECAwQFBgcICQoLDA0ODw==';

test.each([
  [`{"encrypted":"c2VjcmV0","iv":"${sixteen}","authTag":"${sixteen}"}`, true],
  [`{"encrypted":"","iv":"${sixteen}","authTag":"${sixteen}"}`, true],
  [`{"encrypted":true,"iv":"${sixteen}","authTag":"${sixteen}"}`, false],
  [`{"encrypted":"c2VjcmV0","iv":"","authTag":""}`, false],
  [`{"a":{"encrypted":"c2VjcmV0","iv":"${sixteen}","authTag":"${sixteen}"}}`, false],
  ['{}', false],
])('%s: %s', (text, isOne) => {
  expect(isEnvelope(text)).toBe(isOne);
});
