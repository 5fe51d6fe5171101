// Goal: whoever sets a value that is replaced, or a name that is not read, is told what to write;
// whoever sets nothing wrong is told nothing. Method: environments and the lines they give.
import { expect, test } from 'vitest';
import type { Environment } from './values.js';
import type { Variable } from './variable.js';
import { VARIABLES } from './variables.js';
import { configWarnings } from './warnings.js';

const TOLD: readonly [Environment, string][] = [
  [
    { SVC_MAX_BODY_BYTES: '10MB' },
    'SVC_MAX_BODY_BYTES="10MB" is not a whole number without a unit; 10MB in bytes is 10485760: ' +
      '67108864 is used',
  ],
  [
    { SVC_MAX_BODY_BYTES: 'ten' },
    'SVC_MAX_BODY_BYTES="ten" is not a whole number without a unit: 67108864 is used',
  ],
  [{ SVC_MAX_BODY_BYTES: '0' }, 'SVC_MAX_BODY_BYTES="0" is below 1: 1 is used'],
  [{ SVC_LOG_RATES_MS: '5' }, 'SVC_LOG_RATES_MS="5" is below 1000: 1000 is used'],
  [{ SVC_RAFT_PIPELINE: '-1' }, 'SVC_RAFT_PIPELINE="-1" is not above 0: 8 is used'],
  [
    { SVC_RAFT_DISK_HIGH_PCT: '85%' },
    'SVC_RAFT_DISK_HIGH_PCT="85%" is not a number from 1 to 100: 85 is used',
  ],
  [
    { SVC_RAFT_ADMIT_MAX_MB: 'many' },
    'SVC_RAFT_ADMIT_MAX_MB="many" is not a whole number without a unit: it counts as unset',
  ],
  [
    { SVC_MAX_BODY_BYTE: '1000' },
    'SVC_MAX_BODY_BYTE is set, and this build reads no such variable: is SVC_MAX_BODY_BYTES meant?',
  ],
  [
    { SVC_BACKUP_EVERYTHING: '1' },
    'SVC_BACKUP_EVERYTHING is set, and this build reads no such variable: ' +
      'docs/configuration.md lists them',
  ],
];

test.each(TOLD)('%j', (environment, line) => {
  expect(configWarnings(environment)).toEqual([line]);
});

test('nothing is said of what is right, of other programs and of container platforms', () => {
  const environment = {
    SVC_MAX_BODY_BYTES: ' 1000 ',
    SVC_RAFT_METRICS: 'Off',
    SVC_RAFT_DISK_HIGH_PCT: '85.5',
    SVC_LOG_RATES_MS: '',
    SVC_LB_NODE_1: 'a:1',
    SVC_SERVICE_HOST: '10.0.0.1',
    SVC_PORT: 'tcp://10.0.0.1:6632',
    SVC_PORT_6632_TCP_ADDR: '10.0.0.1',
    SVC_NODES_SERVICE_PORT_HTTP: '6632',
    PATH: '/bin',
  };
  expect(configWarnings(environment)).toEqual([]);
});

test('no value of any variable is replaced unsaid', () => {
  for (const { names, kind } of Object.values(VARIABLES) as Variable<unknown>[]) {
    const [name] = names;
    for (const given of ['nonsense', '-5', '1.5', '10k', '7 8', '99999999999999999999']) {
      const parsed = kind.parse(given, name, { [name]: given });
      if (!parsed.ok || (kind.doubt?.(given) ?? null) !== null) continue;
      const shown = kind.show(parsed.value);
      const isUsed = shown.includes(given) || shown === `<set:${given.length} chars>`;
      expect(isUsed, `${name}=${given} is ${shown}`).toBe(true);
    }
  }
});
