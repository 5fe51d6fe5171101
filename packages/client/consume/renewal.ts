/** Renews the leases of a batch while its handler works. */

import { renew } from '../messages/acks.js';
import type { Message } from '../messages/message.js';
import type { Transport } from '../transport/transport.js';

/** As long as the default lease of the broker, or three renewals if that is more. */
const SECONDS_MIN = 60;

/** Begins; the function that it gives back ends it. */
export function renewing(
  transport: Transport,
  messages: readonly Message[],
  everyMs: number,
): () => void {
  const leases = [...new Set(messages.map(({ leaseId }) => leaseId))].filter((id) => id !== '');
  const seconds = Math.max(SECONDS_MIN, Math.ceil((3 * everyMs) / 1000));
  let cancel: () => void = () => undefined;
  const { logger } = transport.settings;
  const again = () => {
    cancel = transport.platform.after(everyMs, () => {
      renew(transport, leases, seconds).then(
        (results) => {
          for (const { leaseId } of results.filter(({ renewed }) => !renewed)) {
            logger.warn('a lease is over; its messages are delivered again', { leaseId });
          }
        },
        (error) => logger.warn('a lease was not renewed', { error: String(error) }),
      );
      again();
    });
  };
  if (leases.length > 0) again();
  return () => cancel();
}
