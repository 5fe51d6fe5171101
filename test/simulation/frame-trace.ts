/** One line for a frame between two machines, for whoever reads a trace. */
import { decodeMessage } from '@svc/raft';

export function describeFrame(from: number, to: number, frame: Uint8Array, fate: string): string {
  const message = decodeMessage(frame);
  const text = message.type === 'refused' ? `${frame.length} bytes` : fieldsOf(message);
  return `${from} -> ${to} ${text}${fate === '' ? '' : ` (${fate})`}`;
}

function fieldsOf(message: object): string {
  return Object.entries(message)
    .filter(([name]) => name !== 'from' && name !== 'to')
    .map(([name, value]) => {
      if (Array.isArray(value)) return `${name}: ${value.length}`;
      return name === 'type' ? `${value}` : `${name} ${JSON.stringify(value)}`;
    })
    .join(' ');
}
