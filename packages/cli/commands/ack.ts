/** `ack`, `tx`, `lease`: what becomes of messages that were popped. */
import { path, writeJson } from '@svc/client';
import { parseAllDocuments } from 'yaml';
import { EXIT, RefusedError, UserError } from '../base/errors.js';
import { exactJson } from '../base/exact-json.js';
import { type Command, doing, listIn, membersOf } from '../command/command.js';
import type { Run } from '../command/run.js';
import { yamlFault } from '../config/config-file.js';
import { batchesOf, fileText, linesGiven } from './line-input.js';

type Members = Readonly<Record<string, unknown>>;

const ACKS_OF_A_CALL = 1000;

export const ackCommands: readonly Command[] = [
  {
    name: 'ack',
    args: '[transactionId]',
    help: 'Acknowledge a message, or the lines that pop printed.',
    flags: [
      ['--partition-id <id>', 'of the message, as pop printed it'],
      ['--lease-id <id>', 'of the message, as pop printed it'],
      ['--cg <group>', 'consumer group'],
      ['--failed', 'it failed: give it back, or file it as a dead letter', false],
      ['--error <text>', 'why it failed; kept with the dead letter'],
      ['--batch <file>', 'lines of JSON with transactionId, partitionId, leaseId; - is the input'],
    ],
    example: 'ack order-1 --partition-id 1 --lease-id 01a1fda7-d994-7000-8000-043ebfa55d76',
    run: ack,
  },
  {
    name: 'tx',
    help: 'Do the pushes and acknowledgements of a file together, or none.',
    flags: [
      ['-f, --file <path>', 'YAML or JSON with operations; - is the input'],
      ['--dry-run', 'check the file and send nothing', false],
    ],
    example: 'tx -f move.yaml',
    run: transact,
  },
  doing({
    name: 'lease extend',
    args: '<leaseId>',
    help: 'Extend the leases of a pop.',
    flags: [['--seconds <n>', "from now; the queue's lease time when absent"]],
    example: 'lease extend 01a1fda7-d994-7000-8000-043ebfa55d76',
    call: (given) => ({
      method: 'POST',
      path: path`/api/v1/lease/${given.arg(0)}/extend`,
      body: exactJson({ seconds: given.integer('seconds', 1) }),
    }),
    said: (given, { success, newExpiresAt }) => {
      if (success !== true) throw new RefusedError(`lease ${given.arg(0)} is not live any more`);
      return `renewed ${given.arg(0)} -> ${String(newExpiresAt)}`;
    },
  }),
];

async function ack(run: Run) {
  const { given } = run;
  const file = given.text('batch');
  const status = given.is('failed') || given.isTyped('error') ? 'failed' : 'completed';
  const wide = { status, error: given.text('error') };
  if (file === undefined) {
    const transactionId = given.optionalArg(0);
    if (transactionId === undefined) throw new UserError('write a transaction id, or --batch');
    const partitionId = given.required('partition-id');
    const body = { transactionId, partitionId, leaseId: given.text('lease-id'), ...wide };
    return acked(await sent(run, '/api/v1/ack', { ...body, consumerGroup: given.text('cg') }));
  }
  if (given.optionalArg(0) !== undefined) {
    throw new UserError('a transaction id and --batch exclude each other');
  }
  const results: Members[] = [];
  for await (const lines of batchesOf(linesGiven(run, file), ACKS_OF_A_CALL)) {
    const acknowledgments = lines.map(({ value, number }) => ackOf(membersOf(value), number, wide));
    const body = { consumerGroup: given.text('cg'), acknowledgments };
    for (const result of await sent(run, '/api/v1/ack/batch', body)) results.push(result);
    await run.progress(`acknowledged ${results.length}`);
  }
  return results.length === 0 ? ({ kind: 'nothing' } as const) : acked(results);
}

async function sent(run: Run, at: string, body: Members): Promise<readonly Members[]> {
  const request = { method: 'POST', path: at, body: exactJson(body) } as const;
  return listIn((await run.call(request)).body, '');
}

/** A line of pop has more than an acknowledgement takes; a status of its own wins. */
function ackOf(line: Members, number: number, wide: Members): Members {
  const { transactionId, partitionId, leaseId, status, error } = line;
  if (typeof transactionId !== 'string' || typeof partitionId !== 'string') {
    throw new UserError(`line ${number} has no transactionId and partitionId`);
  }
  const own = { ...(status ? { status } : {}), ...(error ? { error } : {}) };
  return { transactionId, partitionId, leaseId, ...wide, ...own };
}

function acked(results: readonly Members[]) {
  const refused = results.filter(({ success }) => success !== true);
  const [first] = refused;
  if (first !== undefined) {
    const more = refused.length === 1 ? '' : ` (and ${refused.length - 1} more)`;
    throw new RefusedError(
      `not acknowledged: ${String(first.transactionId)}: ${String(first.error)}${more}`,
    );
  }
  return { kind: 'said', text: `acknowledged=${results.length}`, value: results } as const;
}

async function transact(run: Run) {
  const file = run.given.required('file');
  const body = transactionOf(await fileText(run, file), file);
  if (run.given.is('dry-run')) {
    const text = `[dry-run] would send ${body.operations.length} operations`;
    return { kind: 'said', text, value: body } as const;
  }
  // Sent again it could push twice: acknowledgements and transaction ids are no guard for all.
  const { body: answer } = await run.call({
    method: 'POST',
    path: '/api/v1/transaction',
    body: exactJson(body),
    repeat: 'unapplied',
  });
  const { success, reason, error, transactionId } = membersOf(answer);
  if (success === true) {
    return { kind: 'said', text: `committed ${String(transactionId)}`, value: answer } as const;
  }
  await run.world.errors.write(
    `svcctl: rolled back: ${[reason, error].filter(Boolean).join(': ')}\n`,
  );
  return { kind: 'shown', value: answer, code: EXIT.server } as const;
}

/** As it is sent. A lease that is the only one of the file is lent to the acks without one. */
export function transactionOf(text: string, file: string) {
  const [document, more] = parseAllDocuments(text);
  const fault = document !== undefined && 'errors' in document ? document.errors[0] : undefined;
  if (fault !== undefined) throw new UserError(`${file}: ${yamlFault(fault)}`);
  if (more !== undefined) throw new UserError(`${file}: there is more than one document`);
  const value = membersOf(document?.toJS());
  const unknown = Object.keys(value).find(
    (name) => !['operations', 'requiredLeases'].includes(name),
  );
  if (unknown !== undefined) throw new UserError(`${file}: ${unknown} is not known`);
  const { operations, requiredLeases = [] } = value;
  if (!Array.isArray(operations) || operations.length === 0) {
    throw new UserError(`${file}: operations is missing, or no list`);
  }
  if (!Array.isArray(requiredLeases)) throw new UserError(`${file}: requiredLeases is no list`);
  const leases = requiredLeases as readonly unknown[];
  // YAML has numbers that JSON has not.
  writeJson(operations, 'operations');
  return { operations: operations.map((one, i) => operationOf(membersOf(one), i, leases, file)) };
}

function operationOf(operation: Members, at: number, leases: readonly unknown[], file: string) {
  const { type, leaseId } = operation;
  if (type === 'push') return operation;
  if (type !== 'ack') {
    throw new UserError(`${file}: operations[${at}] is no push and no ack`);
  }
  if (leaseId !== undefined || leases.length === 0) return operation;
  if (leases.length === 1) return { ...operation, leaseId: leases[0] };
  throw new UserError(
    `${file}: operations[${at}] has no leaseId, and requiredLeases has ${leases.length}: ` +
      'write the lease into the ack',
  );
}
