/** What an answer about a lock says, as the checker of locks wants it. */
import type { LockResult } from '@svc/wire';
import type { LockCall } from '../checkers/lock-checker.js';

/** `named`: the slot that was asked for, if any. */
export function lockTold(
  result: LockResult,
  named: number | null,
): Pick<LockCall, 'outcome' | 'slot' | 'granted'> {
  const none = { slot: named, granted: null };
  switch (result.op) {
    case 'acquire': {
      if (!result.acquired) return { ...none, outcome: result.reason };
      const outcome = result.already === true ? 'already' : 'granted';
      return { outcome, slot: result.slot, granted: result.token };
    }
    case 'renew':
      if (!result.renewed) return { ...none, outcome: 'lost' };
      return { outcome: 'granted', slot: result.slot, granted: result.token };
    case 'release':
      return { ...none, outcome: result.released ? 'released' : 'lost' };
    case 'get':
      throw new Error('nobody asked who holds a lock');
  }
}
