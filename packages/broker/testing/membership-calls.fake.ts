/** What an operator's calls about members come to, for tests of whole groups. */
import type { MembershipChange, MembershipRefused, MembershipView } from '@svc/http';
import type { Membership, MembershipErrorCode } from '@svc/wire';
import { ELECTION_MS, type FakeGroup, type FakeMachine } from './group.fake.js';
import type { Answers } from './group-clients.fake.js';

type Answer = MembershipView | MembershipRefused;

export function answerOf(group: FakeGroup, answers: Answers<Answer>, msMax = 60_000): Answer {
  group.until('an answer', () => answers.all.length > 0, msMax);
  return answers.one;
}

export function follower(group: FakeGroup): FakeMachine {
  const leader = group.leader();
  const other = [...group.machines.values()].find((one) => one !== leader && one.node !== null);
  if (other === undefined) throw new Error('everybody leads');
  return other;
}

export function changed(group: FakeGroup, at: FakeMachine, change: MembershipChange): Membership {
  const answer = answerOf(group, at.changeMembership(change));
  if (answer.kind !== 'membership') throw new Error(`${answer.code}: ${answer.error}`);
  return answer.membership;
}

export function refused(
  group: FakeGroup,
  at: FakeMachine,
  change: MembershipChange,
  timeoutMs = 30_000,
): [MembershipErrorCode, string] {
  const answer = answerOf(group, at.changeMembership(change, timeoutMs));
  if (answer.kind === 'membership') throw new Error('it was not refused');
  return [answer.code, answer.error];
}

export function acknowledged(group: FakeGroup, id: string): void {
  const answers = group.leader().push('q', id);
  group.until(`an answer to ${id}`, () => answers.all.length > 0);
  if (answers.one.kind !== 'pushed') throw new Error(JSON.stringify(answers.one));
}

/** The last entry of the leader's log, once nothing moves. */
export function lastIndex(group: FakeGroup): number {
  group.run(5 * ELECTION_MS);
  return group.leader().status.lastIndex;
}
