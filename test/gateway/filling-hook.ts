/**
 * Loaded into a node in place of its program. Once its gateway is open, the store is filled through
 * the gateway's own port to it, and the broker's grants are waited for. `SVC_TEST_FILL`: clusters,
 * keys, and the file that then says so.
 *
 * The program is run module by module. In the one file that the build makes of it the gateway is
 * another one than what is imported here, and could not be told of.
 */
import { writeFileSync } from 'node:fs';
import { Gateway } from '@svc/gateway';
import { fillRecords } from '@svc/gateway/testing';
import { sleep } from '../process/node-under-test.js';
import { hashOf, keyOf, slugOf } from './scale-names.js';

const [clusters, keys, done = ''] = (process.env.SVC_TEST_FILL ?? '').split(' ');
const open = Gateway.open;

Gateway.open = async (options) => {
  const gateway = await open.call(Gateway, options);
  void fill(options);
  return gateway;
};

async function fill(options: Parameters<typeof open>[0]): Promise<void> {
  const { store, clock, random, grants } = options;
  while ((await store.get('px.meta', '#schema').catch(() => null)) === null) await sleep(100);
  const tenants = await fillRecords(
    { store, clock, random },
    {
      clusters: Number(clusters),
      keys: Number(keys),
      plan: 'dedicated-s',
      slugOf,
      keyHashOf: (i) => hashOf(keyOf(i)),
    },
  );
  for (const tenant of tenants) {
    while (grants.held(tenant, 'streams') === null) await sleep(100);
  }
  writeFileSync(done, '');
}

await import(new URL('../../../packages/broker/dist/node/program.js', import.meta.url).href);
// Behind this the file of the build would be loaded, as a second node.
await new Promise(() => {});
