/** Commands over declared ephemeral queues (state-surfaces 4.2). */
import { EPHEMERAL_OPTIONS_BYTES_MAX } from '@svc/wire';
import { type ChoiceOf, kind } from '../fields/choice.js';
import { flag, refined, textTo } from '../fields/field.js';
import { name, namesFit, tenant } from './names.js';

const queue = refined(name, (one) => one !== '' && namesFit(one, '', ''));

export const ephemeralCommands = {
  'ephemeral-configure': kind(21, {
    tenant,
    queue,
    /** The JSON text of an object. */
    options: textTo(EPHEMERAL_OPTIONS_BYTES_MAX),
  }),
  'ephemeral-delete': kind(22, { tenant, queue }),
};
export type EphemeralCommand = ChoiceOf<'kind', typeof ephemeralCommands>;
export type EphemeralConfigureCommand = Extract<
  EphemeralCommand,
  { readonly kind: 'ephemeral-configure' }
>;
export type EphemeralDeleteCommand = Extract<
  EphemeralCommand,
  { readonly kind: 'ephemeral-delete' }
>;

export const ephemeralOutcomes = {
  /** The tenant may not have another queue: nothing was stored. */
  'ephemeral-configured': kind(20, { isOverQuota: flag }),
  'ephemeral-deleted': kind(21, { wasDeclared: flag }),
};
type EphemeralOutcome = ChoiceOf<'kind', typeof ephemeralOutcomes>;
export type EphemeralConfiguredOutcome = Extract<
  EphemeralOutcome,
  { readonly kind: 'ephemeral-configured' }
>;
export type EphemeralDeletedOutcome = Extract<
  EphemeralOutcome,
  { readonly kind: 'ephemeral-deleted' }
>;
