/**
 * The login page: one document, without a script and without anything from elsewhere. Its policy
 * lets the browser do no more than show it and send its form here. Everything that a request
 * brought is escaped.
 */
import { createHash } from 'node:crypto';
import { htmlAnswer, type OwnAnswer } from './route.js';

export interface LoginPage {
  readonly status: number;
  /** A local path (`local-path.ts`). */
  readonly next: string;
  /** As it was typed. */
  readonly email: string;
  /** What went wrong; null: nothing yet. */
  readonly fault: string | null;
  /** This host can sign sessions. */
  readonly hasForm: boolean;
  readonly links: readonly { readonly href: string; readonly label: string }[];
}

const STYLE = `
:root{color-scheme:light dark;--paper:#fff;--ground:#f3f4f6;--ink:#16181d;--soft:#565d6b;
--line:#848b98;--accent:#1d4fb8;--on-accent:#fff;--fault:#a11212}
@media (prefers-color-scheme:dark){:root{--paper:#1d2027;--ground:#121419;
--ink:#eceef2;--soft:#a6adba;--line:#7a8291;--accent:#8fb4ff;--on-accent:#0b1530;--fault:#ff9c9c}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1rem;
background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{width:100%;max-width:24rem;padding:2rem;background:var(--paper);border-radius:.5rem}
h1{margin:0 0 1rem;font-size:1.5rem}
label{display:block;margin-top:1rem;font-weight:600}
input{width:100%;margin-top:.25rem;padding:.5rem;font:inherit;color:inherit;
background:var(--ground);border:1px solid var(--line);border-radius:.25rem}
button,a.provider{display:block;width:100%;margin-top:1.5rem;padding:.6rem;font:inherit;
font-weight:600;text-align:center;border:1px solid var(--accent);border-radius:.25rem;
cursor:pointer}
button{color:var(--on-accent);background:var(--accent)}
a.provider{margin-top:.75rem;color:var(--accent);text-decoration:none}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.fault{margin:0;color:var(--fault);font-weight:600}
.soft{color:var(--soft)}
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${STYLE_HASH}'`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

export function loginPage(page: LoginPage): OwnAnswer {
  const { status, fault, hasForm, links } = page;
  const parts = [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    `<title>${fault === null ? 'Log in' : 'Login failed'}</title><style>${STYLE}</style></head>`,
    '<body><main><h1>Log in</h1>',
    fault === null ? '' : `<p class="fault" id="fault" role="alert">${escaped(fault)}</p>`,
    hasForm ? form(page) : '',
    ...links.map(({ href, label }) => {
      return `<a class="provider" href="${escaped(href)}">${escaped(label)}</a>`;
    }),
    hasForm || links.length > 0 ? '' : '<p class="soft">Logins are not configured here.</p>',
    '</main></body></html>',
  ];
  return htmlAnswer(status, parts.join(''), [['Content-Security-Policy', POLICY]]);
}

function form({ next, email, fault }: LoginPage): string {
  const described = fault === null ? '' : ' aria-invalid="true" aria-describedby="fault"';
  return [
    '<form method="post" action="/auth/login">',
    `<input type="hidden" name="next" value="${escaped(next)}">`,
    '<label for="email">Email</label>',
    '<input id="email" name="email" type="email" autocomplete="username" required maxlength="254"',
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
