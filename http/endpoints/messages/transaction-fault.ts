/** A transaction that is refused before it is planned, in a text of its own (message-plane 6). */
export class TransactionFault extends Error {
  readonly code = 'bad_transaction';
}
