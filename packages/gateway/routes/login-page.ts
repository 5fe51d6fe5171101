/**
 * The login page: one document, without a script and without anything from elsewhere. Its policy
 * lets the browser do no more than show it and send its form here. Everything that a request
 * brought is escaped.
 *
 * It looks like the dashboard, whose colours these are (`dashboard/base/theme.css`), in both
 * themes. Every refusal of a login that a browser would show as JSON is this page with the reason
 * in it: whoever reads it can try again.
 */
import { createHash } from 'node:crypto';
import type { Refusal } from '../base/refusal.js';
import type { HeaderList } from '../edge/origins.js';
import { localPath } from './local-path.js';
import { htmlAnswer, type OwnAnswer, type OwnRequest, type RouteParts } from './route.js';

export interface LoginPage {
  readonly status: number;
  /** A local path (`local-path.ts`). */
  readonly next: string;
  /** As it was typed. */
  readonly email: string;
  /** What went wrong; null: nothing yet. */
  readonly fault: string | null;
  /** It is what was typed that is wrong. */
  readonly isTyped?: boolean;
  readonly headers?: HeaderList;
}

type Parts = Pick<RouteParts, 'providers' | 'tokens' | 'config'>;

interface Offer {
  /** This host can sign sessions. */
  readonly hasForm: boolean;
  readonly links: readonly { readonly href: string; readonly label: string }[];
}

const STYLE = `
:root{color-scheme:light dark;--ground:#faf9f6;--surface:#fff;--ink:#17191c;--quiet:#5f656d;
--line:#e4e2db;--edge:#8b8f95;--accent:#0b7355;--soft:#eaf4f0;--on-accent:#fff;
--bad:#b3261e;--bad-soft:#fcefee;
--sans:ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;
--mono:ui-monospace,"SF Mono","Cascadia Mono","JetBrains Mono",Menlo,Consolas,monospace}
@media (prefers-color-scheme:dark){:root{--ground:#0f1113;--surface:#15181b;--ink:#e9e8e3;
--quiet:#969ca4;--line:#25292e;--edge:#6b7178;--accent:#63cda6;--soft:#17251f;
--on-accent:#0d1a15;--bad:#f0857b;--bad-soft:#2c1a19}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100dvh;display:grid;align-content:center;
justify-items:center;gap:20px;padding:24px 16px 12vh;background:var(--ground);color:var(--ink);
font:15px/1.5 var(--sans)}
.brand{display:flex;gap:10px;align-items:center;font:600 19px/1.2 var(--mono)}
.mark{display:grid;gap:2px;width:19px}
.mark i{height:5px;background:var(--accent)}
.mark i:nth-child(2){opacity:.65}
.mark i:nth-child(3){width:60%;opacity:.4}
main{width:100%;max-width:376px;padding:26px 28px 28px;background:var(--surface);
border:1px solid var(--line);border-radius:6px}
h1{margin:0 0 18px;font-size:20px;font-weight:600;line-height:1.3}
p{margin:0}
label{display:block;margin:14px 0 4px;color:var(--quiet);font-size:14px}
input{width:100%;min-height:42px;padding:8px 11px;font:16px/1.5 var(--sans);color:inherit;
background:var(--ground);border:1px solid var(--edge);border-radius:4px}
input[aria-invalid]{border-color:var(--bad)}
button,.provider{display:block;width:100%;min-height:42px;padding:8px 14px;font:inherit;
font-weight:500;text-align:center;border:1px solid var(--edge);border-radius:4px;cursor:pointer}
button{margin-top:22px;color:var(--on-accent);background:var(--accent);border-color:var(--accent)}
button:hover{filter:brightness(1.08)}
.provider{margin-top:10px;color:var(--ink);text-decoration:none;overflow-wrap:anywhere}
.provider:hover{border-color:var(--accent);background:var(--soft)}
.or{display:flex;gap:12px;align-items:center;margin:20px 0 0;color:var(--quiet);font-size:14px}
.or::before,.or::after{content:"";flex:1;height:1px;background:var(--line)}
:focus-visible{outline:2px solid var(--accent);outline-offset:1px}
.fault{padding:9px 13px;border-radius:4px;color:var(--bad);background:var(--bad-soft);
overflow-wrap:anywhere}
.quiet{color:var(--quiet)}
`;

const ICON =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 16 16%22 ' +
  'fill=%22%231f9d78%22%3E%3Cpath d=%22M1 2h14v3H1zM1 6.5h14v3H1zM1 11h8v3H1z%22/%3E%3C/svg%3E';

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${STYLE_HASH}'`,
  'img-src data:',
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

export function loginPage(parts: Parts, page: LoginPage): OwnAnswer {
  const { status, next, fault, headers = [] } = page;
  const { hasForm, links } = offerOf(parts, next);
  const body = [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${fault === null ? 'Log in' : 'Login failed'} · svc</title>`,
    `<link rel="icon" href="${ICON}"><style>${STYLE}</style></head><body>`,
    '<header class="brand"><span class="mark" aria-hidden="true"><i></i><i></i><i></i></span>svc',
    '</header><main><h1>Log in</h1>',
    fault === null ? '' : `<p class="fault" id="fault" role="alert">${escaped(fault)}</p>`,
    hasForm ? form(page) : '',
    hasForm && links.length > 0 ? '<p class="or">or</p>' : '',
    ...links.map(({ href, label }) => {
      return `<a class="provider" href="${escaped(href)}">${escaped(label)}</a>`;
    }),
    hasForm || links.length > 0 ? '' : '<p class="quiet">Logins are not configured here.</p>',
    '</main></body></html>',
  ];
  return htmlAnswer(status, body.join(''), [['Content-Security-Policy', POLICY], ...headers]);
}

/** The page in place of a refusal, for whoever opened it in a browser. */
export function refusedLogin(
  parts: Parts,
  { error, status, retryAfterS }: Refusal,
  { next, email }: Pick<LoginPage, 'next' | 'email'>,
): OwnAnswer {
  const after = retryAfterS === undefined ? '' : ` Try again in ${secondsText(retryAfterS)}.`;
  const fault = `${error.charAt(0).toUpperCase()}${error.slice(1)}.${after}`;
  const headers: HeaderList =
    retryAfterS === undefined ? [] : [['Retry-After', String(retryAfterS)]];
  return loginPage(parts, { status, next, email, fault, headers });
}

/** Back to what was opened, where a session is all that it lacked. A query may hold a token. */
export function nextAfter({ method, path }: OwnRequest, { status }: Refusal): string {
  return method === 'GET' && status === 401 ? localPath(path) : '/';
}

const secondsText = (seconds: number) => (seconds === 1 ? 'a second' : `${seconds} seconds`);

function offerOf({ providers, tokens, config: { portal } }: Parts, next: string): Offer {
  const hasForm = tokens.canSign;
  const elsewhere = portal === null ? [] : [{ href: portal.url, label: portal.label }];
  const after = encodeURIComponent(next);
  const here = providers.map(({ name, label }) => {
    return { href: `/auth/${name}?next=${after}`, label };
  });
  return { hasForm, links: hasForm ? here : elsewhere };
}

function form({ next, email, isTyped = false }: LoginPage): string {
  const described = isTyped ? ' aria-invalid="true" aria-describedby="fault"' : '';
  return [
    '<form method="post" action="/auth/login">',
    `<input type="hidden" name="next" value="${escaped(next)}">`,
    '<label for="email">Email</label>',
    '<input id="email" name="email" type="email" autocomplete="username" required maxlength="254"',
    ' autocapitalize="none" spellcheck="false"',
    ` value="${escaped(email)}"${described}${email === '' ? ' autofocus' : ''}>`,
    '<label for="password">Password</label>',
    '<input id="password" name="password" type="password" autocomplete="current-password"',
    ` required maxlength="128"${described}${email === '' ? '' : ' autofocus'}>`,
    '<button type="submit">Log in</button></form>',
  ].join('');
}

const ESCAPES: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}
