/** Random numbers that nobody can guess, and the ids that are made of them. */
import { formatUuid } from '@svc/wire';

export interface Random {
  /** So many bytes of a cryptographic generator. */
  bytes(length: number): Uint8Array;
}

/** A UUIDv4. Ids of rows and tenants say nothing about when they were made. */
export function newId(random: Random): string {
  const bytes = random.bytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return formatUuid(bytes);
}

/** The UUID of no row: its invalidation mark stands for sessions (gateway 2). */
export const NIL_ID = '00000000-0000-0000-0000-000000000000';
