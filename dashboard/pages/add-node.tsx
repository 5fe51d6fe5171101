/** Adds a node to the cluster: it gets the log, and votes once it is let. */
import { useState } from 'preact/hooks';
import { Dialog, FormFoot, Refusal } from '../components/dialog.js';
import { Field, TextInput } from '../components/form.js';
import { tell } from '../components/results.js';
import { useCluster } from '../data/cluster.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';

export function AddNode() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Add a node
      </button>
      {isOpen && <AddDialog onClose={() => setOpen(false)} />}
    </>
  );
}

const PLACE = /^[^\s:]+:\d{1,5}$|^\[[0-9a-fA-F:]+\]:\d{1,5}$/;
const CHANGE_MS_MAX = 35_000;

function AddDialog({ onClose }: { readonly onClose: () => void }) {
  const { members } = useCluster();
  const [typed, setTyped] = useState({ id: '', raft: '', http: '' });
  const [isTold, setTold] = useState(false);
  const set = (changed: Partial<typeof typed>) => setTyped({ ...typed, ...changed });
  const isId = /^[1-9]\d{0,8}$/.test(typed.id.trim());
  const wrong = (isRight: boolean, text: string) => (isTold && !isRight ? text : null);
  const addition = useAction(async () => {
    const body = { id: Number(typed.id), raft: typed.raft.trim(), http: typed.http.trim() };
    const msMax = CHANGE_MS_MAX;
    await call('POST /api/v1/system/raft/membership/learners', { body, msMax });
    tell(`Node ${body.id} is added. It votes once it has caught up and you let it.`);
    members.refresh();
    onClose();
  });
  const places = [
    ['raft', 'Address for the other nodes'],
    ['http', 'Address for clients'],
  ] as const;
  const isRight = isId && places.every(([name]) => PLACE.test(typed[name].trim()));
  const submit = (event: Event) => {
    event.preventDefault();
    setTold(true);
    if (isRight) void addition.run();
  };
  return (
    <Dialog title="Add a node" onClose={onClose} isForm>
      <form class="stack" onSubmit={submit}>
        <p>
          It gets the log and has no vote yet, so the cluster works on whatever becomes of it. Start
          it first, on an empty directory, with SVC_RAFT_JOIN=true.
        </p>
        <Field label="Number" error={wrong(isId, 'A whole number from 1.')}>
          {(id) => <TextInput id={id} value={typed.id} onInput={(text) => set({ id: text })} />}
        </Field>
        {places.map(([name, label]) => (
          <Field
            key={name}
            label={label}
            note="host:port"
            error={wrong(PLACE.test(typed[name].trim()), 'host:port is needed.')}
          >
            {(id) => (
              <TextInput id={id} value={typed[name]} onInput={(text) => set({ [name]: text })} />
            )}
          </Field>
        ))}
        <Refusal error={addition.error} />
        <FormFoot label="Add" onClose={onClose} isBusy={addition.isBusy} />
      </form>
    </Dialog>
  );
}
