/**
 * The variables of the token check, and which of their values contradict
 * each other. What a single value can be refused for is refused whether or not the check is on.
 */

import { type AlgorithmSetting, familyOf, TOKEN_ALGORITHMS } from '../tokens/algorithms.js';
import {
  accepted,
  flag,
  integer,
  type Kind,
  quoted,
  refused,
  secret,
  TIMER_MS_MAX,
  text,
} from './values.js';
import { variable } from './variable.js';

const algorithmKind: Kind<AlgorithmSetting> = {
  label: 'algorithm',
  defaultText: 'HS256',
  minimum: null,
  parse: (given, name) => {
    const value = (given ?? 'HS256').trim();
    const known = [...TOKEN_ALGORITHMS, 'auto' as const].find((one) => one === value);
    return known === undefined
      ? refused(
          `${name}=${given} is not supported ` +
            '(use HS256, HS384, HS512, RS256, RS384, RS512, EdDSA, or auto)',
        )
      : accepted(known);
  },
  show: String,
};

/** What cannot hold a line break, as many a file of variables cannot, writes `\n` for it. */
const pemKind: Kind<string | null> = {
  label: 'PEM',
  defaultText: '',
  minimum: null,
  parse: (given) => accepted((given ?? '').replaceAll('\\n', '\n').trim() || null),
  show: (value) => (value === null ? '<unset>' : `<set:${value.length} chars>`),
};

const urlKind: Kind<string | null> = {
  label: 'URL',
  defaultText: '',
  minimum: null,
  parse: (given, name) => {
    const value = (given ?? '').trim();
    if (value === '') return accepted(null);
    const url = URL.canParse(value) ? new URL(value) : null;
    if (url === null || !/^https?:$/.test(url.protocol)) {
      return refused(`${name}=${value} is not an http or https URL`);
    }
    // Not shown: it holds a password.
    return url.username !== '' || url.password !== ''
      ? refused(`${name} holds a user or a password, and no request can be made with them`)
      : accepted(url.href);
  },
  show: (value) => (value === null ? '<unset>' : quoted(value)),
};

const pathsKind: Kind<readonly string[]> = {
  label: 'paths',
  defaultText: '/health,/metrics/prometheus,/metrics,/',
  minimum: null,
  parse: (given) => {
    const list = (given ?? pathsKind.defaultText).split(',').map((path) => path.trim());
    return accepted(list.filter((path) => path !== ''));
  },
  show: (value) => quoted(value.join(',')),
};

/** Null when unset or empty: then it is not compared. */
const comparedKind: Kind<string | null> = {
  label: 'string',
  defaultText: '',
  minimum: null,
  parse: (given) => accepted(given === undefined || given === '' ? null : given),
  show: (value) => (value === null ? '<unset>' : quoted(value)),
};

export const AUTHENTICATION_VARIABLES = {
  jwtEnabled: variable('auth', 'JWT_ENABLED', flag(false), 'check of bearer tokens'),
  jwtAlgorithm: variable(
    'auth',
    'JWT_ALGORITHM',
    algorithmKind,
    'HS256, HS384, HS512, RS256 (for all of RSA), RS384, RS512, EdDSA, or auto',
  ),
  jwtSecret: variable('auth', 'JWT_SECRET', secret(), 'key of HS256, HS384 and HS512'),
  jwtPublicKey: variable(
    'auth',
    'JWT_PUBLIC_KEY',
    pemKind,
    'public key of RSA or Ed25519; counts before `JWT_JWKS_URL`',
  ),
  jwksUrl: variable('auth', 'JWT_JWKS_URL', urlKind, 'where the set of public keys is fetched'),
  jwksRefreshSeconds: variable(
    'auth',
    'JWT_JWKS_REFRESH_INTERVAL',
    integer(3600, { min: 1, max: Math.floor(TIMER_MS_MAX / 1000) }),
    'seconds from one fetch of the key set to the next',
  ),
  jwksTimeoutMs: variable(
    'auth',
    'JWT_JWKS_TIMEOUT_MS',
    integer(5000, { min: 1, max: 60_000 }),
    'milliseconds that a fetch of the key set may take',
  ),
  jwtIssuer: variable('auth', 'JWT_ISSUER', comparedKind, '`iss` that a token must have'),
  jwtAudience: variable(
    'auth',
    'JWT_AUDIENCE',
    comparedKind,
    '`aud` that a token must have, alone or among others',
  ),
  jwtClockSkewSeconds: variable(
    'auth',
    'JWT_CLOCK_SKEW',
    integer(30, { min: 0 }),
    'seconds by which `exp`, `nbf` and `iat` may be off',
  ),
  jwtSkipPaths: variable(
    'auth',
    'JWT_SKIP_PATHS',
    pathsKind,
    'paths that need no token; one that ends in `/` and is longer stands for all that begin so',
  ),
  jwtRolesClaim: variable('auth', 'JWT_ROLES_CLAIM', text('role'), 'claim that holds one role'),
  jwtRolesArrayClaim: variable(
    'auth',
    'JWT_ROLES_ARRAY_CLAIM',
    text('roles'),
    'claim that holds an array of roles; both claims count',
  ),
  jwtRoleAdmin: variable('auth', 'JWT_ROLE_ADMIN', text('admin'), 'name of the role `admin`'),
  jwtRoleReadWrite: variable(
    'auth',
    'JWT_ROLE_READ_WRITE',
    text('read-write'),
    'name of the role `read-write`',
  ),
  jwtRoleReadOnly: variable(
    'auth',
    'JWT_ROLE_READ_ONLY',
    text('read-only'),
    'name of the role `read-only`',
  ),
  jwtRoleWriteOnly: variable(
    'auth',
    'JWT_ROLE_WRITE_ONLY',
    text('write-only'),
    'name of the role `write-only`',
  ),
};

interface KeySettings {
  readonly jwtEnabled: boolean;
  readonly jwtAlgorithm: AlgorithmSetting;
  readonly jwtSecret: string | null;
  readonly jwtPublicKey: string | null;
  readonly jwksUrl: string | null;
}

/** Text of the refusal when no token could ever be checked for want of a key. */
export function missingKeyOf(settings: KeySettings): string | null {
  const { jwtEnabled, jwtAlgorithm, jwtSecret, jwtPublicKey, jwksUrl } = settings;
  if (!jwtEnabled || jwtPublicKey !== null || jwksUrl !== null) return null;
  const prefix = `JWT_ENABLED=true with JWT_ALGORITHM=${jwtAlgorithm}`;
  if (jwtAlgorithm !== 'auto' && familyOf(jwtAlgorithm) !== 'secret') {
    return `${prefix} but neither JWT_PUBLIC_KEY nor JWT_JWKS_URL is set`;
  }
  if (jwtSecret !== null && jwtSecret !== '') return null;
  return (
    `${prefix} but no key material: set JWT_SECRET (HS256/HS384/HS512), ` +
    'or JWT_PUBLIC_KEY / JWT_JWKS_URL (RS256/EdDSA)'
  );
}
