/**
 * Goal: each promise that the judge watches is reported when it is broken, and a history that keeps
 * them all is not. Method: views are made by hand; every case breaks one thing.
 */
import { describe, expect, it } from 'vitest';
import { Judge, type JudgedEntry, type View } from './judge.js';

function entry(text: string, term = 2): JudgedEntry {
  return { term, type: 0, data: new TextEncoder().encode(text) };
}

const LOG = [entry('a'), entry('b'), entry('c'), entry('d')];

/** A follower in term 2 that holds, knows committed and has applied all of LOG. */
function view(changes: Partial<View> = {}, log: readonly JudgedEntry[] = LOG): View {
  return {
    member: 1,
    term: 2,
    leads: false,
    commit: log.length,
    applied: log.length,
    durable: log.length,
    mending: false,
    firstIndex: 1,
    checkpoint: 0,
    digest: null,
    entry: (index) => log[index - 1],
    ...changes,
  };
}

/** The code of the first violation; null when all is right. */
function codeOf(work: (judge: Judge) => void): string | null {
  try {
    work(new Judge());
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
  return null;
}

it('a right history', () => {
  const code = codeOf((judge) => {
    judge.observe(1, view({ leads: true, commit: 2, applied: 1 }));
    judge.observe(2, view({ member: 2, commit: 2, applied: 2 }));
    judge.observe(1, view({ leads: true, checkpoint: 3, digest: 'x' }));
    judge.end(1);
    judge.observe(2, view({ member: 2, term: 3, leads: true, checkpoint: 3, digest: 'x' }));
    judge.observe(1, view({ term: 3, commit: 3, applied: 3, checkpoint: 3, digest: 'x' }));
    judge.sweep(2, view({ member: 2 }));
    expect(judge.commit).toBe(4);
    expect(judge.elections).toBe(2);
    expect(judge.digestsCompared).toBe(2);
    expect(judge.committed(3)?.data).toEqual(entry('c').data);
  });
  expect(code).toBe(null);
});

const other = [entry('a'), entry('b'), entry('not c'), entry('d')];
const newer = [entry('a'), entry('b'), entry('c', 3), entry('d', 3)];

const broken: { readonly [code: string]: (judge: Judge) => void } = {
  two_leaders: (judge) => {
    judge.observe(1, view({ leads: true }));
    judge.observe(2, view({ member: 2, leads: true }));
  },
  committed_changed: (judge) => {
    judge.observe(1, view());
    judge.observe(2, view({}, other));
  },
  term_went_back: (judge) => {
    judge.observe(1, view({ term: 3 }));
    judge.observe(1, view());
  },
  commit_went_back: (judge) => {
    judge.observe(1, view());
    judge.observe(1, view({ commit: 3, applied: 3 }));
  },
  applied_not_durable: (judge) => judge.observe(1, view({ durable: 3 })),
  checkpoint_not_durable: (judge) => {
    judge.observe(1, view({ applied: 2, durable: 2, checkpoint: 3 }));
  },
  applied_uncommitted: (judge) => judge.observe(1, view({ commit: 3 })),
  state_differs: (judge) => {
    judge.observe(1, view({ checkpoint: 3, digest: 'x' }));
    judge.observe(2, view({ checkpoint: 3, digest: 'y' }));
  },
};

describe('what is broken is reported', () => {
  it.each(Object.entries(broken))('%s', (code, work) => {
    expect(codeOf(work)).toBe(code);
  });

  it('an entry of another term with the same bytes', () => {
    const code = codeOf((judge) => {
      judge.observe(1, view());
      judge.observe(2, view({}, newer));
    });
    expect(code).toBe('committed_changed');
  });

  it('an entry that changed on the disk after it was compared', () => {
    const code = codeOf((judge) => {
      judge.observe(1, view());
      judge.sweep(1, view({}, other));
    });
    expect(code).toBe('committed_changed');
  });

  it('a member that leads again in a term of its former life is no second leader', () => {
    const code = codeOf((judge) => {
      judge.observe(1, view({ leads: true }));
      judge.end(1);
      judge.observe(1, view({ leads: true }));
    });
    expect(code).toBe(null);
  });
});
