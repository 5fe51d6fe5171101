/** The command that makes a standby an ordinary cluster (standby-link 5). */
import { type ChoiceOf, kind } from '../fields/choice.js';
import { flag } from '../fields/field.js';

export const standbyCommands = { promote: kind(23, {}) };
export type PromoteCommand = ChoiceOf<'kind', typeof standbyCommands>;

export const standbyOutcomes = {
  /** False: the cluster never was a standby. */
  promoted: kind(22, { wasStandby: flag }),
};
export type PromotedOutcome = ChoiceOf<'kind', typeof standbyOutcomes>;
