/** Goal: an offer names what the log lacks and nothing else. Method: a state with memberships. */
import { applyMembership, MapState } from '@svc/engine';
import { configuration, encodeConfiguration, nodeId } from '@svc/raft';
import { describe, expect, test } from 'vitest';
import { decodeManifest, encodeManifest, snapshotOffer } from './snapshot-offer.js';

const ONE = configuration([nodeId(1)]);
const TWO = configuration([nodeId(1), nodeId(2)]);

function stateWithMembers(): MapState {
  const state = new MapState();
  applyMembership(state, 1, encodeConfiguration(ONE, new Uint8Array(0)));
  applyMembership(state, 30, encodeConfiguration(TWO, new Uint8Array(3)));
  return state;
}

function logFrom(firstIndex: number) {
  return { firstIndex, term: (index: number) => (index === firstIndex - 1 ? 4 : undefined) };
}

describe('an offer', () => {
  test('stands for the log before its first entry, with the members as of then', () => {
    const state = stateWithMembers();
    const offer = snapshotOffer({ log: logFrom(25), state, checkpointIndex: 60 });
    expect(offer).toMatchObject({ index: 24, term: 4, configuration: ONE, configurationIndex: 1 });
    expect(decodeManifest(offer?.manifest ?? new Uint8Array(0))).toEqual({ appliedIndex: 60 });
    const later = snapshotOffer({ log: logFrom(31), state, checkpointIndex: 60 });
    expect(later).toMatchObject({ index: 30, configuration: TWO, configurationIndex: 30 });
  });

  test('is not made without need or means', () => {
    const state = stateWithMembers();
    expect(snapshotOffer({ log: logFrom(1), state, checkpointIndex: 60 })).toBeUndefined();
    expect(snapshotOffer({ log: logFrom(25), state, checkpointIndex: 23 })).toBeUndefined();
    const empty = new MapState();
    expect(snapshotOffer({ log: logFrom(25), state: empty, checkpointIndex: 60 })).toBeUndefined();
  });

  test('has a manifest that is read or refused', () => {
    const bytes = encodeManifest({ appliedIndex: Number.MAX_SAFE_INTEGER });
    expect(decodeManifest(bytes)).toEqual({ appliedIndex: Number.MAX_SAFE_INTEGER });
    expect(decodeManifest(bytes.subarray(1))).toBeNull();
    expect(decodeManifest(Uint8Array.of(2, ...bytes.subarray(1)))).toBeNull();
    expect(decodeManifest(new Uint8Array(9).fill(0xff))).toBeNull();
  });
});
