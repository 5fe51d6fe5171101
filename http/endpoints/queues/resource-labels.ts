/** GET /api/v1/resources/namespaces and /tasks (inspection 6.2). */
import type { Label, LabelSum } from '@svc/engine';
import type { LabelFigures } from '@svc/wire';
import {
  joined,
  type ListEnd,
  type ListForm,
  ListText,
  renderListed,
} from '../../exchange/list-text.js';
import { listPagingOf, nextAfterText, placeToken } from '../../exchange/paging.js';
import { PendingReply } from '../../routing/reply.js';
import { queryOf } from '../../routing/request-query.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../../routing/route.js';

const LABEL_ROUTE = {
  ...ROUTE_DEFAULTS,
  method: 'GET',
  level: 'read-only',
  largeAnswer: 'read',
} as const;

export const namespacesRoute: Route = {
  ...LABEL_ROUTE,
  path: '/api/v1/resources/namespaces',
  handle: (front, request) => handle(front, request, 'namespace'),
};

export const tasksRoute: Route = {
  ...LABEL_ROUTE,
  path: '/api/v1/resources/tasks',
  handle: (front, request) => handle(front, request, 'task'),
};

function handle(front: Front, request: RouteRequest, label: Label): void {
  const { exchange, tenant } = request;
  const query = queryOf(request);
  if (query === null) return;
  const letter = LETTERS[label];
  const paging = listPagingOf(exchange, query, letter);
  if (paging === null) return;
  const form: ListForm<LabelSum, ListEnd> = {
    open: `{"${label}s":[`,
    row: joined((sum) => JSON.stringify({ [label]: sum.label, ...figures(sum) })),
    close: ({ nextAfter }) => `]${nextAfterText(paging, letter, nextAfter)}}`,
    token: (place) => placeToken(letter, place),
  };
  const reply = new PendingReply(exchange, front.logger, false, renderListed);
  const newList = () => new ListText(exchange.newText(), form);
  front.service.resources.sumsByLabel(tenant, label, paging, newList, reply);
}

/** The letters of the two lists. */
const LETTERS = { namespace: 'm', task: 't' } as const;

function figures({ queues, partitions, counts }: LabelSum): LabelFigures {
  const { total, pending, processing } = counts;
  return { queues, partitions, messages: { total, pending: pending - processing } };
}
