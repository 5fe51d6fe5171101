// Goal: the settings of the token check are read by the contract's rules, and those with which no
// token could be checked are refused in its words. Method: as config.test.ts, by two tables.
import { describe, expect, test } from 'vitest';
import { type Config, describeConfig, readConfig } from './config.js';
import type { Environment } from './values.js';

function configOf(environment: Environment): Config {
  const config = readConfig(environment, 'svc-00000000');
  if (config.kind === 'refused') throw new Error(`refused: ${config.error}`);
  return config;
}

const PEM = '-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----';

const ACCEPTED: readonly [Environment, Partial<Config>][] = [
  [
    { JWT_ENABLED: 'true', JWT_SECRET: 's' },
    { jwtEnabled: true, jwtSecret: 's' },
  ],
  [{ JWT_ENABLED: '1', JWT_ALGORITHM: 'HS512', JWT_SECRET: 's' }, { jwtAlgorithm: 'HS512' }],
  [{ JWT_ENABLED: '1', JWT_ALGORITHM: 'auto', JWT_PUBLIC_KEY: 'p' }, { jwtAlgorithm: 'auto' }],
  // the contract lets these start, and answers 500
  [
    { JWT_ENABLED: '1', JWT_PUBLIC_KEY: 'p' },
    { jwtAlgorithm: 'HS256', jwtPublicKey: 'p' },
  ],
  [{ JWT_ENABLED: '1', JWT_JWKS_URL: 'https://a/k' }, { jwksUrl: 'https://a/k' }],
  [
    { JWT_ENABLED: '1', JWT_ALGORITHM: 'RS256', JWT_JWKS_URL: 'http://a:8080/k?x=1' },
    { jwtAlgorithm: 'RS256', jwksUrl: 'http://a:8080/k?x=1' },
  ],
  // nothing is missing while the check is off
  [{ JWT_ALGORITHM: 'EdDSA' }, { jwtEnabled: false, jwtAlgorithm: 'EdDSA' }],
  [{ JWT_PUBLIC_KEY: PEM.replaceAll('\n', '\\n') }, { jwtPublicKey: PEM }],
  [{ JWT_PUBLIC_KEY: `${PEM}\n` }, { jwtPublicKey: PEM }],
  [
    { JWT_PUBLIC_KEY: ' ', JWT_JWKS_URL: ' ' },
    { jwtPublicKey: null, jwksUrl: null },
  ],
  [{ JWT_JWKS_REFRESH_INTERVAL: '60' }, { jwksRefreshSeconds: 60 }],
  [{ JWT_JWKS_REFRESH_INTERVAL: '0' }, { jwksRefreshSeconds: 1 }],
  [{ JWT_JWKS_REFRESH_INTERVAL: '1h' }, { jwksRefreshSeconds: 3600 }],
  [{ JWT_JWKS_TIMEOUT_MS: '100' }, { jwksTimeoutMs: 100 }],
  [
    { JWT_ISSUER: '', JWT_AUDIENCE: '' },
    { jwtIssuer: null, jwtAudience: null },
  ],
  [
    { JWT_ISSUER: 'https://i/', JWT_AUDIENCE: 'a' },
    { jwtIssuer: 'https://i/', jwtAudience: 'a' },
  ],
  [{ JWT_CLOCK_SKEW: '0' }, { jwtClockSkewSeconds: 0 }],
  [{ JWT_CLOCK_SKEW: '-5' }, { jwtClockSkewSeconds: 0 }],
  [{ JWT_SKIP_PATHS: '' }, { jwtSkipPaths: [] }],
  [{ JWT_SKIP_PATHS: '/a, /b/ ,,/' }, { jwtSkipPaths: ['/a', '/b/', '/'] }],
  [
    { JWT_ROLES_CLAIM: 'https://x/role', JWT_ROLES_ARRAY_CLAIM: 'groups' },
    { jwtRolesClaim: 'https://x/role', jwtRolesArrayClaim: 'groups' },
  ],
  [
    {
      JWT_ROLE_ADMIN: 'a',
      JWT_ROLE_READ_WRITE: 'b',
      JWT_ROLE_READ_ONLY: 'c',
      JWT_ROLE_WRITE_ONLY: '',
    },
    { jwtRoleAdmin: 'a', jwtRoleReadWrite: 'b', jwtRoleReadOnly: 'c', jwtRoleWriteOnly: '' },
  ],
];

test.each(ACCEPTED)('%j is accepted', (environment, expected) => {
  expect(configOf(environment)).toMatchObject(expected);
});

const NO_KEY = 'set JWT_SECRET (HS256/HS384/HS512), or JWT_PUBLIC_KEY / JWT_JWKS_URL (RS256/EdDSA)';
const SUPPORTED = '(use HS256, HS384, HS512, RS256, RS384, RS512, EdDSA, or auto)';

const REFUSED: readonly [Environment, string][] = [
  [
    { JWT_ENABLED: 'true' },
    `JWT_ENABLED=true with JWT_ALGORITHM=HS256 but no key material: ${NO_KEY}`,
  ],
  [
    { JWT_ENABLED: 'yes', JWT_ALGORITHM: 'HS384', JWT_SECRET: '' },
    `JWT_ENABLED=true with JWT_ALGORITHM=HS384 but no key material: ${NO_KEY}`,
  ],
  [
    { JWT_ENABLED: '1', JWT_ALGORITHM: 'auto' },
    `JWT_ENABLED=true with JWT_ALGORITHM=auto but no key material: ${NO_KEY}`,
  ],
  ...(['RS256', 'RS384', 'RS512', 'EdDSA'] as const).map((algorithm): [Environment, string] => [
    { JWT_ENABLED: '1', JWT_ALGORITHM: algorithm, JWT_SECRET: 's' },
    `JWT_ENABLED=true with JWT_ALGORITHM=${algorithm} ` +
      'but neither JWT_PUBLIC_KEY nor JWT_JWKS_URL is set',
  ]),
  [{ JWT_ALGORITHM: 'ES256' }, `JWT_ALGORITHM=ES256 is not supported ${SUPPORTED}`],
  [{ JWT_ALGORITHM: 'none' }, `JWT_ALGORITHM=none is not supported ${SUPPORTED}`],
  [{ JWT_ALGORITHM: 'hs256' }, `JWT_ALGORITHM=hs256 is not supported ${SUPPORTED}`],
  [{ JWT_ALGORITHM: '' }, `JWT_ALGORITHM= is not supported ${SUPPORTED}`],
  [{ JWT_JWKS_URL: 'keys.json' }, 'JWT_JWKS_URL=keys.json is not an http or https URL'],
  [{ JWT_JWKS_URL: 'file:///keys' }, 'JWT_JWKS_URL=file:///keys is not an http or https URL'],
  [
    { JWT_JWKS_URL: 'https://me:hunter2@a/k' },
    'JWT_JWKS_URL holds a user or a password, and no request can be made with them',
  ],
];

test.each(REFUSED)('%j is refused', (environment, error) => {
  expect(readConfig(environment)).toEqual({ kind: 'refused', error });
});

describe('the boot log', () => {
  test('shows what is compared, and of keys their length alone', () => {
    const config = configOf({ JWT_SECRET: 'hunter2', JWT_PUBLIC_KEY: PEM, JWT_ISSUER: 'me' });
    const line = describeConfig(config).find((one) => one.startsWith('config: auth')) ?? '';
    expect(line).toContain('JWT_SECRET=<set:7 chars>');
    expect(line).toContain(`JWT_PUBLIC_KEY=<set:${PEM.length} chars>`);
    expect(line).toContain('JWT_ISSUER=me JWT_AUDIENCE=<unset>');
    expect(line).toContain('JWT_SKIP_PATHS=/health,/metrics/prometheus,/metrics,/ ');
    expect(line).not.toMatch(/hunter2|MCow|\n/);
  });
});
