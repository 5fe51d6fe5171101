/**
 * The block "Standby link" and the alarms of the overview that lead to it. Text of others is only
 * ever set as text. The form stands still while figures change, so nothing typed is lost.
 */
import { alarmsOf, factsOf, noteOf, READER_COLUMNS, readerRows } from './link.js';
import { ask, reasonOf } from './source.js';
import { rowOf } from './surface-page.js';

const PROMOTE = '/api/v1/system/link/promote';
/** The node answers within 30 s. */
const PROMOTE_MS_MAX = 35_000;

export class LinkPage {
  #elements;
  #raft = null;
  #leaderId = null;
  /** null: not known yet. */
  #isAdmin = null;
  #isPromoting = false;

  constructor(elements) {
    this.#elements = elements;
    elements.head.append(
      rowOf(
        READER_COLUMNS.map((text) => ({ text })),
        'th',
      ),
    );
    elements.typed.addEventListener('input', () => this.#showForm());
    elements.form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#promote();
    });
  }

  set leaderId(leaderId) {
    this.#leaderId = leaderId;
  }

  /** `raft` of `/health`. */
  show(raft) {
    this.#raft = raft;
    const { facts, note, table, rows, alarms } = this.#elements;
    facts.replaceChildren(...factsOf(raft.link, this.#leaderId, Date.now()).flatMap(pairOf));
    note.textContent = noteOf(raft.link);
    const readers = readerRows(raft.link, raft.applied);
    rows.replaceChildren(...readers.map((cells) => rowOf(cells, 'td')));
    table.hidden = readers.length === 0;
    const told = alarmsOf(raft.link).map(alarmOf);
    // Only what changed: a screen reader reads it aloud.
    if (told.map(({ outerHTML }) => outerHTML).join('') !== alarms.innerHTML) {
      alarms.replaceChildren(...told);
    }
    this.#showForm();
  }

  #showForm() {
    const { form, forbidden, name, typed, button, kept } = this.#elements;
    const link = this.#raft?.link;
    const isStandby = link?.role === 'standby';
    if (isStandby && this.#isAdmin === null) this.#askRole();
    form.hidden = !isStandby || this.#isAdmin !== true;
    forbidden.hidden = !isStandby || this.#isAdmin !== false;
    if (!isStandby) return;
    if (name.textContent !== link.name) name.textContent = link.name;
    kept.textContent = `entry ${link.position.index}`;
    button.disabled = this.#isPromoting || typed.value.trim() !== link.name.trim();
  }

  async #askRole() {
    this.#isAdmin = false;
    try {
      const response = await ask('/auth/me');
      this.#isAdmin = response.ok && (await response.json()).role === 'admin';
    } catch {
      // With the next figures.
      this.#isAdmin = null;
      return;
    }
    this.#showForm();
  }

  async #promote() {
    if (this.#isPromoting) return;
    const { answer } = this.#elements;
    this.#isPromoting = true;
    answer.dataset.tone = 'wait';
    answer.textContent = 'Asking the leader.';
    this.#showForm();
    try {
      const response = await ask(PROMOTE, {}, PROMOTE_MS_MAX);
      if (response.ok) {
        const { leader, ...link } = await response.json();
        answer.dataset.tone = 'good';
        answer.textContent = 'Promoted. This node takes writes.';
        this.show({ ...this.#raft, link });
      } else this.#fail(`${response.status}${await reasonOf(response)}`);
    } catch (error) {
      const isLate = error.name === 'TimeoutError';
      this.#fail(isLate ? 'no answer; it may still happen' : 'the node is not reachable');
    }
    this.#isPromoting = false;
    this.#showForm();
  }

  #fail(why) {
    const { answer } = this.#elements;
    answer.dataset.tone = 'bad';
    answer.textContent = `Not confirmed: ${why}. Asking again does no harm.`;
  }
}

function pairOf({ label, text, tone }) {
  const term = document.createElement('dt');
  term.textContent = label;
  const value = document.createElement('dd');
  value.textContent = text;
  if (tone !== undefined) value.dataset.tone = tone;
  return [term, value];
}

function alarmOf({ tone, text }) {
  const alarm = document.createElement('a');
  alarm.href = '/system';
  alarm.textContent = text;
  alarm.dataset.tone = tone;
  return alarm;
}
