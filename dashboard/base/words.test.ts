// Goal: a name is seen as it is, and typed as it is seen. Method: names that hide something.
import { expect, test } from 'vitest';
import { isSameName, shownName } from './words.js';

test.each([
  ['a\nb\u007f', 'a⟨U+000A⟩b⟨U+007F⟩'],
  ['a\u0085b', 'a⟨U+0085⟩b'],
  ['gpj\u202eexe', 'gpj⟨U+202E⟩exe'],
  ['a\u200bb\ufeff', 'a⟨U+200B⟩b⟨U+FEFF⟩'],
  ['a\u2028b', 'a⟨U+2028⟩b'],
  ['\ud800', '⟨U+D800⟩'],
  ['👩\u200d🚀 نمی\u200cخواهم', '👩\u200d🚀 نمی\u200cخواهم'],
])('%j is shown as %s', (name, shown) => {
  expect(shownName(name)).toBe(shown);
});

test.each([
  ['orders', 'orders', true],
  [' orders ', 'orders', true],
  ['orders', ' orders', true],
  ['order', 'orders', false],
  ['a⟨U+000A⟩b', 'a\nb', true],
  ['', ' ', false],
  [' ', ' ', true],
  ['', '', true],
])('%j for %j: %s', (typed, name, isSame) => {
  expect(isSameName(typed, name)).toBe(isSame);
});
