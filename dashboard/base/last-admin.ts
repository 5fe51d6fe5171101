/** A cluster keeps an administrator; who is the last one is said before the gateway refuses it. */

interface Member {
  readonly user_id: string;
  readonly role: string;
}

/** Whether the cluster would be without an administrator if this member were none. */
export function isLastAdmin(members: readonly Member[], userId: string): boolean {
  const admins = members.filter(({ role }) => role === 'admin');
  return admins.length === 1 && admins[0]?.user_id === userId;
}

export const LAST_ADMIN =
  'This is the only admin of the cluster, which needs one. Make somebody else an admin first.';
