import { useEffect, useState } from 'preact/hooks';

const SHOWN_MS = 1500;

/** Copies the text, and says whether it did. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [said, setSaid] = useState('');
  useEffect(() => {
    if (said === '') return;
    const timer = setTimeout(() => setSaid(''), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async (button: HTMLElement) =>
    setSaid((await isCopied(text, button)) ? 'Copied' : 'Not copied');
  return (
    <button
      type="button"
      class="plain"
      aria-label={label}
      title={label}
      onClick={(event) => void copy(event.currentTarget)}
    >
      <span role="status">{said === '' ? 'Copy' : said}</span>
    </button>
  );
}

async function isCopied(text: string, button: HTMLElement): Promise<boolean> {
  if (navigator.clipboard === undefined) return isCopiedFromField(text, button);
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => false,
  );
}

/**
 * Over plain HTTP browsers have no clipboard, and copy text that is selected. The field that has it
 * is there until then, beside the button: a dialog makes all that is outside of it inert.
 */
function isCopiedFromField(text: string, button: HTMLElement): boolean {
  const field = document.createElement('textarea');
  field.value = text;
  field.readOnly = true;
  button.after(field);
  field.focus({ preventScroll: true });
  field.select();
  const isDone = document.execCommand('copy');
  field.remove();
  button.focus({ preventScroll: true });
  return isDone;
}
