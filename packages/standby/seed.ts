/**
 * A standby's request for the rows of its source's state, and the head of the answer
 * (standby-link 5 and 9). One request asks for one portion, and names the one before by its last
 * key, so a transfer goes on wherever it was interrupted, at any node that has the same rows.
 *
 *     POST /link/v1/snapshot {"reader":"standby-5e1f09c2","attempt":7,"name":null,"after":null}
 *     200 {"clusterId":"...","logIndex":17,"logTerm":2}\n rows
 *
 * The head says where the log of the node begins. Rows name entries of the log, and those from
 * there on are read as every standby reads (read.ts).
 */

import { NO_TEXT } from './read.js';

/** On the port between nodes. */
export const SEED_PATH = '/link/v1/snapshot';
/** A key of the store has 1,978 bytes at most, in hexadecimal; names and numbers beside it. */
export const SEED_REQUEST_BYTES_MAX = 6144;
export const SEED_HEAD_BYTES_MAX = 256;
const NAME_LENGTH_MAX = 200;
const DIGEST = /^[0-9a-f]{16}$/;
const KEY = /^([0-9a-f]{2}){1,1978}$/;
const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** Two states of one name have the same rows. */
export interface RowsName {
  /** What they contain: the entries up to this one. */
  readonly index: number;
  readonly term: number;
  readonly digest: string;
  readonly localDigest: string;
}

export interface SeedRequest {
  /** Names the hold that keeps the log; not empty. */
  readonly reader: string;
  /** Drawn at random for each transfer: 0 to 2^32 - 1. */
  readonly attempt: number;
  /** null: whatever rows are the newest. */
  readonly name: RowsName | null;
  /** The last key that is there, one byte for each character; null: none. */
  readonly after: string | null;
}

export interface SeedHead {
  readonly clusterId: string;
  /** The entry before the first of the node's log, and its term. */
  readonly logIndex: number;
  readonly logTerm: number;
}

export function encodeSeedRequest({ after, ...request }: SeedRequest): string {
  const key = after === null ? null : hexOf(after);
  return JSON.stringify({ ...request, after: key });
}

export function parseSeedRequest(text: string): SeedRequest | { readonly error: string } {
  const fields = objectOf(text);
  if (fields === null) return { error: 'the body is not a JSON object' };
  const { reader, attempt, name = null, after = null } = fields;
  if (typeof reader !== 'string' || reader === '' || reader.length > NAME_LENGTH_MAX) {
    return { error: `reader is not a string of 1 to ${NAME_LENGTH_MAX} characters` };
  }
  if (NO_TEXT.test(reader)) return { error: 'reader has a character that is no text' };
  if (!isWhole(attempt, 2 ** 32 - 1)) return { error: 'attempt is not an integer below 2^32' };
  if (after !== null && (typeof after !== 'string' || !KEY.test(after))) {
    return { error: 'after is neither null nor a key in hexadecimal' };
  }
  const rows = name === null ? null : rowsNameOf(name);
  if (rows === undefined) return { error: 'name is neither null nor the name of rows' };
  const key = after === null ? null : keyOf(after as string);
  return { reader, attempt: attempt as number, name: rows, after: key };
}

export function encodeSeedHead({ clusterId, logIndex, logTerm }: SeedHead): string {
  return `${JSON.stringify({ clusterId, logIndex, logTerm })}\n`;
}

/** null: it is not the head of such an answer. */
export function parseSeedHead(text: string): SeedHead | null {
  const { clusterId, logIndex, logTerm } = objectOf(text) ?? {};
  if (typeof clusterId !== 'string' || !UUID.test(clusterId)) return null;
  if (!isWhole(logIndex) || !isWhole(logTerm)) return null;
  return { clusterId, logIndex: logIndex as number, logTerm: logTerm as number };
}

function objectOf(text: string): { readonly [name: string]: unknown } | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  return value as { readonly [name: string]: unknown };
}

/** undefined: it is none. */
function rowsNameOf(value: unknown): RowsName | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { index, term, digest, localDigest } = value as Partial<RowsName>;
  if (!isWhole(index) || !isWhole(term)) return undefined;
  if (typeof digest !== 'string' || !DIGEST.test(digest)) return undefined;
  if (typeof localDigest !== 'string' || !DIGEST.test(localDigest)) return undefined;
  return { index: index as number, term: term as number, digest, localDigest };
}

function isWhole(value: unknown, most = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= most;
}

function hexOf(key: string): string {
  return Array.from(key, (one) => one.charCodeAt(0).toString(16).padStart(2, '0')).join('');
}

function keyOf(hex: string): string {
  const codes = Array.from({ length: hex.length / 2 }, (_, at) =>
    Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16),
  );
  return codes.reduce((key, code) => key + String.fromCharCode(code), '');
}
