/** A stored value as a tree, or its bytes as they are. */
import { useState } from 'preact/hooks';
import { CopyButton } from './copy-button.js';
import { JsonTree, textOfStored } from './json-tree.js';
import { Tabs } from './tabs.js';

interface StoredValueProps {
  readonly value: unknown;
  readonly label: string;
}

const VIEWS = [
  { value: 'tree', label: 'Tree' },
  { value: 'raw', label: 'As stored' },
] as const;

export function StoredValue({ value, label }: StoredValueProps) {
  const [view, setView] = useState('tree');
  const text = textOfStored(value);
  return (
    <div class="stored">
      <Tabs label={`View of ${label}`} value={view} choices={VIEWS} onChoose={setView} />
      {view === 'tree' ? (
        <JsonTree value={value} label={label} />
      ) : (
        <div class="json">
          <div class="json-head">
            <span class="quiet">{label}</span>
            <CopyButton text={text} label={`Copy ${label}`} />
          </div>
          <textarea class="raw" readOnly rows={10} value={text} aria-label={`${label} as stored`} />
        </div>
      )}
    </div>
  );
}
