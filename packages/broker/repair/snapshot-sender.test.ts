/**
 * Goal: a receiver that asks for ever keeps the log for an hour and not for ever, and gets no rows
 * without the log behind them. Method: a sender over a view of two rows, under a clock that the
 * test moves.
 */
import type { NodeId } from '@svc/raft';
import type { BackingView } from '@svc/storage';
import { expect, test } from 'vitest';
import { memberId } from '../config/member-id.js';
import type { FrameContent, SnapshotName } from '../peers/frames.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { SnapshotSender } from './snapshot-sender.js';

const RECEIVER = memberId(2, 0);
const NAME: SnapshotName = {
  index: 100,
  term: 2,
  digest: '0123456789abcdef',
  localDigest: 'ffffffffffffffff',
};
const MINUTE_MS = 60_000;

class Fixture {
  readonly clock = new MovedClock();
  readonly sent: FrameContent[] = [];
  firstIndex = 50;
  name = NAME;
  members: readonly NodeId[] = [memberId(1, 0), RECEIVER];
  views = 0;
  readonly sender = new SnapshotSender({
    openView: () => {
      this.views++;
      const rows = [{ key: '\x01a', value: new Uint8Array(4) }];
      const view: BackingView = {
        applied: this.name,
        rows: () => ({ rows, isLast: false }),
        release: () => {
          this.views--;
        },
      };
      return view;
    },
    firstIndex: () => this.firstIndex,
    isMember: (member) => this.members.includes(member),
    send: (_to, content) => this.sent.push(content) > 0,
    clock: this.clock,
  });

  /** Asks once in ten seconds; the kind of the last answer, and why it was refused. */
  askFor(ms: number, attempt: number): string {
    for (let left = ms; left > 0; left -= 10_000) {
      this.clock.move(10_000);
      this.sender.onAsk(RECEIVER, { kind: 'snapshot-ask', attempt, name: NAME, after: null });
    }
    const last = this.sent.at(-1);
    return last?.kind === 'snapshot-refused' ? `refused, ${last.reason}` : (last?.kind ?? 'none');
  }
}

test('a transfer that has had its hour is over: it begins anew, under another attempt', () => {
  const fixture = new Fixture();
  expect(fixture.askFor(59 * MINUTE_MS, 7)).toBe('snapshot-chunk');
  expect(fixture.sender.heldFrom).toBe(50);
  fixture.firstIndex = 90;
  for (let hour = 0; hour < 3; hour++) {
    expect(fixture.askFor(60 * MINUTE_MS, 7)).toBe('refused, gone');
    expect(fixture.sender.heldFrom).toBeNull();
  }
  expect(fixture.askFor(MINUTE_MS, 8)).toBe('snapshot-chunk');
  expect(fixture.sender.heldFrom).toBe(90);
  fixture.sender.stop();
  expect(fixture.views).toBe(0);
});

test('a receiver that was silent for a while goes on under its attempt', () => {
  const fixture = new Fixture();
  expect(fixture.askFor(MINUTE_MS, 7)).toBe('snapshot-chunk');
  fixture.clock.move(5 * MINUTE_MS);
  fixture.sender.tick();
  expect(fixture.sender.heldFrom).toBeNull();
  expect(fixture.askFor(MINUTE_MS, 7)).toBe('snapshot-chunk');
  expect(fixture.sender.heldFrom).toBe(50);
});

test('rows are gone with the entries behind them, which a full volume takes', () => {
  const fixture = new Fixture();
  expect(fixture.askFor(MINUTE_MS, 7)).toBe('snapshot-chunk');
  fixture.firstIndex = 90;
  // The newest checkpoint may be the same still: then it names nothing of what has gone.
  for (let i = 0; i < 5; i++) expect(fixture.askFor(10_000, 7)).toBe('snapshot-chunk');
  expect(fixture.views).toBe(1);
  fixture.firstIndex = 95;
  fixture.name = { ...NAME, index: 200 };
  expect(fixture.askFor(10_000, 7)).toBe('refused, gone');
  fixture.sender.stop();
  expect(fixture.views).toBe(0);
});

test('standbys take no place of a member', () => {
  const { sender } = new Fixture();
  const kinds = ['east', 'west', 'north', RECEIVER, 'west'].map((receiver, attempt) => {
    return sender.answer(receiver, { kind: 'snapshot-ask', attempt, name: null, after: null })
      ?.kind;
  });
  const [chunk, refused] = ['snapshot-chunk', 'snapshot-refused'];
  expect(kinds).toEqual([chunk, chunk, refused, chunk, chunk]);
});
