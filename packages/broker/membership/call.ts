/**
 * A question about the members on its way from the node that was asked to the one that leads, and
 * the answer: JSON, for they are rare, small and read by people who look for a fault.
 *
 * What must hold: nothing that another node sends can do more than be refused.
 */
import type { MembershipChange, MembershipRefused, MembershipView } from '@svc/http';

export type MembershipQuestion =
  | { readonly ask: 'view' }
  | { readonly ask: 'change'; readonly change: MembershipChange };

/** `elsewhere`: the node does not lead, or no longer; whether it changed anything before. */
export type MembershipReply =
  | MembershipView
  | MembershipRefused
  | { readonly kind: 'elsewhere'; readonly changed: 'no' | 'maybe' };

/** 64 nodes of a change take 1 KiB; a picture of 64 members with long names 64 KiB. */
const BYTES_MAX = 256 * 1024;

export function encodeQuestion(question: MembershipQuestion): readonly Uint8Array[] {
  return [Buffer.from(JSON.stringify(question))];
}

export function encodeReply(reply: MembershipReply): readonly Uint8Array[] {
  return [Buffer.from(JSON.stringify(reply))];
}

/** null: it is none. */
export function decodeQuestion(bytes: Uint8Array): MembershipQuestion | null {
  const question = objectOf(bytes);
  if (question?.ask === 'view') return { ask: 'view' };
  if (question?.ask !== 'change') return null;
  const change = readChange(question.change);
  return change === null ? null : { ask: 'change', change };
}

/** null: it is none. */
export function decodeReply(bytes: Uint8Array): MembershipReply | null {
  const reply = objectOf(bytes);
  switch (reply?.kind) {
    case 'elsewhere':
      return { kind: 'elsewhere', changed: reply.changed === 'no' ? 'no' : 'maybe' };
    case 'membership':
      return isObject(reply.membership) ? (reply as unknown as MembershipView) : null;
    case 'membership-refused': {
      const known = typeof reply.code === 'string' && typeof reply.error === 'string';
      return known ? (reply as unknown as MembershipRefused) : null;
    }
    default:
      return null;
  }
}

function readChange(value: unknown): MembershipChange | null {
  if (!isObject(value)) return null;
  const { kind, node, nodes, force, raftAddress, httpAddress } = value;
  switch (kind) {
    case 'add-learner': {
      const named = typeof raftAddress === 'string' && typeof httpAddress === 'string';
      return named && isNumber(node) ? { kind, node, raftAddress, httpAddress } : null;
    }
    case 'remove':
    case 'transfer':
      return isNumber(node) ? { kind, node } : null;
    case 'promote':
    case 'set-voters': {
      const listed = Array.isArray(nodes) && nodes.every(isNumber);
      return listed && typeof force === 'boolean' ? { kind, nodes, force } : null;
    }
    default:
      return null;
  }
}

function objectOf(bytes: Uint8Array): Readonly<Record<string, unknown>> | null {
  if (bytes.length > BYTES_MAX) return null;
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    return isObject(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
