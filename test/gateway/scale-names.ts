/**
 * Names of what `filling-hook.ts` writes and `figures.ts` asks for, and the hash by which the store
 * knows a key.
 */
import { createHash } from 'node:crypto';

export const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');
export const keyOf = (i: number): string => `qk_live_scale_${i}`;
export const slugOf = (i: number): string => `scale-${i}`;
