/** The gateway's settings, from the environment. */
import type { GatewaySettings } from '@svc/gateway';
import type { Config } from '../config/config.js';

/** The port that `PORT` names serves the gateway alone. */
export function isFronted({ gatewayEmbedded, gatewayPort, port }: Config): boolean {
  return gatewayEmbedded && (gatewayPort === null || gatewayPort === port);
}

export function gatewaySettings(config: Config): GatewaySettings {
  const isFronting = isFronted(config);
  return {
    host: isFronting ? config.bindAddress : config.gatewayBindAddress,
    port: config.gatewayPort ?? config.port,
    tls: tlsOf(config),
    passage: {
      sharedHosts: new Set(config.gatewaySharedHosts.map((host) => host.toLowerCase())),
      defaultCluster: config.gatewayDefaultCluster,
      operatorEnabled: config.gatewayOperatorEnabled,
      devInsecure: config.gatewayInsecure,
      isEnforced: config.gatewayEnforce,
      bodyBytesMax: config.gatewayBodyBytesMax,
      upstreamTimeoutMs: config.gatewayUpstreamTimeoutMs,
      longPollMarginMs: config.gatewayLongPollMarginMs,
      longPollMaxMs: config.gatewayLongPollMaxMs,
      controlPlaneToken: config.gatewayControlPlaneToken,
    },
    sessionCookies: config.edgeSessionCookies,
    hasTenants: config.gatewayTenantHeader,
    ...ownRoutesOf(config),
    boot: { operators: config.gatewayOperators, bootstrap: bootstrapOf(config) },
    tokens: tokensOf(config),
    graceMs: config.gatewayStaleGraceMs,
    isStrict: config.gatewayRevocationStrict,
    pollMs: config.gatewayInvalidationPollMs,
    sweepMs: config.gatewayRevocationSweepMs,
    batchItemsMax: config.gatewayBatchItemsMax,
    parkedMax: config.gatewayParkedMax,
    reconcileMs: config.gatewayReconcileMs,
    storageRefreshMs: config.gatewayStorageRefreshMs,
    meterFlushMs: config.gatewayMeterFlushMs,
    usageKeepDays: config.gatewayUsageKeepDays,
    rollUpMs: config.gatewayRollUpMs,
    quotaWarnPercent: config.gatewayQuotaWarnPercent,
    spoolDirectory: config.gatewaySpoolDirectory,
    ...edgeOf(config),
  };
}

function ownRoutesOf(config: Config) {
  const { gatewayAuthPortalUrl: url, gatewayAuthPortalLabel: label } = config;
  const { gatewayAutoProvisionTenant: tenant, gatewayDefaultRole: role } = config;
  return {
    routes: {
      cookieName: config.gatewayCookieName,
      cookieDomain: config.gatewayCookieDomain,
      sessionS: config.gatewayJwtTtlS,
      publicUrl: config.gatewayPublicUrl,
      isAuthHost: config.gatewayAuthHost,
      autoProvision: config.gatewayAutoProvision ? { tenant, role } : null,
      portal: url === null ? null : { url, label: label ?? `Log in at ${new URL(url).host}` },
    },
    logins: {
      addressFailuresFree: config.loginAddressFailures,
      accountFailuresFree: config.loginAccountFailures,
      backoffBaseMs: config.loginBackoffMs,
      lockoutS: config.loginLockoutS,
      windowS: config.loginWindowS,
      trackedMax: config.loginTrackedMax,
    },
    providers: { google: googleOf(config), github: githubOf(config) },
    stateSecret: config.gatewayOauthStateSecret ?? config.gatewayJwtSecret,
    webBodyBytesMax: config.edgeWebBodyBytesMax,
    bodyBytesMax: config.edgeBodyBytesMax,
    timeouts: {
      requestMs: config.edgeRequestTimeoutMs,
      longPollGraceMs: config.edgeLongPollGraceMs,
      longPollMaxMs: config.edgeLongPollMaxMs,
      exempt: config.edgeTimeoutExempt,
    },
  };
}

function googleOf(config: Config): GatewaySettings['providers']['google'] {
  const { googleClientId: clientId, googleClientSecret: clientSecret } = config;
  if (clientId === null || clientSecret === null) return null;
  const { googleBaseUrl: baseUrl, googleAllowedDomains } = config;
  const domains = googleAllowedDomains.map((domain) => domain.toLowerCase());
  return { clientId, clientSecret, baseUrl, domains };
}

function githubOf(config: Config): GatewaySettings['providers']['github'] {
  const { githubClientId: clientId, githubClientSecret: clientSecret, githubBaseUrl } = config;
  if (clientId === null || clientSecret === null) return null;
  return { clientId, clientSecret, baseUrl: githubBaseUrl };
}

function edgeOf(config: Config) {
  const { edgeRate, edgeBurst, edgeWebRate, edgeWebBurst } = config;
  return {
    trustedProxies: config.trustedProxies,
    ipv6Prefix: config.edgeIpv6Prefix,
    addressHeader: config.edgeRealIpHeader,
    head: {
      headersMax: config.edgeHeadersMax,
      bytesMax: config.edgeHeaderBytesMax,
      valueBytesMax: config.edgeHeaderValueBytesMax,
      uriBytesMax: config.edgeUriBytesMax,
    },
    dataRate: edgeRate === 0 ? null : { perSecond: edgeRate, burst: edgeBurst ?? 2 * edgeRate },
    webRate: edgeWebRate === 0 ? null : { perSecond: edgeWebRate, burst: edgeWebBurst },
    trackedAddressesMax: config.edgeTrackedMax,
    origins: {
      corsOrigins: config.edgeCorsOrigins,
      corsHeaders: config.edgeCorsHeaders,
      publicOrigins: config.publicOrigins,
    },
    hsts: config.edgeHsts,
    hstsMaxAgeS: config.edgeHstsMaxAgeS,
  };
}

function tlsOf({ gatewayTlsCertificate, gatewayTlsKey }: Config): GatewaySettings['tls'] {
  if (gatewayTlsCertificate === null || gatewayTlsKey === null) return null;
  return { certificate: gatewayTlsCertificate, key: gatewayTlsKey };
}

function bootstrapOf(config: Config): GatewaySettings['boot']['bootstrap'] {
  if (config.gatewayBootstrapTenant === null) return null;
  return {
    tenant: config.gatewayBootstrapTenant,
    email: config.gatewayBootstrapEmail,
    password: config.gatewayBootstrapPassword,
    plan: config.gatewayBootstrapPlan,
    apiKey: config.gatewayBootstrapApiKey,
  };
}

function tokensOf(config: Config): GatewaySettings['tokens'] {
  const { gatewayJwtSecret: secret, gatewayJwtPrivatePem, gatewayJwtPublicPem } = config;
  const { gatewayPublicUrl: publicUrl } = config;
  const audience = config.gatewayJwtAudience ?? (publicUrl && new URL(publicUrl).host);
  return {
    issuer: config.gatewayJwtIssuer,
    ...(secret === null ? {} : { secret }),
    ...(gatewayJwtPrivatePem === null ? {} : { privatePem: gatewayJwtPrivatePem }),
    ...(gatewayJwtPublicPem === null ? {} : { publicPem: gatewayJwtPublicPem }),
    ...(audience === null ? {} : { audience }),
  };
}
