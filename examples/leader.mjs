/**
 * A leader election by locks. Start it in two terminals: one leads, the other waits for its turn.
 *
 * Whoever holds the lock leads. The client renews it while it is held; a leader that dies or loses
 * its network has a successor when the lock's time is over. What must not be done by two leaders
 * goes through the lock as a guard: the broker refuses it to one that has lost the lock, even
 * before that one knows.
 */
import { Client } from '@svc/client';

const ROUNDS = Number(process.argv[2] ?? 3);

const client = new Client(process.env.SVC_SERVER ?? 'http://localhost:6632');
const me = `process ${process.pid}`;
const stop = new AbortController();
process.once('SIGINT', () => stop.abort(new Error('Ctrl-C')));

console.log(`${me} waits to lead`);
const lock = await client
  .lock('example-leader', { ttl: '5s', owner: me })
  .acquire({ wait: true, signal: stop.signal })
  .catch((error) => (stop.signal.aborted ? null : Promise.reject(error)));

if (lock !== null) {
  console.log(`${me} leads`);
  lock.onLost((reason) => console.log(`${me} lost the lock: ${reason}`));
  const counts = client.kv('example-leader');
  for (let round = 1; round <= ROUNDS && lock.isHeld && !stop.signal.aborted; round++) {
    const { applied, value } = await counts.incr('rounds', 1, { ttl: '1h', guard: lock });
    if (!applied) break;
    console.log(`${me} did round ${round} of ${ROUNDS}, ${value} of all leaders`);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  await lock.release();
  console.log(`${me} stepped down`);
}
await client.close();
