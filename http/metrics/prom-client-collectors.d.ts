/** The library has types of its index alone. */
declare module 'prom-client/lib/metrics/*.js' {
  import type { Registry } from 'prom-client';

  export default function collector(
    registry: Registry,
    settings: { readonly eventLoopMonitoringPrecision: number },
  ): void;
}
