/** Lists in pages (decisions 28); see sections.ts. */
import { sections } from './section.js';

export const PAGES = sections({
  'decisions 28': {
    rows: [
      'resources/queues',
      'resources/queues?stats=lanes',
      'resources/namespaces',
      'resources/tasks',
      'resources/timers',
      'status',
      'resources/queues/{queue}',
      'status/queues/{queue}',
      'resources/queues/{queue}/depth',
      'resources/queues/{queue}/sizes',
      'consumer-groups',
      'consumer-groups/{group}',
      'consumer-groups/lagging',
      'a whole list',
      'limit',
      'after',
      'own forms',
    ],
  },
});
