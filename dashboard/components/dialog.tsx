/**
 * Questions over the page. The native element brings what is hard: the focus stays inside and goes
 * back where it was, the page behind is inert. It begins in the first field. Escape closes, and
 * asks first where what was typed would be lost.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isSameName, shownName } from '../base/words.js';
import { Field, TextInput } from './form.js';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly isWide?: boolean;
  /** A person types into it: a single key does not drop that. */
  readonly isForm?: boolean;
  /** Asked before it closes, whatever was typed: what is lost then. */
  readonly question?: string;
}

/** Open while it is drawn. */
export function Dialog(props: DialogProps) {
  const { title, onClose, children, isWide = false, isForm = false, question } = props;
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const isTyped = useRef(false);
  const [isAsked, setAsked] = useState(false);
  const asks = () => question !== undefined || (isForm && isTyped.current);
  const close = () => (asks() ? setAsked(!isAsked) : onClose());
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog !== null && !dialog.open) open(dialog);
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      class={isWide ? 'wide' : undefined}
      aria-labelledby={heading}
      onInput={() => {
        isTyped.current = true;
      }}
      onKeyDown={(event) => {
        // A browser closes at the second Escape whatever the page says, unless it takes the key.
        if (event.key !== 'Escape' || event.defaultPrevented || event.isComposing) return;
        if (!asks()) return;
        event.preventDefault();
        close();
      }}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      // The browser closed it, which the page did not ask it to.
      onClose={() => element.current !== null && onClose()}
    >
      <div class="dialog-head">
        <h2 id={heading}>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={close}>
          ✕
        </button>
      </div>
      {isAsked && (
        <KeepOrDrop question={question} onKeep={() => setAsked(false)} onDrop={onClose} />
      )}
      {children}
    </dialog>
  );
}

interface KeepOrDropProps {
  readonly question: string | undefined;
  readonly onKeep: () => void;
  readonly onDrop: () => void;
}

function KeepOrDrop({ question, onKeep, onDrop }: KeepOrDropProps) {
  const keep = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    keep.current?.focus();
    // Back to where something was typed.
    return () => before instanceof HTMLElement && before.focus();
  }, []);
  return (
    <div class="keep-or-drop" role="alert">
      <span>{question ?? 'Close it, and lose what was typed?'}</span>
      <span class="dialog-foot">
        <button type="button" onClick={onDrop}>
          {question === undefined ? 'Lose it' : 'Close it'}
        </button>
        <button type="button" class="primary" ref={keep} onClick={onKeep}>
          Keep on
        </button>
      </span>
    </div>
  );
}

const FIELD = 'input:enabled, select:enabled, textarea:enabled:not([readonly])';

/** Where there is no field, the browser begins at the first button, which closes. */
function open(dialog: HTMLDialogElement): void {
  dialog.showModal();
  const field = dialog.querySelector<HTMLElement>(FIELD);
  field?.focus();
  // The text is selected, so that typing or pasting replaces it.
  if (field instanceof HTMLInputElement) field.select();
}

interface ConfirmProps {
  readonly title: string;
  /** What will happen, said before it does. */
  readonly children: ComponentChildren;
  /** Has to be typed; "" for nothing. */
  readonly name?: string;
  /** On the button: "Delete the queue". */
  readonly action: string;
  /** On the button that changes nothing. */
  readonly dismissal?: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly isBusy?: boolean;
  readonly error?: string | null;
  readonly isDangerous?: boolean;
}

/** A question with the name of what it is about to be typed. */
export function ConfirmByName(props: ConfirmProps) {
  const { title, children, name = '', action, onConfirm, onClose } = props;
  const { isBusy = false, error = null, isDangerous = true, dismissal = 'Cancel' } = props;
  const [typed, setTyped] = useState('');
  const isSame = isSameName(typed, name);
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (isSame && !isBusy) onConfirm();
        }}
      >
        <div class="told-first">{children}</div>
        {name !== '' && (
          <Field label={`Type its name: ${shownName(name)}`}>
            {(id) => <TextInput id={id} value={typed} onInput={setTyped} />}
          </Field>
        )}
        <Refusal error={error} />
        <FormFoot
          label={action}
          dismissal={dismissal}
          onClose={onClose}
          isBusy={isBusy}
          isForbidden={!isSame}
          isDangerous={isDangerous}
        />
      </form>
    </Dialog>
  );
}

interface FormFootProps {
  /** On the button that sends: "Create". */
  readonly label: string;
  /** On the button that changes nothing. */
  readonly dismissal?: string;
  readonly onClose: () => void;
  readonly isBusy: boolean;
  /** The form cannot be sent as it is. */
  readonly isForbidden?: boolean;
  readonly isDangerous?: boolean;
  /** At the other end. */
  readonly children?: ComponentChildren;
}

/** The last line of a form in a dialog: one button leaves it, the other one sends it. */
export function FormFoot(props: FormFootProps) {
  const { label, dismissal = 'Cancel', onClose, isBusy, children } = props;
  const { isForbidden = false, isDangerous = false } = props;
  return (
    <div class="dialog-foot">
      {children}
      <button type="button" onClick={onClose}>
        {dismissal}
      </button>
      <button
        type="submit"
        class={isDangerous ? 'danger' : 'primary'}
        disabled={isForbidden || isBusy}
      >
        {isBusy ? 'Under way…' : label}
      </button>
    </div>
  );
}

/** Why it was refused, read aloud. */
export function Refusal({ error }: { readonly error: string | null }) {
  const [told, setTold] = useState(error);
  // Drawn empty first: a live region tells what changes in it.
  useEffect(() => setTold(error), [error]);
  return (
    <p class="refusal" role="alert" hidden={told === null} dir="auto">
      {told}
    </p>
  );
}
