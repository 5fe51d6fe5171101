// The look of the page: one column, light or dark as the reader's system is; colours that people
// with any of the common kinds of colour blindness tell apart, and that stand out from either
// ground.

export const STYLE = `
:root { color-scheme: light dark; --ground: #fdfdfc; --text: #1b1b1f; --quiet: #5b5b66;
  --line: #d9d9de; --panel: #f3f3f1; --good: #0b6b3a; --bad: #a32812; --whisker: #1b1b1f;
  --ours: #0072b2; --nats: #b8860b; --rabbitmq: #c4560b; --redis: #a8437f; --postgres: #00805f; }
@media (prefers-color-scheme: dark) { :root { --ground: #15161a; --text: #ececf0;
  --quiet: #a9a9b4; --line: #393b44; --panel: #1e2026; --good: #63d39a; --bad: #ff9b83;
  --whisker: #ffffff; --ours: #4aa8e8; --nats: #e0b040; --rabbitmq: #f08a45; --redis: #dd86ba;
  --postgres: #3fbf97; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem 1rem 4rem; background: var(--ground);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 1rem 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; border-top: 1px solid var(--line);
  padding-top: 1.5rem; }
h3 { font-size: 1.05rem; margin: 1.75rem 0 .25rem; }
p { margin: .5rem 0; max-width: 44rem; }
a { color: var(--ours); }
code { font: .9em ui-monospace, monospace; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 1rem 0; }
dt { color: var(--quiet); } dd { margin: 0; }
figure { margin: 1rem 0; padding: .75rem 1rem; background: var(--panel); border-radius: .5rem; }
figcaption { font-weight: 600; margin-bottom: .35rem; }
.unit, .note { color: var(--quiet); font-weight: 400; font-size: .875rem; }
.row { display: grid; grid-template-columns: 13.5rem 1fr 11.5rem; gap: 0 .75rem;
  align-items: center; padding: .1rem 0; }
.row .value { order: 3; font-variant-numeric: tabular-nums; white-space: nowrap; }
.row .name { order: 1; } .row svg { order: 2; width: 100%; height: 18px; overflow: visible; }
.goals .row { grid-template-columns: 17rem 1fr 17rem; padding: .25rem 0; }
.goals .row .value { white-space: normal; }
.body { fill: var(--tone); } .stripes { fill: none; }
.striped .body { fill-opacity: .3; stroke: var(--tone); } .striped .stripes { fill: url(#stripes); }
.whisker { stroke: var(--whisker); stroke-width: 1.5; }
.ours { --tone: var(--ours); } .nats { --tone: var(--nats); } .rabbitmq { --tone: var(--rabbitmq); }
.redis { --tone: var(--redis); } .postgres { --tone: var(--postgres); }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); padding-bottom: .35rem; }
th, td { padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; overflow-wrap: normal; }
th { font-weight: 600; } tbody th { font-weight: 400; }
.number { text-align: right; white-space: nowrap; }
.reached { color: var(--good); font-weight: 600; } .missed { color: var(--bad); font-weight: 600; }
details { margin: .5rem 0 1rem; } summary { cursor: pointer; color: var(--quiet); }
@media (max-width: 40rem) {
  .row, .goals .row { grid-template-columns: 1fr auto; padding: .3rem 0; }
  .goals .row .value { max-width: 11rem; }
  .row .value { order: 2; text-align: right; } .row svg { order: 3; grid-column: 1 / -1; }
  dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
@media print { details > * { display: block; } }
`;

/** What striped bars are filled with; it stands once in the page. */
export const STRIPES = `<svg width="0" height="0" aria-hidden="true"
 style="position:absolute"><defs>
<pattern id="stripes" width="6" height="6" patternUnits="userSpaceOnUse"
 patternTransform="rotate(45)"><rect width="2" height="6" fill="currentColor"
 fill-opacity=".35"/></pattern></defs></svg>`;
