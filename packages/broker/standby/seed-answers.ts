/**
 * Rows of this node's state for a standby that begins with them (standby-link 5): each request is
 * answered with one portion, which the sender of snapshots takes from one view for all of them.
 *
 * What must hold: the log behind the rows stays until the standby has read it. The sender holds it
 * while rows are asked for; each request leaves a hold under the reader's name too, which the reads
 * of the entries renew.
 */
import { NO_NODE } from '@svc/raft';
import { encodeSeedHead, type SeedRequest } from '@svc/standby';
import { encodeFrame } from '../peers/frames.js';
import type { SnapshotSender } from '../repair/snapshot-sender.js';

export interface SeedAnswersOptions {
  readonly clusterId: string;
  readonly log: { readonly firstIndex: number; term(index: number): number | undefined };
  readonly sender: Pick<SnapshotSender, 'answer'>;
  /** `full`: the log is kept for as many readers as it can. */
  readonly holds: { note(reader: string, after: number): string };
}

/** `busy`: ask again in a moment. */
export type SeedRefusal = 'too_many_readers' | 'busy';

export class SeedAnswers {
  readonly #options: SeedAnswersOptions;

  constructor(options: SeedAnswersOptions) {
    this.#options = options;
  }

  answer(request: SeedRequest): readonly Uint8Array[] | SeedRefusal {
    const { clusterId, log, sender, holds } = this.#options;
    const logIndex = log.firstIndex - 1;
    if (holds.note(request.reader, logIndex) === 'full') return 'too_many_readers';
    const { reader, attempt, name, after } = request;
    const content = sender.answer(reader, { kind: 'snapshot-ask', attempt, name, after });
    if (content === null) return 'busy';
    const logTerm = logIndex === 0 ? 0 : (log.term(logIndex) ?? 0);
    const head = encodeSeedHead({ clusterId, logIndex, logTerm });
    return [Buffer.from(head), ...encodeFrame(NO_NODE, NO_NODE, content)];
  }
}
