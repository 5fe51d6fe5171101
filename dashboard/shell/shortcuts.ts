import { useEffect, useRef } from 'preact/hooks';

interface Shortcuts {
  readonly onPalette: () => void;
  readonly onCollapse: () => void;
}

/** Ctrl or Cmd with K or `\`; `/` goes to the search of the page, or opens the palette. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const current = useRef(shortcuts);
  current.current = shortcuts;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isCommand = event.ctrlKey || event.metaKey;
      const { onPalette, onCollapse } = current.current;
      if (isCommand && event.key.toLowerCase() === 'k') onPalette();
      else if (isCommand && event.key === '\\') onCollapse();
      else if (event.key === '/' && !isCommand && !isTyping(event)) toSearch(onPalette);
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}

function isTyping({ target }: Event): boolean {
  return target instanceof Element && target.closest('input, textarea, select, dialog') !== null;
}

function toSearch(otherwise: () => void): void {
  const search = document.querySelector<HTMLInputElement>('main [data-search]');
  if (search === null) otherwise();
  else search.focus();
}
