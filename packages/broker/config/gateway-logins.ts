/**
 * The variables of people at the gateway (gateway 3): sessions, where they log in, the providers
 * that vouch for them, and what becomes of somebody new.
 */
import type { Role } from '@svc/gateway';
import { emailOf, slugOf, USER_ROLES } from '@svc/wire';
import { list } from './door.js';
import { exactTrue } from './gateway-limits.js';
import { accepted, integer, type Kind, orUnset, quoted, refused, secret } from './values.js';
import { variable } from './variable.js';

/**
 * Null when unset or blank: an empty secret is one that everybody knows. One that `of` has null for
 * is refused, and not shown.
 */
export function optionalSecret(
  of: (value: string) => string | null = (value) => value,
  rule = '',
): Kind<string | null> {
  const parse: Kind<string | null>['parse'] = (text = '', name) =>
    of(text) === null ? refused(`${name} ${rule}`) : accepted(text);
  return orUnset({ ...secret(), parse }, '');
}

/** Null when unset or blank. */
export function given(meaningOfUnset: string): Kind<string | null> {
  return checked('string', meaningOfUnset, (value) => value, '');
}

/** As `given`, in the spelling of `of`; one that it has null for is refused with `fault`. */
function checked(
  label: string,
  meaningOfUnset: string,
  of: (value: string) => string | null,
  fault: string,
): Kind<string | null> {
  return {
    label,
    defaultText: meaningOfUnset,
    minimum: null,
    parse: (text, name) => {
      const value = (text ?? '').trim();
      if (value === '') return accepted(null);
      const spelled = of(value);
      return spelled === null ? refused(`${name}=${value}: ${fault}`) : accepted(spelled);
    },
    show: (value) => (value === null ? '<unset>' : quoted(value)),
  };
}

/** In lower case. */
export function slug(meaningOfUnset: string): Kind<string | null> {
  const fault = 'is not a slug: 1 to 63 letters, digits and dashes, and no dash at an end';
  return checked('slug', meaningOfUnset, slugOf, fault);
}

function url(meaningOfUnset: string): Kind<string | null> {
  const fault = 'is not a URL of http or https, such as https://svc.example';
  const of = (value: string) =>
    URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) ? value : null;
  return checked('URL', meaningOfUnset, of, fault);
}

const DOMAIN = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i;
const NOT_DOMAIN = 'is not a domain, such as svc.example';

const emails = list('list of addresses', (part) =>
  emailOf(part) !== null ? null : `\`${part}\` is not an address of mail`,
);

/** Null when unset; set and blank names nobody. */
const operators: Kind<readonly string[] | null> = {
  ...emails,
  defaultText: 'who is one stays so',
  parse: (text, name, environment) =>
    text === undefined ? accepted(null) : emails.parse(text, name, environment),
  show: (value) => (value === null ? '<unset>' : emails.show(value)),
};

const domains = list('list of domains', (part) =>
  DOMAIN.test(part) ? null : `\`${part}\` ${NOT_DOMAIN}`,
);

const role: Kind<Role> = {
  label: 'role',
  defaultText: 'viewer',
  minimum: null,
  parse: (text) => accepted(USER_ROLES.find((one) => one === text?.trim()) ?? 'viewer'),
  doubt: (text) =>
    USER_ROLES.some((one) => one === text)
      ? null
      : `is none of ${USER_ROLES.join(', ')}: viewer is used`,
  show: String,
};

const PROVIDER_VARIABLES = {
  googleClientId: variable(
    'gateway',
    'GOOGLE_CLIENT_ID',
    given(''),
    'client of logins by Google; needs `GOOGLE_CLIENT_SECRET`',
  ),
  googleClientSecret: variable('gateway', 'GOOGLE_CLIENT_SECRET', optionalSecret(), 'its secret'),
  googleAllowedDomains: variable(
    'gateway',
    'GOOGLE_ALLOWED_DOMAINS',
    domains,
    'domains whose accounts may log in by Google; none: all',
  ),
  googleBaseUrl: variable(
    'gateway',
    'SVC_PROXY_GOOGLE_BASE_URL',
    url("Google's own"),
    'another server that speaks as Google does',
  ),
  githubClientId: variable(
    'gateway',
    'GITHUB_CLIENT_ID',
    given(''),
    'client of logins by GitHub; needs `GITHUB_CLIENT_SECRET`',
  ),
  githubClientSecret: variable('gateway', 'GITHUB_CLIENT_SECRET', optionalSecret(), 'its secret'),
  githubBaseUrl: variable(
    'gateway',
    'SVC_PROXY_GITHUB_BASE_URL',
    url("GitHub's own"),
    'another server that speaks as GitHub does, its API at `/api/v3`',
  ),
};

export const GATEWAY_LOGIN_VARIABLES = {
  gatewayOperators: variable(
    'gateway',
    'SVC_PROXY_OPERATORS',
    operators,
    'at each start these users become operators and all others stop being one',
  ),
  gatewayJwtTtlS: variable(
    'gateway',
    'SVC_PROXY_JWT_TTL_S',
    integer(86_400, { min: 1, max: 31_536_000 }),
    'seconds that a session lasts',
  ),
  gatewayCookieDomain: variable(
    'gateway',
    'SVC_PROXY_COOKIE_DOMAIN',
    checked('domain', 'the host alone', (value) => (DOMAIN.test(value) ? value : null), NOT_DOMAIN),
    'domain of the cookie of a session, which then needs TLS',
  ),
  gatewayPublicUrl: variable(
    'gateway',
    'SVC_PROXY_PUBLIC_URL',
    url(''),
    'where browsers reach the gateway; providers send users back there',
  ),
  gatewayAuthHost: variable(
    'gateway',
    'SVC_PROXY_AUTH_HOST',
    exactTrue(false),
    'send nobody to a provider without `SVC_PROXY_PUBLIC_URL`',
  ),
  gatewayAuthPortalUrl: variable(
    'gateway',
    'SVC_PROXY_AUTH_PORTAL_URL',
    url(''),
    'where people log in, shown by a gateway that only verifies sessions',
  ),
  gatewayAuthPortalLabel: variable(
    'gateway',
    'SVC_PROXY_AUTH_PORTAL_LABEL',
    given('names the host'),
    'text of that link',
  ),
  gatewayOauthStateSecret: variable(
    'gateway',
    'SVC_PROXY_OAUTH_STATE_SECRET',
    optionalSecret(),
    'secret that logins on their way are signed with; unset: that of sessions, or a random one',
  ),
  gatewayAutoProvision: variable(
    'gateway',
    'SVC_PROXY_AUTOPROVISION',
    exactTrue(false),
    'make a user of whom a provider vouches for and nobody knows',
  ),
  gatewayAutoProvisionTenant: variable(
    'gateway',
    'SVC_PROXY_AUTOPROVISION_TENANT',
    slug(''),
    'slug of the tenant of such users',
  ),
  gatewayDefaultRole: variable(
    'gateway',
    'SVC_PROXY_DEFAULT_ROLE',
    role,
    'what they are on its clusters: `admin`, `producer`, `consumer` or `viewer`',
  ),
  ...PROVIDER_VARIABLES,
};
