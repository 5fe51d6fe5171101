/** An entry of a log as a text that two machines can be compared by. */
import { crc32 } from 'node:zlib';
import type { LogEntry } from '@svc/storage';

export function entryText({ index, term, type, data }: LogEntry): string {
  return `${index} of term ${term}, type ${type}, ${data.length} bytes, CRC ${crc32(data)}`;
}
