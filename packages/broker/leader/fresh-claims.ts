/**
 * The claims of a pop as they can be read now. Between the turn that made them and their way to the
 * client lies time, much of it when they came from another node late: what they name may have moved
 * within the log since, and the entry that they name been given up; or retention took it, leases or
 * not (message-plane 11.2). A log that still has the entries has the messages, moved or not.
 */
import { type AppendSlice, type Claim, freshSlice, type State } from '@svc/engine';

/** Claims without a message left are not among them. */
export function freshClaims(
  state: State,
  logFirstIndex: number,
  claims: readonly Claim[],
): readonly Claim[] {
  if (!isAnyStale(claims, logFirstIndex)) return claims;
  const isStale = ({ index }: AppendSlice) => index < logFirstIndex;
  return claims.flatMap((claim) => {
    const slices = claim.slices.flatMap((slice) => {
      const fresh = isStale(slice) ? freshSlice(state, claim.partitionNumber, slice) : slice;
      return fresh === null ? [] : [fresh];
    });
    return slices.length === 0 ? [] : [{ ...claim, slices }];
  });
}

/** Hardly ever: every pop asks. */
function isAnyStale(claims: readonly Claim[], logFirstIndex: number): boolean {
  for (const { slices } of claims) {
    for (const { index } of slices) if (index < logFirstIndex) return true;
  }
  return false;
}
