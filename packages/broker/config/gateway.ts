/**
 * The variables of the gateway itself (gateway 3): where it listens, whom it knows, and what it
 * makes at its first start. A switch is on with the word `true` alone.
 */
import { emailOf, GIVEN_API_KEY_RULE, givenApiKeyOf, planCodeOf } from '@svc/wire';
import { host, port } from './addresses.js';
import { list } from './door.js';
import { exactTrue } from './gateway-limits.js';
import { given, optionalSecret, slug } from './gateway-logins.js';
import { accepted, integer, type Kind, orUnset, quoted, refused, TIMER_MS_MAX } from './values.js';
import { variable } from './variable.js';

const MS = { min: 1, max: TIMER_MS_MAX };

/** `standard` when unset or blank; one that `of` has null for is refused. */
function word(
  standard: string,
  of: (value: string) => string | null = (value) => value,
  what = '',
): Kind<string> {
  return {
    label: 'string',
    defaultText: standard,
    minimum: null,
    parse: (value, name) => {
      const text = (value ?? '').trim() || standard;
      const spelled = of(text);
      return spelled === null ? refused(`${name}=${text} is not ${what}`) : accepted(spelled);
    },
    show: quoted,
  };
}

const COOKIE = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;

const hosts = list('list of hosts', (part) =>
  /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(part)
    ? null
    : `\`${part}\` is not a host: write names without scheme and port, such as api.example`,
);

export const GATEWAY_VARIABLES = {
  gatewayEmbedded: variable(
    'gateway',
    'SVC_PROXY_EMBEDDED',
    exactTrue(false),
    'run the multi-tenant gateway in this process',
  ),
  gatewayPort: variable(
    'gateway',
    'SVC_PROXY_PORT',
    orUnset(port(0), '`PORT`, which then serves the gateway alone'),
    'port of the gateway; another one than `PORT` leaves the plain broker there',
  ),
  gatewayBindAddress: variable(
    'gateway',
    'SVC_PROXY_BIND_ADDR',
    host('0.0.0.0', 'SVC_PROXY_PORT'),
    'host or IP that the gateway listens on at a port of its own; at `PORT` it is `SVC_BIND_ADDR`',
  ),
  gatewayTlsCertificate: variable(
    'gateway',
    'SVC_TLS_CERT',
    given(''),
    'certificate of the port of the gateway, a file in PEM; needs `SVC_TLS_KEY`',
  ),
  gatewayTlsKey: variable(
    'gateway',
    'SVC_TLS_KEY',
    given(''),
    'its private key, a file in PEM; needs `SVC_TLS_CERT`',
  ),
  gatewayInsecure: variable(
    'gateway',
    'SVC_PROXY_DEV_INSECURE',
    exactTrue(false),
    'ask nobody for a credential; for development',
  ),
  gatewayDefaultCluster: variable(
    'gateway',
    'SVC_PROXY_DEFAULT_CLUSTER',
    slug(''),
    'slug of the cluster of hosts that name none; unset: these are 421',
  ),
  gatewaySharedHosts: variable(
    'gateway',
    'SVC_PROXY_SHARED_HOSTS',
    hosts,
    'hosts on which the credential names the cluster and the host does not',
  ),
  gatewayTenantHeader: variable(
    'gateway',
    'SVC_PROXY_TENANT_HEADER',
    exactTrue(true),
    'each cluster has a tenant of its own; false: all share the default one',
  ),
  gatewayUpstreamConnectTimeoutMs: variable(
    'gateway',
    'SVC_PROXY_UPSTREAM_CONNECT_TIMEOUT_MS',
    integer(5_000, MS),
    'without effect: the broker is in the same process, and nothing has to be connected to',
  ),
  gatewayUpstreamTimeoutMs: variable(
    'gateway',
    'SVC_PROXY_UPSTREAM_TIMEOUT_MS',
    integer(35_000, MS),
    'milliseconds that the broker has for an answer, then 504',
  ),
  gatewayLongPollMarginMs: variable(
    'gateway',
    'SVC_PROXY_LONGPOLL_MARGIN_MS',
    integer(10_000, MS),
    'milliseconds that a pop has beside its wait',
  ),
  gatewayLongPollMaxMs: variable(
    'gateway',
    'SVC_PROXY_LONGPOLL_MAX_MS',
    integer(90_000, MS),
    'milliseconds of the longest wait of a pop',
  ),
  gatewayStaleGraceMs: variable(
    'gateway',
    'SVC_PROXY_STALE_GRACE_MS',
    integer(600_000, { min: 0, max: TIMER_MS_MAX }),
    'milliseconds for which known credentials are served while the store does not answer',
  ),
  gatewayInvalidationPollMs: variable(
    'gateway',
    'SVC_PROXY_INVAL_POLL_MS',
    integer(1_000, MS),
    'milliseconds between looks at what other nodes have changed',
  ),
  gatewayRevocationStrict: variable(
    'gateway',
    'SVC_PROXY_REVOCATION_STRICT',
    exactTrue(false),
    'refuse a session while nobody can say whether it was revoked',
  ),
  gatewayRevocationSweepMs: variable(
    'gateway',
    'SVC_PROXY_REVOCATION_SWEEP_MS',
    integer(3_600_000, { min: 0, max: TIMER_MS_MAX }),
    'milliseconds between looks for ended sessions on the deny-list; 0: none',
  ),
  gatewayJwtSecret: variable(
    'gateway',
    'SVC_PROXY_JWT_SECRET',
    optionalSecret(),
    'secret that session tokens are signed with, where no Ed25519 key is given',
  ),
  gatewayJwtPrivatePem: variable(
    'gateway',
    'SVC_PROXY_JWT_ED25519_PEM',
    optionalSecret(),
    'Ed25519 key that session tokens are signed with, as PEM',
  ),
  gatewayJwtPublicPem: variable(
    'gateway',
    'SVC_PROXY_JWT_ED25519_PUB_PEM',
    optionalSecret(),
    'Ed25519 public key as PEM; without the private one this node only verifies',
  ),
  gatewayJwtIssuer: variable(
    'gateway',
    'SVC_PROXY_JWT_ISS',
    word('svc-proxy'),
    'issuer of session tokens',
  ),
  gatewayJwtAudience: variable(
    'gateway',
    'SVC_PROXY_JWT_AUD',
    given('host of `SVC_PROXY_PUBLIC_URL`, else none'),
    'audience of session tokens',
  ),
  gatewayCookieName: variable(
    'gateway',
    'SVC_PROXY_COOKIE_NAME',
    word('svc_session', (value) => (COOKIE.test(value) ? value : null), 'the name of a cookie'),
    'cookie of a session',
  ),
  gatewayOperatorEnabled: variable(
    'gateway',
    'SVC_PROXY_OPERATOR_ENABLED',
    exactTrue(false),
    'operators may act here',
  ),
  gatewayControlPlaneToken: variable(
    'gateway',
    'SVC_PROXY_CP_TOKEN',
    optionalSecret(),
    'secret of the control plane, which `/metrics` asks for; unset: there is none',
  ),
  gatewayBootstrapTenant: variable(
    'gateway',
    'SVC_PROXY_BOOTSTRAP_TENANT',
    slug(''),
    'slug of a tenant and cluster that are made at the start',
  ),
  gatewayBootstrapEmail: variable(
    'gateway',
    'SVC_PROXY_BOOTSTRAP_EMAIL',
    word('admin@localhost', emailOf, 'an address of mail'),
    'its administrator',
  ),
  gatewayBootstrapPassword: variable(
    'gateway',
    'SVC_PROXY_BOOTSTRAP_PASSWORD',
    optionalSecret(),
    'the password of the administrator; unset: none',
  ),
  gatewayBootstrapPlan: variable(
    'gateway',
    'SVC_PROXY_BOOTSTRAP_PLAN',
    word('dev', planCodeOf, 'the code of a plan'),
    'its plan: `free`, `dev`, `pro` or `dedicated-s`',
  ),
  gatewayBootstrapApiKey: variable(
    'gateway',
    'SVC_PROXY_BOOTSTRAP_API_KEY',
    optionalSecret(givenApiKeyOf, GIVEN_API_KEY_RULE),
    'a key of it that is known beforehand, beginning with `qk_`; unset: one is made and logged',
  ),
};
