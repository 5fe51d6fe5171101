/**
 * Goal: a crash point fires at its name, at its count, once, and a wrong name never boots.
 * Method: the setting is read with a `die` that counts instead of killing.
 */
import { describe, expect, it } from 'vitest';
import { CRASH_POINTS, type CrashSetting, readCrashSetting } from './crash-points.js';

function armed(setting: string): { readonly setting: CrashSetting; readonly deaths: () => number } {
  let deaths = 0;
  const read = readCrashSetting(setting, () => {
    deaths++;
  });
  return { setting: read, deaths: () => deaths };
}

describe('readCrashSetting', () => {
  it('does nothing when it is not set', () => {
    const setting = readCrashSetting(undefined, () => {
      throw new Error('died');
    });
    expect(setting.kind).toBe('unarmed');
    if (setting.kind === 'refused') return;
    setting.reach('after-plan');
  });

  it('dies the first time without a count', () => {
    const { setting, deaths } = armed('after-plan');
    if (setting.kind !== 'armed') throw new Error('not armed');
    setting.reach('after-propose');
    expect(deaths()).toBe(0);
    setting.reach('after-plan');
    expect(deaths()).toBe(1);
  });

  it('dies at the count it was given, once', () => {
    const { setting, deaths } = armed('log-after-sync:3');
    if (setting.kind !== 'armed') throw new Error('not armed');
    const seen = [1, 2, 3, 4].map(() => {
      setting.reach('log-after-sync');
      return deaths();
    });
    expect(seen).toEqual([0, 0, 1, 1]);
  });

  it.each([
    '',
    'after',
    'after-plan:',
    'after-plan:0',
    'after-plan:x',
    'after-plan:1:2',
    'toString',
  ])('refuses %j and lists the names', (setting) => {
    const { setting: read } = armed(setting);
    expect(read.kind).toBe('refused');
    if (read.kind !== 'refused') return;
    expect(read.error).toContain(`SVC_CRASH_AT=${setting}: expected <name>`);
    for (const name of Object.keys(CRASH_POINTS)) expect(read.error).toContain(name);
    expect(read.error).not.toContain('\n');
  });
});
