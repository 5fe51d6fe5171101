/**
 * The variables of the gateway's edge (gateway 3): what is asked of a request before anybody knows
 * whose it is. What cannot be is refused, numbers too: a bound that is not the one that was meant
 * is no bound.
 */
import type { HstsMode } from '@svc/gateway';
import { list, origins } from './door.js';
import {
  accepted,
  exactInteger,
  type Kind,
  MEGABYTE,
  orUnset,
  quoted,
  refused,
  TIMER_MS_MAX,
} from './values.js';
import { variable } from './variable.js';

const HSTS_MODES: readonly HstsMode[] = ['auto', 'on', 'off'];
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const MS = { min: 0, max: TIMER_MS_MAX };
/** 150 bytes each. */
const TRACKED_LIMIT = 10_000_000;

const paths = list('list of paths', (part) =>
  /^\/[!-~]*$/.test(part) && !/[?#]/.test(part)
    ? null
    : `\`${part}\` is not a path: write it from its first slash on, such as /api/v1/fetch`,
);

const cookieNames = list('list of cookies', (part) =>
  TOKEN.test(part) ? null : `\`${part}\` is not the name of a cookie`,
);

const headerName: Kind<string> = {
  label: 'header',
  defaultText: 'x-forwarded-for',
  minimum: null,
  parse: (given, name) => {
    const header = given?.trim().toLowerCase() || 'x-forwarded-for';
    return TOKEN.test(header) ? accepted(header) : refused(`${name}=${given}: not a header's name`);
  },
  show: quoted,
};

const CORS_HEADERS = 'authorization, content-type, x-request-id';

const headerNames: Kind<string> = {
  label: 'list of headers',
  defaultText: CORS_HEADERS,
  minimum: null,
  parse: (given, name) => {
    const parts = (given?.trim() || CORS_HEADERS).split(',').map((part) => part.trim());
    const wrong = parts.find((part) => !TOKEN.test(part));
    if (wrong !== undefined)
      return refused(`${name}=${given}: \`${wrong}\` is not a header's name`);
    return accepted(parts.join(', '));
  },
  show: quoted,
};

const hsts: Kind<HstsMode> = {
  label: '`auto`, `on` or `off`',
  defaultText: 'auto',
  minimum: null,
  parse: (given, name) => {
    const word = given?.trim().toLowerCase() || 'auto';
    const mode = HSTS_MODES.find((one) => one === word);
    return mode === undefined
      ? refused(`${name}=${given}: expected auto, on or off`)
      : accepted(mode);
  },
  show: String,
};

const LOGIN_VARIABLES = {
  loginAddressFailures: variable(
    'gateway',
    'SVC_LOGIN_FREE_FAILURES_IP',
    exactInteger(10, { min: 0 }),
    'failed logins of an address before it has to wait',
  ),
  loginAccountFailures: variable(
    'gateway',
    'SVC_LOGIN_FREE_FAILURES_ACCOUNT',
    exactInteger(5, { min: 0 }),
    'failed logins at an account before everybody has to wait there',
  ),
  loginBackoffMs: variable(
    'gateway',
    'SVC_LOGIN_BACKOFF_BASE_MS',
    exactInteger(1_000, MS),
    'milliseconds of the first wait; each one more failure doubles it',
  ),
  loginLockoutS: variable(
    'gateway',
    'SVC_LOGIN_LOCKOUT_S',
    exactInteger(900, { min: 0 }),
    'seconds of the longest wait',
  ),
  loginWindowS: variable(
    'gateway',
    'SVC_LOGIN_WINDOW_S',
    exactInteger(900, { min: 0 }),
    'seconds after which failures are forgotten',
  ),
  loginTrackedMax: variable(
    'gateway',
    'SVC_LOGIN_MAX_TRACKED',
    exactInteger(100_000, { min: 1, max: TRACKED_LIMIT }),
    'addresses, and accounts, whose failures are remembered; others share places',
  ),
};

export const EDGE_VARIABLES = {
  edgeRealIpHeader: variable(
    'gateway',
    'SVC_EDGE_REAL_IP_HEADER',
    headerName,
    'header in which trusted proxies name the client',
  ),
  edgeRate: variable(
    'gateway',
    'SVC_EDGE_RPS_PER_IP',
    exactInteger(0, { min: 0 }),
    'requests a second of an address to the data plane; 0: no bound',
  ),
  edgeBurst: variable(
    'gateway',
    'SVC_EDGE_BURST_PER_IP',
    orUnset(exactInteger(1, { min: 1 }), 'twice the rate'),
    'such requests that may come at once',
  ),
  edgeWebRate: variable(
    'gateway',
    'SVC_EDGE_WEB_RPS_PER_IP',
    exactInteger(20, { min: 0 }),
    'requests a second of an address to pages, logins and the console; 0: no bound',
  ),
  edgeWebBurst: variable(
    'gateway',
    'SVC_EDGE_WEB_BURST_PER_IP',
    exactInteger(60, { min: 1 }),
    'such requests that may come at once',
  ),
  edgeTrackedMax: variable(
    'gateway',
    'SVC_EDGE_MAX_TRACKED_IPS',
    exactInteger(100_000, { min: 1, max: TRACKED_LIMIT }),
    'addresses that are counted each by itself; others share places',
  ),
  edgeIpv6Prefix: variable(
    'gateway',
    'SVC_EDGE_IPV6_PREFIX',
    exactInteger(64, { min: 1, max: 128 }),
    'bits of an IPv6 address that are counted as one client',
  ),
  edgeHeadersMax: variable(
    'gateway',
    'SVC_EDGE_MAX_HEADERS',
    exactInteger(100, { min: 1 }),
    'headers of a request; more are answered 431',
  ),
  edgeHeaderBytesMax: variable(
    'gateway',
    'SVC_EDGE_MAX_HEADER_BYTES',
    exactInteger(65_536, { min: 1 }),
    'bytes of all of them',
  ),
  edgeHeaderValueBytesMax: variable(
    'gateway',
    'SVC_EDGE_MAX_HEADER_VALUE_BYTES',
    exactInteger(16_384, { min: 1 }),
    'bytes of the value of one',
  ),
  edgeUriBytesMax: variable(
    'gateway',
    'SVC_EDGE_MAX_URI_BYTES',
    exactInteger(8_192, { min: 1 }),
    'bytes of path and query; more are answered 414',
  ),
  edgeRequestTimeoutMs: variable(
    'gateway',
    'SVC_EDGE_REQUEST_TIMEOUT_MS',
    exactInteger(60_000, MS),
    'milliseconds that a request has from head to end of answer, then 504; 0: no bound',
  ),
  edgeLongPollGraceMs: variable(
    'gateway',
    'SVC_EDGE_LONG_POLL_GRACE_MS',
    exactInteger(10_000, MS),
    'milliseconds that a request which waits has beside its wait',
  ),
  edgeLongPollMaxMs: variable(
    'gateway',
    'SVC_EDGE_LONG_POLL_MAX_MS',
    exactInteger(310_000, MS),
    'milliseconds of both together',
  ),
  edgeTimeoutExempt: variable(
    'gateway',
    'SVC_EDGE_TIMEOUT_EXEMPT',
    paths,
    'paths without such a bound; with a slash at the end everything below',
  ),
  edgeBodyBytesMax: variable(
    'gateway',
    'SVC_EDGE_MAX_BODY_BYTES',
    exactInteger(64 * MEGABYTE, { min: 1 }),
    'bytes of a body that is relayed',
  ),
  edgeWebBodyBytesMax: variable(
    'gateway',
    'SVC_EDGE_WEB_MAX_BODY_BYTES',
    exactInteger(MEGABYTE, { min: 1 }),
    'bytes of a body for logins, the console and the control plane',
  ),
  edgeCorsOrigins: variable(
    'gateway',
    'SVC_EDGE_CORS_ORIGINS',
    origins,
    'origins whose pages may call the gateway; `*`: all of them, without cookies',
  ),
  edgeCorsHeaders: variable(
    'gateway',
    'SVC_EDGE_CORS_HEADERS',
    headerNames,
    'headers that those pages may send',
  ),
  edgeSessionCookies: variable(
    'gateway',
    'SVC_EDGE_SESSION_COOKIES',
    cookieNames,
    'cookies that make a request one of a session, besides those of the gateway',
  ),
  publicOrigins: variable(
    'gateway',
    'SVC_PUBLIC_ORIGINS',
    origins,
    'origins under which the gateway itself is reached, besides its `Host`',
  ),
  edgeHsts: variable(
    'gateway',
    'SVC_EDGE_HSTS',
    hsts,
    'whether browsers are told to use TLS alone; `auto`: on connections that have it',
  ),
  edgeHstsMaxAgeS: variable(
    'gateway',
    'SVC_EDGE_HSTS_MAX_AGE_S',
    exactInteger(31_536_000, { min: 0 }),
    'seconds for which they remember it',
  ),
  ...LOGIN_VARIABLES,
};
