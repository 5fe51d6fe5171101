/** The list of queues as tests of whole nodes read it: from the text that a client would get. */
import { type QueueView, type RefusedOutcome, WHOLE } from '@svc/engine';
import {
  AnswerText,
  joined,
  type ListedView,
  type ListForm,
  ListText,
  type QueueListEnd,
  type Service,
  type TextRoom,
} from '@svc/http';
import { type Answers, TENANT } from './group-clients.fake.js';

export interface QueueList {
  readonly kind: 'queue-list';
  readonly queues: readonly QueueView[];
}

const ENDLESS_ROOM: TextRoom = { reserve: () => true, release: () => {} };

const FORM: ListForm<QueueView, QueueListEnd> = {
  open: '[',
  row: joined((view) => JSON.stringify(view)),
  close: () => ']',
  token: (place) => place,
};

export function askQueues(
  broker: Pick<Service, 'listQueues'>,
  answers: Answers<QueueList | RefusedOutcome>,
): void {
  const newList = () => new ListText(new AnswerText(ENDLESS_ROOM), FORM);
  broker.listQueues(TENANT, WHOLE, newList, {
    get gone() {
      return answers.gone;
    },
    onGone: null,
    send: (outcome) => answers.send(outcome.kind === 'refused' ? outcome : listOf(outcome.list)),
  });
}

function listOf({ text }: ListedView['list']): QueueList {
  return { kind: 'queue-list', queues: JSON.parse(Buffer.from(text.from(0)).toString()) };
}
