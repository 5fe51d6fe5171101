/**
 * The gateway in the process of a node. Its workspace is loaded here and nowhere else, and only
 * where the configuration says so: a node without a gateway pays nothing for it.
 */
import { accessSync, constants } from 'node:fs';
import type { Gateway } from '@svc/gateway';
import type { ConnectionBounds, HttpServer, KvService } from '@svc/http';
import type { Config } from '../config/config.js';
import type { Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { BootRefusedError } from '../system/node-refusal.js';
import type { RandomSource } from '../system/random.js';
import { type GrantService, ServiceGrants } from './grants.js';
import { BrokerStore } from './kv-store.js';
import { gatewaySettings } from './settings.js';

export interface EmbeddedOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly logger: Logger;
  readonly front: Pick<HttpServer, 'call' | 'carryOut'>;
  /** null while the node serves nothing. */
  readonly service: () => (GrantService & { readonly kv: KvService }) | null;
  /** False: front threads listen at its port. */
  readonly listens: boolean;
  readonly connections: ConnectionBounds;
  readonly onConnectionsFull: (open: number, refused: number) => void;
}

/** Rejects with `ListenError` and `BootRefusedError`. */
export async function openEmbeddedGateway(options: EmbeddedOptions): Promise<Gateway> {
  const { config, random, front, service } = options;
  const settings = gatewaySettings(config);
  if (settings.tls !== null) {
    checkReadable('SVC_TLS_CERT', settings.tls.certificate);
    checkReadable('SVC_TLS_KEY', settings.tls.key);
  }
  const { BrokerUnavailableError, Gateway, StoreUnavailableError } = await import('@svc/gateway');
  return await Gateway.open({
    ...options,
    settings,
    upstream: front,
    store: new BrokerStore(() => service()?.kv ?? null, StoreUnavailableError),
    grants: new ServiceGrants(service, BrokerUnavailableError),
    random: {
      bytes: (length) => {
        const bytes = new Uint8Array(length);
        random.fill(bytes);
        return bytes;
      },
    },
    node: String(config.nodeId),
  });
}

function checkReadable(name: string, path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw new BootRefusedError('gateway_tls', `${name}=${path} cannot be read: ${String(error)}`);
  }
}
