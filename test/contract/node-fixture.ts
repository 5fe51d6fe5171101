/** One node for the tests of one file, started before the first and gone after the last. */
import { afterAll, beforeAll } from 'vitest';
import { HttpClient } from '../process/http-client.js';
import {
  type Environment,
  type NodeUnderTest,
  startNode,
  type TemporaryDirectory,
  temporaryDirectory,
} from '../process/node-under-test.js';
import { freePort } from '../process/ports.js';
import { BrokerApi } from './broker-api.js';

export interface NodeFixture {
  readonly port: number;
  readonly client: HttpClient;
  readonly api: BrokerApi;
}

/** Usable inside tests, not while they are declared. */
export function useNode(environment: Environment = {}): NodeFixture {
  let directory: TemporaryDirectory | null = null;
  let node: NodeUnderTest | null = null;
  let client: HttpClient | null = null;
  beforeAll(async () => {
    const port = await freePort();
    directory = temporaryDirectory();
    node = await startNode({ directory: directory.path, port, environment });
    client = new HttpClient(port);
  });
  afterAll(async () => {
    client?.close();
    await node?.kill();
    directory?.remove();
  });
  return {
    get port() {
      if (node === null) throw new Error('the node has not been started');
      return node.port;
    },
    get client() {
      if (client === null) throw new Error('the node has not been started');
      return client;
    },
    get api() {
      return new BrokerApi(this.client);
    },
  };
}

let queuesNamed = 0;

/** A name that no other test of this file uses. */
export function uniqueQueue(label: string): string {
  queuesNamed++;
  return `${label}-${queuesNamed}.t`;
}
