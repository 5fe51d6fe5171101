// Goal: acknowledgements and the pop behind them: one entry where both can be, verdicts that never
// wait for messages and are told whatever becomes of the pop, claims that reach nobody given back.
// Method: the pair over requests and deliveries that the test answers; whole nodes over a network
// that it cuts. Messages carry no transaction id.
import type { AckCommand, AckedOutcome, PoppedOutcome, RefusedOutcome } from '@svc/engine';
import type { AckedPop, DeliveredOutcome, Reply, SubmittedOutcome } from '@svc/http';
import { beforeEach, describe, expect, test } from 'vitest';
import { ClientRequest, type OnOutcome } from '../requests/held-request.js';
import { FakeGroup, type FakeMachine } from '../testing/group.fake.js';
import { Answers, ackOf, popOf, textsOf } from '../testing/group-clients.fake.js';
import { ackAndPop } from './ack-and-pop.js';

const ITEM = { success: true, error: null, leaseReleased: true, dlq: false, noop: false };
const ACKED: AckedOutcome = { kind: 'acked', items: [ITEM] };
const REFUSED: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'outcome_unknown', error: 'in doubt' },
};
const POP = popOf('q', 1000, 1000);
const CLAIMED: PoppedOutcome = {
  kind: 'popped',
  queue: 'q',
  consumerGroup: 'g',
  leaseId: 'lease',
  claims: [],
  terms: null,
};
const DELIVERED: DeliveredOutcome = {
  kind: 'delivered',
  leaseId: 'lease',
  claims: [],
  terms: null,
};

describe('the pair', () => {
  let acks: Reply<SubmittedOutcome> | null;
  let request: ClientRequest | null;
  let client: Answers<AckedPop | RefusedOutcome>;
  let calls: string[];
  /** The outcome of the acknowledgements, in the call that submits them. */
  let atOnce: SubmittedOutcome | null;

  beforeEach(() => {
    acks = null;
    request = null;
    client = new Answers();
    calls = [];
    atOnce = null;
  });

  function begin(items: AckCommand['items'] = [item]): void {
    const parts: Parameters<typeof ackAndPop>[0] = {
      requests: {
        submit: (command, deadlineMs, onOutcome: OnOutcome, reply = null) => {
          calls.push(command.kind);
          request = new ClientRequest({ end: () => {} }, command, deadlineMs, onOutcome, reply);
          return request;
        },
        abandon: (one) => {
          one.answered = true;
          calls.push('abandon');
        },
      },
      pops: {
        deliver: (_pop, _outcome, reply) => {
          calls.push('deliver');
          reply.send(DELIVERED);
        },
        giveBack: () => calls.push('give back'),
      },
      submit: (command, reply) => {
        calls.push(command.kind);
        acks = reply;
        if (atOnce !== null) reply.send(atOnce);
      },
    };
    ackAndPop(parts, { kind: 'ack', tenant: 't', consumerGroup: 'g', items }, POP, client);
  }

  const item = {
    transactionId: 'a',
    partitionId: '1',
    leaseId: 'l',
    status: 'completed',
    error: null,
  } as const;
  const both = (popped: AckedPop['popped']) => ({ kind: 'acked-pop', acked: ACKED, popped });

  test('acks are submitted before the pop, and answered with it', () => {
    begin();
    expect(calls).toEqual(['ack', 'pop']);
    acks?.send(ACKED);
    expect(client.all).toEqual([]);
    request?.answer(CLAIMED);
    expect(client.one).toEqual(both(DELIVERED));
  });

  test('without acks only the pop is submitted', () => {
    begin([]);
    request?.answer(CLAIMED);
    expect(calls).toEqual(['pop', 'deliver']);
    expect(client.one).toEqual({ ...both(DELIVERED), acked: { kind: 'acked', items: [] } });
  });

  test('a claim that comes before the verdicts waits for them', () => {
    begin();
    request?.answer(CLAIMED);
    expect([calls, client.all]).toEqual([['ack', 'pop'], []]);
    acks?.send(ACKED);
    expect(client.one).toEqual(both(DELIVERED));
  });

  test('a pop that is refused takes no verdict back', () => {
    begin();
    request?.answer(REFUSED);
    expect(client.all).toEqual([]);
    acks?.send(ACKED);
    expect(client.one).toEqual(both(REFUSED));
  });

  test('acks that are refused at once: nothing is popped', () => {
    atOnce = REFUSED;
    begin();
    expect(calls).toEqual(['ack']);
    expect(client.one).toEqual(REFUSED);
  });

  test.each(['before', 'after'])('acks refused %s the pop has claimed', (when) => {
    begin();
    if (when === 'after') request?.answer(CLAIMED);
    acks?.send(REFUSED);
    expect(client.one).toEqual(REFUSED);
    if (when === 'before') request?.answer({ ...CLAIMED, claims: [claim] });
    expect(calls).toEqual(['ack', 'pop', 'abandon', 'give back']);
  });

  test.each(['before', 'after'])('a client that goes %s its pop has claimed', (when) => {
    begin();
    if (when === 'after') request?.answer(CLAIMED);
    client.leave();
    if (when === 'before') request?.answer({ ...CLAIMED, claims: [claim] });
    acks?.send(ACKED);
    expect(calls).toEqual(['ack', 'pop', 'abandon', 'give back']);
    expect(client.all).toEqual([]);
  });

  const claim = {
    queue: 'q',
    partition: 'p',
    partitionNumber: 1,
    deliveryAttempt: 1,
    skipped: 0,
    slices: [],
  };
});

describe('over whole nodes', () => {
  interface Rig {
    readonly group: FakeGroup;
    readonly leader: FakeMachine;
    readonly follower: FakeMachine;
    readonly acks: AckCommand;
  }

  /** `first` to `third` are in one partition, and `first` is leased. */
  function newRig(): Rig {
    const group = new FakeGroup({ founders: 3, seed: 3 });
    const leader = group.leader();
    for (const text of ['first', 'second', 'third']) wait(group, leader.send('q', text));
    const acks = ackOf(popped(group, leader));
    group.converge();
    const follower = [...group.machines.values()].find((machine) => machine !== leader);
    if (follower === undefined) throw new Error('no follower');
    return { group, leader, follower, acks };
  }

  function wait<Answer>(group: FakeGroup, answers: Answers<Answer>): Answer {
    group.until('an answer', () => answers.all.length > 0);
    return answers.one;
  }

  function popped(group: FakeGroup, machine: FakeMachine): DeliveredOutcome {
    const outcome = wait(group, machine.pop('q', 1000));
    if (outcome.kind === 'refused') throw new Error(outcome.refusal.error);
    return outcome;
  }

  function told(answer: AckedPop | RefusedOutcome) {
    if (answer.kind === 'refused') throw new Error(answer.refusal.error);
    const { acked, popped } = answer;
    if (popped.kind === 'refused') throw new Error(popped.refusal.error);
    const attempt = popped.claims[0]?.deliveryAttempt ?? 0;
    return { verdicts: acked.items, texts: textsOf(popped), attempt };
  }

  const next = { verdicts: [ITEM], texts: ['second'], attempt: 1 };

  test('one entry settles the batch and claims the next for a pop that does not wait', () => {
    const { group, leader, acks } = newRig();
    const before = leader.status.lastIndex;
    expect(told(wait(group, leader.ackAndPop(acks, 'q')))).toEqual(next);
    expect(leader.status.lastIndex).toBe(before + 1);
  });

  test('a follower takes it as the leader does', () => {
    const { group, follower, acks } = newRig();
    expect(told(wait(group, follower.ackAndPop(acks, 'q')))).toEqual(next);
  });

  test('a refused item stops neither the others nor the pop', () => {
    const { group, follower, acks } = newRig();
    const stale = { ...(acks.items[0] as AckCommand['items'][0]), leaseId: 'over' };
    const answer = told(
      wait(group, follower.ackAndPop({ ...acks, items: [stale, ...acks.items] }, 'q')),
    );
    expect(answer.verdicts).toMatchObject([{ error: 'invalid or expired lease' }, ITEM]);
    expect(answer.texts).toEqual(['second']);
  });

  test.each(['leader', 'follower'] as const)(
    'acks at the %s do not wait with a pop that is parked, and stay when its client goes',
    (at) => {
      const rig = newRig();
      const { group, acks } = rig;
      const poll = rig[at].ackAndPop(acks, 'empty', 20_000);
      // The next message is there for others at once.
      const other = popped(group, rig.follower);
      expect(textsOf(other)).toEqual(['second']);
      expect(poll.all).toEqual([]);
      poll.leave();
      group.run(50);
      const third = rig.leader.ackAndPop(ackOf(other), 'q');
      expect(told(wait(group, third))).toMatchObject({ texts: ['third'], attempt: 1 });
      // Repeated they do nothing: another lease is on the partition by now.
      const repeated = wait(group, rig.follower.submit(acks));
      expect(repeated).toMatchObject({ items: [{ error: 'invalid or expired lease' }] });
      // A message for the one that has gone goes to another, as if it had never been claimed.
      const parked = rig.follower.ackAndPop({ ...acks, items: [] }, 'empty', 5000);
      wait(group, rig.leader.send('empty', 'x'));
      expect(told(wait(group, parked))).toEqual({ verdicts: [], texts: ['x'], attempt: 1 });
    },
  );

  test('a leader that dies between commit and answer: both are found and done once', () => {
    const { group, leader, follower, acks } = newRig();
    group.lost = (from, _to, channel) => from === leader.number && channel === 'answers';
    const answer = follower.ackAndPop(acks, 'q');
    group.run(20);
    expect(answer.all).toEqual([]);
    const committed = leader.status.lastIndex;
    leader.crash();
    group.until('another leader', () => group.leaders.some((machine) => machine !== leader));
    group.heal();
    expect(told(wait(group, answer))).toEqual(next);
    expect(follower.status.lastIndex).toBeLessThan(committed + 4);
  });

  test('a leader that dies while the pop is parked: acks stay, the pop is parked again', () => {
    const { group, leader, follower, acks } = newRig();
    const answer = follower.ackAndPop(acks, 'empty', 10_000);
    group.run(50);
    leader.crash();
    group.until('another leader', () => group.leaders.some((machine) => machine !== leader));
    wait(group, group.leader().send('empty', 'x'));
    expect(told(wait(group, answer))).toEqual({ verdicts: [ITEM], texts: ['x'], attempt: 1 });
  });

  test('a leader that dies before the commit: both go to the next one', () => {
    const { group, leader, follower, acks } = newRig();
    group.lost = (from, _to, channel) => from === leader.number && channel !== 'control';
    const answer = follower.ackAndPop(acks, 'q', 5000);
    group.run(10);
    leader.crash();
    group.until('another leader', () => group.leaders.some((machine) => machine !== leader));
    group.heal();
    expect(told(wait(group, answer))).toEqual(next);
  });
});
