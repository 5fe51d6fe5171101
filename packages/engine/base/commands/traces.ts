/** The command that writes a trace (state-surfaces 6.1). */
import { TRACE_KEY_TEXT_BYTES_MAX, TRACE_NAMES_MAX } from '@svc/wire';
import { type ChoiceOf, kind } from '../fields/choice.js';
import { list, nullable, text, textTo, uuid } from '../fields/field.js';
import { tenant } from './names.js';

const keyText = textTo(TRACE_KEY_TEXT_BYTES_MAX);

export const traceCommands = {
  trace: kind(
    13,
    {
      tenant,
      /** Not empty, without a NUL. */
      transactionId: keyText,
      /** Digits or a UUID; null: none is named. */
      partitionId: nullable(text),
      /** Distinct, without NULs. */
      names: list(keyText, TRACE_NAMES_MAX),
      eventType: keyText,
      consumerGroup: nullable(keyText),
      worker: nullable(keyText),
      messageId: nullable(uuid),
      /** null: the broker mints one. */
      traceId: nullable(uuid),
    },
    // A NUL ends a text in a key, and a name that came twice would be counted twice.
    ({ transactionId, names }) =>
      transactionId !== '' &&
      [transactionId, ...names].every((one) => !one.includes('\0')) &&
      new Set(names).size === names.length,
  ),
};

/** `data`: the JSON text, which stands behind the fields as bodies do. */
export type TraceCommand = ChoiceOf<'kind', typeof traceCommands> & { readonly data: Uint8Array };

export const traceOutcomes = {
  /** null: there is no such partition, and nothing was stored. */
  traced: kind(12, { traceId: nullable(text) }),
};
export type TracedOutcome = ChoiceOf<'kind', typeof traceOutcomes>;
