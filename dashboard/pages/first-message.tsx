import { CopyButton } from '../components/copy-button.js';
import { useSession } from '../data/identity.js';
import { urlOf } from '../data/location.js';

/** For a cluster that has no queue: how the first one comes to be. */
export function FirstMessage() {
  const isMember = useSession() !== null;
  const command = [
    `curl -X POST ${urlOf('/api/v1/push')} \\`,
    ...(isMember ? [`  -H "authorization: Bearer $API_KEY" \\`] : []),
    `  -H 'content-type: application/json' \\`,
    `  -d '{"items":[{"queue":"orders","payload":{"id":1}}]}'`,
  ].join('\n');
  return (
    <div class="stack">
      <p class="quiet">
        No queue yet. The first message makes one
        {isMember && ', sent with an API key of this cluster'}:
      </p>
      <pre>{command}</pre>
      <div>
        <CopyButton text={command} label="Copy the command" />
      </div>
    </div>
  );
}
