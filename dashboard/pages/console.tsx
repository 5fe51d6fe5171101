/** The plan of the cluster, its usage, and whether it takes pushes. */
import { useContext } from 'preact/hooks';
import { counted, formatBytes, formatInteger, formatPercent } from '../base/format.js';
import {
  FEATURE_WORDS,
  LIMIT_WORDS,
  limitText,
  type Overview,
  ROLE_WORDS,
  STATUS_WORDS,
  whyBlocked,
} from '../base/gateway-words.js';
import { type Fact, Facts, Page, Pairs, Section } from '../components/page.js';
import { Loaded, Notice } from '../components/states.js';
import { Badge, Name } from '../components/text.js';
import { PlanContext } from '../data/plan.js';
import { ConsoleUsage } from './console-usage.js';

export function ConsolePage() {
  const poll = useContext(PlanContext);
  return (
    <Page title="Plan and usage">
      <Loaded poll={poll} what="the plan">
        {(overview) => <Shown overview={overview} />}
      </Loaded>
      <ConsoleUsage />
      {poll.data !== null && <Plan overview={poll.data} />}
    </Page>
  );
}

function Shown({ overview }: { readonly overview: Overview }) {
  const blocked = whyBlocked(overview);
  return (
    <>
      {blocked !== null && (
        <div class="notices">
          <Notice tone="bad">{blocked}</Notice>
        </div>
      )}
      <Facts facts={factsOf(overview)} />
    </>
  );
}

/** From here on a quota is near, as the gateway tells it by default. */
const NEAR_PERCENT = 80;

function factsOf({ slug, status, role, plan, usage, storage, push_block }: Overview): Fact[] {
  const { monthly_msgs_quota: quota } = plan;
  const percent = quota === null ? null : quota === 0 ? 100 : (usage.msgs / quota) * 100;
  return [
    {
      label: 'Cluster',
      value: <Name text={slug} />,
      note: STATUS_WORDS[status] ?? status,
      tone: status === 'active' ? undefined : 'bad',
    },
    { label: 'Plan', value: <Name text={plan.code} /> },
    { label: 'You are', value: role, note: `may ${ROLE_WORDS[role] ?? '–'}` },
    {
      label: `Messages in ${usage.month}`,
      value: formatInteger(usage.msgs),
      note:
        quota === null
          ? 'no quota'
          : `${formatPercent(percent)} of ${formatInteger(quota)}, counted anew each month (UTC)`,
      tone: toneOf(percent, push_block === 'monthly_quota'),
    },
    {
      label: 'Storage',
      value: storage.over_quota ? 'over quota' : 'within quota',
      note:
        storage.max_retained_bytes === null
          ? 'no quota'
          : `at most ${formatBytes(storage.max_retained_bytes)}`,
      tone: storage.over_quota ? 'bad' : undefined,
    },
  ];
}

function toneOf(percent: number | null, isBlocked: boolean): Fact['tone'] {
  if (isBlocked) return 'bad';
  return percent !== null && percent >= NEAR_PERCENT ? 'wait' : undefined;
}

function Plan({ overview: { limits, features, plan } }: { readonly overview: Overview }) {
  const names = Object.keys(LIMIT_WORDS) as (keyof Overview['limits'])[];
  const has = Object.keys(FEATURE_WORDS) as (keyof Overview['features'])[];
  const on = has.filter((name) => features[name]).length;
  return (
    <div class="columns">
      <Section title="Limits" note={<Name text={plan.code} />}>
        <Pairs
          facts={names.map((name) => ({
            label: LIMIT_WORDS[name].label,
            value: limitText(name, limits[name]),
          }))}
        />
      </Section>
      <Section title="Features" note={`${counted(on, 'is', 'are')} on`}>
        <Pairs
          facts={has.map((name) => ({
            label: FEATURE_WORDS[name],
            value: features[name] ? <Badge tone="good">on</Badge> : <Badge>not in this plan</Badge>,
          }))}
        />
      </Section>
    </div>
  );
}
