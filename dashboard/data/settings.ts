/** The settings of the tenant, asked for once by the shell for all pages. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { DEFAULT_SETTINGS, SETTINGS, type Settings, settingsOf } from '../base/settings.js';
import { useCapabilities } from './identity.js';
import { NO_POLL, type Poll, usePoll } from './poll.js';
import { call } from './request.js';

export interface KeptSettings {
  readonly settings: Settings;
  /** 0: nothing was saved yet. */
  readonly version: number;
}

const EVERY_MS = 60_000;

export const SettingsContext = createContext<Poll<KeptSettings>>(NO_POLL);

export function useSettingsPoll(): Poll<KeptSettings> {
  const { read } = useCapabilities();
  return usePoll(
    read ? 'settings' : null,
    async (signal) => {
      const { namespace, key: prefix } = SETTINGS;
      const body = { namespace, prefix, limit: 1 };
      const { rows } = await call('POST /api/v1/resources/kv/list', { body, signal });
      const row = rows.find(({ key }) => key === prefix);
      return { settings: settingsOf(row?.value), version: row?.version ?? 0 };
    },
    EVERY_MS,
  );
}

/** The defaults until they are known, and where they cannot be read. */
export function useSettings(): Settings {
  return useContext(SettingsContext).data?.settings ?? DEFAULT_SETTINGS;
}
