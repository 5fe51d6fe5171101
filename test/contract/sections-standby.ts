/** The lines of a standby and its source (standby-link 5, 6, 9); see sections.ts. */
import { sections } from './section.js';

const STATUS = 'packages/broker/standby/status.test.ts';
const FOLLOWER = 'packages/standby/follower.test.ts';
const OBSTACLES = 'packages/standby/follower-obstacles.test.ts';
const CLIENT = 'packages/broker/standby/source-client.test.ts';
const SERVER = 'packages/broker/standby/source-server.test.ts';
const READ = 'packages/standby/read.test.ts';
const FAMILIES = 'http/metrics/standby-families.test.ts';
const MIRROR = 'packages/engine/features/standby/mirror.test.ts';
const SYSTEM_ROUTES = 'test/contract/tables/system-routes.ts';
const SCOPE = 'http/server/scope.test.ts';

const FIELDS = {
  source: STATUS,
  'sinceUs / promotedAtUs': STATUS,
  position: STATUS,
  configuredSource: STATUS,
  'follower.source': FOLLOWER,
  'follower.scanned': FOLLOWER,
  'follower.sourceApplied': FOLLOWER,
  'follower.lagEntries': FOLLOWER,
  'follower.lagMs': FOLLOWER,
  'follower.lastAnswerMs': FOLLOWER,
  'follower.entries': FOLLOWER,
  'readers[]': 'test/process/standby-source.test.ts',
  holding: 'packages/broker/standby/hold-keeper.test.ts',
  'no follower once promoted': STATUS,
};

const STATES = {
  idle: FOLLOWER,
  following: FOLLOWER,
  waiting: OBSTACLES,
  halted: OBSTACLES,
  'no answer within 22s': CLIENT,
  'connection error': CLIENT,
  'refused token': CLIENT,
  'no link': CLIENT,
  'no node of the source is as far': OBSTACLES,
  'raises the cluster version': MIRROR,
  'a source entry was not read': CLIENT,
  'a volume of this standby is full': 'packages/broker/node/standby.test.ts',
  'purged its log': OBSTACLES,
  'followed another log': OBSTACLES,
  'has diverged': OBSTACLES,
  'own standby entry': MIRROR,
  'source is cluster': CLIENT,
};

const PROMOTION = {
  'promote: not_standby': SYSTEM_ROUTES,
  'promote: retry': 'http/endpoints/node/node.test.ts',
  'promote: leadership moves': 'packages/broker/node/standby.test.ts',
  'promote: admin': SCOPE,
  'promote: any node, two at once': 'packages/broker/node/standby.test.ts',
};

const SERIES = Object.fromEntries(
  [
    'svc_link_role',
    'svc_link_position_index',
    'svc_link_follower_state',
    'svc_link_lag_entries',
    'svc_link_lag_seconds',
    'svc_link_last_answer_seconds',
    'svc_link_entries_total',
    'svc_link_readers, reader_behind_entries, reader_idle_seconds, holding',
  ].map((series) => [series, FAMILIES]),
);

const TRANSPORT = {
  'token: 401': SERVER,
  'no token: 404': SERVER,
  'up to what is applied': 'packages/broker/standby/source-group.test.ts',
  waitMs: 'packages/broker/standby/source-reads.test.ts',
  maxBytes: 'packages/broker/standby/source-reads.test.ts',
  'connect within 2 s': CLIENT,
  '0 entries': READ,
  '1 purged': READ,
  '2 mismatch': READ,
  'order of decisions': READ,
  holdOnly: READ,
  snapshot: 'packages/broker/node/seeding.test.ts',
  'snapshot: silence': CLIENT,
  'a whole answer is pipelined': FOLLOWER,
  SVC_LINK_PIPELINE: 'packages/broker/leader/standby-leader.test.ts',
  'from the committed position': 'packages/standby/follower-random.test.ts',
};

export const STANDBY = sections({
  'standby-link 5': {
    rows: [
      'no link at all',
      'standby (leader)',
      'promoted',
      'source with readers',
      ...Object.keys(FIELDS),
      ...Object.keys(STATES),
      'promote: 200',
      ...Object.keys(PROMOTION),
      '/health',
      'access',
    ],
    elsewhere: {
      'no link at all': SYSTEM_ROUTES,
      access: SCOPE,
      ...FIELDS,
      ...STATES,
      ...PROMOTION,
    },
  },
  'standby-link 6': { rows: [...Object.keys(SERIES), 'where'], elsewhere: SERIES },
  'standby-link 9': { rows: Object.keys(TRANSPORT), elsewhere: TRANSPORT },
});
