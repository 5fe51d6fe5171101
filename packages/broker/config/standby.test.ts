// Goal: each variable of a standby and of its source is read, replaced or refused as the contract
// says (standby-link 1). Method: environments, and what comes out of them.
import { expect, test } from 'vitest';
import { readConfig } from './config.js';
import type { Environment } from './values.js';
import { configWarnings } from './warnings.js';

const CLUSTER: Environment = {
  SVC_RAFT_REPLICATOR: 'openraft',
  SVC_RAFT_PEERS: '1=a:7400/a:6632,2=b:7400/b:6632',
};
const SOURCE: Environment = { ...CLUSTER, SVC_LINK_SOURCE: 's-0:7400' };

const NOTHING = {
  standbyToken: null,
  standbyHoldSeconds: 3600,
  standbyHoldDiskPct: 80,
  sourceAddresses: [],
  sourceToken: null,
  beginsAsStandby: false,
  seedNode: null,
  standbyName: null,
  standbyPipelineMax: 64,
};

test.each<[Environment, object]>([
  [{}, NOTHING],
  [CLUSTER, NOTHING],
  [{ ...CLUSTER, SVC_LINK_TOKEN: '  ' }, NOTHING],
  [{ ...CLUSTER, SVC_LINK_TOKEN: ' s3cret ' }, { standbyToken: 's3cret' }],
  [{ SVC_LINK_HOLD_S: '60' }, { standbyHoldSeconds: 60 }],
  [{ SVC_LINK_HOLD_S: '9' }, { standbyHoldSeconds: 10 }],
  [{ SVC_LINK_HOLD_S: '0' }, { standbyHoldSeconds: 3600 }],
  [{ SVC_LINK_HOLD_S: 'long' }, { standbyHoldSeconds: 3600 }],
  [{ SVC_LINK_HOLD_DISK_PCT: '99.5' }, { standbyHoldDiskPct: 99.5 }],
  [{ SVC_RAFT_DISK_LOW_PCT: '70' }, { standbyHoldDiskPct: 70 }],
  [{ SVC_LINK_HOLD_DISK_PCT: '0', SVC_RAFT_DISK_LOW_PCT: '70' }, { standbyHoldDiskPct: 70 }],
  [{ SVC_LINK_HOLD_DISK_PCT: '101', SVC_RAFT_DISK_LOW_PCT: 'x' }, { standbyHoldDiskPct: 80 }],
  [
    { ...CLUSTER, SVC_LINK_SOURCE: ' http://s-0:7400/, [::1]:7401 ,s-2:1/' },
    {
      sourceAddresses: [
        { host: 's-0', port: 7400 },
        { host: '::1', port: 7401 },
        { host: 's-2', port: 1 },
      ],
    },
  ],
  [{ ...SOURCE, SVC_LINK_SOURCE_TOKEN: ' t ' }, { sourceToken: 't' }],
  [{ ...SOURCE, SVC_LINK_STANDBY: 'Yes' }, { beginsAsStandby: true }],
  [{ ...SOURCE, SVC_LINK_STANDBY: 'on' }, { beginsAsStandby: true }],
  [{ SVC_LINK_STANDBY: 'maybe' }, { beginsAsStandby: false }],
  [{ ...SOURCE, SVC_LINK_SEED: '2' }, { seedNode: 2 }],
  // A node that joins has no list; the seed is named on it all the same.
  [{ ...SOURCE, SVC_RAFT_PEERS: '', SVC_LINK_SEED: '7' }, { seedNode: 7 }],
  [{ SVC_LINK_NAME: ' east ' }, { standbyName: 'east' }],
  [{ SVC_LINK_PIPELINE: '0' }, { standbyPipelineMax: 64 }],
  [{ SVC_LINK_PIPELINE: '1000' }, { standbyPipelineMax: 256 }],
])('%j is accepted', (environment, expected) => {
  expect(readConfig(environment, 'node')).toMatchObject({ kind: 'config', ...expected });
});

const ADDRESS = "is not `host:port` (a source node's Raft RPC address)";
const SEED = 'expected the id of the one node that takes the seed';

test.each<[Environment, string]>([
  [{ ...CLUSTER, SVC_LINK_SOURCE: 's-0' }, `SVC_LINK_SOURCE: \`s-0\` ${ADDRESS}`],
  [{ ...CLUSTER, SVC_LINK_SOURCE: 'a:1,' }, `SVC_LINK_SOURCE: \`\` ${ADDRESS}`],
  [
    { ...CLUSTER, SVC_LINK_SOURCE: 'a:1,https://b:2' },
    `SVC_LINK_SOURCE: \`https://b:2\` ${ADDRESS}`,
  ],
  [{ ...CLUSTER, SVC_LINK_SOURCE: 'a:1/x' }, `SVC_LINK_SOURCE: \`a:1/x\` ${ADDRESS}`],
  [
    { ...CLUSTER, SVC_LINK_STANDBY: '1' },
    'SVC_LINK_STANDBY needs SVC_LINK_SOURCE: a standby replays a source',
  ],
  [
    { ...CLUSTER, SVC_LINK_SEED: '1' },
    "SVC_LINK_SEED needs SVC_LINK_SOURCE: a seed is the source's snapshot",
  ],
  [{ ...SOURCE, SVC_LINK_SEED: 'x' }, `SVC_LINK_SEED=x: ${SEED}`],
  [{ ...SOURCE, SVC_LINK_SEED: '0' }, `SVC_LINK_SEED=0: ${SEED}`],
  [{ ...SOURCE, SVC_LINK_SEED: '3' }, 'SVC_LINK_SEED=3 is not in SVC_RAFT_PEERS'],
  [{ ...CLUSTER, SVC_LINK_TOKEN: 's3\nret' }, 'SVC_LINK_TOKEN has a control character'],
  [
    { ...SOURCE, SVC_LINK_SOURCE_TOKEN: 'x'.repeat(1025) },
    'SVC_LINK_SOURCE_TOKEN has more than 1024 bytes',
  ],
  [
    { SVC_LINK_NAME: 'a\tb' },
    'SVC_LINK_NAME="a\\tb": expected at most 200 characters, none of them a control character',
  ],
  [{ SVC_LINK_TOKEN: 't' }, 'SVC_LINK_TOKEN needs SVC_RAFT_REPLICATOR=openraft'],
  [{ SVC_LINK_SOURCE: 'a:1' }, 'SVC_LINK_SOURCE needs SVC_RAFT_REPLICATOR=openraft'],
])('%j is refused', (environment, error) => {
  expect(readConfig(environment, 'node')).toEqual({ kind: 'refused', error });
});

test.each<[Environment, string]>([
  [{ SVC_LINK_HOLD_S: '9' }, 'SVC_LINK_HOLD_S="9" is below 10: 10 is used'],
  [{ SVC_LINK_HOLD_S: 'long' }, 'is not a whole number without a unit: 3600 is used'],
  [{ SVC_LINK_HOLD_DISK_PCT: '0' }, 'is not a number from 1 to 100: that of SVC_RAFT_DISK_LOW_PCT'],
  [{ SVC_LINK_STANDBY: 'maybe' }, 'is none of 1, true, on, yes: it counts as off'],
  [{ SVC_LINK_PIPELINE: '1000' }, 'is above 256: 256 is used'],
])('%j is told', (environment, text) => {
  expect(configWarnings(environment)).toEqual([expect.stringContaining(text)]);
});
