// Prepared push requests: built once, sent many times.

import { requestBytes } from '../rig/http-connection.js';

/**
 * Payloads whose JSON text has exactly `payloadBytes` bytes. Their text is pseudo-random letters,
 * so that a disk or a file system that compresses does not flatter the figures.
 */
export function payloadTexts(count: number, payloadBytes: number): readonly string[] {
  const frameBytes = '{"text":""}'.length;
  const texts: string[] = [];
  let state = 0x2545f491;
  for (let index = 0; index < count; index += 1) {
    let letters = '';
    while (letters.length < payloadBytes - frameBytes) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      letters += (state >>> 0).toString(36);
    }
    texts.push(`{"text":"${letters.slice(0, payloadBytes - frameBytes)}"}`);
  }
  return texts;
}

/** The body of one push of `payloads` to one partition, without transaction ids. */
export function pushBody(queue: string, partition: string, payloads: readonly string[]): string {
  const target = `{"queue":${JSON.stringify(queue)},"partition":${JSON.stringify(partition)}`;
  return `{"items":[${payloads.map((text) => `${target},"payload":${text}}`).join(',')}]}`;
}

export function partitionName(index: number): string {
  return `p${index}`;
}

/** One request per partition, each of `batch` messages. */
export function pushRequests(
  queue: string,
  partitions: number,
  batch: number,
  payloadBytes: number,
  token?: string,
  host?: string,
): readonly Buffer[] {
  const payloads = payloadTexts(batch, payloadBytes);
  return Array.from({ length: partitions }, (_, index) => {
    const body = pushBody(queue, partitionName(index), payloads);
    return requestBytes('POST', '/api/v1/push', body, token, host);
  });
}
