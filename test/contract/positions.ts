/** Asking by position. */
import type { Answer } from '@svc/http/api';
import type { FetchAnswer } from '@svc/wire';
import { bodyOf } from './broker-api.js';
import type { BrokerUnderTest } from './broker-under-test.js';

type ChangedAnswer = Answer<'POST /api/v1/partitions/changed'>;
type ChangedPageAnswer = Extract<
  ChangedAnswer['entries'][number],
  { readonly partitions: unknown }
>;

export const FETCH = '/api/v1/fetch';
export const CHANGED = '/api/v1/partitions/changed';
export const OFFSETS = '/api/v1/fetch/offsets';
export const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

export async function fetchEntries(
  { client }: BrokerUnderTest,
  entries: readonly object[],
  more: object = {},
): Promise<FetchAnswer['entries']> {
  const answer = await client.post(FETCH, { entries, ...more });
  return (bodyOf(answer, 200) as FetchAnswer).entries;
}

export async function changedEntries(
  { client }: BrokerUnderTest,
  entries: readonly object[],
): Promise<ChangedAnswer> {
  return bodyOf(await client.post(CHANGED, { entries }), 200) as ChangedAnswer;
}

export async function changedPage(
  broker: BrokerUnderTest,
  entry: object,
): Promise<ChangedPageAnswer> {
  const { entries } = await changedEntries(broker, [{ queue: broker.queue, ...entry }]);
  return entries[0] as ChangedPageAnswer;
}

/** Names of a page; what is none is shown as it came. */
export const names = (page: ChangedPageAnswer): string[] =>
  page.partitions?.map(({ name }) => name) ?? [JSON.stringify(page)];
