/** GET /api/v1/resources/namespaces and /tasks (inspection 6.2). */
import type { Label, LabelSum, RefusedOutcome } from '@svc/engine';
import type { LabelFigures, NamespacesAnswer, TasksAnswer } from '@svc/wire';
import type { Exchange } from '../exchange.js';
import { PendingReply } from '../reply.js';
import type { LabelSumsView } from '../resource-service.js';
import { type Front, ROUTE_DEFAULTS, type Route, type RouteRequest } from '../route.js';

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

function handle(front: Front, { exchange, tenant }: RouteRequest, label: Label): void {
  const reply = new PendingReply(exchange, front.logger, label, render);
  front.service.resources.sumsByLabel(tenant, label, reply);
}

function render(exchange: Exchange, label: Label, outcome: LabelSumsView | RefusedOutcome): void {
  if (outcome.kind === 'refused') exchange.refuse(outcome.refusal);
  else exchange.json('200 OK', JSON.stringify(labelAnswer(label, outcome.sums)));
}

function labelAnswer(label: Label, sums: readonly LabelSum[]): NamespacesAnswer | TasksAnswer {
  return label === 'namespace'
    ? { namespaces: sums.map((sum) => ({ namespace: sum.label, ...figures(sum) })) }
    : { tasks: sums.map((sum) => ({ task: sum.label, ...figures(sum) })) };
}

function figures({ queues, partitions, counts }: LabelSum): LabelFigures {
  const { total, pending, processing } = counts;
  return { queues, partitions, messages: { total, pending: pending - processing } };
}
