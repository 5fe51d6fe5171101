/** GET /status (inspection 8.3): the process in one object. */
import { processStatusAnswer, VERSION } from '@svc/wire';
import { residentBytes } from '../../metrics/machine-figures.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { sendAnswer } from '../../routing/reply.js';

export const processStatusEndpoint = endpoint({
  at: 'GET /status',
  level: 'read-only',
  tag: 'node',
  id: 'getProcessStatus',
  summary: 'The process that answers.',
  answers: {
    200: answer(
      'The process, and the parts of it that other protocols speak to.',
      processStatusAnswer,
    ),
  },
  scoped: false,
  handle: ({ service, serverId }, { exchange }) => {
    const { status, raft } = service.health();
    const { nodeId, hostname } = service.raftStatus();
    sendAnswer(exchange, '200 OK', processStatusAnswer, {
      engine: 'raft',
      version: VERSION,
      serverId,
      nodeId,
      hostname,
      pid: process.pid,
      uptimeSeconds: Math.floor(process.uptime()),
      status,
      role: raft.role,
      memory: { rss: residentBytes() },
      raft: service.raftFigures(),
      kafka: { mode: 'off', phase: 'stopped' },
      s3: { mode: 'off', phase: 'stopped', threads: 0, controlPlane: false, sinks: [] },
    });
  },
});
