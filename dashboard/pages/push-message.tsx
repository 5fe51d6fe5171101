/** Pushes one message. The payload is checked while it is typed, and stored as it was typed. */
import { useState } from 'preact/hooks';
import { CallError } from '../base/call-error.js';
import { faultOfJson, pushBody } from '../base/stored-text.js';
import { Dialog, FormFoot, Refusal } from '../components/dialog.js';
import { Field, TextArea, TextInput } from '../components/form.js';
import { tell } from '../components/results.js';
import { Name } from '../components/text.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';

interface PushMessageProps {
  /** "": to be typed. */
  readonly queue: string;
  readonly partition?: string;
  readonly onClose: () => void;
  readonly onPushed: () => void;
}

export function PushMessage({ queue: given, partition = '', onClose, onPushed }: PushMessageProps) {
  const [item, setItem] = useState<Item>({ queue: given, partition, transactionId: '' });
  const [payload, setPayload] = useState('{}');
  const [isTold, setTold] = useState(false);
  const set = (changed: Partial<Item>) => setItem({ ...item, ...changed });
  const fault = faultOfJson(payload);
  const push = useAction(async () => {
    const [pushed] = await call('POST /api/v1/push', { body: pushBody(item, payload) });
    if (pushed?.status === 'error') throw new CallError('refused', 'The message is too large.');
    tell(<Pushed isNew={pushed?.status === 'queued'} queue={item.queue} />);
    onPushed();
    onClose();
  });
  const submit = (event: Event) => {
    event.preventDefault();
    setTold(true);
    if (fault === null && item.queue !== '') void push.run();
  };
  return (
    <Dialog title="Push a message" onClose={onClose} isWide isForm>
      <form class="stack" onSubmit={submit}>
        {given === '' && (
          <Field
            label="Queue"
            note="A queue that is not there is created."
            error={isTold && item.queue === '' ? 'A queue is needed.' : null}
          >
            {(id) => <TextInput id={id} value={item.queue} onInput={(queue) => set({ queue })} />}
          </Field>
        )}
        <AddressFields item={item} onInput={set} />
        <Field label="Payload" note="JSON, stored as it is typed." error={fault}>
          {(id) => (
            <TextArea id={id} value={payload} onInput={setPayload} isWrong={fault !== null} />
          )}
        </Field>
        <Refusal error={push.error} />
        <FormFoot
          label="Push"
          onClose={onClose}
          isBusy={push.isBusy}
          isForbidden={fault !== null}
        />
      </form>
    </Dialog>
  );
}

interface Item {
  readonly queue: string;
  readonly partition: string;
  readonly transactionId: string;
}

interface AddressFieldsProps {
  readonly item: Item;
  readonly onInput: (changed: Partial<Item>) => void;
}

function AddressFields({ item, onInput }: AddressFieldsProps) {
  return (
    <div class="fields">
      <Field label="Partition" note="Default where nothing is said.">
        {(id) => (
          <TextInput
            id={id}
            value={item.partition}
            onInput={(name) => onInput({ partition: name })}
          />
        )}
      </Field>
      <Field label="Transaction id" note="Without it the message gets an id of its own.">
        {(id) => (
          <TextInput
            id={id}
            value={item.transactionId}
            onInput={(transactionId) => onInput({ transactionId })}
          />
        )}
      </Field>
    </div>
  );
}

function Pushed({ isNew, queue }: { readonly isNew: boolean; readonly queue: string }) {
  return (
    <>
      {isNew ? 'Pushed to ' : 'Nothing stored: this transaction id is already in '}
      <Name text={queue} />
    </>
  );
}
