/** The payload of a message: as a tree, as stored, or in a line of a table. */
import { isEnvelope } from '../base/envelope.js';
import { StoredText, textOfStored } from './json-tree.js';
import { Notice } from './states.js';
import { StoredValue } from './stored-value.js';

export function Payload({ value }: { readonly value: unknown }) {
  return (
    <>
      {isEnvelope(textOfStored(value)) && (
        <Notice tone="wait">
          It is stored encrypted, and the node that answered does not have the key it was stored
          with (SVC_ENCRYPTION_KEY). What it gave is the envelope.
        </Notice>
      )}
      <StoredValue value={value} label="Payload" />
    </>
  );
}

export function PayloadText({ value }: { readonly value: unknown }) {
  if (!isEnvelope(textOfStored(value))) return <StoredText value={value} />;
  return <span class="quiet">encrypted, and the node does not have its key</span>;
}
