/** Schemas of members that bodies of streams share. */
import { describedAs, matching } from '@svc/schema';
export const nonEmpty = matching(/./s);

export const partition = describedAs('Digits, as popped, or the UUID of the partition.', nonEmpty);
