/** Shows pending timers: reads of the applied state that show everything answered before. */
import { findTimer, listTimerQueues, listTimers, type State } from '@svc/engine';
import type { TimerService } from '@svc/http';
import { sendPage } from '../reads/listed.js';
import { pageKeyOf, type StateReads } from '../reads/state-reads.js';

export function timerReads(state: State, reads: StateReads): TimerService {
  return {
    list(tenant, queue, after, limit, reply) {
      const walk = () => listTimers(state, tenant, queue, after, limit);
      reads.confirmed(null, walk, reply, (page) => reply.send({ kind: 'timer-page', ...page }));
    },
    queues(tenant, page, newList, reply) {
      const key = pageKeyOf('timers', tenant, page);
      sendPage(reads, key, (take) => listTimerQueues(state, tenant, page, take), newList, reply);
    },
    peek(tenant, queue, timerKey, reply) {
      const walk = () => findTimer(state, tenant, queue, timerKey);
      reads.confirmed(null, walk, reply, (timer) => reply.send({ kind: 'timer-peek', timer }));
    },
  };
}
