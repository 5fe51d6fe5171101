import { useEffect, useState } from 'preact/hooks';

const SHOWN_MS = 1500;

/** Copies the text. Without a secure origin browsers have no clipboard: there is no button then. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [said, setSaid] = useState('');
  useEffect(() => {
    if (said === '') return;
    const timer = setTimeout(() => setSaid(''), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [said]);
  if (navigator.clipboard === undefined) return null;
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setSaid('Copied'),
      () => setSaid('Not copied'),
    );
  return (
    <button type="button" class="plain" aria-label={label} title={label} onClick={copy}>
      <span role="status">{said === '' ? 'Copy' : said}</span>
    </button>
  );
}
